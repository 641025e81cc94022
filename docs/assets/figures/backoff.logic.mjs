// Backoff (lessons 03 and 11): the wait after the n-th failure in a row doubles, up to a cap; success forgets.

export const BASE = 1; // seconds; real queues start at milliseconds, which could not be drawn

export function start(cap = 30) {
  return { cap, failures: 0, now: 0, tries: [], said: "The first try is due. Let it fail or succeed." };
}

export function delay(failures, cap) {
  return Math.min(cap, BASE * 2 ** (failures - 1));
}

export function fail(state) {
  const failures = state.failures + 1;
  const wait = delay(failures, state.cap);
  const capped = wait === state.cap && BASE * 2 ** (failures - 1) > state.cap;
  return {
    ...state,
    failures,
    now: state.now + wait,
    tries: [...state.tries, { at: state.now, wait, ok: false }],
    said: `Failure ${failures} in a row: try again in ${wait} s${capped ? ", the cap" : ""}.`,
  };
}

export function succeed(state) {
  return {
    ...state,
    failures: 0,
    now: state.now + BASE,
    tries: [...state.tries, { at: state.now, wait: 0, ok: true }],
    said: "It worked: forget() sets the count to zero. The next failure waits 1 s again.",
  };
}

export function recap(state, cap) {
  return { ...start(Number(cap)), said: `No wait is longer than ${cap} s now.` };
}

/** What trying again every second would have cost in the same time. */
export function eager(state) {
  return Math.max(state.tries.length, Math.floor(state.now / BASE));
}
