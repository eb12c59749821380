import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { getJson, query, runUrl } from "../api/client";
import { isShareFile } from "../api/inline";
import type { RunsAnswer, SearchAnswer } from "../api/types";
import { hasWords } from "../shared/filter";
import { go, route } from "../state/route";
import { runItems, scopeItems, viewItems, type Item } from "./palette-items";

/** Whether the palette is shown. */
export const paletteOpen = signal(false);

const PAUSE_MS = 200;
const MOST_HITS = 200;

/** Go to a view, a run or a scope by typing a part of its name. */
export function Palette() {
  return paletteOpen.value ? <OpenPalette /> : null;
}

function OpenPalette() {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const items = useItems(words);
  const input = useRef<HTMLInputElement>(null);
  const before = useRef(document.activeElement);
  const chosen = Math.min(at, items.length - 1);
  useEffect(() => input.current?.focus(), []);
  useEffect(() => document.getElementById(`palette-${chosen}`)?.scrollIntoView({ block: "nearest" }), [chosen]);
  const hide = () => {
    paletteOpen.value = false;
    if (before.current instanceof HTMLElement) before.current.focus();
  };
  const choose = (item: Item | undefined) => {
    if (!item) return;
    hide();
    go(item.address);
  };
  const keys = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && items.length > 0) setAt((chosen + step + items.length) % items.length);
    else if (event.key === "Enter") choose(items[chosen]);
    else if (event.key === "Escape") hide();
    else if (event.key !== "Tab") return event.stopPropagation();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="dialog palette" role="dialog" aria-modal="true" aria-label="Go to" onClick={hide} onKeyDown={keys}>
      <div onClick={(event) => event.stopPropagation()}>
        <input ref={input} type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={items.length > 0 ? `palette-${chosen}` : undefined} spellcheck={false} autocomplete="off"
          placeholder="Go to a view, a run or a scope" aria-label="Go to a view, a run or a scope" value={words}
          onInput={(event) => { setWords(event.currentTarget.value); setAt(0); }} />
        <ul id="palette-list" role="listbox" aria-label="Places">
          {items.map((item, place) => (
            <li id={`palette-${place}`} key={item.kind + item.address} role="option" aria-selected={place === chosen} onClick={() => choose(item)} onMouseMove={() => setAt(place)}>
              <span class="kind faint">{item.kind}</span><b>{item.title}</b><span class="muted ellipsis">{item.more}</span>
            </li>
          ))}
        </ul>
        {items.length === 0 && <p class="muted">Nothing is called that. Scopes are found in the run that is looked at.</p>}
      </div>
    </div>
  );
}

/** What fits the words: views, runs, and names on the timeline of the run that is looked at. */
function useItems(words: string): Item[] {
  const { run } = route.value;
  const [runs, setRuns] = useState<RunsAnswer["runs"]>([]);
  const [hits, setHits] = useState<SearchAnswer["hits"]>([]);
  useEffect(() => {
    getJson<RunsAnswer>("api/runs").then((answer) => setRuns(answer.runs), () => setRuns([]));
  }, []);
  useEffect(() => {
    setHits([]);
    if (run === null || words.trim().length < 2 || isShareFile()) return;
    let wanted = true;
    const timer = setTimeout(() => {
      getJson<SearchAnswer>(runUrl(run, "search") + query({ q: words.trim(), limit: MOST_HITS })).then((found) => wanted && setHits(found.hits), () => undefined);
    }, PAUSE_MS);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [run, words]);
  const views = viewItems(run, isShareFile()).filter((item) => hasWords(words, [item.title]));
  return [...views, ...(run === null ? [] : scopeItems(run, hits)), ...runItems([...runs], words)];
}

/** Opens the palette by Ctrl+K, or as editors do by Ctrl+Shift+P; Esc closes it wherever the focus is. */
export function followPaletteKeys(event: KeyboardEvent): void {
  const key = event.key.toLowerCase();
  if (key === "escape" && paletteOpen.value) {
    // Once it has the focus it gives that back by itself.
    if (!document.activeElement?.closest(".palette")) paletteOpen.value = false;
    return;
  }
  const isWish = (event.ctrlKey || event.metaKey) && !event.altKey && (key === "k" || (key === "p" && event.shiftKey));
  if (!isWish) return;
  event.preventDefault();
  paletteOpen.value = true;
}
