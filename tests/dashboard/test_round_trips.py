"""How often a page asks the database. Each question is a way to another machine and back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import asyncpg
import pytest

from build import Shop
from checkout.paying import card
from conftest import ENCRYPTION_KEY, MakeCheckout
from dashboard.people import SignedInPerson
from serving import serving
from tidegate.core import request_id
from tidegate.settings import Settings

pytestmark = pytest.mark.usefixtures("unlimited")


@pytest.fixture
async def asked(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[str, list[str]]]:
    """A server of its own, and what is asked of the database while it answers requests."""
    said: list[str] = []
    connect = asyncpg.connect

    def note(query: Any) -> None:
        # Called in the context of who asked; the server's own rounds have no request.
        if request_id.current() is not None:
            said.append(query.query)

    async def watched(*args: Any, **options: Any) -> Any:
        connection = await connect(*args, **options)
        connection.add_query_logger(note)
        return connection

    monkeypatch.setattr(asyncpg, "connect", watched)
    async with serving(Settings(database_url=database_url, encryption_keys=(ENCRYPTION_KEY,))) as (url, _):
        yield url, said


class Page(NamedTuple):
    below: str
    words: str
    # Questions to the database.
    most: int


@pytest.mark.parametrize(
    "page",
    [
        Page("", "Taken today", 3),
        Page("/payments", "ord", 3),
        Page("/payments?q=ord-", "ord", 3),
        Page("/payments?before=1900000000000000-9", "ord", 3),
        Page("/payments?q={pay_code}", "", 3),
        Page("/payments/{pay_code}", "Case link", 3),
        Page("/webhooks", "Webhooks", 5),
    ],
    ids=["home", "list", "search", "older", "search for a pay code", "payment", "webhooks"],
)
async def test_a_page_asks_the_database_a_few_times(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, asked: tuple[str, list[str]], page: Page
) -> None:
    checkout = await new_checkout(shop)
    assert (await checkout.charge(card())).status_code == 200
    url, said = asked
    await owner.get()
    address = f"{url}{owner.path()}{page.below.format(pay_code=checkout.pay_code)}"
    # The first answer of a connection learns its types, and notes that the person was seen.
    for number in range(2):
        said.clear()
        answer = await owner.client.get(address)
        assert answer.status_code in (200, 303)
        assert number == 0 or 0 < len(said) <= page.most, said
    assert page.words in answer.text
