"""`tidegate account`: an operator decides on accounts, and tries the name rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from build import Shop
from cli.operating import Operator
from conftest import MakeShop
from inflow import Inflows


@pytest.fixture
def operator(database_url: str, tmp_path: Path) -> Operator:
    return Operator(database_url, tmp_path)


async def asked(inflows: Inflows) -> str:
    answer = await inflows.ask_for()
    assert answer.status_code == 201, answer.text
    account_id: str = answer.json()["data"]["_id"]
    return account_id


async def test_an_account_is_approved_suspended_reinstated_and_closed(inflows: Inflows, operator: Operator) -> None:
    account_id = await asked(inflows)
    approved = await operator.json("account", "approve", account_id)
    assert (approved["status"], approved["isActive"], approved["isPermanent"]) == ("approved", True, True)
    assert approved["accountNumber"].startswith("DE")
    suspended = await operator.json("account", "suspend", account_id, "--reason", "under review")
    assert (suspended["isSuspended"], suspended["reason"]) == (True, "under review")
    assert (await operator.json("account", "reinstate", account_id))["isActive"] is True
    closed = await operator.json("account", "close", account_id, "--reason", "no longer needed")
    assert (closed["status"], closed["reason"]) == ("closed", "no longer needed")
    rows = await inflows.admin.fetch(
        "SELECT action FROM audit WHERE action LIKE 'account.%' AND actor = 'operator' ORDER BY id"
    )
    assert [row["action"] for row in rows] == [
        f"account.{done}" for done in ("approve", "suspend", "reinstate", "close")
    ]


async def test_an_account_is_declined_for_good(inflows: Inflows, operator: Operator) -> None:
    account_id = await asked(inflows)
    declined = await operator.json("account", "decline", account_id, "--reason", "the passport has expired")
    assert (declined["status"], declined["reason"]) == ("declined", "the passport has expired")
    assert "you cannot approve it" in await operator.refused("account", "approve", account_id)


async def test_an_expiry_is_the_end_of_its_day_by_the_sandbox_s_clock(inflows: Inflows, operator: Operator) -> None:
    account_id = await asked(inflows)
    today = f"{inflows.now:%Y-%m-%d}"
    assert "in the future" in await operator.refused("account", "approve", account_id, "--expires-at", "2020-01-01")
    assert "must be a date" in await operator.refused("account", "approve", account_id, "--expires-at", "soon")
    approved = await operator.json("account", "approve", account_id, "--expires-at", today)
    assert approved["expiresAt"] > today
    assert approved["expiresAt"].endswith("T00:00:00.000Z")


async def test_accounts_are_listed_by_business_and_status(
    inflows: Inflows, new_shop: MakeShop, operator: Operator
) -> None:
    waiting, (other, business_id) = await asked(inflows), (await inflows.account(), inflows.shop.business_id)
    stranger = await new_shop()
    assert [one["_id"] for one in await operator.json("account", "list", "--status", "pending")] == [waiting]
    found = await operator.json("account", "list", "--business", business_id)
    assert {one["_id"] for one in found} == {waiting, other.id}
    assert await operator.json("account", "list", "--business", stranger.business_id) == []
    said = await operator.said("account", "list")
    assert all(words in said for words in (waiting, other.id, "pending", "approved", "Ada Obi"))


async def test_what_a_merchant_wrote_is_shown_and_not_obeyed(inflows: Inflows, operator: Operator) -> None:
    account = await inflows.account(holder="[bold]Ada[/] \x1b[2J")
    said = await operator.said("account", "show", account.id)
    assert "[bold]Ada[/] \\u001b[2J" in said
    assert "\x1b" not in said


@pytest.mark.parametrize("account_id", ["0" * 24, "x", "\udcff", "' OR true --"])
async def test_an_unknown_account_is_said_in_a_sentence(operator: Operator, shop: Shop, account_id: str) -> None:
    assert "no virtual account has this id" in await operator.refused("account", "show", account_id)
    assert "no virtual account has this id" in await operator.refused("account", "reinstate", account_id)


@pytest.mark.parametrize("reason", ["", "  ", "a\x07b", "x" * 501, "4111 1111 1111 1111"])
async def test_a_reason_is_a_line_that_the_merchant_may_see(operator: Operator, shop: Shop, reason: str) -> None:
    assert "✗ --reason " in await operator.refused("account", "close", "0" * 24, "--reason", reason)


@pytest.mark.parametrize(
    ("typed", "holder", "verdict", "code"),
    [("OBI, Ada", "Ada Obi", "exact", 0), ("A. Obi", "Ada Obi", "close", 3), ("Chidi Eze", "Ada Obi", "different", 4)],
)
async def test_the_name_rule_is_tried_without_a_database(
    tmp_path: Path, typed: str, holder: str, verdict: str, code: int
) -> None:
    nowhere = Operator("postgresql://nobody@127.0.0.1:1/none", tmp_path)
    ended, said = await nowhere.run("account", "match", typed, holder)
    assert (ended, said.startswith(verdict), f"verdict: {verdict}" in said) == (code, True, True)


async def test_a_company_is_matched_as_one_when_asked(tmp_path: Path) -> None:
    nowhere = Operator("postgresql://nobody@127.0.0.1:1/none", tmp_path)
    names = ("Blue Harbour Ltd", "Blue Harbour")
    assert "the account holder is a person" in (await nowhere.run("account", "match", *names))[1]
    assert "the legal form is not complete" in (await nowhere.run("account", "match", *names, "--company"))[1]
