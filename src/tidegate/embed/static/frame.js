// Inside the frame: tells the shop's page what became of the payment. It never says anything to another origin.
"use strict";
(() => {
  const { origin, id, reference, payCode, full } = document.currentScript.dataset;
  const DEAF_MS = 500;
  const say = (type, more) => parent.postMessage({ source: "tidegate", v: 1, id, type, ...more }, origin);
  if (parent === window) return;
  // A button that was just put under the payer's finger takes no press.
  const opened = performance.now();
  addEventListener("submit", (event) => {
    if (performance.now() - opened > DEAF_MS) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);
  let said = "";
  const tell = () => {
    const state = document.getElementById("page")?.dataset.frame ?? "open";
    if (state === said) return;
    said = state;
    // The bank's own page may refuse a frame: the whole window goes there, from the hosted page.
    if (state === "leave") say("leave", { url: new URL(full, location.origin).href });
    else if (state !== "open") say("end", { status: state, reference, payCode });
  };
  const measure = () => say("resize", { height: Math.ceil(document.body.getBoundingClientRect().height) });
  new MutationObserver(tell).observe(document.body, { childList: true });
  new ResizeObserver(measure).observe(document.body);
  addEventListener("keydown", (event) => { if (event.key === "Escape") say("close"); });
  say("ready", { language: document.documentElement.lang });
  tell();
})();
