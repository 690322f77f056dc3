from __future__ import annotations

import pytest

from tidegate.core.method import Method, MethodNames
from tidegate.core.money import CHECKOUT_OFFERS, Currency

YES = {
    "KES": {"bank_transfer", "mobile_money"},
    "ZMW": {"card", "mobile_money"},
    "UGX": {"bank_transfer", "mobile_money"},
    "ZAR": {"bank_transfer", "card"},
    "TZS": {"mobile_money"},
    "GHS": {"bank_transfer", "mobile_money"},
    "NGN": {"bank_transfer", "card", "ussd"},
    "USD": {"card"},
    "EUR": set(),
}


def test_the_matrix_has_every_currency() -> None:
    assert set(YES) == set(Currency)


@pytest.mark.parametrize("currency", Currency)
@pytest.mark.parametrize("method", Method)
def test_the_matrix_is_the_specifications(currency: Currency, method: Method) -> None:
    assert (method in currency.spec.methods) is (method.value in YES[currency.value])


@pytest.mark.parametrize("method", Method)
def test_every_method_has_both_spellings_and_is_found_by_each(method: Method) -> None:
    names = MethodNames()
    for text in (names.in_request(method), names.in_record(method), names.in_request(method).upper()):
        assert names.find(text) is method
    assert names.in_record(method) == names.in_request(method).lower()


def test_the_ussd_method_has_the_published_name_unless_set() -> None:
    assert MethodNames().in_request(Method.USSD) == "payAttitude"
    assert MethodNames().in_record(Method.USSD) == "payattitude"
    assert MethodNames(ussd="dialPay").find("DIALPAY") is Method.USSD
    assert MethodNames(ussd="dialPay").find("payAttitude") is None


def test_every_checkout_currency_has_methods_and_a_maximum() -> None:
    assert all(currency.spec.methods and offer.max_major > 0 for currency, offer in CHECKOUT_OFFERS.items())


def test_mobile_money_comes_first_wherever_it_is_offered() -> None:
    with_mobile_money = [currency for currency in Currency if Method.MOBILE_MONEY in currency.spec.methods]
    assert {currency.spec.methods[0] for currency in with_mobile_money} == {Method.MOBILE_MONEY}
    assert Currency.NGN.spec.methods == (Method.BANK_TRANSFER, Method.CARD, Method.USSD)
