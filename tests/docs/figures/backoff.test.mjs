// The wait doubles, is capped, and is forgotten.
import assert from "node:assert/strict";
import { test } from "node:test";
import { delay, eager, fail, recap, start, succeed } from "../../../docs/assets/figures/backoff.logic.mjs";

const failing = (times, state = start()) => Array.from({ length: times }).reduce((next) => fail(next), state);

test("waits double up to the cap", () => {
  assert.deepEqual(failing(7).tries.map((each) => each.wait), [1, 2, 4, 8, 16, 30, 30]);
});

test("each try comes when the wait before it is over", () => {
  assert.deepEqual(failing(4).tries.map((each) => each.at), [0, 1, 3, 7]);
});

test("success forgets: the next failure waits the base again", () => {
  const state = fail(succeed(failing(5)));
  assert.equal(state.tries.at(-1).wait, 1);
  assert.equal(state.failures, 1);
});

test("another cap starts over and holds", () => {
  assert.equal(failing(6, recap(failing(3), "8")).tries.at(-1).wait, 8);
  assert.equal(delay(100, 120), 120);
});

test("six failures take 61 seconds, in which trying every second costs 61", () => {
  const state = failing(6);
  assert.equal(state.now, 61);
  assert.equal(eager(state), 61);
  assert.equal(state.tries.length, 6);
});
