// Gives what is wrong with the layout of the page as it stands in its window.
(textPxMin) => {
  const faults = [];
  const isSeen = (element) => element.checkVisibility({ visibilityProperty: true });
  const all = (selector) => [...document.querySelectorAll(selector)].filter(isSeen);
  const inWords = (element) => element.outerHTML.replace(/\s+/g, " ").slice(0, 120);
  const say = (what, elements) => elements.slice(0, 5).forEach((element) => faults.push(`${what}: ${inWords(element)}`));
  const styleOf = (element) => getComputedStyle(element);
  const everything = all("body *");

  const { scrollWidth, clientWidth } = document.scrollingElement;
  if (scrollWidth > clientWidth) {
    faults.push(`scrolls sideways: ${scrollWidth} px in ${clientWidth}`);
    const reaches = (element) => element.getBoundingClientRect().right > clientWidth + 1;
    say("reaches beyond the window", everything.filter(reaches));
  }

  // Elements in a line of text have no size of their own.
  const holders = all("button, .button, [role=tab], .mark, .state, summary, select, h1, h2, label")
    .filter((element) => element.clientWidth && !element.matches(".unseen"));
  const isCut = (element) => styleOf(element).overflow !== "visible" && element.scrollHeight > element.clientHeight + 1;
  say("text does not fit", holders.filter((element) => element.scrollWidth > element.clientWidth + 1));
  say("text is cut off", holders.filter(isCut));

  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const isSmall = (element) => parseFloat(styleOf(element).fontSize) < textPxMin;
  say("text is too small", everything.filter((element) => hasText(element) && isSmall(element)));

  const ids = all("[id]").map((element) => element.id);
  ids.filter((id, index) => ids.indexOf(id) !== index).forEach((id) => faults.push(`id twice: ${id}`));
  for (const only of ["h1", "main"]) if (all(only).length !== 1) faults.push(`${all(only).length} × ${only}`);
  const levels = all("h1, h2, h3, h4").map((heading) => Number(heading.tagName[1]));
  const skips = levels.filter((level, index) => index && level > levels[index - 1] + 1);
  skips.forEach((level) => faults.push(`a heading of level ${level} without one above it`));

  const { lang } = document.documentElement;
  const { direction } = styleOf(document.documentElement);
  if (!lang || direction !== (lang === "ar" ? "rtl" : "ltr")) faults.push(`${direction} in the language "${lang}"`);
  return faults;
}
