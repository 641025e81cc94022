// A convenience for the mouse: a click on a mark goes to its row. The table says everything without it.
document.querySelector(".picture").addEventListener("click", event => {
  const mark = event.target.closest("[data-request]");
  const row = mark && document.getElementById("r" + mark.dataset.request);
  if (!row) return;
  document.querySelectorAll(".here").forEach(old => old.classList.remove("here"));
  row.classList.add("here");
  row.scrollIntoView({block: "center"});
});
