import { effect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { runUrl } from "../api/client";
import { connected } from "../api/live";
import type { TracksAnswer } from "../api/types";
import { useJson } from "../api/use";
import { many } from "../shared/format";
import { route } from "../state/route";
import { theme } from "../state/theme";
import { Loading } from "../ui/Loading";
import { Empty, Failure, SCOPES } from "../ui/Notes";
import { Control, readRange } from "./control";
import { Drawer } from "./Drawer";
import { Engine, type Stage } from "./engine";
import { followPointer } from "./gestures";
import { Heads } from "./Heads";
import { pressed } from "./keys";
import { Toolbar } from "./Toolbar";
import { showTip } from "./tooltip";
import { Twin } from "./Twin";
import { fitted } from "./viewport";

/** Where tests and the console find the engine of the timeline that is shown. */
const shown = globalThis as { hodoTimeline?: Engine };

/** The nested timeline of a run. */
export function Timeline({ run }: { run: string }) {
  const answer = useJson<TracksAnswer>(runUrl(run, "tracks"), run);
  const parts = useRef<Partial<Stage> & { tip?: HTMLElement }>({});
  const [control, setControl] = useState<Control | null>(null);
  const filter = route.value.params.filter ?? "";
  useEffect(() => start(run, parts.current, setControl), [run]);
  useEffect(() => {
    if (!control || !answer.data) return;
    const range = readRange(route.value.params);
    const view = readRange(route.value.params, "v0", "v1") ?? (range && fitted(range.t0, range.t1));
    control.engine.setTracks(answer.data, view);
    control.replace();
  }, [control, answer.data]);
  useEffect(() => control?.engine.refilter(), [control, filter]);
  const { t0, t1, v0, v1, sel } = route.value.params;
  // At once: a stretch that was about to be written into the address before would be written over the link's.
  useLayoutEffect(() => control?.follow(route.value.params), [control, t0, t1, v0, v1, sel]);
  const hasTracks = (answer.data?.tracks.length ?? 0) > 0;
  const isEmpty = answer.data !== null && answer.data.tracks.length === 0 && !answer.data.tracks_left_out;
  const ref = (name: keyof Stage | "tip") => (element: HTMLElement | null) => {
    if (element) (parts.current as Record<string, HTMLElement>)[name] = element;
  };
  return (
    <div class="tl">
      {control && <Toolbar control={control} run={run} />}
      {control?.engine.problem.value && <Failure small error={control.engine.problem.value} />}
      {answer.error && <Failure error={answer.error} />}
      {isEmpty && (
        <Empty title="Nothing to draw yet" command={SCOPES}>
          This run has no scopes, GPU work, marks or readings so far. Have hooks open scopes around the steps of a training in Python, or open some in the program; hodo run records its GPU.
        </Empty>
      )}
      {Boolean(answer.data?.tracks_left_out) && <p class="note small">{many(answer.data?.tracks_left_out ?? 0, "track")} did not fit into this file; hodo view on the run shows all of them.</p>}
      <div class="tl-top"><div class="tl-corner faint">{control?.engine.tracks.length ? "time since the start" : ""}</div>
        <div class="tl-map"><canvas ref={ref("minimap")} aria-hidden="true" /></div>
        <div class="tl-ruler"><canvas ref={ref("ruler")} aria-hidden="true" /></div>
      </div>
      <div class={hasTracks ? "tl-body" : "tl-body still"} ref={ref("scroll")}>
        <div class="tl-content" style={{ height: `${control?.engine.layout.value.height ?? 0}px` }}>
          <div class="tl-stick"><div class="tl-canvases">
            <canvas ref={ref("grid")} aria-hidden="true" />
            <canvas ref={ref("boxes")} aria-hidden="true" />
            <canvas class="front" ref={ref("front")} role="img" aria-label="Timeline. The list of tracks and the keys of the help do the same for the keyboard." />
          </div></div>
          {control && <Heads control={control} />}
        </div>
        {answer.loading && !answer.data && !answer.error && <Loading what="tracks" runs={[run]} />}
      </div>
      {control?.tableOpen.value && <Twin control={control} />}
      {control && <Drawer control={control} run={run} />}
      <div class="tl-tip" ref={ref("tip")} hidden />
      <div class="sr" aria-live="polite">{control?.said.value}</div>
    </div>
  );
}

/** Starts the engine on its elements; returns what stops it. */
function start(run: string, parts: Partial<Stage> & { tip?: HTMLElement }, ready: (control: Control) => void): () => void {
  const stage = parts as Stage;
  const engine = new Engine(run, stage, () => route.value.params.filter ?? "", route.value.params.renderer ?? "");
  const control = new Control(run, engine);
  const stopPointer = followPointer(engine, stage, {
    point(box, track, x, y) {
      engine.overlay.pointed = box && box.slices === 1 ? { line: box.line, depth: box.depth, start_ns: box.start_ns, dur_ns: box.dur_ns } : null;
      engine.pointedName = box && box.slices === 1 ? box.name : -1;
      if (parts.tip) showTip(parts.tip, engine, box, track, x, y);
    },
    pick: (box, allInstances) => {
      control.pick(box);
      if (allInstances) setTimeout(() => document.querySelector(".instances")?.scrollIntoView({ block: "nearest" }), 400);
    },
    fit: (box) => engine.fit(box.start_ns, box.start_ns + box.dur_ns),
    range: (range, isFinal) => control.setRange(range, isFinal),
  });
  const onKey = (event: KeyboardEvent) => {
    if (pressed(event, engine, keyWishes(control))) event.preventDefault();
  };
  addEventListener("keydown", onKey);
  const onLine = () => engine.retry();
  addEventListener("online", onLine);
  const stopTheme = effect(() => {
    theme.value;
    engine.restyle();
  });
  const stopServer = effect(() => {
    if (connected.value) engine.retry();
  });
  const stopAddress = effect(() => control.keepAddress(engine.view.value));
  shown.hodoTimeline = engine;
  ready(control);
  return () => {
    removeEventListener("keydown", onKey);
    removeEventListener("online", onLine);
    for (const stop of [stopPointer, stopTheme, stopServer, stopAddress]) stop();
    control.dispose();
    engine.dispose();
    if (shown.hodoTimeline === engine) delete shown.hodoTimeline;
  };
}

function keyWishes(control: Control) {
  // At once, or what is typed next goes elsewhere; the key itself is not typed, since its press is used up.
  const focus = (id: string) => {
    const field = document.getElementById(id) as HTMLInputElement | null;
    field?.focus();
    field?.select();
    return field !== null;
  };
  return {
    search: () => focus("search"),
    clear: () => control.leave(),
    frameSelection: () => control.frameSelection(),
    selectionToRange: () => control.selectionToRange(),
    walk: (to: "next" | "previous" | "parent" | "child") => void control.walk(to),
    step: (by: 1 | -1) => void control.step(by),
    askStep: () => focus("go-to-step"),
    mark: () => control.mark(),
    toggleDrawer: () => (control.drawerOpen.value = !control.drawerOpen.value),
    toggleTable: () => (control.tableOpen.value = !control.tableOpen.value),
  };
}
