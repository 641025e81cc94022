// What runs on every page: quizzes that remember, progress in the list of lessons, tabs, and the figures of this page.
import { remember } from "./quiz.mjs";
import { showProgress } from "./progress.mjs";
import { followTabs } from "./tabs.mjs";

remember(document);
showProgress(document);
followTabs(document);

// The theme's search is a dialog without a name.
document.querySelector('.md-search[role="dialog"]')?.setAttribute("aria-label", "Search");

for (const frame of document.querySelectorAll("figure.moving")) {
  const { mount } = await import(`./figures/${frame.dataset.figure}.mjs`);
  mount(frame.querySelector(".moving-stage"));
  frame.dataset.ready = "yes";
}
