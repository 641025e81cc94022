// With the version no addition is lost; without it one may be, and nobody hears of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { check, lost, read, start, write } from "../../../docs/assets/figures/conflict.logic.mjs";

const race = (state) => write(write(read(read(state, 0), 1), 0), 1);

test("the second writer of a race gets a 409 and changes nothing", () => {
  const state = race(start());
  assert.equal(state.writers[1].answer, "409");
  assert.deepEqual(state.server, { version: 2, count: 1 });
  assert.equal(lost(state), 0);
});

test("reading again and adding again loses nothing", () => {
  const state = write(read(race(start()), 1), 1);
  assert.deepEqual(state.server, { version: 3, count: 2 });
  assert.equal(state.accepted, 2);
});

test("sending the stale copy again is refused again", () => {
  const state = write(race(start()), 1);
  assert.equal(state.writers[1].answer, "409");
  assert.equal(state.server.count, 1);
});

test("without a version the race loses an addition that was answered with 200", () => {
  const state = race(check(start(), "without"));
  assert.equal(state.writers[1].answer, "200");
  assert.equal(state.server.count, 1);
  assert.equal(lost(state), 1);
  assert.match(state.said, /1 of 2 additions is lost/);
});

test("a writer without a copy cannot write", () => {
  assert.deepEqual(write(start(), 0).server, start().server);
});
