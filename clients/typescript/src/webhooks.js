// From the raw bytes of a webhook to an event, or a reason why not.

import { ConfigurationError, WebhookSignatureError } from "./errors.js";

export const TOLERANCE_S = 300;

/** The event, when one of the secrets has signed these very bytes within the tolerance. */
export async function verify(body, headers, secret, { toleranceS = TOLERANCE_S, now = Date.now() / 1000 } = {}) {
  const bytes = bytesOf(body);
  const id = header(headers, "webhook-id");
  const sentAt = header(headers, "webhook-timestamp");
  const given = header(headers, "webhook-signature").split(" ");
  checkTime(sentAt, now, toleranceS);
  const head = new TextEncoder().encode(`${id}.${sentAt}.`);
  const signed = new Uint8Array(head.length + bytes.length);
  signed.set(head);
  signed.set(bytes, head.length);
  for (const one of [secret].flat()) {
    const key = await keyIn(one);
    for (const signature of given) {
      const mac = signature.startsWith("v1,") ? decoded(signature.slice(3)) : null;
      // Compares in constant time.
      if (mac && (await crypto.subtle.verify("HMAC", key, mac, signed))) return read(bytes, id);
    }
  }
  throw new WebhookSignatureError("wrong_signature", "the signature does not fit this body with this secret");
}

function bytesOf(body) {
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  throw new TypeError("body must be the raw bytes of the request, before anything parses them");
}

function header(headers, name) {
  const found = typeof headers.get === "function"
    ? headers.get(name)
    : headers[Object.keys(headers).find((key) => key.toLowerCase() === name) ?? name];
  if (typeof found !== "string" || !found) throw new WebhookSignatureError("missing_header", `there is no header ${name}`);
  return found;
}

function checkTime(sentAt, now, toleranceS) {
  if (!/^[0-9]{1,15}$/.test(sentAt)) {
    throw new WebhookSignatureError("bad_timestamp", "webhook-timestamp is not a number of seconds");
  }
  if (now - Number(sentAt) > toleranceS) {
    throw new WebhookSignatureError("too_old", `it was sent more than ${toleranceS} s ago`);
  }
  if (Number(sentAt) - now > toleranceS) {
    throw new WebhookSignatureError("too_new", "its time is in the future: check this machine's clock");
  }
}

function keyIn(secret) {
  const text = typeof secret === "string" ? secret.trim() : "";
  const raw = text.startsWith("whsec_") ? decoded(text.slice(6)) : null;
  if (!raw?.length) throw new ConfigurationError("a webhook secret is whsec_ followed by base64");
  return crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
}

function decoded(text) {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function read(bytes, id) {
  let event;
  try {
    event = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    event = null;
  }
  const { data } = event ?? {};
  if (typeof event?.event !== "string" || typeof data !== "object" || data === null || Array.isArray(data)) {
    throw new WebhookSignatureError("not_an_event", "the body is not an event");
  }
  return { ...event, id };
}
