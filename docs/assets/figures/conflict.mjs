// Draws the object on the server between the two writers' copies of it.
import { NAMES, check, lost, read, start, write } from "./conflict.logic.mjs";
import { box, line, stage, words } from "./stage.mjs";

function draw(state) {
  const { server, writers } = state;
  const items = [
    box({ key: "server", x: 160, y: 6, width: 120, height: 78, kind: "frame" }),
    words({ key: "server-name", x: 220, y: 22, text: "API server", kind: "small middle" }),
    words({ key: "count", x: 220, y: 45, text: `count ${server.count}`, kind: "middle strong" }),
    words({ key: "version", x: 220, y: 68, text: `version ${server.version}`, kind: "middle" }),
  ];
  writers.forEach(({ copy, answer }, index) => {
    const x = index ? 290 : 10;
    const stale = copy && copy.version !== server.version;
    items.push(line({ key: `wire-${index}`, from: [x + 70, 118], to: [index ? 262 : 178, 84], kind: "faint" }));
    items.push(box({ key: `writer-${index}`, x, y: 118, width: 140, height: 84, kind: `frame ${stale ? "bad" : ""}` }));
    items.push(words({ key: `name-${index}`, x: x + 70, y: 133, text: `writer ${NAMES[index]}`, kind: "small middle" }));
    items.push(words({ key: `copy-${index}`, x: x + 70, y: 155, text: copy ? `count ${copy.count}` : "no copy", kind: "middle" }));
    items.push(
      words({
        key: `read-${index}`,
        x: x + 70,
        y: 178,
        text: copy ? `version ${copy.version}${stale ? ", stale" : ""}` : "",
        kind: "middle",
      }),
    );
    if (answer) {
      const kind = answer === "200" ? "good" : "bad";
      items.push(box({ key: `answer-${index}`, x: x + 45, y: 210, width: 50, height: 24, text: answer, kind }));
    }
  });
  items.push(words({ key: "sum", x: 220, y: 155, text: `${state.accepted} accepted`, kind: "small middle" }));
  const gone = lost(state);
  items.push(words({ key: "lost", x: 220, y: 175, text: `${gone} lost`, kind: `small middle ${gone ? "alarm" : ""}` }));
  return items;
}

export function mount(root) {
  const writer = (index) => [
    { text: `${NAMES[index]} reads`, press: (state) => read(state, index) },
    { text: `${NAMES[index]} writes +1`, press: (state) => write(state, index) },
  ];
  stage(root, {
    size: [440, 240],
    label: "Two writers and one object on the API server",
    state: start(),
    controls: [
      ...writer(0),
      ...writer(1),
      {
        text: "Writes go",
        options: [["with", "with the version"], ["without", "without a version"]],
        value: (state) => (state.checked ? "with" : "without"),
        choose: check,
      },
      { text: "Start again", press: (state) => start(state.checked) },
    ],
    draw,
    say: (state) => state.said,
  });
}
