// Only the program that looks before it acts converges from every crash.
import assert from "node:assert/strict";
import { test } from "node:test";
import { converged, finished, play, restart, start, step } from "../../../docs/assets/figures/crash.logic.mjs";

/** Runs to the crash, starts again, runs to the end. */
const survive = (program, after) => play(play(start(program, after)));

test("looking first converges, whichever write it died after", () => {
  for (const after of [1, 2, 3]) assert.ok(converged(survive("looks", after)), `died after write ${after}`);
});

test("when nothing goes wrong every program looks right: that is why tests without a crash pass", () => {
  for (const program of ["looks", "random", "early"]) assert.ok(converged(play(start(program, 0))), program);
});

test("a random name makes a second Deployment after a crash at write 1 or 2", () => {
  for (const after of [1, 2]) assert.equal(survive("random", after).cluster.deployments.length, 2);
  assert.ok(converged(survive("random", 3)));
});

test("a status written first hides what is missing", () => {
  assert.deepEqual(survive("early", 1).cluster, { deployments: [], service: false, status: "Ready" });
  assert.equal(survive("early", 2).cluster.service, false);
});

test("a dead process does nothing until it is started again", () => {
  const dead = play(start("looks", 1));
  assert.equal(dead.alive, false);
  assert.equal(step(dead).cluster, dead.cluster);
  assert.equal(restart(dead).at, 0);
});

test("a second run over a finished world writes nothing", () => {
  const again = play(restart(play(start("looks", 0))));
  assert.ok(finished(again));
  assert.equal(again.writes, 0);
});
