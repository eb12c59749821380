import { useEffect, useState } from "preact/hooks";
import { getJson } from "./client";
import { listVersion, versionOf } from "./live";

export interface Answer<T> {
  data: T | null;
  error: Error | null;
  loading: boolean;
  /** Whether the data is of an earlier question of the same kind, shown until the one that is asked has its answer. */
  isOld: boolean;
}

/** What was answered last, and to which address. */
interface Held<T> { url: string | null; data: T | null; error: Error | null; loading: boolean }

/** The JSON at an address (none for `null`), asked again when one of the runs has grown, or the list of them is another; the old answer stays meanwhile. */
export function useJson<T>(url: string | null, ...runs: string[]): Answer<T> {
  const [held, setHeld] = useState<Held<T>>({ url: null, data: null, error: null, loading: url !== null });
  const version = runs.length === 0 ? listVersion.value : versionOf(runs);
  useEffect(() => {
    if (url === null) {
      setHeld({ url, data: null, error: null, loading: false });
      return;
    }
    let wanted = true;
    setHeld((old) => ({ ...(isAlike(old.url, url) ? old : { url: null, data: null }), error: null, loading: true }));
    getJson<T>(url).then(
      (data) => wanted && setHeld({ url, data, error: null, loading: false }),
      (error: Error) => wanted && setHeld({ url, data: null, error, loading: false }),
    );
    return () => {
      wanted = false;
    };
  }, [url, version]);
  // The address is another before the effect runs: its answer is never that of a run or route looked at before.
  if (held.url !== null && !isAlike(held.url, url)) return { data: null, error: null, loading: url !== null, isOld: false };
  return { data: held.data, error: held.error, loading: held.loading, isOld: held.data !== null && held.url !== url };
}

/** Whether two addresses differ in their parameters only. */
function isAlike(a: string | null, b: string | null): boolean {
  return a !== null && b !== null && pathOf(a) === pathOf(b);
}

function pathOf(url: string): string {
  return url.split("?")[0] ?? url;
}
