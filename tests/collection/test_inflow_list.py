"""Listing inflows. A refused request writes nothing and shows nothing."""

from __future__ import annotations

import csv
import io
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from conftest import MakeShop
from inflow import CLOSE, DIFFERENT, Inflows, credit
from payment.refusal import assert_each_refused, assert_refused, assert_says_no, without_request_id
from tidegate.collection import api, list_store
from tidegate.core.money import Currency
from tidegate.core.visible import visible

# As the specification's table 2.7 names them.
FIELDS = (
    "id", "paymentMethod", "sourceCurrency", "sourceAmount", "payeeName", "merchantReference", "status", "reference",
    "initiatedAt", "createdAt", "vat", "virtualAccountId", "refundInfo", "isReversed", "legacyBusinessId", "metadata",
)  # fmt: skip


@pytest.fixture
async def seven(inflows: Inflows) -> list[str]:
    """References, newest first: of two accounts, in three states; and one of the second account."""
    euro = await inflows.number(merchant_reference="SHOP-EUR")
    dollar = await inflows.number(Currency.USD)
    bodies = [
        credit(euro), credit(dollar, currency="USD"), credit(euro, payeeName=CLOSE), credit(euro, payeeName=DIFFERENT),
        credit(dollar, currency="USD", payeeName=DIFFERENT), credit(euro, 1), credit(euro, payeeName=None),
    ]  # fmt: skip
    references = [(await inflows.notified(body))["reference"] for body in bodies]
    return references[::-1]


async def references(inflows: Inflows, **query: Any) -> list[str]:
    page = await inflows.page(**query)
    assert page["total"] == len(page["results"])
    return [one["reference"] for one in page["results"]]


async def test_a_record_has_every_field_and_each_is_true(inflows: Inflows) -> None:
    account = await inflows.account(merchant_reference="SHOP-EUR")
    assert account.details is not None
    body = credit(account.details.account_number, 100_50)
    record = await inflows.notified(body)
    assert [name for name in FIELDS if name not in record] == []
    assert isinstance(record["id"], int)
    assert record["id"] < 2**53
    truth = {
        "paymentMethod": "virtual_account", "sourceCurrency": "EUR", "payeeName": "Ada Obi", "status": "successful",
        "merchantReference": "SHOP-EUR", "virtualAccountId": account.id, "refundInfo": None, "isReversed": 0,
        "legacyBusinessId": None, "metadata": None, "initiatedAt": "2026-11-15T09:30:00.000Z", "reason": None,
        "destinationCurrency": "EUR", "customerName": "Bola Ade", "senderAddress": "GB29NWBK60161331926819",
        "senderBank": "Sample", "description": "Invoice 7", "paymentScheme": "sepa", "exchange": None,
        "bankReference": body["transactionId"], "valueDate": "2026-11-15T09:30:00.000Z",
    }  # fmt: skip
    assert {name: record[name] for name in truth} == truth
    amounts = {"sourceAmount": "100.5", "destinationAmount": "100.5", "fee": "5", "vat": "0", "amountReceived": "95.5"}
    assert {name: str(record[name]) for name in amounts} == amounts
    assert await inflows.wallet("EUR") == 95_50
    assert record["nameCheck"]["verdict"] == "exact"
    assert len(record["nameCheck"]["steps"]) >= 3
    made_at = datetime.fromisoformat(record["createdAt"])
    assert abs(made_at - inflows.now) < timedelta(minutes=1)
    assert (await inflows.page())["results"][0]["reference"] == record["reference"]
    assert {**(await inflows.page())["results"][0], "x": 0}.keys() == {**record, "x": 0}.keys()


async def refuse_each(inflows: Inflows, *queries: str) -> list[httpx.Response]:
    """The field that is named is the first of the query."""
    path = f"/collections?business={inflows.shop.business_id}&"
    rows = (
        (query, inflows.call("GET", path + query), (422, "VALIDATION_FAILED", query.partition("=")[0]))
        for query in queries
    )
    return await assert_each_refused(inflows.admin, rows)


async def test_an_unknown_currency_is_refused(inflows: Inflows) -> None:
    currencies = ("XTS", "usd", "", "%20EUR", "EUR%00")
    await refuse_each(inflows, *(f"destinationCurrency={currency}" for currency in currencies))


async def test_filters_combine_and_without_any_all_is_listed(inflows: Inflows, seven: list[str]) -> None:
    assert await references(inflows) == seven
    euro = [seven[0], seven[1], seven[3], seven[4], seven[6]]
    account = (await inflows.get(seven[0]))["virtualAccountId"]
    assert await references(inflows, destinationCurrency="EUR") == euro
    assert await references(inflows, virtualAccount=account) == euro
    assert await references(inflows, virtualAccount=account, destinationCurrency="USD") == []
    assert await references(inflows, virtualAccount=account, status="pending") == [seven[0], seven[4]]
    assert await references(inflows, status="reversed") == [seven[2], seven[3]]
    assert await references(inflows, status="reversed", destinationCurrency="USD") == [seven[2]]
    assert await references(inflows, status="successful") == [seven[1], seven[5], seven[6]]
    assert await references(inflows, status="failed") == []
    assert await references(inflows, reference=seven[2]) == [seven[2]]
    assert await references(inflows, reference=seven[2], status="successful") == []
    assert await references(inflows, reference="nobody") == []


async def test_a_list_gives_fifty_rows_unless_asked(inflows: Inflows) -> None:
    number = await inflows.number()
    answers = [await inflows.notify(credit(number)) for _ in range(51)]
    assert {answer.status_code for answer in answers} == {200}
    page = await inflows.page()
    assert (len(page["results"]), page["total"]) == (50, 51)


async def test_filters_may_come_in_the_body(inflows: Inflows, seven: list[str]) -> None:
    body = {"business": inflows.shop.business_id, "status": "reversed", "perPage": 1}
    data = (await inflows.call("GET", "/collections", body)).json()["data"]
    assert [one["reference"] for one in data["results"]] == [seven[2]]
    assert data["total"] == 2


async def test_the_business_id_is_required_and_must_be_the_keys_own(inflows: Inflows, new_shop: MakeShop) -> None:
    await inflows.notified(credit(await inflows.number()))
    await assert_refused(inflows.admin, inflows.call("GET", "/collections"), 422, "VALIDATION_FAILED", field="business")
    other = await new_shop()
    for business in (other.business_id, "0" * 24):
        asking = inflows.call("GET", "/collections", business=business)
        await assert_refused(inflows.admin, asking, 403, "ACCESS_DENIED")
    for business in ("", "x", "' OR 1=1 --", inflows.shop.business_id + "\0"):
        asking = inflows.call("GET", "/collections", business=business)
        await assert_refused(inflows.admin, asking, 422, "VALIDATION_FAILED", field="business")


async def test_a_parameter_given_twice_is_refused(inflows: Inflows) -> None:
    names = ("business", "virtualAccount", "page", "status", "cursor")
    await refuse_each(inflows, *(f"{name}=1&{name}=1" for name in names))


async def test_the_account_of_another_business_shows_nothing(inflows: Inflows, new_shop: MakeShop) -> None:
    account = await inflows.account()
    assert account.details is not None
    await inflows.notified(credit(account.details.account_number))
    other = await new_shop()
    query = {"business": other.business_id, "virtualAccount": account.id}
    answer = await other.client.get("/collections", params=query, headers={"api-key": other.secret_key})
    assert answer.json()["data"] == {"results": [], "total": 0, "nextCursor": None}


async def test_a_page_that_is_none_is_refused(inflows: Inflows) -> None:
    """Every form of a page number is in infra/test_paging.py."""
    await refuse_each(inflows, "page=0", "page=abc", "page=%D9%A1", "page=102&perPage=100")
    for answer in await refuse_each(inflows, "perPage=0", "perPage=101", "perPage=x"):
        assert "100" in answer.json()["message"]


async def test_a_cursor_fits_its_own_list_only(inflows: Inflows, seven: list[str], new_shop: MakeShop) -> None:
    cursor = (await inflows.page(perPage=2))["nextCursor"]
    assert (await inflows.page(perPage=2, cursor=cursor))["results"][0]["reference"] == seven[2]
    last = "A" if cursor[-1] != "A" else "Q"
    for query in ({"cursor": cursor[:-1] + last}, {"cursor": "A" * 22}, {"cursor": cursor, "status": "pending"}):
        asking = inflows.list(**query)
        await assert_refused(inflows.admin, asking, 400, "MALFORMED_REQUEST")
    for wrong in ("", "x", cursor + "A", "é" * 22):
        await assert_refused(inflows.admin, inflows.list(cursor=wrong), 422, "VALIDATION_FAILED", field="cursor")
    both = inflows.list(cursor=cursor, page=1)
    await assert_refused(inflows.admin, both, 422, "VALIDATION_FAILED", field="cursor")
    other = await new_shop()
    query = {"business": other.business_id, "cursor": cursor}
    answer = await other.client.get("/collections", params=query, headers={"api-key": other.secret_key})
    assert_says_no(answer, 400, "MALFORMED_REQUEST")


async def test_a_date_that_is_no_date_is_refused(inflows: Inflows) -> None:
    await refuse_each(
        inflows,
        "dateTo=2026-02-01&dateFrom=2026-02-02", "dateTo=2026-02-02T10:00:00Z&dateFrom=2026-02-02T10:00:00Z",
        "dateFrom=2026-01-32", "dateFrom=2026-02-29", "dateTo=0000-01-01", "dateTo=99999-01-01", "dateTo=9999-12-31",
        "dateFrom=2026-01-01T10:00:00", "dateFrom=yesterday", "dateFrom=", "dateFrom=1",
    )  # fmt: skip


async def test_dates_are_utc_whatever_their_offset(inflows: Inflows) -> None:
    record = await inflows.notified(credit(await inflows.number()))
    made_at = datetime.fromisoformat(record["createdAt"])
    east = timedelta(hours=5, minutes=30)
    after = made_at + timedelta(milliseconds=1)
    for query, is_shown in [
        ({"dateFrom": f"{made_at.isoformat()}"}, True),
        ({"dateFrom": f"{(made_at + east).replace(tzinfo=None).isoformat()}+05:30"}, True),
        ({"dateFrom": f"{(after + east).replace(tzinfo=None).isoformat()}+05:30"}, False),
        ({"dateTo": f"{(made_at - east).replace(tzinfo=None).isoformat()}-05:30"}, False),
        ({"dateTo": f"{(after - east).replace(tzinfo=None).isoformat()}-05:30"}, True),
        ({"dateFrom": f"{made_at:%Y-%m-%d}", "dateTo": f"{made_at:%Y-%m-%d}"}, True),
        ({"dateTo": f"{made_at - timedelta(days=1):%Y-%m-%d}"}, False),
        ({"dateFrom": f"{made_at + timedelta(days=1):%Y-%m-%d}"}, False),
        ({"dateFrom": "1970-01-01", "dateTo": "2199-12-31"}, True),
    ]:
        assert (await references(inflows, **query) != []) is is_shown, query


async def test_an_unknown_parameter_is_refused(inflows: Inflows) -> None:
    unknown = ("sort=amount;drop", "fields=*", "limit=5", "Page=1", "virtual_account=x", "business[]=x", "a=%00")
    await refuse_each(inflows, *unknown)


async def test_text_that_is_none_breaks_nothing(inflows: Inflows) -> None:
    for query in ("virtualAccount=%00", "reference=%00", "reference=%ED%A0%80", "virtualAccount="):
        answer = await inflows.call("GET", f"/collections?business={inflows.shop.business_id}&{query}")
        assert answer.status_code in (200, 400, 422), answer.text


async def test_rows_inserted_while_paging_are_neither_repeated_nor_skipped(inflows: Inflows, seven: list[str]) -> None:
    number = await inflows.number()
    walked: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = await inflows.page(perPage=2, **cursor)
        walked += [one["reference"] for one in page["results"]]
        if page["nextCursor"] is None:
            break
        cursor = {"cursor": page["nextCursor"]}
        await inflows.notified(credit(number))
    assert walked == seven
    assert (await inflows.page())["total"] == len(seven) + 3


async def test_an_inflow_recorded_meanwhile_is_not_counted_unless_it_is_listed(
    inflows: Inflows, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = await inflows.number()
    asked: list[str] = []

    def followed_by_an_inflow(name: str) -> None:
        ask = getattr(list_store, name)

        async def asked_first(*args: Any, **kwargs: Any) -> Any:
            found = await ask(*args, **kwargs)
            asked.append(name)
            if len(asked) == 1:
                assert (await inflows.notify(credit(number))).status_code == 200
            return found

        monkeypatch.setattr(list_store, name, asked_first)

    followed_by_an_inflow("total")
    followed_by_an_inflow("list_page")
    page = await inflows.page()
    assert len(asked) == 2
    assert (page["total"], len(page["results"])) == (0, 1)


async def test_one_inflow_is_found_by_its_reference_and_anothers_is_unknown(
    inflows: Inflows, new_shop: MakeShop
) -> None:
    record = await inflows.notified(credit(await inflows.number()))
    other = await new_shop()
    headers = {"api-key": other.secret_key}
    answers = []
    for wrong in (record["reference"], "col_0", "%00", "%27", "x" * 2_000):
        asking = other.client.get(f"/collections/reference/{wrong}", headers=headers)
        answers.append(await assert_refused(inflows.admin, asking, 404, "RESOURCE_NOT_FOUND"))
    assert len({without_request_id(answer) for answer in answers}) == 1


async def csv_lines(inflows: Inflows, **query: str) -> list[str]:
    answer = await inflows.shop.client.get(
        "/collections",
        params={"business": inflows.shop.business_id, **query},
        headers={"api-key": inflows.shop.secret_key, "accept": "text/csv"},
    )
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/csv")
    assert "collections.csv" in answer.headers["content-disposition"]
    return answer.text.split("\r\n")


async def test_a_file_holds_all_that_the_filters_let_pass(
    inflows: Inflows, seven: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "CSV_BATCH", 2)
    head, *rows, end = await csv_lines(inflows)
    assert head.startswith("id,reference,status,")
    assert end == ""
    assert [row.split(",")[1] for row in rows] == seven
    _, *euro, _ = await csv_lines(inflows, destinationCurrency="EUR", status="reversed")
    assert [row.split(",")[1] for row in euro] == [seven[3]]
    assert len(await csv_lines(inflows, reference="nobody")) == 2


@pytest.mark.parametrize("text", ["=1+1", "+1+x", "-1+x", "@SUM(A1)", "\t=1", "＝1", '"=1"', "a,b\nc"])
async def test_nothing_that_a_payer_writes_is_a_formula(inflows: Inflows, text: str) -> None:
    payer = {"name": text, "accountNumber": text, "bankName": text, "bankCode": None}
    body = credit(await inflows.number(), payer=payer, payeeName="Ada Obi", remittance=text)
    await inflows.notified(body)
    answer = await inflows.shop.client.get(
        "/collections",
        params={"business": inflows.shop.business_id},
        headers={"api-key": inflows.shop.secret_key, "accept": "text/csv"},
    )
    # The reader's own library takes the quotes off, as a spreadsheet does.
    _, row, *_ = csv.reader(io.StringIO(answer.text))
    assert [cell for cell in row if cell.startswith(tuple("=+-@\t＝"))] == []
    # Controls are shown as escapes, and a mark keeps what follows it from being run.
    assert sum(visible(text) in cell.replace("'", "") for cell in row) == 4
