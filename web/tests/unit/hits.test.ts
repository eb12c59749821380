import assert from "node:assert/strict";
import { test } from "node:test";
import type { Placed } from "../../src/api/types";
import { Hits } from "../../src/timeline/hits";

const LIMIT = 100;
const hitsAt = (starts: number[]): Placed[] => starts.map((start_ns, at) => ({ id: String(at), name: "x", track: "1", depth: 0, start_ns, duration_ns: 1 }));

/** A search over hits at these moments. */
async function search(starts: number[], limit = LIMIT): Promise<{ hits: Hits; all: Placed[]; asked: () => number }> {
  const all = hitsAt(starts);
  let asked = 0;
  const ask = async (after_ns: number) => {
    asked++;
    return { hits: all.filter(({ start_ns }) => start_ns >= after_ns).slice(0, limit), total: all.length };
  };
  const hits = new Hits({ limit, ask });
  await hits.refresh();
  return { hits, all, asked: () => asked };
}

const END = 6_000_000;
const even = Array.from({ length: 6000 }, (_, at) => at * 1000);
/** Far apart, then close together, several at one moment. */
const uneven = [0, 0, 5, ...Array.from({ length: 900 }, (_, at) => 2_000_000 + Math.floor(at / 3)), ...Array.from({ length: 50 }, (_, at) => 5_000_000 + at * 10_000)];

test("of thousands of hits the one next to the view is gone to first, both ways", async () => {
  for (const share of [0, 0.3, 0.9, 0.999]) {
    const from = even.length * share;
    const { hits } = await search(even);
    assert.equal((await hits.move(1, from * 1000, END))?.id, String(from));
    const back = (await search(even)).hits;
    assert.equal((await back.move(-1, from * 1000, END))?.id, String((from + even.length - 1) % even.length));
  }
});

test("all hits are walked, each once, on and back, and then from the other end", async () => {
  for (const starts of [even, uneven, [7]]) {
    const { hits, all, asked } = await search(starts);
    const ids = all.map(({ id }) => id);
    const walk = async (by: 1 | -1) => {
      const found: string[] = [];
      for (let step = 0; step < all.length; step++) {
        const hit = await hits.move(by, 0, END);
        found.push(hit!.id);
        assert.equal(hits.number, Number(hit!.id) + 1);
      }
      return found;
    };
    assert.deepEqual(await walk(1), ids);
    assert.equal((await hits.move(1, 0, END))?.id, "0");
    assert.deepEqual(await walk(-1), [...ids].reverse());
    assert.ok(asked() < all.length / 8 + 8, `${asked()} questions for ${all.length} hits`);
  }
});

test("new hits of a live run are counted, and the walk goes on where it was", async () => {
  const { hits, all } = await search(even.slice(0, 50));
  await hits.move(1, 10_000, END);
  all.push(...hitsAt([70_000]).map((hit) => ({ ...hit, id: "new" })));
  await hits.refresh();
  assert.deepEqual([hits.total, hits.current?.id, hits.number], [51, "10", 11]);
  assert.equal((await search([])).hits.current, null);
  assert.equal(await (await search([])).hits.move(1, 0, END), null);
});

test("a walk that is begun before the first answer goes on when it is there", async () => {
  const all = hitsAt([1, 2, 3]);
  const hits = new Hits({ limit: LIMIT, ask: async () => ({ hits: all, total: 3 }) });
  void hits.refresh();
  void hits.move(1, 0, END);
  assert.equal((await hits.move(1, 0, END))?.id, "1");
});

test("a run that grows while it is searched has one more question waiting, not one for each time", async () => {
  let asked = 0;
  let answer: (found: { hits: Placed[]; total: number }) => void = () => undefined;
  const hits = new Hits({ limit: LIMIT, ask: () => new Promise((done) => {
    asked++;
    answer = done;
  }) });
  const begun = () => new Promise((done) => setTimeout(done, 0));
  const all = [hits.refresh()];
  await begun();
  for (let growth = 0; growth < 5; growth++) all.push(hits.refresh());
  answer({ hits: hitsAt([1]), total: 1 });
  await begun();
  assert.deepEqual([asked, hits.total], [2, 1]);
  answer({ hits: hitsAt([1, 2]), total: 2 });
  await Promise.all(all);
  assert.deepEqual([asked, hits.total], [2, 2]);
});
