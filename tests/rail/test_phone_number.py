"""Phone numbers as payers type them, and the operators guessed from them."""

from __future__ import annotations

import secrets
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.method import Method
from tidegate.core.money import Currency
from tidegate.rail import phone
from tidegate.rail.mobile_money import MOBILE_MONEY
from tidegate.rail.sandbox.begin import PHONES

each_currency = pytest.mark.parametrize("currency", list(MOBILE_MONEY))


@pytest.mark.parametrize(
    ("typed", "currency", "number"),
    [
        ("0712 345 678", Currency.KES, "+254712345678"),
        ("712345678", Currency.KES, "+254712345678"),
        ("+254 712 345 678", Currency.KES, "+254712345678"),
        ("254712345678", Currency.KES, "+254712345678"),
        ("00254712345678", Currency.KES, "+254712345678"),
        ("+254 (0) 712-345-678", Currency.KES, "+254712345678"),
        ("  0712.345.678 ", Currency.KES, "+254712345678"),
        ("٠٧١٢٣٤٥٦٧٨", Currency.KES, "+254712345678"),
        ("0110 345 678", Currency.KES, "+254110345678"),
        ("0772345678", Currency.UGX, "+256772345678"),
        ("024 412 3456", Currency.GHS, "+233244123456"),
        ("0977 123456", Currency.ZMW, "+260977123456"),
        ("0754 123 456", Currency.TZS, "+255754123456"),
    ],
)
def test_a_number_is_understood_however_it_is_typed(typed: str, currency: Currency, number: str) -> None:
    assert phone.parse(typed, currency) == number


@pytest.mark.parametrize(
    ("typed", "kind", "sentence"),
    [
        ("+256 772 345 678", "other_country", "another country; a payment in KES needs a Kenyan number, [+]254"),
        ("+44 7911 123456", "other_country", "another country"),
        ("0044 7911 123456", "other_country", "another country"),
        ("0712 345", "too_short", "too short"),
        ("07", "too_short", "too short"),
        ("0712 345 678 9", "too_long", "too long"),
        ("1" * 30, "too_long", "too long"),
        ("1" * 1_000, "too_long", "too long"),
        ("0712 FLOWER", "not_digits", "digits only"),
        ("0712345678 ext. 3", "not_digits", "digits only"),
        ("<b>0712345678</b>", "not_digits", "digits only"),
        ("0712\x00345678", "not_digits", "digits only"),
        ("", "empty", "Enter a phone number"),
        ("+", "empty", "Enter a phone number"),
        (" - ", "empty", "Enter a phone number"),
        ("+999 123 456 789", "unknown_country_code", "country code that does not exist"),
        ("020 2345678", "not_mobile", "not a Kenyan mobile number"),
        ("0612 345 678", "not_mobile", "not a Kenyan mobile number"),
    ],
)
def test_another_number_is_refused_in_a_sentence_and_by_a_name(typed: str, kind: str, sentence: str) -> None:
    with pytest.raises(phone.WrongNumber, match=sentence) as refused:
        phone.parse(typed, Currency.KES)
    assert str(refused.value).endswith(".")
    assert refused.value.kind == kind


def test_a_currency_without_mobile_money_has_no_numbers() -> None:
    with pytest.raises(ValueError, match="not offered in NGN"):
        phone.parse("08012345678", Currency.NGN)


@given(st.text(max_size=60), st.sampled_from(Currency))
def test_whatever_is_typed_is_a_number_or_a_sentence(typed: str, currency: Currency) -> None:
    try:
        outcome = phone.parse(typed, currency)
    except ValueError as refused:
        outcome = str(refused)
    assert outcome.endswith(".") or phone.parse(outcome, currency) == outcome


@given(st.text("0123456789+- ", max_size=16), st.sampled_from(list(MOBILE_MONEY)))
def test_digits_are_a_number_of_the_country_or_a_sentence(typed: str, currency: Currency) -> None:
    try:
        number = phone.parse(typed, currency)
    except ValueError:
        return
    assert number.startswith(f"+{MOBILE_MONEY[currency].calling_code}")


@each_currency
def test_every_country_has_its_table(currency: Currency) -> None:
    assert phone.parse(MOBILE_MONEY[currency].example, currency)
    ids = [operator.id for operator in MOBILE_MONEY[currency].operators]
    assert len(ids) == len(set(ids)) >= 2
    assert [phone.find_operator(each, currency) for each in ids] == list(MOBILE_MONEY[currency].operators)
    assert phone.find_operator("nobody", currency) is None


def test_a_currency_has_a_row_where_it_offers_mobile_money() -> None:
    assert set(MOBILE_MONEY) == {currency for currency in Currency if Method.MOBILE_MONEY in currency.spec.methods}


@each_currency
def test_every_test_number_exists_in_every_country(currency: Currency) -> None:
    assert set(MOBILE_MONEY[currency].test_numbers) == set(PHONES)
    for suffix, number in MOBILE_MONEY[currency].test_numbers.items():
        assert number.endswith(suffix)
        assert phone.parse(number, currency) == number
        assert phone.operator_of(number, currency) is not None


@pytest.mark.parametrize(
    ("number", "currency", "operator"),
    [
        ("+254712345678", Currency.KES, "mpesa"),
        ("+254733345678", Currency.KES, "airtel"),
        ("+254770345678", Currency.KES, "tkash"),
        ("+256772345678", Currency.UGX, "mtn"),
        ("+256702345678", Currency.UGX, "airtel"),
        ("+233244123456", Currency.GHS, "mtn"),
        ("+233202123456", Currency.GHS, "telecel"),
        ("+233272123456", Currency.GHS, "at"),
        ("+260977123456", Currency.ZMW, "airtel"),
        ("+260967123456", Currency.ZMW, "mtn"),
        ("+260955123456", Currency.ZMW, "zamtel"),
        ("+255754123456", Currency.TZS, "mpesa"),
        ("+255714123456", Currency.TZS, "mixx"),
        ("+255784123456", Currency.TZS, "airtel"),
        ("+255624123456", Currency.TZS, "halopesa"),
        ("+255734123456", Currency.TZS, "tpesa"),
    ],
)
def test_the_operator_is_guessed_from_the_number(number: str, currency: Currency, operator: str) -> None:
    guessed = phone.operator_of(number, currency)
    assert guessed is not None
    assert guessed.id == operator


@pytest.mark.parametrize("number", ["", "junk", "+256710345678", "+442079460000"])
def test_an_unknown_operator_is_not_guessed(number: str) -> None:
    assert phone.operator_of(number, Currency.UGX) is None


# What a page guesses while the number is typed.


def by_prefix(number: str, currency: Currency) -> list[str]:
    """Every guess that fits, so that a second one shows."""
    national = number.removeprefix(f"+{MOBILE_MONEY[currency].calling_code}")
    return [operator for prefix, operator in phone.prefixes(currency).items() if national.startswith(prefix)]


NATIONAL_DIGITS = 9
NUMBERS = 2_000


def some_mobile_number(currency: Currency) -> str:
    """Any that the country has given out, each as likely as any other."""
    while True:
        digits = secrets.randbelow(10**NATIONAL_DIGITS)
        number = f"+{MOBILE_MONEY[currency].calling_code}{digits:0{NATIONAL_DIGITS}d}"
        with suppress(phone.WrongNumber):
            return phone.parse(number, currency)


@each_currency
def test_the_guess_by_prefix_is_the_guess_by_number(currency: Currency) -> None:
    seen = set()
    for number in (some_mobile_number(currency) for _ in range(NUMBERS)):
        operator = phone.operator_of(number, currency)
        assert by_prefix(number, currency) == ([operator.id] if operator else []), number
        seen.add(operator)
    assert seen >= set(MOBILE_MONEY[currency].operators)


@each_currency
def test_the_prefixes_are_few(currency: Currency) -> None:
    assert 1 < len(phone.prefixes(currency)) < 60
    assert all(prefix.isdecimal() and len(prefix) <= 5 for prefix in phone.prefixes(currency))


def test_a_currency_without_mobile_money_has_no_prefixes() -> None:
    assert phone.prefixes(Currency.NGN) == {}
