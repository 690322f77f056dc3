"""A refund, what can be refunded, and the pure rules on both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

import msgspec

from tidegate.collection.rate import Rate, worth_of
from tidegate.core import ids
from tidegate.core.described_enum import DescribedEnum
from tidegate.core.errors import Conflict, Invalid, PaymentDisputed, Problem, RefundExceedsAvailable
from tidegate.core.fee import Fee, FeeOnRefund
from tidegate.core.money import Currency, Money
from tidegate.rail.action import FailureReason

POLL_FIRST = timedelta(seconds=2)
POLL_MAX = timedelta(minutes=30)
CONVERTED = "a converted collection is refunded by the operator, who chooses the rate"


class RefundRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Without an amount: the excess of an overpayment, otherwise all that remains."""

    reference: str
    # In major units; the allowed decimals depend on the currency of the subject.
    amount: Decimal | None = None
    currency: Currency | None = None
    # Visible to the customer, and to the merchant only.
    reason: str | None = None
    note: str | None = None

    def amount_in(self, currency: Currency) -> Money | None:
        if self.currency not in (None, currency):
            raise Invalid(Problem("currency", f"must be {currency}, the currency received"))
        if self.amount is None:
            return None
        minor = self.amount.scaleb(currency.exponent)
        if minor != minor.to_integral_value():
            decimals = f"at most {currency.exponent} decimals" if currency.exponent else "no decimals"
            raise Invalid(Problem("amount", f"must have {decimals} in {currency}"))
        return Money(int(minor), currency)


class RefundStatus(DescribedEnum):
    PROCESSING = "processing", "Debited from your wallet; the bank has not confirmed it yet."
    SUCCESSFUL = "successful", "The bank has confirmed that the payer has the money. Final."
    FAILED = "failed", "Not possible; the amount is back in your wallet. Final."


class RefundRate(DescribedEnum):
    """At which rate a wallet pays for the refund of an inflow that was converted."""

    CREDIT = "credit", "The rate at which it was credited."
    TODAY = "today", "The rate of the day of the refund."


class SubjectConversion(msgspec.Struct, frozen=True, kw_only=True):
    """Of an inflow that was converted: its worth in the wallet's currency when it was credited, by which rate, and the
    rate of today, if one is fresh."""

    worth: Money
    rate: Decimal
    today: Rate | None = None


class RefundExchange(msgspec.Struct, frozen=True, kw_only=True):
    """What the wallet pays, and what the refund costs at the rate of the day."""

    chosen: RefundRate
    debited: Money
    worth: Money

    @property
    def gain(self) -> Money:
        """Ours, as it is booked on the account exchange; negative where it is a loss."""
        return self.debited - self.worth


class RefundableTransfer(msgspec.Struct, frozen=True, kw_only=True):
    """One incoming transfer, and what is left of it to refund."""

    rail: str
    transaction_id: str
    left: Money


class RefundDispute(msgspec.Struct, frozen=True, kw_only=True):
    """A dispute that is open or lost: the bank decides about its amount, or has decided."""

    rail: str
    dispute_id: str
    is_open: bool
    amount: Money

    @property
    def sentence(self) -> str:
        what = f"dispute {self.dispute_id} of {self.amount}"
        if self.is_open:
            return f"{what} is open: to give that money back, accept the dispute at {self.rail}, or wait for its end"
        return f"{what} was lost: the bank returns that money to the customer"


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What is refunded, as read under its lock. Either a payment or a collection, so one of the ids is None."""

    business_id: str
    payment_id: int | None = None
    collection_id: int | None = None
    version: int
    # Our reference, and the merchant's.
    reference: str
    merchant_reference: str | None
    expected: Money
    received: Money
    settled: Money
    fee: Fee
    fee_on_refund: FeeOnRefund
    variance: str | None
    # In progress or paid out; and the fee returned with it.
    refunded: Money
    fee_given: Fee
    # The newest transfer first.
    transfers: tuple[RefundableTransfer, ...]
    # Reversed by the bank or disputed, beyond what was refunded of it.
    gone: Money | None = None
    disputes: tuple[RefundDispute, ...] = ()
    # Why it cannot be refunded.
    block_reason: str | None = None
    conversion: SubjectConversion | None = None

    @property
    def left(self) -> Money:
        return self.received - self.refunded - (self.gone or Money.zero(self.received.currency))

    @property
    def kind(self) -> str:
        """In words."""
        return "payment" if self.payment_id is not None else "inflow"

    @property
    def cause(self) -> str:
        return f"payment/{self.payment_id}" if self.payment_id is not None else f"collection/{self.collection_id}"


class Leg(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a refund that goes back on the rail of one transfer."""

    reference: str
    rail: str
    transaction_id: str
    amount: Money
    # Its share of the returned fee.
    fee: Fee
    status: RefundStatus = RefundStatus.PROCESSING
    failure: FailureReason | None = None


class Refund(msgspec.Struct, frozen=True, kw_only=True):
    id: int = 0
    business_id: str
    reference: str
    payment_id: int | None
    collection_id: int | None
    amount: Money
    status: RefundStatus = RefundStatus.PROCESSING
    # The amount paid out.
    refunded: Money
    # The fee returned with it.
    fee_returned: Fee
    failure: FailureReason | None = None
    # Visible to the customer, and to the merchant only.
    reason: str | None
    note: str | None
    initiated_at: datetime
    completed_at: datetime | None = None
    exchange: RefundExchange | None = None

    @property
    def debited(self) -> Money:
        """In the wallet's currency, with the fee that is returned."""
        return self.exchange.debited if self.exchange else self.amount


class RefundView(msgspec.Struct, frozen=True):
    """A refund with its subject, as the merchant sees it."""

    refund: Refund
    subject: Subject


def amount_of(subject: Subject, asked: Money | None) -> Money:
    """The requested amount; by default the excess of an overpayment, otherwise all that remains."""
    if subject.block_reason is not None:
        raise Conflict(subject.block_reason)
    if subject.disputes and subject.left.minor <= 0:
        raise PaymentDisputed(f"nothing can be refunded: {_disputed(subject)}")
    if asked is None:
        asked = _excess_of(subject) if subject.variance == "overpayment" else subject.left
    if asked.minor > subject.left.minor or asked.minor <= 0:
        raise RefundExceedsAvailable(_too_much(subject))
    return asked


def _excess_of(subject: Subject) -> Money:
    """A repeated request must not refund the whole sale."""
    excess = subject.received - subject.expected - subject.refunded
    if excess.minor <= 0:
        raise RefundExceedsAvailable("the excess is already refunded or in progress; give an amount to refund more")
    return excess


def _too_much(subject: Subject) -> str:
    if subject.left.minor == 0:
        return f"all of the {subject.received} received is already refunded or in progress"
    most = f"amount must be at most {subject.left}, what is left of the {subject.received} received"
    return f"{most}; {_disputed(subject)}" if subject.disputes else most


def _disputed(subject: Subject) -> str:
    return "; ".join(one.sentence for one in subject.disputes)


def exchange_of(subject: Subject, amount: Money, chosen: RefundRate | None) -> RefundExchange | None:
    """None where nothing was converted. The fee and the spread of the credit are kept."""
    if subject.conversion is None:
        if chosen is not None:
            raise Conflict("this was not converted, so there is no rate to choose")
        return None
    if chosen is None:
        raise Conflict(CONVERTED)
    today = subject.conversion.today
    if today is None:
        raise Conflict(
            f"there is no fresh rate of {amount.currency} in {subject.conversion.worth.currency}; set it with "
            "`tidegate rate set`"
        )
    worth = worth_of(amount, today)
    whole = subject.conversion.worth
    # Cumulative rounding, so that refunds of all parts debit no more than was credited.
    upto, before = (share(whole, part, subject.received) for part in (subject.refunded + amount, subject.refunded))
    debited = worth if chosen is RefundRate.TODAY else upto - before
    if debited.minor <= 0 or worth.minor <= 0:
        raise Conflict(f"{amount} is worth nothing in {whole.currency}; refund more at once")
    return RefundExchange(chosen=chosen, debited=debited, worth=worth)


def begin(
    subject: Subject, amount: Money, *, reason: str | None, note: str | None, now: datetime,
    exchange: RefundExchange | None = None,
) -> tuple[Refund, tuple[Leg, ...]]:  # fmt: skip
    refund = Refund(
        business_id=subject.business_id,
        reference=ids.new_refund_reference(),
        payment_id=subject.payment_id,
        collection_id=subject.collection_id,
        amount=amount,
        refunded=Money.zero(amount.currency),
        fee_returned=fee_to_return(subject, amount),
        reason=reason,
        note=note,
        initiated_at=now,
        exchange=exchange,
    )
    return refund, tuple(_legs(refund, subject.transfers))


def fee_to_return(subject: Subject, amount: Money) -> Fee:
    """In proportion; the last refund returns what rounding has left, never more than the fee."""
    if subject.fee_on_refund is FeeOnRefund.KEPT:
        return Fee(Money.zero(amount.currency), Money.zero(amount.currency))
    left = Fee(subject.fee.fee - subject.fee_given.fee, subject.fee.vat - subject.fee_given.vat)
    if amount == subject.left:
        return left
    return Fee(
        min(share(subject.fee.fee, amount, subject.received), left.fee),
        min(share(subject.fee.vat, amount, subject.received), left.vat),
    )


def _legs(refund: Refund, transfers: Sequence[RefundableTransfer]) -> Iterator[Leg]:
    """The newest transfer is refunded first, up to what is left of it."""
    gone = Money.zero(refund.amount.currency)
    for number, transfer in enumerate((one for one in transfers if one.left.minor > 0), start=1):
        part = min(transfer.left, refund.amount - gone)
        yield Leg(
            reference=f"{refund.reference}-{number}",
            rail=transfer.rail,
            transaction_id=transfer.transaction_id,
            amount=part,
            fee=_part_of(refund.fee_returned, gone, gone + part, refund.amount),
        )
        gone = gone + part
        if gone == refund.amount:
            return
    # Cannot happen: the doctor verifies that the receipts add up to the payment.
    raise Conflict("the transfers of this payment do not add up to its amount; contact the operator")


def _part_of(fee: Fee, start: Money, end: Money, whole: Money) -> Fee:
    """Cumulative rounding, so that the parts add up to the whole."""
    return Fee(
        share(fee.fee, end, whole) - share(fee.fee, start, whole),
        share(fee.vat, end, whole) - share(fee.vat, start, whole),
    )


def share(amount: Money, part: Money, whole: Money) -> Money:
    """Half up."""
    return Money((2 * amount.minor * part.minor + whole.minor) // (2 * whole.minor), amount.currency)


def completed(refund: Refund, legs: Sequence[Leg], *, now: datetime) -> Refund | None:
    """None while any leg is in progress. A failed part does not undo a successful one."""
    if any(leg.status is RefundStatus.PROCESSING for leg in legs):
        return None
    arrived = [leg for leg in legs if leg.status is RefundStatus.SUCCESSFUL]
    nothing = Money.zero(refund.amount.currency)
    return msgspec.structs.replace(
        refund,
        status=RefundStatus.SUCCESSFUL if arrived else RefundStatus.FAILED,
        refunded=sum((leg.amount for leg in arrived), start=nothing),
        fee_returned=Fee(
            sum((leg.fee.fee for leg in arrived), start=nothing), sum((leg.fee.vat for leg in arrived), start=nothing)
        ),
        failure=next((leg.failure for leg in legs if leg.failure is not None), None),
        completed_at=now,
    )


def next_poll_at(polls: int, *, now: datetime) -> datetime:
    """A refund in progress is polled for, at growing intervals."""
    return now + min(POLL_FIRST * (1 << min(polls, 12)), POLL_MAX)
