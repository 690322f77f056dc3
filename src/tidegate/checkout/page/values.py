"""What is one payment's own, as text: a page writes it and asks nothing about it.

Whatever a page does ask is in its shape. A page is drawn once for each shape, with slots for these values; tests hold
that it then is, byte for byte, the page that is drawn with the values at once.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import NamedTuple

from tidegate.checkout.page.look import Look
from tidegate.checkout.page.palette import colours_of
from tidegate.checkout.page.time_format import countdown_text
from tidegate.core.fee import Fee
from tidegate.core.money import Money
from tidegate.infra.timestamp import to_iso
from tidegate.payment.attempt import Attempt
from tidegate.rail.interface import DialAction, RedirectAction, TransferAction

Value = Callable[[Look], str]

METHODS_MAX = 4


# What needs no change is fetched without a step in Python.
pay_code: Value = attrgetter("situation.payment.pay_code")
reference: Value = attrgetter("situation.payment.reference")
token: Value = attrgetter("token")
nonce: Value = attrgetter("nonce")
shop_name: Value = attrgetter("situation.business.name")
description: Value = attrgetter("description")


def version(look: Look) -> str:
    return str(look.situation.payment.version)


def shop_initial(look: Look) -> str:
    return look.situation.business.name.strip()[:1].upper()


def shop_logo(look: Look) -> str:
    business = look.situation.business
    return f"{business.code}/{business.brand.logo_hash}"


def shop_contact(look: Look) -> str:
    support = look.situation.business.support
    return support.url or support.email or support.phone or ""


def colours_light(look: Look) -> str:
    return colours_of(look.situation.business.brand.accent).light


def colours_dark(look: Look) -> str:
    return colours_of(look.situation.business.brand.accent).dark


def asked(look: Look) -> str:
    return look.money(look.situation.payment.order.asked)


def expected(look: Look) -> str:
    return look.money(look.situation.payment.expected)


class OfCost(NamedTuple):
    text: Value
    digits: Value
    fee: Value
    vat: Value


def _of_cost(number: int) -> OfCost:
    def fee(look: Look) -> Fee:
        found = look.costs[number].fee
        assert found is not None  # The shape says whether there is one.
        return found

    return OfCost(
        text=lambda look: look.money(look.costs[number].expected),
        digits=lambda look: look.words.money_format.digits(look.costs[number].expected),
        fee=lambda look: look.money(fee(look).fee),
        vat=lambda look: look.money(fee(look).vat),
    )


OF_COSTS = tuple(map(_of_cost, range(METHODS_MAX)))


# Of the attempt under way.


def _attempt(look: Look) -> Attempt:
    attempt = look.situation.attempt
    assert attempt is not None  # The shape says whether there is one.
    return attempt


def _transfer(look: Look) -> TransferAction:
    action = _attempt(look).action
    assert isinstance(action, TransferAction)
    return action


def rest(look: Look) -> Money:
    """What is still to be sent to the account."""
    return _attempt(look).expected - look.situation.payment.held


def _closes_at(look: Look) -> datetime:
    return _attempt(look).expires_at or look.situation.payment.expires_at


def account_number(look: Look) -> str:
    return _transfer(look).account_number


def account_number_shown(look: Look) -> str:
    return grouped(_transfer(look).account_number)


def account_bank(look: Look) -> str:
    return _transfer(look).bank_name


def account_name(look: Look) -> str:
    return _transfer(look).account_name


def account_amount(look: Look) -> str:
    return look.money(rest(look))


def account_amount_raw(look: Look) -> str:
    return plain_digits(rest(look))


def closes_iso(look: Look) -> str:
    return to_iso(_closes_at(look))


def closes_time(look: Look) -> str:
    return look.words.time(_closes_at(look), look.zone)


def closes_in_s(look: Look) -> str:
    return str(look.seconds_until(_closes_at(look)))


def attempt_amount(look: Look) -> str:
    return look.money(_attempt(look).expected)


def attempt_since_s(look: Look) -> str:
    return str(max(0, int((look.now - _attempt(look).created_at).total_seconds())))


def phone(look: Look) -> str:
    return unbroken(_attempt(look).details["phone"])


def resend_in_s(look: Look) -> str:
    return str(_resend_in_s(look))


def resend_in(look: Look) -> str:
    return countdown_text(_resend_in_s(look))


def _resend_in_s(look: Look) -> int:
    # Rounded up, so that the server has forgotten it when the page says so.
    moment = _attempt(look).resend_from
    return look.seconds_until(moment) + 1 if moment else 0


def customer_phone(look: Look) -> str:
    return look.phone or ""


def card_end(look: Look) -> str:
    return str(_attempt(look).details.get("last4", ""))


def bank_of_code(look: Look) -> str:
    return str(_attempt(look).details["bank"])


def code(look: Look) -> str:
    action = _attempt(look).action
    assert isinstance(action, DialAction)
    return action.code


def code_for_link(look: Look) -> str:
    """A bare # would end the link."""
    return code(look).replace("#", "%23")


def issuer_url(look: Look) -> str:
    action = _attempt(look).action
    assert isinstance(action, RedirectAction)
    return action.url


def plain_digits(amount: Money) -> str:
    """As a bank's app wants it typed: 10150.50."""
    return f"{Decimal(amount.minor).scaleb(-amount.currency.exponent):f}"


def unbroken(text: str) -> str:
    """On one line."""
    return text.replace(" ", "\u00a0")


def grouped(number: str) -> str:
    """For the eye: 990 214 7730. The last group takes what is left over."""
    groups = max(1, len(number) // 3)
    heads = [number[index * 3 : index * 3 + 3] for index in range(groups - 1)]
    return " ".join([*heads, number[(groups - 1) * 3 :]])


# As long as the next payment's, or nearly always.
OF_STEADY_LENGTH: frozenset[Value] = frozenset(
    {
        pay_code, version, token, nonce, shop_initial, shop_logo, colours_light, colours_dark, asked, expected,
        account_number, account_number_shown, account_amount, account_amount_raw, closes_iso, closes_time, closes_in_s,
        attempt_amount, attempt_since_s, phone, card_end, code, code_for_link,
        *(value for of_cost in OF_COSTS for value in of_cost),
    }
)  # fmt: skip
