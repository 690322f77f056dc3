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
  const RETRY_MS = 4000;
  const LOCALES = { fr: "fr", sw: "sw", pt: "pt-PT", ar: "ar" };
  let timers = [];
  let source = null;
  let isBusy = false;

  const announce = (text) => {
    const news = document.getElementById("news");
    news.textContent = "";
    setTimeout(() => { news.textContent = text; }, 50);
  };
  const setOffline = (isOffline) => { document.getElementById("offline").hidden = !isOffline; };

  // Putting a fresh page in place of this one.

  const show = (html, url) => {
    const fresh = parsed(html);
    const next = fresh.getElementById("page");
    if (!next) { location.assign(url); return; }
    const open = all("details[open]").length > 0;
    page().replaceWith(document.adoptNode(next));
    if (open) all("details").forEach((details) => { details.open = true; });
    document.title = fresh.title;
    document.documentElement.lang = fresh.documentElement.lang;
    document.documentElement.dir = fresh.documentElement.dir;
    if (url) history.replaceState(null, "", url);
    enhance();
    const target = one("[aria-invalid=true]") || one("[data-focus]") || one("#main h1");
    if (target) {
      if (target.tabIndex < 0) target.tabIndex = -1;
      target.focus({ preventScroll: true });
      const { top, bottom } = target.getBoundingClientRect();
      if (top < 0 || bottom > innerHeight) target.scrollIntoView({ block: "center" });
    }
    const heading = one("#main h1");
    if (heading) announce(heading.textContent);
  };

  const get = async (url, options = {}) => {
    const answer = await fetch(url, { credentials: "same-origin", headers: { accept: "text/html" }, ...options });
    setOffline(false);
    return { html: await answer.text(), url: answer.url, status: answer.status };
  };

  const isTyping = () => {
    const field = document.activeElement;
    return field && field.matches("input:not([type=radio]), select") && page().contains(field) && !field.closest("[data-simulator]");
  };

  const refresh = async () => {
    if (isBusy) return;
    try {
      const answer = await get(location.href);
      if (answer.status !== 200) return;
      const mark = /data-mark="([^"]+)"/.exec(answer.html)?.[1];
      if (mark !== page().dataset.mark) show(answer.html, null);
    } catch { setOffline(!navigator.onLine); }
  };

  // Forms.

  const submit = async (form, button) => {
    if (isBusy || (form.dataset.sure && !confirm(form.dataset.sure))) return;
    const body = new URLSearchParams(new FormData(form, button));
    const action = new URL(form.getAttribute("action"), location.href);  // A field may be called "action".
    const label = button?.firstChild;
    const words = label?.textContent;
    isBusy = true;
    form.setAttribute("aria-busy", "true");
    if (button && form.dataset.busy) { label.textContent = form.dataset.busy; announce(form.dataset.busy); }
    try {
      const answer = await get(action, { method: "POST", body });
      isBusy = false;
      show(answer.html, new URL(answer.url).pathname === action.pathname ? null : answer.url);
    } catch {
      // The answer got lost, not the payment: what became of it is asked for, nothing is sent twice.
      isBusy = false;
      form.removeAttribute("aria-busy");
      if (label) label.textContent = words;
      setOffline(true);
      refresh();
    }
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

  const BRANDS = [[/^4/, "Visa"], [/^(506[01]|507[89]|650)/, "Verve"], [/^(5[1-5]|2[2-7])/, "Mastercard"], [/^3[47]/, "Amex"]];
  const digitsOf = (text) => text.normalize("NFKC").replace(/\D/g, "");
  const keepCaret = (field, format) => {
    const before = digitsOf(field.value.slice(0, field.selectionStart)).length;
    const formatted = format(digitsOf(field.value), field.value);
    if (formatted === field.value) return;
    field.value = formatted;
    let at = 0;
    for (let seen = 0; at < formatted.length && seen < before; at += 1) if (/\d/.test(formatted[at])) seen += 1;
    if (at === formatted.length - 3 && /^ \/ $/.test(formatted.slice(at))) at = formatted.length;
    field.setSelectionRange(at, at);
  };
  const formatNumber = (digits) => (/^3[47]/.test(digits)
    ? [digits.slice(0, 4), digits.slice(4, 10), digits.slice(10, 15)].filter(Boolean).join(" ")
    : digits.slice(0, 19).replace(/(\d{4})(?=\d)/g, "$1 "));
  const formatExpiry = (digits, typed) => {
    let month = digits.slice(0, 2);
    let rest = digits.slice(2);
    if (/^[2-9]$/.test(month)) { month = `0${month}`; rest = ""; }
    if (/^20\d\d$/.test(rest)) rest = rest.slice(2);
    if (month.length < 2) return month && /\/\s*$/.test(typed) ? `0${month} / ` : month;
    // Backspace over the slash takes it away; typing on puts it back.
    return rest ? `${month} / ${rest.slice(0, rest.startsWith("20") ? 4 : 2)}` : /\d$|\/\s?$/.test(typed) && typed.length >= 2 && !/^\d\d \/$/.test(typed) ? `${month} / ` : month;
  };
  const enhanceCard = (form) => {
    const number = one("#number", form);
    const brand = one("[data-brand]", form);
    const update = () => {
      const digits = digitsOf(number.value);
      brand.textContent = BRANDS.find(([pattern]) => pattern.test(digits))?.[1] ?? "";
    };
    number.addEventListener("input", () => { keepCaret(number, formatNumber); update(); });
    const expiry = one("#expiry", form);
    expiry.addEventListener("input", (event) => {
      if (event.inputType !== "deleteContentBackward") keepCaret(expiry, formatExpiry);
    });
    if (number.value) keepCaret(number, formatNumber);
    update();
  };

  // Mobile money: the operator is guessed from the number, until the payer chooses one.

  const enhanceOperator = (form) => {
    const prefixes = JSON.parse(form.dataset.prefixes);
    const phone = one("#phone", form);
    let isChosen = Boolean(one("[name=operator]:checked", form));
    form.addEventListener("change", (event) => { if (event.isTrusted && event.target.name === "operator") isChosen = true; });
    phone.addEventListener("input", () => {
      if (isChosen) return;
      const code = one(".joined span", form).textContent.replace(/\D/g, "");
      const national = digitsOf(phone.value).replace(/^00/, "").replace(new RegExp(`^${code}`), "").replace(/^0/, "");
      const length = Object.keys(prefixes).map((prefix) => prefix.length).sort((a, b) => b - a).find((size) => prefixes[national.slice(0, size)]);
      const guess = length && one(`[name=operator][value="${CSS.escape(prefixes[national.slice(0, length)])}"]`, form);
      if (guess) guess.checked = true;
    });
  };

  const enhanceSearch = (box) => {
    const form = box.closest("form");
    box.hidden = false;
    one("input", box).addEventListener("input", (event) => {
      const wanted = event.target.value.trim().toLocaleLowerCase();
      const labels = all(".list label", form);
      labels.forEach((label) => { label.hidden = !label.textContent.toLocaleLowerCase().includes(wanted); });
      one("[data-nothing]", form).hidden = labels.some((label) => !label.hidden);
    });
  };

  // Time.

  const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
  const enhanceTimes = () => {
    all("time[datetime]").forEach((time) => {
      const moment = new Date(time.dateTime);
      // The server writes the time of the country; a device set to another zone shows its own.
      if (-moment.getTimezoneOffset() === Number(time.dataset.offset)) return;
      const options = time.dataset.style === "time" ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" };
      time.textContent = new Intl.DateTimeFormat(`${LOCALES[document.documentElement.lang] ?? "en-GB"}-u-nu-latn`, { ...options, hourCycle: "h23" }).format(moment);
    });
    const started = performance.now();
    const every = [];
    all("[data-countdown]").forEach((place) => every.push(() => {
      const left = Math.max(0, Number(place.dataset.countdown) - (performance.now() - started) / 1000);
      place.hidden = left > Number(place.dataset.loudFrom);
      place.textContent = clock(left);
      if (left === 0 && !place.dataset.over) { place.dataset.over = "yes"; setTimeout(refresh, 1500); }
    }));
    all("[data-elapsed]").forEach((place) => every.push(() => {
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
    const text = leaving.firstChild;
    const timer = setInterval(() => {
      left -= 1;
      text.textContent = text.textContent.replace(/\d+/, String(Math.max(left, 0)));
      if (left <= 0) { clearInterval(timer); location.assign(link.href); }
    }, 1000);
    timers.push(timer);
    one("[data-stay]").addEventListener("click", (event) => {
      event.preventDefault();
      clearInterval(timer);
      leaving.hidden = true;
      history.replaceState(null, "", event.target.href);
    });
  };

  // News: pushed by the server, asked for when the push does not come through.

  const watch = () => {
    source?.close();
    source = null;
    const { watch: url, poll } = page().dataset;
    if (poll && Number(poll)) timers.push(setInterval(refresh, Number(poll) * 1000));
    if (!url) return;
    source = new EventSource(url);
    source.addEventListener("status", (event) => {
      setOffline(false);
      if (String(JSON.parse(event.data).version) !== page().dataset.version) (isTyping() ? askFirst : refresh)();
    });
    source.onerror = () => {
      setOffline(!navigator.onLine);
      if (source?.readyState !== EventSource.CLOSED) return;
      timers.push(setTimeout(() => { refresh(); watch(); }, RETRY_MS));
    };
  };
  // Somebody types: what they typed is not taken away under their fingers.
  const askFirst = () => document.activeElement.addEventListener("blur", () => setTimeout(refresh, 300), { once: true });

  const copy = async (button) => {
    await navigator.clipboard.writeText(button.dataset.copy);
    const label = button.firstChild;
    const words = label.textContent;
    label.textContent = button.dataset.done;
    announce(button.dataset.done);
    setTimeout(() => { label.textContent = words; }, 1600);
  };

  const enhance = () => {
    // Said once; looking again must not say it again.
    history.replaceState(null, "", location.href.replace(/[?&]changed=1/, ""));
    timers.forEach(clearInterval);
    timers = [];
    all("[data-copy]").forEach((button) => { button.hidden = !navigator.clipboard; });
    all("[data-without-script]").forEach((button) => { button.hidden = true; });
    all("[data-print], [data-sent], [data-fill]").forEach((button) => { button.hidden = false; });
    all("[data-card]").forEach(enhanceCard);
    all("[data-prefixes]").forEach(enhanceOperator);
    all("[data-search]").forEach(enhanceSearch);
    all("[data-leave]").forEach(enhanceLeaving);
    enhanceTimes();
    watch();
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
    if (hit("[data-sent]")) {
      hit("[data-sent]").hidden = true;
      one("[data-before]").hidden = true;
      one("[data-after]").hidden = false;
      announce(one("[data-after]").textContent);
    }
    if (hit("[data-swap]")) {
      event.preventDefault();
      const { href } = hit("[data-swap]");
      get(href).then((answer) => show(answer.html, href)).catch(() => location.assign(href));
    }
  });
  document.addEventListener("keydown", (event) => { if (event.target.closest?.("[data-tab]")) moveTab(event); });
  document.addEventListener("change", (event) => {
    const form = event.target.closest?.("[data-language]");
    if (form) form.submit();
  });
  window.addEventListener("online", () => { setOffline(false); refresh(); watch(); });
  window.addEventListener("offline", () => setOffline(true));
  // Back from the bank or the shop: the page may be an old copy.
  window.addEventListener("pageshow", (event) => { if (event.persisted) { refresh(); watch(); } });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  enhance();
})();
