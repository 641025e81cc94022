// Quizzes that remember. The page already works without this: every answer opens to its explanation.
// A question counts as right when the answer that the reader opened last is the right one.
import { answers, forget, keep, lessonOf } from "./answers.mjs";

export function remember(page) {
  const lesson = lessonOf(page.location.pathname);
  const quizzes = [...page.querySelectorAll(".quiz")];
  if (!quizzes.length) return;

  for (const quiz of quizzes) {
    const choices = [...quiz.querySelectorAll(".quiz-answer")];
    const before = answers()[lesson]?.[quiz.id];
    if (choices[before?.answer]) {
      choices[before.answer].open = true;
      quiz.dataset.state = before.right ? "right" : "wrong";
    }
    choices.forEach((choice, answer) => {
      choice.addEventListener("toggle", () => {
        if (!choice.open) return;
        const right = choice.dataset.right === "yes";
        quiz.dataset.state = right ? "right" : "wrong";
        keep(lesson, quiz.id, { answer, right });
      });
    });
  }

  const again = page.createElement("button");
  again.type = "button";
  again.className = "md-button quiz-again";
  again.textContent = "Forget my answers";
  again.addEventListener("click", () => {
    forget(lesson);
    for (const quiz of quizzes) {
      delete quiz.dataset.state;
      for (const choice of quiz.querySelectorAll(".quiz-answer")) choice.open = false;
    }
  });
  quizzes.at(-1).after(again);
}
