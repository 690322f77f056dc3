"""How often a page asks the database. Each question is a way to another machine and back."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from checkout.paying import card
from conftest import MakeCheckout
from dashboard.one_of_each import make_one_of_each, path_of
from dashboard.people import SignedInPerson
from dashboard.test_roles import table_of
from database_questions import watched_server
from inflow import Inflows

pytestmark = pytest.mark.usefixtures("unlimited")


@pytest.fixture
async def asked(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[str, list[str]]]:
    async with watched_server(database_url, monkeypatch) as found:
        yield found


# Session, membership and business are one question; a page has two more.
MOST = 3
# Addresses that ask differently than the plain one.
WITH_QUERY = (
    "/payments?q=ord-",
    "/payments?before=1900000000000000-9",
    "/payments?q={payment}",
    "/refunds?tab=approve",
    "/webhooks?status=delivered&endpoint={endpoint}",
    "/webhooks/replay?endpoint={endpoint}",
    "/takings?day={day}&currency=NGN",
    "/find?q={payment}",
    "/audit?what=team",
    "/wallets/{currency}?from={day}",
    "/wallets/{currency}?kind=refunds",
    "/webhooks?answer=5xx&tries=2&to={day}",
    "/inflows?verdict=close",
)
MORE = {
    # Before a period of the past is read, its end is closed: bookings on their way are waited for.
    "/wallets/{currency}?from={day}": 4,
}
OF_PERSON = ("/dashboard", "/dashboard/security")


async def test_every_page_asks_the_database_at_most_three_times(
    owner: SignedInPerson, new_checkout: MakeCheckout, inflows: Inflows, asked: tuple[str, list[str]]
) -> None:
    paid = await new_checkout(inflows.shop)
    assert (await paid.charge(card())).status_code == 200
    known = await make_one_of_each(owner, paid, inflows)
    known["day"] = str(await inflows.admin.fetchval("SELECT created_at::date FROM payment"))
    url, said = asked
    pages = [row.path for row in table_of(inflows.runtime) if row.method == "GET"]
    addresses = {path: owner.path(path_of(path, known)) for path in (*pages, *WITH_QUERY)}
    found: dict[str, list[str]] = {}
    for path, address in (addresses | {path: path for path in OF_PERSON}).items():
        # The first answer of a connection learns its types, and notes that the person was seen.
        for _ in range(2):
            said.clear()
            answer = await owner.client.get(f"{url}{address}")
        # What needs a day to be shown.
        assert answer.status_code in (200, 303) or path == "/takings", path
        found[path] = said.copy()
    assert {path: said for path, said in found.items() if not 0 < len(said) <= MORE.get(path, MOST)} == {}
