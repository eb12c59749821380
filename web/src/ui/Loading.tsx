import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getJsonOrNothing, runUrl } from "../api/client";
import { isShareFile } from "../api/inline";
import type { Opening } from "../api/types";
import { bytes, duration } from "../shared/format";

/** Before the server is asked how far it is: most answers are there by then. */
const PATIENCE_MS = 350;
const PAUSE_MS = 500;

/** What stands while an answer is awaited; of a run that is being read, how far that has come. */
export function Loading({ what, runs = [] }: { what: string; runs?: (string | null)[] }) {
  const opening = useOpening(runs.filter((run) => run !== null));
  return (
    <div class="loading" role="status">
      <div>{words(what, opening)}</div>
      {opening?.state === "reading" && opening.total_bytes > 0 && <progress aria-label="read so far" value={opening.read_bytes} max={opening.total_bytes} />}
    </div>
  );
}

/** What is inside is of an earlier question while `isOld`: dimmed until the answer is there. */
export function Awaited({ isOld, class: name = "", children }: { isOld: boolean; class?: string; children: ComponentChildren }) {
  return <div class={`${name}${isOld ? " old" : ""}`} aria-busy={isOld}>{children}</div>;
}

/** What the server is doing, in words. */
export function words(what: string, opening: Opening | null): string {
  if (opening?.state === "reading") {
    const far = opening.total_bytes > 0 ? `: ${bytes(opening.read_bytes)} of ${bytes(opening.total_bytes)}` : "";
    return `Reading the run${far}, for ${duration(opening.passed_ms * 1e6)} …`;
  }
  if (opening?.state === "ordering") return `The run is read; putting it in order, ${duration(opening.passed_ms * 1e6)} in all …`;
  if (opening?.state === "open") return `The run is read; adding up ${what} …`;
  return `Reading ${what} …`;
}

/** How far the first of some runs is that is not open yet, asked again and again; `null` before the first answer. */
function useOpening(runs: string[]): Opening | null {
  const [opening, setOpening] = useState<Opening | null>(null);
  useEffect(() => {
    if (runs.length === 0 || isShareFile()) return;
    let timer = 0;
    const look = async () => {
      let found: Opening | null = null;
      for (const run of runs) {
        found = await getJsonOrNothing<Opening>(runUrl(run, "opening")).catch(() => null);
        if (found?.state !== "open") break;
      }
      if (timer < 0) return;
      setOpening(found);
      timer = window.setTimeout(look, PAUSE_MS);
    };
    timer = window.setTimeout(look, PATIENCE_MS);
    return () => {
      clearTimeout(timer);
      timer = -1;
    };
  }, [runs.join("|")]);
  return opening;
}
