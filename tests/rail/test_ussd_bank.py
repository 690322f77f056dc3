"""The banks that a payer can choose to dial."""

from __future__ import annotations

import re

from tidegate.core.method import Method
from tidegate.core.money import Currency
from tidegate.rail import ussd_bank


def test_every_currency_with_ussd_has_banks() -> None:
    assert set(ussd_bank.USSD_BANKS) == {currency for currency in Currency if Method.USSD in currency.spec.methods}


def test_a_bank_is_found_by_its_code() -> None:
    for each in ussd_bank.USSD_BANKS[Currency.NGN]:
        assert ussd_bank.find(each.code, Currency.NGN) is each
    assert ussd_bank.find("000", Currency.NGN) is None
    assert ussd_bank.find("058", Currency.KES) is None


def test_codes_prefixes_and_names_are_each_used_once_and_in_order() -> None:
    banks = ussd_bank.USSD_BANKS[Currency.NGN]
    for values in ([b.code for b in banks], [b.ussd for b in banks], [b.name for b in banks]):
        assert len(set(values)) == len(values)
    assert [b.name for b in banks] == sorted(b.name for b in banks)
    assert all(re.fullmatch(r"\d{3}", b.code) and re.fullmatch(r"\d{3,4}", b.ussd) for b in banks)


def test_a_code_to_dial_has_the_banks_prefix() -> None:
    gtb = ussd_bank.find("058", Currency.NGN)
    assert gtb is not None
    assert gtb.dial_code("123456") == "*737*000*123456#"


def test_no_two_banks_are_looked_for_by_the_same_name() -> None:
    names = [name.casefold() for each in ussd_bank.USSD_BANKS[Currency.NGN] for name in (each.name, *each.searched_as)]
    assert len(set(names)) == len(names)
    assert all("|" not in name for name in names)
