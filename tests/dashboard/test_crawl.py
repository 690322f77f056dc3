"""Looking changes nothing: every page of the dashboard is opened, and the database is as before."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pytest

from checkout.paying import card
from conftest import LEDGER_TABLES, TABLES, MakeCheckout
from dashboard.one_of_each import make_one_of_each, path_of
from dashboard.people import SignedInPerson
from dashboard.test_roles import table_of
from inflow import Inflows

# When a session or a key was last seen is noted beside the requests; so is what the worker writes by itself.
NOT_COMPARED = {"member_session", "credential", "retention", "leased_work", "takings", "takings_watermark"}
GATES = ("/dashboard", "/dashboard/sign-in", "/dashboard/forgot", "/dashboard/security", "/dashboard/confirm")

FIRST_VIEW_BYTES_MAX = 25_000

pytestmark = pytest.mark.usefixtures("unlimited")


async def rows_of(admin: Any) -> dict[str, str]:
    tables = [table for table in (*TABLES, *LEDGER_TABLES) if table not in NOT_COMPARED]
    question = "SELECT coalesce(md5(string_agg(one::text, ',' ORDER BY one::text)), '') FROM {} AS one"
    return {table: await admin.fetchval(question.format(table)) for table in tables}


async def test_no_page_changes_anything_when_it_is_opened(
    owner: SignedInPerson, new_checkout: MakeCheckout, inflows: Inflows, admin: Any
) -> None:
    paid = await new_checkout(inflows.shop)
    assert (await paid.charge(card())).status_code == 200
    await paid.tick()
    known = await make_one_of_each(owner, paid, inflows)
    before = await rows_of(admin)
    for row in table_of(inflows.runtime):
        if row.method == "GET":
            path = path_of(row.path, known)
            answer = await owner.client.get(owner.path(path))
            # What is not made here, and figures that an address without their day does not name.
            is_nothing = "x" in path.split("/") or path == "/takings"
            assert answer.status_code < (500 if is_nothing else 400), path
    for path in GATES:
        assert (await owner.client.get(path)).status_code < 400
    assert await rows_of(admin) == before


async def test_a_first_view_is_light(owner: SignedInPerson, new_checkout: MakeCheckout, inflows: Inflows) -> None:
    """A page with its styles, compressed, and every script that it asks for."""
    paid = await new_checkout(inflows.shop)
    assert (await paid.charge(card())).status_code == 200
    known = await make_one_of_each(owner, paid, inflows)
    heavy = {}
    for row in table_of(inflows.runtime):
        answer = await owner.client.get(owner.path(path_of(row.path, known))) if row.method == "GET" else None
        # The preview is the payer's page.
        if answer is None or "html" not in answer.headers.get("content-type", "") or row.path == "/branding/preview":
            continue
        assert not re.findall(r"<link[^>]+stylesheet", answer.text), row.path
        scripts = [await owner.client.get(src) for src in re.findall(r'<script[^>]+src="([^"]+)"', answer.text)]
        size = len(gzip.compress(answer.content)) + sum(len(gzip.compress(one.content)) for one in scripts)
        if size > FIRST_VIEW_BYTES_MAX:
            heavy[row.path] = size
    assert heavy == {}
