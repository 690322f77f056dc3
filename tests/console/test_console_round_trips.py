"""How often pages of the console ask the database, however much they show."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from build import Shop
from console.people import SignedInStaff
from database_questions import watched_server

pytestmark = pytest.mark.usefixtures("unlimited")

# The session, the staff, what waits at the side, and the page.
MOST = 4


@pytest.fixture
async def asked(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[str, list[str]]]:
    async with watched_server(database_url, monkeypatch) as found:
        yield found


async def test_a_page_of_merchants_is_one_question(
    operator: SignedInStaff, shop: Shop, asked: tuple[str, list[str]], admin: Any
) -> None:
    await admin.execute(
        """
        INSERT INTO business (id, code, name, email, created_at, updated_at)
        SELECT lpad(to_hex(number), 24, '0'), lpad(number::text, 5, '0'), 'Shop ' || number, 'x@y.example',
               now(), now()
          FROM generate_series(1, 60) AS number
        """
    )
    url, said = asked
    counts = []
    # The first answer of a connection learns its types, and another one may answer the next request.
    for _ in range(8):
        said.clear()
        answer = await operator.client.get(f"{url}{operator.path('/merchants')}")
        counts.append(len(said))
    assert answer.text.count("/console/merchants/") >= 50
    assert min(counts) <= MOST, said
