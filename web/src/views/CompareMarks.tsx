import { getJson, runUrl } from "../api/client";
import type { MarkName, MarkValues } from "../api/types";
import { useAnswer } from "../api/use";
import { count, digits, plain } from "../shared/format";
import { CURVE_COLOURS, Chart } from "../ui/Chart";
import { Empty, Failure } from "../ui/Notes";
import { Name } from "../ui/Text";
import { joined } from "./marks-curves";

/** Marks that are drawn at most. */
const MOST_PAIRS = 8;

interface Pair { name: string; curves: { label: string; values: MarkValues }[] }
/** Marks of both runs, and how many there are in all. */
interface Found { pairs: Pair[]; count: number }

/** The marks that both runs have, by step, in one chart each. */
export function CompareMarks({ base, head }: { base: string; head: string }) {
  const { data, error } = useAnswer([base, head].map((run) => runUrl(run, "marks")).join(" "), () => load(base, head), [base, head]);
  if (error) return <Failure small error={error} />;
  if (data === null) return <p class="muted">Reading the marks …</p>;
  const { pairs, count: all } = data;
  if (pairs.length === 0) return <Empty title="No mark is in both runs">hodo.mark("loss", loss) in the program makes one.</Empty>;
  return <>{pairs.length < all && <p class="faint">the first {count(pairs.length)} of {count(all)} marks that are in both</p>}{pairs.map((pair) => <PairChart key={pair.name} pair={pair} />)}</>;
}

async function load(base: string, head: string): Promise<Found> {
  const names = async (run: string) => {
    const answer = await getJson<MarkName[] | { marks: MarkName[] }>(runUrl(run, "marks"));
    return (Array.isArray(answer) ? answer : answer.marks).map((mark) => mark.name);
  };
  const [first, second] = await Promise.all([names(base), names(head)]);
  const shared = first.filter((name) => second.includes(name));
  const pairs = await Promise.all(shared.slice(0, MOST_PAIRS).map(async (name) => ({
    name,
    curves: await Promise.all([["before", base], ["after", head]].map(async ([label, run]) => ({
      label: label!,
      values: await getJson<MarkValues>(runUrl(run!, "mark", { name, x: "step", max: 2000 })),
    }))),
  })));
  return { pairs, count: shared.length };
}

function PairChart({ pair }: { pair: Pair }) {
  const { x, ys } = joined(pair.curves.map(({ values }) => values));
  const curves = ys.map((values, at) => ({ label: pair.curves[at]!.label, colour: CURVE_COLOURS[at]!, values, dash: at === 0 ? [5, 4] : undefined }));
  return (
    <section class="card">
      <h2><Name text={pair.name} /></h2>
      <Chart label={`${plain(pair.name)} before and after, by step`} x={x} curves={curves} height={200} xText={count} isCount yText={digits} />
    </section>
  );
}
