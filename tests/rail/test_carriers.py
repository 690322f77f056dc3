"""The carriers of five countries, against the number tables of the whole world."""

from __future__ import annotations

import secrets

import phonenumbers
import pytest
from phonenumbers import carrier
from phonenumbers.carrierdata import CARRIER_DATA

from tidegate.core.money import Currency
from tidegate.rail import phone
from tidegate.rail.mobile_money import MOBILE_MONEY

NUMBERS = 3_000
each_currency = pytest.mark.parametrize("currency", list(MOBILE_MONEY))


@each_currency
def test_our_table_says_what_the_tables_of_the_whole_world_say(currency: Currency) -> None:
    """When a new version of phonenumbers knows more, this shows what to write into rail/mobile_money.py."""
    code = MOBILE_MONEY[currency].calling_code
    theirs = {key.removeprefix(str(code)): names["en"] for key, names in CARRIER_DATA.items() if _is_of(key, code)}
    assert MOBILE_MONEY[currency].carriers == theirs


def _is_of(key: str, code: int) -> bool:
    return key.startswith(str(code))


@each_currency
def test_the_operator_is_the_one_that_phonenumbers_would_find(currency: Currency) -> None:
    code = MOBILE_MONEY[currency].calling_code
    found = set()
    # Also numbers that nobody has: too short, too long, landlines.
    for digits in (6, 7, 8, 9, 9, 9, 10):
        for _ in range(NUMBERS // 7):
            number = f"+{code}{secrets.randbelow(10**digits):0{digits}d}"
            name = carrier.name_for_number(phonenumbers.parse(number), "en")
            operator = phone.operator_of(number, currency)
            assert (operator is not None) == any(
                name.lower() in each.carriers for each in MOBILE_MONEY[currency].operators
            )
            assert operator is None or name.lower() in operator.carriers
            found.add(operator)
    assert len(found) > 1


def test_a_number_of_another_country_has_no_operator_of_this_one() -> None:
    assert phone.operator_of("+256702345678", Currency.UGX) is not None
    assert phone.operator_of("+256702345678", Currency.KES) is None
