// Draws the work queue: a lane each for waiting, dirty and processing, and two workers.
import { KEYS, add, done, get, start } from "./workqueue.logic.mjs";
import { box, line, stage, words } from "./stage.mjs";

const LANES = { waiting: 14, dirty: 62, processing: 110 };

function draw(state) {
  const items = [];
  for (const [lane, y] of Object.entries(LANES)) {
    items.push(words({ key: `name-${lane}`, x: 0, y: y + 15, text: lane }));
    items.push(line({ key: `line-${lane}`, from: [100, y + 38], to: [440, y + 38], kind: "faint" }));
    state[lane].forEach((key, index) => {
      const kind = { waiting: "active", dirty: "warn", processing: "good" }[lane];
      items.push(box({ key: `${lane}-${key}`, x: 100 + index * 84, y, width: 76, text: key, kind }));
    });
  }
  state.workers.forEach((held, index) => {
    const x = 100 + index * 172;
    items.push(box({ key: `worker-${index}`, x, y: 166, width: 160, height: 64, kind: "frame" }));
    items.push(words({ key: `worker-name-${index}`, x: x + 10, y: 182, text: `worker ${index + 1}`, kind: "small" }));
    if (held) items.push(box({ key: `held-${held}`, x: x + 42, y: 194, width: 76, text: held, kind: "good" }));
  });
  return items;
}

export function mount(root) {
  const worker = (index) => [
    { text: `get() ${index + 1}`, press: (state) => get(state, index), off: (state) => state.workers[index] !== null },
    { text: `done() ${index + 1}`, press: (state) => done(state, index), off: (state) => state.workers[index] === null },
  ];
  stage(root, {
    size: [440, 236],
    label: "A work queue with its three collections and two workers",
    state: start(),
    controls: [
      ...KEYS.map((key) => ({ text: `add ${key}`, press: (state) => add(state, key) })),
      ...worker(0),
      ...worker(1),
    ],
    draw,
    say: (state) => state.said,
  });
}
