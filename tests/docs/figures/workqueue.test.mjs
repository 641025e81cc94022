// The queue of the figure keeps the promises of the queue of lesson 03.
import assert from "node:assert/strict";
import { test } from "node:test";
import { KEYS, add, done, get, start } from "../../../docs/assets/figures/workqueue.logic.mjs";

test("adding a waiting key again changes nothing", () => {
  const once = add(start(), "web");
  const twice = add(once, "web");
  assert.deepEqual({ ...twice, said: "" }, { ...once, said: "" });
  assert.match(twice.said, /changes nothing/);
});

test("a key added while it is held waits again after done, and not before", () => {
  let state = get(add(start(), "web"), 0);
  state = add(state, "web");
  assert.deepEqual(state.waiting, []);
  assert.equal(get(state, 1).workers[1], null);
  state = done(state, 0);
  assert.deepEqual(state.waiting, ["web"]);
  assert.deepEqual(state.processing, []);
});

test("keys come out in the order in which they were added", () => {
  let state = KEYS.reduce(add, start());
  state = get(get(state, 0), 1);
  assert.deepEqual(state.workers, KEYS.slice(0, 2));
});

test("after any walk: no key is held twice, and a dirty key that nobody holds waits", () => {
  const moves = [...KEYS.map((key) => (s) => add(s, key)), ...[0, 1].flatMap((w) => [(s) => get(s, w), (s) => done(s, w)])];
  let random = 1;
  let state = start();
  for (let turn = 0; turn < 5000; turn++) {
    random = (random * 48271) % 2147483647;
    state = moves[random % moves.length](state);
    const held = state.workers.filter(Boolean);
    assert.deepEqual([...held].sort(), [...state.processing].sort());
    assert.equal(new Set(held).size, held.length);
    const idle = state.dirty.filter((key) => !state.processing.includes(key));
    assert.deepEqual([...state.waiting].sort(), idle.sort());
  }
});
