import assert from "node:assert/strict";
import { test } from "node:test";
import { Asking } from "../../src/api/asking";
import { reconnects } from "../../src/api/live";

/** Questions whose answers come when they are let. */
function asking() {
  const asked: { question: string; answer: (text: string) => void; fail: (error: Error) => void }[] = [];
  const heard: string[] = [];
  const all = new Asking();
  const ask = (question: string) => all.ask(question, () => new Promise<string>((answer, fail) => asked.push({ question, answer, fail })), (text) => heard.push(text), (error) => heard.push(error.message));
  return { asked, heard, ask, stop: () => all.stop() };
}

const answered = () => new Promise((done) => setTimeout(done, 0));

test("a question that is asked again before its answer has that answer heard, and is asked once more after it", async () => {
  const { asked, heard, ask } = asking();
  for (let growth = 0; growth < 5; growth++) ask("report");
  assert.equal(asked.length, 1);
  asked[0]!.answer("first");
  await answered();
  assert.deepEqual([heard, asked.length], [["first"], 2]);
  asked[1]!.fail(new Error("gone"));
  await answered();
  assert.deepEqual([heard, asked.length], [["first", "gone"], 2]);
  ask("report");
  assert.equal(asked.length, 3);
});

test("another question is asked at once, and the answer to the one before is not heard", async () => {
  const { asked, heard, ask, stop } = asking();
  ask("report");
  ask("report?filter=a");
  assert.deepEqual(asked.map(({ question }) => question), ["report", "report?filter=a"]);
  asked[1]!.answer("filtered");
  asked[0]!.answer("late");
  await answered();
  assert.deepEqual([heard, asked.length], [["filtered"], 2]);
  ask("report");
  stop();
  asked[2]!.answer("to nobody");
  await answered();
  assert.deepEqual([heard, asked.length], [["filtered"], 3]);
});

test("what was asked before the server was gone is asked anew when it is there again", async () => {
  const { asked, heard, ask } = asking();
  ask("report");
  reconnects.value++;
  ask("report");
  assert.equal(asked.length, 2);
  asked[1]!.answer("now");
  await answered();
  assert.deepEqual(heard, ["now"]);
});
