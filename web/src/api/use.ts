import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Asking } from "./asking";
import { ApiError, getJson, isMissing } from "./client";
import { listVersion, versionOf as growthOf } from "./live";

export interface Answer<T> {
  data: T | null;
  error: Error | null;
  loading: boolean;
  /** Whether the data is of an earlier question of the same kind, shown until the one that is asked has its answer. */
  isOld: boolean;
}

/** What was answered last, and to which question. */
interface Held<T> { question: string | null; data: T | null; error: Error | null; loading: boolean }

/** The JSON at an address (none for `null`), asked again when one of the runs has grown, or the list of them is another where it asks for that or for a run that is not there; the old answer stays meanwhile. */
export function useJson<T>(url: string | null, ...runs: string[]): Answer<T> {
  return useAnswer(url, () => getJson<T>(url!), runs);
}

/** The same for what is put together of several answers: the question names the addresses of all of them. */
export function useAnswer<T>(question: string | null, get: () => Promise<T>, runs: string[]): Answer<T> {
  const [held, setHeld] = useState<Held<T>>({ question: null, data: null, error: null, loading: question !== null });
  const asking = useRef<Asking | null>(null);
  asking.current ??= new Asking();
  const version = versionOf(runs, held.error);
  useEffect(() => {
    if (question === null) {
      asking.current!.stop();
      setHeld({ question, data: null, error: null, loading: false });
      return;
    }
    const ask = () => {
      setHeld((old) => ({ ...(isAlike(old.question, question) ? old : { question: null, data: null }), error: old.question === question ? refusal(old.error) : null, loading: true }));
      return get();
    };
    asking.current!.ask(question, ask, (data) => setHeld({ question, data, error: null, loading: false }), (error) => setHeld({ question, data: null, error, loading: false }));
  }, [question, version]);
  useLayoutEffect(() => () => asking.current!.stop(), []);
  // The question is another before the effect runs: its answer is never that of a run or route looked at before.
  if (held.question !== null && !isAlike(held.question, question)) return { data: null, error: null, loading: question !== null, isOld: false };
  return { data: held.data, error: held.error, loading: held.loading, isOld: held.data !== null && held.question !== question };
}

/** What changes whenever an answer may be another: that a run is not there holds until the list of runs is another. */
function versionOf(runs: string[], error: Error | null): string {
  const isOfList = runs.length === 0 || isMissing(error);
  return [runs.length > 0 && growthOf(runs), isOfList && listVersion.value].join();
}

/** What the server said was wrong, which holds until it answers otherwise; none where it did not answer. */
function refusal(error: Error | null): Error | null {
  return error instanceof ApiError && error.status === 0 ? null : error;
}

/** Whether two addresses differ in their parameters only. */
function isAlike(a: string | null, b: string | null): boolean {
  return a !== null && b !== null && pathOf(a) === pathOf(b);
}

function pathOf(url: string): string {
  return url.split("?")[0] ?? url;
}
