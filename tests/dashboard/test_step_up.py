"""A form that may ask for a factor: first the right, then what is wrong with it, then the factor, then the act."""

from __future__ import annotations

from typing import Any

import pytest

from build import Checkout, Shop
from conftest import MakeCheckout
from dashboard.people import People, SignedInPerson
from dashboard.test_roles import table_of
from tidegate.member import permission
from tidegate.member.permission import Grant, Role
from tidegate.runtime import Runtime

pytestmark = pytest.mark.usefixtures("unlimited")

ASKED = "Confirm it is you"
TO_APPROVE = "/refunds?tab=approve"
LAPSED = "UPDATE member_session SET stepped_up_at = NULL"
# A box to tick: nothing of it can be wrong.
NOTHING_TO_CHECK = {"demandTwoStep"}
# One button each; what is wrong is what has happened meanwhile.
OVERTAKEN = {"approveRefund", "declineRefund", "withdrawInvitation", "resetFactors"}
# By name of the route: the page that has the form, what is wrong, and the sentence that says so.
WRONG = {
    "makeKey": ("/keys", {"name": "Shop", "days": "soon"}, "Enter after how many days it ends, or nothing."),
    "changeKey": ("/keys", {"overlap": "30"}, "Choose how long the old key still works."),
    "changeSettings": ("/settings", {"policy": "keep"}, "Choose what happens when the amount differs."),
    "changeHosts": ("/settings", {"hosts": "not a host!"}, "needs a change"),
    "changeLimits": ("/settings", {"limit-NGN": "many"}, "Enter an amount in NGN"),
    "invite": ("/team", {"email": "nobody", "role": "viewer"}, "e-mail address"),
    "changeMember": ("/team", {"role": "king"}, "Choose one of owner"),
    "addEndpointOnDashboard": ("/webhooks", {"url": "file:///etc/passwd"}, "The address "),
    "changeEndpointOnDashboard": ("/webhooks", {"what": "change", "url": "no"}, "The address "),
    "exportManyPayments": ("/payments", {"status": "many"}, "hoose one of"),
    "refundOnDashboard": ("/payments/{payment}", {"what": "part", "amount": "1,000"}, "without commas"),
}


@pytest.fixture
async def paid(new_checkout: MakeCheckout, shop: Shop) -> Checkout:
    checkout = await new_checkout(shop)
    await checkout.transfer(await checkout.account(), "100.00")
    return checkout


def test_every_form_that_may_ask_for_a_factor_is_checked_before(runtime: Runtime) -> None:
    asking = {
        row.name: row.check is not None
        for row in table_of(runtime)
        if row.method == "POST" and any(permission.grant(role, row.permission) is Grant.STEP_UP for role in Role)
    }
    assert {name for name, is_checked in asking.items() if not is_checked} == NOTHING_TO_CHECK
    # The form of an inflow is that of a payment.
    assert set(asking) - NOTHING_TO_CHECK - OVERTAKEN == {*WRONG, "refundInflow"}


async def test_a_refund_that_can_no_longer_be_approved_is_refused_before_the_factor(
    people: People, owner: SignedInPerson, paid: Checkout, admin: Any
) -> None:
    support, at = await people.person(paid.shop, Role.SUPPORT), f"/payments/{paid.pay_code}"
    for amount in ("20", "30"):
        asked = await support.send(f"{at}/refund", at=at, what="part", amount=amount)
        assert asked.status_code == 303
    decided, changed = [row["id"] for row in await admin.fetch("SELECT id FROM approval ORDER BY id")]
    assert (await owner.send(f"/approvals/{decided}/approve", at=TO_APPROVE)).status_code == 303
    await admin.execute(LAPSED)
    for below, status, sentence in (
        (f"/approvals/{decided}/approve", 409, "Ada Obi approved this on"),
        (f"/approvals/{decided}/decline", 409, "Ada Obi approved this on"),
        (f"/approvals/{changed}/approve", 409, "has changed since this was asked for"),
        ("/approvals/999/approve", 404, "nothing with this number"),
    ):
        answer = await owner.post(below, {**await owner.fields(TO_APPROVE), "once": below})
        assert (
            answer.status_code,
            ASKED in answer.text,
            sentence in answer.text.lower() or sentence in answer.text,
        ) == (status, False, True), below
    declined = await owner.post(f"/approvals/{changed}/decline", await owner.fields(TO_APPROVE))
    assert (declined.status_code, ASKED in declined.text) == (200, True)


async def test_one_s_own_proposal_is_refused_before_the_factor(
    people: People, owner: SignedInPerson, paid: Checkout, admin: Any
) -> None:
    await people.person(paid.shop, Role.ADMIN)
    await owner.send("/settings/limits", at="/settings", **{"limit-NGN": "50"})
    at = f"/payments/{paid.pay_code}"
    assert (await owner.send(f"{at}/refund", at=at, what="all")).status_code == 303
    number = await admin.fetchval("SELECT id FROM approval")
    await admin.execute(LAPSED)
    answer = await owner.post(f"/approvals/{number}/approve", {**await owner.fields(TO_APPROVE), "once": "x"})
    assert (answer.status_code, ASKED in answer.text) == (403, False)


async def test_the_only_owner_and_a_role_above_one_s_own_are_refused_before_the_factor(
    people: People, owner: SignedInPerson, shop: Shop, admin: Any
) -> None:
    manager, viewer = await people.person(shop, Role.ADMIN), await people.person(shop, Role.VIEWER)
    for person, below, fields, status, sentence in (
        (owner, f"/team/{owner.member.id}", {"what": "remove"}, 409, "This is the only owner"),
        (owner, f"/team/{owner.member.id}", {"what": "role", "role": "viewer"}, 409, "This is the only owner"),
        (owner, f"/team/{viewer.member.id}/reset", {}, 409, "This person has no second factor"),
        (owner, "/team/nobody", {"what": "remove"}, 404, "No member of this team"),
        (owner, "/team/invitations/999/withdraw", {}, 404, "This invitation was used or withdrawn"),
        (manager, f"/team/{viewer.member.id}", {"what": "role", "role": "owner"}, 403, "As admin you cannot give"),
        (manager, f"/team/{owner.member.id}", {"what": "remove"}, 403, "As admin you cannot give"),
    ):
        answer = await person.post(below, {**await person.fields("/team"), **fields})
        assert (answer.status_code, ASKED in answer.text, sentence in answer.text) == (status, False, True), fields
    roles = await admin.fetch("SELECT role FROM membership WHERE business_id = $1 ORDER BY role", shop.business_id)
    assert [row["role"] for row in roles] == ["admin", "owner", "viewer"]


@pytest.mark.parametrize("name", WRONG)
async def test_nobody_shows_a_factor_for_a_form_that_is_wrong(
    name: str, people: People, paid: Checkout, runtime: Runtime, admin: Any
) -> None:
    shop = paid.shop
    row = next(one for one in table_of(runtime) if one.name == name)
    at, fields, sentence = WRONG[name]
    owner, viewer = await people.person(shop, Role.OWNER), await people.person(shop, Role.VIEWER)
    key_id = await admin.fetchval("SELECT id FROM credential WHERE business_id = $1 LIMIT 1", shop.business_id)
    path = {"payment": paid.pay_code, "key": str(key_id), "person": owner.member.id, "endpoint": "we_none"}
    below, at = row.path.format(**path), at.format(**path)
    await admin.execute(LAPSED)
    before = await admin.fetchval("SELECT count(*) FROM audit")
    answer = await owner.post(below, {**await owner.fields(at), **fields})
    assert (answer.status_code, ASKED in answer.text, sentence in answer.text) == (422, False, True)
    # With a factor beside it, none is used up.
    answer = await owner.post(below, {**await owner.fields(at), **fields, "factor": "sandbox"})
    assert (answer.status_code, sentence in answer.text) == (422, True)
    assert await admin.fetchval("SELECT count(*) FROM member_session WHERE stepped_up_at IS NOT NULL") == 0
    assert await admin.fetchval("SELECT count(*) FROM audit") == before
    # Who may not do it is told only that.
    denied = await viewer.post(below, {**await viewer.fields("/team"), **fields})
    assert (denied.status_code, sentence in denied.text) == (403, False)


async def test_a_form_that_is_right_still_asks_and_does_nothing_without(owner: SignedInPerson, admin: Any) -> None:
    await admin.execute(LAPSED)
    for below, at, fields in (
        ("/keys", "/keys", {"name": "Shop", "scope-read": "yes"}),
        ("/team/invitations", "/team", {"email": "new@example.com", "role": "viewer"}),
        ("/settings/limits", "/settings", {"limit-NGN": "1000"}),
        ("/webhooks/endpoints", "/webhooks", {"url": "https://shop.example.com/hook"}),
    ):
        answer = await owner.post(below, {**await owner.fields(at), **fields})
        assert (answer.status_code, ASKED in answer.text) == (200, True), below
    assert await admin.fetchval("SELECT count(*) FROM audit WHERE actor = $1", f"person/{owner.member.id}") == 0


async def test_who_is_refused_after_the_proof_stays_signed_in(owner: SignedInPerson, admin: Any) -> None:
    fields = {**await owner.fields("/keys"), "name": "Shop", "scope-read": "yes", "factor": "sandbox"}
    assert (await owner.post("/keys", fields)).status_code == 200
    await admin.execute(LAPSED)
    token = (await owner.fields("/team"))["token"]
    again = await owner.post("/keys", {**fields, "name": "Another", "token": token})
    assert (again.status_code, "sent before with something else" in again.text) == (409, True)
    await owner.get("/keys")


async def test_a_refund_that_was_sent_before_leads_to_what_it_made_also_after_the_proof_has_ended(
    owner: SignedInPerson, paid: Checkout, admin: Any
) -> None:
    at = f"/payments/{paid.pay_code}"
    fields = {**await owner.fields(at), "what": "part", "amount": "90", "factor": "sandbox"}
    made = await owner.post(f"{at}/refund", fields)
    assert made.status_code == 303
    await admin.execute(LAPSED)
    token = (await owner.fields("/team"))["token"]
    asked = await owner.post(f"{at}/refund", {**{n: fields[n] for n in fields if n != "factor"}, "token": token})
    assert (asked.status_code, ASKED in asked.text) == (200, True)
    again = await owner.post(f"{at}/refund", {**fields, "token": token})
    assert again.headers["location"] == made.headers["location"]
