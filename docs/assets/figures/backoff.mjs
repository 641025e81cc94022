// Draws each try on a time axis, with a bar as high as the wait that followed it.
import { eager, fail, recap, start, succeed } from "./backoff.logic.mjs";
import { line, stage, words } from "./stage.mjs";

const LEFT = 8, RIGHT = 432, FLOOR = 160, TOP = 30;

function draw(state) {
  const span = Math.max(30, state.now);
  const x = (at) => LEFT + ((RIGHT - LEFT) * at) / span;
  const y = (wait) => FLOOR - ((FLOOR - TOP) * wait) / state.cap;
  const items = [
    line({ key: "axis", from: [LEFT, FLOOR], to: [RIGHT, FLOOR] }),
    line({ key: "cap", from: [LEFT, TOP], to: [RIGHT, TOP], kind: "faint dashed" }),
    words({ key: "cap-name", x: LEFT, y: TOP - 12, text: `cap: ${state.cap} s`, kind: "small" }),
    words({ key: "zero", x: LEFT, y: FLOOR + 20, text: "0 s", kind: "small" }),
    words({ key: "end", x: RIGHT, y: FLOOR + 20, text: `${span} s`, kind: "small end" }),
  ];
  state.tries.forEach(({ at, wait, ok }, index) => {
    const tall = ok ? 8 : FLOOR - y(wait);
    items.push({
      key: `wait-${index}`,
      tag: "rect",
      attributes: {
        class: `bar ${ok ? "good" : "bad"}`,
        style: `transform: translate(${x(at)}px, ${FLOOR - tall}px)`,
        width: ok ? 4 : Math.max(3, x(at + wait) - x(at) - 2),
        height: tall,
      },
    });
    items.push({
      key: `try-${index}`,
      tag: "circle",
      attributes: { class: `dot ${ok ? "good" : "bad"}`, r: 5, style: `transform: translate(${x(at)}px, ${FLOOR}px)` },
    });
  });
  const cost = `${state.tries.length} tries; every second it would have been ${eager(state)}`;
  items.push(words({ key: "cost", x: LEFT, y: FLOOR + 46, text: cost }));
  return items;
}

export function mount(root) {
  const full = (state) => state.tries.length >= 16;
  stage(root, {
    size: [440, 216],
    label: "Tries on a time axis; the bar after each is the wait until the next",
    state: start(),
    controls: [
      { text: "It fails", press: fail, off: full },
      { text: "It succeeds", press: succeed, off: full },
      {
        text: "Cap",
        options: [["8", "8 s"], ["30", "30 s"], ["120", "120 s"]],
        value: (state) => String(state.cap),
        choose: recap,
      },
      { text: "Start again", press: (state) => start(state.cap) },
    ],
    draw,
    say: (state) => state.said,
  });
}
