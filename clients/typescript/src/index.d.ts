/** Client of the Tidegate API. */
import type { Event, Resources } from "./types.js";

export * from "./types.js";

export interface TidegateOptions {
  /** Default: `TIDEGATE_SECRET_KEY`. Never in a browser. */
  secretKey?: string;
  /** Default: `TIDEGATE_PUBLIC_KEY`. */
  publicKey?: string;
  /** Default: `TIDEGATE_BUSINESS_ID`; asked of the API when it is needed and not known. */
  businessId?: string;
  /** Default: `TIDEGATE_URL`. */
  baseUrl?: string;
  /** Of one try with its whole answer; at most a day. Default: 30,000. */
  timeoutMs?: number;
  /** Default: 2. */
  maxRetries?: number;
  /** Another `fetch`, such as one with a proxy. */
  fetch?: typeof fetch;
}

export interface Tidegate extends Resources {}
export class Tidegate {
  constructor(options?: TidegateOptions);
  readonly baseUrl: string;
  timeoutMs: number;
  maxRetries: number;
}

/** A whole number of minor units, such as kobo: what to compare amounts by. */
export function toMinor(amount: number, currency: string): number;
export const VERSION: string;

type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;
export interface VerifyOptions {
  toleranceS?: number;
  /** Seconds since 1970, for tests. */
  now?: number;
}
/** An event that is newer than this client is given as it is: have a default in your `switch`. */
export type VerifiedEvent = Event & { id: string };

export declare namespace webhooks {
  /**
   * The event, when one of the secrets has signed these very bytes within the tolerance. `body` is the raw body: JSON
   * that was parsed and written again has another signature. Drop duplicates by `id`. Throws WebhookSignatureError.
   */
  function verify(
    body: ArrayBuffer | ArrayBufferView,
    headers: WebhookHeaders,
    secret: string | readonly string[],
    options?: VerifyOptions,
  ): Promise<VerifiedEvent>;
  const TOLERANCE_S: number;
}

export class TidegateError extends Error {}
export class ConfigurationError extends TidegateError {}
/** There was no answer. Whether the request was carried out is not known, unless it has an idempotency key. */
export class APIConnectionError extends TidegateError {}
export class APITimeoutError extends APIConnectionError {}
export type SignatureReason =
  | "missing_header" | "bad_timestamp" | "too_old" | "too_new" | "wrong_signature" | "not_an_event";
export class WebhookSignatureError extends TidegateError {
  constructor(reason: SignatureReason, message: string);
  readonly reason: SignatureReason;
}
/** A refusal. Decide by the class, or by `errorType`; `message` is for people. */
export class APIError extends TidegateError {
  readonly status: number;
  readonly errorType: string;
  readonly errors: readonly { field: string; message: string }[];
  readonly requestId?: string;
  readonly data?: Record<string, unknown>;
  readonly retryAfter?: number;
}
export class MalformedRequest extends APIError {}
export class Unauthenticated extends APIError {}
export class AccessDenied extends APIError {}
export class NotFound extends APIError {}
export class Conflict extends APIError {}
/** The reference was used before. `link` and `payCode` are those of the payment that has it. */
export class DuplicateReference extends Conflict {
  readonly link?: string;
  readonly payCode?: string;
  readonly reference?: string;
}
/** The bank decides about the money. */
export class PaymentDisputed extends Conflict {}
export class ValidationFailed extends APIError {}
/** A method is not offered in this currency. */
export class MethodNotSupported extends ValidationFailed {}
/** A card number outside its field. */
export class CardDataNotAllowed extends ValidationFailed {}
export class RedirectHostNotAllowed extends ValidationFailed {}
export class InsufficientBalance extends ValidationFailed {}
export class RefundExceedsAvailable extends ValidationFailed {}
/** Above the limit of the key. */
export class RefundNeedsApproval extends ValidationFailed {}
export class RateLimited extends APIError {}
export class ServerError extends APIError {}
export class ServiceUnavailable extends ServerError {}
