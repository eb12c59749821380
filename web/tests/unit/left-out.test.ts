import assert from "node:assert/strict";
import { test } from "node:test";
import { overhead } from "../../src/views/Health";
import { leftOutWords } from "../../src/views/LeftOut";

test("paths that an answer leaves out are said, in a file and in an answer", () => {
  assert.equal(leftOutWords(undefined, true), null);
  assert.equal(leftOutWords(0, true), null);
  assert.match(leftOutWords(1, true)!, /^1 path of scopes is not in this file: /);
  assert.match(leftOutWords(1200, false)!, /^1\u202f200 paths of scopes are not in this answer: /);
});

test("what recording took is the report's number, and where it is not known the reason is the true one", () => {
  const known = { overhead_ns: 610e3, scopes_ns: 61e6, spans_shown: 9, spans_untimed: 0 };
  assert.equal(overhead(known), "recording took 610 µs of the time in scopes (1.0%)");
  assert.match(overhead({ ...known, overhead_ns: null }), /another tool recorded this run$/);
  assert.match(overhead({ ...known, overhead_ns: null, spans_shown: 0 }), /no scope is shown$/);
  assert.match(overhead({ ...known, overhead_ns: null, spans_untimed: 9 }), /no scope has a time$/);
});
