"""The payer's payment details. In memory only, on the way to the rail."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

# A card is valid until its month is over; UTC-12 is the last time zone in which it ends.
LAST_PLACE_BEHIND = timedelta(hours=12)


class Card(msgspec.Struct, frozen=True):
    number: str
    expiry_month: int
    expiry_year: int
    cvv: str
    holder: str | None = None

    def __repr__(self) -> str:
        return "Card(…)"


def full_year(year: int) -> int:
    """Two digits, as printed on a card, mean this century."""
    return year + 2000 if year < 100 else year


def month_has_passed(*, month: int, year: int, now: datetime) -> bool:
    """In the payer's favour: true only when the month is over in every time zone."""
    somewhere = now - LAST_PLACE_BEHIND
    return (full_year(year), month) < (somewhere.year, somewhere.month)


class Phone(msgspec.Struct, frozen=True):
    """In international form, with the operator chosen by the payer or guessed."""

    number: str
    operator: str


class Bank(msgspec.Struct, frozen=True):
    code: str


class TransferInstrument(msgspec.Struct, frozen=True):
    """A bank transfer needs no details to begin."""

    account_name: str
    expires_at: datetime


class HostedPage(msgspec.Struct, frozen=True):
    """The rail's own page asks for the details; none of them reach us."""


PaymentInstrument = Card | Phone | Bank | TransferInstrument | HostedPage


def choice_of(instrument: PaymentInstrument) -> str | None:
    """The operator or bank that the payer chose: not every rail takes each."""
    if isinstance(instrument, Phone):
        return instrument.operator
    return instrument.code if isinstance(instrument, Bank) else None


class Pin(msgspec.Struct, frozen=True):
    pin: str

    def __repr__(self) -> str:
        return "Pin(…)"


class Otp(msgspec.Struct, frozen=True):
    otp: str

    def __repr__(self) -> str:
        return "Otp(…)"


class Address(msgspec.Struct, frozen=True):
    line: str
    city: str
    country: str
    postal_code: str | None = None
    state: str | None = None


Authorization = Pin | Otp | Address
