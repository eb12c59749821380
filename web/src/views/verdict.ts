import type { Verdict } from "../api/types";
import { percent } from "../shared/format";

const WORDS: Record<string, string> = {
  gpu: "GPU-bound", input: "input-bound", launch: "launch-bound", sync: "sync-bound",
  cpu: "CPU-bound", copy: "copy-bound", waiting: "waiting", unknown: "unknown",
};

/** What a bound is called. */
export function boundWord(bound: string): string {
  return WORDS[bound] ?? bound;
}

/** What is said of a bound, as `hodo report` says it. */
export function because(verdict: Verdict): string {
  const share = percent(verdict.share);
  const hasGpu = verdict.gpu !== null;
  switch (verdict.bound) {
    case "gpu": return `the GPU computes ${share} of the time`;
    case "input": return hasGpu ? `the GPU waits for input ${share} of the time` : `${share} of the time in scopes is waiting for input`;
    case "launch": return `the GPU waits for launches of small work ${share} of the time`;
    case "sync": return `${share} of the time the GPU has nothing to do because the host waited for it`;
    case "cpu": return hasGpu ? `the GPU waits for work of the host ${share} of the time` : `${share} of the time in scopes is on the CPU`;
    case "copy": return `${share} of the time only copies run on the GPU`;
    case "waiting": return `${share} of the time in scopes is off the CPU`;
    default: return `for ${share} of the time no scope tells why`;
  }
}
