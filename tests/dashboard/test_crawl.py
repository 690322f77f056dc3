"""Looking changes nothing: every page of the dashboard is opened, and the database is as before."""

from __future__ import annotations

import re
from typing import Any

import pytest

from build import Shop
from checkout.paying import card
from conftest import LEDGER_TABLES, TABLES, MakeCheckout
from dashboard.people import SignedInPerson
from dashboard.test_roles import table_of
from tidegate.runtime import Runtime

# When a session or a key was last seen is noted beside the requests; so is what the worker writes by itself.
NOT_COMPARED = {"member_session", "credential", "retention", "leased_work", "takings", "takings_watermark"}
GATES = ("/dashboard", "/dashboard/sign-in", "/dashboard/forgot", "/dashboard/security", "/dashboard/confirm")

pytestmark = pytest.mark.usefixtures("unlimited")


async def rows_of(admin: Any) -> dict[str, str]:
    tables = [table for table in (*TABLES, *LEDGER_TABLES) if table not in NOT_COMPARED]
    question = "SELECT coalesce(md5(string_agg(one::text, ',' ORDER BY one::text)), '') FROM {} AS one"
    return {table: await admin.fetchval(question.format(table)) for table in tables}


async def test_no_page_changes_anything_when_it_is_opened(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    paid = await new_checkout(shop)
    assert (await paid.charge(card())).status_code == 200
    await paid.tick()
    known = {
        "payment": paid.pay_code,
        "currency": "NGN",
        "journal": str(await admin.fetchval("SELECT max(id) FROM journal")),
    }
    before = await rows_of(admin)
    for row in table_of(runtime):
        if row.method == "GET":
            path = re.sub(r"\{(\w+)\}", lambda found: known.get(found[1], "x"), row.path)
            answer = await owner.client.get(owner.path(path))
            assert answer.status_code < 500, path
    for path in GATES:
        assert (await owner.client.get(path)).status_code < 400
    assert await rows_of(admin) == before
