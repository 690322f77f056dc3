"""Webhook deliveries in the console: what failed, one delivery, and sending it again."""

from __future__ import annotations

from typing import Any

import pytest

from build import Checkout
from checkout.paying import card
from conftest import MakeCheckout
from console.people import SignedInStaff
from dashboard.people import People
from tidegate.member.permission import Role
from tidegate.runtime import Runtime
from tidegate.webhook import queue
from tidegate.webhook.field import delivery_id

pytestmark = pytest.mark.usefixtures("unlimited")
URL = "https://hooks.example/in"


@pytest.fixture
async def paid(people: People, new_checkout: MakeCheckout, admin: Any, runtime: Runtime) -> Checkout:
    """Its event was sent once, answered 500, and waits for the next try."""
    checkout = await new_checkout()
    owner = await people.person(checkout.shop, Role.OWNER)
    await owner.send("/webhooks/endpoints", at="/webhooks", url=URL)
    assert (await checkout.charge(card())).status_code == 200
    await queue.fan_out(runtime.db, runtime.clock.now())
    await admin.execute(
        """
        INSERT INTO webhook_attempt (business_id, delivery_id, number, url, started_at, duration_ms, status_code, body)
        SELECT business_id, id, 1, $1, now(), 12, 500, '<b>no</b>' FROM webhook_delivery
            ON CONFLICT DO NOTHING
        """,
        URL,
    )
    await admin.execute(
        """
        UPDATE webhook_delivery
           SET status = 'pending', attempts = 1, failures = 1, due_at = now() + interval '1 hour', delivered_at = NULL,
               lease_token = NULL
        """
    )
    return checkout


async def test_what_an_endpoint_did_not_take_is_listed_opened_and_sent_again(
    operator: SignedInStaff, approver: SignedInStaff, paid: Checkout, admin: Any
) -> None:
    business = paid.shop.business_id
    row = await admin.fetchrow("SELECT id, endpoint_id, event_type FROM webhook_delivery ORDER BY id DESC LIMIT 1")
    endpoint, one = f"/webhooks/{business}/{row['endpoint_id']}", delivery_id(row["id"])
    at = f"/webhooks/{business}/deliveries/{one}"
    assert f'href="/console{endpoint}"' in (await operator.get("/webhooks")).text
    listed = (await operator.get(endpoint)).text
    assert f'href="/console{at}"' in listed
    assert "500 Internal Server Error" in listed
    assert "None." in (await operator.get(f"{endpoint}?status=delivered")).text
    assert f'href="/console{at}"' in (await operator.get(f"/payments/{business}/{paid.pay_code}")).text
    page = (await operator.get(at)).text
    for words in ("answered 500", "&lt;b&gt;no&lt;/b&gt;", "Next tries", paid.reference, "Resend now"):
        assert words in page, words
    assert "Your server" not in page
    assert "Resend now" not in (await approver.get(at)).text
    before = await admin.fetchval("SELECT due_at FROM webhook_delivery WHERE id = $1", row["id"])
    fields = await operator.fields(at)
    for _ in range(2):
        # Sent twice by a double click, it is done once.
        assert (await operator.post(f"{at}/resend", fields)).status_code == 303
    assert await admin.fetchval("SELECT due_at FROM webhook_delivery WHERE id = $1", row["id"]) < before
    acts = await admin.fetch("SELECT actor, business_id FROM audit WHERE action = 'webhook.resent'")
    assert [(act["actor"], act["business_id"]) for act in acts] == [(f"staff/{operator.member.id}", business)]


async def test_a_delivery_that_cannot_be_sent_says_why(operator: SignedInStaff, paid: Checkout, admin: Any) -> None:
    row = await admin.fetchrow("SELECT id FROM webhook_delivery LIMIT 1")
    at = f"/webhooks/{paid.shop.business_id}/deliveries/{delivery_id(row['id'])}"
    await admin.execute("UPDATE webhook_endpoint SET status = 'disabled', disabled_reason = 'merchant'")
    refused = await operator.send(f"{at}/resend", at=at)
    assert (refused.status_code, "disabled" in refused.text) == (409, True)


async def test_deliveries_of_another_merchant_or_none_are_not_found(
    operator: SignedInStaff, paid: Checkout, new_checkout: MakeCheckout, admin: Any
) -> None:
    other = (await new_checkout()).shop.business_id
    row = await admin.fetchrow("SELECT id, endpoint_id FROM webhook_delivery LIMIT 1")
    for below in (
        f"/webhooks/{other}/deliveries/{delivery_id(row['id'])}", f"/webhooks/{other}/{row['endpoint_id']}",
        f"/webhooks/{paid.shop.business_id}/deliveries/x", f"/webhooks/{paid.shop.business_id}/deliveries/dlv_1",
    ):  # fmt: skip
        await operator.get(below, status=404)
