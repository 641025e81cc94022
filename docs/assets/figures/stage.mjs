// The stage of a moving figure: buttons above, a picture, one sentence below that says what just happened.
//
// A figure gives its first state, its controls, a function that draws a state and a sentence for it. Nothing runs
// by itself: the reader moves the figure, and CSS moves what changed (or does not, where less motion is wanted).
// The picture is reconciled: an item keeps its element as long as its key is drawn.

const SVG = "http://www.w3.org/2000/svg";
let choices = 0; // on this page, so that each has its label

/** Puts a figure on its stage. `scene` is {size, label, state, controls, draw, say}. */
export function stage(root, scene) {
  let state = scene.state;
  const controls = html("div", { class: "moving-controls", role: "group", "aria-label": "Controls of the figure" });
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", `0 0 ${scene.size.join(" ")}`);
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", scene.label);
  const said = html("p", { class: "moving-said", role: "status" });

  const show = () => {
    for (const refresh of refreshers) refresh(state);
    reconcile(picture, scene.draw(state));
    said.textContent = scene.say(state);
  };
  const act = (action, argument) => {
    state = action(state, argument);
    show();
  };
  const refreshers = scene.controls.map((control) => place(controls, control, act));
  root.replaceChildren(controls, picture, said);
  show();
}

/** Adds one control and returns the function that brings it up to date with a state. */
function place(controls, control, act) {
  if (control.options) {
    const id = `figure-choice-${++choices}`;
    const label = html("label", { for: id }, control.text);
    const select = html("select", { id });
    for (const [value, text] of control.options) select.append(html("option", { value }, text));
    select.addEventListener("change", () => act(control.choose, select.value));
    controls.append(label, select);
    return (state) => (select.value = control.value(state));
  }
  const button = html("button", { type: "button", class: "moving-button" });
  // aria-disabled, not disabled: a button that loses its use must not lose the keyboard's focus.
  button.addEventListener("click", () => {
    if (button.getAttribute("aria-disabled") !== "true") act(control.press);
  });
  controls.append(button);
  return (state) => {
    button.textContent = typeof control.text === "function" ? control.text(state) : control.text;
    button.setAttribute("aria-disabled", String(control.off?.(state) ?? false));
  };
}

function html(tag, attributes, text) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text) made.textContent = text;
  return made;
}

/** Makes the children of `parent` be `items`, in this order, reusing what has the same key and tag. */
function reconcile(parent, items) {
  const before = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  items.forEach((item, index) => {
    const key = item.key ?? String(index);
    let child = before.get(key);
    if (child?.tagName !== item.tag) {
      child?.remove();
      child = document.createElementNS(SVG, item.tag);
      child.dataset.key = key;
      child.classList.add("fresh");
    }
    before.delete(key);
    if (parent.children[index] !== child) parent.insertBefore(child, parent.children[index] ?? null);
    for (const [name, value] of Object.entries(item.attributes)) {
      if (child.getAttribute(name) !== String(value)) child.setAttribute(name, value);
    }
    if (item.text !== undefined) child.textContent = item.text;
    if (item.children) reconcile(child, item.children);
  });
  for (const left of before.values()) left.remove();
}

/** A rounded box with a word in it, at x, y. */
export function box({ key, x, y, width, height = 30, text = "", kind = "" }) {
  const attributes = { class: `box ${kind}`, style: `transform: translate(${x}px, ${y}px)` };
  const rect = { key: "rect", tag: "rect", attributes: { width, height, rx: 5 } };
  const word = { key: "text", tag: "text", attributes: { x: width / 2, y: height / 2, class: "middle" }, text };
  return { key, tag: "g", attributes, children: text ? [rect, word] : [rect] };
}

/** Words at x, y. */
export function words({ key, x, y, text, kind = "" }) {
  return { key, tag: "text", attributes: { x, y, class: `words ${kind}` }, text };
}

/** A line from one point to another. */
export function line({ key, from, to, kind = "" }) {
  return { key, tag: "line", attributes: { x1: from[0], y1: from[1], x2: to[0], y2: to[1], class: `line ${kind}` } };
}
