"""The page that asks for a factor: what it confirms, the way back, and what fails after it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from html import unescape
from typing import Any

import pytest

from build import Checkout, Shop
from conftest import MakeCheckout
from console.people import StaffPeople
from console.test_staff_roles import table_of as console_table
from dashboard.people import People, SignedInPerson
from dashboard.test_roles import table_of as dashboard_table
from dashboard.test_step_up import ASKED, LAPSED, TO_APPROVE
from tidegate.member import permission
from tidegate.member.permission import Grant, Role
from tidegate.runtime import Runtime
from tidegate.staff.permission import StaffRole, grant_of

pytestmark = pytest.mark.usefixtures("unlimited")

ACT = re.compile(r'<h2 id="act">([^<]+)</h2>')
BACK = re.compile(r'href="([^"]+)">Cancel</a>')


@pytest.fixture
async def paid(new_checkout: MakeCheckout, shop: Shop) -> Checkout:
    checkout = await new_checkout(shop)
    await checkout.transfer(await checkout.account(), "100.00")
    return checkout


@pytest.fixture
async def fails(admin: Any) -> AsyncIterator[None]:
    """No mail can be written."""
    await admin.execute("ALTER TABLE mail ADD CONSTRAINT nothing_more CHECK (false) NOT VALID")
    yield
    await admin.execute("ALTER TABLE mail DROP CONSTRAINT nothing_more")


async def asked_of(person: SignedInPerson, below: str, at: str, **fields: str) -> tuple[str, str]:
    """What is to be confirmed, and where Cancel leads."""
    answer = await person.post(below, {**await person.fields(at), **fields})
    assert (answer.status_code, ASKED in answer.text) == (200, True), (below, answer.text[-600:])
    [act], [back] = ACT.findall(answer.text), BACK.findall(answer.text)
    assert (await person.client.get(back)).status_code == 200, back
    return unescape(act), unescape(back).removeprefix(str(person.client.base_url).rstrip("/")).removeprefix(
        person.path()
    )


def test_every_form_that_asks_for_a_factor_says_what_it_confirms(runtime: Runtime) -> None:
    silent = [
        row.name
        for row in dashboard_table(runtime)
        if any(permission.grant(role, row.permission) is Grant.STEP_UP for role in Role)
        and row.method == "POST"
        and not row.confirms
    ]
    silent += [
        row.name
        for row in console_table(runtime)
        if any(grant_of(role, row.permission) is Grant.STEP_UP for role in StaffRole)
        and row.method == "POST"
        and not row.confirms
    ]
    assert silent == []


async def test_the_page_names_the_act_and_cancel_leads_back(
    people: People, owner: SignedInPerson, paid: Checkout, admin: Any
) -> None:
    support = await people.person(paid.shop, Role.SUPPORT, name="Sade Lawal")
    at, business = f"/payments/{paid.pay_code}", paid.shop.business_id
    reference, payer = await admin.fetchrow("SELECT reference, customer_name FROM payment")
    await support.send(f"{at}/refund", at=at, what="part", amount="20")
    number = await admin.fetchval("SELECT id FROM approval")
    key_id, four = await admin.fetchrow(
        "SELECT id, last_four FROM credential WHERE business_id = $1 AND kind = 'secret'", business
    )
    await owner.send("/team/invitations", at="/team", email="new@example.com", role="viewer")
    invitation = await admin.fetchval("SELECT id FROM invitation")
    await owner.send("/webhooks/endpoints", at="/webhooks", url="https://shop.example.com/hook")
    endpoint = await admin.fetchval("SELECT id FROM webhook_endpoint")
    await admin.execute(LAPSED)
    refund = f"the refund of ₦20.00 of {paid.reference} that Sade Lawal asked for"
    for below, page, fields, act in (
        (f"{at}/refund", at, {"what": "part", "amount": "50"}, f"Refund ₦50.00 of {reference} to {payer}"),
        (f"/approvals/{number}/approve", TO_APPROVE, {}, f"Approve {refund}"),
        (f"/approvals/{number}/decline", TO_APPROVE, {}, f"Decline or take back {refund}"),
        (f"/keys/{key_id}", "/keys", {"what": "revoke"}, f"Revoke the key ··{four}"),
        ("/keys", "/keys", {"name": "Shop", "scope-read": "yes"}, "Make the key “Shop”"),
        (f"/team/{support.member.id}", "/team", {"what": "remove"}, "Remove Sade Lawal from the team"),
        (f"/team/{support.member.id}", "/team", {"what": "role", "role": "viewer"}, "Make Sade Lawal viewer"),
        ("/team/invitations", "/team", {"email": "a@example.com", "role": "admin"}, "Invite a@example.com as admin"),
        (f"/team/invitations/{invitation}/withdraw", "/team", {}, "Withdraw the invitation of new@example.com"),
        (f"/webhooks/endpoints/{endpoint}", "/webhooks", {"what": "delete"},
         "Delete the endpoint https://shop.example.com/hook"),
        ("/settings/two-step", "/settings", {}, "Change who must sign in with two steps"),
        ("/payments.csv", "/payments", {}, "Export more than 10,000 payments"),
    ):  # fmt: skip
        assert await asked_of(owner, below, page, **{"once": below, **fields}) == (act, page)


async def test_above_the_limit_the_page_says_that_another_person_approves(
    people: People, owner: SignedInPerson, paid: Checkout, admin: Any
) -> None:
    await people.person(paid.shop, Role.ADMIN)
    await owner.send("/settings/limits", at="/settings", **{"limit-NGN": "50"})
    await admin.execute(LAPSED)
    at = f"/payments/{paid.pay_code}"
    act, _ = await asked_of(owner, f"{at}/refund", at, what="all")
    assert act.startswith("Ask another person to approve the refund of ₦100.00")


async def test_the_console_names_the_act_too(staff: StaffPeople, shop: Shop, admin: Any) -> None:
    operator, approver = await staff.person(StaffRole.OPERATOR, name="Ife"), await staff.person(StaffRole.APPROVER)
    at = f"/merchants/{shop.business_id}"
    await admin.execute(LAPSED)
    name = await admin.fetchval("SELECT name FROM business WHERE id = $1", shop.business_id)
    assert await asked_of(operator, f"{at}/suspend", at, why="asked to") == (f"Suspend {name}", at)
    assert await asked_of(operator, "/rails/sandbox/pause", "/rails") == ("Pause the rail sandbox", "/rails")
    assert await asked_of(approver, "/books/export", "/books") == ("Export the trial balance", "/books")
    proposed = await operator.send(f"{at}/owner", at=at, email="new@example.com", why="the first one")
    assert proposed.status_code == 303
    number = await admin.fetchval("SELECT id FROM approval")
    act, back = await asked_of(approver, f"/approvals/{shop.business_id}/{number}/approve", "/approvals")
    assert (act.startswith(f"Approve what Ife proposed of {name}: "), back) == (True, "/approvals")


@pytest.mark.usefixtures("fails")
async def test_who_showed_a_factor_stays_signed_in_when_the_act_fails(owner: SignedInPerson, admin: Any) -> None:
    await admin.execute(LAPSED)
    fields = {**await owner.fields("/team"), "email": "new@example.com", "role": "viewer", "factor": "sandbox"}
    answer = await owner.post("/team/invitations", fields)
    assert (answer.status_code, "went wrong on our side" in answer.text) == (500, True)
    await owner.get("/team")
