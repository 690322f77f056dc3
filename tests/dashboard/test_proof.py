"""A business proves its own books, and its statement by kind of line."""

from __future__ import annotations

import csv
import io
import re
from html import unescape
from typing import Any

import pytest

from build import Checkout, Shop
from checkout.paying import card
from conftest import MakeCheckout, MakeShop
from dashboard.people import People, SignedInPerson
from tidegate.dashboard import proof_pages, proof_store
from tidegate.dashboard.wallet_pages import LINE_KINDS
from tidegate.infra.db import Database
from tidegate.ledger import chain
from tidegate.member.permission import Role
from tidegate.wallet.model import WORDS_OF

pytestmark = pytest.mark.usefixtures("unlimited")
AT = "/wallets/proof"


@pytest.fixture
async def paid(new_checkout: MakeCheckout, shop: Shop, owner: SignedInPerson, db: Database) -> Checkout:
    """Three sales and two refunds on their way, all linked."""
    for _ in range(3):
        checkout = await new_checkout(shop)
        assert (await checkout.charge(card())).status_code == 200
    at = f"/payments/{checkout.pay_code}"
    for amount in ("10", "5.25"):
        assert (await owner.send(f"{at}/refund", at=at, what="part", amount=amount)).status_code == 303
    while await chain.link_journals(db, shop.business_id):
        pass
    return checkout


@pytest.mark.usefixtures("paid")
async def test_books_that_are_right_are_proven_whole(owner: SignedInPerson, shop: Shop, admin: Any) -> None:
    page = (await owner.get(AT)).text
    assert "Your books are right" in page
    assert "all its 5 lines" in page
    balance = await admin.fetchval("SELECT balance_minor FROM wallet WHERE business_id = $1", shop.business_id)
    assert len(re.findall(rf'<td class="num[ \w]*">₦{balance / 100:,.2f}</td>', page)) == 3
    length, head = await admin.fetchrow("SELECT * FROM head_of_journals($1)", shop.business_id)
    assert f"<dt>Position</dt><dd>{length}</dd>" in page
    assert head.hex() in page
    assert AT in (await owner.get("/wallets")).text


async def tamper(admin: Any, change: str) -> None:
    """By somebody whom no trigger stops."""
    await admin.execute("SET session_replication_role = replica")
    try:
        await admin.execute(change)
    finally:
        await admin.execute("RESET session_replication_role")


# What somebody changes in the tables, and what the page says of it.
TAMPERED = [
    ("UPDATE wallet SET balance_minor = balance_minor + 100", "its lines say"),
    ("UPDATE wallet SET locked_minor = locked_minor + 100", "refunds on their way and disputes are ₦15.25"),
    (
        "UPDATE entry SET balance_after_minor = balance_after_minor + 1 WHERE account = 'wallet' AND journal_id ="
        " (SELECT min(journal_id) FROM entry WHERE account = 'wallet')",
        "A balance does not follow from the line before it",
    ),
    ("UPDATE entry SET amount_minor = amount_minor + 1 WHERE account = 'fee'", "The entries do not sum to zero"),
    ("UPDATE journal SET cause = 'x' || cause WHERE kind = 'refund_started'", "was changed"),
    ("DELETE FROM journal_link WHERE position = 2", "Link 2 is missing"),
]


@pytest.mark.breaks_the_books
@pytest.mark.usefixtures("paid")
@pytest.mark.parametrize(("change", "words"), TAMPERED)
async def test_what_somebody_changed_in_the_books_is_named(
    people: People, owner: SignedInPerson, new_shop: MakeShop, change: str, words: str
) -> None:
    stranger = await people.person(await new_shop(), Role.OWNER)
    await tamper(people.admin, change)
    page = unescape((await owner.get(AT)).text)
    assert "Something is wrong in your books" in page
    assert words in page
    # Of another business nothing is said.
    assert "There is nothing to prove yet" in (await stranger.get(AT)).text


@pytest.mark.breaks_the_books
@pytest.mark.usefixtures("paid")
async def test_of_long_books_the_newest_are_checked_and_the_page_says_so(
    owner: SignedInPerson, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof_pages, "LINES_MAX", 2)
    monkeypatch.setattr(proof_pages, "LINKS_MAX", 2)
    page = (await owner.get(AT)).text
    assert "Your books are right" in page
    assert ("the newest 2 lines" in page, "the newest 2 links" in page) == (True, True)
    # What is older is not looked at, and not claimed.
    await tamper(admin, "UPDATE journal SET cause = 'x' WHERE id = (SELECT min(id) FROM journal)")
    assert "Unbroken" in (await owner.get(AT)).text
    monkeypatch.setattr(proof_pages, "LINKS_MAX", 1_000)
    assert "Broken" in (await owner.get(AT)).text


@pytest.mark.usefixtures("paid")
async def test_a_statement_by_kind_has_the_lines_of_that_kind(owner: SignedInPerson, db: Database, shop: Shop) -> None:
    async def lines(query: str) -> int:
        page = (await owner.get(f"/wallets/NGN?{query}")).text
        return len(re.findall(r'<th scope="row">', page))

    assert {kind: await lines(f"kind={kind}") for kind in ("", *LINE_KINDS)} == {
        "": 5, "payments": 3, "transfers": 0, "refunds": 2, "reversals": 0, "disputes": 0,
    }  # fmt: skip
    days = ("from=2020-01-01", "to=2020-01-01")
    assert [await lines(f"kind=refunds&{day}") for day in days] == [2, 0]
    answer = await owner.get("/wallets/NGN/statement.csv?kind=refunds")
    assert len(list(csv.DictReader(io.StringIO(answer.text)))) == 2
    assert 'filename="statement-NGN-refunds.csv"' in answer.headers["content-disposition"]
    for query in ("kind=x", "from=2026-13-01", "from=2026-11-16x", "from=2026-11-16&to=2026-11-15"):
        for below in ("", "/statement.csv", "/statement.pdf"):
            await owner.get(f"/wallets/NGN{below}?{query}", status=422)
    # It would be another statement than the one on the screen.
    await owner.get("/wallets/NGN/statement.pdf?kind=refunds", status=422)
    assert 'id="w-kind"' in (await owner.get("/wallets/NGN?kind=x", status=422)).text
    async with db.connection() as tx:
        books = await proof_store.get_books(tx, shop.business_id, lines_max=10)
    assert [one.lines for one in books.wallets] == [5]


def test_every_kind_of_line_is_in_one_filter() -> None:
    found = [kind for one in LINE_KINDS.values() for kind in one.kinds]
    assert sorted(found) == sorted(WORDS_OF)
