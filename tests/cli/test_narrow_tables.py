"""Every table on a terminal of 80 columns: words and ids stay whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from build import Checkout
from checkout.paying import card
from cli.operating import Operator
from conftest import MakeCheckout
from inflow import CLOSE, Inflows, credit
from reconcile.reconciling import write
from tidegate.cli import console

NARROW, WIDE = 80, 1_000
URL = "https://shop.example.com/payments/tidegate/hooks"
# Rules and corners of tables are no words.
_DRAWN = re.compile("[\u2500-\u257f]+")


@pytest.fixture
async def operator(database_url: str, tmp_path: Path) -> Operator:
    return Operator(database_url, tmp_path)


@pytest.fixture
async def busy(inflows: Inflows, new_checkout: MakeCheckout, operator: Operator, tmp_path: Path) -> Checkout:
    """A business that has some of everything that is listed."""
    business = ("--business", inflows.shop.business_id)
    await operator.said("webhook", "add", URL, "--description", "the shop's own server in the cellar", *business)
    sold = await new_checkout(inflows.shop, reference="ORDER-2026-11-16-0000000001")
    assert (await sold.charge(card())).status_code == 200
    await inflows.notified(credit(await inflows.number(), 1_234_567_89))
    await inflows.notified(credit(await inflows.number(), payeeName=CLOSE))
    await operator.said("rate", "set", "EUR", "USD", "1.0842", "--source", "European Central Bank")
    await operator.said("refund", "create", inflows.shop.business_id, sold.reference, "--amount", "40")
    await operator.said("events", "replay", "--from", "2h", "--to", "0s", "--confirm", *business)
    row = {"transactionId": "bank-transaction-00000001", "direction": "in", "amount": "10.00", "currency": "EUR"}
    write(tmp_path / "statement.csv", [{**row, "bookedAt": "2026-11-16T09:30:00.000Z"}])
    return sold


def commands(business_id: str, reference: str, file: Path) -> list[list[str]]:
    return [
        ["merchant", "list"],
        ["payment", "list", business_id],
        ["payment", "show", business_id, reference],
        ["webhook", "list", "--business", business_id],
        ["events", "list", "--business", business_id],
        ["account", "list"],
        ["inflow", "list"],
        ["rate", "list"],
        ["refund", "list", business_id],
        ["wallet", "list", business_id],
        ["statement", business_id, "NGN"],
        ["doctor", "--books"],
        ["reconcile", str(file), "--rail", "sandbox"],
    ]


def words(said: str) -> set[str]:
    return set(_DRAWN.sub(" ", said).split())


async def test_no_table_breaks_a_word_at_80_columns(busy: Checkout, operator: Operator, tmp_path: Path) -> None:
    for command in commands(busy.shop.business_id, busy.reference, tmp_path / "statement.csv"):
        _, wide = await operator.run(*command, columns=WIDE)
        _, narrow = await operator.run(*command, columns=NARROW)
        # Seconds pass between the two.
        lost = {word for word in words(wide) - words(narrow) if not re.fullmatch(r"[\d.]+", word)}
        assert not lost, (command, lost, narrow)
        assert len(words(wide)) > 10, (command, wide)
        assert command[0] != "payment" or busy.reference in words(narrow), narrow


def test_every_table_is_shown_by_the_one_helper() -> None:
    folder = Path(console.__file__).parent
    users = [path.name for path in folder.glob("*.py") if re.search(r"\bTable\(", path.read_text())]
    others = [name for name in users if "show_table(" not in (folder / name).read_text()]
    assert others == []
    printed = [name for name in users if re.search(r"print\((table|_\w*table\w*\()", (folder / name).read_text())]
    assert printed == []
