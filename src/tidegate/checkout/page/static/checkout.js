// Makes the page smoother; every step works without it. The server draws everything: after a form, or when the
// payment has changed, the same page is fetched again and put in place of the old one.
"use strict";
(() => {
  const policy = window.trustedTypes?.createPolicy("tidegate", { createHTML: (html) => html });
  // Without the style sheets, which carry another nonce than ours and are here already.
  const parsed = (html) => {
    const plain = html.replace(/<style[^]*?<\/style>/g, "");
    return new DOMParser().parseFromString(policy ? policy.createHTML(plain) : plain, "text/html");
  };
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const one = (selector, root = document) => root.querySelector(selector);
  const page = () => document.getElementById("page");
  // Without a stream of events, news are asked for this often; a refused stream is tried again as often.
  const ASK_EVERY_MS = 4000;
  // After this long an answer counts as lost. What was sent may have arrived all the same.
  const ANSWER_WITHIN_MS = 30000;
  // What was pressed offline is sent by itself within this time; later, the payer may have changed their mind.
  const SEND_WITHIN_MS = 120000;
  let timers = [];
  let source = null;
  let isPushed = false;
  let isBusy = false;
  // What waits for the network: a form that was not sent (then `at` is when it was pressed), or whose answer got lost.
  let held = null;

  const announce = (text) => {
    const status = document.getElementById("status");
    status.textContent = "";
    setTimeout(() => { status.textContent = text; }, 50);
  };
  const offline = document.getElementById("offline");
  const offlineWords = offline.textContent;
  const setOffline = (isOffline, words = held?.at ? offline.dataset.unsent : offlineWords) => {
    offline.textContent = words;
    offline.hidden = !isOffline;
  };
  // What asks the payer to press again stays until they do, whatever else gets through.
  const followNetwork = () => {
    const asks = [offline.dataset.missed, offline.dataset.again].includes(offline.textContent);
    if (offline.hidden || !asks || !navigator.onLine) setOffline(!navigator.onLine);
  };
  // Tabs that are not open have their own headings and faults.
  const firstSeen = (selector) => all(selector).find((element) => element.offsetParent !== null);

  // Putting a fresh page in place of this one.

  const show = (html, url) => {
    const fresh = parsed(html);
    const open = all("details[open]").length > 0;
    page().replaceWith(document.adoptNode(fresh.getElementById("page")));
    if (open) all("details").forEach((details) => { details.open = true; });
    document.title = fresh.title;
    document.documentElement.lang = fresh.documentElement.lang;
    document.documentElement.dir = fresh.documentElement.dir;
    document.documentElement.dataset.locale = fresh.documentElement.dataset.locale;
    if (url) history.replaceState(null, "", url);
    enhance();
    const heading = firstSeen("#main h1");
    const target = firstSeen("[aria-invalid=true], [data-wrong]") || firstSeen("[data-focus]") || heading;
    if (target) {
      if (target.tabIndex < 0) target.tabIndex = -1;
      target.focus({ preventScroll: true });
      const { top, bottom } = target.getBoundingClientRect();
      if (top < 0 || bottom > innerHeight) target.scrollIntoView({ block: "center" });
    }
    const news = firstSeen("[data-news]") || heading;
    if (news) announce(news.textContent);
  };

  // Too many requests: what was typed stays, and above it stands when it can be sent. False when that is not said.
  const slow = (html) => {
    const notice = one(".notice", parsed(html));
    if (!notice) return false;
    all(".notice").forEach((old) => old.remove());
    one("#main").prepend(document.adoptNode(notice));
    enhanceTimes(notice);
    notice.scrollIntoView({ block: "center" });
    announce(notice.textContent);
    return true;
  };

  const get = async (url, options = {}) => {
    const lost = new AbortController();
    const timer = setTimeout(() => lost.abort(), ANSWER_WITHIN_MS);
    try {
      const { signal } = lost;
      const answer = await fetch(url, { credentials: "same-origin", headers: { accept: "text/html" }, signal, ...options });
      const html = await answer.text();
      // Some proxy, or our own server in distress: as good as no answer.
      if (!html.includes('id="page"')) throw new Error("not a page of ours");
      followNetwork();
      return { html, url: answer.url, status: answer.status };
    } finally { clearTimeout(timer); }
  };

  const isTyping = () => document.activeElement?.matches("#main input:not([type=radio]), #main select") && document.activeElement.value;

  // A field with text in it is not replaced while it has the focus.
  const afterTyping = () => setTimeout(refresh, 300);
  const refresh = async () => {
    if (isBusy) return;
    const shown = page();
    try {
      const answer = await get(location.href);
      // What was put in place meanwhile is newer.
      if (answer.status !== 200 || isBusy || shown !== page()) return;
      const mark = /data-mark="([^"]+)"/.exec(answer.html)?.[1];
      if (mark === shown.dataset.mark) return;
      if (isTyping()) document.activeElement.addEventListener("blur", afterTyping, { once: true });
      else show(answer.html, null);
    } catch { followNetwork(); }
  };

  // Forms.

  const submit = async (form, button) => {
    if (isBusy || (form.dataset.sure && !confirm(form.dataset.sure))) return;
    held = navigator.onLine ? null : { form, button, at: Date.now() };
    if (held) setOffline(true);
    else await send(form, button);
  };
  const send = async (form, button) => {
    const body = new URLSearchParams(new FormData(form, button));
    if (form.dataset.sure) body.set("sure", "yes");
    const action = new URL(form.getAttribute("action"), location.href);  // A field may be called "action".
    const label = button?.firstChild;
    const words = label?.textContent;
    isBusy = true;
    setOffline(false);
    form.setAttribute("aria-busy", "true");
    if (button && form.dataset.busy) { label.textContent = form.dataset.busy; announce(form.dataset.busy); }
    const ready = () => {
      form.removeAttribute("aria-busy");
      if (label) label.textContent = words;
    };
    try {
      const answer = await get(action, { method: "POST", body });
      isBusy = false;
      if (answer.status === 429 && slow(answer.html)) ready();
      else show(answer.html, new URL(answer.url).pathname === action.pathname ? null : answer.url);
    } catch {
      // The answer got lost, not the payment: what became of it is asked for, nothing is sent twice.
      isBusy = false;
      document.activeElement.blur();  // The fields may be replaced.
      await refresh();
      ready();
      if (!form.isConnected) return;
      if (navigator.onLine) setOffline(true, offline.dataset.missed);
      else held = { form };
    }
  };
  // What is not known to be unsent is never sent again by itself.
  const goOn = async () => {
    const { form, button, at } = held ?? {};
    held = null;
    followNetwork();
    watch();
    await refresh();
    if (!form?.isConnected || isBusy) return;
    if (!at) setOffline(true, offline.dataset.missed);
    else if (Date.now() - at > SEND_WITHIN_MS) setOffline(true, offline.dataset.again);
    else send(form, button);
  };

  // Tabs.

  const selectTab = (tab) => {
    const method = tab.dataset.tab;
    all("[data-tab]").forEach((other) => {
      const isThis = other === tab;
      other.setAttribute("aria-selected", String(isThis));
      other.tabIndex = isThis ? 0 : -1;
    });
    all("[data-panel]").forEach((panel) => { panel.hidden = panel.dataset.panel !== method; });
    history.replaceState(null, "", tab.href);
  };
  const moveTab = (event) => {
    const tabs = all("[data-tab]");
    const isReversed = document.documentElement.dir === "rtl";
    const step = { ArrowRight: isReversed ? -1 : 1, ArrowLeft: isReversed ? 1 : -1 }[event.key];
    const at = tabs.indexOf(event.target.closest("[data-tab]"));
    const target = event.key === "Home" ? 0 : event.key === "End" ? tabs.length - 1 : step && (at + step + tabs.length) % tabs.length;
    if (target === undefined || at < 0) return;
    event.preventDefault();
    selectTab(tabs[target]);
    tabs[target].focus();
  };

  // Card fields.

  const BRANDS = [[/^4/, "Visa"], [/^(506[01]|507[89]|650)/, "Verve"], [/^(5[1-5]|2[2-7])/, "Mastercard"]];
  // Every script has its ten digits in a row, which begins at a code that ends in 0 or in 6.
  const inAscii = (text) => text.replace(/[^\x00-\x7f]/gu, (one) => {
    const code = one.codePointAt(0);
    const row = code - (code % 16);
    if (!/\p{Nd}/u.test(one)) return one;
    return String(code - row - (/\p{Nd}/u.test(String.fromCodePoint(row)) ? 0 : 6));
  });
  const digitsOf = (text) => inAscii(text).replace(/\D/g, "");
  // The same digits stay behind the caret: before it, some may have been put in.
  const keepCaret = (field, format, event) => {
    const digits = digitsOf(field.value);
    const formatted = format(digits, field.value);
    if (formatted === field.value) return;
    const dropped = Math.max(0, digits.length - digitsOf(formatted).length);
    const behind = digitsOf(field.value.slice(field.selectionStart)).length - dropped;
    field.value = formatted;
    let at = formatted.length;
    for (let seen = 0; at > 0 && seen < behind; at -= 1) if (/\d/.test(formatted[at - 1])) seen += 1;
    // Beside the digit that the next stroke takes away.
    const isForward = event?.inputType === "deleteContentForward";
    while (behind > 0 && !isForward && at > 0 && !/\d/.test(formatted[at - 1])) at -= 1;
    field.setSelectionRange(at, at);
  };
  const formatNumber = (digits) => digits.slice(0, 19).replace(/(\d{4})(?=\d)/g, "$1 ");
  const formatExpiry = (_, typed) => {
    // A month of one digit: 9/28, or 928, as there is no month 92.
    const digits = digitsOf(inAscii(typed).replace(/^\D*(\d)(?=\D)/, "0$1")).replace(/^[2-9]/, "0$&");
    const [month, rest] = [digits.slice(0, 2), digits.slice(2)];
    if (month.length < 2) return month;
    const year = /^20\d\d/.test(rest) ? rest.slice(2, 4) : rest.slice(0, rest.startsWith("20") ? 4 : 2);
    return `${month} / ${year}`;
  };
  const enhanceCard = (form) => {
    const number = one("#number", form);
    const brand = one("[data-brand]", form);
    const update = () => {
      const digits = digitsOf(number.value);
      brand.textContent = BRANDS.find(([pattern]) => pattern.test(digits))?.[1] ?? "";
      one("[data-marks]", form).hidden = Boolean(brand.textContent);
    };
    number.addEventListener("input", (event) => { keepCaret(number, formatNumber, event); update(); });
    const expiry = one("#expiry", form);
    expiry.addEventListener("input", (event) => {
      if (event.inputType !== "deleteContentBackward") keepCaret(expiry, formatExpiry, event);
    });
    if (number.value) keepCaret(number, formatNumber);
    update();
  };

  const enhanceState = (field) => {
    const country = one("#country");
    const update = () => {
      field.hidden = !field.dataset.onlyIn.includes(country.value);
      one("input", field).disabled = field.hidden;
    };
    country.addEventListener("change", update);
    update();
  };

  // Mobile money: the operator is guessed from the number, until the payer chooses one.

  const enhanceOperator = (form) => {
    const prefixes = JSON.parse(form.dataset.prefixes);
    const phone = one("#phone", form);
    const guess = () => {
      const code = one(".joined span", form).textContent.replace(/\D/g, "");
      const national = digitsOf(phone.value).replace(/^00/, "").replace(new RegExp(`^${code}`), "").replace(/^0/, "");
      const length = Object.keys(prefixes).map((prefix) => prefix.length).sort((a, b) => b - a).find((size) => prefixes[national.slice(0, size)]);
      return length && one(`[name=operator][value="${CSS.escape(prefixes[national.slice(0, length)])}"]`, form);
    };
    const checked = one("[name=operator]:checked", form);
    let isChosen = Boolean(checked) && checked !== guess();
    if (!checked && guess()) guess().checked = true;
    form.addEventListener("change", (event) => { if (event.target.name === "operator") isChosen = true; });
    phone.addEventListener("input", () => {
      const guessed = guess();
      if (guessed && !isChosen) guessed.checked = true;
    });
  };

  // Only letters and digits, without accents: "G.T. Bank" is found as "gtbank".
  const folded = (text) => inAscii(text).normalize("NFKD").replace(/[^\p{L}\p{N}]/gu, "").toLowerCase();
  const enhanceSearch = (box) => {
    const form = box.closest("form");
    const labels = all(".list label", form);
    box.hidden = false;
    // Enter would send the form; here it takes the only bank that is left.
    one("input", box).addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      const left = labels.filter((label) => !label.hidden);
      if (left.length === 1) left[0].click();
    });
    one("input", box).addEventListener("input", (event) => {
      const wanted = folded(event.target.value);
      const names = (label) => [label.textContent, ...label.dataset.names.split("|")];
      labels.forEach((label) => { label.hidden = !names(label).some((name) => folded(name).includes(wanted)); });
      one("[data-nothing]", form).hidden = labels.some((label) => !label.hidden);
    });
  };

  // Time.

  const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
  const enhanceTimes = (root) => {
    all("time[datetime]", root).forEach((time) => {
      const moment = new Date(time.dateTime);
      // The server writes the time of the country; a device set to another zone shows its own.
      if (-moment.getTimezoneOffset() === Number(time.dataset.offset)) return;
      const options = time.dataset.style === "time" ? { timeStyle: "short" } : { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" };
      time.textContent = new Intl.DateTimeFormat(`${document.documentElement.dataset.locale}-u-nu-latn`, { ...options, hourCycle: "h23" }).format(moment);
    });
    const started = performance.now();
    const every = [];
    all("[data-countdown]", root).forEach((place) => every.push(() => {
      const left = Math.max(0, Number(place.dataset.countdown) - (performance.now() - started) / 1000);
      place.hidden = left > Number(place.dataset.loudFrom);
      place.textContent = clock(Math.ceil(left));
      const pause = place.closest("[data-pause]");
      const notice = pause ?? place.closest(".notice");
      if (pause) one("button", pause.parentElement).disabled = left > 0;
      if (notice) notice.hidden = left === 0;
      else if (left === 0 && !place.dataset.over) { place.dataset.over = "yes"; setTimeout(refresh, 1500); }
    }));
    all("[data-elapsed]", root).forEach((place) => every.push(() => {
      place.hidden = false;
      place.textContent = clock(Number(place.dataset.elapsed) + (performance.now() - started) / 1000);
    }));
    if (every.length) {
      every.forEach((tick) => tick());
      timers.push(setInterval(() => every.forEach((tick) => tick()), 1000));
    }
  };

  const enhanceLeaving = (link) => {
    const leaving = one("[data-leaving]");
    let left = Number(link.dataset.leave);
    if (!left) return;
    const text = leaving.firstChild, stay = one("[data-stay]");
    // The way back from the shop leads to the page, not to the shop again.
    const settle = () => { clearInterval(timer); history.replaceState(null, "", stay.href); };
    const timer = setInterval(() => {
      left -= 1;
      text.textContent = text.textContent.replace(/\d+/, String(Math.max(left, 0)));
      if (left <= 0) { settle(); location.assign(link.href); }
    }, 1000);
    timers.push(timer);
    link.addEventListener("click", settle);
    stay.addEventListener("click", (event) => {
      event.preventDefault();
      settle();
      leaving.hidden = true;
    });
  };

  // News: pushed by the server, asked for while the push does not come through.

  const watch = () => {
    source?.close();
    isPushed = false;
    source = page().dataset.watch ? new EventSource(page().dataset.watch) : null;
    source?.addEventListener("status", (event) => {
      isPushed = true;
      followNetwork();
      if (String(JSON.parse(event.data).version) !== page().dataset.version) refresh();
    });
    source?.addEventListener("error", () => {
      isPushed = false;
      followNetwork();
      // A stream that broke is opened again by the browser; one that was refused is not.
      if (source.readyState === EventSource.CLOSED) timers.push(setTimeout(watch, ASK_EVERY_MS));
    });
  };
  const askNowAndThen = () => {
    const poll = Number(page().dataset.poll);
    if (poll) timers.push(setInterval(() => { if (!document.hidden) refresh(); }, poll * 1000));
    if (source) timers.push(setInterval(() => { if (!isPushed && !document.hidden) refresh(); }, ASK_EVERY_MS));
  };

  const copy = async (button) => {
    await navigator.clipboard.writeText(button.dataset.copy);
    announce(button.dataset.done);
    const label = button.firstChild;
    if (label.textContent === button.dataset.done) return;  // Pressed twice.
    const words = label.textContent;
    label.textContent = button.dataset.done;
    setTimeout(() => { label.textContent = words; }, 1600);
  };

  const enhance = () => {
    // Said once; looking again must not say it again.
    history.replaceState(null, "", location.href.replace(/[?&](changed|extended|refused|soon)=1/, ""));
    timers.forEach(clearInterval);
    timers = [];
    all("[data-copy]").forEach((button) => { button.hidden = !navigator.clipboard; });
    all("[data-without-script]").forEach((button) => { button.hidden = true; });
    all("[data-print], [data-fill]").forEach((button) => { button.hidden = false; });
    all("[data-card]").forEach(enhanceCard);
    all("[data-prefixes]").forEach(enhanceOperator);
    all("[data-search]").forEach(enhanceSearch);
    all("[data-only-in]").forEach(enhanceState);
    all("[data-leave]").forEach(enhanceLeaving);
    enhanceTimes();
    watch();
    askNowAndThen();
  };

  const fill = (button) => {
    const values = JSON.parse(button.dataset.fill);
    const tab = one(`[data-tab="${values.tab}"]`);
    if (tab) selectTab(tab);
    const filled = Object.entries(values.fields).map(([name, value]) => {
      const field = one(`#main [name="${name}"], [data-simulator] [name="${name}"]`);
      if (field) field.value = value;
      field?.dispatchEvent(new Event("input", { bubbles: true }));
      return field;
    });
    filled[0]?.focus();
  };

  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-smooth]")) return;
    event.preventDefault();
    submit(event.target, event.submitter);
  });
  document.addEventListener("click", (event) => {
    const hit = (selector) => event.target.closest?.(selector);
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    if (hit("[data-copy]")) copy(hit("[data-copy]"));
    if (hit("[data-print]")) window.print();
    if (hit("[data-fill]")) fill(hit("[data-fill]"));
    if (hit("[data-tab]")) { event.preventDefault(); selectTab(hit("[data-tab]")); }
    if (hit("[data-swap]")) {
      event.preventDefault();
      const { href } = hit("[data-swap]");
      get(href).then((answer) => show(answer.html, href)).catch(() => (navigator.onLine ? location.assign(href) : setOffline(true)));
    }
  });
  document.addEventListener("keydown", (event) => { if (event.target.closest?.("[data-tab]")) moveTab(event); });
  document.addEventListener("input", ({ target, isComposing }) => {
    if (isComposing || !target.matches("[inputmode=numeric], [inputmode=tel]")) return;
    const { value, selectionStart: at } = target;
    if (inAscii(value) === value) return;
    target.value = inAscii(value);
    target.setSelectionRange(at, at);
  });
  document.addEventListener("change", (event) => {
    if (!event.target.closest?.("[data-language]")) return;
    const here = new URL(location.href);
    here.searchParams.set("lang", event.target.value);
    location.assign(here);
  });
  window.addEventListener("online", goOn);
  window.addEventListener("offline", () => setOffline(true));
  // Back from the bank or the shop: the page may be an old copy.
  window.addEventListener("pageshow", (event) => { if (event.persisted) { refresh(); watch(); } });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  enhance();
})();
