// Every page works without this: it copies, searches while one types, says what waits, and tells before a session ends.
"use strict";
// Another page, without its style and script.
const read = (address, take) => {
  const request = new XMLHttpRequest();
  request.open("GET", address);
  request.setRequestHeader("x-only-words", "yes");
  request.responseType = "document";
  request.onload = () => { if (request.status === 200) take(request.response); };
  request.send();
};
const said = document.getElementById("said");
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    if (said) said.textContent = "Copied.";
    button.textContent = "Copied";
  });
}
// The palette: what is found is read from the page of the search, as it is without script.
const KEYS = "tidegate-keys";
const box = document.querySelector("[data-search]");
const hasKeys = () => localStorage.getItem(KEYS) !== "off";
document.addEventListener("keydown", (event) => {
  if (box && hasKeys() && (event.ctrlKey || event.metaKey) && event.key === "k") { event.preventDefault(); box.focus(); box.select(); }
  if (event.key === "Escape") document.querySelector(".palette #found")?.remove();
});
for (const hint of document.querySelectorAll("[data-search] + kbd")) hint.hidden = !hasKeys();
for (const choice of document.querySelectorAll("[data-keys]")) {
  const tick = choice.querySelector("input");
  choice.hidden = false;
  tick.checked = hasKeys();
  tick.addEventListener("change", () => localStorage.setItem(KEYS, tick.checked ? "on" : "off"));
}
const palette = document.querySelector(".palette");
if (palette) {
  let waits = 0;
  let asked = 0;
  const show = (found) => { palette.querySelector("#found")?.remove(); if (found) palette.append(document.importNode(found, true)); };
  const look = () => {
    const text = box.value.trim();
    const number = ++asked;
    if (!text) { show(null); return; }
    read(`${palette.action}?q=${encodeURIComponent(text)}`, (page) => { if (number === asked) show(page.getElementById("found")); });
  };
  box.addEventListener("input", () => { clearTimeout(waits); waits = setTimeout(look, 180); });
  palette.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const links = [box, ...palette.querySelectorAll("#found a")];
    const next = links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    if (links[next]) { event.preventDefault(); links[next].focus(); }
  });
  document.addEventListener("click", (event) => { if (!palette.contains(event.target)) show(null); });
}
// What waits, beside the names of the pages: read from its own page.
const pages = document.querySelector("nav[data-waiting]");
if (pages) {
  read(pages.dataset.waiting, (found) => {
    for (const one of found.querySelectorAll("a[data-waiting]")) {
      for (const link of document.querySelectorAll("nav a")) {
        if (link.getAttribute("href") !== one.dataset.page) continue;
        const number = document.createElement("span");
        number.className = "waiting";
        number.textContent = one.dataset.waiting;
        link.append(" ", number);
      }
    }
  });
}
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
