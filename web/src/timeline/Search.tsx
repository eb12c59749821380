import { useEffect, useRef, useState } from "preact/hooks";
import { getJson, query, runUrl } from "../api/client";
import type { SearchAnswer } from "../api/types";
import { count, cut, plain } from "../shared/format";
import { route, setParams } from "../state/route";
import type { Control } from "./control";

const PAUSE_MS = 250;
const LIMIT = 500;

/** Search by name; Enter and Shift+Enter walk the hits. */
export function Search({ control, run }: { control: Control; run: string }) {
  const text = route.value.params.q ?? "";
  const [typed, setTyped] = useState(text);
  const [answer, setAnswer] = useState<SearchAnswer | null>(null);
  const [at, setAt] = useState(-1);
  const timer = useRef<number | undefined>(undefined);
  const filter = route.value.params.filter ?? "";
  useEffect(() => {
    setAt(-1);
    setAnswer(null);
    if (!text) return;
    let wanted = true;
    getJson<SearchAnswer>(runUrl(run, "search") + query({ q: text, limit: LIMIT, filter })).then(
      (found) => wanted && setAnswer(found),
      () => wanted && setAnswer({ hits: [], total: 0 }),
    );
    return () => {
      wanted = false;
    };
  }, [text, run, filter]);
  const apply = (value: string) => {
    clearTimeout(timer.current);
    setParams({ q: value });
  };
  const move = (by: 1 | -1) => {
    const hits = answer?.hits ?? [];
    if (hits.length === 0) return;
    const next = at < 0 ? firstInView(hits, control, by) : (at + by + hits.length) % hits.length;
    setAt(next);
    control.goTo(hits[next]!);
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter") {
      event.preventDefault();
      if (typed !== text) apply(typed);
      else move(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") (event.currentTarget as HTMLElement).blur();
    event.stopPropagation();
  };
  return (
    <div class="row search" role="search">
      <input id="search" type="search" size={26} value={typed} spellcheck={false} autocomplete="off" placeholder="Search names ( / )" aria-label="Search names on the timeline"
        onInput={(event) => {
          const value = event.currentTarget.value;
          setTyped(value);
          clearTimeout(timer.current);
          timer.current = window.setTimeout(() => apply(value), PAUSE_MS);
        }} onKeyDown={keys} />
      {text && answer && (
        <span class="row" role="status">
          <button class="plain" aria-label="Previous hit" disabled={!answer.hits.length} onClick={() => move(-1)}>‹</button>
          <span class="muted">{answer.total === 0 ? `nothing is called “${cut(plain(text), 30)}”` : at < 0 ? `${count(answer.total)} found` : `${count(at + 1)} of ${count(answer.total)}`}</span>
          <button class="plain" aria-label="Next hit" disabled={!answer.hits.length} onClick={() => move(1)}>›</button>
        </span>
      )}
    </div>
  );
}

/** The first hit from the middle of the view on; backwards the one before it. */
function firstInView(hits: SearchAnswer["hits"], control: Control, by: 1 | -1): number {
  const at = hits.findIndex((hit) => hit.start_ns >= control.engine.view.value.t0);
  if (by > 0) return Math.max(0, at);
  return at <= 0 ? hits.length - 1 : at - 1;
}
