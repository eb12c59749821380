import { duration } from "../shared/format";
import { route, setParams, viewLink } from "../state/route";
import { readRange } from "../timeline/control";
import { instant } from "../timeline/ruler";

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
