import { useEffect, useState } from "preact/hooks";
import { getJson, runUrl } from "../api/client";
import type { MarkName, MarkValues } from "../api/types";
import { count, digits, plain } from "../shared/format";
import { CURVE_COLOURS, Chart } from "../ui/Chart";
import { Empty } from "../ui/Notes";
import { Name } from "../ui/Text";
import { joined } from "./marks-curves";

interface Pair { name: string; curves: { label: string; values: MarkValues }[] }

/** The marks that both runs have, by step, in one chart each. */
export function CompareMarks({ base, head }: { base: string; head: string }) {
  const [pairs, setPairs] = useState<Pair[] | null>(null);
  useEffect(() => {
    let wanted = true;
    void load(base, head).then((found) => wanted && setPairs(found), () => wanted && setPairs([]));
    return () => {
      wanted = false;
    };
  }, [base, head]);
  if (pairs === null) return <p class="muted">Reading the marks …</p>;
  if (pairs.length === 0) return <Empty title="No mark is in both runs">hodo.mark("loss", loss) in the program makes one.</Empty>;
  return <>{pairs.map((pair) => <PairChart pair={pair} />)}</>;
}

async function load(base: string, head: string): Promise<Pair[]> {
  const names = async (run: string) => {
    const answer = await getJson<MarkName[] | { marks: MarkName[] }>(runUrl(run, "marks"));
    return (Array.isArray(answer) ? answer : answer.marks).map((mark) => mark.name);
  };
  const [first, second] = await Promise.all([names(base), names(head)]);
  const shared = first.filter((name) => second.includes(name)).slice(0, 8);
  return Promise.all(shared.map(async (name) => ({
    name,
    curves: await Promise.all([["before", base], ["after", head]].map(async ([label, run]) => ({
      label: label!,
      values: await getJson<MarkValues>(runUrl(run!, `marks/${encodeURIComponent(name)}`, { x: "step", max: 2000 })),
    }))),
  })));
}

function PairChart({ pair }: { pair: Pair }) {
  const { x, ys } = joined(pair.curves.map(({ values }) => values));
  const curves = ys.map((values, at) => ({ label: pair.curves[at]!.label, colour: CURVE_COLOURS[at]!, values, dash: at === 0 ? [5, 4] : undefined }));
  return (
    <section class="card">
      <h2><Name text={pair.name} /></h2>
      <Chart label={`${plain(pair.name)} before and after, by step`} x={x} curves={curves} height={200} xText={(value) => count(value)} yText={digits} />
    </section>
  );
}
