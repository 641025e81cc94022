// What a reader answered is kept per lesson and question.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, countRight, forget, keep, lessonOf } from "../../../docs/assets/answers.mjs";

function storage() {
  const held = new Map();
  return { getItem: (key) => held.get(key) ?? null, setItem: (key, value) => held.set(key, value) };
}

test("the last answer to a question counts", () => {
  const kept = storage();
  keep("03_workqueue", "quiz-1", { answer: 2, right: true }, kept);
  keep("03_workqueue", "quiz-1", { answer: 0, right: false }, kept);
  keep("03_workqueue", "quiz-2", { answer: 1, right: true }, kept);
  assert.equal(countRight("03_workqueue", kept), 1);
  assert.equal(countRight("04_informer", kept), 0);
});

test("forgetting one lesson leaves the others", () => {
  const kept = storage();
  keep("a", "quiz-1", { answer: 0, right: true }, kept);
  keep("b", "quiz-1", { answer: 0, right: true }, kept);
  forget("a", kept);
  assert.deepEqual(Object.keys(answers(kept)), ["b"]);
});

test("text that is not ours is taken as no answers", () => {
  const kept = storage();
  kept.setItem("converge.answers", "{half");
  assert.deepEqual(answers(kept), {});
});

test("a page is named by the last part of its address", () => {
  assert.equal(lessonOf("/converge/lessons/03_workqueue/"), "03_workqueue");
  assert.equal(lessonOf("/lessons/03_workqueue/index.html"), "03_workqueue");
  assert.equal(lessonOf("/lessons/03_workqueue.html"), "03_workqueue");
  assert.equal(lessonOf("/"), "");
});
