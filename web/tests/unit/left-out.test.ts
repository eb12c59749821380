import assert from "node:assert/strict";
import { test } from "node:test";
import { leftOutWords } from "../../src/views/LeftOut";

test("paths that an answer leaves out are said, in a file and in an answer", () => {
  assert.equal(leftOutWords(undefined, true), null);
  assert.equal(leftOutWords(0, true), null);
  assert.match(leftOutWords(1, true)!, /^1 path of scopes is not in this file: /);
  assert.match(leftOutWords(1200, false)!, /^1\u202f200 paths of scopes are not in this answer: /);
});
