// Copying, the reader's choices, search, and running examples. Without this file the pages are complete.
const announcement = document.querySelector('[role=status]');
const stored = (name, value) => {
  try {
    if (value !== undefined) localStorage.setItem(name, value);
    return localStorage.getItem(name);
  } catch {
    return null;
  }
};
const made = (tag, name, text) => {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
};

// Copy.
function addCopyButton(block) {
  const button = made('button', 'copy', 'Copy');
  button.type = 'button';
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(block.textContent);
      button.textContent = announcement.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(block);
      button.textContent = announcement.textContent = 'Selected';
    }
    setTimeout(() => {
      button.textContent = 'Copy';
      announcement.textContent = '';
    }, 2000);
  });
  block.before(button);
}
if (navigator.clipboard) document.querySelectorAll('pre[data-copy]').forEach(addCopyButton);

// Light or dark.
const theme = document.querySelector('.theme');
theme.hidden = false;
theme.addEventListener('click', () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = isDark ? 'light' : 'dark';
  stored('docs-theme', root.dataset.theme);
});

// The language of the samples, for all pages.
const chosen = document.getElementById(`lang-${stored('docs-lang')}`);
if (chosen) chosen.checked = true;
document.querySelectorAll('input[name=lang]').forEach((input) => {
  input.addEventListener('change', () => stored('docs-lang', input.value));
});

// Search: the same ranking as search.py.
const form = document.querySelector('.search');
const field = form.querySelector('input');
const results = form.querySelector('.results');
let index = [];
let loading = null;
form.hidden = false;

const COMMON = new RegExp(
  '^(an?|and|are|can|do|does|for|from|how|i|if|in|is|its?|my|of|on|or|that|the|this|to|was|what|when|where|which|with|your?)$',
);
const wordsOf = (text) => [...new Set(text.toLowerCase().match(/[a-z0-9_]+(\.[a-z0-9_]+)*/g))]
  .filter((word) => !COMMON.test(word));
const stemOf = (word) => word.replace(/paid$/, 'pay').replace(/(?<=...)(ments?|ings?|ies|ied|ed|es|s|e|y)$/, '');
const textOf = (text) => [wordsOf(text), wordsOf(text).map(stemOf)];
function likeness(word, [words, stems]) {
  if (words.includes(word)) return 4;
  if (stems.includes(stemOf(word))) return 3;
  if (word.length > 1 && words.some((each) => each.startsWith(word))) return 2;
  return word.length > 3 && words.some((each) => each.includes(word)) ? 1 : 0;
}
// A letter too many, too few or another one, or two that changed places.
function isOneEdit(typed, meant) {
  let at = 0;
  while (at < typed.length && typed[at] === meant[at]) at += 1;
  const [rest, other] = [typed.slice(at), meant.slice(at)];
  return rest.slice(1) === other || rest === other.slice(1) || rest.slice(1) === other.slice(1)
    || (rest[0] === other[1] && rest[1] === other[0] && rest.slice(2) === other.slice(2));
}
const pointsOf = (word, { title, keywords, words, weight }) =>
  Math.max(weight * Math.max(likeness(word, title), likeness(word, keywords)), likeness(word, words));
// A page that was opened as a file may not fetch: there the index is a script.
const scripted = (src) => new Promise((resolve, reject) => {
  const script = made('script');
  Object.assign(script, { src, onload: () => resolve(window.searchIndex), onerror: reject });
  document.head.append(script);
});
async function loadIndex() {
  const address = document.body.dataset.search;
  const entries = await (address.endsWith('.js') ? scripted(address) : (await fetch(address)).json());
  return entries.map(([title, address, where, words, keywords]) => ({
    shown: [title, address, where],
    title: textOf(title),
    keywords: textOf(keywords),
    words: textOf(words),
    weight: address.includes('#') ? 5 : 6,
    name: address.replace(/^.*\/|\.html$|-/g, ''),
  }));
}
// A word that is nowhere stands for the most frequent one that differs from it in one letter.
function corrected(word) {
  if (word.length < 4 || index.some((entry) => pointsOf(word, entry))) return word;
  const known = {};
  for (const { title, words } of index) for (const each of [...title[0], ...words[0]]) known[each] = (known[each] ?? 0) + 1;
  const meant = Object.keys(known).filter((each) => isOneEdit(word, each));
  return meant.reduce((best, each) => (known[each] > (known[best] ?? 0) ? each : best), word);
}
// Most for the very title, such as a field's. A page is also named by its address, as an operation is.
function nameWeight({ shown: [title], title: [words], name }, wanted) {
  if (title.toLowerCase() === wanted.join(' ')) return 20;
  return words.join(' ') === wanted.join(' ') || name === wanted.join('') ? 10 : 1;
}
function ranked(wanted) {
  const scores = index.map((entry) => ({ entry, score: 0, count: 0 }));
  for (const word of wanted) {
    const points = index.map((entry) => pointsOf(word, entry));
    const rarity = Math.log(1 + index.length / Math.max(1, points.filter(Boolean).length));
    points.forEach((each, place) => {
      scores[place].score += each * rarity;
      scores[place].count += each > 0;
    });
  }
  const found = scores.filter(({ count }) => count);
  for (const one of found) one.score *= (one.count / wanted.length) ** 2 * nameWeight(one.entry, wanted);
  return found.sort((a, b) => b.score - a.score).map(({ entry }) => entry.shown);
}
async function search() {
  // Loaded once; where that fails, the next letter tries again.
  loading ??= loadIndex().catch(() => { loading = null; return null; });
  const loaded = await loading;
  if (!loaded) return;
  index = loaded;
  // Not what was typed when the loading began.
  const wanted = wordsOf(field.value).slice(0, 8);
  results.hidden = wanted.length === 0;
  const found = ranked(wanted.map(corrected));
  results.replaceChildren(...found.slice(0, 12).map(([title, address, where]) => {
    const link = made('a', '', title);
    link.href = new URL(address, new URL(document.body.dataset.root, location.href));
    link.append(made('span', '', where));
    return link;
  }));
  if (!found.length) results.append(made('p', '', 'Nothing found.'));
}
field.addEventListener('input', search);
field.addEventListener('focus', search);
form.addEventListener('submit', (event) => {
  const first = results.querySelector('a');
  if (first) {
    event.preventDefault();
    first.click();
  } else if (form.classList.contains('scripted')) event.preventDefault();
});
document.addEventListener('keydown', (event) => {
  const links = [...results.querySelectorAll('a')];
  const at = links.indexOf(document.activeElement);
  if (event.key === '/' && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
    event.preventDefault();
    field.focus();
  } else if (event.key === 'Escape') results.hidden = true;
  else if (!results.hidden && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
    const next = at + (event.key === 'ArrowDown' ? 1 : -1);
    event.preventDefault();
    (links[next] ?? field).focus();
  }
});
document.addEventListener('click', (event) => {
  if (!form.contains(event.target)) results.hidden = true;
});

// Run: sends the requests of the example to this sandbox, with the reader's own test keys.
const VARIABLES = {
  'api-key': 'TIDEGATE_SECRET_KEY', 'x-pub-key': 'TIDEGATE_PUBLIC_KEY', 'x-business-id': 'TIDEGATE_BUSINESS_ID',
};

function withValues(value, uses, values) {
  if (typeof value === 'string') return value in uses ? values[uses[value]] : value;
  if (Array.isArray(value)) return value.map((each) => withValues(each, uses, values));
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withValues(each, uses, values)]));
  }
  return value;
}

async function sendOne(request, keys, values) {
  for (const [name, prefix] of Object.entries(request.chooses)) {
    values[name] = prefix + crypto.getRandomValues(new Uint32Array(1))[0];
  }
  const path = request.path.replace(/\$\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? name));
  const headers = Object.fromEntries(request.headers.map((name) => [name, keys[name]]));
  const body = request.body === null ? undefined : JSON.stringify(withValues(request.body, request.uses, values));
  if (body) headers['content-type'] = 'application/json';
  const begun = performance.now();
  const answer = await fetch(document.body.dataset.api + path, { method: request.method, headers, body });
  const text = await answer.text();
  for (const [name, from] of Object.entries(request.takes)) {
    const value = text.split(`"${from}":"`)[1]?.split('"')[0];
    if (value) values[name] = value;
  }
  const ms = Math.round(performance.now() - begun);
  // What cannot be done at this moment, such as sending again what is being sent.
  const waitS = answer.status === 409 ? Number(answer.headers.get('retry-after')) : 0;
  return { request, path, status: answer.status, ok: answer.ok, text, ms, waitS };
}

const valuesOf = (keys) => Object.fromEntries(Object.entries(VARIABLES).map(([header, name]) => [name, keys[header]]));

async function runPlan(plan, keys, values = valuesOf(keys)) {
  const said = await sendAll(plan.filter((request) => !request.undoes), keys, values);
  const undone = [];
  for (const request of plan.filter(({ undoes }) => undoes)) undone.push(await sendOne(request, keys, values));
  return { ...said, undone: undone.filter(({ ok }) => ok) };
}

async function sendAll(plan, keys, values) {
  let said;
  for (const request of plan) {
    const wanted = Object.keys(request.takes);
    const until = new RegExp(request.until ?? '');
    for (let tries = 0; tries < 50; tries += 1) {
      said = await sendOne(request, keys, values);
      if (!said.waitS && (!request.repeats || values[wanted[0]]) && until.test(said.text)) break;
      await new Promise((resume) => setTimeout(resume, said.waitS * 1000 || 200));
    }
    if (!said.ok) return said;
  }
  return said;
}

// The samples of a guide rest on each other: those before it go first unless they have been run, and all share values.
async function runGuide(runner, keys) {
  const all = [...runner.closest('.body').querySelectorAll('.runner')];
  all[0].values ??= valuesOf(keys);
  const { values } = all[0];
  let said;
  for (const each of all.slice(0, all.indexOf(runner) + 1)) {
    if (each === runner || !each.hasRun) {
      said = await runPlan(JSON.parse(each.dataset.plan), keys, values);
      if (!said.ok) break;
      each.hasRun = true;
    }
  }
  return { ...said, order: values.ORDER };
}

function shown(said) {
  const figure = made('figure', 'output said');
  const caption = made('figcaption');
  caption.append(
    made('span', said.ok ? 'ok' : 'bad', said.status),
    made('code', '', `${said.request.method} ${said.path}`),
    made('span', '', `${said.ms} ms`),
  );
  if (said.order) caption.append(made('span', '', `sent as ${said.order}`));
  let text = said.text;
  try {
    text = JSON.stringify(JSON.parse(text), null, 2);
    const link = JSON.parse(said.text).data?.link;
    if (link) {
      const open = made('a', '', 'Open the page');
      open.href = link;
      caption.append(open);
    }
  } catch {
    // A file, as it is.
  }
  const block = made('pre');
  block.append(made('code', '', text));
  figure.append(caption, block);
  for (const { request, path } of said.undone ?? []) {
    figure.append(made('p', '', `Removed again, since nothing answers there: ${request.method} ${path}`));
  }
  return figure;
}

function addRunner(runner, keys) {
  runner.hidden = false;
  if (!('follows' in runner.dataset)) {
    addRunButton(runner, runner.previousElementSibling, () => runPlan(JSON.parse(runner.dataset.plan), keys));
    return;
  }
  // One in each language; the page shows one of them.
  for (let figure = runner.previousElementSibling; figure?.matches('.sample'); figure = figure.previousElementSibling) {
    addRunButton(runner, figure, () => runGuide(runner, keys));
  }
}

function addRunButton(runner, place, run) {
  const button = made('button', 'run', 'Run');
  button.type = 'button';
  button.title = 'Sends it to this sandbox, with your test keys';
  button.addEventListener('click', async () => {
    if (runner.dataset.asks && !confirm('This changes your test business and cannot be undone. Run it?')) return;
    button.disabled = true;
    try {
      runner.replaceChildren(shown(await run()));
      announcement.textContent = 'Answered';
    } catch (error) {
      runner.replaceChildren(made('p', 'bad', `No answer: ${error.message}`));
    }
    button.disabled = false;
  });
  place.append(button);
}

// Keys go into what is shown and copied, never into a page that is stored anywhere.
function fillKeys(keys) {
  for (const code of document.querySelectorAll('pre[data-copy] code')) {
    const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      for (const [header, name] of Object.entries(VARIABLES)) {
        walker.currentNode.data = walker.currentNode.data.replace(`your-${name.toLowerCase().replaceAll('_', '-')}`, keys[header]);
      }
    }
  }
}

async function enableRunning(address) {
  const answer = await fetch(address);
  if (!answer.ok) return;
  const keys = await answer.json();
  document.querySelectorAll('.runner').forEach((runner) => addRunner(runner, keys));
  fillKeys(keys);
}
if (document.body.dataset.keys) enableRunning(document.body.dataset.keys);
