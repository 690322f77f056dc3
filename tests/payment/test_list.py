"""Listing payments: filters, pages, files. A refused request writes nothing and shows nothing."""

from __future__ import annotations

import csv
import io
from typing import Any

import httpx
import pytest

from build import Checkout, Shop, order
from conftest import MakeCheckout, MakeShop
from payment.refusal import assert_each_refused, assert_refused, assert_says_no
from tidegate.core.errors import Invalid, Unavailable
from tidegate.infra.db import Database
from tidegate.payment import list_store, search
from tidegate.payment.list_store import PaymentFilter

PATH = "/checkout/payments"


async def ask(shop: Shop, accept: str = "application/json", **query: Any) -> httpx.Response:
    return await shop.client.get(PATH, params=query, headers={"api-key": shop.secret_key, "accept": accept})


async def page(shop: Shop, **query: Any) -> dict[str, Any]:
    answer = await ask(shop, **query)
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] is True
    data: dict[str, Any] = answer.json()["data"]
    return data


async def references(shop: Shop, **query: Any) -> list[str]:
    return [record["merchantReference"] for record in (await page(shop, **query))["results"]]


async def created(shop: Shop, **changes: Any) -> str:
    answer = await shop.create(order(**changes))
    assert answer.status_code == 201, answer.text
    reference: str = answer.json()["data"]["reference"]
    return reference


@pytest.fixture
async def five(shop: Shop) -> list[str]:
    """Nothing of them is paid; the newest first."""
    orders: list[dict[str, Any]] = [
        {"reference": "ORDER-1", "amount": 100},
        {"reference": "ORDER-10", "amount": 250, "customer": {"name": "Bola", "email": "Bola@Example.com"}},
        {"reference": "order-10", "amount": 100, "currency": "KES"},
        {"reference": "INV_7", "amount": 5000},
        {"reference": "ORDER-2", "amount": 99, "feeBearer": "customer"},
    ]
    return [await created(shop, **one) for one in orders][::-1]


async def test_a_record_is_that_of_verify(shop: Shop) -> None:
    reference = await created(shop)
    [record] = (await page(shop))["results"]
    assert record == (await shop.verify(reference)).json()["data"]


async def test_all_are_listed_the_newest_first(shop: Shop, five: list[str]) -> None:
    assert await references(shop) == five
    assert (await page(shop))["nextCursor"] is None


async def test_filters_combine(shop: Shop, five: list[str]) -> None:
    assert await references(shop, referencePrefix="ORDER-1") == ["ORDER-10", "ORDER-1"]
    assert await references(shop, referencePrefix="ORDER-1", currency="KES") == []
    assert await references(shop, referencePrefix="_") == []
    assert await references(shop, currency="KES") == ["order-10"]
    assert await references(shop, email="bola@example.COM") == ["ORDER-10"]
    assert await references(shop, email="bola@example.com", status="success") == []
    assert await references(shop, status="initiated") == five
    assert await references(shop, status="initiated", currency="NGN", amountMax=100) == ["ORDER-1"]
    assert await references(shop, currency="NGN", amountMin="250", amountMax="5000.00") == ["INV_7", "ORDER-10"]
    # By what the payer is asked for: 99 and the fee.
    assert await references(shop, currency="NGN", amountMin="100.01", amountMax="102") == ["ORDER-2"]
    for status in ("pending", "processing", "success", "failed", "expired"):
        assert await references(shop, status=status) == []
    assert await references(shop, paymentMethod="card") == []
    assert await references(shop, varianceType="overpayment") == []


async def test_what_is_paid_is_found_by_its_method_and_its_variance(new_checkout: MakeCheckout) -> None:
    over: Checkout = await new_checkout()
    await over.transfer(await over.account(), "150")
    shop = over.shop
    exact = await created(shop)
    assert await references(shop, varianceType="overpayment") == [over.reference]
    assert await references(shop, paymentMethod="bank_transfer") == [over.reference]
    assert await references(shop, paymentMethod="BANK_TRANSFER", status="success") == [over.reference]
    assert await references(shop, varianceType="underpayment") == []
    assert await references(shop, paymentMethod="card") == []
    assert await references(shop, status="initiated") == [exact]
    assert await references(shop) == [exact, over.reference]


async def test_dates_are_those_of_the_creation(shop: Shop, five: list[str], admin: Any) -> None:
    await admin.execute("UPDATE payment SET created_at = '2026-11-02T23:59:59Z' WHERE reference = 'ORDER-2'")
    await admin.execute("UPDATE payment SET created_at = '2026-11-03T00:00:00Z' WHERE reference = 'INV_7'")
    assert await references(shop, dateFrom="2026-11-02", dateTo="2026-11-02") == ["ORDER-2"]
    assert await references(shop, dateFrom="2026-11-02", dateTo="2026-11-03") == ["INV_7", "ORDER-2"]
    assert await references(shop, dateTo="2026-11-03T00:00:00Z") == ["ORDER-2"]
    assert await references(shop, dateTo="2026-11-03T01:00:00+01:00", status="initiated") == ["ORDER-2"]
    assert await references(shop, dateTo="2026-11-03", email="ada@example.com") == ["INV_7", "ORDER-2"]
    assert await references(shop, dateTo="2026-11-03", referencePrefix="INV") == ["INV_7"]
    assert await references(shop, dateTo="2026-11-03", currency="NGN", amountMin="4999") == ["INV_7"]


@pytest.mark.parametrize(
    "query", [{}, {"status": "initiated"}, {"email": "ada@example.com"}, {"referencePrefix": "P-"}, {"currency": "NGN"}]
)
async def test_pages_have_every_payment_once_while_new_ones_come(shop: Shop, query: dict[str, str], admin: Any) -> None:
    wanted = [await created(shop, reference=f"P-{number}") for number in range(7)][::-1]
    # Equal times are told apart by the number.
    await admin.execute("UPDATE payment SET created_at = '2026-11-03T00:00:00Z'")
    found: list[str] = []
    cursor: dict[str, str] = {}
    for number in range(10):
        data = await page(shop, perPage=3, **query, **cursor)
        found += [record["merchantReference"] for record in data["results"]]
        await created(shop, reference=f"P-later-{number}")
        if data["nextCursor"] is None:
            break
        cursor = {"cursor": data["nextCursor"]}
    assert found == wanted


async def test_a_cursor_fits_only_its_own_list(shop: Shop, five: list[str], new_shop: MakeShop) -> None:
    cursor = (await page(shop, perPage=2))["nextCursor"]
    assert_says_no(await ask(shop, perPage=2, cursor=cursor, status="initiated"), 400, "MALFORMED_REQUEST")
    other = await new_shop()
    await created(other)
    assert_says_no(await ask(other, perPage=2, cursor=cursor), 400, "MALFORMED_REQUEST")


async def test_a_bad_filter_is_refused_and_named(shop: Shop, admin: Any) -> None:
    await created(shop)
    bad: dict[str, tuple[str, ...]] = {
        "status": ("paid", "", "SUCCESS"),
        "varianceType": ("none", "exact"),
        "paymentMethod": ("cash", "%"),
        "currency": ("EUR", "ngn", ""),
        "email": ("ada", "ada@", "%", "a" * 5_000),
        "referencePrefix": ("", "%", "a b", "'", "x" * 101, "\u202eX"),
        "dateFrom": ("yesterday", "2026-13-01", "2026-11-15T09:30:00"),
        "dateTo": ("0", "2026-02-30"),
        "perPage": ("0", "101", "x"),
        "cursor": ("x", "é" * 22),
        "total": ("1",),
    }
    rows = [
        (f"{name}={value}", ask(shop, **{name: value}), (422, "VALIDATION_FAILED", name))
        for name, values in bad.items()
        for value in values
    ]
    amounts = ("-1", "1e3", "1,000", "10.001", "NaN", "٣", "1" * 13, "")
    rows += [
        (f"amountMin={value}", ask(shop, currency="NGN", amountMin=value), (422, "VALIDATION_FAILED", "amountMin"))
        for value in amounts
    ]
    await assert_each_refused(admin, rows)


async def test_bounds_need_a_currency_its_decimals_and_their_order(shop: Shop, admin: Any) -> None:
    for query, field in (
        ({"amountMin": "1"}, "amountMin"),
        ({"amountMax": "1"}, "amountMax"),
        ({"amountMin": "1.5", "currency": "UGX"}, "amountMin"),
        ({"amountMin": "2", "amountMax": "1", "currency": "NGN"}, "amountMax"),
        ({"dateFrom": "2026-11-02", "dateTo": "2026-11-01"}, "dateTo"),
    ):
        await assert_refused(admin, ask(shop, **query), 422, "VALIDATION_FAILED", field=field)


async def test_a_parameter_given_twice_is_refused(shop: Shop, admin: Any) -> None:
    sending = shop.client.get(f"{PATH}?status=failed&status=success", headers={"api-key": shop.secret_key})
    await assert_refused(admin, sending, 422, "VALIDATION_FAILED", field="status")


async def test_payments_of_another_business_are_never_shown(shop: Shop, five: list[str], new_shop: MakeShop) -> None:
    other = await new_shop()
    for query in ({}, {"status": "initiated"}, {"email": "ada@example.com"}, {"referencePrefix": "ORDER"}):
        assert await references(other, **query) == []
    answer = await ask(other, "text/csv")
    assert answer.text.count("\r\n") == 1


async def test_a_key_is_needed(client: httpx.AsyncClient, db: Database, admin: Any) -> None:
    await assert_refused(admin, client.get(PATH), 401, "UNAUTHENTICATED")


# As a file.


async def file_of(shop: Shop, **query: Any) -> list[dict[str, str]]:
    answer = await ask(shop, "text/csv", **query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert 'filename="payments.csv"' in answer.headers["content-disposition"]
    return list(csv.DictReader(io.StringIO(answer.text)))


async def test_a_file_has_all_rows_that_fit(shop: Shop, five: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "BATCH", 2)
    assert [row["merchantReference"] for row in await file_of(shop)] == five
    [row] = await file_of(shop, currency="KES")
    assert (row["merchantReference"], row["currency"], row["amount"]) == ("order-10", "KES", "100")
    assert (row["status"], row["fee"], row["paymentMethod"]) == ("initiated", "", "")


async def test_a_file_shows_what_was_settled(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    await checkout.transfer(await checkout.account(), "150")
    [row] = await file_of(checkout.shop)
    record = await checkout.record()
    assert row["id"] == str(record["id"])
    assert (row["varianceType"], row["paymentMethod"]) == ("overpayment", "bank_transfer")
    assert (row["amountReceived"], row["fee"], row["vat"], row["amountSettled"]) == ("150", "2.1", "0.16", "147.74")


async def test_no_cell_of_a_file_is_a_formula(shop: Shop) -> None:
    await created(shop, reference="=1", customer={"name": "@SUM(A1)", "email": "ada@example.com"})
    [row] = await file_of(shop)
    assert (row["merchantReference"], row["customerName"]) == ("'=1", "'@SUM(A1)")


async def test_a_file_has_no_pages(shop: Shop, admin: Any) -> None:
    await assert_refused(admin, ask(shop, "text/csv", perPage=2), 422, "VALIDATION_FAILED", field="perPage")


# For the dashboard.


async def test_the_number_is_exact_up_to_its_limit(
    shop: Shop, five: list[str], db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for wanted, number in (
        (PaymentFilter(), 5),
        (PaymentFilter(email="ADA@example.com"), 4),
        (PaymentFilter(reference_prefix="ORDER"), 3),
        (PaymentFilter(email="nobody@example.com"), 0),
    ):
        assert str(await search.count(db, shop.business_id, wanted)) == str(number)
    monkeypatch.setattr(search, "COUNTED_MAX", 3)
    assert str(await search.count(db, shop.business_id, PaymentFilter())) == "3+"
    assert str(await search.count(db, shop.business_id, PaymentFilter(reference_prefix="ORDER"))) == "3"


async def test_every_way_to_a_list_gives_the_same(shop: Shop, five: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A prefix or an amount that many payments have is read in the list's own order instead."""
    queries: tuple[dict[str, str], ...] = (
        {"referencePrefix": "ORDER"},
        {"referencePrefix": "ORDER", "status": "initiated"},
        {"currency": "NGN", "amountMin": "100"},
    )
    few = [await references(shop, **query) for query in queries]
    monkeypatch.setattr(list_store, "_SORTED_MAX", 0)
    assert [await references(shop, **query) for query in queries] == few
    assert all(few)


async def test_a_search_that_takes_too_long_says_what_to_narrow(
    shop: Shop, five: list[str], admin: Any, database_url: str
) -> None:
    """A lock stands in for a search that reads too much: either way the statement reaches its time limit."""
    slow = Database(database_url, statement_timeout_ms=100)
    await slow.open()
    blocking = admin.transaction()
    await blocking.start()
    try:
        await admin.execute("LOCK TABLE payment IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(Invalid, match="narrow dateFrom and dateTo"):
            await search.list_page(slow, shop.business_id, PaymentFilter(email="a@b.example"), before_id=None, limit=1)
        # Without a filter there is nothing to narrow.
        with pytest.raises(Unavailable, match="busy"):
            await search.list_page(slow, shop.business_id, PaymentFilter(), before_id=None, limit=1)
    finally:
        await blocking.rollback()
        await slow.close()
