"""A wallet's statement: every line with the balance after it, between two exact balances."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build import Checkout, Shop
from checkout.paying import card
from conftest import MakeCheckout, MakeShop
from payment.refusal import assert_says_no
from tidegate.core.money import Currency
from tidegate.infra.db import Database
from tidegate.runtime import Runtime
from wallet.merchant import MIDNIGHT, MINUTE, Merchant, refund, sale


@pytest.fixture
def merchant(db: Database, shop: Shop) -> Merchant:
    return Merchant(db, shop)


async def test_a_line_says_everything_about_a_payment(db: Database, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    assert (await checkout.charge(card())).status_code == 200
    page = await Merchant(db, checkout.shop).statement()
    [line] = page.pop("results")
    record = await checkout.record()
    assert record["createdAt"] <= line["at"]
    assert line.pop("at") == line.pop("happenedAt")
    assert line.pop("id") > 0
    assert line == {
        "kind": "checkout_settled",
        "description": "Checkout payment from Ada Obi",
        "reference": checkout.reference,
        "direction": "in",
        "amount": Decimal("98.49"),
        "fee": Decimal("1.4"),
        "vat": Decimal("0.11"),
        "currency": "NGN",
        "balance": Decimal("98.49"),
    }
    assert int(page.pop("walletNumber")) > 1_000_000_000
    assert page == {"currency": "NGN", "openingBalance": 0, "closingBalance": Decimal("98.49"), "nextCursor": None}


async def ask_refund(checkout: Checkout, amount: float) -> str:
    answer = await checkout.shop.client.post(
        "/collections/refund",
        json={"transReference": checkout.reference, "amount": amount},
        headers={"api-key": checkout.shop.secret_key},
    )
    assert answer.status_code == 200, answer.text
    reference: str = answer.json()["data"]["reference"]
    return reference


async def test_a_refund_leaves_at_once_and_comes_back_when_it_fails(db: Database, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    assert (await checkout.charge(card())).status_code == 200
    reference = await ask_refund(checkout, 40.13)  # Which the sandbox declines.
    await checkout.tick()
    await checkout.let_pass("5s")
    lines = await Merchant(db, checkout.shop).lines(order="asc")
    assert [(line["direction"], line["amount"], line["balance"]) for line in lines] == [
        ("in", Decimal("98.49"), Decimal("98.49")),
        ("out", Decimal("-40.13"), Decimal("58.36")),
        ("in", Decimal("40.13"), Decimal("98.49")),
    ]
    assert [line["reference"] for line in lines[1:]] == [reference, reference]
    assert [line["description"] for line in lines[1:]] == [
        f"Refund of {checkout.reference}",
        f"Failed refund of {checkout.reference}",
    ]


async def test_a_line_without_its_cause_still_stands(merchant: Merchant) -> None:
    """The books outlive whatever they are about."""
    await merchant.book(sale(1), sale(1, cause="payment/999999"), sale(1, cause="payment/no"), refund(1))
    lines = await merchant.lines()
    assert [(line["description"], line["reference"]) for line in lines] == [
        ("Refund", None), *[("Checkout payment", None)] * 3
    ]  # fmt: skip


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(1, 10**12), st.booleans(), st.integers(0, 500)), min_size=1, max_size=25))
async def test_every_balance_is_the_sum_of_what_came_before(
    merchant: Merchant, new_shop: MakeShop, moves: list[tuple[int, bool, int]]
) -> None:
    own = Merchant(merchant.db, await new_shop(rate_per_second=100_000, rate_burst=100_000))
    balance, expected = 0, []
    for minor, is_out, fee in moves:
        is_possible = is_out and balance >= minor
        await own.book(refund(minor) if is_possible else sale(minor, fee=fee))
        amount = -minor if is_possible else minor
        balance += amount
        expected.append((amount, balance, 0 if is_possible else fee))
    lines = await own.lines(order="asc", perPage=7)
    found = [(line["amount"] * 100, line["balance"] * 100, line["fee"] * 100) for line in lines]
    assert found == expected
    assert await own.lines(perPage=4) == lines[::-1]
    page = await own.statement()
    assert (page["openingBalance"], page["closingBalance"] * 100) == (0, balance)


async def test_a_day_has_what_was_booked_from_midnight_to_midnight(merchant: Merchant) -> None:
    day = timedelta(days=1)
    tick = timedelta(microseconds=1)
    for minor, at in ((1, -tick), (2, timedelta(0)), (4, day - tick), (8, day), (16, 2 * day)):
        await merchant.book(sale(minor * 100), at=MIDNIGHT + at)
    whole = await merchant.statement(dateFrom="2026-11-02", dateTo="2026-11-02")
    assert [line["amount"] for line in whole["results"]] == [4, 2]
    assert (whole["openingBalance"], whole["closingBalance"]) == (1, 7)
    exact = await merchant.statement(dateFrom="2026-11-02T01:00:00+01:00", dateTo="2026-11-03T00:00:00Z")
    assert exact == whole
    since = await merchant.statement(dateFrom="2026-11-03")
    assert [line["amount"] for line in since["results"]] == [16, 8]
    assert (since["openingBalance"], since["closingBalance"]) == (7, 31)
    until = await merchant.statement(dateTo="2026-11-01")
    assert [line["amount"] for line in until["results"]] == [1]
    assert (until["openingBalance"], until["closingBalance"]) == (0, 1)


@pytest.mark.parametrize(
    ("dates", "balance"),
    [
        ({"dateTo": "2026-10-01"}, 0),
        ({"dateFrom": "2026-10-01", "dateTo": "2026-10-31"}, 0),
        ({"dateFrom": "2026-11-03", "dateTo": "2026-11-04"}, 100),
        ({"dateFrom": "2026-12-01"}, 90),
    ],
)
async def test_a_period_without_lines_opens_and_closes_alike(
    merchant: Merchant, dates: dict[str, str], balance: int
) -> None:
    await merchant.book(sale(100_00))
    await merchant.book(refund(10_00), at=MIDNIGHT + timedelta(days=5))
    page = await merchant.statement(**dates)
    assert (page["results"], page["nextCursor"]) == ([], None)
    assert page["openingBalance"] == page["closingBalance"] == balance


async def test_wallets_do_not_mix(merchant: Merchant, new_shop: MakeShop) -> None:
    other = await new_shop()
    for minor in (1_00, 2_00):
        await merchant.book(sale(minor), sale(minor * 10, Currency.USD))
        await merchant.book(sale(minor * 100), business_id=other.business_id)
    assert [line["balance"] for line in await merchant.lines()] == [3, 1]
    assert [line["balance"] for line in await merchant.lines("USD")] == [30, 10]
    assert [line["balance"] for line in await Merchant(merchant.db, other).lines()] == [300, 100]


@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_a_walk_sees_each_line_once_while_others_are_booked(
    merchant: Merchant, runtime: Runtime, order: str
) -> None:
    there = await merchant.book(*(sale(n) for n in range(1, 8)))
    query: dict[str, Any] = {"order": order, "perPage": 3}
    page = await merchant.statement(**query)
    seen = [line["id"] for line in page["results"]]
    later: list[int] = []
    while page["nextCursor"]:
        later += await merchant.book(sale(1)) if len(later) < 4 else []
        page = await merchant.statement(**query, cursor=page["nextCursor"])
        seen += [line["id"] for line in page["results"]]
    stored = [runtime.public_ids.statement_line.reveal(number) for number in seen]
    assert stored == ([*there, *later] if order == "asc" else there[::-1])


async def test_a_cursor_fits_the_statement_it_came_from(merchant: Merchant, new_shop: MakeShop) -> None:
    await merchant.book(*(sale(n) for n in (1, 2, 3)), *(sale(n, Currency.USD) for n in (1, 2, 3)))
    cursor = (await merchant.statement(perPage=1))["nextCursor"]
    other = Merchant(merchant.db, await new_shop())
    await other.book(*(sale(n) for n in (1, 2, 3)))
    for asked in (
        await merchant.ask("/wallets/USD/statement", cursor=cursor),
        await merchant.ask("/wallets/NGN/statement", cursor=cursor, order="asc"),
        await merchant.ask("/wallets/NGN/statement", cursor=cursor, dateFrom="2026-01-01"),
        await other.ask("/wallets/NGN/statement", cursor=cursor),
    ):
        assert_says_no(asked, 400, "MALFORMED_REQUEST")


@pytest.mark.parametrize("currency", ["USD", "XXX", "ngn", "NGN%00", "\u202eNGN"])
async def test_a_currency_without_a_wallet_is_not_found(merchant: Merchant, currency: str) -> None:
    await merchant.book(sale(1))
    for accept in ("", "text/csv", "application/pdf"):
        answer = await merchant.ask(f"/wallets/{currency}/statement", accept=accept)
        assert_says_no(answer, 404, "RESOURCE_NOT_FOUND")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"dateFrom": "2026-11-31"}, "dateFrom"),
        ({"dateTo": "yesterday"}, "dateTo"),
        ({"dateFrom": "2026-11-03", "dateTo": "2026-11-02"}, "dateTo"),
        ({"order": "up"}, "order"),
        ({"perPage": "101"}, "perPage"),
        ({"perPage": "0"}, "perPage"),
        ({"page": "2"}, "page"),
        ({"cursor": "x"}, "cursor"),
    ],
)
async def test_a_wrong_question_is_refused(merchant: Merchant, query: dict[str, str], field: str) -> None:
    await merchant.book(sale(1), at=MIDNIGHT + MINUTE)
    answer = await merchant.ask("/wallets/NGN/statement", **query)
    assert_says_no(answer, 422, "VALIDATION_FAILED", field=field)
