import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { connected, isOldAddress } from "../api/live";
import { isShareFile } from "../api/inline";
import type { RunsAnswer } from "../api/types";
import { useJson } from "../api/use";
import { RUN_VIEWS, formatRoute, listLink, route, viewLink, type Route, type View } from "../state/route";
import { theme, toggleTheme } from "../state/theme";
import { cut, plain } from "../shared/format";
import { Boundary } from "./Boundary";
import { FilterBox } from "./FilterBox";
import { helpOpen } from "./Help";
import { paletteOpen } from "./Palette";

const LABELS: Record<View, string> = {
  runs: "Runs", overview: "Overview", timeline: "Timeline", flame: "Flame", tables: "Tables",
  marks: "Marks", system: "System", compare: "Compare", sql: "SQL",
};
/** Views that manage their own scrolling. */
const FIXED: readonly View[] = ["timeline"];

/** The frame around every view: where one is, the other views, filter, theme and help. */
export function Shell({ children }: { children: ComponentChildren }) {
  const { view, run } = route.value;
  useEffect(() => {
    document.title = pageTitle(route.value);
  }, [route.value]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the content</a>
      <header class="top">
        <a class="brand" href={listLink()} aria-label="hodo, all runs"><Logo /> hodo</a>
        <nav class="tabs" aria-label="Views">
          {!isShareFile() && <Tab view="runs" href={listLink()} />}
          {run !== null && view !== "compare" && <span class="crumb ellipsis" title={plain(run)}>{cut(plain(run), 80)}</span>}
          {run !== null && view !== "compare" && RUN_VIEWS.map((name) => <Tab view={name} href={viewLink(name, run)} />)}
          {!isShareFile() && <Tab view="compare" href={formatRoute({ view: "compare", run, other: null, params: {} })} />}
          {!isShareFile() && <Tab view="sql" href={viewLink("sql", run)} />}
        </nav>
        <LiveSign run={run} />
        {isShareFile() ? <span class="grow" /> : <FilterBox />}
        <button class="plain" aria-label={theme.value === "dark" ? "Light theme" : "Dark theme"} title="Dark or light" onClick={toggleTheme}>
          {theme.value === "dark" ? "☀" : "☾"}
        </button>
        <button class="plain" aria-label="Go to" title="Go to a view, a run or a scope (Ctrl+K)" onClick={() => (paletteOpen.value = true)}>⌕</button>
        <button class="plain" aria-label="Keys" title="Keys (?)" onClick={() => (helpOpen.value = true)}>?</button>
      </header>
      <main id="main" tabIndex={-1} class={FIXED.includes(view) ? "fixed" : ""}><Boundary>{children}</Boundary></main>
    </>
  );
}

/** What a tab or a bookmark of the browser is called. */
export function pageTitle({ view, run, other }: Route): string {
  const runs = [run, other].filter((id) => id !== null).map((id) => cut(plain(id), 80)).join(" and ");
  return [LABELS[view], runs, "hodo"].filter(Boolean).join(" · ");
}

function Tab({ view, href }: { view: View; href: string }) {
  return <a href={href} aria-current={route.value.view === view ? "page" : undefined}>{LABELS[view]}</a>;
}

function LiveSign({ run }: { run: string | null }) {
  const runs = useJson<RunsAnswer>(run === null ? null : "api/runs");
  if (isOldAddress.value) return <span class="live-dot off" title="`hodo view` was started again and has a new token. The page shows what it has, and no longer follows.">old address: open the one that hodo view printed</span>;
  if (connected.value === false) return <span class="live-dot off" title="The server does not answer; the page shows what it has and connects again by itself.">no server</span>;
  if (runs.data?.runs.some((each) => each.id === run && each.state === "live")) return <span class="live-dot" title="This run is being recorded; the page follows it.">live</span>;
  return null;
}

function Logo() {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true">
      <rect x="1" y="2" width="14" height="3" rx="1" fill="var(--c-host)" />
      <rect x="1" y="6.5" width="9" height="3" rx="1" fill="var(--c-computing)" />
      <rect x="4" y="11" width="5" height="3" rx="1" fill="var(--c-input)" />
    </svg>
  );
}
