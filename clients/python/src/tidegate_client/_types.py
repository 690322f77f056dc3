"""Records of the API. Written by `make clients` from the OpenAPI document; not by hand."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from msgspec import field

from tidegate_client._model import EventModel, Model, Page

# A value that is newer than this client is not refused: a program sees one of these, or a new one.
if TYPE_CHECKING:
    AccountStatus = Literal["pending", "approved", "declined", "expired", "closed"]
    AccountType = Literal["individual", "corporate"]
    ActionType = Literal["transfer", "prompt", "dial", "pin", "otp", "address", "redirect", "none"]
    AttemptStatus = Literal["starting", "waiting", "running", "succeeded", "failed", "replaced", "expired"]
    BusinessStatus = Literal["active", "suspended"]
    CollectionStatus = Literal["pending", "successful", "reversed", "failed"]
    Currency = Literal["NGN", "GHS", "KES", "UGX", "ZAR", "ZMW", "TZS", "USD", "EUR"]
    DeliveryStatus = Literal["pending", "delivered", "exhausted", "cancelled"]
    DisabledReason = Literal["merchant", "gone", "failing"]
    DisputeStatus = Literal["open", "won", "lost"]
    DocumentType = Literal["meansOfId", "bankStatement", "utilityBill", "attachment"]
    Ending = Literal["cancelled", "attempts_used_up"]
    EndpointStatus = Literal["enabled", "disabled"]
    FailureReason = Literal[
        "declined",
        "insufficient_funds",
        "not_approved",
        "no_such_wallet",
        "wrong_pin",
        "wrong_otp",
        "wrong_address",
        "expired",
        "not_a_test_card",
        "limit_reached",
        "rail_unavailable",
        "another_under_way",
        "not_started",
        "returned",
    ]
    FeeBearer = Literal["business", "customer"]
    FeeOnRefund = Literal["kept", "returned"]
    FieldRule = Literal["optional", "required"]
    InflowReason = Literal[
        "name_differs",
        "account_suspended",
        "account_expired",
        "account_closed",
        "review_refused",
        "hold_ended",
        "name_is_close",
        "name_missing",
        "amount_is_large",
        "business_suspended",
        "rate_missing",
        "rate_stale",
        "too_small_to_convert",
        "too_large_to_convert",
        "taken_back",
    ]
    JournalKind = Literal[
        "checkout_settled",
        "inflow_credited",
        "inflow_converted",
        "receipt_held",
        "receipt_unclaimed",
        "held_settled",
        "held_converted",
        "held_returning",
        "receipt_returning",
        "return_done",
        "return_offset",
        "refund_started",
        "refund_done",
        "refund_converted",
        "refund_failed",
        "credit_reversed",
        "held_reversed",
        "dispute_held",
        "dispute_released",
        "debt_collected",
        "unclaimed_released",
    ]
    LinkKind = Literal["one_off", "reusable"]
    LinkState = Literal["open", "ended", "expired", "used_up"]
    Mode = Literal["sandbox", "live"]
    NamePolicy = Literal["hold", "strict"]
    NameVerdict = Literal["exact", "close", "different", "missing"]
    PaymentMethod = Literal["bank_transfer", "card", "mobile_money", "payattitude"]
    PaymentStatus = Literal["initiated", "pending", "processing", "success", "failed", "expired"]
    RefundStatus = Literal["processing", "successful", "failed"]
    RequestedMethod = Literal["bank_transfer", "card", "mobile_money", "payAttitude"]
    StatementLineDirection = Literal["in", "out"]
    Variance = Literal["underpayment", "overpayment"]
    VariancePolicy = Literal["accept", "top_up", "return"]
else:
    AccountStatus = AccountType = ActionType = AttemptStatus = BusinessStatus = CollectionStatus = Currency = (
        DeliveryStatus
    ) = DisabledReason = DisputeStatus = DocumentType = Ending = EndpointStatus = FailureReason = FeeBearer = (
        FeeOnRefund
    ) = FieldRule = InflowReason = JournalKind = LinkKind = LinkState = Mode = NamePolicy = NameVerdict = (
        PaymentMethod
    ) = PaymentStatus = RefundStatus = RequestedMethod = StatementLineDirection = Variance = VariancePolicy = str


class AddressFields(TypedDict):
    line: str
    """Street and number."""
    city: str
    """City or town."""
    state: NotRequired[str | None]
    """State, province or region, where the country has them."""
    country: str
    """Country, by name or ISO 3166 code."""
    postal_code: NotRequired[str | None]
    """Postal code, where the country has them."""


class CardFields(TypedDict):
    number: str
    """With or without spaces."""
    expiry_month: int | str
    """From 1 to 12, as a number or as text."""
    expiry_year: int | str
    """Two digits or four, as a number or as text."""
    cvv: str
    """The security code."""
    holder: NotRequired[str | None]
    """The name on the card."""


class CustomerFields(TypedDict):
    name: str
    """The customer's name; shown on the page and the receipt."""
    email: str
    """The customer's e-mail address."""
    phone_number: NotRequired[str | None]
    """With country code, such as +2348012345678."""


class DocumentGiven(TypedDict):
    name: str
    """What the document is, for the operator."""
    url: str
    """An https address that the operator can open."""
    type: NotRequired[DocumentType]
    """The field of the record that shows it."""


class PayeeFields(TypedDict):
    name: str
    """The recipient's name, as the payer typed it."""


class PayerFields(TypedDict):
    name: str
    """As the bank passes it on; may be empty."""
    account_number: NotRequired[str | None]
    """The sender's account number."""
    bank_name: NotRequired[str | None]
    """The sender's bank."""


class AccountEvent(EventModel, kw_only=True):
    event: Literal[
        "virtualaccount.approved", "virtualaccount.declined", "virtualaccount.suspended", "virtualaccount.closed"
    ]
    """Name of the event."""
    data: AccountRecord
    """The virtual account."""


class AccountInformation(Model, kw_only=True):
    account_name: str
    """The recipient's name, exactly as a payer must type it."""
    account_number: str
    """The IBAN where the country has one."""
    bank_name: str
    """The bank that keeps the account."""
    bank_code: str
    """The bank's national code, or its BIC."""
    country_code: str
    """Country of the bank, ISO 3166."""
    reference: str
    """Reference of the account at the bank."""
    other_info: FurtherDetails
    """The same details in the form that each scheme asks for."""


class AccountRecord(Model, kw_only=True):
    id: str = field(name="_id")
    """The account's id."""
    business: Owner
    """Your business."""
    status: AccountStatus
    """Where the account stands."""
    is_active: bool
    """Whether it accepts money now."""
    is_suspended: bool
    """Whether the operator has suspended it; money that arrives is returned."""
    reason: str | None
    """Why it was declined, suspended or closed."""
    currency: Currency
    """Currency that the account receives."""
    settlement_currency: Currency
    """Currency of the wallet that is credited."""
    currency_type: str = field(default="fiat")
    """Always `fiat`."""
    account_type: AccountType
    """Who holds the account."""
    entity_type: str = field(default="main_account")
    """Always `main_account`."""
    virtual_account_type: str
    """`temporary` for one checkout, otherwise `additional`."""
    account_number: str
    """Empty before approval."""
    account_information: AccountInformation
    """All fields are empty strings before approval."""
    merchant_reference: str | None
    """Your own reference, as you gave it."""
    kyc_information: dict[str, Any] = field(name="KYCInformation")
    """The account holder, as you gave it."""
    verified_kyc_data: str | None = field(name="verifiedKYCData", default=None)
    """Always null; kept for clients of the published interface."""
    note: str | None
    """The operator's note for you."""
    account_opening_fee: int = field(default=0)
    """Fee for opening the account; always 0."""
    pending_additional_info_count: int = field(default=0)
    """Open questions of the operator; always 0."""
    is_permanent: bool
    """False for the temporary account of one checkout."""
    expires_at: datetime | None
    """When the account stops taking money; null when it is permanent."""
    is_checkout_va: bool
    """Whether it belongs to a checkout payment."""
    is_bank_transfer_va: bool
    """Whether it was given to a payer for a bank transfer."""
    monthly_volume: str | None
    """As you gave it in the request."""
    entity_name: str | None
    """As you gave it in the request."""
    payment_flow_description: str | None
    """As you gave it in the request."""
    attachments: list[DocumentRecord]
    """Documents of type `attachment`."""
    means_of_id: list[DocumentRecord]
    """Documents of type `meansOfId`."""
    bank_statement: list[DocumentRecord]
    """Documents of type `bankStatement`."""
    utility_bill: list[DocumentRecord]
    """Documents of type `utilityBill`."""
    risk_rating: str = field(default="unrated")
    """Always `unrated`; ratings are not kept here."""
    checklist: dict[str, bool]
    """Which of the usual documents were given, by type."""
    risk_screening: str = field(default="not_screened")
    """Always `not_screened`; screening is not recorded here."""
    channel_kyc_update_status: str | None = field(default=None)
    """Always null; kept for clients of the published interface."""
    channel_kyc_update_response: str | None = field(default=None)
    """Always null; kept for clients of the published interface."""
    metadata: dict[str, Any] | None
    """Your JSON, as sent; null without."""
    created_at: datetime
    """Time of creation."""
    updated_at: datetime
    """Time of the last change."""


class Acted(Model, kw_only=True):
    attempt_id: str
    """The newest attempt of the payment. Its outcome is notified a moment later."""


class ActionView(Model, kw_only=True):
    type: ActionType
    """The payer's next step."""
    amount_expected: Decimal | None = field(default=None)
    """With `transfer`: the amount to send."""
    virtual_account: VirtualAccountView | None = field(default=None)
    """With `transfer`: the account to send it to."""
    reference: str | None = field(default=None)
    """With `transfer`, where payments share the account: the narration to type."""
    code: str | None = field(default=None)
    """With `dial`: the code to dial. With `prompt`: what to dial if no prompt appears."""
    text: str | None = field(default=None)
    """With `prompt` and `otp`: what the bank or operator says."""
    url: str | None = field(default=None)
    """With `redirect`: the page to open, the bank's or that of a hosted method."""


class AttemptRecord(Model, kw_only=True):
    number: int
    """1 for the first attempt."""
    url: str
    """Where it was sent to."""
    attempted_at: datetime
    """When it was sent."""
    duration_ms: int | None
    """How long the answer took, in milliseconds; null without an answer."""
    status_code: int | None
    """Your server's status; null without an answer."""
    error: str | None
    """Why there was no complete answer, such as `timeout`."""
    response_body: str | None
    """The first 16 kB of the answer, as text."""


class AttemptView(Model, kw_only=True):
    attempt_id: str
    """Id of this attempt."""
    type: PaymentMethod
    """The payment method."""
    status: AttemptStatus
    """The attempt's own status."""
    failure: FailureReason | None
    """Why it failed; while waiting for the payer, what was wrong with the last answer."""
    details: dict[str, Any]
    """Masked payment details, such as the last digits of a card."""
    answers_left: int | None
    """For `pin`, `otp`, `address` and `redirect`: the last wrong answer fails the attempt."""
    resends_left: int | None
    """How often the prompt or code can be sent again; null where it cannot be."""
    resend_from: datetime | None
    """The earliest time of the next resend."""
    action: ActionView
    """What the payer does next."""


class BankView(Model, kw_only=True):
    code: str
    """The value for `bank` in a charge."""
    name: str
    """Name of the bank, to show."""
    dial_prefix: str
    """The prefix of the code to dial."""


class BusinessName(Model, kw_only=True):
    id: str
    """Id of the business."""
    name: str
    """The name that payers see."""


class BusinessRecord(Model, kw_only=True):
    id: str
    """The value of `x-business-id` and `business`."""
    business: BusinessName
    """Id and name once more, where code for other providers of this interface reads them."""
    name: str
    """The name that payers see."""
    email: str
    """The business's e-mail address."""
    status: BusinessStatus
    """Whether its keys work."""
    mode: Mode
    """`live` moves real money, `sandbox` does not."""
    rate_per_second: int
    """Requests a second; more are refused with 429."""
    rate_burst: int
    """Requests that may arrive at once."""
    session_minutes: int
    """Minutes that a checkout stays open."""
    variance_policy: str
    """Treatment of an amount other than expected: `accept`, `top_up` or `return`."""
    variance_tolerance_minor: int
    """A difference up to this amount, in minor units, counts as exact."""
    inflow_name_policy: NamePolicy
    """Treatment of an inflow whose typed name is only close to the account holder's."""
    redirect_hosts: list[str]
    """Hosts that `redirectUrl` may have; any host when empty."""
    checkout_origins: list[str]
    """Origins whose pages may open the checkout in a dialog, such as `https://shop.example.com`."""
    receipts_by_mail: bool
    """Whether customers are sent the receipt of a successful payment, and of a refund, by e-mail."""
    fee_bearer: FeeBearer
    """Who pays the fee of a payment or a payment link that does not say it."""
    accent_colour: str | None
    """Accent colour of the payer's pages, such as `#0f7b6c`."""
    logo_url: str | None
    """The logo on the payer's pages."""
    support: SupportView
    """Contacts for payers."""
    created_at: datetime
    """Time of creation."""


class BusinessView(Model, kw_only=True):
    name: str
    """The name of the business."""
    logo_url: str | None
    """A PNG, JPEG or WebP picture of 32 to 1024 pixels a side."""
    accent_colour: str | None
    """The business's colour, such as `#0f7b6c`, unadjusted: check the contrast of text."""
    support: SupportView
    """Contacts for the payer; at least one is set."""


class ChargeAuthorization(Model, kw_only=True):
    mode: str | None = field(default=None)
    """Always null: the charge is complete."""
    redirect: str | None = field(default=None)
    """Always null: the charge is complete."""
    metadata: dict[str, Any] | None = field(default=None)
    """Always null: the charge is complete."""


class ChargeDisputed(EventModel, kw_only=True):
    event: Literal["charge.disputed"] = field(default="charge.disputed")
    """Name of the event."""
    type: Literal["charge"] = field(default="charge")
    """Kind of event."""
    data: DisputedChargeData
    """The payment."""


class ChargeIsDisputed(Model, kw_only=True):
    dispute_id: str
    """Id of the dispute, as in `charge.disputed`."""


class ChargeReversed(EventModel, kw_only=True):
    event: Literal["charge.reversed"] = field(default="charge.reversed")
    """Name of the event."""
    type: Literal["charge"] = field(default="charge")
    """Kind of event."""
    data: ReversedChargeData
    """The payment."""


class ChargeSuccessful(EventModel, kw_only=True):
    event: Literal["charge.successful"] = field(default="charge.successful")
    """Name of the event."""
    type: Literal["charge"] = field(default="charge")
    """Kind of event."""
    data: PaidChargeData
    """The payment."""


class Charged(Model, kw_only=True):
    attempt_id: str
    """Id of this attempt."""
    type: PaymentMethod
    """The payment method."""
    status: PaymentStatus
    """The payment's status."""
    attempt_status: AttemptStatus
    """The attempt's own status."""
    failure: FailureReason | None
    """Why it failed; while waiting for the payer, what was wrong with the last answer."""
    answers_left: int | None
    """For `pin`, `otp`, `address` and `redirect`: the last wrong answer fails the attempt."""
    resends_left: int | None
    """How often the prompt or code can be sent again; null where it cannot be."""
    resend_from: datetime | None
    """The earliest time of the next resend."""
    attempts_left: int
    """New attempts left by this method; other methods have their own."""
    open_payment_methods: list[PaymentMethod]
    """Offered methods that can be tried; empty at the end."""
    action: ActionView
    """What the payer does next."""


class CheckoutView(Model, kw_only=True):
    pay_code: str
    """The payment's pay code."""
    reference: str
    """The merchant's reference."""
    business: BusinessView
    """Who is paid."""
    customer_name: str
    """The customer's name, as the merchant gave it."""
    amount: Decimal
    """The merchant's amount, in major units, as all amounts here."""
    amount_expected: Decimal
    """What the payer pays: including the fee, when the customer bears it."""
    amount_received: Decimal
    """Received so far; 0 before anything arrived."""
    amount_remaining: Decimal
    """Still to be paid; 0 once paid, also when less was accepted."""
    amount_returned: Decimal
    """Returned to the payer, or being returned."""
    amount_reversed: Decimal
    """Reversed by the payer's bank, out of `amountReceived`."""
    currency: Currency
    """ISO 4217 code of the currency."""
    status: PaymentStatus
    """The payment's status."""
    ending: Ending | None
    """Why it failed finally; null otherwise."""
    variance_type: Variance | None
    """Set when another amount than expected was accepted; otherwise null."""
    variance_policy: VariancePolicy
    """What happens to an amount other than expected."""
    payment_methods: list[PaymentMethod]
    """In the order of the page."""
    default_payment_method: PaymentMethod
    """What the page opens with."""
    banks: list[BankView]
    """Banks for USSD; empty where USSD is not offered."""
    operators: list[OperatorView]
    """Operators of mobile money; empty where it is not offered."""
    success_message: str | None
    """To be shown after a success, as plain text."""
    attempts_left: int
    """By the method tried last, or else the default one. At 0 the other methods may be open: see
    `attemptsLeftByMethod`."""
    attempts_left_by_method: dict[str, int]
    """New attempts left by each offered method; each has 5. A bank transfer stays open at 0."""
    open_payment_methods: list[PaymentMethod]
    """Offered methods that can be tried; empty at the end."""
    hosted_payment_methods: list[PaymentMethod]
    """Of these, those paid on another page: a charge only redirects there."""
    is_disabled: bool
    """The merchant has disabled the link: no new attempts."""
    version: int
    """Increases with every change; a page with a lower one is out of date."""
    expires_at: datetime
    """When the checkout expires."""
    paid_at: datetime | None
    """When it was paid; null before."""
    attempt: AttemptView | None
    """The newest attempt."""


class ClockView(Model, kw_only=True):
    now: datetime
    """The time of the sandbox."""
    ahead_seconds: int
    """Offset from real time."""


class CollectionRecord(Model, kw_only=True):
    id: int
    """Number of the inflow; unique."""
    reference: str
    """Our reference of the inflow; use it to get or refund it."""
    status: CollectionStatus
    """Where the inflow stands."""
    reason: str | None
    """Why it is held or was returned."""
    held_until: datetime | None
    """While it is held: when it is returned unless the operator has decided."""
    payment_method: str = field(default="virtual_account")
    """Always `virtual_account`."""
    payment_scheme: str
    """How the money came, such as `sepa` or `ach`."""
    source_currency: Currency
    """Currency that arrived."""
    source_amount: Decimal
    """The amount that arrived."""
    destination_currency: Currency
    """Currency of the wallet."""
    destination_amount: Decimal | None
    """The same amount in the wallet's currency."""
    amount_received: Decimal | None
    """The amount credited to the wallet, after fee and VAT."""
    fee: Decimal
    """Our fee without VAT, in the wallet's currency; 0 until credited."""
    vat: Decimal
    """VAT on the fee."""
    exchange: Exchange | None
    """The conversion; null when the currencies are the same."""
    payee_name: str
    """The recipient as the payer typed it; otherwise the account holder."""
    customer_name: str
    """The sender's name; empty when the bank gives none."""
    sender_address: str
    """The sender's account number; empty when the bank gives none."""
    sender_bank: str
    """The sender's bank; empty when the bank gives none."""
    description: str
    """The payer's remittance text, or a default."""
    merchant_reference: str | None
    """Your reference of the virtual account; null without one."""
    virtual_account_id: str
    """The `_id` of the virtual account that received it."""
    name_check: NameCheckRecord
    """How the typed name was compared with the account holder's."""
    refund_info: Returned | None
    """The return or the refunds; null while there is none."""
    amount_owed: Decimal
    """Reversed by the bank and not covered by your wallet; debited from later credits."""
    is_reversed: int
    """1 once it is returned or reversed, otherwise 0."""
    value_date: datetime
    """From when on the bank counts the money: its value date."""
    value_date_flag: str | None
    """`future` or `old` when the bank's value date is unusual."""
    bank_reference: str
    """The bank's own reference of the transfer."""
    legacy_business_id: str | None = field(default=None)
    """Always null; kept for clients of the published interface."""
    metadata: dict[str, Any] | None = field(default=None)
    """Always null; kept for clients of the published interface."""
    initiated_at: datetime
    """Value date of the bank, as `valueDate`."""
    created_at: datetime
    """When the rail reported it to us."""
    updated_at: datetime
    """Time of the last change."""


class CollectionReturned(EventModel, kw_only=True):
    event: Literal["collection.returned"] = field(default="collection.returned")
    """Name of the event."""
    data: ReturnedInflowData
    """The inflow."""


class CollectionSuccessful(EventModel, kw_only=True):
    event: Literal["collection.successful"] = field(default="collection.successful")
    """Name of the event."""
    data: CreditedInflowData
    """The inflow."""


class Created(Model, kw_only=True):
    link: str
    """Address of the hosted checkout page. Send the customer there."""
    pay_code: str
    """Our name of the payment."""
    reference: str
    """Your reference; the pay code when you gave none."""


class CreditedInflowData(Model, kw_only=True):
    business: str
    """Your business's id."""
    virtual_account: str
    """The `_id` of the virtual account."""
    sender_address: str
    """The sender's account number; empty when not given."""
    sender_bank: str
    """The sender's bank; empty when not given."""
    source_currency: Currency
    """Currency that arrived."""
    destination_currency: Currency
    """Currency of the wallet."""
    source_amount: Decimal
    """The amount that arrived, in major units."""
    description: str
    """The payer's remittance text, or a default."""
    customer_name: str
    """The sender's name; empty when not given."""
    status: CollectionStatus
    """Where the inflow stands."""
    initiated_at: datetime
    """From when on the bank counts the money: its value date."""
    created_at: datetime
    """When the rail reported it to us."""
    updated_at: datetime
    """Time of the last change."""
    reference: str
    """Our reference of the inflow."""
    merchant_reference: str | None
    """Your reference of the virtual account; null without one."""
    payment_scheme: str
    """How the money came, such as `sepa` or `ach`."""
    destination_amount: Decimal
    """The same amount in the wallet's currency, before fees."""
    amount_received: Decimal
    """What your wallet was credited, after fee and VAT."""
    fee: Decimal
    """Our fee, without VAT."""
    vat: Decimal
    """VAT on the fee."""
    exchange_rate: Decimal | None
    """One unit of the source currency in the wallet's; null when not converted."""
    settlement_destination: str = field(default="wallet")
    """Always `wallet`."""


class CustomerRecord(Model, kw_only=True):
    name: str
    """The customer's name."""
    email: str
    """The customer's e-mail address."""
    phone_number: str
    """Empty when none was given."""


class DeliveryRecord(Model, kw_only=True):
    id: str
    """Id of the delivery."""
    event_id: str
    """The `webhook-id` header; drop duplicates by it."""
    event: str
    """Name of the event."""
    reference: str | None
    """Your reference of the payment or other subject; null for a test."""
    endpoint_id: str
    """Id of the endpoint."""
    url: str
    """Where it is sent to."""
    status: DeliveryStatus
    """Where the delivery stands."""
    attempts_made: int
    """How many attempts were made."""
    attempts: list[AttemptRecord]
    """The last ten attempts."""
    next_attempt_at: datetime | None
    """When it is tried next; null when nothing is planned."""
    payload: dict[str, Any]
    """The body, the same in every attempt."""
    is_erased: bool
    """Whether the payload was erased at the payer's request; it cannot be resent."""
    created_at: datetime
    """When the event happened."""
    delivered_at: datetime | None
    """When your server accepted it; null before."""


class DisputeData(Model, kw_only=True):
    id: str
    """The rail's number of the dispute."""
    status: DisputeStatus
    """Where the dispute stands."""
    session_id: str
    """The rail's reference of the payment that is disputed."""
    amount: Decimal
    """What is disputed of the payment."""
    reason: str
    """In the rail's words."""
    due_at: datetime | None
    """Until when the operator takes evidence; null when the rail gives none."""


class DisputedChargeData(Model, kw_only=True):
    id: int
    """Number of the payment; unique, below 2^53."""
    authorization: ChargeAuthorization
    """Kept for clients of the published interface."""
    auth_model: str | None = field(name="auth_model")
    """How the charge was authorized, where the rail tells it; otherwise null."""
    amount: Decimal
    """What the customer paid, in major units."""
    amount_received: Decimal
    """The same as `amount`."""
    amount_expected: Decimal
    """What the customer was asked to pay."""
    amount_to_settle: Decimal
    """What your wallet was credited, after fee and VAT."""
    currency: Currency
    """ISO 4217 code of the currency."""
    fee: Decimal
    """Our fee, without VAT."""
    vat: Decimal
    """VAT on the fee."""
    fee_bearer: FeeBearer
    """Who paid our fee."""
    message: str
    """`Payment successful`, `INCORRECT_AMOUNT` with a variance, or `PAYMENT_REVERSED`."""
    variance_type: Variance | None
    """Set when another amount than expected arrived; otherwise null."""
    status: PaymentStatus
    """Status of the payment; `success`."""
    reference: str
    """The pay code, our name of the payment."""
    transaction_reference: str
    """The same as `reference`."""
    merchant_reference: str
    """Your reference of the payment."""
    payment_reference: str
    """The same as `merchantReference`."""
    charge_reference: str
    """Id of the attempt that was paid."""
    description: str
    """The payment in words."""
    type: PaymentMethod
    """The payment method."""
    method: PaymentMethod
    """The same as `type`."""
    customer: CustomerRecord
    """The customer, as you gave it."""
    metadata: dict[str, Any]
    """Your JSON, as sent; `{}` without."""
    settlement_destination: str = field(default="wallet")
    """Always `wallet`."""
    created_at: datetime
    """When the payment was created."""
    updated_at: datetime
    """When the event happened."""
    dispute: DisputeData
    """What the payer's bank disputes, and until when it can be answered."""


class DocumentRecord(Model, kw_only=True):
    name: str
    """What the document is."""
    url: str
    """Address of the document, as you gave it."""


class Emptied(Model, kw_only=True):
    business: str
    """The business's id."""


class EndpointDeleted(Model, kw_only=True):
    id: str
    """Id of the deleted endpoint."""


class EndpointRecord(Model, kw_only=True):
    id: str
    """Id of the endpoint."""
    url: str
    """Where events are sent to."""
    events: list[str]
    """Events that it receives."""
    description: str | None
    """Your own text; null without."""
    status: EndpointStatus
    """Whether it receives events."""
    disabled_reason: DisabledReason | None
    """Why it is disabled; null while it is enabled."""
    rate_per_second: int
    """The most requests a second that it is sent."""
    created_at: datetime
    """Time of creation."""
    updated_at: datetime
    """Time of the last change."""


class EndpointWithSecret(Model, kw_only=True):
    id: str
    """Id of the endpoint."""
    url: str
    """Where events are sent to."""
    events: list[str]
    """Events that it receives."""
    description: str | None
    """Your own text; null without."""
    status: EndpointStatus
    """Whether it receives events."""
    disabled_reason: DisabledReason | None
    """Why it is disabled; null while it is enabled."""
    rate_per_second: int
    """The most requests a second that it is sent."""
    created_at: datetime
    """Time of creation."""
    updated_at: datetime
    """Time of the last change."""
    secret: str | None = field(default=None)
    """Shown only once: absent from the answer to a repeated `Idempotency-Key`."""


class Exchange(Model, kw_only=True):
    rate: Decimal
    """One unit of `sourceCurrency` in `destinationCurrency`."""
    source: str
    """Where the rate comes from."""
    quoted_at: datetime
    """When the rate was quoted."""
    spread: Decimal
    """Kept of the conversion, in the wallet's currency."""


class FeesQuoted(Model, kw_only=True):
    currency: Currency
    """ISO 4217 code of the currency."""
    type: PaymentMethod
    """The payment method."""
    amount: Decimal
    """The amount asked about, in major units."""
    fee: Decimal
    """Our fee, without VAT."""
    vat: Decimal
    """VAT on the fee."""
    total: Decimal
    """Fee and VAT together."""
    amount_expected_from_customer: Decimal
    """What the customer pays when the customer bears the fee."""
    amount_to_settle_when_business_bears: Decimal
    """What you receive when you bear the fee."""
    fee_rule: str
    """Id of the rule that gave this price."""
    fee_on_refund: FeeOnRefund
    """Whether a refund returns your share of the fee."""


class FurtherDetails(Model, kw_only=True):
    iban: str
    """Empty where the country has no IBAN."""
    account_number: str
    """Number of the account within its bank."""
    check_number: str
    """The check digits of the IBAN, or the routing number."""
    sort_code: str
    """Bank code or routing number."""
    bank_swift_code: str
    """BIC of the bank."""


class LinkRecord(Model, kw_only=True):
    id: str
    """Of the payment link; `paymentLinkId` of its payments."""
    business_id: str
    """Your business's id."""
    name: str
    """What is paid for."""
    kind: LinkKind
    """How often it is paid."""
    state: LinkState
    """Whether it takes payments."""
    link: str
    """Address of its page. Share it."""
    qr_svg: str
    """Address of the link as a QR code, as SVG."""
    qr_png: str
    """The same as PNG."""
    poster: str
    """Address of a poster to print, as PDF: your name and logo, the amount, the QR code."""
    currency: Currency
    """ISO 4217 code of the currency."""
    amount: Decimal | None
    """The fixed amount; null where the customer chooses it."""
    amount_min: Decimal | None
    """The least to choose; null for a fixed amount."""
    amount_max: Decimal | None
    """The most to choose; null for a fixed amount."""
    fee_bearer: FeeBearer
    """Who pays our fee."""
    payment_methods: list[PaymentMethod] | None
    """Methods offered; null for all of the currency."""
    ask_phone_number: FieldRule | None
    """Whether the page asks for a phone number; null where it does not."""
    ask_note: FieldRule | None
    """Whether the page asks for a note; null where it does not."""
    note_label: str | None
    """What the page calls the note; null for `Note`."""
    success_message: str | None
    """Your text shown after a success; null without."""
    redirect_url: str | None
    """Where the customer returns to; null without."""
    payments_max: int | None
    """How often it may be paid; null without limit."""
    times_opened: int
    """How often browsers opened its page, about a second behind. A page that is opened again is counted again; a
    prefetch or a `HEAD` is not."""
    payments_made: int
    """Payments begun by it; no more than 10,000 are counted."""
    payments_paid: int
    """Payments that succeeded; no more than 10,000 are counted."""
    amount_received: Decimal | None
    """Received by those payments; null when there are more than are counted."""
    ends_at: datetime | None
    """When it ends by itself; null without an end."""
    ended_at: datetime | None
    """When you ended it; null otherwise."""
    created_at: datetime
    """Time of creation."""


class NameCheckRecord(Model, kw_only=True):
    verdict: NameVerdict
    """Result of the comparison."""
    reason: str
    """The result in words."""
    typed: str | None
    """The name that the payer typed for the recipient; null when the bank passed on none."""
    compared: str
    """`payee`, the name typed for the recipient; or `none`."""
    holder: str
    """The account holder's name that it was compared with."""
    steps: list[str]
    """How the names were compared, step by step."""


class OperatorView(Model, kw_only=True):
    id: str
    """The value for `operator` in a charge."""
    name: str
    """Name of the operator, to show."""


class Owner(Model, kw_only=True):
    name: str
    """Name of your business."""
    email: str
    """E-mail address of your business."""


class PaidAccount(Model, kw_only=True):
    id: str | None
    """Id of the temporary account."""
    bank_name: str
    """Bank of the temporary account."""
    bank_code: str
    """Code of that bank."""
    account_name: str
    """Name on the temporary account."""
    account_number: str | None
    """Number of the temporary account."""
    session_id: str
    """The bank's reference of the transfer."""
    channel_name: str
    """The rail that the money came by."""
    payer_account_number: str
    """The payer's account number; empty when not given."""
    payer_account_name: str
    """The payer's name; empty when not given."""
    payer_bank_name: str
    """The payer's bank; empty when not given."""
    payer_bank_code: str | None
    """Code of the payer's bank; null when not given."""
    expires_at: str
    """When the account closes; empty when it does not."""
    business: str
    """Your business's id."""


class PaidChargeData(Model, kw_only=True):
    id: int
    """Number of the payment; unique, below 2^53."""
    authorization: ChargeAuthorization
    """Kept for clients of the published interface."""
    auth_model: str | None = field(name="auth_model")
    """How the charge was authorized, where the rail tells it; otherwise null."""
    amount: Decimal
    """What the customer paid, in major units."""
    amount_received: Decimal
    """The same as `amount`."""
    amount_expected: Decimal
    """What the customer was asked to pay."""
    amount_to_settle: Decimal
    """What your wallet was credited, after fee and VAT."""
    currency: Currency
    """ISO 4217 code of the currency."""
    fee: Decimal
    """Our fee, without VAT."""
    vat: Decimal
    """VAT on the fee."""
    fee_bearer: FeeBearer
    """Who paid our fee."""
    message: str
    """`Payment successful`, `INCORRECT_AMOUNT` with a variance, or `PAYMENT_REVERSED`."""
    variance_type: Variance | None
    """Set when another amount than expected arrived; otherwise null."""
    status: PaymentStatus
    """Status of the payment; `success`."""
    reference: str
    """The pay code, our name of the payment."""
    transaction_reference: str
    """The same as `reference`."""
    merchant_reference: str
    """Your reference of the payment."""
    payment_reference: str
    """The same as `merchantReference`."""
    charge_reference: str
    """Id of the attempt that was paid."""
    description: str
    """The payment in words."""
    type: PaymentMethod
    """The payment method."""
    method: PaymentMethod
    """The same as `type`."""
    customer: CustomerRecord
    """The customer, as you gave it."""
    metadata: dict[str, Any]
    """Your JSON, as sent; `{}` without."""
    settlement_destination: str = field(default="wallet")
    """Always `wallet`."""
    created_at: datetime
    """When the payment was created."""
    updated_at: datetime
    """When the event happened."""
    virtual_account: PaidAccount | None = field(default=None)
    """The account and the payer; only with a bank transfer."""


class PaymentRecord(Model, kw_only=True):
    id: int
    """Unique, below 2^53, not in order of creation."""
    business_id: str
    """Your business's id."""
    payment_link_id: str | None
    """The payment link that it was made by; null for a payment that you created."""
    amount: Decimal
    """What you asked for, in major units, as all amounts here."""
    currency: Currency
    """ISO 4217 code of the currency."""
    converted_amount: Decimal
    """The same as `amount`; checkout payments are not converted."""
    amount_received: Decimal
    """Received so far; 0 before anything arrived."""
    converted_currency: Currency
    """The same as `currency`."""
    payment_methods: list[PaymentMethod]
    """Methods offered to the customer, in the order of the page."""
    default_payment_method: PaymentMethod
    """The method that the page opens with."""
    redirect_url: str | None
    """Where the customer returns to; null when you gave none."""
    custom_url: str | None
    """Always null; kept for clients of the published interface."""
    success_message: str | None
    """Your text shown after a success; null when you gave none."""
    settlement_destination: str
    """Always `wallet`."""
    settlement_time: str
    """Always `instant`: credited with the success."""
    fee_bearer: FeeBearer
    """Who pays our fee."""
    reference: str
    """The pay code, our name of the payment."""
    merchant_reference: str
    """Your reference; the pay code when you gave none."""
    is_disabled: bool
    """Whether you disabled the link: no new attempts."""
    metadata: dict[str, Any] | None
    """Your JSON, as sent; null without."""
    status: PaymentStatus
    """Where the payment stands. Deliver on `success`; check `varianceType`."""
    variance_type: Variance | None
    """Set when another amount than expected was accepted; otherwise null."""
    created_at: datetime
    """Time of creation."""
    updated_at: datetime
    """Time of the last change."""
    customer: CustomerRecord
    """The customer, as you gave it."""
    amount_expected: Decimal
    """What the customer was asked to pay: `amount`, plus the fee when the customer bears it."""
    amount_refunded: Decimal
    """Refunded by you, in progress or paid out."""
    is_reversed: bool
    """Whether the customer's bank reversed the money or part of it."""
    amount_reversed: Decimal
    """Reversed by the bank, out of `amountReceived`."""
    dispute_status: DisputeStatus | None
    """Set when the customer disputes the payment with the bank; otherwise null."""
    message: str | None
    """`INCORRECT_AMOUNT` or `PAYMENT_REVERSED` when you have to act; otherwise null."""
    action_required: str | None
    """What to do about `message`, in words; null when there is nothing to do."""


class RateRecord(Model, kw_only=True):
    base: Currency
    """Currency of the inflow."""
    quote: Currency
    """Currency of the wallet."""
    rate: Decimal
    """One `base` in `quote`."""
    spread_percent: Decimal
    """Kept of each conversion, in percent."""
    source: str
    """Where the rate comes from."""
    quoted_at: datetime
    """Time of the quote."""
    usable_until: datetime
    """After this time the rate is stale, and inflows are held."""


class RefundEvent(EventModel, kw_only=True):
    event: Literal["refund.successful", "refund.failed"]
    """Name of the event."""
    data: RefundRecord
    """The refund."""


class RefundRecord(Model, kw_only=True):
    reference: str
    """Our reference of the refund."""
    collection_reference: str
    """The pay code, or the reference of the collection."""
    collection_merchant_reference: str | None
    """Your reference of what is refunded; null without one."""
    currency: Currency
    """Currency of the refund."""
    amount_refunded: Decimal
    """In progress or paid out; 0 when it failed."""
    amount_requested: Decimal
    """What you asked to refund."""
    fee_returned: Decimal
    """The part of our fee that is returned; 0 where the fee is kept."""
    vat_returned: Decimal
    """The part of the VAT that is returned with the fee."""
    collection_amount_expected: Decimal
    """What the payer was asked for."""
    collection_amount_received: Decimal
    """What the payer sent."""
    collection_amount_settled: Decimal
    """What your wallet was credited."""
    collection_variance_type: str | None
    """Whether the payer sent less or more than asked; null when exact."""
    refund_status: RefundStatus
    """Where the refund stands."""
    failure_reason: str | None
    """Why it failed; null otherwise."""
    reason: str | None
    """Your reason, shown to the payer."""
    note: str | None
    """Your note, not shown to the payer."""
    initiated_at: datetime
    """When the refund was started."""
    completed_at: datetime | None
    """When it ended; null while it is processing."""


class ReplayAnswer(Model, kw_only=True):
    count: int
    """The number of deliveries."""
    sent: bool
    """Whether they were queued."""
    erased: int
    """Left out, since their payloads were erased at the payer's request; not in `count`."""


class RequestRecord(Model, kw_only=True):
    request_id: str
    """As in the `x-request-id` header of the answer."""
    created_at: datetime
    """When it was answered, in real time."""
    method: str
    """HTTP method."""
    path: str
    """Path of the address, without its query."""
    operation: str
    """Name of the operation in the reference."""
    status: int
    """HTTP status of the answer."""
    duration_ms: int
    """Time to the answer, in milliseconds."""
    key_id: int
    """Number of the key that was used."""
    address: str
    """Address that the request came from."""
    error_type: str | None
    """`errorType` of the answer; null for a success."""
    message: str | None
    """`message` of the answer; null for a success."""
    body: str | None
    """Of a request that failed: its body with texts and long numbers masked; otherwise null."""


class Returned(Model, kw_only=True):
    amount_refunded: Decimal
    """What was returned or refunded, in the currency that arrived."""
    reason: str
    """Why, in words."""
    reason_code: str
    """Why, as a fixed code such as `name_differs`; `refunded` when you refunded it."""
    status: str
    """`asked`, then `confirmed` by the bank; `refunded` when you refunded it."""
    return_reference: str | None
    """The bank's reference of the return; null for a refund."""
    asked_at: datetime | None
    """When the bank was asked to return it."""
    confirmed_at: datetime | None
    """When the bank confirmed the return."""


class ReturnedInflowData(Model, kw_only=True):
    business: str
    """Your business's id."""
    virtual_account: str
    """The `_id` of the virtual account."""
    sender_address: str
    """The sender's account number; empty when not given."""
    sender_bank: str
    """The sender's bank; empty when not given."""
    source_currency: Currency
    """Currency that arrived."""
    destination_currency: Currency
    """Currency of the wallet."""
    source_amount: Decimal
    """The amount that arrived, in major units."""
    description: str
    """The payer's remittance text, or a default."""
    customer_name: str
    """The sender's name; empty when not given."""
    status: CollectionStatus
    """Where the inflow stands."""
    initiated_at: datetime
    """From when on the bank counts the money: its value date."""
    created_at: datetime
    """When the rail reported it to us."""
    updated_at: datetime
    """Time of the last change."""
    reference: str
    """Our reference of the inflow."""
    merchant_reference: str | None
    """Your reference of the virtual account; null without one."""
    payment_scheme: str
    """How the money came, such as `sepa` or `ach`."""
    reason: str
    """Why it went back, in words."""
    reason_code: InflowReason
    """Why it went back."""
    return_reference: str | None
    """The bank's reference of the return; null when the bank took it back."""
    returned_at: datetime
    """When the return was confirmed."""


class Reversal(Model, kw_only=True):
    session_id: str
    """The bank's reference of the transfer."""
    amount: Decimal
    """What the bank took back of this transfer."""
    reason: str
    """The bank's reason."""
    created_at: datetime
    """When the rail reported it to us."""


class ReversedChargeData(Model, kw_only=True):
    id: int
    """Number of the payment; unique, below 2^53."""
    authorization: ChargeAuthorization
    """Kept for clients of the published interface."""
    auth_model: str | None = field(name="auth_model")
    """How the charge was authorized, where the rail tells it; otherwise null."""
    amount: Decimal
    """What the customer paid, in major units."""
    amount_received: Decimal
    """The same as `amount`."""
    amount_expected: Decimal
    """What the customer was asked to pay."""
    amount_to_settle: Decimal
    """What your wallet was credited, after fee and VAT."""
    currency: Currency
    """ISO 4217 code of the currency."""
    fee: Decimal
    """Our fee, without VAT."""
    vat: Decimal
    """VAT on the fee."""
    fee_bearer: FeeBearer
    """Who paid our fee."""
    message: str
    """`Payment successful`, `INCORRECT_AMOUNT` with a variance, or `PAYMENT_REVERSED`."""
    variance_type: Variance | None
    """Set when another amount than expected arrived; otherwise null."""
    status: PaymentStatus
    """Status of the payment; `success`."""
    reference: str
    """The pay code, our name of the payment."""
    transaction_reference: str
    """The same as `reference`."""
    merchant_reference: str
    """Your reference of the payment."""
    payment_reference: str
    """The same as `merchantReference`."""
    charge_reference: str
    """Id of the attempt that was paid."""
    description: str
    """The payment in words."""
    type: PaymentMethod
    """The payment method."""
    method: PaymentMethod
    """The same as `type`."""
    customer: CustomerRecord
    """The customer, as you gave it."""
    metadata: dict[str, Any]
    """Your JSON, as sent; `{}` without."""
    settlement_destination: str = field(default="wallet")
    """Always `wallet`."""
    created_at: datetime
    """When the payment was created."""
    updated_at: datetime
    """When the event happened."""
    is_reversed: bool = field(default=True)
    """Always true."""
    amount_reversed: Decimal
    """What was taken back of the payment in all."""
    reversal: Reversal
    """What was taken back this time."""


class SessionEnded(Model, kw_only=True):
    pay_code: str
    """The payment's pay code."""
    ended_at: datetime
    """The status becomes `expired` a moment later, unless an outcome is still unknown."""


class StatementLine(Model, kw_only=True):
    id: int
    """Unique, below 2^53, not in order of creation."""
    at: datetime
    """Time of booking; `dateFrom`, `dateTo` and `order` refer to it."""
    happened_at: datetime
    """When the money moved, by the bank's value date where there is one."""
    kind: JournalKind
    """What kind of movement it is."""
    description: str
    """The movement in words."""
    reference: str | None
    """Your reference of a payment, or the `reference` of the collection or refund."""
    direction: StatementLineDirection
    """Which way the money moved."""
    amount: Decimal
    """After our fee; negative when debited."""
    fee: Decimal
    """Not part of `amount`; negative when returned."""
    vat: Decimal
    """The tax on the fee."""
    currency: Currency
    """Currency of the wallet."""
    balance: Decimal
    """The wallet's balance after this line."""


class SupportView(Model, kw_only=True):
    email: str | None
    """E-mail address for payers; null without one."""
    phone: str | None
    """In international form, such as +2348012345678."""
    url: str | None
    """Help page for payers; null without one."""


class TestData(Model, kw_only=True):
    endpoint_id: str
    """Id of the endpoint."""
    message: str = field(default="A test of this endpoint. No money moved.")
    """What this is, in words."""
    created_at: datetime
    """When you asked for it."""


class TestEvent(EventModel, kw_only=True):
    event: Literal["webhook.test"] = field(default="webhook.test")
    """Name of the event."""
    type: Literal["test"] = field(default="test")
    """Kind of event."""
    data: TestData
    """The test."""


class TransferReversed(Model, kw_only=True):
    transaction_id: str
    """The transfer's identifier."""
    reversal_id: str
    """The bank's identifier of the reversal; the same for every repeat."""


class TransferSent(Model, kw_only=True):
    transaction_id: str
    """The bank's identifier: your `reference` if you gave one."""


class VirtualAccountView(Model, kw_only=True):
    account_number: str
    """The number to send to."""
    bank_name: str
    """The bank to choose."""
    account_name: str
    """The recipient's name that the payer's bank shows."""
    expires_at: datetime | None
    """Money that arrives later is returned."""


class WalletRecord(Model, kw_only=True):
    id: str
    """Id of the wallet."""
    business: str
    """Your business's id."""
    currency: Currency
    """Currency of the wallet; you have one wallet for each."""
    wallet_number: str
    """Number of the wallet, shown on statements."""
    available_balance: Decimal
    """What can be refunded now."""
    ledger_balance: Decimal
    """Available and locked together."""
    locked_balance: Decimal
    """Reserved for refunds in progress and for open disputes."""
    pending_balance: Decimal
    """Inflows that are held for review, before the fee; not part of the other balances."""
    owed_balance: Decimal
    """Reversed by banks beyond the balance; deducted from the next money received."""
    status: BusinessStatus
    """Whether the business is active."""
    created_at: datetime
    """Time of creation."""
    updated_at: datetime
    """Time of the last movement."""


class AccountPage(Page[AccountRecord], kw_only=True):
    total: int
    """Number of accounts on all pages."""


class CollectionPage(Page[CollectionRecord], kw_only=True):
    total: int
    """The exact total of all pages."""


class DeliveryPage(Page[DeliveryRecord], kw_only=True):
    pass


class EndpointList(Page[EndpointRecord], kw_only=True):
    pass


class LinkRecordPage(Page[LinkRecord], kw_only=True):
    pass


class PaymentRecordPage(Page[PaymentRecord], kw_only=True):
    pass


class RefundPage(Page[RefundRecord], kw_only=True):
    pass


class RequestRecordPage(Page[RequestRecord], kw_only=True):
    pass


class StatementPage(Page[StatementLine], kw_only=True):
    currency: Currency
    """Currency of the wallet."""
    wallet_number: str
    """Number of the wallet."""
    opening_balance: Decimal
    """Before the first line of the period."""
    closing_balance: Decimal
    """After the last line of the period."""


__all__ = [
    "EVENT_TYPES",
    "AccountEvent",
    "AccountInformation",
    "AccountPage",
    "AccountRecord",
    "AccountStatus",
    "AccountType",
    "Acted",
    "ActionType",
    "ActionView",
    "AddressFields",
    "AttemptRecord",
    "AttemptStatus",
    "AttemptView",
    "BankView",
    "BusinessName",
    "BusinessRecord",
    "BusinessStatus",
    "BusinessView",
    "CardFields",
    "ChargeAuthorization",
    "ChargeDisputed",
    "ChargeIsDisputed",
    "ChargeReversed",
    "ChargeSuccessful",
    "Charged",
    "CheckoutView",
    "ClockView",
    "CollectionPage",
    "CollectionRecord",
    "CollectionReturned",
    "CollectionStatus",
    "CollectionSuccessful",
    "Created",
    "CreditedInflowData",
    "Currency",
    "CustomerFields",
    "CustomerRecord",
    "DeliveryPage",
    "DeliveryRecord",
    "DeliveryStatus",
    "DisabledReason",
    "DisputeData",
    "DisputeStatus",
    "DisputedChargeData",
    "DocumentGiven",
    "DocumentRecord",
    "DocumentType",
    "Emptied",
    "Ending",
    "EndpointDeleted",
    "EndpointList",
    "EndpointRecord",
    "EndpointStatus",
    "EndpointWithSecret",
    "Event",
    "Exchange",
    "FailureReason",
    "FeeBearer",
    "FeeOnRefund",
    "FeesQuoted",
    "FieldRule",
    "FurtherDetails",
    "InflowReason",
    "JournalKind",
    "LinkKind",
    "LinkRecord",
    "LinkRecordPage",
    "LinkState",
    "Mode",
    "NameCheckRecord",
    "NamePolicy",
    "NameVerdict",
    "OperatorView",
    "Owner",
    "PaidAccount",
    "PaidChargeData",
    "PayeeFields",
    "PayerFields",
    "PaymentMethod",
    "PaymentRecord",
    "PaymentRecordPage",
    "PaymentStatus",
    "RateRecord",
    "RefundEvent",
    "RefundPage",
    "RefundRecord",
    "RefundStatus",
    "ReplayAnswer",
    "RequestRecord",
    "RequestRecordPage",
    "RequestedMethod",
    "Returned",
    "ReturnedInflowData",
    "Reversal",
    "ReversedChargeData",
    "SessionEnded",
    "StatementLine",
    "StatementLineDirection",
    "StatementPage",
    "SupportView",
    "TestData",
    "TestEvent",
    "TransferReversed",
    "TransferSent",
    "Variance",
    "VariancePolicy",
    "VirtualAccountView",
    "WalletRecord",
]

Event = (
    ChargeSuccessful
    | ChargeReversed
    | ChargeDisputed
    | CollectionSuccessful
    | CollectionReturned
    | RefundEvent
    | AccountEvent
    | TestEvent
)

EVENT_TYPES: dict[str, type[Event]] = {
    "charge.successful": ChargeSuccessful,
    "charge.reversed": ChargeReversed,
    "charge.disputed": ChargeDisputed,
    "collection.successful": CollectionSuccessful,
    "collection.returned": CollectionReturned,
    "refund.successful": RefundEvent,
    "refund.failed": RefundEvent,
    "virtualaccount.approved": AccountEvent,
    "virtualaccount.declined": AccountEvent,
    "virtualaccount.suspended": AccountEvent,
    "virtualaccount.closed": AccountEvent,
    "webhook.test": TestEvent,
}
