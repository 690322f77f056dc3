"""From a payer's request to the payment details of an attempt, and the part that may be stored and shown."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tidegate.checkout import wire
from tidegate.core.errors import Conflict, Invalid, Problem
from tidegate.core.method import Method
from tidegate.core.money import Currency
from tidegate.rail import phone as phones
from tidegate.rail import ussd_bank as banks
from tidegate.rail.choice import MethodOffer
from tidegate.rail.instrument import (
    Address,
    Authorization,
    Bank,
    Card,
    HostedPage,
    Otp,
    PaymentInstrument,
    Phone,
    Pin,
    TransferInstrument,
    full_year,
)
from tidegate.rail.mobile_money import MOBILE_MONEY, Operator


def instrument_from(
    request: wire.Charge,
    method: Method,
    currency: Currency,
    *,
    offer: MethodOffer | None,
    account_name: str,
    now: datetime,
) -> tuple[PaymentInstrument, dict[str, Any]]:
    """`offer` is of the method, None while it is not taken."""
    if offer is None:
        raise Conflict("this method is not taken at the moment; choose another one")
    if offer.is_hosted:
        return _on_hosted_page(request)
    match method:
        case Method.BANK_TRANSFER:
            return TransferInstrument(account_name=account_name, expires_at=now), {}
        case Method.CARD:
            return _card(request)
        case Method.MOBILE_MONEY:
            return _phone(request, currency, offer.choices)
        case Method.USSD:
            return _bank(request, currency, offer.choices)


def authorization_from(request: wire.Authorize) -> Authorization:
    if request.pin is not None:
        return Pin(request.pin)
    if request.otp is not None:
        return Otp(request.otp)
    address = request.address
    assert address is not None  # The request was checked to have exactly one.
    return Address(address.line, address.city, address.country, address.postal_code, address.state)


def _on_hosted_page(request: wire.Charge) -> tuple[PaymentInstrument, dict[str, Any]]:
    if request.card is not None:
        raise Invalid(Problem("card", "must be absent: cards are entered on the page of the action's `url` only"))
    return HostedPage(), {}


def _card(request: wire.Charge) -> tuple[PaymentInstrument, dict[str, Any]]:
    fields = request.card
    if fields is None:
        raise Invalid(Problem("card", "is required for a card payment"))
    number = str(fields.number)
    card = Card(number, fields.expiry_month, full_year(fields.expiry_year), str(fields.cvv), fields.holder)
    return card, {"brand": fields.number.brand, "first6": number[:6], "last4": number[-4:]}


def _phone(
    request: wire.Charge, currency: Currency, taken: frozenset[str] | None
) -> tuple[PaymentInstrument, dict[str, Any]]:
    if request.phone is None:
        raise Invalid(Problem("phone", "is required for mobile money", kind=phones.NumberFault.EMPTY))
    try:
        number = phones.parse(request.phone, currency)
    except phones.WrongNumber as wrong:
        raise Invalid(Problem("phone", str(wrong), kind=wrong.kind)) from None
    operator = _operator(request, number, currency, taken)
    masked = f"{number[:4]} … {number[-4:]}"
    # The details are visible with the link alone, so the whole number is not among them.
    return Phone(number, operator.id), {"phone": masked, "operator": operator.id}


def _operator(request: wire.Charge, number: str, currency: Currency, taken: frozenset[str] | None) -> Operator:
    """A ported number is guessed wrong, so the payer's choice wins."""
    if request.operator is None:
        found = phones.operator_of(number, currency)
    else:
        found = phones.find_operator(request.operator, currency)
    if found is None or (taken is not None and found.id not in taken):
        known = (operator.id for operator in MOBILE_MONEY[currency].operators)
        choices = ", ".join(one for one in known if taken is None or one in taken)
        raise Invalid(Problem("operator", f"must be one of {choices}"))
    return found


def _bank(
    request: wire.Charge, currency: Currency, taken: frozenset[str] | None
) -> tuple[PaymentInstrument, dict[str, Any]]:
    bank = banks.find(request.bank or "", currency)
    if bank is None or (taken is not None and bank.code not in taken):
        raise Invalid(Problem("bank", "must be the code of a bank on the list"))
    return Bank(bank.code), {"bank": bank.name}
