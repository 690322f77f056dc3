"""`tidegate suspense`: money without an owner is listed and decided on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.operating import Operator
from conftest import MakeCheckout
from inflow import Inflows, credit, reversal_of


@pytest.fixture
def operator(database_url: str, tmp_path: Path) -> Operator:
    return Operator(database_url, tmp_path)


async def test_money_in_suspense_is_listed_with_its_reason(inflows: Inflows, operator: Operator) -> None:
    assert "Nothing is in suspense" in await operator.said("suspense", "list")
    number = await inflows.number()
    wrong_currency, unknown = credit(number, currency="USD"), credit("DE02120300000000202051", 12_50)
    for body in (wrong_currency, unknown, credit(number)):
        assert (await inflows.notify(body)).status_code == 200
    first, second = await operator.json("suspense", "list")
    assert first == {
        "id": first["id"],
        "receivedAt": first["receivedAt"],
        "amount": 100,
        "currency": "USD",
        "payer": "Bola Ade",
        "narration": "Invoice 7",
        "accountNumber": number,
        "reason": first["reason"],
        "rail": "sandbox",
        "transactionId": wrong_currency["transactionId"],
        "businessId": inflows.shop.business_id,
        "candidates": [],
    }
    assert "EUR" in first["reason"]
    assert (second["amount"], second["accountNumber"], second["businessId"]) == (12.5, unknown["accountNumber"], None)
    said = await operator.said("suspense", "list")
    for one in (first, second):
        assert all(one[name] in said for name in ("transactionId", "accountNumber", "reason"))
    assert "There are more" not in said
    assert await operator.json("suspense", "list", "--business", inflows.shop.business_id) == [first]


async def test_the_list_of_suspense_has_a_limit_and_leaves_out_what_the_bank_took_back(
    inflows: Inflows, operator: Operator
) -> None:
    number = await inflows.number()
    bodies = [credit(number, currency="USD") for _ in range(3)]
    for body in bodies:
        await inflows.notify(body)
    assert len(await operator.json("suspense", "list", "--limit", "2")) == 2
    assert "There are more" in await operator.said("suspense", "list", "--limit", "2")
    await inflows.notify(reversal_of(bodies[0]))
    await inflows.tick()
    listed = [one["transactionId"] for one in await operator.json("suspense", "list")]
    assert listed == [body["transactionId"] for body in bodies[1:]]


async def test_a_number_that_is_none_is_refused_in_words(operator: Operator) -> None:
    code, said = await operator.run("suspense", "show", "abc")
    assert (code, "'abc' is not a valid whole number." in said) == (2, True)


async def test_each_case_is_decided_by_a_command(inflows: Inflows, operator: Operator) -> None:
    account = await inflows.account()
    for _ in range(3):
        await inflows.notify(credit("DE02120300000000202051"))
    first, second, third = [str(one["id"]) for one in await operator.json("suspense", "list")]
    why = ("--note", "asked the bank", "--by", "ada")
    to = ("--business", inflows.shop.business_id)
    assert "one of --payment and --account" in await operator.refused("suspense", "assign", first, *to, *why)
    assert "has no payment ORDER-7" in await operator.refused(
        "suspense", "assign", first, *to, "--payment", "ORDER-7", *why
    )
    given = await operator.json("suspense", "assign", first, *to, "--account", account.id, *why)
    assert (given["decision"], given["subject"], given["decidedBy"]) == ("assigned", account.id, "operator/ada")
    assert await inflows.wallet("EUR") == 95_00
    assert "was returned as rt_" in await operator.said("suspense", "return", second, *why)
    assert "was closed by operator/ada" in await operator.said("suspense", "close", third, *why)
    assert "it was closed by operator/ada" in await operator.refused("suspense", "return", third, *why)
    assert "Nothing is in suspense" in await operator.said("suspense", "list")
    shown = json.loads(await operator.said("suspense", "show", first))
    assert (shown["decision"], shown["note"], shown["decidedBy"]) == ("assigned", "asked the bank", "operator/ada")


async def test_what_the_narration_names_is_shown(
    inflows: Inflows, new_checkout: MakeCheckout, operator: Operator
) -> None:
    """A pay code names its business, so lists have it too; a merchant's reference is looked for in all of them."""
    by_code, by_reference = await new_checkout(reference="A-1"), await new_checkout(reference="ORDER-7")
    narration = f"for {by_code.pay_code} and ORDER-7"
    assert (await inflows.notify(credit("DE02120300000000202051", remittance=narration))).status_code == 200
    [listed] = await operator.json("suspense", "list")
    assert [one["payCode"] for one in listed["candidates"]] == [by_code.pay_code]
    shown = json.loads(await operator.said("suspense", "show", str(listed["id"])))
    assert [one["payCode"] for one in shown["candidates"]] == [by_reference.pay_code, by_code.pay_code]
    assert {**shown, "candidates": []} == {**listed, "candidates": []}
    assert "Nothing in suspense" in await operator.refused("suspense", "show", "999999")
