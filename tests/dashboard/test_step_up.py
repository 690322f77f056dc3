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
LAPSED = "UPDATE member_session SET stepped_up_at = NULL"
# One button each, and a box to tick: nothing of them can be wrong.
NOTHING_TO_CHECK = {"approveRefund", "declineRefund", "demandTwoStep", "withdrawInvitation", "resetFactors"}
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
    assert set(asking) - NOTHING_TO_CHECK == {*WRONG, "refundInflow"}


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
