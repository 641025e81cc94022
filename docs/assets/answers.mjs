// What the reader answered, kept in this browser only: { lesson: { question: { answer, right } } }.
const KEY = "converge.answers";

export function answers(storage = localStorage) {
  try {
    return JSON.parse(storage.getItem(KEY)) ?? {};
  } catch {
    return {}; // someone else's text under our name: start again rather than stop
  }
}

export function keep(lesson, question, given, storage = localStorage) {
  const all = answers(storage);
  all[lesson] = { ...all[lesson], [question]: given };
  storage.setItem(KEY, JSON.stringify(all));
}

export function forget(lesson, storage = localStorage) {
  const all = answers(storage);
  delete all[lesson];
  storage.setItem(KEY, JSON.stringify(all));
}

export function countRight(lesson, storage = localStorage) {
  return Object.values(answers(storage)[lesson] ?? {}).filter((given) => given.right).length;
}

/** The name of a page is the last part of its address: /lessons/03_workqueue/ is 03_workqueue. */
export function lessonOf(path) {
  return path.replace(/(index)?\.html$/, "").split("/").filter(Boolean).at(-1) ?? "";
}
