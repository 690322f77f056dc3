"""`tidegate wallet` and `tidegate statement`, through the real command line."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pypdf
import pytest

from build import Shop
from process import run_here
from tidegate.infra.db import Database
from tidegate.merchant import commands as merchants
from wallet.merchant import MIDNIGHT, Merchant, refund, sale


@pytest.fixture
async def merchant(db: Database, shop: Shop) -> Merchant:
    merchant = Merchant(db, shop)
    await merchant.book(sale(1_000_50))
    await merchant.book(refund(100_00), at=MIDNIGHT + timedelta(days=1))
    return merchant


@pytest.fixture
def tg(database_url: str) -> Any:
    async def run(*arguments: str) -> tuple[int, str]:
        # In a thread, since the command has an event loop of its own.
        return await asyncio.to_thread(run_here, *arguments, DATABASE_URL=database_url, COLUMNS="160")

    return run


async def test_an_operator_sees_the_balances(merchant: Merchant, tg: Any) -> None:
    code, said = await tg("wallet", "list", merchant.shop.business_id)
    assert code == 0, said
    assert all(part in said for part in ("NGN", "900.50", "100.00", "1,000.50"))
    await merchants.change(merchant.db, merchant.shop.business_id, {"status": "suspended"}, now=MIDNIGHT)
    _, said = await tg("wallet", "list", merchant.shop.business_id, "--json")
    [wallet] = json.loads(said)
    assert (wallet["availableBalance"], wallet["lockedBalance"], wallet["status"]) == (900.5, 100, "suspended")


async def test_a_statement_is_shown_with_its_balances(merchant: Merchant, tg: Any) -> None:
    code, said = await tg("statement", merchant.shop.business_id, "NGN")
    assert code == 0, said
    lines = said.splitlines()
    assert lines[0].endswith("NGN 0.00")
    assert lines[-1].endswith("NGN 900.50")
    assert said.index("1,000.50") < said.index("100.00")
    code, said = await tg("statement", merchant.shop.business_id, "NGN", "--limit", "1")
    assert "Only the newest 1 lines" in said
    assert "Checkout payment" not in said


async def test_a_script_gets_all_of_the_period(merchant: Merchant, tg: Any) -> None:
    arguments = ("statement", merchant.shop.business_id, "NGN", "--from", "2026-11-03", "--to", "2026-11-03")
    code, said = await tg(*arguments, "--json")
    assert code == 0, said
    page = json.loads(said)
    assert (page["openingBalance"], page["closingBalance"]) == (1000.5, 900.5)
    assert [line["amount"] for line in page["results"]] == [-100]
    _, said = await tg(*arguments, "--csv", "-")
    assert [row["debit"] for row in csv.DictReader(io.StringIO(said))] == ["100.00"]


async def test_files_are_written(merchant: Merchant, tg: Any, tmp_path: Path) -> None:
    files = ("--csv", str(tmp_path / "s.csv"), "--pdf", str(tmp_path / "s.pdf"))
    code, said = await tg("statement", merchant.shop.business_id, "NGN", *files)
    assert (code, said) == (0, "")
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 3
    assert "900.50" in pypdf.PdfReader(tmp_path / "s.pdf").pages[0].extract_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("statement", "NGN", "--from", "soon"), "--from must be a date"),
        (("statement", "NGN", "--from", "2026-11-02", "--to", "2026-11-01"), "--to must be after --from"),
        (("statement", "USD"), "no wallet in this currency"),
    ],
)
async def test_a_mistake_is_said_in_a_sentence(
    merchant: Merchant, tg: Any, arguments: tuple[str, ...], words: str
) -> None:
    command, *rest = arguments
    code, said = await tg(command, merchant.shop.business_id, *rest)
    assert code == 1
    assert words in " ".join(said.split())


async def test_an_unknown_business_is_reported_as_unknown(db: Database, tg: Any) -> None:
    for arguments in (("wallet", "list", "f" * 24), ("statement", "f" * 24, "NGN")):
        code, said = await tg(*arguments)
        assert code == 1
        assert "f" * 24 in said
