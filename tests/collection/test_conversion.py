"""Money into a wallet of another currency: pure arithmetic first, then both legs in the books."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflow import Inflows, credit
from tidegate.collection.rate import Rate, convert, worth_of
from tidegate.core.money import Currency, Money, Rounding

NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)


def rate(value: str, base: Currency = Currency.EUR, quote: Currency = Currency.USD, spread: int = 0) -> Rate:
    return Rate(base=base, quote=quote, rate=Decimal(value), spread_basis_points=spread, source="desk", quoted_at=NOW)


@pytest.mark.parametrize(
    ("minor", "value", "quote", "worth"),
    [
        (100_00, "1.0857", Currency.USD, 108_57),
        (1, "0.5", Currency.USD, 1),
        (1, "0.49", Currency.USD, 0),
        (100_00, "4123.456789", Currency.UGX, 412_346),
        (1, "4123.456789", Currency.UGX, 41),
        (10**17, "1.23456789", Currency.USD, 123456789000000000),
    ],
)
def test_an_amount_is_worth_what_the_rate_says_rounded_once_half_up(
    minor: int, value: str, quote: Currency, worth: int
) -> None:
    assert worth_of(Money(minor, Currency.EUR), rate(value, quote=quote)) == Money(worth, quote)


@given(
    minor=st.integers(1, 10**16),
    value=st.decimals("0.000001", "100000", places=6),
    spread=st.integers(0, 9_999),
    quote=st.sampled_from([Currency.USD, Currency.UGX]),
)
def test_what_is_converted_and_what_is_kept_are_all_of_it(
    minor: int, value: Decimal, spread: int, quote: Currency
) -> None:
    made = convert(Money(minor, Currency.EUR), rate(str(value), quote=quote, spread=spread))
    if made is None:
        worth = worth_of(Money(minor, Currency.EUR), rate(str(value), quote=quote))
        assert worth <= worth.basis_points(spread, rounding=Rounding.HALF_UP)
        return
    assert made.converted + made.spread == made.worth
    assert made.converted.minor > 0


def test_a_rate_says_nothing_about_another_currency() -> None:
    with pytest.raises(ValueError, match="cannot convert"):
        worth_of(Money(1, Currency.NGN), rate("1"))


async def test_both_legs_the_spread_and_the_rate_are_kept(inflows: Inflows) -> None:
    used = await inflows.set_rate(Currency.EUR, Currency.USD, "1.0857", spread=50)
    number = await inflows.number(Currency.EUR, Currency.USD)
    record = await inflows.notified(credit(number, 200_00))
    # 217.14 in all; half a percent is ours, and so are 5.00 EUR as 5.43 USD.
    assert await inflows.entries("inflow_converted") == {
        ("rail", "EUR", -200_00),
        ("conversion", "EUR", 200_00),
        ("conversion", "USD", -217_14),
        ("spread", "USD", 1_09),
        ("fee", "USD", 5_43),
        ("wallet", "USD", 210_62),
    }
    assert (await inflows.wallet("USD"), await inflows.wallet("EUR")) == (210_62, 0)
    shown = {name: str(record[name]) for name in ("sourceAmount", "destinationAmount", "fee", "amountReceived")}
    assert shown == {"sourceAmount": "200", "destinationAmount": "216.05", "fee": "5.43", "amountReceived": "210.62"}
    exchange = record["exchange"]
    assert (str(exchange["rate"]), exchange["source"], str(exchange["spread"])) == ("1.0857", "desk", "1.09")
    assert datetime.fromisoformat(exchange["quotedAt"]) == used.quoted_at.replace(
        microsecond=used.quoted_at.microsecond // 1000 * 1000
    )
    data = await inflows.event("collection.successful")
    assert (data["sourceCurrency"], data["destinationCurrency"], str(data["exchangeRate"])) == ("EUR", "USD", "1.0857")
    assert (data["destinationAmount"], data["amountReceived"]) == (
        record["destinationAmount"],
        record["amountReceived"],
    )
    assert (await inflows.page(destinationCurrency="USD"))["total"] == 1
    assert (await inflows.page(destinationCurrency="EUR"))["total"] == 0
    # A newer rate changes nothing that was.
    await inflows.set_rate(Currency.EUR, Currency.USD, "2")
    assert (await inflows.get(record["reference"]))["exchange"] == exchange


async def test_a_currency_without_decimals(inflows: Inflows) -> None:
    await inflows.set_rate(Currency.USD, Currency.UGX, "3700.5", spread=100)
    record = await inflows.notified(credit(await inflows.number(Currency.USD, Currency.UGX), 10_01, currency="USD"))
    # 37,042 in all, of which 370 are ours for the conversion and 18,503 are the fee of five dollars.
    assert (str(record["destinationAmount"]), str(record["fee"])) == ("36672", "18503")
    assert await inflows.wallet("UGX") == 36672 - 18503


@pytest.mark.parametrize("minor", [1, 4_99, 5_00])
async def test_a_fee_larger_than_the_amount_takes_all_of_it_and_no_more(inflows: Inflows, minor: int) -> None:
    record = await inflows.notified(credit(await inflows.number(), minor))
    assert (record["status"], int(record["fee"] * 100), int(record["amountReceived"])) == ("successful", minor, 0)
    assert await inflows.wallet("EUR") == 0
    assert await inflows.entries("inflow_credited") == {("rail", "EUR", -minor), ("fee", "EUR", minor)}


async def test_a_fee_larger_than_a_converted_amount(inflows: Inflows) -> None:
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.1")
    record = await inflows.notified(credit(await inflows.number(Currency.EUR, Currency.USD), 1))
    assert (record["status"], int(record["amountReceived"])) == ("successful", 0)
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.1", spread=9_999)
    record = await inflows.notified(credit(await inflows.number(Currency.EUR, Currency.USD), 1))
    assert (record["status"], record["amountReceived"]) == ("pending", None)


@pytest.mark.parametrize(
    ("quoted", "reason"),
    [("missing", "there is no exchange rate"), ("stale", "too old"), ("too small", "worth less")],
)
async def test_without_a_rate_to_be_trusted_it_is_held(inflows: Inflows, quoted: str, reason: str) -> None:
    number = await inflows.number(Currency.EUR, Currency.USD)
    await inflows.set_rate(Currency.USD, Currency.EUR, "0.9")
    if quoted == "stale":
        lasts = inflows.runtime.deps.inflow_terms.rate_lasts
        await inflows.set_rate(
            Currency.EUR, Currency.USD, "1.1", quoted_at=inflows.now - lasts - timedelta(milliseconds=1)
        )
    if quoted == "too small":
        await inflows.set_rate(Currency.EUR, Currency.USD, "0.1")
    record = await inflows.notified(credit(number, 1 if quoted == "too small" else 100_00))
    assert record["status"] == "pending"
    assert reason in record["reason"]
    assert await inflows.wallet("USD") == 0


@pytest.mark.parametrize("value", ["0", "-1", "NaN", "Infinity"])
async def test_a_rate_of_zero_cannot_be_stored(inflows: Inflows, value: str) -> None:
    with pytest.raises(asyncpg.PostgresError):
        await inflows.set_rate(Currency.EUR, Currency.USD, value)


async def test_the_newest_rate_counts(inflows: Inflows) -> None:
    number = await inflows.number(Currency.EUR, Currency.USD)
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.5")
    await inflows.set_rate(Currency.EUR, Currency.USD, "9", quoted_at=inflows.now - timedelta(minutes=1))
    assert str((await inflows.notified(credit(number)))["exchange"]["rate"]) == "1.5"
