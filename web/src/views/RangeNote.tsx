import { duration } from "../shared/format";
import { route, setParams, viewLink, type RunView } from "../state/route";
import { readRange } from "../timeline/control";
import { instant } from "../timeline/ruler";

/** Views that a range narrows. */
const RANGED: [RunView, string][] = [["timeline", "Timeline"], ["flame", "Flame"], ["tables", "Tables"], ["system", "System"]];

/** Says that a range is chosen and not applied here: its numbers are in other views. */
export function RangeUnused({ run }: { run: string }) {
  const range = readRange(route.value.params);
  if (!range) return null;
  return (
    <p class="note small row wrap">
      <span>This view is of the whole run, not of the range of {duration(range.t1 - range.t0)} from {instant(range.t0, range.t1 - range.t0)}. Its numbers:</span>
      {RANGED.map(([view, label]) => <a href={viewLink(view, run)}>{label}</a>)}
      <button class="plain" onClick={() => setParams({ t0: null, t1: null })}>Clear the range</button>
    </p>
  );
}

/** Says that only a range is shown, and how to get back to the whole run. */
export function RangeNote({ run }: { run: string }) {
  const range = readRange(route.value.params);
  if (!range) return <span class="muted">whole run</span>;
  return (
    <span class="row range-note">
      range of {duration(range.t1 - range.t0)} from {instant(range.t0, range.t1 - range.t0)}
      <a href={viewLink("timeline", run)}>on the timeline</a>
      <button class="plain" onClick={() => setParams({ t0: null, t1: null })}>Whole run</button>
    </span>
  );
}
