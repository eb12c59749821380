import { useEffect, useRef, useState } from "preact/hooks";
import { getJson } from "./client";
import { listVersion, versionOf } from "./live";

export interface Answer<T> {
  data: T | null;
  error: Error | null;
  loading: boolean;
}

/** The JSON at an address (none for `null`), asked again when one of the runs has grown, or the list of them is another; the old answer stays meanwhile. */
export function useJson<T>(url: string | null, ...runs: string[]): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ data: null, error: null, loading: url !== null });
  const version = runs.length === 0 ? listVersion.value : versionOf(runs);
  const last = useRef<string | null>(null);
  useEffect(() => {
    if (url === null) {
      setAnswer({ data: null, error: null, loading: false });
      return;
    }
    let wanted = true;
    const keepsOld = last.current !== null && pathOf(last.current) === pathOf(url);
    last.current = url;
    setAnswer((old) => ({ data: keepsOld ? old.data : null, error: null, loading: true }));
    getJson<T>(url).then(
      (data) => wanted && setAnswer({ data, error: null, loading: false }),
      (error: Error) => wanted && setAnswer({ data: null, error, loading: false }),
    );
    return () => {
      wanted = false;
    };
  }, [url, version]);
  return answer;
}

function pathOf(url: string): string {
  return url.split("?")[0] ?? url;
}
