// Who converges when events are lost or repeated.
import assert from "node:assert/strict";
import { test } from "node:test";
import { change, choose, resync, start } from "../../../docs/assets/figures/levels.logic.mjs";

const seen = ({ wanted, edge, level }) => ({ wanted, edge, level });

test("while every event arrives both have what is wanted", () => {
  assert.deepEqual(seen(change(change(start(), 1), 1)), { wanted: 5, edge: 5, level: 5 });
});

test("a lost event leaves edge wrong for good; the next event repairs level", () => {
  let state = change(choose(start(), "lost"), 1);
  assert.deepEqual(seen(state), { wanted: 4, edge: 3, level: 3 });
  state = change(choose(state, "arrives"), 1);
  assert.deepEqual(seen(state), { wanted: 5, edge: 4, level: 5 });
});

test("a resync repairs level and not edge", () => {
  assert.deepEqual(seen(resync(change(choose(start(), "lost"), -1))), { wanted: 2, edge: 3, level: 2 });
});

test("an event that comes twice is counted twice by edge only", () => {
  assert.deepEqual(seen(change(choose(start(), "twice"), 1)), { wanted: 4, edge: 5, level: 4 });
});

test("the last events are kept with their fate", () => {
  assert.deepEqual(change(choose(start(), "lost"), -1).events, [{ name: "−1", fate: "lost" }]);
});
