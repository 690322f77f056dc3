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
    at = f"/payments/{paid.pay_code}"
    refund = await owner.send(f"{at}/refund", at=at, what="part", amount="1")
    link = await owner.send("/links", at="/links", name="Ticket", kind="reusable", currency="NGN", amount="100")
    await owner.send("/webhooks/endpoints", at="/webhooks", url="https://a.example/")
    endpoint = await admin.fetchval("SELECT id FROM webhook_endpoint")
    tested = await owner.send(f"/webhooks/endpoints/{endpoint}/test", at="/webhooks")
    await owner.send("/accounts/new", at="/accounts/new", currency="EUR", account_type="corporate", business_name="Eze")
    known = {
        "refund": refund.headers["location"].rpartition("/")[2],
        "link": link.headers["location"].rpartition("/")[2],
        "delivery": tested.headers["location"].rpartition("/")[2],
        "account": await admin.fetchval("SELECT id FROM virtual_account"),
        "payment": paid.pay_code,
        "currency": "NGN",
        "journal": str(await admin.fetchval("SELECT max(id) FROM journal")),
    }
    before = await rows_of(admin)
    for row in table_of(runtime):
        if row.method == "GET":
            path = re.sub(r"\{(\w+)\}", lambda found: known.get(found[1], "x"), row.path)
            answer = await owner.client.get(owner.path(path))
            # What is not made here, and figures that an address without their day does not name.
            is_nothing = "x" in path.split("/") or path == "/takings"
            assert answer.status_code < (500 if is_nothing else 400), path
    for path in GATES:
        assert (await owner.client.get(path)).status_code < 400
    assert await rows_of(admin) == before
