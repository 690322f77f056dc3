"""The search of the console; documents that a merchant adds to its account request."""

from __future__ import annotations

from typing import Any

import pytest

from console.people import SignedInStaff
from dashboard.people import People, SignedInPerson
from inflow import DIFFERENT, Inflows, credit
from tidegate.member.permission import Role

pytestmark = pytest.mark.usefixtures("unlimited")


async def test_a_merchant_adds_documents_until_its_account_is_decided_on(
    operator: SignedInStaff, people: People, inflows: Inflows, admin: Any
) -> None:
    assert (await inflows.ask_for()).status_code == 201
    account_id = await admin.fetchval("SELECT id FROM virtual_account")
    owner = await people.person(inflows.shop, Role.OWNER)
    viewer = await people.person(inflows.shop, Role.VIEWER)
    at = f"/accounts/{account_id}"

    async def add(person: SignedInPerson, content: bytes) -> int:
        fields = await person.fields(at)
        data = {"token": fields["token"], "once": content.hex()[-20:], "name": "Passport"}
        files = {"file": ("p.pdf", content, "application/pdf")}
        return (await person.client.post(person.path(f"{at}/documents"), data=data, files=files)).status_code

    assert await add(viewer, b"%PDF-1.7 a viewer") == 403
    assert await add(owner, b"<svg>") == 422
    assert await add(owner, b"%PDF-1.7 secret") == 303
    assert "Passport" in (await owner.get(at)).text
    kept = await admin.fetchrow("SELECT id, sealed FROM account_document")
    assert "secret" not in kept["sealed"]
    # The staff open it after saying why.
    opened = await operator.send(f"{at}/documents/{kept['id']}", at=at, reason="the name is unclear")
    assert opened.content == b"%PDF-1.7 secret"
    assert await admin.fetchval("SELECT count(*) FROM audit WHERE action = 'document.opened'") == 1
    await admin.execute("UPDATE virtual_account SET status = 'declined', reason = 'no'")
    assert await add(owner, b"%PDF-1.7 too late") == 409


async def test_why_an_inflow_was_returned_is_found_by_its_reference(operator: SignedInStaff, inflows: Inflows) -> None:
    """Typed into the bar, its page opens."""
    returned = await inflows.notified(credit(await inflows.number(), payeeName=DIFFERENT))
    found = await operator.client.get(f"/console/find?q={returned['reference']}")
    assert found.headers["location"] == f"/console/held/{returned['reference']}"
    assert "is not the account holder" in (await operator.client.get(found.headers["location"])).text
    merchant = await operator.client.get(f"/console/find?q={inflows.shop.business_id}")
    assert merchant.headers["location"] == f"/console/merchants/{inflows.shop.business_id}"
    for text in ("", "%", "_", "'", "\x00", "x" * 3_000):
        assert (await operator.client.get("/console/find", params={"q": text})).status_code == 200, text
    assert "Payments by the hour" in (await operator.get()).text
