"""How often a page asks the database. Each question is a way to another machine and back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

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

ROUND_TRIPS_MAX = 3


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


async def test_home_asks_the_database_three_times(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, asked: tuple[str, list[str]]
) -> None:
    assert (await (await new_checkout(shop)).charge(card())).status_code == 200
    url, said = asked
    await owner.get()
    # The first answer of a connection learns its types, and notes that the person was seen.
    for number in range(2):
        said.clear()
        page = await owner.client.get(f"{url}{owner.path()}")
        assert page.status_code == 200
        assert number == 0 or 0 < len(said) <= ROUND_TRIPS_MAX, said
    assert "Taken today" in page.text
