import assert from "node:assert/strict";
import { test } from "node:test";
import { getJson } from "../../src/api/client";

test("answers are remembered by their size, not by their number", async () => {
  const asked: string[] = [];
  const body = JSON.stringify("x".repeat(6 << 20));
  Object.assign(globalThis, {
    document: { getElementById: () => null },
    fetch: (url: string) => {
      asked.push(url);
      return Promise.resolve(new Response(body));
    },
  });
  for (const range of ["a", "b", "c", "c"]) await getJson(`api/runs/x/range?t0=${range}`);
  assert.equal(asked.length, 3, "what was asked last is remembered");
  await getJson("api/runs/x/range?t0=a");
  assert.equal(asked.length, 4, "what did not fit any more is asked again");
});
