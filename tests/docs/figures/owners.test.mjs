// The collector takes what has lost all its owners, in each way of deleting.
import assert from "node:assert/strict";
import { test } from "node:test";
import { collect, erase, policy, start, target, unlink } from "../../../docs/assets/figures/owners.logic.mjs";

const ids = (state) => state.objects.map((object) => object.id);

/** Runs the collector until it rests and returns the order in which objects went. */
function collectAll(state) {
  const order = [];
  for (let turn = 0; turn < 50; turn++) {
    const next = collect(state);
    order.push(...ids(state).filter((id) => !ids(next).includes(id)));
    if (next.objects === state.objects) return { state: next, order };
    state = next;
  }
  throw new Error("the collector does not come to rest");
}

test("with nothing deleted the collector rests", () => {
  assert.equal(collect(start()).objects, start().objects);
});

test("in the background the owner goes at once and everything below follows", () => {
  const deleted = erase(start());
  assert.deepEqual(ids(deleted), ["deployment", "service", "replicaset", "pod-a", "pod-b"]);
  assert.deepEqual(ids(collectAll(deleted).state), []);
});

test("in the foreground every owner goes after its dependents", () => {
  const { state, order } = collectAll(erase(policy(start(), "foreground")));
  assert.deepEqual(ids(state), []);
  for (const [owner, child] of [["webapp", "deployment"], ["webapp", "service"], ["deployment", "replicaset"], ["replicaset", "pod-a"]]) {
    assert.ok(order.indexOf(owner) > order.indexOf(child), `${owner} went before ${child}`);
  }
});

test("as orphans the dependents stay", () => {
  const { state } = collectAll(erase(policy(start(), "orphan")));
  assert.deepEqual(ids(state), ["deployment", "service", "replicaset", "pod-a", "pod-b"]);
});

test("deleting a child touches nobody above it", () => {
  const { state } = collectAll(erase(target(start(), "replicaset")));
  assert.deepEqual(ids(state), ["webapp", "deployment", "service"]);
});

test("a Service without an owner reference is left behind, and the figure says so", () => {
  const { state } = collectAll(erase(unlink(start())));
  assert.deepEqual(ids(state), ["service"]);
  assert.match(state.said, /nobody will collect it/);
});
