// Level against edge (lesson 02): two controllers hear of the same changes, over a line that loses or repeats some.
// The edge-triggered one applies each event to what it has. The level-triggered one takes an event as a nudge and
// looks at what is wanted now.

export const MOST = 8;

export function start() {
  return { wanted: 3, edge: 3, level: 3, fate: "arrives", events: [], said: "Both agree. Change what is wanted." };
}

export function choose(state, fate) {
  return { ...state, fate };
}

export function change(state, delta) {
  const wanted = Math.min(MOST, Math.max(0, state.wanted + delta));
  if (wanted === state.wanted) return { ...state, said: `The figure has room for 0 to ${MOST}.` };
  const copies = { arrives: 1, lost: 0, twice: 2 }[state.fate];
  const name = delta > 0 ? `+${delta}` : `−${-delta}`;
  const next = {
    ...state,
    wanted,
    // A count cannot go below nothing, however many events say so.
    edge: Math.min(MOST, Math.max(0, state.edge + copies * delta)),
    level: copies ? wanted : state.level,
    events: [...state.events, { name, fate: state.fate }].slice(-6),
  };
  return { ...next, said: verdict(next) };
}

/** A periodic look at everything: there is no event in it, only the wish as it stands. */
export function resync(state) {
  const next = { ...state, level: state.wanted };
  return { ...next, said: `Resync: ${verdict(next)}` };
}

export function verdict({ wanted, edge, level }) {
  if (edge === wanted && level === wanted) return "both have what is wanted.";
  if (level === wanted) return `level has the wanted ${wanted}; edge has ${edge}, and no later event will fix that.`;
  if (edge === wanted) return `edge happens to have ${wanted}; level waits for the next event or resync.`;
  return `neither has heard. Level will catch up at the next event or resync; edge has ${edge}, not ${wanted}.`;
}
