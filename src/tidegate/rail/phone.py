"""Numbers of mobile wallets: parsing, formatting, and guessing the operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumberFormat, PhoneNumberType, ValidationResult

from tidegate.core import digit
from tidegate.core.money import Currency
from tidegate.rail.carriers import CARRIERS, carrier_of

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


@dataclass(frozen=True, slots=True)
class Country:
    region: str
    calling_code: int
    # As in "a Kenyan number".
    adjective: str
    example: str


COUNTRIES: dict[Currency, Country] = {
    Currency.KES: Country("KE", 254, "Kenyan", "0712 345 678"),
    Currency.UGX: Country("UG", 256, "Ugandan", "0772 345 678"),
    Currency.GHS: Country("GH", 233, "Ghanaian", "024 123 4567"),
    Currency.ZMW: Country("ZM", 260, "Zambian", "097 123 4567"),
    Currency.TZS: Country("TZ", 255, "Tanzanian", "0754 123 456"),
}


@dataclass(frozen=True, slots=True)
class Operator:
    """`carriers` are its names in the number tables, in lower case, past ones included."""

    id: str
    name: str
    carriers: tuple[str, ...]


_AIRTEL = Operator("airtel", "Airtel Money", ("airtel",))
_MTN = Operator("mtn", "MTN MoMo", ("mtn",))
# The most used operator first.
OPERATORS: dict[Currency, tuple[Operator, ...]] = {
    Currency.KES: (
        Operator("mpesa", "M-PESA", ("safaricom",)),
        _AIRTEL,
        Operator("tkash", "T-kash", ("telkom", "orange")),
    ),
    Currency.UGX: (_MTN, _AIRTEL),
    Currency.GHS: (
        _MTN,
        Operator("telecel", "Telecel Cash", ("telecel", "vodafone")),
        Operator("at", "AT Money", ("at", "airteltigo", "airtel", "tigo")),
    ),
    Currency.ZMW: (_AIRTEL, _MTN, Operator("zamtel", "Zamtel Money", ("zamtel",))),
    Currency.TZS: (
        Operator("mpesa", "M-Pesa", ("vodacom",)),
        Operator("mixx", "Mixx by Yas", ("yas", "tigo")),
        _AIRTEL,
        Operator("halopesa", "HaloPesa", ("viettel", "halotel")),
        Operator("tpesa", "T-Pesa", ("tanzania telecom", "ttcl")),
    ),
}

# Test numbers: the sandbox decides by the last four digits; the whole is a valid number of the country.
_EXAMPLE_STEMS: dict[Currency, str] = {
    Currency.KES: "+25471234",
    Currency.UGX: "+25677234",
    Currency.GHS: "+23324412",
    Currency.ZMW: "+26097712",
    Currency.TZS: "+25575412",
}
EXAMPLES: dict[Currency, dict[str, str]] = {
    currency: {suffix: stem + suffix for suffix in ("0000", "0001", "0002", "0003", "0004", "0005")}
    for currency, stem in _EXAMPLE_STEMS.items()
}


def parse(text: str, currency: Currency) -> str:
    """The international form, +254712345678; raises WrongNumber."""
    country = COUNTRIES.get(currency)
    if country is None:
        raise ValueError(f"Mobile money is not offered in {currency}.")
    _refuse_what_is_no_number(text, country)
    number = _parse(text, country)
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
    country = COUNTRIES.get(currency)
    if country is None or parsed.country_code != country.calling_code:
        return None
    if phonenumbers.number_type(parsed) not in _MOBILE:
        return None
    national = phonenumbers.national_significant_number(parsed)
    return _operator_named(carrier_of(national, country.calling_code), currency)


@cache
def prefixes(currency: Currency) -> dict[str, str]:
    """Prefixes of national numbers and their operators, so that a page can guess while the payer types.

    No prefix is the beginning of another, so at most one matches.
    """
    country = COUNTRIES.get(currency)
    if country is None:
        return {}
    carriers = CARRIERS[country.calling_code]
    owners = {prefix: _operator_named(name, currency) for prefix, name in carriers.items()}
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


def _operator_named(name: str, currency: Currency) -> Operator | None:
    operators = OPERATORS.get(currency, ())
    return next((operator for operator in operators if name.lower() in operator.carriers), None)


def find_operator(operator_id: str, currency: Currency) -> Operator | None:
    return next((operator for operator in OPERATORS.get(currency, ()) if operator.id == operator_id), None)


def _refuse_what_is_no_number(text: str, country: Country) -> None:
    # The library also accepts vanity letters, extensions and whole sentences; none of these is a wallet number.
    if not all(character.isdecimal() or character in _BETWEEN_DIGITS for character in text):
        raise _wrong(NumberFault.NOT_DIGITS, country)
    if not any(character.isdecimal() for character in text):
        raise _wrong(NumberFault.EMPTY, country)
    if len(text) > TYPED_LENGTH_MAX:
        raise _wrong(NumberFault.TOO_LONG, country)


def _parse(text: str, country: Country) -> phonenumbers.PhoneNumber:
    typed = digit.in_ascii(text).strip()
    # 00 is the usual prefix for +, accepted also where the national one is 000.
    international = f"+{typed[2:]}" if typed.startswith("00") else typed
    try:
        return phonenumbers.parse(international, country.region)
    except NumberParseException as error:
        kind = {
            NumberParseException.INVALID_COUNTRY_CODE: NumberFault.UNKNOWN_COUNTRY_CODE,
            NumberParseException.TOO_LONG: NumberFault.TOO_LONG,
        }.get(error.error_type, NumberFault.TOO_SHORT)
        raise _wrong(kind, country) from None


def _refuse_wrong_length(number: phonenumbers.PhoneNumber, country: Country) -> None:
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


def _wrong(kind: NumberFault, country: Country) -> WrongNumber:
    sentence = _SENTENCES[kind].format(adjective=country.adjective)
    return WrongNumber(kind, f"{sentence} A {country.adjective} number looks like {country.example}.")
