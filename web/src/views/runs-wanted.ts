import type { ListedRun } from "../api/types";

/** Whether a run is of the days, and has the rank, that the address asks for: `from` and `to` (both included, UTC), `rank`. */
export function isWanted(run: Pick<ListedRun, "start_unix_ns" | "ranks">, { from, to, rank }: Record<string, string | undefined>): boolean {
  if (rank && !run.ranks.map(String).includes(rank)) return false;
  if (!from && !to) return true;
  if (run.start_unix_ns === null) return false;
  const day = new Date(run.start_unix_ns / 1e6).toISOString().slice(0, 10);
  return (!from || day >= from) && (!to || day <= to);
}

/** Runs that were chosen, the one that began first before the other, whichever was chosen first. */
export function byStart(ids: readonly string[], runs: readonly Pick<ListedRun, "id" | "start_unix_ns">[]): string[] {
  const start = (id: string) => runs.find((run) => run.id === id)?.start_unix_ns ?? 0;
  return [...ids].sort((a, b) => start(a) - start(b));
}

/** Ranks as people write them: `0–3, 8`. */
export function rankText(ranks: readonly number[]): string | null {
  const spans: [number, number][] = [];
  for (const rank of [...ranks].sort((a, b) => a - b)) {
    const last = spans[spans.length - 1];
    if (last && rank <= last[1] + 1) last[1] = rank;
    else spans.push([rank, rank]);
  }
  return spans.length === 0 ? null : spans.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(", ");
}
