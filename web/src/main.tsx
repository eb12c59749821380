import "uplot/dist/uPlot.min.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/parts.css";
import "./style/views.css";
import "./style/timeline.css";
import { render } from "preact";
import { followGrowth } from "./api/live";
import { sharedRun } from "./api/inline";
import { followAddress, go, route, viewLink } from "./state/route";
import { followTheme } from "./state/theme";
import { hideToken } from "./state/token";
import { Help, helpOpen } from "./ui/Help";
import { Palette, followPaletteKeys } from "./ui/Palette";
import { Shell } from "./ui/Shell";
import { Compare } from "./views/Compare";
import { Flame } from "./views/Flame";
import { Marks } from "./views/Marks";
import { Overview } from "./views/Overview";
import { Runs } from "./views/Runs";
import { Sql } from "./views/Sql";
import { System } from "./views/System";
import { Tables } from "./views/Tables";
import { Timeline } from "./timeline/Timeline";

function Page() {
  const { view, run, other } = route.value;
  if (view === "runs") return <Runs />;
  if (view === "compare") return <Compare base={run} head={other} />;
  if (view === "sql") return <Sql key={run} run={run} />;
  if (run === null) return <Runs />;
  const key = run;
  switch (view) {
    case "overview": return <Overview key={key} run={run} />;
    case "timeline": return <Timeline key={key} run={run} />;
    case "flame": return <Flame key={key} run={run} />;
    case "tables": return <Tables key={key} run={run} />;
    case "marks": return <Marks key={key} run={run} />;
    case "system": return <System key={key} run={run} />;
  }
}

function App() {
  return (
    <>
      <Shell><Page /></Shell>
      <Help />
      <Palette />
    </>
  );
}

function keys(event: KeyboardEvent): void {
  const typing = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
  if (event.key === "?" && !typing) helpOpen.value = true;
}

hideToken();
followTheme();
followAddress();
followGrowth();
addEventListener("keydown", keys);
// Before whatever has the focus: a box to type in keeps its keys to itself.
addEventListener("keydown", followPaletteKeys, { capture: true });
const shared = sharedRun();
if (shared !== null && route.value.run === null) go(viewLink("overview", shared));
render(<App />, document.getElementById("app") as HTMLElement);
