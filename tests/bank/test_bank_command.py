"""`tidegate bank`, in live mode."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from click.testing import CliRunner

from bank_file_maker import ACCOUNT, VIRTUAL, camt_file, entry
from cli.live_staff import APPROVING, OPERATING, PASSWORD, add_staff
from live_database import live_database
from process import ENCRYPTION_KEY
from tidegate.cli import main
from tidegate.infra.db import Database

TOML = f"""
[[account]]
number = "{ACCOUNT}"
currency = "EUR"
holder = "Tidegate GmbH"
bank_name = "Example Bank"
country = "DE"
virtual_numbers = ["{VIRTUAL}"]
"""


class Desk:
    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        (folder / "accounts.toml").write_text(TOML)
        self._variables = {
            "TIDEGATE_MODE": "live",
            "TIDEGATE_BASE_URL": "https://api.example.com",
            "TIDEGATE_CONSOLE_URL": "https://console.example.com",
            "DATABASE_URL": url,
            "TIDEGATE_ENCRYPTION_KEY": ENCRYPTION_KEY,
            "TIDEGATE_RAILS": "bankfiles",
            "TIDEGATE_BANKFILES_DIR": str(folder),
            "TIDEGATE_BANKFILES_ACCOUNTS": str(folder / "accounts.toml"),
            "COLUMNS": "240",
        }

    async def run(self, *arguments: str) -> tuple[int, str]:
        return await self.operate("bank", *arguments)

    async def operate(self, *arguments: str) -> tuple[int, str]:
        done = await asyncio.to_thread(CliRunner().invoke, main, arguments, env=self._variables, input=f"{PASSWORD}\n")
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output


@pytest.fixture
async def desk(server_url: str, tmp_path: Path) -> AsyncIterator[Desk]:
    async with live_database(server_url, "tidegate_test_bank") as url:
        db = Database(url)
        await db.open()
        await add_staff(db)
        await db.close()
        yield Desk(url, tmp_path)


async def test_files_are_imported_shown_and_refused(desk: Desk, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.xml", tmp_path / "bad.xml"
    good.write_bytes(camt_file(entry(destination=None), entry("1.005", reference="2"), sequence=3))
    bad.write_bytes(b"<html/>")
    code, said = await desk.run("try", str(good))
    assert (code, "2026111500017" in said) == (0, True)
    # Of a virtual number, under the account that it is a number of.
    good.with_name("virtual.xml").write_bytes(camt_file(entry(), account=VIRTUAL))
    code, said = await desk.run("try", str(good.with_name("virtual.xml")))
    assert (code, f"/{ACCOUNT}/C/" in "".join(said.split())) == (0, True), said
    code, said = await desk.run("import", str(good))
    assert (code, "1 recorded" in said, "1 need a decision" in said) == (0, True, True)
    code, said = await desk.run("import", str(bad))
    assert (code, "html" in said) == (1, True)
    shown: dict[str, Any] = json.loads((await desk.run("files", "--json"))[1])
    assert [one["state"] for one in shown["files"]] == ["refused", "read"]
    assert "more decimals" in shown["problems"][0]["why"]
    _, said = await desk.run("files")
    assert "entry 2" in said
    for number in ("1", "999999999999999999999"):
        wrong = await desk.run("settle", shown["problems"][0]["fileId"], number, "--why", "x", "--by", "ada")
        assert (wrong[0], "needs a decision" in wrong[1]) == (1, True)
    code, _ = await desk.run(
        "settle", shown["problems"][0]["fileId"][:12], "2", "--why", "asked the bank", "--by", OPERATING
    )
    assert code == 0
    assert len(json.loads((await desk.run("files", "--json"))[1])["problems"]) == 1
    assert (await desk.operate("approval", "approve", "1", "--by", APPROVING))[0] == 0
    assert json.loads((await desk.run("files", "--json"))[1])["problems"] == []
    [case] = json.loads((await desk.operate("suspense", "list", "--json"))[1])
    assert (case["amount"], case["candidates"]) == (250, [])
    assert "Zeta Ltd" in (await desk.operate("suspense", "list"))[1]


async def test_an_operator_says_which_credit_the_bank_takes_back(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "several.xml"
    credits_ = [entry(destination=None, reference=text) for text in ("A", "B")]
    file.write_bytes(camt_file(*credits_, entry(is_credit=False, is_reversal=True, reference="REV-1")))
    code, said = await desk.run("import", str(file))
    assert (code, "2 recorded" in said, "1 need a decision" in said) == (0, True, True), said
    [problem] = json.loads((await desk.run("files", "--json"))[1])["problems"]
    assert [one["credit"][-2:] for one in problem["credits"]] == ["/A", "/B"]
    chosen = problem["credits"][1]["credit"]
    assert f"may take back {chosen}: 250.00 EUR of 2026-11-15 from Zeta Ltd" in (await desk.run("files"))[1]
    words = ("take-back", problem["fileId"][:12], "3", chosen, "--why", "the bank says so", "--by", OPERATING)
    assert (await desk.run(*words))[0] == 0
    code, said = await desk.operate("approval", "approve", "1", "--by", APPROVING)
    assert code == 0, said
    # The next import finds it to be recorded.
    file.write_bytes(camt_file(id="S-2"))
    await desk.run("import", str(file))
    shown = json.loads((await desk.run("files", "--json"))[1])
    assert (shown["problems"], shown["files"][1]["counts"]) == ([], {"done": 3})


async def test_payouts_are_listed_and_refused_in_plain_words(desk: Desk) -> None:
    assert "No payment is under way" in (await desk.run("payout", "list"))[1]
    code, said = await desk.run("payout", "approve", "rt_unknown", "--why", "x", "--by", OPERATING)
    assert (code, "no payment to the bank has the reference" in said) == (1, True)
    assert "Nothing is approved" in (await desk.run("payout", "export", "--by", "ada"))[1]


async def test_a_payment_is_proposed_by_one_of_the_staff_and_approved_by_another(desk: Desk) -> None:
    database = await asyncpg.connect(desk.url)
    for reference, account in (("rt_1", "NL91ABNA0417164300"), ("rt_2", None)):
        await database.execute(
            """
            INSERT INTO bank_payout (business_id, reference, kind, transaction_id, account_number, currency,
                                     amount_minor, end_to_end_id, payee_name, payee_account, remittance, proposed_by,
                                     proposed_at)
            VALUES ('000000000000000000000000', $1, 'return', 't', $2, 'EUR', 25000, $1, 'Zeta Ltd', $3, 'back',
                    'tidegate', now())
            """,
            reference, ACCOUNT, account,
        )  # fmt: skip
        await database.execute(
            """
            INSERT INTO money_return (business_id, reference, rail, transaction_id, currency, amount_minor, reason,
                                      status, asked_at)
            VALUES ('000000000000000000000000', $1, 'bankfiles', 't', 'EUR', 25000, 'back', 'sent', now())
            """,
            reference,
        )
    pay = ("payout", "approve", "rt_1")
    assert "Say who you are" in (await desk.run(*pay, "--why", "x"))[1]
    assert "As approver" in (await desk.run(*pay, "--why", "x", "--by", APPROVING))[1]
    code, said = await desk.run("payout", "approve", "rt_2", "--why", "x", "--by", OPERATING)
    assert (code, "did not report who paid" in said) == (1, True)
    to = ("--name", "Zeta Ltd", "--account", "NL91ABNA0417164300", "--bank", "ABNANL2A")
    for words in ((*pay, "--why", "checked"), ("payout", "amend", "rt_2", *to, "--why", "asked them")):
        code, said = await desk.run(*words, "--by", OPERATING)
        assert (code, "proposed as" in said) == (0, True), said
    assert "Nothing is approved" in (await desk.run("payout", "export", "--by", "ada"))[1]
    for one in json.loads((await desk.operate("approval", "list", "--json"))[1]):
        assert one["arguments"] == {"amount": "EUR 250.00", "account_ends": "4300"}
        code, said = await desk.operate("approval", "approve", str(one["number"]), "--by", APPROVING)
        assert code == 0, said
    rows = await database.fetch("SELECT DISTINCT status, proposed_by, approved_by FROM bank_payout")
    assert [row["status"] for row in rows] == ["approved"]
    assert rows[0]["proposed_by"].startswith("staff/")
    assert rows[0]["approved_by"] != rows[0]["proposed_by"]
    said = (await desk.run("payout", "list"))[1]
    assert "staff/" not in said
    assert all(one.partition("@")[0] in said for one in (OPERATING, APPROVING))
    code, said = await desk.run("payout", "refuse", "rt_2", "--why", "paid by hand", "--by", APPROVING)
    assert code == 0, said
    # Without a name it is the operator, as with other commands.
    assert "2 payments" not in (said := (await desk.run("payout", "export"))[1])
    assert "1 payment" in said
    assert await database.fetchval("SELECT made_by FROM bank_export") == "operator"
    await database.close()
