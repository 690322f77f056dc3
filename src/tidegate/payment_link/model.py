"""A payment link and the rules on it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from tidegate.core.described_enum import DescribedEnum
from tidegate.core.errors import Conflict, IllegalTransition
from tidegate.core.fee import FeeBearer
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money


class LinkKind(DescribedEnum):
    ONE_OFF = "one_off", "Paid once, by one customer."
    REUSABLE = "reusable", "Paid by many customers, each with a payment of their own."


class LinkState(DescribedEnum):
    OPEN = "open", "Takes payments."
    ENDED = "ended", "You ended it; it can be reopened."
    EXPIRED = "expired", "Its end date has passed."
    USED_UP = "used_up", "Paid as often as it may be."


class LinkFault(StrEnum):
    """Of terms that contradict each other, for pages that say it in words of their own."""

    ONE_OFF_IS_PAID_ONCE = "one_off_is_paid_once"
    AMOUNT_OR_BOUNDS = "amount_or_bounds"


class FieldRule(DescribedEnum):
    """Of what the page asks the payer for besides name and e-mail address."""

    OPTIONAL = "optional", "The customer may leave it empty."
    REQUIRED = "required", "The form is refused without it."


class LinkTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What the merchant chose. The amount is fixed when `asked` is set; otherwise the payer's, within the bounds."""

    name: str
    kind: LinkKind
    currency: Currency
    asked: Money | None
    least: Money
    most: Money
    fee_bearer: FeeBearer
    # Empty for all that can be paid by at the time.
    methods: tuple[Method, ...]
    # None where it is not asked for.
    phone_rule: FieldRule | None
    note_rule: FieldRule | None
    note_label: str | None
    success_message: str | None
    redirect_url: str | None
    payments_max: int | None
    ends_at: datetime | None


class LinkUse(msgspec.Struct, frozen=True, kw_only=True):
    """What became of it. Counted up to a limit; `is_exact` says whether that was reached."""

    made: int
    under_way: int
    paid: int
    received: Money
    is_exact: bool


class PaymentLink(msgspec.Struct, frozen=True, kw_only=True):
    business_id: str
    id: str
    # The order of lists.
    number: int
    terms: LinkTerms
    created_at: datetime
    ended_at: datetime | None
    # How often browsers opened its page.
    opened: int

    def state(self, use: LinkUse, *, now: datetime) -> LinkState:
        terms = self.terms
        if self.ended_at is not None:
            return LinkState.ENDED
        if terms.payments_max is not None and use.paid >= terms.payments_max:
            return LinkState.USED_UP
        return LinkState.EXPIRED if terms.ends_at is not None and now >= terms.ends_at else LinkState.OPEN


class LinkView(msgspec.Struct, frozen=True):
    link: PaymentLink
    use: LinkUse

    def state(self, *, now: datetime) -> LinkState:
        return self.link.state(self.use, now=now)


def is_taken(view: LinkView) -> bool:
    """Whether the payments under way are as many as the link may still take."""
    payments_max = view.link.terms.payments_max
    return payments_max is not None and view.use.paid + view.use.under_way >= payments_max


def refuse_closed(view: LinkView, *, now: datetime) -> None:
    """Payments under way have a place until they end, so that no more are paid than the merchant allows."""
    state = view.state(now=now)
    if state is not LinkState.OPEN:
        raise Conflict("this payment link takes no payments any more; ask the shop for a new one")
    if is_taken(view):
        raise Conflict("another customer is paying by this link; try again later")


def refuse_reopening(view: LinkView, *, now: datetime) -> None:
    link = msgspec.structs.replace(view.link, ended_at=None)
    state = link.state(view.use, now=now)
    if state is not LinkState.OPEN:
        raise IllegalTransition(f"this payment link would be {state.value} at once; duplicate it instead")


def copied(terms: LinkTerms, *, now: datetime) -> LinkTerms:
    """For a duplicate. An end that has passed is left out: it would end the copy at once."""
    has_passed = terms.ends_at is not None and terms.ends_at <= now
    return msgspec.structs.replace(terms, ends_at=None) if has_passed else terms


def fits(amount: Money, terms: LinkTerms) -> bool:
    return amount == terms.asked if terms.asked is not None else terms.least <= amount <= terms.most
