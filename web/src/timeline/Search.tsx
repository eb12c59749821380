import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { getJson, runUrl } from "../api/client";
import { versionOf } from "../api/live";
import type { SearchAnswer } from "../api/types";
import { count, cut, plain } from "../shared/format";
import { route } from "../state/route";
import { useTyped } from "../ui/typed";
import type { Control } from "./control";
import { Hits } from "./hits";

const PAUSE_MS = 250;
/** Hits of one answer, as many as the server gives. */
const LIMIT = 1000;

/** Search by name; Enter and Shift+Enter walk the hits. */
export function Search({ control, run }: { control: Control; run: string }) {
  const { text: typed, applied: text, type, put, leave } = useTyped("q", PAUSE_MS);
  const [shown, setShown] = useState<Shown | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const filter = route.value.params.filter ?? "";
  const version = versionOf([run]);
  const hits = useMemo(() => new Hits({ limit: LIMIT, ask: (after_ns) => getJson<SearchAnswer>(runUrl(run, "search", { q: text, after_ns, limit: LIMIT, filter })) }), [run, text, filter]);
  /** Where Enter is to walk as soon as what was typed is searched for. */
  const wished = useRef<1 | -1 | null>(null);
  const latest = useRef(hits);
  latest.current = hits;
  // As the text is applied, so that what is found and walked is never of the one before.
  useLayoutEffect(() => {
    setShown(null);
    setError(null);
  }, [hits]);
  useLayoutEffect(() => {
    const by = wished.current;
    wished.current = null;
    if (!text) return;
    hits.refresh().then(() => null, (failure: Error) => failure).then((failure) => {
      if (latest.current !== hits) return;
      setShown(failure ? null : shownOf(hits));
      setError(failure);
    });
    if (by) void move(by);
  }, [hits, version]);
  const move = async (by: 1 | -1) => {
    const { view, end_ns } = control.engine;
    try {
      const hit = await hits.move(by, view.value.t0, end_ns);
      if (latest.current !== hits) return;
      setShown(shownOf(hits));
      setError(null);
      if (hit) control.goTo(hit);
    } catch (failure) {
      if (latest.current === hits) setError(failure as Error);
    }
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter") {
      event.preventDefault();
      const by = event.shiftKey ? -1 : 1;
      if (typed === text) void move(by);
      else {
        wished.current = by;
        put(typed);
      }
    } else if (event.key === "Escape") (event.currentTarget as HTMLElement).blur();
    event.stopPropagation();
  };
  return (
    <div class="row search" role="search">
      <input id="search" type="search" size={26} value={typed} spellcheck={false} autocomplete="off" placeholder="Search names ( / )" aria-label="Search names on the timeline"
        onInput={(event) => type(event.currentTarget.value)} onBlur={leave} onKeyDown={keys} />
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
