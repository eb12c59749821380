import type { Report } from "../api/types";
import { count, duration, many, percent, plain } from "../shared/format";

const LOST_WHY: Record<string, string> = {
  ring_full: "no free memory: disk or pump too slow",
  spool_cap: "oldest removed to stay under the size cap",
  spool_gone: "spool file deleted while recording",
  not_stored: "ended before it could be stored",
};

/** What recording cost, what it lost, and what was not captured and why. */
export function Health({ report }: { report: Report }) {
  return (
    <section class="card">
      <h2>Recording</h2>
      <ul class="checks">
        {losses(report).map(({ tone, text }) => <li class={tone}>{text}</li>)}
        <li class="plain">{overhead(report)}</li>
        {missing(report).map((text) => <li class="none">{text}</li>)}
      </ul>
    </section>
  );
}

function losses({ records, processes, gpu }: Report): { tone: string; text: string }[] {
  const found: { tone: string; text: string }[] = [];
  for (const [why, counts] of Object.entries(records.lost)) {
    const sum = counts.spans + counts.marks + counts.attrs;
    if (sum > 0) found.push({ tone: "bad", text: `${count(sum)} records lost: ${LOST_WHY[why] ?? why}` });
  }
  if (records.unexplained > 0) found.push({ tone: "bad", text: `${count(records.unexplained)} records missing and not counted as lost: files are damaged` });
  if (records.depth_dropped > 0) found.push({ tone: "bad", text: `${count(records.depth_dropped)} scopes past the depth limit were not recorded` });
  const dropped = (gpu.counts?.dropped ?? 0) + (gpu.counts?.lost ?? 0) + gpu.lost_kernels;
  if (dropped > 0) found.push({ tone: "bad", text: `${count(dropped)} pieces of GPU work lost` });
  if (gpu.gaps > 0) found.push({ tone: "bad", text: `${count(gpu.gaps)} stretches in which no GPU work was captured` });
  const damage = processes.reduce((sum, process) => sum + process.damage.bytes, 0);
  if (damage > 0) found.push({ tone: "bad", text: `${count(damage)} bytes of the spool could not be read` });
  if (found.length === 0) found.push({ tone: "ok", text: `nothing lost: ${count(records.produced_records)} produced, all of them stored${records.newer ? ` or on their way (${count(records.newer)})` : ""}` });
  return found;
}

/** What recording took, as `hodo report` says it. */
export function overhead({ overhead_ns, scopes_ns, spans_shown, spans_untimed }: Pick<Report, "overhead_ns" | "scopes_ns" | "spans_shown" | "spans_untimed">): string {
  if (overhead_ns !== null) return `recording took ${duration(overhead_ns)} of the time in scopes (${percent(scopes_ns ? overhead_ns / scopes_ns : 0)})`;
  const why = spans_shown === 0 ? "no scope is shown" : spans_untimed === spans_shown ? "no scope has a time" : "another tool recorded this run";
  return `what recording took is not known: ${why}`;
}

function missing(report: Report): string[] {
  const out = report.gpu.missing.map((absence) => `GPU work not captured in ${many(absence.processes, "process", "processes")}: ${plain(absence.why)}`);
  if (report.machines.length === 0) out.push("machine not sampled: hodo monitor does, or HODO_TELEMETRY=1s in the program's environment");
  for (const machine of report.machines) {
    for (const absent of machine.absent) out.push(`${plain(machine.host)}: ${plain(absent.part)} not sampled: ${plain(absent.why)}${absent.fix ? `; ${plain(absent.fix)}` : ""}`);
  }
  if (report.energy === null) out.push("energy not known: no GPU's power was sampled");
  const off = report.nodes.reduce((sum, node) => sum + (node.cpu ? node.cpu.off : 0), 0);
  if (off > 0) out.push(`CPU time not captured for ${count(off)} scopes: recorded without a CPU clock`);
  return out;
}
