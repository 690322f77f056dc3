// Everything that can go wrong; index.d.ts draws the tree.

export class TidegateError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}
export class ConfigurationError extends TidegateError {}
export class APIConnectionError extends TidegateError {}
export class APITimeoutError extends APIConnectionError {}
export class WebhookSignatureError extends TidegateError {
  constructor(reason, message) {
    super(message);
    this.reason = reason;
  }
}
export class APIError extends TidegateError {
  constructor(said, facts) {
    // What is said is the first of them.
    const others = facts.errors.filter((one) => ![" ", ": "].some((mark) => said === one.field + mark + one.message));
    const fields = others.map((one) => `; ${one.field}: ${one.message}`).join("");
    super(`${said}${fields} (${facts.status} ${facts.errorType}, ${facts.requestId ?? "no request id"})`);
    Object.assign(this, facts);
  }
}
export class MalformedRequest extends APIError {}
export class Unauthenticated extends APIError {}
export class AccessDenied extends APIError {}
export class NotFound extends APIError {}
export class Conflict extends APIError {}
export class DuplicateReference extends Conflict {
  get link() { return this.data?.link; }
  get payCode() { return this.data?.payCode; }
  get reference() { return this.data?.reference; }
}
export class PaymentDisputed extends Conflict {}
export class ValidationFailed extends APIError {}
export class MethodNotSupported extends ValidationFailed {}
export class CardDataNotAllowed extends ValidationFailed {}
export class RedirectHostNotAllowed extends ValidationFailed {}
export class InsufficientBalance extends ValidationFailed {}
export class RefundExceedsAvailable extends ValidationFailed {}
export class RefundNeedsApproval extends ValidationFailed {}
export class RateLimited extends APIError {}
export class ServerError extends APIError {}
export class ServiceUnavailable extends ServerError {}

const BY_TYPE = {
  DUPLICATE_REFERENCE: DuplicateReference,
  PAYMENT_DISPUTED: PaymentDisputed,
  METHOD_NOT_SUPPORTED_FOR_CURRENCY: MethodNotSupported,
  CARD_DATA_NOT_ALLOWED: CardDataNotAllowed,
  REDIRECT_HOST_NOT_ALLOWED: RedirectHostNotAllowed,
  INSUFFICIENT_BALANCE: InsufficientBalance,
  REFUND_EXCEEDS_AVAILABLE: RefundExceedsAvailable,
  REFUND_NEEDS_APPROVAL: RefundNeedsApproval,
};
const BY_STATUS = {
  400: MalformedRequest, 401: Unauthenticated, 403: AccessDenied, 404: NotFound, 409: Conflict,
  422: ValidationFailed, 429: RateLimited, 503: ServiceUnavailable,
};

/** By its errorType; one that this version does not know, by its status. */
export function errorOf(status, body, requestId, retryAfter, movedTo) {
  const said = body !== null && typeof body === "object" ? body : {};
  const Kind = BY_TYPE[said.errorType] ?? BY_STATUS[status] ?? (status >= 500 ? ServerError : APIError);
  const moved = movedTo === undefined ? "" : ` and names another address, ${movedTo}: baseUrl or TIDEGATE_URL is wrong`;
  return new Kind(said.message ?? `the server answered ${status}${moved}`, {
    status,
    errorType: said.errorType ?? "UNKNOWN",
    errors: Array.isArray(said.errors) ? said.errors : [],
    requestId: said.requestId ?? requestId,
    data: said.data,
    retryAfter,
  });
}
