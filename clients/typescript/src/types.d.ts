// Written by `make clients` from the OpenAPI document; not by hand.

import type { webhooks } from "./index.js";

export interface CallOptions {
  /** Of one try. */
  timeoutMs?: number;
  maxRetries?: number;
}
export interface KeyedOptions extends CallOptions {
  /** The same request with the same key has one effect. Made for you when absent. */
  idempotencyKey?: string;
}
export interface Answered {
  /** Names the request in our logs; quote it when you report a problem. */
  readonly requestId?: string;
}
/** A list: `await` gives the first page, `for await` goes through all of them. */
export interface Pager<Page, Item> extends PromiseLike<Page & Answered>, AsyncIterable<Item> {}

export interface AccountEvent {
  /** Name of the event. */
  event: "virtualaccount.approved" | "virtualaccount.declined" | "virtualaccount.suspended" | "virtualaccount.closed";
  /** The virtual account. */
  data: AccountRecord;
}

export interface AccountInformation {
  /** The recipient's name, exactly as a payer must type it. */
  accountName: string;
  /** The IBAN where the country has one. */
  accountNumber: string;
  /** The bank that keeps the account. */
  bankName: string;
  /** The bank's national code, or its BIC. */
  bankCode: string;
  /** Country of the bank, ISO 3166. */
  countryCode: string;
  /** Reference of the account at the bank. */
  reference: string;
  /** The same details in the form that each scheme asks for. */
  otherInfo: FurtherDetails;
}

export interface AccountPage {
  /** The newest first. */
  results: Array<AccountRecord>;
  /** Number of accounts on all pages. */
  total: number;
}

export interface AccountRecord {
  /** The account's id. */
  _id: string;
  /** Your business. */
  business: Owner;
  /** Where the account stands. */
  status: AccountStatus;
  /** Whether it accepts money now. */
  isActive: boolean;
  /** Whether the operator has suspended it; money that arrives is returned. */
  isSuspended: boolean;
  /** Why it was declined, suspended or closed. */
  reason: string | null;
  /** Currency that the account receives. */
  currency: Currency;
  /** Currency of the wallet that is credited. */
  settlementCurrency: Currency;
  /** Always `fiat`. */
  currencyType?: string;
  /** Who holds the account. */
  accountType: AccountType;
  /** Always `main_account`. */
  entityType?: string;
  /** `temporary` for one checkout, otherwise `additional`. */
  virtualAccountType: string;
  /** Empty before approval. */
  accountNumber: string;
  /** All fields are empty strings before approval. */
  accountInformation: AccountInformation;
  /** Your own reference, as you gave it. */
  merchantReference: string | null;
  /** The account holder, as you gave it. */
  KYCInformation: Record<string, unknown>;
  /** Always null; kept for clients of the published interface. */
  verifiedKYCData?: string | null;
  /** The operator's note for you. */
  note: string | null;
  /** Fee for opening the account; always 0. */
  accountOpeningFee?: number;
  /** Open questions of the operator; always 0. */
  pendingAdditionalInfoCount?: number;
  /** False for the temporary account of one checkout. */
  isPermanent: boolean;
  /** When the account stops taking money; null when it is permanent. */
  expiresAt: string | null;
  /** Whether it belongs to a checkout payment. */
  isCheckoutVa: boolean;
  /** Whether it was given to a payer for a bank transfer. */
  isBankTransferVa: boolean;
  /** As you gave it in the request. */
  monthlyVolume: string | null;
  /** As you gave it in the request. */
  entityName: string | null;
  /** As you gave it in the request. */
  paymentFlowDescription: string | null;
  /** Documents of type `attachment`. */
  attachments: Array<DocumentRecord>;
  /** Documents of type `meansOfId`. */
  meansOfId: Array<DocumentRecord>;
  /** Documents of type `bankStatement`. */
  bankStatement: Array<DocumentRecord>;
  /** Documents of type `utilityBill`. */
  utilityBill: Array<DocumentRecord>;
  /** Always `unrated`; ratings are not kept here. */
  riskRating?: string;
  /** Which of the usual documents were given, by type. */
  checklist: Record<string, boolean>;
  /** Always `not_screened`; screening is not recorded here. */
  riskScreening?: string;
  /** Always null; kept for clients of the published interface. */
  channelKycUpdateStatus?: string | null;
  /** Always null; kept for clients of the published interface. */
  channelKycUpdateResponse?: string | null;
  /** Your JSON, as sent; null without. */
  metadata: Record<string, unknown> | null;
  /** Time of creation. */
  createdAt: string;
  /** Time of the last change. */
  updatedAt: string;
}

export type AccountStatus = "pending" | "approved" | "declined" | "expired" | "closed" | (string & {});

export type AccountType = "individual" | "corporate" | (string & {});

export interface Acted {
  /** The newest attempt of the payment. Its outcome is notified a moment later. */
  attemptId: string;
}

export type ActionType = "transfer" | "prompt" | "dial" | "pin" | "otp" | "address" | "redirect" | "none" | (string & {});

export interface ActionView {
  /** The payer's next step. */
  type: ActionType;
  /** With `transfer`: the amount to send. */
  amountExpected?: number | null;
  /** With `transfer`: the account to send it to. */
  virtualAccount?: VirtualAccountView | null;
  /** With `transfer`, where payments share the account: the narration to type. */
  reference?: string | null;
  /** With `dial`: the code to dial. With `prompt`: what to dial if no prompt appears. */
  code?: string | null;
  /** With `prompt` and `otp`: what the bank or operator says. */
  text?: string | null;
  /** With `redirect`: the page to open, the bank's or that of a hosted method. */
  url?: string | null;
}

export interface AddressFields {
  /** Street and number. */
  line: string;
  /** City or town. */
  city: string;
  /** State, province or region, where the country has them. */
  state?: string | null;
  /** Country, by name or ISO 3166 code. */
  country: string;
  /** Postal code, where the country has them. */
  postalCode?: string | null;
}

export interface AttemptRecord {
  /** 1 for the first attempt. */
  number: number;
  /** Where it was sent to. */
  url: string;
  /** When it was sent. */
  attemptedAt: string;
  /** How long the answer took, in milliseconds; null without an answer. */
  durationMs: number | null;
  /** Your server's status; null without an answer. */
  statusCode: number | null;
  /** Why there was no complete answer, such as `timeout`. */
  error: string | null;
  /** The first 16 kB of the answer, as text. */
  responseBody: string | null;
}

export type AttemptStatus = "starting" | "waiting" | "running" | "succeeded" | "failed" | "replaced" | "expired" | (string & {});

export interface AttemptView {
  /** Id of this attempt. */
  attemptId: string;
  /** The payment method. */
  type: PaymentMethod;
  /** The attempt's own status. */
  status: AttemptStatus;
  /** Why it failed; while waiting for the payer, what was wrong with the last answer. */
  failure: FailureReason | null;
  /** Masked payment details, such as the last digits of a card. */
  details: Record<string, unknown>;
  /** For `pin`, `otp`, `address` and `redirect`: the last wrong answer fails the attempt. */
  answersLeft: number | null;
  /** How often the prompt or code can be sent again; null where it cannot be. */
  resendsLeft: number | null;
  /** The earliest time of the next resend. */
  resendFrom: string | null;
  /** What the payer does next. */
  action: ActionView;
}

export interface BankView {
  /** The value for `bank` in a charge. */
  code: string;
  /** Name of the bank, to show. */
  name: string;
  /** The prefix of the code to dial. */
  dialPrefix: string;
}

export interface BusinessName {
  /** Id of the business. */
  id: string;
  /** The name that payers see. */
  name: string;
}

export interface BusinessRecord {
  /** The value of `x-business-id` and `business`. */
  id: string;
  /** Id and name once more, where code for other providers of this interface reads them. */
  business: BusinessName;
  /** The name that payers see. */
  name: string;
  /** The business's e-mail address. */
  email: string;
  /** Whether its keys work. */
  status: BusinessStatus;
  /** `live` moves real money, `sandbox` does not. */
  mode: Mode;
  /** Requests a second; more are refused with 429. */
  ratePerSecond: number;
  /** Requests that may arrive at once. */
  rateBurst: number;
  /** Minutes that a checkout stays open. */
  sessionMinutes: number;
  /** Treatment of an amount other than expected: `accept`, `top_up` or `return`. */
  variancePolicy: string;
  /** A difference up to this amount, in minor units, counts as exact. */
  varianceToleranceMinor: number;
  /** Treatment of an inflow whose typed name is only close to the account holder's. */
  inflowNamePolicy: NamePolicy;
  /** Hosts that `redirectUrl` may have; any host when empty. */
  redirectHosts: Array<string>;
  /** Origins whose pages may open the checkout in a dialog, such as `https://shop.example.com`. */
  checkoutOrigins: Array<string>;
  /** Whether customers are sent the receipt of a successful payment, and of a refund, by e-mail. */
  receiptsByMail: boolean;
  /** Who pays the fee of a payment or a payment link that does not say it. */
  feeBearer: FeeBearer;
  /** Accent colour of the payer's pages, such as `#0f7b6c`. */
  accentColour: string | null;
  /** The logo on the payer's pages. */
  logoUrl: string | null;
  /** Contacts for payers. */
  support: SupportView;
  /** Time of creation. */
  createdAt: string;
}

export type BusinessStatus = "active" | "suspended" | (string & {});

export interface BusinessView {
  /** The name of the business. */
  name: string;
  /** A PNG, JPEG or WebP picture of 32 to 1024 pixels a side. */
  logoUrl: string | null;
  /** The business's colour, such as `#0f7b6c`, unadjusted: check the contrast of text. */
  accentColour: string | null;
  /** Contacts for the payer; at least one is set. */
  support: SupportView;
}

export interface CardFields {
  /** With or without spaces. */
  number: string;
  /** From 1 to 12, as a number or as text. */
  expiryMonth: number | string;
  /** Two digits or four, as a number or as text. */
  expiryYear: number | string;
  /** The security code. */
  cvv: string;
  /** The name on the card. */
  holder?: string | null;
}

export interface ChargeAuthorization {
  /** Always null: the charge is complete. */
  mode?: string | null;
  /** Always null: the charge is complete. */
  redirect?: string | null;
  /** Always null: the charge is complete. */
  metadata?: Record<string, unknown> | null;
}

export interface ChargeDisputed {
  /** Name of the event. */
  event: "charge.disputed";
  /** Kind of event. */
  type: "charge";
  /** The payment. */
  data: DisputedChargeData;
}

export interface ChargeIsDisputed {
  /** Id of the dispute, as in `charge.disputed`. */
  disputeId: string;
}

export interface ChargeReversed {
  /** Name of the event. */
  event: "charge.reversed";
  /** Kind of event. */
  type: "charge";
  /** The payment. */
  data: ReversedChargeData;
}

export interface ChargeSuccessful {
  /** Name of the event. */
  event: "charge.successful";
  /** Kind of event. */
  type: "charge";
  /** The payment. */
  data: PaidChargeData;
}

export interface Charged {
  /** Id of this attempt. */
  attemptId: string;
  /** The payment method. */
  type: PaymentMethod;
  /** The payment's status. */
  status: PaymentStatus;
  /** The attempt's own status. */
  attemptStatus: AttemptStatus;
  /** Why it failed; while waiting for the payer, what was wrong with the last answer. */
  failure: FailureReason | null;
  /** For `pin`, `otp`, `address` and `redirect`: the last wrong answer fails the attempt. */
  answersLeft: number | null;
  /** How often the prompt or code can be sent again; null where it cannot be. */
  resendsLeft: number | null;
  /** The earliest time of the next resend. */
  resendFrom: string | null;
  /** New attempts left by this method; other methods have their own. */
  attemptsLeft: number;
  /** Offered methods that can be tried; empty at the end. */
  openPaymentMethods: Array<PaymentMethod>;
  /** What the payer does next. */
  action: ActionView;
}

export interface CheckoutView {
  /** The payment's pay code. */
  payCode: string;
  /** The merchant's reference. */
  reference: string;
  /** Who is paid. */
  business: BusinessView;
  /** The customer's name, as the merchant gave it. */
  customerName: string;
  /** The merchant's amount, in major units, as all amounts here. */
  amount: number;
  /** What the payer pays: including the fee, when the customer bears it. */
  amountExpected: number;
  /** Received so far; 0 before anything arrived. */
  amountReceived: number;
  /** Still to be paid; 0 once paid, also when less was accepted. */
  amountRemaining: number;
  /** Returned to the payer, or being returned. */
  amountReturned: number;
  /** Reversed by the payer's bank, out of `amountReceived`. */
  amountReversed: number;
  /** ISO 4217 code of the currency. */
  currency: Currency;
  /** The payment's status. */
  status: PaymentStatus;
  /** Why it failed finally; null otherwise. */
  ending: Ending | null;
  /** Set when another amount than expected was accepted; otherwise null. */
  varianceType: Variance | null;
  /** What happens to an amount other than expected. */
  variancePolicy: VariancePolicy;
  /** In the order of the page. */
  paymentMethods: Array<PaymentMethod>;
  /** What the page opens with. */
  defaultPaymentMethod: PaymentMethod;
  /** Banks for USSD; empty where USSD is not offered. */
  banks: Array<BankView>;
  /** Operators of mobile money; empty where it is not offered. */
  operators: Array<OperatorView>;
  /** To be shown after a success, as plain text. */
  successMessage: string | null;
  /** By the method tried last, or else the default one. At 0 the other methods may be open: see `attemptsLeftByMethod`. */
  attemptsLeft: number;
  /** New attempts left by each offered method; each has 5. A bank transfer stays open at 0. */
  attemptsLeftByMethod: Record<string, number>;
  /** Offered methods that can be tried; empty at the end. */
  openPaymentMethods: Array<PaymentMethod>;
  /** Of these, those paid on another page: a charge only redirects there. */
  hostedPaymentMethods: Array<PaymentMethod>;
  /** The merchant has disabled the link: no new attempts. */
  isDisabled: boolean;
  /** Increases with every change; a page with a lower one is out of date. */
  version: number;
  /** When the checkout expires. */
  expiresAt: string;
  /** When it was paid; null before. */
  paidAt: string | null;
  /** The newest attempt. */
  attempt: AttemptView | null;
}

export interface ClockView {
  /** The time of the sandbox. */
  now: string;
  /** Offset from real time. */
  aheadSeconds: number;
}

export interface CollectionPage {
  /** The newest first. */
  results: Array<CollectionRecord>;
  /** The exact total of all pages. */
  total: number;
  /** For the next page; null on the last. */
  nextCursor: string | null;
}

export interface CollectionRecord {
  /** Number of the inflow; unique. */
  id: number;
  /** Our reference of the inflow; use it to get or refund it. */
  reference: string;
  /** Where the inflow stands. */
  status: CollectionStatus;
  /** Why it is held or was returned. */
  reason: string | null;
  /** While it is held: when it is returned unless the operator has decided. */
  heldUntil: string | null;
  /** Always `virtual_account`. */
  paymentMethod?: string;
  /** How the money came, such as `sepa` or `ach`. */
  paymentScheme: string;
  /** Currency that arrived. */
  sourceCurrency: Currency;
  /** The amount that arrived. */
  sourceAmount: number;
  /** Currency of the wallet. */
  destinationCurrency: Currency;
  /** The same amount in the wallet's currency. */
  destinationAmount: number | null;
  /** The amount credited to the wallet, after fee and VAT. */
  amountReceived: number | null;
  /** Our fee without VAT, in the wallet's currency; 0 until credited. */
  fee: number;
  /** VAT on the fee. */
  vat: number;
  /** The conversion; null when the currencies are the same. */
  exchange: Exchange | null;
  /** The recipient as the payer typed it; otherwise the account holder. */
  payeeName: string;
  /** The sender's name; empty when the bank gives none. */
  customerName: string;
  /** The sender's account number; empty when the bank gives none. */
  senderAddress: string;
  /** The sender's bank; empty when the bank gives none. */
  senderBank: string;
  /** The payer's remittance text, or a default. */
  description: string;
  /** Your reference of the virtual account; null without one. */
  merchantReference: string | null;
  /** The `_id` of the virtual account that received it. */
  virtualAccountId: string;
  /** How the typed name was compared with the account holder's. */
  nameCheck: NameCheckRecord;
  /** The return or the refunds; null while there is none. */
  refundInfo: Returned | null;
  /** Reversed by the bank and not covered by your wallet; debited from later credits. */
  amountOwed: number;
  /** 1 once it is returned or reversed, otherwise 0. */
  isReversed: number;
  /** From when on the bank counts the money: its value date. */
  valueDate: string;
  /** `future` or `old` when the bank's value date is unusual. */
  valueDateFlag: string | null;
  /** The bank's own reference of the transfer. */
  bankReference: string;
  /** Always null; kept for clients of the published interface. */
  legacyBusinessId?: string | null;
  /** Always null; kept for clients of the published interface. */
  metadata?: Record<string, unknown> | null;
  /** Value date of the bank, as `valueDate`. */
  initiatedAt: string;
  /** When the rail reported it to us. */
  createdAt: string;
  /** Time of the last change. */
  updatedAt: string;
}

export interface CollectionReturned {
  /** Name of the event. */
  event: "collection.returned";
  /** The inflow. */
  data: ReturnedInflowData;
}

export type CollectionStatus = "pending" | "successful" | "reversed" | "failed" | (string & {});

export interface CollectionSuccessful {
  /** Name of the event. */
  event: "collection.successful";
  /** The inflow. */
  data: CreditedInflowData;
}

export interface Created {
  /** Address of the hosted checkout page. Send the customer there. */
  link: string;
  /** Our name of the payment. */
  payCode: string;
  /** Your reference; the pay code when you gave none. */
  reference: string;
}

export interface CreditedInflowData {
  /** Your business's id. */
  business: string;
  /** The `_id` of the virtual account. */
  virtualAccount: string;
  /** The sender's account number; empty when not given. */
  senderAddress: string;
  /** The sender's bank; empty when not given. */
  senderBank: string;
  /** Currency that arrived. */
  sourceCurrency: Currency;
  /** Currency of the wallet. */
  destinationCurrency: Currency;
  /** The amount that arrived, in major units. */
  sourceAmount: number;
  /** The payer's remittance text, or a default. */
  description: string;
  /** The sender's name; empty when not given. */
  customerName: string;
  /** Where the inflow stands. */
  status: CollectionStatus;
  /** From when on the bank counts the money: its value date. */
  initiatedAt: string;
  /** When the rail reported it to us. */
  createdAt: string;
  /** Time of the last change. */
  updatedAt: string;
  /** Our reference of the inflow. */
  reference: string;
  /** Your reference of the virtual account; null without one. */
  merchantReference: string | null;
  /** How the money came, such as `sepa` or `ach`. */
  paymentScheme: string;
  /** The same amount in the wallet's currency, before fees. */
  destinationAmount: number;
  /** What your wallet was credited, after fee and VAT. */
  amountReceived: number;
  /** Our fee, without VAT. */
  fee: number;
  /** VAT on the fee. */
  vat: number;
  /** One unit of the source currency in the wallet's; null when not converted. */
  exchangeRate: number | null;
  /** Always `wallet`. */
  settlementDestination?: string;
}

export type Currency = "NGN" | "GHS" | "KES" | "UGX" | "ZAR" | "ZMW" | "TZS" | "USD" | "EUR" | (string & {});

export interface CustomerFields {
  /** The customer's name; shown on the page and the receipt. */
  name: string;
  /** The customer's e-mail address. */
  email: string;
  /** With country code, such as +2348012345678. */
  phoneNumber?: string | null;
}

export interface CustomerRecord {
  /** The customer's name. */
  name: string;
  /** The customer's e-mail address. */
  email: string;
  /** Empty when none was given. */
  phoneNumber: string;
}

export interface DeliveryPage {
  /** The newest first. */
  results: Array<DeliveryRecord>;
  /** Null on the last page. */
  nextCursor: string | null;
}

export interface DeliveryRecord {
  /** Id of the delivery. */
  id: string;
  /** The `webhook-id` header; drop duplicates by it. */
  eventId: string;
  /** Name of the event. */
  event: string;
  /** Your reference of the payment or other subject; null for a test. */
  reference: string | null;
  /** Id of the endpoint. */
  endpointId: string;
  /** Where it is sent to. */
  url: string;
  /** Where the delivery stands. */
  status: DeliveryStatus;
  /** How many attempts were made. */
  attemptsMade: number;
  /** The last ten attempts. */
  attempts: Array<AttemptRecord>;
  /** When it is tried next; null when nothing is planned. */
  nextAttemptAt: string | null;
  /** The body, the same in every attempt. */
  payload: Record<string, unknown>;
  /** Whether the payload was erased at the payer's request; it cannot be resent. */
  isErased: boolean;
  /** When the event happened. */
  createdAt: string;
  /** When your server accepted it; null before. */
  deliveredAt: string | null;
}

export type DeliveryStatus = "pending" | "delivered" | "exhausted" | "cancelled" | (string & {});

export type DisabledReason = "merchant" | "gone" | "failing" | (string & {});

export interface DisputeData {
  /** The rail's number of the dispute. */
  id: string;
  /** Where the dispute stands. */
  status: DisputeStatus;
  /** The rail's reference of the payment that is disputed. */
  sessionId: string;
  /** What is disputed of the payment. */
  amount: number;
  /** In the rail's words. */
  reason: string;
  /** Until when the operator takes evidence; null when the rail gives none. */
  dueAt: string | null;
}

export type DisputeStatus = "open" | "won" | "lost" | (string & {});

export interface DisputedChargeData {
  /** Number of the payment; unique, below 2^53. */
  id: number;
  /** Kept for clients of the published interface. */
  authorization: ChargeAuthorization;
  /** How the charge was authorized, where the rail tells it; otherwise null. */
  auth_model: string | null;
  /** What the customer paid, in major units. */
  amount: number;
  /** The same as `amount`. */
  amountReceived: number;
  /** What the customer was asked to pay. */
  amountExpected: number;
  /** What your wallet was credited, after fee and VAT. */
  amountToSettle: number;
  /** ISO 4217 code of the currency. */
  currency: Currency;
  /** Our fee, without VAT. */
  fee: number;
  /** VAT on the fee. */
  vat: number;
  /** Who paid our fee. */
  feeBearer: FeeBearer;
  /** `Payment successful`, `INCORRECT_AMOUNT` with a variance, or `PAYMENT_REVERSED`. */
  message: string;
  /** Set when another amount than expected arrived; otherwise null. */
  varianceType: Variance | null;
  /** Status of the payment; `success`. */
  status: PaymentStatus;
  /** The pay code, our name of the payment. */
  reference: string;
  /** The same as `reference`. */
  transactionReference: string;
  /** Your reference of the payment. */
  merchantReference: string;
  /** The same as `merchantReference`. */
  paymentReference: string;
  /** Id of the attempt that was paid. */
  chargeReference: string;
  /** The payment in words. */
  description: string;
  /** The payment method. */
  type: PaymentMethod;
  /** The same as `type`. */
  method: PaymentMethod;
  /** The customer, as you gave it. */
  customer: CustomerRecord;
  /** Your JSON, as sent; `{}` without. */
  metadata: Record<string, unknown>;
  /** Always `wallet`. */
  settlementDestination?: string;
  /** When the payment was created. */
  createdAt: string;
  /** When the event happened. */
  updatedAt: string;
  /** What the payer's bank disputes, and until when it can be answered. */
  dispute: DisputeData;
}

export interface DocumentGiven {
  /** What the document is, for the operator. */
  name: string;
  /** An https address that the operator can open. */
  url: string;
  /** The field of the record that shows it. */
  type?: DocumentType;
}

export interface DocumentRecord {
  /** What the document is. */
  name: string;
  /** Address of the document, as you gave it. */
  url: string;
}

export type DocumentType = "meansOfId" | "bankStatement" | "utilityBill" | "attachment" | (string & {});

export interface Emptied {
  /** The business's id. */
  business: string;
}

export type Ending = "cancelled" | "attempts_used_up" | (string & {});

export interface EndpointDeleted {
  /** Id of the deleted endpoint. */
  id: string;
}

export interface EndpointList {
  /** The oldest first. */
  results: Array<EndpointRecord>;
}

export interface EndpointRecord {
  /** Id of the endpoint. */
  id: string;
  /** Where events are sent to. */
  url: string;
  /** Events that it receives. */
  events: Array<string>;
  /** Your own text; null without. */
  description: string | null;
  /** Whether it receives events. */
  status: EndpointStatus;
  /** Why it is disabled; null while it is enabled. */
  disabledReason: DisabledReason | null;
  /** The most requests a second that it is sent. */
  ratePerSecond: number;
  /** Time of creation. */
  createdAt: string;
  /** Time of the last change. */
  updatedAt: string;
}

export type EndpointStatus = "enabled" | "disabled" | (string & {});

export interface EndpointWithSecret {
  /** Id of the endpoint. */
  id: string;
  /** Where events are sent to. */
  url: string;
  /** Events that it receives. */
  events: Array<string>;
  /** Your own text; null without. */
  description: string | null;
  /** Whether it receives events. */
  status: EndpointStatus;
  /** Why it is disabled; null while it is enabled. */
  disabledReason: DisabledReason | null;
  /** The most requests a second that it is sent. */
  ratePerSecond: number;
  /** Time of creation. */
  createdAt: string;
  /** Time of the last change. */
  updatedAt: string;
  /** Shown only once: absent from the answer to a repeated `Idempotency-Key`. */
  secret?: string;
}

export interface Exchange {
  /** One unit of `sourceCurrency` in `destinationCurrency`. */
  rate: number;
  /** Where the rate comes from. */
  source: string;
  /** When the rate was quoted. */
  quotedAt: string;
  /** Kept of the conversion, in the wallet's currency. */
  spread: number;
}

export type FailureReason = "declined" | "insufficient_funds" | "not_approved" | "no_such_wallet" | "wrong_pin" | "wrong_otp" | "wrong_address" | "expired" | "not_a_test_card" | "limit_reached" | "rail_unavailable" | "another_under_way" | "not_started" | "returned" | (string & {});

export type FeeBearer = "business" | "customer" | (string & {});

export type FeeOnRefund = "kept" | "returned" | (string & {});

export interface FeesQuoted {
  /** ISO 4217 code of the currency. */
  currency: Currency;
  /** The payment method. */
  type: PaymentMethod;
  /** The amount asked about, in major units. */
  amount: number;
  /** Our fee, without VAT. */
  fee: number;
  /** VAT on the fee. */
  vat: number;
  /** Fee and VAT together. */
  total: number;
  /** What the customer pays when the customer bears the fee. */
  amountExpectedFromCustomer: number;
  /** What you receive when you bear the fee. */
  amountToSettleWhenBusinessBears: number;
  /** Id of the rule that gave this price. */
  feeRule: string;
  /** Whether a refund returns your share of the fee. */
  feeOnRefund: FeeOnRefund;
}

export type FieldRule = "optional" | "required" | (string & {});

export interface FurtherDetails {
  /** Empty where the country has no IBAN. */
  iban: string;
  /** Number of the account within its bank. */
  accountNumber: string;
  /** The check digits of the IBAN, or the routing number. */
  checkNumber: string;
  /** Bank code or routing number. */
  sortCode: string;
  /** BIC of the bank. */
  bankSwiftCode: string;
}

export type InflowReason = "name_differs" | "account_suspended" | "account_expired" | "account_closed" | "review_refused" | "hold_ended" | "name_is_close" | "name_missing" | "amount_is_large" | "business_suspended" | "rate_missing" | "rate_stale" | "too_small_to_convert" | "too_large_to_convert" | "taken_back" | (string & {});

export type JournalKind = "checkout_settled" | "inflow_credited" | "inflow_converted" | "receipt_held" | "receipt_unclaimed" | "held_settled" | "held_converted" | "held_returning" | "receipt_returning" | "return_done" | "return_offset" | "refund_started" | "refund_done" | "refund_converted" | "refund_failed" | "credit_reversed" | "held_reversed" | "dispute_held" | "dispute_released" | "debt_collected" | "unclaimed_released" | (string & {});

export type LinkKind = "one_off" | "reusable" | (string & {});

export interface LinkRecord {
  /** Of the payment link; `paymentLinkId` of its payments. */
  id: string;
  /** Your business's id. */
  businessId: string;
  /** What is paid for. */
  name: string;
  /** How often it is paid. */
  kind: LinkKind;
  /** Whether it takes payments. */
  state: LinkState;
  /** Address of its page. Share it. */
  link: string;
  /** Address of the link as a QR code, as SVG. */
  qrSvg: string;
  /** The same as PNG. */
  qrPng: string;
  /** Address of a poster to print, as PDF: your name and logo, the amount, the QR code. */
  poster: string;
  /** ISO 4217 code of the currency. */
  currency: Currency;
  /** The fixed amount; null where the customer chooses it. */
  amount: number | null;
  /** The least to choose; null for a fixed amount. */
  amountMin: number | null;
  /** The most to choose; null for a fixed amount. */
  amountMax: number | null;
  /** Who pays our fee. */
  feeBearer: FeeBearer;
  /** Methods offered; null for all of the currency. */
  paymentMethods: Array<PaymentMethod> | null;
  /** Whether the page asks for a phone number; null where it does not. */
  askPhoneNumber: FieldRule | null;
  /** Whether the page asks for a note; null where it does not. */
  askNote: FieldRule | null;
  /** What the page calls the note; null for `Note`. */
  noteLabel: string | null;
  /** Your text shown after a success; null without. */
  successMessage: string | null;
  /** Where the customer returns to; null without. */
  redirectUrl: string | null;
  /** How often it may be paid; null without limit. */
  paymentsMax: number | null;
  /** How often browsers opened its page, about a second behind. A page that is opened again is counted again; a prefetch or a `HEAD` is not. */
  timesOpened: number;
  /** Payments begun by it; no more than 10,000 are counted. */
  paymentsMade: number;
  /** Payments that succeeded; no more than 10,000 are counted. */
  paymentsPaid: number;
  /** Received by those payments; null when there are more than are counted. */
  amountReceived: number | null;
  /** When it ends by itself; null without an end. */
  endsAt: string | null;
  /** When you ended it; null otherwise. */
  endedAt: string | null;
  /** Time of creation. */
  createdAt: string;
}

export interface LinkRecordPage {
  /** The newest first. */
  results: Array<LinkRecord>;
  /** Cursor of the next page; null on the last. */
  nextCursor: string | null;
}

export type LinkState = "open" | "ended" | "expired" | "used_up" | (string & {});

export type Mode = "sandbox" | "live" | (string & {});

export interface NameCheckRecord {
  /** Result of the comparison. */
  verdict: NameVerdict;
  /** The result in words. */
  reason: string;
  /** The name that the payer typed for the recipient; null when the bank passed on none. */
  typed: string | null;
  /** `payee`, the name typed for the recipient; or `none`. */
  compared: string;
  /** The account holder's name that it was compared with. */
  holder: string;
  /** How the names were compared, step by step. */
  steps: Array<string>;
}

export type NamePolicy = "hold" | "strict" | (string & {});

export type NameVerdict = "exact" | "close" | "different" | "missing" | (string & {});

export interface OperatorView {
  /** The value for `operator` in a charge. */
  id: string;
  /** Name of the operator, to show. */
  name: string;
}

export interface Owner {
  /** Name of your business. */
  name: string;
  /** E-mail address of your business. */
  email: string;
}

export interface PaidAccount {
  /** Id of the temporary account. */
  id: string | null;
  /** Bank of the temporary account. */
  bankName: string;
  /** Code of that bank. */
  bankCode: string;
  /** Name on the temporary account. */
  accountName: string;
  /** Number of the temporary account. */
  accountNumber: string | null;
  /** The bank's reference of the transfer. */
  sessionId: string;
  /** The rail that the money came by. */
  channelName: string;
  /** The payer's account number; empty when not given. */
  payerAccountNumber: string;
  /** The payer's name; empty when not given. */
  payerAccountName: string;
  /** The payer's bank; empty when not given. */
  payerBankName: string;
  /** Code of the payer's bank; null when not given. */
  payerBankCode: string | null;
  /** When the account closes; empty when it does not. */
  expiresAt: string;
  /** Your business's id. */
  business: string;
}

export interface PaidChargeData {
  /** Number of the payment; unique, below 2^53. */
  id: number;
  /** Kept for clients of the published interface. */
  authorization: ChargeAuthorization;
  /** How the charge was authorized, where the rail tells it; otherwise null. */
  auth_model: string | null;
  /** What the customer paid, in major units. */
  amount: number;
  /** The same as `amount`. */
  amountReceived: number;
  /** What the customer was asked to pay. */
  amountExpected: number;
  /** What your wallet was credited, after fee and VAT. */
  amountToSettle: number;
  /** ISO 4217 code of the currency. */
  currency: Currency;
  /** Our fee, without VAT. */
  fee: number;
  /** VAT on the fee. */
  vat: number;
  /** Who paid our fee. */
  feeBearer: FeeBearer;
  /** `Payment successful`, `INCORRECT_AMOUNT` with a variance, or `PAYMENT_REVERSED`. */
  message: string;
  /** Set when another amount than expected arrived; otherwise null. */
  varianceType: Variance | null;
  /** Status of the payment; `success`. */
  status: PaymentStatus;
  /** The pay code, our name of the payment. */
  reference: string;
  /** The same as `reference`. */
  transactionReference: string;
  /** Your reference of the payment. */
  merchantReference: string;
  /** The same as `merchantReference`. */
  paymentReference: string;
  /** Id of the attempt that was paid. */
  chargeReference: string;
  /** The payment in words. */
  description: string;
  /** The payment method. */
  type: PaymentMethod;
  /** The same as `type`. */
  method: PaymentMethod;
  /** The customer, as you gave it. */
  customer: CustomerRecord;
  /** Your JSON, as sent; `{}` without. */
  metadata: Record<string, unknown>;
  /** Always `wallet`. */
  settlementDestination?: string;
  /** When the payment was created. */
  createdAt: string;
  /** When the event happened. */
  updatedAt: string;
  /** The account and the payer; only with a bank transfer. */
  virtualAccount?: PaidAccount;
}

export interface PayeeFields {
  /** The recipient's name, as the payer typed it. */
  name: string;
}

export interface PayerFields {
  /** As the bank passes it on; may be empty. */
  name: string;
  /** The sender's account number. */
  accountNumber?: string | null;
  /** The sender's bank. */
  bankName?: string | null;
}

export interface PaymentRecord {
  /** Unique, below 2^53, not in order of creation. */
  id: number;
  /** Your business's id. */
  businessId: string;
  /** The payment link that it was made by; null for a payment that you created. */
  paymentLinkId: string | null;
  /** What you asked for, in major units, as all amounts here. */
  amount: number;
  /** ISO 4217 code of the currency. */
  currency: Currency;
  /** The same as `amount`; checkout payments are not converted. */
  convertedAmount: number;
  /** Received so far; 0 before anything arrived. */
  amountReceived: number;
  /** The same as `currency`. */
  convertedCurrency: Currency;
  /** Methods offered to the customer, in the order of the page. */
  paymentMethods: Array<PaymentMethod>;
  /** The method that the page opens with. */
  defaultPaymentMethod: PaymentMethod;
  /** Where the customer returns to; null when you gave none. */
  redirectUrl: string | null;
  /** Always null; kept for clients of the published interface. */
  customUrl: string | null;
  /** Your text shown after a success; null when you gave none. */
  successMessage: string | null;
  /** Always `wallet`. */
  settlementDestination: string;
  /** Always `instant`: credited with the success. */
  settlementTime: string;
  /** Who pays our fee. */
  feeBearer: FeeBearer;
  /** The pay code, our name of the payment. */
  reference: string;
  /** Your reference; the pay code when you gave none. */
  merchantReference: string;
  /** Whether you disabled the link: no new attempts. */
  isDisabled: boolean;
  /** Your JSON, as sent; null without. */
  metadata: Record<string, unknown> | null;
  /** Where the payment stands. Deliver on `success`; check `varianceType`. */
  status: PaymentStatus;
  /** Set when another amount than expected was accepted; otherwise null. */
  varianceType: Variance | null;
  /** Time of creation. */
  createdAt: string;
  /** Time of the last change. */
  updatedAt: string;
  /** The customer, as you gave it. */
  customer: CustomerRecord;
  /** What the customer was asked to pay: `amount`, plus the fee when the customer bears it. */
  amountExpected: number;
  /** Refunded by you, in progress or paid out. */
  amountRefunded: number;
  /** Whether the customer's bank reversed the money or part of it. */
  isReversed: boolean;
  /** Reversed by the bank, out of `amountReceived`. */
  amountReversed: number;
  /** Set when the customer disputes the payment with the bank; otherwise null. */
  disputeStatus: DisputeStatus | null;
  /** `INCORRECT_AMOUNT` or `PAYMENT_REVERSED` when you have to act; otherwise null. */
  message: string | null;
  /** What to do about `message`, in words; null when there is nothing to do. */
  actionRequired: string | null;
}

export interface PaymentRecordPage {
  /** The newest first. */
  results: Array<PaymentRecord>;
  /** Cursor of the next page; null on the last. */
  nextCursor: string | null;
}

export type PaymentStatus = "initiated" | "pending" | "processing" | "success" | "failed" | "expired" | (string & {});

export interface RateRecord {
  /** Currency of the inflow. */
  base: Currency;
  /** Currency of the wallet. */
  quote: Currency;
  /** One `base` in `quote`. */
  rate: number;
  /** Kept of each conversion, in percent. */
  spreadPercent: number;
  /** Where the rate comes from. */
  source: string;
  /** Time of the quote. */
  quotedAt: string;
  /** After this time the rate is stale, and inflows are held. */
  usableUntil: string;
}

export interface RefundEvent {
  /** Name of the event. */
  event: "refund.successful" | "refund.failed";
  /** The refund. */
  data: RefundRecord;
}

export interface RefundPage {
  /** The newest first. */
  results: Array<RefundRecord>;
  /** Cursor of the next page; null on the last. */
  nextCursor: string | null;
}

export interface RefundRecord {
  /** Our reference of the refund. */
  reference: string;
  /** The pay code, or the reference of the collection. */
  collectionReference: string;
  /** Your reference of what is refunded; null without one. */
  collectionMerchantReference: string | null;
  /** Currency of the refund. */
  currency: Currency;
  /** In progress or paid out; 0 when it failed. */
  amountRefunded: number;
  /** What you asked to refund. */
  amountRequested: number;
  /** The part of our fee that is returned; 0 where the fee is kept. */
  feeReturned: number;
  /** The part of the VAT that is returned with the fee. */
  vatReturned: number;
  /** What the payer was asked for. */
  collectionAmountExpected: number;
  /** What the payer sent. */
  collectionAmountReceived: number;
  /** What your wallet was credited. */
  collectionAmountSettled: number;
  /** Whether the payer sent less or more than asked; null when exact. */
  collectionVarianceType: string | null;
  /** Where the refund stands. */
  refundStatus: RefundStatus;
  /** Why it failed; null otherwise. */
  failureReason: string | null;
  /** Your reason, shown to the payer. */
  reason: string | null;
  /** Your note, not shown to the payer. */
  note: string | null;
  /** When the refund was started. */
  initiatedAt: string;
  /** When it ended; null while it is processing. */
  completedAt: string | null;
}

export type RefundStatus = "processing" | "successful" | "failed" | (string & {});

export interface ReplayAnswer {
  /** The number of deliveries. */
  count: number;
  /** Whether they were queued. */
  sent: boolean;
  /** Left out, since their payloads were erased at the payer's request; not in `count`. */
  erased: number;
}

export interface RequestRecord {
  /** As in the `x-request-id` header of the answer. */
  requestId: string;
  /** When it was answered, in real time. */
  createdAt: string;
  /** HTTP method. */
  method: string;
  /** Path of the address, without its query. */
  path: string;
  /** Name of the operation in the reference. */
  operation: string;
  /** HTTP status of the answer. */
  status: number;
  /** Time to the answer, in milliseconds. */
  durationMs: number;
  /** Number of the key that was used. */
  keyId: number;
  /** Address that the request came from. */
  address: string;
  /** `errorType` of the answer; null for a success. */
  errorType: string | null;
  /** `message` of the answer; null for a success. */
  message: string | null;
  /** Of a request that failed: its body with texts and long numbers masked; otherwise null. */
  body: string | null;
}

export interface RequestRecordPage {
  /** The newest first. */
  results: Array<RequestRecord>;
  /** Cursor of the next page; null on the last. */
  nextCursor: string | null;
}

export interface Returned {
  /** What was returned or refunded, in the currency that arrived. */
  amountRefunded: number;
  /** Why, in words. */
  reason: string;
  /** Why, as a fixed code such as `name_differs`; `refunded` when you refunded it. */
  reasonCode: string;
  /** `asked`, then `confirmed` by the bank; `refunded` when you refunded it. */
  status: string;
  /** The bank's reference of the return; null for a refund. */
  returnReference: string | null;
  /** When the bank was asked to return it. */
  askedAt: string | null;
  /** When the bank confirmed the return. */
  confirmedAt: string | null;
}

export interface ReturnedInflowData {
  /** Your business's id. */
  business: string;
  /** The `_id` of the virtual account. */
  virtualAccount: string;
  /** The sender's account number; empty when not given. */
  senderAddress: string;
  /** The sender's bank; empty when not given. */
  senderBank: string;
  /** Currency that arrived. */
  sourceCurrency: Currency;
  /** Currency of the wallet. */
  destinationCurrency: Currency;
  /** The amount that arrived, in major units. */
  sourceAmount: number;
  /** The payer's remittance text, or a default. */
  description: string;
  /** The sender's name; empty when not given. */
  customerName: string;
  /** Where the inflow stands. */
  status: CollectionStatus;
  /** From when on the bank counts the money: its value date. */
  initiatedAt: string;
  /** When the rail reported it to us. */
  createdAt: string;
  /** Time of the last change. */
  updatedAt: string;
  /** Our reference of the inflow. */
  reference: string;
  /** Your reference of the virtual account; null without one. */
  merchantReference: string | null;
  /** How the money came, such as `sepa` or `ach`. */
  paymentScheme: string;
  /** Why it went back, in words. */
  reason: string;
  /** Why it went back. */
  reasonCode: InflowReason;
  /** The bank's reference of the return; null when the bank took it back. */
  returnReference: string | null;
  /** When the return was confirmed. */
  returnedAt: string;
}

export interface Reversal {
  /** The bank's reference of the transfer. */
  sessionId: string;
  /** What the bank took back of this transfer. */
  amount: number;
  /** The bank's reason. */
  reason: string;
  /** When the rail reported it to us. */
  createdAt: string;
}

export interface ReversedChargeData {
  /** Number of the payment; unique, below 2^53. */
  id: number;
  /** Kept for clients of the published interface. */
  authorization: ChargeAuthorization;
  /** How the charge was authorized, where the rail tells it; otherwise null. */
  auth_model: string | null;
  /** What the customer paid, in major units. */
  amount: number;
  /** The same as `amount`. */
  amountReceived: number;
  /** What the customer was asked to pay. */
  amountExpected: number;
  /** What your wallet was credited, after fee and VAT. */
  amountToSettle: number;
  /** ISO 4217 code of the currency. */
  currency: Currency;
  /** Our fee, without VAT. */
  fee: number;
  /** VAT on the fee. */
  vat: number;
  /** Who paid our fee. */
  feeBearer: FeeBearer;
  /** `Payment successful`, `INCORRECT_AMOUNT` with a variance, or `PAYMENT_REVERSED`. */
  message: string;
  /** Set when another amount than expected arrived; otherwise null. */
  varianceType: Variance | null;
  /** Status of the payment; `success`. */
  status: PaymentStatus;
  /** The pay code, our name of the payment. */
  reference: string;
  /** The same as `reference`. */
  transactionReference: string;
  /** Your reference of the payment. */
  merchantReference: string;
  /** The same as `merchantReference`. */
  paymentReference: string;
  /** Id of the attempt that was paid. */
  chargeReference: string;
  /** The payment in words. */
  description: string;
  /** The payment method. */
  type: PaymentMethod;
  /** The same as `type`. */
  method: PaymentMethod;
  /** The customer, as you gave it. */
  customer: CustomerRecord;
  /** Your JSON, as sent; `{}` without. */
  metadata: Record<string, unknown>;
  /** Always `wallet`. */
  settlementDestination?: string;
  /** When the payment was created. */
  createdAt: string;
  /** When the event happened. */
  updatedAt: string;
  /** Always true. */
  isReversed?: boolean;
  /** What was taken back of the payment in all. */
  amountReversed: number;
  /** What was taken back this time. */
  reversal: Reversal;
}

export interface SessionEnded {
  /** The payment's pay code. */
  payCode: string;
  /** The status becomes `expired` a moment later, unless an outcome is still unknown. */
  endedAt: string;
}

export interface StatementLine {
  /** Unique, below 2^53, not in order of creation. */
  id: number;
  /** Time of booking; `dateFrom`, `dateTo` and `order` refer to it. */
  at: string;
  /** When the money moved, by the bank's value date where there is one. */
  happenedAt: string;
  /** What kind of movement it is. */
  kind: JournalKind;
  /** The movement in words. */
  description: string;
  /** Your reference of a payment, or the `reference` of the collection or refund. */
  reference: string | null;
  /** Which way the money moved. */
  direction: "in" | "out" | (string & {});
  /** After our fee; negative when debited. */
  amount: number;
  /** Not part of `amount`; negative when returned. */
  fee: number;
  /** The tax on the fee. */
  vat: number;
  /** Currency of the wallet. */
  currency: Currency;
  /** The wallet's balance after this line. */
  balance: number;
}

export interface StatementPage {
  /** Currency of the wallet. */
  currency: Currency;
  /** Number of the wallet. */
  walletNumber: string;
  /** Before the first line of the period. */
  openingBalance: number;
  /** After the last line of the period. */
  closingBalance: number;
  /** Lines of the statement, in the asked order. */
  results: Array<StatementLine>;
  /** Cursor of the next page; null on the last. */
  nextCursor: string | null;
}

export interface SupportView {
  /** E-mail address for payers; null without one. */
  email: string | null;
  /** In international form, such as +2348012345678. */
  phone: string | null;
  /** Help page for payers; null without one. */
  url: string | null;
}

export interface TestData {
  /** Id of the endpoint. */
  endpointId: string;
  /** What this is, in words. */
  message?: string;
  /** When you asked for it. */
  createdAt: string;
}

export interface TestEvent {
  /** Name of the event. */
  event: "webhook.test";
  /** Kind of event. */
  type: "test";
  /** The test. */
  data: TestData;
}

export interface TransferReversed {
  /** The transfer's identifier. */
  transactionId: string;
  /** The bank's identifier of the reversal; the same for every repeat. */
  reversalId: string;
}

export interface TransferSent {
  /** The bank's identifier: your `reference` if you gave one. */
  transactionId: string;
}

export type Variance = "underpayment" | "overpayment" | (string & {});

export type VariancePolicy = "accept" | "top_up" | "return" | (string & {});

export interface VirtualAccountView {
  /** The number to send to. */
  accountNumber: string;
  /** The bank to choose. */
  bankName: string;
  /** The recipient's name that the payer's bank shows. */
  accountName: string;
  /** Money that arrives later is returned. */
  expiresAt: string | null;
}

export interface WalletRecord {
  /** Id of the wallet. */
  id: string;
  /** Your business's id. */
  business: string;
  /** Currency of the wallet; you have one wallet for each. */
  currency: Currency;
  /** Number of the wallet, shown on statements. */
  walletNumber: string;
  /** What can be refunded now. */
  availableBalance: number;
  /** Available and locked together. */
  ledgerBalance: number;
  /** Reserved for refunds in progress and for open disputes. */
  lockedBalance: number;
  /** Inflows that are held for review, before the fee; not part of the other balances. */
  pendingBalance: number;
  /** Reversed by banks beyond the balance; deducted from the next money received. */
  owedBalance: number;
  /** Whether the business is active. */
  status: BusinessStatus;
  /** Time of creation. */
  createdAt: string;
  /** Time of the last movement. */
  updatedAt: string;
}

export interface PaymentsListParams {
  /** Only payments with this status. */
  status?: "initiated" | "pending" | "processing" | "success" | "failed" | "expired";
  /** Only payments that were paid with too little or too much. */
  varianceType?: "underpayment" | "overpayment";
  /** Only payments that were paid by this method, in any letter case. */
  paymentMethod?: RequestedMethod;
  /** Only payments in this currency. */
  currency?: "NGN" | "GHS" | "KES" | "UGX" | "ZAR" | "ZMW";
  /** The customer's e-mail address, in any letter case. */
  email?: string;
  /** How `merchantReference` begins, such as `ORDER-10`. */
  referencePrefix?: string;
  /** At least this `amountExpected`; needs `currency`. */
  amountMin?: string;
  /** At most this `amountExpected`; needs `currency`. */
  amountMax?: string;
  /** Only payments made by this payment link. */
  paymentLinkId?: string;
  /** Created from this day or time on. */
  dateFrom?: string;
  /** Created before this time; a day is included. */
  dateTo?: string;
  /** Payments on a page. */
  perPage?: number;
  /** The `nextCursor` of the page before. */
  cursor?: string;
}

export interface PaymentsListCsvParams {
  /** Only payments with this status. */
  status?: "initiated" | "pending" | "processing" | "success" | "failed" | "expired";
  /** Only payments that were paid with too little or too much. */
  varianceType?: "underpayment" | "overpayment";
  /** Only payments that were paid by this method, in any letter case. */
  paymentMethod?: RequestedMethod;
  /** Only payments in this currency. */
  currency?: "NGN" | "GHS" | "KES" | "UGX" | "ZAR" | "ZMW";
  /** The customer's e-mail address, in any letter case. */
  email?: string;
  /** How `merchantReference` begins, such as `ORDER-10`. */
  referencePrefix?: string;
  /** At least this `amountExpected`; needs `currency`. */
  amountMin?: string;
  /** At most this `amountExpected`; needs `currency`. */
  amountMax?: string;
  /** Only payments made by this payment link. */
  paymentLinkId?: string;
  /** Created from this day or time on. */
  dateFrom?: string;
  /** Created before this time; a day is included. */
  dateTo?: string;
  /** Payments on a page. */
  perPage?: number;
  /** The `nextCursor` of the page before. */
  cursor?: string;
}

export interface PaymentsCreateParams {
  /** In major units, a whole number. At most 100,000,000 NGN, 1,000,000 GHS, 10,000,000 KES, 250,000,000 UGX, 1,000,000 ZAR, 2,000,000 ZMW. */
  amount: number;
  /** What you charge in; decides which methods can be offered. */
  currency: "NGN" | "GHS" | "KES" | "UGX" | "ZAR" | "ZMW";
  /** An object; the same object as a JSON string is accepted too. */
  customer: CustomerFields;
  /** Who pays the fee. By default what your business has set: at first, it does. */
  feeBearer?: FeeBearer;
  /** Yours, unique per business, never reusable; the pay code when absent. */
  reference?: string | null;
  /** Where the customer returns to after the payment, with `?reference=…` added. */
  redirectUrl?: string | null;
  /** Any JSON of yours; returned as sent. At most 50 keys of 40 characters, texts of 500 characters, and 16 kB. */
  metadata?: Record<string, unknown> | null;
  /** Shown to the customer after a successful payment, as plain text. */
  successMessage?: string | null;
  /** The only destination: your wallet. */
  settlementDestination?: "wallet" | null;
  /** In the order shown on the page, in any letter case. Every method of the currency when absent. */
  paymentMethods?: Array<RequestedMethod> | null;
  /** The one that the page opens with, in any letter case. The first offered when absent. */
  defaultPaymentMethod?: RequestedMethod | null;
}

export interface FeesQuoteParams {
  /** What you would charge in. */
  currency: "NGN" | "GHS" | "KES" | "UGX" | "ZAR" | "ZMW";
  /** The payment method, in any letter case. */
  type: RequestedMethod;
  /** In major units, a whole number. At most 100,000,000 NGN, 1,000,000 GHS, 10,000,000 KES, 250,000,000 UGX, 1,000,000 ZAR, 2,000,000 ZMW. */
  amount: number;
}

export interface PaymentLinksListParams {
  /** Only links that you ended, or only the others. */
  status?: "ended" | "not_ended";
  /** Payment links on a page. */
  perPage?: number;
  /** The `nextCursor` of the page before. */
  cursor?: string;
}

export interface PaymentLinksCreateParams {
  /** What is paid for; shown to the customer. */
  name: string;
  /** How often it is paid. */
  kind?: LinkKind;
  /** What you charge in. */
  currency: "NGN" | "GHS" | "KES" | "UGX" | "ZAR" | "ZMW";
  /** In major units, a whole number; absent where the customer chooses the amount. */
  amount?: number | null;
  /** The least that the customer may choose; 1 when absent. */
  amountMin?: number | null;
  /** The most that the customer may choose; the currency's limit when absent. */
  amountMax?: number | null;
  /** Who pays the fee. By default what your business has set: at first, it does. */
  feeBearer?: FeeBearer;
  /** In the order shown on the page, in any letter case. Every method of the currency when absent. */
  paymentMethods?: Array<RequestedMethod> | null;
  /** Whether the page asks for a phone number; not at all when absent. */
  askPhoneNumber?: FieldRule | null;
  /** Whether the page asks for a note: a line of text of up to 200 characters, `note` in the payment's metadata. Not at all when absent. */
  askNote?: FieldRule | null;
  /** What the page calls the note, such as T-shirt size; `Note` in the customer's language when absent. */
  noteLabel?: string | null;
  /** It takes payments before this time; of a day, to its end. */
  endsAt?: string | null;
  /** How often a reusable link may be paid; without limit when absent. */
  paymentsMax?: number | null;
  /** Shown to the customer after a successful payment, as plain text. */
  successMessage?: string | null;
  /** Where the customer returns to after the payment, with `?reference=…` added. */
  redirectUrl?: string | null;
}

export interface CheckoutsChargeParams {
  /** One of the offered methods, in any letter case. */
  type: RequestedMethod;
  /** For `card`: the payer's card. */
  card?: CardFields | null;
  /** For mobile money, such as +254712345678. */
  phone?: string | null;
  /** For mobile money: an `id` of the checkout's `operators`; guessed from the number if absent. */
  operator?: string | null;
  /** For USSD: a `code` of the checkout's `banks`. */
  bank?: string | null;
}

export interface CheckoutsAuthorizeParams {
  /** When the action is `pin`. */
  pin?: string | null;
  /** When the action is `otp` or `redirect`. */
  otp?: string | null;
  /** When the action is `address`: the card's billing address. */
  address?: AddressFields | null;
}

export interface RequestsListParams {
  /** Only requests that succeeded, or only those that failed. */
  outcome?: "success" | "error";
  /** Only requests answered with this status. */
  status?: number;
  /** Only requests with this HTTP method. */
  method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Only this operation, such as `createPayment`. */
  operation?: string;
  /** Only requests with this key. */
  keyId?: number;
  /** Only the request with this id. */
  requestId?: string;
  /** From this day or time on. */
  dateFrom?: string;
  /** Before this time; a day is included. */
  dateTo?: string;
  /** Requests on a page. */
  perPage?: number;
  /** The `nextCursor` of the page before. */
  cursor?: string;
}

export interface AccountsListRequestsParams {
  /** Number of the page, from 1. */
  page?: number;
  /** Requests on a page. */
  perPage?: number;
  /** Only requests for this currency. */
  currency?: "USD" | "EUR";
  /** Only requests with this status. */
  status?: "pending" | "approved" | "declined";
}

export interface AccountsRequestParams {
  /** Currency that the account receives. */
  currency: "USD" | "EUR";
  /** Who holds the account. */
  accountType: AccountType;
  /** The account holder: `firstName` and `lastName` of a person, `businessName` of a company. Payers must type this name. Further fields are allowed, as agreed with the operator. */
  KYCInformation: { firstName?: string | null; lastName?: string | null; businessName?: string | null; [further: string]: unknown };
  /** Documents that the operator asks for. */
  documents?: Array<DocumentGiven>;
  /** Currency of the wallet to credit; by default the account's own. */
  settlementCurrency?: Currency | null;
  /** Your own reference, unique among your accounts. */
  merchantReference?: string | null;
  /** What you expect to receive in a month, in words. */
  monthlyVolume?: string | null;
  /** Name of the entity that the account is for, where it is not the holder. */
  entityName?: string | null;
  /** Who will pay into the account, and for what. */
  paymentFlowDescription?: string | null;
  /** Any JSON of yours; returned as sent. At most 50 keys of 40 characters, texts of 500 characters, and 16 kB. */
  metadata?: Record<string, unknown> | null;
}

export interface AccountsListParams {
  /** Number of the page, from 1. */
  page?: number;
  /** Accounts on a page. */
  perPage?: number;
  /** Only accounts of this currency. */
  currency?: "USD" | "EUR";
  /** Only accounts with this status. */
  status?: "pending" | "approved" | "declined" | "expired" | "closed";
}

export interface RefundsListParams {
  /** Your reference, a pay code, or the reference of a collection. */
  transReference?: string;
  /** Only refunds with this status. */
  status?: "processing" | "successful" | "failed";
  /** From this day or time, inclusive. */
  dateFrom?: string;
  /** Before this time; a date includes the whole day. */
  dateTo?: string;
  /** Refunds on a page. */
  perPage?: number;
  /** The `nextCursor` of the previous page. */
  cursor?: string;
}

export interface RefundsCreateParams {
  /** Your reference, a pay code, or the reference of a collection. */
  transReference: string;
  /** By default the excess of an overpayment, otherwise all that remains; an unknown field is then refused, since it may be a mistyped amount. */
  amount?: number;
  /** If given, it must be the currency received. */
  currency?: Currency | null;
  /** Shown to your customer. */
  reason?: string | null;
  /** Not shown to your customer. */
  note?: string | null;
  /** Your business's id, if you name it. */
  business?: string | null;
}

export interface CollectionsListParams {
  /** The `_id` of a virtual account. */
  virtualAccount?: string;
  /** Currency of the wallet that was credited. */
  destinationCurrency?: "NGN" | "GHS" | "KES" | "UGX" | "ZAR" | "ZMW" | "TZS" | "USD" | "EUR";
  /** Only inflows with this status. */
  status?: "pending" | "successful" | "reversed" | "failed";
  /** Only the inflow with this reference. */
  reference?: string;
  /** From this day or time on. */
  dateFrom?: string;
  /** Before this time; a day is included. */
  dateTo?: string;
  /** Number of the page, from 1; use `cursor` to read more than 10,000 rows. */
  page?: number;
  /** Inflows on a page. */
  perPage?: number;
  /** The `nextCursor` of the page before. */
  cursor?: string;
}

export interface CollectionsListCsvParams {
  /** The `_id` of a virtual account. */
  virtualAccount?: string;
  /** Currency of the wallet that was credited. */
  destinationCurrency?: "NGN" | "GHS" | "KES" | "UGX" | "ZAR" | "ZMW" | "TZS" | "USD" | "EUR";
  /** Only inflows with this status. */
  status?: "pending" | "successful" | "reversed" | "failed";
  /** Only the inflow with this reference. */
  reference?: string;
  /** From this day or time on. */
  dateFrom?: string;
  /** Before this time; a day is included. */
  dateTo?: string;
  /** Number of the page, from 1; use `cursor` to read more than 10,000 rows. */
  page?: number;
  /** Inflows on a page. */
  perPage?: number;
  /** The `nextCursor` of the page before. */
  cursor?: string;
}

export interface WalletsStatementParams {
  /** From this day or time in UTC, inclusive. */
  dateFrom?: string;
  /** Before this time; a date includes the whole day. */
  dateTo?: string;
  /** Order of the lines. */
  order?: "asc" | "desc";
  /** Lines on a page. */
  perPage?: number;
  /** The `nextCursor` of the previous page. */
  cursor?: string;
}

export interface WalletsStatementCsvParams {
  /** From this day or time in UTC, inclusive. */
  dateFrom?: string;
  /** Before this time; a date includes the whole day. */
  dateTo?: string;
  /** Order of the lines. */
  order?: "asc" | "desc";
  /** Lines on a page. */
  perPage?: number;
  /** The `nextCursor` of the previous page. */
  cursor?: string;
}

export interface WalletsStatementPdfParams {
  /** From this day or time in UTC, inclusive. */
  dateFrom?: string;
  /** Before this time; a date includes the whole day. */
  dateTo?: string;
  /** Order of the lines. */
  order?: "asc" | "desc";
  /** Lines on a page. */
  perPage?: number;
  /** The `nextCursor` of the previous page. */
  cursor?: string;
}

export interface WebhooksEndpointsCreateParams {
  /** https, port 443 or 8443; in the sandbox also http and your own machine. */
  url: string;
  /** Besides `charge.successful` and `collection.successful`, which every endpoint gets. At least one name; for no others, name one of these. */
  events?: Array<"charge.successful" | "collection.successful" | "charge.reversed" | "charge.disputed" | "collection.returned" | "refund.successful" | "refund.failed" | "virtualaccount.approved" | "virtualaccount.declined" | "virtualaccount.suspended" | "virtualaccount.closed"> | null;
  /** Your own text, shown in lists. */
  description?: string | null;
  /** The most requests a second that your server accepts. */
  ratePerSecond?: number;
  /** `whsec_` and 24 to 64 bytes in base64. Generated when absent. */
  secret?: string | null;
}

export interface WebhooksEndpointsUpdateParams {
  /** https, port 443 or 8443; in the sandbox also http and your own machine. */
  url?: string;
  /** Besides `charge.successful` and `collection.successful`, which every endpoint gets. At least one name; for no others, name one of these. */
  events?: Array<"charge.successful" | "collection.successful" | "charge.reversed" | "charge.disputed" | "collection.returned" | "refund.successful" | "refund.failed" | "virtualaccount.approved" | "virtualaccount.declined" | "virtualaccount.suspended" | "virtualaccount.closed">;
  /** Your own text; null removes it. */
  description?: string | null;
  /** Enabling also resets the failures of an endpoint. */
  status?: EndpointStatus;
  /** The most requests a second that your server accepts. */
  ratePerSecond?: number;
}

export interface WebhooksDeliveriesListParams {
  /** Only deliveries with this status. */
  status?: "pending" | "delivered" | "exhausted" | "cancelled";
  /** Such as `charge.successful`. */
  event?: string;
  /** Only deliveries to this endpoint. */
  endpointId?: string;
  /** Your reference of the payment or other subject. */
  reference?: string;
  /** From this day or time, inclusive. */
  dateFrom?: string;
  /** Before this time; a date includes the whole day. */
  dateTo?: string;
  /** Deliveries on a page. */
  perPage?: number;
  /** The `nextCursor` of the previous page. */
  cursor?: string;
}

export interface WebhooksReplayParams {
  /** From this day or time, inclusive. */
  dateFrom: string;
  /** Before this time; a date includes the whole day. */
  dateTo: string;
  /** Only deliveries to this endpoint. */
  endpointId?: string | null;
  /** Only these events. */
  events?: Array<"charge.successful" | "collection.successful" | "charge.reversed" | "charge.disputed" | "collection.returned" | "refund.successful" | "refund.failed" | "virtualaccount.approved" | "virtualaccount.declined" | "virtualaccount.suspended" | "virtualaccount.closed"> | null;
  /** Leave out delivered events. */
  undeliveredOnly?: boolean;
  /** Without it deliveries are counted, not sent. */
  confirm?: boolean;
}

export interface SandboxTransfersSendParams {
  /** Any account, temporary or permanent; an IBAN may be typed in groups. */
  accountNumber: string;
  /** In major units; may have decimals. */
  amount: number;
  /** Any of these; an account accepts only its own. */
  currency: Currency;
  /** The sender. */
  payer: PayerFields;
  /** The recipient's name, as the payer typed it. */
  payee?: PayeeFields | null;
  /** The bank's reference; a repeated one repeats the notification of the same transfer. */
  reference?: string | null;
  /** The payer's remittance text. */
  remittance?: string | null;
  /** The scheme, such as `sepa`, `ach` or `wire`. By default the usual one of the currency. */
  scheme?: string | null;
  /** The value date, past or future: a date, or a time with its offset. Now when absent. */
  valuedAt?: string | null;
  /** Delay of the notification, such as 10s. A reversal during the delay is notified first. */
  delay?: string | null;
}

export interface SandboxTransfersReverseParams {
  /** The bank's reason. */
  reason?: string | null;
}

export interface SandboxChargesDeclineParams {
  /** `not_approved` when absent. */
  reason?: string | null;
}

export interface SandboxChargesDisputeParams {
  /** `open` begins it; the others end it. */
  status?: DisputeStatus;
}

export interface SandboxClockAdvanceParams {
  /** How far, such as 30s, 15m, 2h or 3d. */
  advance: string;
}

export interface SandboxAccountsDeclineParams {
  /** Shown in the account's record. */
  reason?: string | null;
}

export interface SandboxAccountsSuspendParams {
  /** Shown in the account's record. */
  reason?: string | null;
}

export interface SandboxAccountsCloseParams {
  /** Shown in the account's record. */
  reason?: string | null;
}

export interface SandboxCollectionsCreditParams {
  /** The operator's note, for the audit trail. */
  note?: string | null;
}

export interface SandboxCollectionsSendBackParams {
  /** The operator's note, for the audit trail. */
  note?: string | null;
}

export interface SandboxRatesSetParams {
  /** Currency of the inflow. */
  base: Currency;
  /** Currency of the wallet that is credited. */
  quote: Currency;
  /** One `base` in `quote`; at most 12 digits. */
  rate: number;
  /** Kept of each conversion; 0 when absent. */
  spreadPercent?: number | null;
  /** Where the rate comes from. */
  source?: string | null;
  /** Time of the quote, not in the future; now when absent. The newest is used. */
  quotedAt?: string | null;
}

export type PaymentMethod = "bank_transfer" | "card" | "mobile_money" | "payattitude" | (string & {});

export type RequestedMethod = "bank_transfer" | "card" | "mobile_money" | "payAttitude" | (string & {});

export type Event = ChargeSuccessful | ChargeReversed | ChargeDisputed | CollectionSuccessful | CollectionReturned | RefundEvent | AccountEvent | TestEvent;

export interface Resources {
  readonly payments: Payments;
  readonly fees: Fees;
  readonly paymentLinks: PaymentLinks;
  readonly checkouts: Checkouts;
  readonly requests: Requests;
  readonly merchant: Merchant;
  readonly accounts: Accounts;
  readonly refunds: Refunds;
  readonly collections: Collections;
  readonly wallets: Wallets;
  readonly webhooks: Webhooks;
  readonly sandbox: Sandbox;
}

export interface Payments {
  /** List payments. Your payments, the newest first: all of them, or those that fit every filter. A page costs the same however many there are; go on with `nextCursor`. There is no total: to count them, read all pages or the file. `Accept: text/csv` gives a file of all rows that fit. With `Accept: text/csv` the answer is a file. */
  list(params?: PaymentsListParams, options?: CallOptions): Pager<PaymentRecordPage, PaymentRecord>;
  /** List payments. Your payments, the newest first: all of them, or those that fit every filter. A page costs the same however many there are; go on with `nextCursor`. There is no total: to count them, read all pages or the file. `Accept: text/csv` gives a file of all rows that fit. With `Accept: text/csv` the answer is a file. */
  listCsv(params?: PaymentsListCsvParams, options?: CallOptions): Promise<Uint8Array>;
  /** Create a payment. Returns a link to the hosted checkout page. Send your customer there. When the payment has ended, successfully or not, the customer returns to `redirectUrl` with `?reference=…`. The redirect proves nothing: verify the payment. */
  create(params: PaymentsCreateParams, options?: KeyedOptions): Promise<Created & Answered>;
  /** Verify a payment. The payment as it is now. Deliver only when `status` is `success`, and check `varianceType`: a bank transfer can be more or less than `amountExpected`. */
  verify(reference: string, options?: CallOptions): Promise<PaymentRecord & Answered>;
  /** Disable a payment's page. The link takes no new attempts until you enable it again. Attempts already started can still be finished, and their money counts: a card that waits for its PIN, an approval on the phone, a transfer to an open account. Repeating the call changes nothing; a payment that has ended cannot be disabled. */
  disable(reference: string, options?: CallOptions): Promise<PaymentRecord & Answered>;
  /** Enable a payment's page. The link works again until its checkout expires. Disabling does not extend the expiry. */
  enable(reference: string, options?: CallOptions): Promise<PaymentRecord & Answered>;
}

export interface Fees {
  /** Quote fees. The fee and the VAT on it, by the rule that would price the payment: your own where you have one. Nothing is created. */
  quote(params: FeesQuoteParams, options?: CallOptions): Promise<FeesQuoted & Answered>;
}

export interface PaymentLinks {
  /** List payment links. Your payment links, the newest first, with what became of each. */
  list(params?: PaymentLinksListParams, options?: CallOptions): Pager<LinkRecordPage, LinkRecord>;
  /** Create a payment link. A link with a page of its own, a QR code and a poster. The amount is fixed, or the customer's choice within your bounds. The page asks for name and e-mail address, and for a phone number and a note where you say so. Payments made by it carry its id as `paymentLinkId`, in the record, in lists and in their events. */
  create(params: PaymentLinksCreateParams, options?: KeyedOptions): Promise<LinkRecord & Answered>;
  /** Get a payment link. A payment link as it is now. */
  get(linkId: string, options?: CallOptions): Promise<LinkRecord & Answered>;
  /** End a payment link. It takes no new payments until you reopen it. Payments already begun can still be paid. Repeating the call changes nothing. */
  end(linkId: string, options?: CallOptions): Promise<LinkRecord & Answered>;
  /** Reopen a payment link. It takes payments again. Refused when its end date has passed or it is used up: duplicate it. */
  reopen(linkId: string, options?: CallOptions): Promise<LinkRecord & Answered>;
  /** Duplicate a payment link. A new link with the same terms and another address. An end date that has passed is left out. */
  duplicate(linkId: string, options?: KeyedOptions): Promise<LinkRecord & Answered>;
}

export interface Checkouts {
  /** Get the payer's view of a checkout. What the hosted page shows, with the `banks` and `operators` that a charge may name. The same path followed by `/events` sends it as server-sent events (`event: status`), at once and after every change. */
  get(payCode: string, options?: CallOptions): Promise<CheckoutView & Answered>;
  /** Start an attempt. Starts an attempt by one of the offered methods. `action` is the payer's next step: send a `transfer`, approve a `prompt`, `dial` a code, give a `pin`, an `otp` or an `address`, follow a `redirect`, or none. A second charge replaces one that still waits for the payer, and is refused while an outcome is not known. While an account for a transfer is open, another charge by `bank_transfer` gives the same account and is no new attempt. */
  charge(payCode: string, params: CheckoutsChargeParams, options?: CallOptions): Promise<Charged & Answered>;
  /** Answer a challenge. Exactly one of `pin`, `otp` and `address`, as the last `action` requires. */
  authorize(payCode: string, params?: CheckoutsAuthorizeParams, options?: CallOptions): Promise<Charged & Answered>;
  /** Send the prompt or the code again. Sends the prompt, the USSD code or the one-time code of the attempt again: at most 3 times, 30 seconds apart. Earlier requests get a 429 with `Retry-After`; `resendFrom` is the earliest time. A USSD code is replaced by a new one. Where `resendsLeft` is null, it cannot be sent again. */
  resend(payCode: string, options?: CallOptions): Promise<Charged & Answered>;
  /** Extend the account of a transfer. Keeps the account of a bank transfer open for another 30 minutes, but not beyond the checkout's expiry. */
  extend(payCode: string, options?: CallOptions): Promise<Charged & Answered>;
  /** Cancel a checkout. The payer cancels. Money already received is returned. */
  cancel(payCode: string, options?: CallOptions): Promise<CheckoutView & Answered>;
}

export interface Requests {
  /** List your requests. Requests made with your keys, the newest first, about a second after they were answered. They are kept for 7 days, those that failed for 30, unless this installation is set otherwise. When very many come at once, some that succeeded are left out. Bodies are kept of failed requests only, with texts and long numbers masked. */
  list(params?: RequestsListParams, options?: CallOptions): Pager<RequestRecordPage, RequestRecord>;
}

export interface Merchant {
  /** Get your business. Returns the business that the `api-key` belongs to: its id, which other operations take as `x-business-id` or `business`, and its settings. It contains no key and no secret. */
  me(options?: CallOptions): Promise<BusinessRecord & Answered>;
}

export interface Accounts {
  /** List requests for virtual accounts. The newest first: requests that are `pending`, `approved`, or `declined` with the `reason`. A request and its account are one record with one `_id`. Closed and expired accounts are not in the list. */
  listRequests(params?: AccountsListRequestsParams, options?: CallOptions): Pager<AccountPage, AccountRecord>;
  /** Request a virtual account. The account starts `pending`, without details; the operator approves or declines it. Documents are links that the operator can open. In the sandbox approve it yourself: `POST /sandbox/virtual-accounts/{accountId}/approve`. */
  request(params: AccountsRequestParams, options?: KeyedOptions): Promise<AccountRecord & Answered>;
  /** List virtual accounts. The newest first. Temporary accounts of checkouts are not in the list; get them by their ids. */
  list(params?: AccountsListParams, options?: CallOptions): Pager<AccountPage, AccountRecord>;
  /** Get a virtual account. The crediting details are in `accountInformation`. The temporary account of a checkout has the same record, with `isCheckoutVa` and `expiresAt`. */
  get(accountId: string, options?: CallOptions): Promise<AccountRecord & Answered>;
}

export interface Refunds {
  /** List refunds. The newest first. Filters are combined with AND. The query parameters may also be sent as a JSON object in the body; each one in one place. */
  list(params?: RefundsListParams, options?: CallOptions): Pager<RefundPage, RefundRecord>;
  /** Refund a payment or a collection. `transReference` is your reference, a pay code, or the reference of a collection. The amount is limited to what was received and not yet refunded, and to your wallet's balance. In the sandbox a refund takes two seconds; an amount that ends in .13 is declined, and one that ends in .17 is not answered at first. */
  create(params: RefundsCreateParams, options?: KeyedOptions): Promise<RefundRecord & Answered>;
  /** Get a refund. The refund as it is now. `successful` and `failed` are final. */
  get(reference: string, options?: CallOptions): Promise<RefundRecord & Answered>;
}

export interface Collections {
  /** List inflows. Filters combine with AND; without any, all of your inflows are listed. Page by `cursor`: every page costs the same, and new inflows neither repeat nor hide a row. `total` is exact. The query parameters may also be sent as a JSON object in the body; each one in one place. With `Accept: text/csv` the answer is a file. */
  list(params?: CollectionsListParams, options?: CallOptions): Pager<CollectionPage, CollectionRecord>;
  /** List inflows. Filters combine with AND; without any, all of your inflows are listed. Page by `cursor`: every page costs the same, and new inflows neither repeat nor hide a row. `total` is exact. The query parameters may also be sent as a JSON object in the body; each one in one place. With `Accept: text/csv` the answer is a file. */
  listCsv(params?: CollectionsListCsvParams, options?: CallOptions): Promise<Uint8Array>;
  /** Get an inflow. By the `reference` that the webhook has. `nameCheck` lists the steps of the name comparison. */
  get(reference: string, options?: CallOptions): Promise<CollectionRecord & Answered>;
}

export interface Wallets {
  /** List wallets. One wallet for each currency that you have received. */
  list(options?: CallOptions): Promise<Array<WalletRecord> & Answered>;
  /** Read a wallet's statement. Every line has the balance after it. Opening and closing balance are those of the whole period, on every page. Page with `cursor`: entries booked meanwhile neither repeat nor hide a line. Files have all lines of the period, the oldest first. With `Accept: text/csv` the answer is a file. With `Accept: application/pdf` it is a document to print or to keep. */
  statement(currency: string, params?: WalletsStatementParams, options?: CallOptions): Pager<StatementPage, StatementLine>;
  /** Read a wallet's statement. Every line has the balance after it. Opening and closing balance are those of the whole period, on every page. Page with `cursor`: entries booked meanwhile neither repeat nor hide a line. Files have all lines of the period, the oldest first. With `Accept: text/csv` the answer is a file. With `Accept: application/pdf` it is a document to print or to keep. */
  statementCsv(currency: string, params?: WalletsStatementCsvParams, options?: CallOptions): Promise<Uint8Array>;
  /** Read a wallet's statement. Every line has the balance after it. Opening and closing balance are those of the whole period, on every page. Page with `cursor`: entries booked meanwhile neither repeat nor hide a line. Files have all lines of the period, the oldest first. With `Accept: text/csv` the answer is a file. With `Accept: application/pdf` it is a document to print or to keep. */
  statementPdf(currency: string, params?: WalletsStatementPdfParams, options?: CallOptions): Promise<Uint8Array>;
}

export interface Webhooks {
  verify: typeof webhooks.verify;
  readonly endpoints: WebhooksEndpoints;
  readonly deliveries: WebhooksDeliveries;
  /** Replay the events of a period. Counts the deliveries, and sends them only with `confirm`. Ids and bodies are unchanged. New events are sent before replayed ones. At most 20,000 deliveries per replay. */
  replay(params: WebhooksReplayParams, options?: KeyedOptions): Promise<ReplayAnswer & Answered>;
}

export interface WebhooksEndpoints {
  /** List endpoints. The oldest first; the first is the one that the business's webhook URL sets. */
  list(options?: CallOptions): Pager<EndpointList, EndpointRecord>;
  /** Create an endpoint. Every endpoint gets `charge.successful` and `collection.successful`; list any others in `events`. The secret is shown only in this answer, not in the answer to a repeated `Idempotency-Key`; if you lose it, rotate. Earlier events are not sent; replay them if you need them. */
  create(params: WebhooksEndpointsCreateParams, options?: KeyedOptions): Promise<EndpointWithSecret & Answered>;
  /** Get an endpoint. The endpoint without its secret. */
  get(endpointId: string, options?: CallOptions): Promise<EndpointRecord & Answered>;
  /** Change an endpoint. Absent fields stay as they are. Pending deliveries go to the new URL. */
  update(endpointId: string, params?: WebhooksEndpointsUpdateParams, options?: CallOptions): Promise<EndpointRecord & Answered>;
  /** Delete an endpoint. Requests in flight may still arrive; no others follow. */
  delete(endpointId: string, options?: CallOptions): Promise<EndpointDeleted & Answered>;
  /** Rotate an endpoint's secret. For 24 hours `webhook-signature` has a signature for each secret, new and old; `signature` uses the new secret at once. The new secret is shown only in this answer, not in the answer to a repeated `Idempotency-Key`. */
  rotateSecret(endpointId: string, options?: KeyedOptions): Promise<EndpointWithSecret & Answered>;
  /** Send a test event. Sends an event `webhook.test` to this endpoint only. Get the delivery to see your server's answer. */
  test(endpointId: string, options?: KeyedOptions): Promise<DeliveryRecord & Answered>;
}

export interface WebhooksDeliveries {
  /** List deliveries. Each delivery, your server's answers, and the time of the next attempt. Filters are combined with AND. */
  list(params?: WebhooksDeliveriesListParams, options?: CallOptions): Pager<DeliveryPage, DeliveryRecord>;
  /** Get a delivery. The delivery with its payload, the last ten attempts, and the time of the next. */
  get(deliveryId: string, options?: CallOptions): Promise<DeliveryRecord & Answered>;
  /** Resend a delivery. Sends the same event and body with a new timestamp at once; if it fails, the retry schedule starts again. */
  resend(deliveryId: string, options?: KeyedOptions): Promise<DeliveryRecord & Answered>;
}

export interface Sandbox {
  readonly transfers: SandboxTransfers;
  readonly charges: SandboxCharges;
  readonly clock: SandboxClock;
  /** Delete the business's data. Deletes the business's payments, inflows, money, events and deliveries. Its keys, settings, virtual accounts and webhook endpoints stay. */
  reset(options?: CallOptions): Promise<Emptied & Answered>;
  readonly accounts: SandboxAccounts;
  readonly collections: SandboxCollections;
  readonly rates: SandboxRates;
}

export interface SandboxTransfers {
  /** Send a bank transfer. A bank transfer to any virtual account, in any amount and currency: too little, too much, too late, or to an account that does not exist. It is notified as by a real bank, and handled by your policy. `payee.name` is the recipient's name as the payer typed it; a permanent account compares it with its holder's name. */
  send(params: SandboxTransfersSendParams, options?: KeyedOptions): Promise<TransferSent & Answered>;
  /** Reverse a bank transfer. The bank reverses the transfer with this reference and notifies it at once. A repeat sends the same reversal again. For a reversal that comes before its credit, send the transfer with a `delay` and reverse it before the delay is over. */
  reverse(reference: string, params?: SandboxTransfersReverseParams, options?: CallOptions): Promise<TransferReversed & Answered>;
}

export interface SandboxCharges {
  /** Approve on the phone. The payer approves on the phone, for mobile money and USSD. */
  approve(payCode: string, options?: CallOptions): Promise<Acted & Answered>;
  /** Decline on the phone. The payer declines on the phone. `reason` may be `not_approved`, `insufficient_funds`, `no_such_wallet`, `wrong_pin` or `expired`; any other text counts as `not_approved`. */
  decline(payCode: string, params?: SandboxChargesDeclineParams, options?: CallOptions): Promise<Acted & Answered>;
  /** End the checkout now. Ends the session of one payment and closes its account, without moving the clock. Money that arrives afterwards is returned. A moment passes before the payment is `expired`. */
  expire(payCode: string, options?: CallOptions): Promise<SessionEnded & Answered>;
  /** Dispute a payment. The payer disputes a paid payment with the bank, or the bank decides: `won` leaves you the money, `lost` takes it back. It is notified a moment later, with `charge.disputed`. */
  dispute(payCode: string, params?: SandboxChargesDisputeParams, options?: CallOptions): Promise<ChargeIsDisputed & Answered>;
}

export interface SandboxClock {
  /** Get the sandbox's clock. Each business has its own clock, used for its payments, accounts, retries and settlement. */
  get(options?: CallOptions): Promise<ClockView & Answered>;
  /** Advance the sandbox's clock. Moves the clock of this business ahead, and of no other. It cannot be moved back. */
  advance(params: SandboxClockAdvanceParams, options?: CallOptions): Promise<ClockView & Answered>;
}

export interface SandboxAccounts {
  /** Approve a virtual account. The rail opens the account: its details are available at once, and it takes transfers. */
  approve(accountId: string, options?: CallOptions): Promise<AccountRecord & Answered>;
  /** Decline a virtual account. The account gets no details. To try again, request another account. */
  decline(accountId: string, params?: SandboxAccountsDeclineParams, options?: CallOptions): Promise<AccountRecord & Answered>;
  /** Suspend a virtual account. Money that arrives while the account is suspended is returned. */
  suspend(accountId: string, params?: SandboxAccountsSuspendParams, options?: CallOptions): Promise<AccountRecord & Answered>;
  /** Reinstate a virtual account. The account takes transfers again. */
  reinstate(accountId: string, options?: CallOptions): Promise<AccountRecord & Answered>;
  /** Close a virtual account. Final. Money that arrives afterwards is returned. */
  close(accountId: string, params?: SandboxAccountsCloseParams, options?: CallOptions): Promise<AccountRecord & Answered>;
}

export interface SandboxCollections {
  /** Credit a held inflow. Credits a held inflow despite its review reason. Only while it is `pending`. */
  credit(reference: string, params?: SandboxCollectionsCreditParams, options?: CallOptions): Promise<CollectionRecord & Answered>;
  /** Return a held inflow. Returns a held inflow to its payer. Only while it is `pending`. */
  sendBack(reference: string, params?: SandboxCollectionsSendBackParams, options?: CallOptions): Promise<CollectionRecord & Answered>;
}

export interface SandboxRates {
  /** Set an exchange rate. The rate for inflows whose account settles in another currency; without a current rate they are held. It applies to this business only; the newest of its own and the operator's rates is used until it expires. */
  set(params: SandboxRatesSetParams, options?: CallOptions): Promise<RateRecord & Answered>;
}
