// Fills the progress column of the list of lessons from the answers kept in this browser.
import { countRight } from "./answers.mjs";

export function showProgress(page) {
  for (const cell of page.querySelectorAll("[data-lesson][data-questions]")) {
    const asked = Number(cell.dataset.questions);
    const right = Math.min(countRight(cell.dataset.lesson), asked);
    if (!asked || !right) continue;
    cell.textContent = right === asked ? `✓ ${right} of ${asked}` : `${right} of ${asked}`;
    cell.dataset.state = right === asked ? "done" : "begun";
  }
}
