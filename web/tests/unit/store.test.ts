import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { Wish } from "../../src/timeline/pieces";
import { TileStore } from "../../src/timeline/store";
import { encodeTile, encodeTiles } from "../../src/timeline/tile";

const wish = (track: number, isSeen = true): Wish => ({ track: String(track), res_ns: 1, index: 0, isSeen });
/** A tile that says by its start which answer it came with. */
const tile = (start_ns: number) => encodeTile({
  t0: 0, res_ns: 1, count: 1, start_ns: Float64Array.of(start_ns), dur_ns: Float64Array.of(1), id: BigUint64Array.of(1n), name: Uint32Array.of(0),
  slices: Uint32Array.of(1), depth: Uint16Array.of(0), busy: Uint8Array.of(255), flags: Uint8Array.of(0), tag: null,
});

let asked: string[][] = [];
let store: TileStore;
let rested: Promise<void>;

beforeEach(() => {
  asked = [];
  Object.assign(globalThis, {
    document: { getElementById: () => null },
    fetch: async (url: string) => {
      const tracks = decodeURIComponent(/track=([^&]+)/.exec(url)![1]!).split(",");
      asked.push(tracks);
      return new Response(tracks.length === 1 ? tile(asked.length) : encodeTiles(tracks.map(() => tile(asked.length))));
    },
  });
  store = new TileStore("run", () => "", () => undefined, assert.fail, assert.fail);
  store.end_ns = 4096;
});

async function want(wishes: Wish[]): Promise<void> {
  rested = new Promise((done) => (store.rested = done));
  store.want(wishes);
  if (!store.settled) await rested;
}

test("more tracks than are kept are asked for once, and then there is rest", async () => {
  const wishes = Array.from({ length: 2000 }, (_, at) => wish(at));
  await want(wishes);
  assert.equal(asked.flat().length, 2000);
  await want(wishes);
  assert.equal(asked.flat().length, 2000);
});

test("a tile that is wanted twice is asked for once", async () => {
  await want([wish(1), wish(2), wish(1, false)]);
  assert.deepEqual(asked, [["1", "2"]]);
});

test("what came late is asked for where it is seen, and the old is drawn meanwhile", async () => {
  const start = (track: number) => store.best(wish(track))?.start_ns[0];
  await want([wish(1), wish(2, false)]);
  assert.equal(start(1), 1);
  store.outdate();
  store.want([wish(1), wish(2, false)]);
  assert.equal(start(1), 1, "drawn until the new one is there");
  await new Promise<void>((done) => (store.rested = done));
  assert.deepEqual(asked, [["1", "2"], ["1"]], "what is out of sight can wait");
  assert.deepEqual([start(1), start(2)], [2, 1]);
  await want([wish(1), wish(2)]);
  assert.deepEqual(asked[2], ["2"]);
});

test("an answer that was under way when the run changed is asked for again", async () => {
  store.want([wish(1)]);
  store.outdate();
  await new Promise<void>((done) => (store.rested = done));
  await want([wish(1)]);
  assert.equal(asked.length, 2);
});

test("what failed is asked for again once the server answers, and not before", async () => {
  let isThere = false;
  const answers = globalThis.fetch;
  globalThis.fetch = (async (url: string) => {
    if (isThere) return answers(url);
    asked.push([]);
    throw new TypeError("no server");
  }) as typeof fetch;
  const told: string[] = [];
  store = new TileStore("run", () => "", () => undefined, () => told.push("refused"), () => {
    told.push("recovered");
    store.retry();
  });
  await want([wish(1)]);
  await want([wish(1)]);
  assert.deepEqual([asked.length, told], [1, ["refused"]]);
  isThere = true;
  await want([wish(2)]);
  assert.deepEqual(told, ["refused", "recovered"]);
  await want([wish(1), wish(2)]);
  assert.deepEqual(asked.slice(1), [["2"], ["1"]]);
});
