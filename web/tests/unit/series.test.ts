import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { forgetRun } from "../../src/api/client";
import type { Track } from "../../src/api/types";
import { layOut } from "../../src/timeline/layout";
import { CurveStore, drawCurve, type Curve } from "../../src/timeline/series";

const END_NS = 1e12;
const track = (kind: Track["kind"], more: Partial<Track> = {}): Track => ({ id: kind, kind, process: null, pid: null, rank: null, name: "loss", depths: 1, slices: 1, start_ns: 0, end_ns: END_NS, ...more });

let asked: string[] = [];
let answer: () => Response;
const settled = () => new Promise((done) => setTimeout(done, 0));

beforeEach(() => {
  asked = [];
  Object.assign(globalThis, {
    document: { getElementById: () => null },
    fetch: async (url: string) => {
      asked.push(url);
      return answer();
    },
  });
});

test("curves of marks get finer as one zooms in, as those of the machine do", async () => {
  answer = () => Response.json({ x: [0], y: [1], t_ns: [0], mean: [1], min: [1], max: [1] });
  const store = new CurveStore("finer", () => "", () => undefined);
  for (const kind of ["marks", "series"] as const) {
    asked = [];
    store.get(track(kind), { t0: 0, t1: END_NS }, 1000, END_NS);
    store.get(track(kind), { t0: 4e11, t1: 4e11 + 1e6 }, 1000, END_NS);
    await settled();
    const [whole, close] = asked.map((url) => new URL(url, "http://page/").searchParams);
    const width = (params: URLSearchParams | undefined) => Number(params?.get("t1")) - Number(params?.get("t0"));
    assert.ok(width(whole) >= END_NS, kind);
    assert.ok(width(close) >= 1e6 && width(close) < 1e8, `${kind}: ${width(close)}`);
  }
});

test("a curve that could not be read says so, until it is there", async () => {
  answer = () => new Response("{}", { status: 500 });
  let arrivals = 0;
  const store = new CurveStore("failing", () => "", () => arrivals++);
  const get = () => store.get(track("marks"), { t0: 0, t1: END_NS }, 1000, END_NS);
  assert.equal(get(), null);
  await settled();
  assert.deepEqual([get(), store.hasFailed(track("marks")), arrivals], [null, true, 1]);
  answer = () => Response.json({ x: [0], y: [1] });
  store.retry();
  get();
  await settled();
  assert.deepEqual([get()?.mean, store.hasFailed(track("marks"))], [[1], false]);
});

test("a curve of a run that grows while it is read is shown, and then read once more", async () => {
  let mean = 0;
  const answers: (() => void)[] = [];
  Object.assign(globalThis, { fetch: (url: string) => new Promise((done) => {
    asked.push(url);
    answers.push(() => done(Response.json({ x: [0], y: [++mean] })));
  }) });
  const store = new CurveStore("growing", () => "", () => undefined);
  const get = () => store.get(track("marks"), { t0: 0, t1: END_NS }, 1000, END_NS)?.mean ?? null;
  assert.equal(get(), null);
  for (let growth = 0; growth < 5; growth++) {
    forgetRun("growing");
    store.outdate();
    assert.equal(get(), null);
  }
  assert.equal(asked.length, 1);
  answers[0]!();
  await settled();
  assert.deepEqual([get(), asked.length], [[1], 2]);
  answers[1]!();
  await settled();
  assert.deepEqual([get(), asked.length], [[2], 2]);
});

/** What is written on a track. */
function written(curve: Curve | null, unit: string, hasFailed = false): string {
  const texts: string[] = [];
  const context = new Proxy({}, { get: (_, name) => (name === "fillText" ? (text: string) => texts.push(text) : () => undefined), set: () => true }) as CanvasRenderingContext2D;
  const line = layOut([track("series", { unit })], new Set()).lines.find((each) => each.track)!;
  drawCurve(context, curve, hasFailed, line, { t0: 0, ns_per_px: 1, scroll_px: 0, width_px: 100, height_px: 100, ratio: 1, pointed: -1, theme: "dark" }, "red", "grey");
  return texts.join("");
}

test("a track says its own largest value, never the room it is drawn in", () => {
  const flat = (value: number): Curve => ({ t_ns: [0, 50], mean: [value, value], min: [value, value], max: [value, value] });
  assert.match(written(flat(0), "count"), /^max 0\b(?!\.\d*[1-9])/);
  assert.match(written(flat(2), "cores"), /^max 2\b(?!\.\d*[1-9])/);
  assert.match(written(flat(0.03), "1"), /^max 3/);
  assert.equal(written({ t_ns: [], mean: [], min: [], max: [] }, "count"), "no value here");
  assert.equal(written(null, "count"), "");
  assert.equal(written(null, "count", true), "could not be read");
});
