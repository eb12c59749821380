import { runUrl } from "../api/client";
import type { Report, Steps, Verdict } from "../api/types";
import { useJson } from "../api/use";
import { count, cut, duration, many, moment, percent, plain } from "../shared/format";
import { route, viewLink } from "../state/route";
import { ShareBar, SplitBar } from "../ui/Bars";
import { FindLink } from "../ui/FindLink";
import { Awaited, Loading } from "../ui/Loading";
import { Empty, Failure, SCOPES } from "../ui/Notes";
import { Name, Path } from "../ui/Text";
import { Health } from "./Health";
import { LeftOut } from "./LeftOut";
import { RangeUnused } from "./RangeNote";
import { StepStrip } from "./StepStrip";
import { State } from "./Runs";
import { because, boundWord } from "./verdict";

/** The run at a glance: what it is bound by, how its time divides, what was lost or not captured. */
export function Overview({ run }: { run: string }) {
  const filter = route.value.params.filter ?? "";
  const { data, error, isOld } = useJson<Report>(runUrl(run, "report", { filter }), run);
  const steps = useJson<Steps>(runUrl(run, "steps", { filter }), run);
  if (error) return <div class="page"><Failure error={error} /></div>;
  if (!data) return <Loading what="the report" runs={[run]} />;
  return (
    <Awaited isOld={isOld || steps.isOld} class="page overview">
      <Title report={data} />
      <RangeUnused run={run} />
      {data.spans === 0
        ? <Empty title="No scopes in this run" command={SCOPES}>Nothing tells yet where the time went. Hooks give a training in Python its steps and their parts; any program opens scopes of its own. docs/frameworks.md, docs/python.md, docs/rust.md and docs/cpp.md show how.</Empty>
        : <VerdictBox verdict={data.verdict} isFiltered={filter !== ""} />}
      <LeftOut report={data} />
      {steps.error && <Failure small error={steps.error} />}
      {steps.data && <StepsOf run={run} steps={steps.data} isFiltered={filter !== ""} />}
      <div class="columns">
        <TopScopes report={data} run={run} />
        <TopKernels report={data} run={run} />
        <Failed report={data} run={run} />
        <Health report={data} />
      </div>
    </Awaited>
  );
}

function StepsOf({ run, steps, isFiltered }: { run: string; steps: Steps; isFiltered: boolean }) {
  const { durations, step_ns, start_ns, index } = steps;
  if (durations && step_ns && start_ns && index && step_ns.length > (isFiltered ? 0 : 1)) return <><StepStrip run={run} steps={{ ...steps, durations, step_ns, start_ns, index }} />{steps.by_order && <p class="muted small-gap">The steps have no index: they are numbered by their order, from 0.</p>}</>;
  const why = isFiltered ? "No step fits the filter." : steps.why;
  return why ? <section class="card"><h2>Steps</h2><p class="muted small-gap">{plain(why)}</p></section> : null;
}

function Title({ report }: { report: Report }) {
  const threads = report.processes.reduce((sum, process) => sum + process.threads.length, report.threads_left_out ?? 0);
  const kernels = report.gpu.captured > 0 ? many(report.gpu.all?.kernels ?? 0, "kernel") : "kernels not captured";
  const readings = report.machines.length === 0 ? null : report.machines.some((machine) => machine.live) ? "sampling" : "readings only";
  const command = cut(plain(report.run.argv.join(" ")), 240);
  // What another tool recorded may have neither a host nor a command.
  const known = [
    `${moment(report.start_ns)} UTC`,
    plain(report.run.host),
    command && <code>{command}</code>,
    report.run.git_revision && <>commit <code>{plain(report.run.git_revision).slice(0, 10)}</code></>,
  ].filter(Boolean);
  return (
    <header>
      <h1><Name text={report.run.app || "run"} /> <State state={report.state} readings={readings} /> <span class="wall">{duration(report.wall_ns)}</span></h1>
      <div class="muted">{known.map((part, at) => <>{at > 0 && " · "}{part}</>)}</div>
      <div class="muted">{many(report.processes.length, "process", "processes")} · {many(threads, "thread")} · {many(report.spans, "scope")}{report.spans_shown !== report.spans && <b class="warn"> ({count(report.spans_shown)} fit the filter)</b>} · {kernels}</div>
    </header>
  );
}

function VerdictBox({ verdict, isFiltered }: { verdict: Verdict | null; isFiltered: boolean }) {
  if (!verdict) return <section class="card"><h2>Verdict</h2><p class="muted">{isFiltered ? "A verdict is on a whole run: clear the filter to see it." : "No scope has a time yet, so nothing can be said."}</p></section>;
  const gpu = verdict.gpu;
  const parts = gpu
    ? [{ key: "computing", ns: gpu.computing_ns }, ...gpu.causes.map((cause) => ({ key: cause.cause, ns: cause.ns }))]
    : (verdict.host?.causes ?? []).map((cause) => ({ key: cause.cause, ns: cause.ns }));
  return (
    <section class={`card verdict ${verdict.bound}`} aria-label="Verdict">
      <p class="headline"><b>{boundWord(verdict.bound)}</b>: {because(verdict)}{verdict.scope && verdict.scope.length > 0 && <>, most of it in <Path path={verdict.scope} /></>}</p>
      <SplitBar label="Time split" parts={parts} />
      <p class="muted small-gap">{gpu ? `of ${duration(gpu.window_ns)} in scopes that launch work` : `of ${duration(verdict.host?.scopes_ns)} in scopes`}{verdict.gpu_missing && <> · GPU not captured: {plain(verdict.gpu_missing.why)}</>}
        {gpu && !gpu.waits_recorded && gpu.causes[0]?.cause === "host" && <> · waits for the GPU were not recorded and may be part of host work (<code>HODO_GPU_KINDS=kernels,copies,sets,syncs</code>)</>}
        {gpu && gpu.not_captured_ns > 0 && <> · {duration(gpu.not_captured_ns)} left out: nothing was captured then</>}</p>
      {verdict.advice.length > 0 && <p class="try"><b>Try</b> {verdict.advice.map((text, at) => <>{at > 0 && <span class="faint"> · or </span>}{text}</>)}</p>}
    </section>
  );
}

function TopScopes({ report, run }: { report: Report; run: string }) {
  const all = report.by_self.reduce((most, scope) => Math.max(most, scope.self_ns), 1);
  return (
    <section class="card">
      <h2>Most time of their own <a class="aside" href={viewLink("tables", run)}>all scopes</a></h2>
      <table aria-label="Scopes with most time of their own">
        <thead><tr><th>scope</th><th class="num">self</th><th /><th class="num">total</th><th class="num">count</th><th class="num">each</th></tr></thead>
        <tbody>{report.by_self.slice(0, 10).map((scope) => (
          <tr><td class="ellipsis"><FindLink run={run} name={scope.name}><Name text={scope.name} /></FindLink></td><td class="num">{duration(scope.self_ns)}</td><td><ShareBar share={scope.self_ns / all} /></td><td class="num">{duration(scope.total_ns)}</td><td class="num">{count(scope.count)}</td><td class="num">{duration(scope.count ? scope.total_ns / scope.count : null)}</td></tr>
        ))}</tbody>
      </table>
      {report.by_self.length === 0 && <p class="faint">No scope fits.</p>}
    </section>
  );
}

function TopKernels({ report, run }: { report: Report; run: string }) {
  const work = report.gpu.all;
  return (
    <section class="card">
      <h2>Top kernels <a class="aside" href={viewLink("tables", run, { table: "kernels" })}>all kernels</a></h2>
      {report.gpu.captured === 0 || !work
        ? <p class="muted">Not captured: {report.gpu.missing.map((absence) => plain(absence.why)).join("; ") || "no process recorded a GPU"}. <code>hodo run -- CMD</code> captures kernels of programs that use CUDA; <code>hodo doctor</code> says what is in the way.</p>
        : <>
            <p class="muted small-gap">GPU busy {duration(work.busy_ns)}{report.gpu.devices === 1 ? `, ${percent(work.busy_ns / report.wall_ns)} of the run` : ""}{work.launch && <> · a kernel starts {duration(work.launch.p50_ns)} after its launch (95 %: {duration(work.launch.p95_ns)})</>}</p>
            <table aria-label="Kernels with most time">
              <thead><tr><th>kernel</th><th class="num">time</th><th /><th class="num">share</th><th class="num">count</th><th class="num">mean</th></tr></thead>
              <tbody>{work.by_kernel.slice(0, 10).map((kernel) => (
                <tr><td class="ellipsis"><FindLink run={run} name={kernel.name}><Name text={kernel.name} /></FindLink></td><td class="num">{duration(kernel.total_ns)}</td><td><ShareBar share={kernel.share} fill="var(--c-computing)" /></td><td class="num">{percent(kernel.share)}</td><td class="num">{count(kernel.count)}</td><td class="num">{duration(kernel.mean_ns)}</td></tr>
              ))}</tbody>
            </table>
          </>}
    </section>
  );
}

/** How many are listed: those that hold no other such. `hodo ls` counts the scopes around them as well. */
function innermost(listed: number, all: number, how: string): string {
  return `${count(listed)} ${how}${all > listed ? `, ${count(all)} with those around` : ""}`;
}

function Failed({ report, run }: { report: Report; run: string }) {
  const endings = [...report.failed.scopes.map((ending) => ({ ...ending, how: "failed" })), ...report.open.scopes.map((ending) => ({ ...ending, how: "open" }))];
  if (endings.length === 0) return null;
  const allFailed = report.nodes.reduce((sum, node) => sum + node.failed, 0);
  const allOpen = report.nodes.reduce((sum, node) => sum + node.open, 0);
  return (
    <section class="card">
      <h2>Failed or left open <span class="bad">{innermost(report.failed.count, allFailed, "failed")}</span> <span class="warn">{innermost(report.open.count, allOpen, "open")}</span></h2>
      <table aria-label="Scopes that failed or are open">
        <thead><tr><th>scope</th><th class="num">after</th><th class="num">took</th><th>error</th></tr></thead>
        <tbody>{endings.slice(0, 12).map((ending) => (
          <tr><td class="ellipsis"><a href={viewLink("timeline", run, { t0: String(ending.after_ns), t1: String(ending.after_ns + Math.max(1, ending.duration_ns)) })}><Path path={[...ending.path].reverse().map((step) => (step.index === null ? step.name : `${step.name} ${step.index}`))} /></a></td>
            <td class="num">{duration(ending.after_ns)}</td><td class="num">{duration(ending.duration_ns)}</td><td class="ellipsis">{ending.error ? <span class="bad"><Name text={ending.error} /></span> : <span class="faint">{ending.how}</span>}</td></tr>
        ))}</tbody>
      </table>
    </section>
  );
}
