// The work queue of lesson 03 as values: every function takes a state and returns the next one.
// Two sets are the whole trick: `dirty` (needs work) and `processing` (a worker holds it).

export const KEYS = ["web", "shop", "blog"];

export function start() {
  return { waiting: [], dirty: [], processing: [], workers: [null, null], said: "Add a key; a worker may get it." };
}

const without = (list, key) => list.filter((other) => other !== key);

export function add(state, key) {
  if (state.dirty.includes(key)) {
    return { ...state, said: `${key} is dirty already: adding it again changes nothing.` };
  }
  const dirty = [...state.dirty, key];
  if (state.processing.includes(key)) {
    return { ...state, dirty, said: `A worker holds ${key}: it is marked dirty, but must not wait yet.` };
  }
  return { ...state, dirty, waiting: [...state.waiting, key], said: `${key} is dirty and waits.` };
}

export function get(state, worker) {
  if (state.workers[worker]) {
    return { ...state, said: `Worker ${worker + 1} has to say done before it gets another key.` };
  }
  const [key, ...waiting] = state.waiting;
  if (!key) return { ...state, said: `Nothing waits: worker ${worker + 1} sleeps in get().` };
  return {
    ...state,
    waiting,
    dirty: without(state.dirty, key),
    processing: [...state.processing, key],
    workers: state.workers.map((held, index) => (index === worker ? key : held)),
    said: `Worker ${worker + 1} holds ${key}: clean, and in processing.`,
  };
}

export function done(state, worker) {
  const key = state.workers[worker];
  if (!key) return { ...state, said: `Worker ${worker + 1} holds nothing.` };
  const again = state.dirty.includes(key);
  return {
    ...state,
    processing: without(state.processing, key),
    workers: state.workers.map((held, index) => (index === worker ? null : held)),
    waiting: again ? [...state.waiting, key] : state.waiting,
    said: again
      ? `${key} was added while it was held, so done() lets it wait again. No change is lost.`
      : `${key} is done, and nothing about it is left.`,
  };
}
