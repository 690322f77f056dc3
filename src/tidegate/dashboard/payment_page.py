"""What the page of a payment says: a sentence, one timeline, why it was decided so. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from tidegate.approval.model import LASTS
from tidegate.core import method as methods
from tidegate.core.method import Method
from tidegate.core.money import Money
from tidegate.dashboard.format import amount, audited_amount
from tidegate.dashboard.payer_mask import without_payer
from tidegate.dashboard.payment_store import (
    ActFact,
    AttemptFact,
    DeliveryFact,
    JournalFact,
    PaymentHistory,
    ReceiptFact,
    RefundFact,
    ReturnFact,
)
from tidegate.merchant.model import Business
from tidegate.payment.model import Payment, PaymentStatus
from tidegate.payment.variance import Variance
from tidegate.rail.action import FailureReason

METHOD_WORDS = {one.value: methods.METHOD_WORDS[one] for one in Method}
EXCESS_REFUNDED = "Excess refunded"
STATUS_WORDS = {
    PaymentStatus.INITIATED: ("Created", ""),
    PaymentStatus.PENDING: ("Pending", ""),
    PaymentStatus.PROCESSING: ("Processing", ""),
    PaymentStatus.SUCCESS: ("Paid", "good"),
    PaymentStatus.FAILED: ("Failed", "bad"),
    PaymentStatus.EXPIRED: ("Expired", ""),
}
JOURNAL_WORDS = {
    "checkout_settled": "checkout settled",
    "receipt_held": "held for the rest",
    "held_settled": "held money settled",
    "held_returning": "held money goes back",
    "receipt_returning": "excess goes back",
    "refund_started": "refund started",
    "credit_reversed": "taken back by the bank",
}
_ENDED = {PaymentStatus.FAILED: "Not paid", PaymentStatus.EXPIRED: "Not paid in time"}


@dataclass(frozen=True)
class TimelineStep:
    at: datetime
    what: str
    more: str = ""
    tint: str = ""
    why: str = ""
    # A page that shows it, and its words.
    link: tuple[str, str] | None = None


@dataclass(frozen=True)
class TimelineReader:
    """Who reads a timeline: how the merchant is called, and the pages that steps open; an empty one is not linked."""

    whose: str = "your"
    journal: str = "/ledger/{}"
    delivery: str = "/webhooks/deliveries/dlv_{}"
    refund: str = "/refunds/{}"

    @staticmethod
    def link(page: str, name: object, words: str) -> tuple[str, str] | None:
        return (page.format(name), words) if page else None


MERCHANT = TimelineReader()


def status_of(payment: Payment) -> tuple[str, str]:
    if payment.status is PaymentStatus.SUCCESS and payment.refunded == payment.received:
        return "Refunded", ""
    return STATUS_WORDS[payment.status]


def difference_of(payment: Payment) -> str:
    """Beside the state: what came too much or too little."""
    if payment.variance is Variance.OVERPAYMENT:
        return EXCESS_REFUNDED if _is_excess_refunded(payment) else f"{amount(_excess(payment))} over"
    if payment.variance is Variance.UNDERPAYMENT:
        return f"{amount(payment.expected - payment.received)} short"
    return ""


def difference_tint(difference: str) -> str:
    """What was refunded needs no attention."""
    return "" if difference == EXCESS_REFUNDED else "warn"


def _excess(payment: Payment) -> Money:
    return payment.received - payment.expected


def _is_excess_refunded(payment: Payment) -> bool:
    return payment.refunded >= _excess(payment)


def sentence_of(payment: Payment) -> str:
    if payment.status is PaymentStatus.SUCCESS:
        paid = f"{amount(payment.received)} paid"
        if payment.variance is Variance.OVERPAYMENT:
            more = f"{paid}, {amount(_excess(payment))} more than asked"
            return f"{more}, which was refunded" if _is_excess_refunded(payment) else more
        if payment.variance is Variance.UNDERPAYMENT:
            return f"{paid}, {amount(payment.expected - payment.received)} less than asked"
        return paid
    if payment.status in _ENDED:
        return f"{_ENDED[payment.status]}, {amount(payment.expected)} asked"
    return f"{amount(payment.expected)} asked, not paid yet"


def note_of(payment: Payment) -> str:
    """What the payer wrote on the page of a payment link: a text under `note` in the metadata."""
    text = _metadata_of(payment).get("note", b"")
    return _text(text) if text.startswith(b'"') else ""


def metadata_of(payment: Payment, *, is_masked: bool) -> list[tuple[str, str]]:
    """Names and values, without the note, which is shown as such. A value that is no text is shown as JSON."""
    found = {name: value for name, value in _metadata_of(payment).items() if name != "note" or not note_of(payment)}
    if is_masked:
        found = {
            name: msgspec.json.encode(without_payer({name: msgspec.json.decode(value)})[name])
            for name, value in found.items()
        }
    return [(name, _text(value)) for name, value in found.items()]


def _metadata_of(payment: Payment) -> dict[str, bytes]:
    """As JSON each: its numbers keep every digit."""
    metadata = payment.order.metadata
    found = msgspec.json.decode(metadata, type=dict[str, msgspec.Raw]) if metadata else {}
    return {name: bytes(value) for name, value in found.items()}


def _text(value: bytes) -> str:
    """Of JSON; what is no text is shown as it is."""
    if value.startswith(b'"'):
        return msgspec.json.decode(value, type=str)
    return msgspec.json.format(value, indent=2).decode()


def timeline_of(
    payment: Payment, history: PaymentHistory, business: Business, *, is_masked: bool, reader: TimelineReader = MERCHANT
) -> list[TimelineStep]:
    currency = payment.expected.currency
    creator = next((f" by {act.who}" for act in history.acts if act.action == "payment.created"), "")
    created = f"Created for {amount(payment.expected)}{creator}"
    steps = [TimelineStep(payment.created_at, created, f"Reference {payment.reference}")]
    for attempt in history.attempts:
        steps += _attempt_steps(attempt, is_masked=is_masked)
    for receipt in history.receipts:
        why = _why(payment, business, reader)
        steps.append(_receipt_step(receipt, payment, why, is_masked=is_masked))
    steps += [_journal_step(one, payment, reader) for one in history.journals if one.kind == "checkout_settled"]
    steps += [_delivery_step(one, reader) for one in history.deliveries]
    for refund in history.refunds:
        steps += _refund_steps(refund, Money(refund.amount_minor, currency), reader)
    for going_back in history.returns:
        steps += _return_steps(going_back, Money(going_back.amount_minor, currency))
    steps += [step for act in history.acts if (step := _act_step(act)) is not None]
    return sorted(steps, key=lambda step: step.at)


_ACTS = {
    "refund.proposed": "Refund of {amount} proposed by {who}",
    "refund.approved": "Refund of {amount} approved by {who}",
    "refund.declined": "Refund of {amount} declined by {who}",
    "refund.taken_back": "Refund of {amount} taken back by {who}",
    "payment.disabled": "Disabled by {who}",
    "payment.enabled": "Enabled by {who}",
    "receipt.sent": "Receipt sent to the payer by {who}",
    "case.shared": "Case shared by {who}",
    "case.revoked": "Case link revoked by {who}",
}


_DECISIONS = ("refund.approved", "refund.declined", "refund.taken_back")


def _act_step(act: ActFact) -> TimelineStep | None:
    if act.action not in _ACTS:
        return None
    words = _ACTS[act.action].format(amount=audited_amount(act.details.get("amount", "")), who=act.who)
    number = act.details.get("approval")
    return TimelineStep(act.created_at, words, f"Proposal {number}" if number else "")


def waiting_of(history: PaymentHistory, *, now: datetime) -> list[str]:
    """Amounts of refunds that wait for a second person; a refund that begins or ends voids what waits."""
    decided = {act.details.get("approval") for act in history.acts if act.action in _DECISIONS}
    voided_at = max((one.completed_at or one.initiated_at for one in history.refunds), default=None)
    return [
        audited_amount(act.details["amount"])
        for act in history.acts
        if act.action == "refund.proposed" and act.details["approval"] not in decided
        and now < act.created_at + LASTS and (voided_at is None or voided_at < act.created_at)
    ]  # fmt: skip


def _attempt_steps(attempt: AttemptFact, *, is_masked: bool) -> Iterator[TimelineStep]:
    method = METHOD_WORDS.get(attempt.method, attempt.method)
    details = attempt.details
    what = str(details.get("brand") or details.get("bank_name") or details.get("phone") or "")
    last_four = details.get("last_four")
    more = f"{what} ··{last_four}".strip() if last_four else what
    if attempt.account_number:
        more = f"account {attempt.account_number}"
    yield TimelineStep(attempt.created_at, f"{method} chosen", "" if is_masked else more)
    if attempt.status == "failed":
        yield TimelineStep(attempt.updated_at, f"{method} failed", failure_words(attempt.failure), "bad")
    elif attempt.status == "expired":
        yield TimelineStep(attempt.updated_at, f"{method} ran out of time")


def failure_words(code: str | None) -> str:
    found = next((reason for reason in FailureReason if reason.value == code), None)
    return found.meaning if found else "No reason was given."


def _receipt_step(receipt: ReceiptFact, payment: Payment, why: str, *, is_masked: bool) -> TimelineStep:
    got = Money(receipt.amount_minor, payment.expected.currency)
    name, bank = receipt.payer.get("name"), receipt.payer.get("bank_name")
    who = f" from {name}" if name and not is_masked else ""
    return TimelineStep(
        receipt.created_at, f"{amount(got)} received{who}", str(bank or "") if not is_masked else "", "good", why
    )  # fmt: skip


def _why(payment: Payment, business: Business, reader: TimelineReader) -> str:
    if payment.variance is None or payment.status is not PaymentStatus.SUCCESS:
        return ""
    words = {"accept": "Accept", "top_up": "Top up", "return": "Return"}
    policy = words.get(business.variance_policy, business.variance_policy)
    if payment.variance is Variance.OVERPAYMENT:
        gap, other = f"{amount(_excess(payment))} too much", "With Return the excess would have gone back."
        after = "has been refunded since" if _is_excess_refunded(payment) else "can be refunded"
        return f"{reader.whose} policy is {policy} now. {gap} was settled with the rest, and {after}. {other}"
    gap = f"{amount(payment.expected - payment.received)} too little"
    other = "With Top up it would have waited for the rest, with Return it would have gone back."
    return f"{reader.whose} policy is {policy} now. {gap} came, and was settled as it is. {other}"


def _journal_step(journal: JournalFact, payment: Payment, reader: TimelineReader) -> TimelineStep:
    settled = amount(payment.settled)
    currency = payment.expected.currency
    link = reader.link(reader.journal, journal.id, f"journal {journal.id}")
    return TimelineStep(journal.created_at, f"{settled} settled to the {currency} wallet", "", "good", link=link)


def _delivery_step(one: DeliveryFact, reader: TimelineReader) -> TimelineStep:
    link = reader.link(reader.delivery, one.id, "Delivery")
    tries = f"{one.attempts} {'try' if one.attempts == 1 else 'tries'}"
    if one.delivered_at is not None:
        # A clock that was moved forward is known to the sender a moment later: it may have sent by the one before.
        at = max(one.delivered_at, one.created_at)
        late = timedelta(seconds=round((at - one.created_at).total_seconds()))
        after = f", {late} later" if late else ""
        return TimelineStep(at, f"{one.event_type} delivered", f"{one.url}, {tries}{after}", link=link)
    return TimelineStep(one.created_at, f"{one.event_type} not delivered yet", f"{one.url}, {tries}", "bad", link=link)


def _refund_steps(refund: RefundFact, money: Money, reader: TimelineReader) -> Iterator[TimelineStep]:
    link = reader.link(reader.refund, refund.reference, refund.reference)
    yield TimelineStep(refund.initiated_at, f"Refund of {amount(money)} started", refund.reason or "", link=link)
    if refund.completed_at is not None:
        is_good = refund.status == "successful"
        words = f"Refund of {amount(money)} {'arrived' if is_good else 'failed'}"
        more = "" if is_good else f"{failure_words(refund.failure)} The amount is back in {reader.whose} wallet."
        yield TimelineStep(refund.completed_at, words, more, "good" if is_good else "bad")


def _return_steps(going_back: ReturnFact, money: Money) -> Iterator[TimelineStep]:
    words = f"Return of {amount(money)} to the payer"
    yield TimelineStep(going_back.asked_at, f"{words} started", going_back.reference)
    if going_back.confirmed_at is not None:
        yield TimelineStep(going_back.confirmed_at, f"{words} arrived", "", "good")
    elif going_back.status == "failed":
        yield TimelineStep(going_back.asked_at, f"{words} failed", going_back.failure or "", "bad")
