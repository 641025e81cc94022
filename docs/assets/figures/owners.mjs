// Draws the tree of owners: an arrow from each object to its owner, as the reference points.
import { collect, erase, find, policy, start, target, unlink } from "./owners.logic.mjs";
import { box, line, stage, words } from "./stage.mjs";

const PLACES = {
  webapp: [160, 6],
  deployment: [60, 72],
  service: [280, 72],
  replicaset: [60, 138],
  "pod-a": [0, 204],
  "pod-b": [160, 204],
};
const WIDTH = 152;

function draw(state) {
  const arrows = [];
  const boxes = [];
  for (const [id, [x, y]] of Object.entries(PLACES)) {
    const object = find(state, id);
    if (!object) {
      boxes.push(box({ key: `gone-${id}`, x, y, width: WIDTH, kind: "empty" }));
      continue;
    }
    for (const owner of object.owners) {
      const [ownerX, ownerY] = PLACES[owner];
      const kind = find(state, owner) ? "" : "bad dashed";
      arrows.push(
        line({ key: `${id}-${owner}`, from: [x + WIDTH / 2, y], to: [ownerX + WIDTH / 2, ownerY + 30], kind }),
      );
    }
    const orphan = id !== "webapp" && !object.owners.length;
    const kind = object.deleting ? "warn" : orphan ? "bad" : "active";
    boxes.push(box({ key: id, x, y, width: WIDTH, text: object.name, kind: `${kind} narrow` }));
    if (object.deleting) {
      boxes.push(words({ key: `note-${id}`, x: x + WIDTH + 6, y: y + 15, text: "deleting", kind: "small" }));
    }
  }
  return [...arrows, ...boxes];
}

export function mount(root) {
  stage(root, {
    size: [440, 240],
    label: "Objects and their owners, as a tree that the garbage collector takes down",
    state: start(),
    controls: [
      {
        text: "Delete",
        options: start().objects.map((object) => [object.id, object.name]),
        value: (state) => state.target,
        choose: target,
      },
      {
        text: "in the",
        options: [["background", "background"], ["foreground", "foreground"], ["orphan", "orphan way"]],
        value: (state) => state.policy,
        choose: policy,
      },
      { text: "Delete it", press: erase },
      { text: "Collector: one step", press: collect },
      { text: "Unlink the Service", press: unlink },
      { text: "Start again", press: start },
    ],
    draw,
    say: (state) => state.said,
  });
}
