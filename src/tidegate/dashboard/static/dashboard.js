// Every page works without this: it copies, finds the search box by a key, and tells before a session ends.
"use strict";
const said = document.getElementById("said");
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    if (said) said.textContent = "Copied.";
    button.textContent = "Copied";
  });
}
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "k") {
    const box = document.querySelector("[data-search]");
    if (box) { event.preventDefault(); box.focus(); box.select(); }
  }
});
for (const box of document.querySelectorAll("[data-submit]")) box.addEventListener("change", () => box.form.requestSubmit());
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "1";
  });
}
window.addEventListener("pageshow", () => { for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent; });
const ends = document.getElementById("ends");
if (ends) {
  setTimeout(() => { ends.hidden = false; }, Number(ends.dataset.after) * 1000);
  ends.querySelector("button").addEventListener("click", async () => { await fetch(location.href); ends.hidden = true; });
}
const problems = document.getElementById("problems");
if (problems) problems.focus();
