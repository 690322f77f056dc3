"""Numbers of mobile wallets: parsing, formatting, and guessing the operator."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache, lru_cache

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumberFormat, PhoneNumberType, ValidationResult

from tidegate.core import digit
from tidegate.core.money import Currency
from tidegate.rail.mobile_money import MOBILE_MONEY, MobileMoney, Operator

TYPED_LENGTH_MAX = 40
NATIONAL_REMEMBERED_MAX = 1_000
_BETWEEN_DIGITS = frozenset("+-()./ \u00a0\u202f\u2010\u2011\u2012\u2013")
_MOBILE = (PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE_OR_MOBILE)


class NumberFault(StrEnum):
    EMPTY = "empty"
    NOT_DIGITS = "not_digits"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    UNKNOWN_COUNTRY_CODE = "unknown_country_code"
    OTHER_COUNTRY = "other_country"
    NOT_MOBILE = "not_mobile"


class WrongNumber(ValueError):
    """Not a possible wallet number. The text is for the payer; `kind` selects its translation."""

    def __init__(self, kind: NumberFault, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


def parse(text: str, currency: Currency) -> str:
    """The international form, +254712345678; raises WrongNumber."""
    country = MOBILE_MONEY.get(currency)
    if country is None:
        raise ValueError(f"Mobile money is not offered in {currency}.")
    _refuse_what_is_no_number(text, country)
    number = _parse(text, country, currency.spec.country)
    if number.country_code != country.calling_code:
        raise WrongNumber(
            NumberFault.OTHER_COUNTRY,
            f"This is a number of another country; a payment in {currency} needs "
            f"a {country.adjective} number, +{country.calling_code}.",
        )
    _refuse_wrong_length(number, country)
    if not phonenumbers.is_valid_number(number) or phonenumbers.number_type(number) not in _MOBILE:
        raise _wrong(NumberFault.NOT_MOBILE, country)
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)


@lru_cache(maxsize=NATIONAL_REMEMBERED_MAX)
def national(text: str, currency: Currency) -> str | None:
    """The national form, 0712 345678; None for what `parse` would refuse."""
    try:
        number = phonenumbers.parse(parse(text, currency))
    except ValueError:
        return None
    return phonenumbers.format_number(number, PhoneNumberFormat.NATIONAL)


def operator_of(number: str, currency: Currency) -> Operator | None:
    """A guess: a ported number keeps its old operator here. Pre-select, never force."""
    try:
        parsed = phonenumbers.parse(number)
    except NumberParseException:
        return None
    country = MOBILE_MONEY.get(currency)
    if country is None or parsed.country_code != country.calling_code:
        return None
    if phonenumbers.number_type(parsed) not in _MOBILE:
        return None
    return country.operator_of(phonenumbers.national_significant_number(parsed))


@cache
def prefixes(currency: Currency) -> dict[str, str]:
    """Prefixes of national numbers and their operators, so that a page can guess while the payer types.

    No prefix is the beginning of another, so at most one matches.
    """
    country = MOBILE_MONEY.get(currency)
    if country is None:
        return {}
    owners = {prefix: country.operator_named(carrier) for prefix, carrier in country.carriers.items()}
    return _apart("", owners, None)


def _apart(prefix: str, owners: Mapping[str, Operator | None], outer: Operator | None) -> dict[str, str]:
    """In the tables a longer prefix overrides a shorter one; here the shorter one is split so that none overlap."""
    owner = owners.get(prefix, outer)
    if not any(longer.startswith(prefix) and longer != prefix for longer in owners):
        return {prefix: owner.id} if owner else {}
    inner: dict[str, str] = {}
    for following in "0123456789":
        inner |= _apart(prefix + following, owners, owner)
    return inner


def find_operator(operator_id: str, currency: Currency) -> Operator | None:
    operators = MOBILE_MONEY[currency].operators if currency in MOBILE_MONEY else ()
    return next((operator for operator in operators if operator.id == operator_id), None)


def _refuse_what_is_no_number(text: str, country: MobileMoney) -> None:
    # The library also accepts vanity letters, extensions and whole sentences; none of these is a wallet number.
    if not all(character.isdecimal() or character in _BETWEEN_DIGITS for character in text):
        raise _wrong(NumberFault.NOT_DIGITS, country)
    if not any(character.isdecimal() for character in text):
        raise _wrong(NumberFault.EMPTY, country)
    if len(text) > TYPED_LENGTH_MAX:
        raise _wrong(NumberFault.TOO_LONG, country)


def _parse(text: str, country: MobileMoney, region: str) -> phonenumbers.PhoneNumber:
    typed = digit.in_ascii(text).strip()
    # 00 is the usual prefix for +, accepted also where the national one is 000.
    international = f"+{typed[2:]}" if typed.startswith("00") else typed
    try:
        return phonenumbers.parse(international, region)
    except NumberParseException as error:
        kind = {
            NumberParseException.INVALID_COUNTRY_CODE: NumberFault.UNKNOWN_COUNTRY_CODE,
            NumberParseException.TOO_LONG: NumberFault.TOO_LONG,
        }.get(error.error_type, NumberFault.TOO_SHORT)
        raise _wrong(kind, country) from None


def _refuse_wrong_length(number: phonenumbers.PhoneNumber, country: MobileMoney) -> None:
    # Checked as a mobile number: a landline may be shorter.
    length = phonenumbers.is_possible_number_for_type_with_reason(number, PhoneNumberType.MOBILE)
    if length in (ValidationResult.TOO_SHORT, ValidationResult.IS_POSSIBLE_LOCAL_ONLY):
        raise _wrong(NumberFault.TOO_SHORT, country)
    if length == ValidationResult.TOO_LONG:
        raise _wrong(NumberFault.TOO_LONG, country)


_SENTENCES: dict[NumberFault, str] = {
    NumberFault.EMPTY: "Enter a phone number.",
    NumberFault.NOT_DIGITS: "A phone number has digits only.",
    NumberFault.TOO_SHORT: "This number is too short.",
    NumberFault.TOO_LONG: "This number is too long.",
    NumberFault.UNKNOWN_COUNTRY_CODE: "This number begins with a country code that does not exist.",
    NumberFault.NOT_MOBILE: "This is not a {adjective} mobile number.",
}


def _wrong(kind: NumberFault, country: MobileMoney) -> WrongNumber:
    sentence = _SENTENCES[kind].format(adjective=country.adjective)
    return WrongNumber(kind, f"{sentence} A {country.adjective} number looks like {country.example}.")
