"""Numbers of mobile wallets: as a payer types them, as a rail wants them, and whose they probably are."""

from __future__ import annotations

from dataclasses import dataclass

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumberFormat, PhoneNumberType, ValidationResult, carrier

from tidegate.core.money import Currency

TYPED_LENGTH_MAX = 40
_BETWEEN_DIGITS = frozenset("+-()./ \u00a0\u202f\u2010\u2011\u2012\u2013")
_MOBILE = (PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE_OR_MOBILE)


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
    """`carriers` are the names, in lower case, under which the number tables know it, past ones included."""

    id: str
    name: str
    carriers: tuple[str, ...]


_AIRTEL = Operator("airtel", "Airtel Money", ("airtel",))
_MTN = Operator("mtn", "MTN MoMo", ("mtn",))
# The most used first.
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

# Test numbers: the sandbox decides by the last four digits, and the whole is a valid number of the country.
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
    """The international form, +254712345678; raises ValueError with a sentence for the payer."""
    country = COUNTRIES.get(currency)
    if country is None:
        raise ValueError(f"Mobile money is not offered in {currency}.")
    _refuse_what_is_no_number(text, country)
    number = _parse(text, country)
    if number.country_code != country.calling_code:
        raise ValueError(
            f"This is a number of another country; a payment in {currency} needs "
            f"a {country.adjective} number, +{country.calling_code}."
        )
    _refuse_wrong_length(number, country)
    if not phonenumbers.is_valid_number(number) or phonenumbers.number_type(number) not in _MOBILE:
        raise ValueError(f"This is not a {country.adjective} mobile number. {_like(country)}")
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)


def operator_of(number: str, currency: Currency) -> Operator | None:
    """A guess for an international number: ported numbers keep their old operator here. Pre-select, never force."""
    try:
        name = carrier.name_for_number(phonenumbers.parse(number), "en").lower()
    except NumberParseException:
        return None
    return next((operator for operator in OPERATORS.get(currency, ()) if name in operator.carriers), None)


def find_operator(operator_id: str, currency: Currency) -> Operator | None:
    return next((operator for operator in OPERATORS.get(currency, ()) if operator.id == operator_id), None)


def _refuse_what_is_no_number(text: str, country: Country) -> None:
    # The library reads letters as the keys they stand on, extensions and whole sentences too; none of it is meant here.
    if not all(character.isdecimal() or character in _BETWEEN_DIGITS for character in text):
        raise ValueError(f"A phone number has digits only. {_like(country)}")
    if not any(character.isdecimal() for character in text):
        raise ValueError(f"Enter a phone number. {_like(country)}")
    if len(text) > TYPED_LENGTH_MAX:
        raise ValueError(f"This number is too long. {_like(country)}")


def _parse(text: str, country: Country) -> phonenumbers.PhoneNumber:
    typed = text.strip()
    # 00 is how most of the world writes +, also where the exchange wants 000.
    international = f"+{typed[2:]}" if typed.startswith("00") else typed
    try:
        return phonenumbers.parse(international, country.region)
    except NumberParseException as error:
        wrong = {
            NumberParseException.INVALID_COUNTRY_CODE: "This number begins with a country code that does not exist.",
            NumberParseException.TOO_LONG: "This number is too long.",
        }.get(error.error_type, "This number is too short.")
        raise ValueError(f"{wrong} {_like(country)}") from None


def _refuse_wrong_length(number: phonenumbers.PhoneNumber, country: Country) -> None:
    # Of mobile numbers: a landline may be shorter.
    length = phonenumbers.is_possible_number_for_type_with_reason(number, PhoneNumberType.MOBILE)
    if length in (ValidationResult.TOO_SHORT, ValidationResult.IS_POSSIBLE_LOCAL_ONLY):
        raise ValueError(f"This number is too short. {_like(country)}")
    if length == ValidationResult.TOO_LONG:
        raise ValueError(f"This number is too long. {_like(country)}")


def _like(country: Country) -> str:
    return f"A {country.adjective} number looks like {country.example}."
