"""`tidegate reconcile` on money that really moved: the statement is what the sandbox's rail itself knows."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from build import Checkout
from checkout.paying import card
from conftest import MakeCheckout
from inflow import DIFFERENT, Inflows, credit, reversal_of
from reconcile.reconciling import reconciled, run, write
from tidegate.cli import main
from tidegate.infra.timestamp import to_iso


async def statement_of_the_rail(admin: Any) -> list[dict[str, Any]]:
    """What it told, what it charged without telling, and what it sent out; each once."""
    listed: dict[str, dict[str, Any]] = {}
    for row in await admin.fetch("SELECT body, received_at FROM notification WHERE rail = 'sandbox'"):
        body = json.loads(row["body"])
        if body["type"] in ("attempt.succeeded", "account.credited"):
            listed[body["transactionId"]] = _row(body["transactionId"], "in", body, row["received_at"])
        elif body["type"] == "credit.reversed":
            listed[body["reversalId"]] = _row(body["reversalId"], "out", body, row["received_at"])
    for row in await admin.fetch("SELECT * FROM sandbox_attempt WHERE method = 'card' AND failure IS NULL"):
        body = {"amount": row["amount_minor"], "currency": row["currency"]}
        listed[row["transaction_id"]] = _row(row["transaction_id"], "in", body, row["ends_at"])
    for row in await admin.fetch("SELECT * FROM sandbox_payout WHERE failure IS NULL"):
        body = {"amount": row["amount_minor"], "currency": row["currency"]}
        paid = _row(row["transaction_id"], "out", body, row["ends_at"])
        listed[row["transaction_id"]] = paid | {"reference": row["reference"]}
    return list(listed.values())


def _row(transaction_id: str, direction: str, body: dict[str, Any], booked_at: Any) -> dict[str, Any]:
    amount = Decimal(body["amount"]).scaleb(-2)
    return {
        "transactionId": transaction_id, "direction": direction, "amount": amount, "currency": body["currency"],
        "bookedAt": to_iso(booked_at),
    }  # fmt: skip


async def refund(checkout: Checkout, amount: str) -> None:
    answer = await checkout.shop.client.post(
        "/collections/refund",
        content=f'{{"transReference": "{checkout.reference}", "amount": {amount}}}',
        headers={"api-key": checkout.shop.secret_key, "content-type": "application/json"},
    )
    assert answer.status_code == 200, answer.text


@pytest.fixture
async def moved(inflows: Inflows, new_checkout: MakeCheckout) -> Checkout:
    """Money of every kind: sold, overpaid and returned, refunded, credited, sent back, taken back, for nobody."""
    sold = await new_checkout(inflows.shop)
    assert (await sold.charge(card())).status_code == 200
    overpaid = await new_checkout(settings={"variance_policy": "return"})
    await overpaid.transfer(await overpaid.account(), "150")
    number = await inflows.number()
    taken_back = credit(number)
    for body in (credit(number, 70_00), credit(number, 5_00, payeeName=DIFFERENT), taken_back, credit("nobody's")):
        assert (await inflows.notify(body)).status_code == 200
    assert (await inflows.notify(reversal_of(taken_back))).status_code == 200
    await refund(sold, "40.50")
    await refund(sold, "10.13")  # Which the sandbox's rail declines.
    await sold.tick()
    for each in (sold, overpaid):  # Two businesses, each with a time of its own.
        await each.let_pass("5s")
    return sold


async def test_a_checkouts_transfer_that_the_bank_took_back_is_in_our_books_too(
    moved: Checkout, new_checkout: MakeCheckout, admin: Any, database_url: str, tmp_path: Path
) -> None:
    checkout = await new_checkout(moved.shop)
    await checkout.transfer(await checkout.account(), "100", reference="BANK-1")
    assert (await checkout.sandbox("transfers/BANK-1/reverse")).is_success
    await checkout.tick()
    assert (await checkout.record())["isReversed"]
    rows = await statement_of_the_rail(admin)
    code, report = await reconciled(database_url, write(tmp_path / "s.csv", rows))
    assert (report["breaks"], report["notices"]) == ([], [])
    assert {each["currency"]: each["agrees"] for each in report["ledger"]} == {"EUR": True, "NGN": True}
    assert (code, report["agrees"]) == (0, True)


async def test_what_the_rail_did_is_what_our_books_say(
    moved: Checkout, admin: Any, database_url: str, tmp_path: Path
) -> None:
    rows = await statement_of_the_rail(admin)
    code, report = await reconciled(database_url, write(tmp_path / "s.csv", rows))
    assert (report["breaks"], report["notices"]) == ([], [])
    # A sale, a transfer and four credits; two returns, a refund and a reversal.
    assert (report["lines"], report["matched"]) == (10, 10)
    assert [each["direction"] for each in report["sums"]] == ["in", "out", "in", "out"]
    assert {each["currency"]: each["agrees"] for each in report["ledger"]} == {"EUR": True, "NGN": True}
    assert (code, report["agrees"]) == (0, True)


async def test_a_break_is_shown_with_whose_it_is_and_what_to_do(
    moved: Checkout, admin: Any, database_url: str, tmp_path: Path
) -> None:
    rows = await statement_of_the_rail(admin)
    [sale] = [row for row in rows if row["direction"] == "in" and row["amount"] == 100 and row["currency"] == "NGN"]
    sale["amount"] = Decimal("99.99")
    code, said = await run(database_url, write(tmp_path / "s.csv", rows))
    assert code == 1
    shown = next(line for line in said.splitlines() if sale["transactionId"] in line)
    for part in ("amount", "in NGN 99.99", "in NGN 100.00", moved.shop.business_id):
        assert part in shown
    assert moved.pay_code in said
    assert "which amount is right" in said
    assert "10 lines, 9 agree, 1 break" in said


async def test_a_break_that_was_explained_is_none_while_its_amounts_stay(
    moved: Checkout, admin: Any, database_url: str, tmp_path: Path
) -> None:
    rows = await statement_of_the_rail(admin)
    [sale] = [row for row in rows if row["direction"] == "in" and row["amount"] == 100 and row["currency"] == "NGN"]
    sale["amount"] = Decimal("99.99")
    file, its_id = write(tmp_path / "s.csv", rows), sale["transactionId"]
    code, said = await run(database_url, file, "--explain", "no-such", "--note", "Rounded")
    assert (code, "no-such" in said) == (2, True)
    for half in (("--explain", its_id), ("--note", "Rounded")):
        code, said = await run(database_url, file, *half)
        assert (code, "--explain and --note together" in said) == (2, True), said
    assert (await run(database_url, file))[0] == 1
    code, said = await run(database_url, file, "--explain", its_id, "--note", "Rounded by the rail")
    assert (code, "0 breaks, 1 explained" in said) == (0, True), said
    code, report = await reconciled(database_url, file)
    assert (code, report["agrees"], report["explained"]) == (0, True, 1)
    assert report["breaks"][0]["explanation"]["note"] == "Rounded by the rail"
    assert await admin.fetchval("SELECT count(*) FROM audit WHERE action = 'break.explained'") == 1
    code, said = await run(database_url, file, "--explain", its_id, "--note", "A fee of theirs")
    assert (code, "What was noted before is in the audit trail" in said) == (0, True), said
    rows_of_audit = await admin.fetch("SELECT details FROM audit WHERE action = 'break.explained' ORDER BY id")
    notes = [(one["why"], one.get("before")) for one in (json.loads(row["details"]) for row in rows_of_audit)]
    assert notes == [("Rounded by the rail", None), ("A fee of theirs", "Rounded by the rail")]
    sale["amount"] = Decimal("99.98")
    code, report = await reconciled(database_url, write(tmp_path / "s.csv", rows))
    assert (code, report["agrees"], report["explained"]) == (1, False, 0)


async def test_each_side_of_a_break_is_in_the_json(
    moved: Checkout, admin: Any, database_url: str, tmp_path: Path
) -> None:
    rows = await statement_of_the_rail(admin)
    back = next(row for row in rows if row.get("reference") and row["currency"] == "EUR")
    rows.remove(back)
    # Rows of one moment come in any order; this one is in none of the sums below.
    doubled = next(row for row in rows if row["currency"] != "EUR")
    # Whatever time it is, midnight is far away.
    days = [datetime.fromisoformat(row["bookedAt"]).date() for row in rows]
    period = "--from", str(min(days) - timedelta(days=1)), "--to", str(max(days) + timedelta(days=1))
    code, report = await reconciled(database_url, write(tmp_path / "s.csv", [*rows, doubled]), *period)
    assert code == 1
    by_class = {each["class"]: each for each in report["breaks"]}
    assert set(by_class) == {"duplicate", "extra"}
    assert (by_class["duplicate"]["line"], by_class["duplicate"]["transactionId"]) == (11, doubled["transactionId"])
    extra = by_class["extra"]
    assert (extra["rail"], extra["books"]["kind"], extra["books"]["amount"]) == (None, "return", "5.00")
    assert extra["books"]["reference"] == back["reference"]
    assert extra["books"]["subject"].startswith("col_")
    [out] = [each for each in report["sums"] if (each["currency"], each["direction"]) == ("EUR", "out")]
    assert out["difference"] == "-5.00"


@pytest.mark.breaks_the_books
async def test_a_ledger_that_says_otherwise_is_said(
    moved: Checkout, admin: Any, database_url: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "s.csv", await statement_of_the_rail(admin))
    async with admin.transaction():
        await admin.execute("SET LOCAL session_replication_role = replica")
        await admin.execute(
            "UPDATE entry SET amount_minor = amount_minor - 1 WHERE account = 'rail' AND currency = 'EUR'"
        )
    code, said = await run(database_url, path)
    assert code == 1
    assert "the ledger holds EUR" in said
    assert "tidegate doctor --books" in said


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("no,header\n", [], "the header has no transactionId"),
        ("transactionId,direction,amount,currency,bookedAt\nT,in,x,EUR,2026-01-01\n", [], "line 2: amount is 'x'"),
        ("transactionId,direction,amount,currency,bookedAt\n", [], "--from and --to"),
        (
            "transactionId,direction,amount,currency,bookedAt\n",
            ["--from", "2026-02-02", "--to", "2026-02-01"],
            "before",
        ),
        ("transactionId,direction,amount,currency,bookedAt\nT,in,1,EUR,2026-01-01\n", ["--rail", "sandbx"], "sandbx"),
        ("", ["--slack", "soon"], "must be a duration"),
        ("", ["--columns", "amount"], "must be like"),
    ],
)
async def test_lines_that_cannot_be_compared_are_no_breaks(
    database_url: str, tmp_path: Path, text: str, arguments: list[str], said: str
) -> None:
    path = tmp_path / "s.csv"
    path.write_text(text)
    code, output = await run(database_url, path, *arguments)
    assert (code, said in output) == (2, True), output


async def test_a_statement_of_nothing_agrees_with_empty_books(db: Any, database_url: str, tmp_path: Path) -> None:
    path = write(tmp_path / "s.csv", [])
    code, report = await reconciled(database_url, path, "--from", "2026-02-01", "--to", "2026-02-02")
    assert (code, report["lines"], report["sums"], report["ledger"]) == (0, 0, [], [])


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
def test_a_day_beyond_all_books_is_refused_in_a_sentence(day: str, tmp_path: Path) -> None:
    file = tmp_path / "statement.csv"
    file.write_text("transactionId,direction,amount,currency,bookedAt\n")
    done = CliRunner().invoke(main, ["reconcile", str(file), "--from", day])
    assert (done.exit_code, "must be from 1970 to 2199" in done.output) == (2, True), done.output


async def test_without_a_file_the_rails_own_list_needs_a_period_and_a_rail_that_has_one(database_url: str) -> None:
    code, said = await run(database_url)
    assert (code, "--from and --to" in said) == (2, True)
    code, said = await run(database_url, "--from", "2026-03-14", "--to", "2026-03-14")
    assert (code, "has no list of its transactions" in said) == (2, True)
