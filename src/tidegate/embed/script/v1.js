// Opens the hosted checkout in a dialog of the shop's page. No amount, no key and no card data pass through here:
// what is told is a hint, and the shop's server verifies. Whatever does not work ends in a redirect to the same page.
"use strict";
(() => {
  const base = document.currentScript.src.replace(/\/checkout\/v1\.js.*$/, "");
  const home = new URL(base).origin;
  // Of the hosted page's languages; written in by the server.
  const texts = "TEXTS";
  const PAY = new RegExp(`^${base.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(/pay/[\\w-]+)/?$`);

  const encoded = (text) => btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
  const randomId = () => encoded(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(16))));
  const element = (name, style, facts) => {
    const made = Object.assign(document.createElement(name), facts);
    made.style.cssText = style;
    return made;
  };

  const build = (link, host) => {
    const small = matchMedia("(max-width: 480px)").matches;
    const size = small
      ? "width:100vw;height:100dvh;max-height:none;border-radius:0"
      : "width:min(456px,94vw);height:fit-content;max-height:94vh;border-radius:20px";
    const dialog = element("dialog", `${size};padding:0;border:0;overflow:hidden;color-scheme:light dark;background:Canvas;color:CanvasText;max-width:none;font:14px/1.4 system-ui,sans-serif`);
    const bar = element("div", "display:flex;align-items:center;padding-block:10px;padding-inline:18px 10px");
    const close = element(
      "button",
      "margin-inline-start:auto;width:36px;height:36px;border:0;border-radius:10px;background:none;color:inherit;font:20px/1 system-ui;cursor:pointer",
      { type: "button", textContent: "×" },
    );
    const frame = element(
      "iframe", `display:block;width:100%;border:0;height:${small ? "calc(100dvh - 100px)" : "520px"}`,
      { allow: "payment; clipboard-write" },
    );
    const foot = element("div", "padding:10px 18px");
    const full = element("a", "color:inherit", { href: link, target: "_top" });
    foot.append(full);
    bar.append(host, close);
    dialog.append(bar, frame, foot);
    // In the language of the page inside, whenever it has another.
    const speak = (language, label) => {
      const [name, closes, opens, dir = "ltr"] = texts[language] ?? Object.values(texts)[0];
      frame.title = label ?? name;
      Object.assign(dialog, { dir, ariaLabel: frame.title });
      close.ariaLabel = closes;
      full.textContent = opens;
    };
    return { dialog, close, frame, small, speak };
  };

  const checkout = (link, options = {}) => {
    const path = PAY.exec(new URL(link, location.href).href)?.[1];
    if (!path) throw new TypeError(`Tidegate.checkout takes a payment's link of ${base}`);
    const redirect = () => { location.assign(link); };
    const { onReady, onSuccess, onFailure, onEnd, onClose, returnUrl, label } = options;
    let resolve;
    const finished = new Promise((done) => { resolve = done; });
    // A shop that is framed itself, or a browser without dialogs.
    if (options.mode === "redirect" || top !== self || !window.HTMLDialogElement) {
      redirect();
      return { close() {}, finished };
    }
    const id = randomId();
    const opener = document.activeElement;
    const { dialog, close, frame, small, speak } = build(link, new URL(base).host);
    const language = (options.language ?? document.documentElement.lang).slice(0, 2).toLowerCase();
    speak(language || navigator.language.slice(0, 2), label);
    frame.src = `${base}/embed/${id}.${/^[a-z]{2}$/.test(language) ? language : ""}.${encoded(location.origin)}${path}`;
    let outcome = { status: "closed" };
    let isReady = false;
    const waiting = setTimeout(redirect, 6000);
    const end = () => {
      clearTimeout(waiting);
      removeEventListener("message", hear);
      if (!dialog.isConnected) return;
      dialog.close();
      dialog.remove();
      opener?.focus?.();
      onClose?.(outcome);
      resolve(outcome);
      if (returnUrl && outcome.reference) location.assign(returnUrl);
    };
    const told = {
      ready({ language: shown }) {
        speak(shown, label);
        clearTimeout(waiting);
        if (!isReady) onReady?.();
        isReady = true;
      },
      resize({ height }) { if (!small && height > 0) frame.style.height = `min(${Math.min(height, 4000)}px, calc(94vh - 100px))`; },
      leave({ url }) { if (PAY.test(url)) location.assign(url); },
      end({ status, reference, payCode }) {
        if (status === outcome.status) return;
        outcome = { status, reference, payCode };
        (status === "success" ? onSuccess : onFailure)?.(outcome);
        onEnd?.(outcome);
      },
      close: end,
    };
    const hear = ({ origin, source, data }) => {
      if (origin !== home || source !== frame.contentWindow || data?.source !== "tidegate" || data.id !== id) return;
      if (Object.hasOwn(told, data.type)) told[data.type](data);
    };
    addEventListener("message", hear);
    close.addEventListener("click", end);
    dialog.addEventListener("cancel", (event) => { event.preventDefault(); end(); });
    document.body.append(dialog);
    dialog.showModal();
    return { close: end, finished };
  };

  // <a href="the payment's link" data-tidegate data-return-url="/thanks">: a plain link where this script does not run.
  addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-tidegate]");
    if (!PAY.test(link?.href) || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    checkout(link.href, { returnUrl: link.dataset.returnUrl });
  });
  window.Tidegate = Object.freeze({ checkout });
})();
