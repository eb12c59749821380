import type { ListedRun } from "../api/types";

/** Whether a run is of the days and the rank that the address asks for: `from` and `to` (both included, UTC), `rank`. */
export function isWanted(run: Pick<ListedRun, "start_unix_ns" | "rank">, { from, to, rank }: Record<string, string | undefined>): boolean {
  if (rank && String(run.rank) !== rank) return false;
  if (!from && !to) return true;
  if (run.start_unix_ns === null) return false;
  const day = new Date(run.start_unix_ns / 1e6).toISOString().slice(0, 10);
  return (!from || day >= from) && (!to || day <= to);
}
