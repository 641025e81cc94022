// Optimistic concurrency (lesson 10): two writers add one to the same counter. A write that carries the version it
// was read at is refused when the object has moved on; a write without a version always wins, and may undo another.

export function start(checked = true) {
  const writer = { copy: null, answer: "" };
  return {
    checked,
    server: { version: 1, count: 0 },
    writers: [writer, writer],
    accepted: 0,
    said: "Let both read, then let both write.",
  };
}

export const NAMES = ["A", "B"];
const withWriter = (state, index, change) => ({
  ...state,
  writers: state.writers.map((writer, other) => (other === index ? { ...writer, ...change } : writer)),
});

export function read(state, index) {
  const { version, count } = state.server;
  const next = withWriter(state, index, { copy: { version, count }, answer: "" });
  return { ...next, said: `${NAMES[index]} read count ${count} at version ${version}.` };
}

export function write(state, index) {
  const { copy } = state.writers[index];
  const name = NAMES[index];
  if (!copy) return { ...state, said: `${name} has to read before it can add one.` };
  if (state.checked && copy.version !== state.server.version) {
    const next = withWriter(state, index, { answer: "409" });
    return {
      ...next,
      said: `409 Conflict: ${name} read version ${copy.version}, the object is at ${state.server.version}. Read again, add again.`,
    };
  }
  const server = { version: state.server.version + 1, count: copy.count + 1 };
  const accepted = state.accepted + 1;
  const next = { ...withWriter(state, index, { copy: null, answer: "200" }), server, accepted };
  return {
    ...next,
    said: lost(next)
      ? `200 OK, and yet ${lost(next)} of ${accepted} additions ${lost(next) > 1 ? "are" : "is"} lost: ${name} wrote over a newer count.`
      : `200 OK: the count is ${server.count}, at version ${server.version}.`,
  };
}

/** Additions that the server answered with 200 and that are not in the count. */
export const lost = (state) => state.accepted - state.server.count;

export function check(state, how) {
  return { ...start(how === "with"), said: how === "with" ? "Writes carry the version again." : "Writes carry no version: the last one wins." };
}
