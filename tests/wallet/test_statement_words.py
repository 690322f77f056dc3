"""How a statement puts things into words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ledger.booking import a_few, new_business
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Database
from tidegate.ledger.model import JournalKind, LedgerAccount
from tidegate.ledger.postings import POSTING_OF
from tidegate.wallet.model import WORDS_OF, WalletLine
from tidegate.wallet.statement import figure, period_text

DAY = datetime(2026, 11, 2, tzinfo=UTC)
WITHOUT_WALLET = {
    JournalKind.RECEIPT_HELD, JournalKind.RECEIPT_UNCLAIMED, JournalKind.HELD_RETURNING, JournalKind.RECEIPT_RETURNING,
    JournalKind.RETURN_DONE, JournalKind.REFUND_DONE, JournalKind.REFUND_CONVERTED, JournalKind.HELD_REVERSED,
    JournalKind.UNCLAIMED_RELEASED, JournalKind.RETURN_OFFSET,
}  # fmt: skip


def line(kind: JournalKind, **changes: object) -> WalletLine:
    nothing = Money(0, Currency.NGN)
    fields = {"about": None, "converted_from": None, **changes}
    return WalletLine(
        id=1, kind=kind, booked_at=DAY, happened_at=DAY, amount=Money(1, Currency.NGN), balance=nothing, fee=nothing,
        vat=nothing, reference=None, **fields,  # type: ignore[arg-type]
    )  # fmt: skip


def test_every_kind_that_moves_a_wallet_has_words() -> None:
    assert WORDS_OF.keys() == POSTING_OF.keys() - WITHOUT_WALLET


async def test_no_other_kind_has_moved_a_wallet(db: Database, admin: object) -> None:
    business_id = await new_business(db)
    await a_few(db, business_id)
    async with db.connection() as tx:
        rows = await tx.fetch(
            "SELECT DISTINCT kind FROM journal JOIN entry ON entry.business_id = journal.business_id"
            " AND journal_id = id WHERE account = $1",
            LedgerAccount.WALLET,
        )
    assert rows
    assert {JournalKind(row["kind"]) for row in rows} <= WORDS_OF.keys()


@pytest.mark.parametrize("kind", WORDS_OF, ids=str)
def test_a_description_is_a_phrase_with_and_without_a_name(kind: JournalKind) -> None:
    alone, named = line(kind).description, line(kind, about="Ada {0} Obi").description
    assert alone[0].isupper()
    assert named.startswith(alone)
    assert named.endswith((" from Ada {0} Obi", " of Ada {0} Obi"))


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [
        (DAY, DAY + timedelta(days=1), "2 Nov 2026"),
        (DAY, DAY + timedelta(days=2), "2 Nov 2026 – 3 Nov 2026"),
        (DAY, DAY + timedelta(hours=9), "2 Nov 2026 – 2 Nov 2026, 09:00"),
        (DAY + timedelta(hours=9), DAY + timedelta(days=1), "2 Nov 2026, 09:00 – 2 Nov 2026"),
    ],
)
def test_a_period_in_words(start: datetime, end: datetime, text: str) -> None:
    assert period_text(start, end) == text


@pytest.mark.parametrize(
    ("money", "text"),
    [
        (Money(123_456_789, Currency.NGN), "1,234,567.89"),
        (Money(123_456, Currency.UGX), "123,456"),
        (Money(0, Currency.EUR), "0.00"),
        (Money(5, Currency.USD), "0.05"),
        (None, ""),
    ],
)
def test_a_figure_has_all_its_decimals(money: Money | None, text: str) -> None:
    assert figure(money) == text
