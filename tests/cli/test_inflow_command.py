"""`tidegate inflow` and `tidegate rate`: what is held is looked at, and converted at rates that operators set."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from build import Shop
from cli.operating import Operator
from inflow import CLOSE, Inflows, credit
from tidegate.core.money import Currency
from tidegate.infra.timestamp import to_iso
from tidegate.ledger.model import PLATFORM_BUSINESS_ID


@pytest.fixture
def operator(database_url: str, tmp_path: Path) -> Operator:
    return Operator(database_url, tmp_path)


async def held(inflows: Inflows) -> str:
    inflow = await inflows.notified(credit(await inflows.number(), payeeName=CLOSE))
    assert inflow["status"] == "pending"
    reference: str = inflow["reference"]
    return reference


async def test_what_is_held_is_listed_the_longest_waiting_first(inflows: Inflows, operator: Operator) -> None:
    assert "Nothing is held" in await operator.said("inflow", "list")
    first, second = await held(inflows), await held(inflows)
    await inflows.notified(credit(await inflows.number()))
    assert [one["reference"] for one in await operator.json("inflow", "list")] == [first, second]
    assert await operator.json("inflow", "list", "--business", "0" * 24) == []
    said = await operator.said("inflow", "list", "--business", inflows.shop.business_id)
    assert all(words in said for words in (first, CLOSE, "Ada Obi", "close to the account holder's"))


async def test_an_inflow_is_shown_with_the_name_check_step_by_step(inflows: Inflows, operator: Operator) -> None:
    reference = await held(inflows)
    said = await operator.said("inflow", "show", reference)
    for step in (await inflows.get(reference))["nameCheck"]["steps"]:
        assert step in said
    assert await operator.json("inflow", "show", reference) == (await inflows.call(
        "GET", f"/collections/reference/{reference}"
    )).json()["data"]  # fmt: skip


async def test_an_inflow_is_shown_with_the_rule_that_held_it_and_who_decided(
    inflows: Inflows, operator: Operator
) -> None:
    reference = await held(inflows)
    said = await operator.said("inflow", "show", reference)
    assert ("a name that is close or missing is held" in said, "decided by" in said) == (True, False)
    await operator.said("inflow", "credit", reference, "--by", "Ada Obi")
    said = await operator.said("inflow", "show", reference)
    assert "decided by   Ada Obi, on the command line" in said


async def test_a_held_inflow_is_credited_once(inflows: Inflows, operator: Operator) -> None:
    reference = await held(inflows)
    said = await operator.said("inflow", "credit", reference, "--note", "a slip of the pen")
    assert "credited" in said
    assert await inflows.wallet("EUR") == 95_00
    assert "only a held one" in await operator.refused("inflow", "return", reference)
    row = await inflows.admin.fetchrow("SELECT action, details FROM audit WHERE subject = $1", reference)
    assert (row["action"], "a slip of the pen" in row["details"]) == ("collection.credited", True)


async def test_a_return_says_what_the_operator_has_chosen(inflows: Inflows, operator: Operator) -> None:
    reference = await held(inflows)
    back = await operator.json("inflow", "return", reference, "--reason", "name_differs")
    assert back["refundInfo"]["reasonCode"] == "name_differs"
    sent = await inflows.admin.fetchval("SELECT reason FROM money_return")
    assert sent == "BE01 the name given is not the account holder's"


async def test_a_held_inflow_is_sent_back_once(inflows: Inflows, operator: Operator) -> None:
    reference = await held(inflows)
    back = await operator.json("inflow", "return", reference)
    assert (back["status"], back["refundInfo"]["reasonCode"]) == ("reversed", "review_refused")
    assert "only a held one" in await operator.refused("inflow", "credit", reference)
    assert await inflows.wallet("EUR") == 0


@pytest.mark.parametrize("reference", ["col_0", "x y", "\udcff"])
async def test_an_unknown_inflow_is_said_in_a_sentence(operator: Operator, shop: Shop, reference: str) -> None:
    for command in ("show", "credit", "return"):
        assert "no collection has this reference" in await operator.refused("inflow", command, reference)


async def test_a_rate_is_set_used_and_audited_under_the_operators_business(
    inflows: Inflows, operator: Operator
) -> None:
    made = await operator.json("rate", "set", "EUR", "USD", "1.0842", "--source", "ecb", "--spread-percent", "0.5")
    assert (made["rate"], made["spreadPercent"], made["source"]) == (1.0842, 0.5, "ecb")
    inflow = await inflows.notified(credit(await inflows.number(Currency.EUR, Currency.USD)))
    assert (inflow["status"], inflow["exchange"]["source"]) == ("successful", "ecb")
    row = await inflows.admin.fetchrow("SELECT business_id, actor, subject FROM audit WHERE action = 'rate.set'")
    assert tuple(row) == (PLATFORM_BUSINESS_ID, "operator", "EUR/USD")


async def test_a_refusal_names_the_option_and_not_the_field_of_the_api(operator: Operator) -> None:
    for quoted_at, why in (("soon", "must be a date"), ("2199-01-01", "must not be in the future")):
        said = await operator.refused("rate", "set", "EUR", "USD", "1.08", "--source", "ecb", "--quoted-at", quoted_at)
        assert f"✗ --quoted-at {why}" in said
    said = await operator.refused("rate", "set", "EUR", "USD", "1e0", "--source", " ", "--spread-percent", "100")
    assert "✗ RATE must be a number" in said
    assert "\n--spread-percent must be from 0" in said
    assert "\n--source must be 1 to 40 visible characters" in said


async def test_an_old_rate_is_called_so_and_an_older_quote_is_not_used(inflows: Inflows, operator: Operator) -> None:
    assert "No rate yet" in await operator.said("rate", "list")
    yesterday, before = (to_iso(inflows.now - timedelta(days=days)) for days in (1, 2))
    await operator.said("rate", "set", "EUR", "USD", "1.08", "--source", "ecb", "--quoted-at", yesterday)
    said = await operator.said("rate", "set", "EUR", "USD", "1.07", "--source", "desk", "--quoted-at", before)
    assert "A newer quote is used: 1.08" in said
    assert "too old" in await operator.said("rate", "list")
    await operator.said("rate", "set", "EUR", "USD", "1.09", "--source", "ecb")
    assert "too old" not in await operator.said("rate", "list")


async def test_a_rate_far_off_the_last_is_confirmed(inflows: Inflows, operator: Operator) -> None:
    # The first of a pair is off nothing.
    await operator.said("rate", "set", "EUR", "NGN", "1650", "--source", "desk")
    await operator.said("rate", "set", "EUR", "USD", "1.10", "--source", "desk")
    far = ("rate", "set", "EUR", "NGN", "165", "--source", "desk")
    assert "165 is more than 10 % off the last rate of EUR in NGN, 1650. Add --yes" in await operator.refused(*far)
    assert await inflows.admin.fetchval("SELECT count(*) FROM exchange_rate WHERE quote = 'NGN'") == 1
    await operator.said("rate", "set", "EUR", "NGN", "1815", "--source", "desk")
    await operator.said(*far, "--yes")
    assert await inflows.admin.fetchval("SELECT rate FROM exchange_rate ORDER BY id DESC LIMIT 1") == 165


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["EUR", "USD", "0"], "RATE must be more than 0"),
        (["EUR", "USD", "--", "-1"], "RATE must be more than 0"),
        (["EUR", "USD", "NaN"], "RATE must be a number"),
        (["EUR", "USD", "1e0"], "RATE must be a number"),
        (["EUR", "USD", "999999999999999"], "RATE must be from 0.000001 to 1000000"),
        (["EUR", "USD", "abc"], "RATE must be a number"),
        (["EUR", "USD", "1,08"], "RATE must be a number with a decimal point, such as 1652.5"),
        (["EUR", "USD", "1", "--spread-percent", "0,5"], "--spread-percent must be a number with a decimal point"),
        (["EUR", "USD", "1.234567890123"], "at most 12 digits"),
        (["EUR", "EUR", "1"], "must differ from base"),
        (["EUR", "USD", "1", "--quoted-at", "2199-01-01"], "must not be in the future"),
        (["EUR", "USD", "1", "--spread-percent", "100"], "--spread-percent must be from 0"),
        (["EUR", "USD", "1", "--spread-percent", "0.001"], "at most 2 decimals"),
    ],
)
async def test_an_impossible_rate_is_refused(
    inflows: Inflows, operator: Operator, arguments: list[str], expected: str
) -> None:
    assert expected in await operator.refused("rate", "set", "--source", "ecb", *arguments)
    assert await inflows.admin.fetchval("SELECT count(*) FROM exchange_rate") == 0
