// Draws what is wanted and what the two controllers have, as rows of Pods, with the last events below.
import { MOST, change, choose, resync, start } from "./levels.logic.mjs";
import { box, line, stage, words } from "./stage.mjs";

const ROWS = { wanted: 8, edge: 66, level: 112 };
const FATES = { arrives: "good", lost: "bad", twice: "warn" };

function draw(state) {
  const items = [line({ key: "rule", from: [0, 52], to: [440, 52], kind: "faint" })];
  for (const [row, y] of Object.entries(ROWS)) {
    const right = state[row] === state.wanted;
    items.push(words({ key: `name-${row}`, x: 0, y: y + 15, text: row }));
    for (let index = 0; index < MOST; index++) {
      const kind = index >= state[row] ? "empty" : row === "wanted" ? "active" : right ? "good" : "bad";
      items.push(box({ key: `${row}-${index}`, x: 72 + index * 40, y, width: 32, kind }));
    }
    items.push(words({ key: `count-${row}`, x: 402, y: y + 15, text: `${state[row]} ${right ? "✓" : "✗"}` }));
  }
  items.push(words({ key: "events", x: 0, y: 181, text: "events" }));
  state.events.forEach(({ name, fate }, index) => {
    items.push(box({ key: `event-${index}`, x: 72 + index * 61, y: 166, width: 55, kind: FATES[fate], text: name }));
    items.push(words({ key: `fate-${index}`, x: 99 + index * 61, y: 208, text: fate, kind: "small middle" }));
  });
  return items;
}

export function mount(root) {
  stage(root, {
    size: [440, 220],
    label: "How many Pods are wanted, and how many an edge-triggered and a level-triggered controller have",
    state: start(),
    controls: [
      { text: "One more", press: (state) => change(state, 1) },
      { text: "One fewer", press: (state) => change(state, -1) },
      {
        text: "The event",
        options: [["arrives", "arrives"], ["lost", "is lost"], ["twice", "arrives twice"]],
        value: (state) => state.fate,
        choose,
      },
      { text: "Resync", press: resync },
    ],
    draw,
    say: (state) => state.said.charAt(0).toUpperCase() + state.said.slice(1),
  });
}
