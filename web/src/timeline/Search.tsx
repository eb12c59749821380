import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getJson, runUrl } from "../api/client";
import { growth } from "../api/live";
import type { SearchAnswer } from "../api/types";
import { count, cut, plain } from "../shared/format";
import { route, setParams } from "../state/route";
import type { Control } from "./control";
import { Hits } from "./hits";

const PAUSE_MS = 250;
/** Hits of one answer, as many as the server gives. */
const LIMIT = 1000;

/** Search by name; Enter and Shift+Enter walk the hits. */
export function Search({ control, run }: { control: Control; run: string }) {
  const text = route.value.params.q ?? "";
  const [typed, setTyped] = useState(text);
  const [shown, setShown] = useState<Shown | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const timer = useRef<number | undefined>(undefined);
  const filter = route.value.params.filter ?? "";
  const generation = growth.value[run]?.generation;
  const hits = useMemo(() => new Hits({ limit: LIMIT, ask: (after_ns) => getJson<SearchAnswer>(runUrl(run, "search", { q: text, after_ns, limit: LIMIT, filter })) }), [run, text, filter]);
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    setShown(null);
    setError(null);
  }, [hits]);
  useEffect(() => {
    if (!text) return;
    let wanted = true;
    hits.refresh().then(() => null, (failure: Error) => failure).then((failure) => {
      if (!wanted) return;
      setShown(failure ? null : shownOf(hits));
      setError(failure);
    });
    return () => {
      wanted = false;
    };
  }, [hits, generation]);
  const apply = (value: string) => {
    clearTimeout(timer.current);
    setParams({ q: value });
  };
  const move = async (by: 1 | -1) => {
    const { view, end_ns } = control.engine;
    try {
      const hit = await hits.move(by, view.value.t0, end_ns);
      setShown(shownOf(hits));
      setError(null);
      if (hit) control.goTo(hit);
    } catch (failure) {
      setError(failure as Error);
    }
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter") {
      event.preventDefault();
      if (typed !== text) apply(typed);
      else void move(event.shiftKey ? -1 : 1);
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
      {text && error && <span class="bad ellipsis" role="alert" title={error.message}>The search failed: {error.message}</span>}
      {text && shown && (
        <span class="row" role="status">
          <button class="plain" aria-label="Previous hit" disabled={shown.total === 0} onClick={() => void move(-1)}>‹</button>
          <span class="muted">{shown.total === 0 ? `nothing is called “${cut(plain(text), 30)}”` : words(shown)}</span>
          <button class="plain" aria-label="Next hit" disabled={shown.total === 0} onClick={() => void move(1)}>›</button>
        </span>
      )}
    </div>
  );
}

/** What is shown of the hits. */
interface Shown { total: number; number: number | null; isAtOne: boolean }

function shownOf({ total, number, current }: Hits): Shown {
  return { total, number, isAtOne: current !== null };
}

function words({ total, number, isAtOne }: Shown): string {
  if (!isAtOne) return `${count(total)} found`;
  return `${number === null ? "one" : count(number)} of ${count(total)}`;
}
