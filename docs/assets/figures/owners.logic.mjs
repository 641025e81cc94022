// Owner references and the garbage collector (lesson 08). An object goes when all its owners are gone; the collector
// takes one object a step, as it takes one key off its queue. `delete` here is what a client asks for.

const OWNED = [
  { id: "webapp", name: "WebApp web", owners: [] },
  { id: "deployment", name: "Deployment web", owners: ["webapp"] },
  { id: "service", name: "Service web", owners: ["webapp"] },
  { id: "replicaset", name: "ReplicaSet web-7d4", owners: ["deployment"] },
  { id: "pod-a", name: "Pod web-7d4-a", owners: ["replicaset"] },
  { id: "pod-b", name: "Pod web-7d4-b", owners: ["replicaset"] },
];

export function start() {
  return { objects: OWNED, target: "webapp", policy: "background", said: "Delete something, then let the collector work." };
}

export const target = (state, id) => ({ ...state, target: id });
export const policy = (state, name) => ({ ...state, policy: name });
export const find = (state, id) => state.objects.find((object) => object.id === id);
export const dependents = (state, id) => state.objects.filter((object) => object.owners.includes(id));

const removed = (state, id) => ({ ...state, objects: state.objects.filter((object) => object.id !== id) });
const changed = (state, id, change) => ({
  ...state,
  objects: state.objects.map((object) => (object.id === id ? { ...object, ...change } : object)),
});

/** What a client's DELETE does at once. Everything after it is the collector's work. */
export function erase(state) {
  const object = find(state, state.target);
  if (!object) return { ...state, said: "404: that object is gone already." };
  if (object.deleting) return { ...state, said: `${object.name} is on its way out already.` };
  if (state.policy === "foreground" && dependents(state, object.id).length) {
    const next = changed(state, object.id, { deleting: true });
    return { ...next, said: `${object.name} has a deletion timestamp and stays until its dependents are gone.` };
  }
  if (state.policy === "orphan") {
    const released = dependents(state, object.id).reduce(
      (next, child) => changed(next, child.id, { owners: child.owners.filter((owner) => owner !== object.id) }),
      state,
    );
    return { ...removed(released, object.id), said: `${object.name} is gone; its dependents lost their reference and stay.` };
  }
  return { ...removed(state, object.id), said: `${object.name} is gone at once. Its dependents are not, yet.` };
}

/** Takes the owner reference off the Service: the mistake that leaks an object. */
export function unlink(state) {
  const service = find(state, "service");
  if (!service) return { ...state, said: "The Service is gone." };
  if (!service.owners.length) return { ...state, said: "Service web has no owner reference already." };
  return { ...changed(state, "service", { owners: [] }), said: "Service web has no owner reference now. Delete the WebApp and see." };
}

/** The collector looks once: the first thing that has to go or to be marked, if any. */
export function collect(state) {
  for (const object of state.objects) {
    const children = dependents(state, object.id);
    const present = object.owners.filter((owner) => find(state, owner));
    const leaving = present.some((owner) => find(state, owner).deleting);
    if (object.deleting && !children.length) {
      return { ...removed(state, object.id), said: `${object.name}: no dependents are left, so it may go.` };
    }
    if (object.owners.length && !present.length) {
      return { ...removed(state, object.id), said: `${object.name}: all its owners are gone, so it goes.` };
    }
    if (leaving && !object.deleting) {
      if (!children.length) return { ...removed(state, object.id), said: `${object.name} goes before its owner.` };
      return { ...changed(state, object.id, { deleting: true }), said: `${object.name} is marked; its own dependents go first.` };
    }
  }
  return { ...state, said: rest(state) };
}

function rest(state) {
  if (!state.objects.length) return "Nothing is left, and the collector rests.";
  const lost = state.objects.filter((object) => !object.owners.length && object.id !== "webapp");
  if (lost.length && !find(state, "webapp")) {
    return `The collector rests. ${lost.map((object) => object.name).join(" and ")} has no owner: nobody will collect it.`;
  }
  return "The collector rests: every object that names an owner still has one.";
}
