// Passkeys: the browser asks for one, and its answer is a field of the form. Loaded where a page has such a form.
"use strict";
{
  const forms = window.PublicKeyCredential && PublicKeyCredential.parseRequestOptionsFromJSON
    ? document.querySelectorAll("form[data-passkey]") : [];
  let waiting = new AbortController();
  const ask = async (form, mediation) => {
    waiting.abort();
    waiting = new AbortController();
    const options = JSON.parse(form.dataset.passkey), signal = waiting.signal;
    const answer = options.user
      ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options), signal })
      : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options), mediation, signal });
    form.elements.passkey.value = JSON.stringify(answer);
    form.submit();
  };
  for (const form of forms) {
    const wrong = form.querySelector(".wrong");
    form.hidden = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      wrong.hidden = true;
      try { await ask(form); } catch (error) { if (error.name !== "AbortError") wrong.hidden = false; }
    });
    if ("autofill" in form.dataset) {
      PublicKeyCredential.isConditionalMediationAvailable?.().then((can) => can && ask(form, "conditional")).catch(() => {});
    }
  }
}
