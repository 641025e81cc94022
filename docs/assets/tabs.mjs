// The theme remembers which tab you chose, but it can only match labels that are shown. Inside a fold they aren't, so when
// a fold opens, its tabs follow your choice here.
export function followTabs(page, remembered = () => globalThis.__md_get?.("__tabs") ?? []) {
  page.addEventListener(
    "toggle",
    ({ target: fold }) => {
      if (!fold.open) return;
      for (const tabs of fold.querySelectorAll(".tabbed-set")) {
        const labels = [...tabs.querySelectorAll(":scope > .tabbed-labels > label")];
        const named = (name) => labels.find((label) => label.textContent.trim() === name);
        remembered().map(named).find(Boolean)?.click();
      }
    },
    true, // a toggle doesn't bubble
  );
}
