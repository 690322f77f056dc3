// Copy, and running the sample. Without this file the page is complete: everything can be selected, and a form creates.
const announcement = document.getElementById('announcement');
const made = (tag, name, text) => {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
};

function enableCopying(button, textOf) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(textOf());
    button.textContent = announcement.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
      announcement.textContent = '';
    }, 2000);
  });
}

if (navigator.clipboard) {
  document.querySelectorAll('[data-copy]').forEach((button) => enableCopying(button, () => button.dataset.copy));
  document.querySelectorAll('[data-copies]').forEach((button) => {
    const blocks = [...button.closest('.languages').querySelectorAll(button.dataset.copies)];
    enableCopying(button, () => blocks.find((block) => block.offsetParent).textContent);
  });
}

// Run: sends the request of the sample, with the keys that this server gives its own pages.
async function send({ keys, url, body }) {
  const given = await fetch(keys);
  if (!given.ok) throw new Error('the keys are given to pages of this machine only');
  const begun = performance.now();
  const headers = { ...(await given.json()), 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body });
  return { status: answer.status, ms: Math.round(performance.now() - begun), said: await answer.json() };
}

function shown({ status, ms, said }, { body }) {
  const { amount, currency } = JSON.parse(body);
  const words = made('p', said.data ? '' : 'bad', `${status} ${said.data ? 'Created' : said.message}`);
  if (!said.data) return [words];
  words.append(made('span', '', ` in ${ms} ms · ${currency} ${amount.toLocaleString('en')}.00`));
  const [block, pay] = [made('div', 'ok'), made('a', 'button', 'Pay it')];
  block.append(words, made('code', '', said.data.link));
  pay.href = said.data.link;
  return [block, pay];
}

// The next step is to pay.
function goOn() {
  const [create, pay] = document.querySelectorAll('.steps li');
  create.removeAttribute('aria-current');
  pay.setAttribute('aria-current', 'step');
}

function enableRunning(button) {
  const result = document.querySelector('.result');
  button.hidden = false;
  button.addEventListener('click', async () => {
    button.disabled = true;
    try {
      const answer = await send(button.dataset);
      result.replaceChildren(...shown(answer, button.dataset));
      if (answer.said.data) goOn();
    } catch (error) {
      result.replaceChildren(made('p', 'bad', `No answer: ${error.message}`));
    }
    result.hidden = button.disabled = false;
    announcement.textContent = result.querySelector('p').textContent;
  });
}
document.querySelectorAll('[data-keys]').forEach(enableRunning);
