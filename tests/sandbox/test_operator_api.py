"""Developers act as the operator in the sandbox: on what is their own, under their own key."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conftest import MakeShop
from inflow import CLOSE, Inflows, credit
from payment.refusal import assert_refused, without_request_id
from tidegate.core.money import Currency

ON_ACCOUNTS = ("approve", "decline", "suspend", "reinstate", "close")


async def act(inflows: Inflows, account_id: str, action: str, body: Any = None) -> dict[str, Any]:
    answer = await inflows.call("POST", f"/sandbox/virtual-accounts/{account_id}/{action}", body)
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def asked(inflows: Inflows) -> str:
    account_id: str = (await inflows.ask_for()).json()["data"]["_id"]
    return account_id


async def held(inflows: Inflows) -> str:
    reference: str = (await inflows.notified(credit(await inflows.number(), payeeName=CLOSE)))["reference"]
    return reference


async def test_an_account_goes_through_its_life_and_each_step_is_in_the_trail(inflows: Inflows) -> None:
    account_id = await asked(inflows)
    assert (await act(inflows, account_id, "approve"))["isActive"] is True
    suspended = await act(inflows, account_id, "suspend", {"reason": "under review"})
    assert (suspended["isSuspended"], suspended["reason"]) == (True, "under review")
    assert (await act(inflows, account_id, "reinstate"))["isActive"] is True
    closed = await act(inflows, account_id, "close")
    assert (closed["status"], closed["reason"]) == ("closed", "no reason was given")
    got = await inflows.call("GET", f"/profile/virtual-accounts/{account_id}")
    assert got.json()["data"] == closed
    rows = await inflows.admin.fetch(
        "SELECT actor, origin, action FROM audit WHERE action <> 'business.changed' ORDER BY id"
    )
    assert [row["action"].removeprefix("account.") for row in rows] == [
        "requested", "approve", "suspend", "reinstate", "close",
    ]  # fmt: skip
    assert len({(row["actor"], row["origin"]) for row in rows}) == 1
    assert rows[0]["actor"].startswith("key/")


async def test_a_declined_account_stays_so(inflows: Inflows, admin: Any) -> None:
    account_id = await asked(inflows)
    assert (await act(inflows, account_id, "decline", {"reason": "no passport"}))["reason"] == "no passport"
    for action in ON_ACCOUNTS:
        sending = inflows.call("POST", f"/sandbox/virtual-accounts/{account_id}/{action}")
        await assert_refused(admin, sending, 409, "CONFLICT")


@pytest.mark.parametrize("action", ON_ACCOUNTS)
async def test_an_account_of_another_business_is_as_unknown_as_none(
    inflows: Inflows, new_shop: MakeShop, admin: Any, action: str
) -> None:
    account_id = await asked(inflows)
    other = replace(inflows, shop=await new_shop())
    answers = [
        await assert_refused(
            admin, other.call("POST", f"/sandbox/virtual-accounts/{one}/{action}"), 404, "RESOURCE_NOT_FOUND"
        )
        for one in (account_id, "0" * 24, "x", "%00", "a" * 3_000)
    ]
    assert len({without_request_id(answer) for answer in answers}) == 1


@pytest.mark.parametrize("action", ["credit", "return"])
async def test_an_inflow_of_another_business_is_as_unknown_as_none(
    inflows: Inflows, new_shop: MakeShop, admin: Any, action: str
) -> None:
    reference = await held(inflows)
    other = replace(inflows, shop=await new_shop())
    answers = [
        await assert_refused(
            admin, other.call("POST", f"/sandbox/collections/{one}/{action}"), 404, "RESOURCE_NOT_FOUND"
        )
        for one in (reference, "col_0", "%00", "a" * 3_000)
    ]
    assert len({without_request_id(answer) for answer in answers}) == 1


async def test_a_held_inflow_is_credited_once(inflows: Inflows, admin: Any) -> None:
    path = f"/sandbox/collections/{await held(inflows)}"
    answer = await inflows.call("POST", f"{path}/credit", {"note": "a slip of the pen"})
    assert (answer.status_code, answer.json()["data"]["status"]) == (200, "successful")
    assert await inflows.wallet("EUR") == 95_00
    for action in ("credit", "return"):
        await assert_refused(admin, inflows.call("POST", f"{path}/{action}"), 409, "CONFLICT")
    assert await admin.fetchval("SELECT actor FROM audit WHERE action = 'collection.credited'") != "operator"


async def test_a_held_inflow_is_returned(inflows: Inflows) -> None:
    reference = await held(inflows)
    answer = await inflows.call("POST", f"/sandbox/collections/{reference}/return")
    assert answer.json()["data"]["isReversed"] == 1
    back = (await inflows.get(reference))["refundInfo"]
    assert (back["reasonCode"], back["status"]) == ("review_refused", "asked")


async def test_a_rate_is_set_for_the_inflows_of_the_business(inflows: Inflows, admin: Any) -> None:
    number = await inflows.number(Currency.EUR, Currency.USD)
    assert (await inflows.notified(credit(number)))["status"] == "pending"
    answer = await inflows.call(
        "POST", "/sandbox/rates", {"base": "EUR", "quote": "USD", "rate": 2, "spreadPercent": 0.5}
    )
    assert (answer.status_code, answer.json()["data"]["source"]) == (201, "sandbox")
    inflow = await inflows.notified(credit(number))
    assert (inflow["status"], inflow["destinationAmount"], inflow["exchange"]["spread"]) == ("successful", 199, 1)
    row = await admin.fetchrow("SELECT business_id, subject FROM audit WHERE action = 'rate.set'")
    assert tuple(row) == (inflows.shop.business_id, "EUR/USD")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"rate": 0}, "rate"), ({"rate": -1}, "rate"), ({"rate": "1"}, "rate"), ({"rate": True}, "rate"),
        ({"rate": 1.234567890123}, "rate"), ({"quote": "EUR"}, "quote"), ({"base": "XXX"}, "base"),
        ({"spreadPercent": 100}, "spreadPercent"), ({"spreadPercent": -1}, "spreadPercent"),
        ({"quotedAt": "2199-01-01"}, "quotedAt"), ({"source": " "}, "source"),
    ],
)  # fmt: skip
async def test_an_impossible_rate_is_refused_over_http(
    inflows: Inflows, admin: Any, changes: dict[str, Any], field: str
) -> None:
    body = {"base": "EUR", "quote": "USD", "rate": 1, **changes}
    await assert_refused(admin, inflows.call("POST", "/sandbox/rates", body), 422, "VALIDATION_FAILED", field=field)
