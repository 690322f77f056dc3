"""The receipt of a payment, sent to its payer by a person of the business."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from build import Shop
from checkout.paying import card
from conftest import MakeCheckout
from dashboard.people import People, SignedInPerson
from tidegate.checkout.receipt_mail import SENT_MAX
from tidegate.member.permission import Role

pytestmark = pytest.mark.usefixtures("unlimited")


async def test_a_receipt_is_sent_a_few_times_and_never_to_a_payer_who_was_erased(
    people: People, owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, admin: Any
) -> None:
    unpaid, paid = await new_checkout(shop), await new_checkout(shop)
    assert (await paid.charge(card())).status_code == 200
    at = f"/payments/{paid.pay_code}"
    fields = await owner.fields(at)
    assert [(await owner.post(f"{at}/receipt", fields)).status_code for _ in range(2)] == [303, 303]
    [mail] = await admin.fetch("SELECT recipient, subject, text_body FROM mail")
    assert mail["recipient"] == "ada@example.com"
    assert f"/pay/{paid.pay_code}/receipt" in mail["text_body"]
    assert bytes(await admin.fetchval("SELECT body FROM mail_attachment")).startswith(b"%PDF")
    assert "Receipt sent to the payer by Ada Obi" in (await owner.get(at)).text
    assert "within the last minute" in (await owner.send(f"{at}/receipt", at=at)).text
    await admin.execute("UPDATE payment SET created_at = $1", people.now() - timedelta(hours=1))
    for _ in range(SENT_MAX - 1):
        await sent_earlier(admin, people)
        assert (await owner.send(f"{at}/receipt", at=at)).status_code == 303
    await sent_earlier(admin, people)
    assert f"sent {SENT_MAX} times already" in (await owner.send(f"{at}/receipt", at=at)).text
    await admin.execute("UPDATE payment SET customer_email = 'erased@tidegate.invalid'")
    assert "were erased" in (await owner.send(f"{at}/receipt", at=at)).text
    below = f"/payments/{unpaid.pay_code}"
    assert (await owner.send(f"{below}/receipt", at=below)).status_code == 409
    assert await admin.fetchval("SELECT count(*) FROM mail") == SENT_MAX
    viewer = await people.person(shop, Role.VIEWER)
    assert "Send receipt" not in (await viewer.get(at)).text


async def sent_earlier(admin: Any, people: People) -> None:
    """No two are sent within a minute."""
    earlier = people.now() - timedelta(minutes=2)
    await admin.execute("UPDATE audit SET created_at = $1 WHERE action = 'receipt.sent'", earlier)


async def test_an_address_that_the_mail_server_refused_is_left_alone(
    people: People, owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, admin: Any
) -> None:
    paid = await new_checkout(shop)
    assert (await paid.charge(card())).status_code == 200
    at = f"/payments/{paid.pay_code}"
    assert (await owner.send(f"{at}/receipt", at=at)).status_code == 303
    await admin.execute("UPDATE mail SET status = 'failed', failure = 'no such address', ended_at = now()")
    await sent_earlier(admin, people)
    assert "mail server refused this address" in (await owner.send(f"{at}/receipt", at=at)).text
    await admin.execute("UPDATE mail SET ended_at = now() - interval '31 days'")
    assert (await owner.send(f"{at}/receipt", at=at)).status_code == 303
