// Draws the program with the line that runs next, beside what the cluster holds.
import { PROGRAMS, finished, play, restart, start, step } from "./crash.logic.mjs";
import { box, stage, words } from "./stage.mjs";

function draw(state) {
  const { cluster, program, alive, at } = state;
  const items = [words({ key: "run", x: 0, y: 14, text: `reconcile, run ${state.run}`, kind: "small" })];
  PROGRAMS[program].lines.forEach(({ text }, index) => {
    const kind = !alive ? "empty" : index === at ? "active" : index < at ? "past" : "frame";
    items.push(box({ key: `line-${program}-${index}`, x: 0, y: 28 + index * 36, width: 262, text, kind: `${kind} narrow` }));
  });
  if (!alive) items.push(words({ key: "dead", x: 131, y: 222, text: "✗ process gone", kind: "middle alarm" }));
  if (alive && finished(state)) items.push(words({ key: "end", x: 131, y: 222, text: "returned", kind: "middle" }));

  items.push(words({ key: "cluster", x: 290, y: 14, text: "in the cluster", kind: "small" }));
  const slots = cluster.deployments.length ? cluster.deployments : [null];
  slots.forEach((name, index) => {
    const kind = name === null ? "empty" : cluster.deployments.length > 1 ? "bad" : "good";
    const text = name === null ? "" : `Deployment ${name}`;
    items.push(box({ key: `deployment-${name ?? "none"}`, x: 290, y: 28 + index * 36, width: 150, text, kind: `${kind} narrow` }));
  });
  const below = 28 + slots.length * 36;
  const served = cluster.service;
  items.push(box({ key: "service", x: 290, y: below, width: 150, text: served ? "Service web" : "", kind: served ? "good narrow" : "empty" }));
  const said = cluster.status;
  items.push(box({ key: "status", x: 290, y: below + 36, width: 150, text: said ? `status: ${said}` : "", kind: said ? "good narrow" : "empty" }));
  return items;
}

export function mount(root) {
  const programs = Object.entries(PROGRAMS).map(([name, { title }]) => [name, title]);
  stage(root, {
    size: [440, 236],
    label: "The lines of a reconcile and the objects that it has written",
    state: start(),
    controls: [
      { text: "It", options: programs, value: (state) => state.program, choose: (state, name) => start(name, state.crashAfter) },
      {
        text: "and dies",
        options: [["1", "after write 1"], ["2", "after write 2"], ["3", "after write 3"], ["0", "never"]],
        value: (state) => String(state.crashAfter),
        choose: (state, after) => start(state.program, Number(after)),
      },
      { text: "Step", press: step, off: (state) => !state.alive || finished(state) },
      { text: "Restart", press: restart },
      { text: "Play to the end", press: play, off: (state) => state.alive && finished(state) },
      { text: "Start again", press: (state) => start(state.program, state.crashAfter) },
    ],
    draw,
    say: (state) => state.said,
  });
}
