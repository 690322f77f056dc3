// The client: sends, waits, repeats.

import { APIConnectionError, APIError, APITimeoutError, ConfigurationError, DuplicateReference, errorOf } from "./errors.js";
import { EXPONENTS, OPERATIONS } from "./operations.js";
import { verify } from "./webhooks.js";

export const VERSION = "0.1.0";
const RETRY_AFTER_MAX_S = 60;
const TIMEOUT_MAX_MS = 86_400_000;
const TEMPORARY = new Set([408, 429, 500, 502, 503, 504]);
// The connection was not made, so nothing was begun.
const NOT_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);
const HTTP_DATE = /^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/;
const KEYS = {
  "api-key": ["secretKey", "TIDEGATE_SECRET_KEY"],
  "x-pub-key": ["publicKey", "TIDEGATE_PUBLIC_KEY"],
  "x-business-id": ["businessId", "TIDEGATE_BUSINESS_ID"],
};

export class Tidegate {
  #keys;
  #fetch;

  constructor({ secretKey, publicKey, businessId, baseUrl, timeoutMs = 30_000, maxRetries = 2, fetch } = {}) {
    const env = globalThis.process?.env ?? {};
    this.#keys = {
      "api-key": headerValue("api-key", secretKey, env),
      "x-pub-key": headerValue("x-pub-key", publicKey, env),
      "x-business-id": headerValue("x-business-id", businessId, env),
    };
    this.#fetch = fetch ?? globalThis.fetch;
    this.baseUrl = checkedUrl(baseUrl ?? env.TIDEGATE_URL, this.#keys["api-key"]);
    this.timeoutMs = checkedTimeout(timeoutMs);
    this.maxRetries = maxRetries;
    for (const [name, operation] of Object.entries(OPERATIONS)) this.#attach(name.split("."), operation);
    this.webhooks.verify = verify;
  }

  #attach(parts, operation) {
    const method = parts.pop();
    const resource = parts.reduce((found, part) => (found[part] ??= {}), this);
    resource[method] = (...given) => {
      const path = given.splice(0, operation.path.length);
      const params = operation.takes ? given.shift() ?? {} : {};
      const send = (query) => this.#send(operation, path, query, given[0] ?? {});
      return operation.isPage ? new Pager(operation, params, send) : send(params);
    };
  }

  async #send(operation, path, params, options) {
    const headers = await this.#headers(operation, options);
    const url = new URL(this.baseUrl + filled(operation, path));
    if (operation.takes !== "body") {
      const asked = operation.hasBusiness ? { business: this.#keys["x-business-id"], ...params } : params;
      for (const [name, value] of Object.entries(asked)) if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const body = operation.takes === "body" ? JSON.stringify(params) : undefined;
    if (body !== undefined) headers["content-type"] = "application/json";
    const timeoutMs = checkedTimeout(options.timeoutMs ?? this.timeoutMs);
    const tries = 1 + (options.maxRetries ?? this.maxRetries);
    // A browser's fetch refuses to be called as a method of something else.
    const fetch = this.#fetch;
    for (let number = 1; ; number += 1) {
      const last = number >= tries;
      let answer;
      try {
        const signal = AbortSignal.timeout(timeoutMs);
        answer = await fetch(url, { method: operation.method, headers, body, signal, redirect: "manual" });
        const content = operation.media ? await answer.arrayBuffer() : await answer.text();
        if (answer.ok) return result(operation, content, answer);
        const refusal = refusalOf(answer, content);
        if (number > 1 && refusal instanceof DuplicateReference && refusal.link) return refusal.data;
        if (last || !mayRepeat(operation, refusal)) throw refusal;
        await pause(number, refusal.retryAfter);
      } catch (fault) {
        if (fault instanceof APIError) throw fault;
        if (last || !(operation.retry !== "never" || NOT_SENT.has(fault?.cause?.code))) {
          throw faultOf(`${operation.method} ${this.baseUrl}${operation.url}`, fault, timeoutMs);
        }
        await pause(number);
      }
    }
  }

  async #headers(operation, options) {
    const needsBusiness = operation.hasBusiness || operation.headers.includes("x-business-id");
    if (needsBusiness && !this.#keys["x-business-id"]) this.#keys["x-business-id"] = (await this.merchant.me()).id;
    const headers = { accept: operation.media ?? "application/json" };
    // A browser has a name of its own, and would first ask whether another origin takes ours.
    if (!isBrowser()) headers["user-agent"] = `tidegate-client-node/${VERSION}`;
    for (const name of operation.headers) {
      const [option, variable] = KEYS[name];
      if (!this.#keys[name]) throw new ConfigurationError(`${option} is missing: give it, or set ${variable}`);
      headers[name] = this.#keys[name];
    }
    if (operation.retry === "key") headers["idempotency-key"] = keyOf(options.idempotencyKey);
    return headers;
  }
}

/** A list: `await` gives the first page, `for await` goes through all of them. */
class Pager {
  #operation;
  #params;
  #send;
  #first;

  constructor(operation, params, send) {
    this.#operation = operation;
    this.#params = params;
    this.#send = send;
  }

  then(resolve, reject) {
    this.#first ??= this.#send(this.#params);
    return this.#first.then(resolve, reject);
  }

  async *[Symbol.asyncIterator]() {
    let params = this.#params;
    while (params) {
      const page = await this.#send(params);
      yield* page.results;
      params = this.#following(page, params);
    }
  }

  #following(page, params) {
    if (this.#operation.paging === "cursor") return page.nextCursor ? { ...params, cursor: page.nextCursor } : null;
    const number = params.page ?? 1;
    const isLast = !page.results.length || number * (params.perPage ?? page.results.length) >= (page.total ?? 0);
    return this.#operation.paging !== "page" || isLast ? null : { ...params, page: number + 1 };
  }
}

/** A whole number of minor units, such as kobo: what to compare amounts by. */
export function toMinor(amount, currency) {
  const exponent = EXPONENTS[currency];
  if (exponent === undefined) throw new ConfigurationError(`${currency} is no currency of this API`);
  const minor = Math.round(amount * 10 ** exponent);
  if (!Number.isSafeInteger(minor)) throw new RangeError(`${amount} is no amount`);
  return minor;
}

/** As given, or as the environment has it; undefined without either. */
function headerValue(header, given, env) {
  const [option, variable] = KEYS[header];
  const value = (given ?? env[variable] ?? "").trim();
  if (!value) {
    if (given === undefined || given === null) return undefined;
    throw new ConfigurationError(`${option} is empty: give it, or leave it out and set ${variable}`);
  }
  // Refused here: fetch would name the whole value in its error.
  if (!/^[!-~]+$/.test(value)) throw new ConfigurationError(`${option} must be ASCII without white space inside`);
  return value;
}

function isBrowser() {
  return typeof window === "object" && typeof document === "object";
}

function checkedTimeout(timeoutMs) {
  if (typeof timeoutMs === "number" && timeoutMs > 0 && timeoutMs <= TIMEOUT_MAX_MS) return timeoutMs;
  throw new ConfigurationError(`timeoutMs must be more than 0 and at most ${TIMEOUT_MAX_MS}, not ${timeoutMs}`);
}

function keyOf(given) {
  if (given === undefined || given === null) return crypto.randomUUID();
  if (/^[!-~]{1,255}$/.test(given)) return given;
  throw new ConfigurationError("idempotencyKey must be 1 to 255 visible ASCII characters, without spaces");
}

function checkedUrl(given, secretKey) {
  const url = (given ?? "").trim();
  if (!url) throw new ConfigurationError("baseUrl is missing: give it, or set TIDEGATE_URL, such as https://api.example.com");
  if (!URL.canParse(url) || !/^https?:\/\/[^?#]+$/.test(url)) {
    throw new ConfigurationError(`baseUrl must be an address such as https://api.example.com, not ${url}`);
  }
  // Refused here: fetch would refuse it and name it in its error.
  if (new URL(url).username || new URL(url).password) throw new ConfigurationError("baseUrl must not have a password");
  if (secretKey && isBrowser()) {
    throw new ConfigurationError("a secret key must not be in a browser: call the API from your server");
  }
  if (url.startsWith("http:") && secretKey?.startsWith("sk_live_")) {
    throw new ConfigurationError("a live key is only sent over https");
  }
  return url.replace(/\/+$/, "");
}

function filled(operation, values) {
  return operation.path.reduce((path, name, index) => {
    const value = String(values[index] ?? "");
    // Also percent-encoded, a part of dots leads to another path.
    if (["", ".", ".."].includes(value)) {
      throw new ConfigurationError(`${name} must not be '${value}': it would address something else`);
    }
    if (!value.isWellFormed()) throw new ConfigurationError(`${name} is not text: it has half of a character`);
    return path.replace(`{${name}}`, () => encodeURIComponent(value));
  }, operation.url);
}

function result(operation, content, answer) {
  if (operation.media) return new Uint8Array(content);
  const requestId = answer.headers.get("x-request-id") ?? undefined;
  const data = parsed(content)?.data;
  if (data === undefined) {
    const facts = { status: answer.status, errorType: "UNREADABLE_ANSWER", errors: [], requestId };
    throw new APIError("the answer is not as documented: it is not JSON, or has no data", facts);
  }
  if (data && typeof data === "object") Object.defineProperty(data, "requestId", { value: requestId });
  return data;
}

function refusalOf(answer, content) {
  const body = parsed(typeof content === "string" ? content : new TextDecoder().decode(content));
  const requestId = answer.headers.get("x-request-id") ?? undefined;
  return errorOf(answer.status, body, requestId, retryAfterOf(answer.headers), movedTo(answer));
}

/** null: something in between has answered, not the API. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Where a redirect leads; a browser does not tell. */
function movedTo(answer) {
  if (answer.type === "opaqueredirect") return "which the browser does not tell";
  return answer.status >= 300 && answer.status < 400 ? answer.headers.get("location") ?? undefined : undefined;
}

/** Whole seconds from now, whether they are said as such or as a date. */
function retryAfterOf(headers) {
  const text = headers.get("retry-after") ?? "";
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  const at = timeOf(text);
  // By the clock that the date is of, where the answer shows it.
  return at === null ? undefined : Math.max(0, Math.ceil((at - (timeOf(headers.get("date") ?? "") ?? Date.now())) / 1000));
}

function timeOf(text) {
  const time = HTTP_DATE.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(time) ? null : time;
}

function mayRepeat(operation, refusal) {
  if ((refusal.retryAfter ?? 0) > RETRY_AFTER_MAX_S) return false;
  if (refusal.status === 429) return true; // Refused before anything was done.
  if (operation.retry === "never") return false;
  return TEMPORARY.has(refusal.status) || (refusal.status === 409 && refusal.retryAfter !== undefined);
}

function faultOf(where, fault, timeoutMs) {
  const hint = "baseUrl or TIDEGATE_URL sets the address";
  if (fault?.name === "TimeoutError") {
    return new APITimeoutError(`no answer to ${where} in ${timeoutMs} ms; ${hint}`, { cause: fault });
  }
  return new APIConnectionError(`no answer to ${where}: ${fault?.cause?.code ?? fault?.name}; ${hint}`, { cause: fault });
}

function pause(number, retryAfter) {
  const doubled = Math.min(8, 0.5 * 2 ** (number - 1));
  // Never less than asked for; those who were refused together do not come back together.
  const seconds = retryAfter === undefined ? doubled * (0.75 + Math.random() / 2) : retryAfter + doubled * Math.random();
  return new Promise((resume) => setTimeout(resume, 1000 * seconds));
}
