"""What has left is not missed: money is credited once, the books are clean, and real damage is still found."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from build import Shop
from conftest import MakeCheckout
from inflow import Inflows, credit, reversal_of
from retention.leaving import ALL_KINDS, Leaving
from tidegate.core.clock import SystemClock
from tidegate.doctor.commands import examine_books
from tidegate.retention.commands import KINDS
from tidegate.retention_settings import RetentionDays
from tidegate.runtime import Runtime


async def let_all_leave(shop: Shop, runtime: Runtime, admin: Any) -> dict[str, int]:
    """The business's time moves on; notifications are of no business."""
    headers = {"api-key": shop.secret_key}
    for _ in range(2):  # No more than a year at a time.
        answer = await shop.client.post("/sandbox/clock", json={"advance": "300d"}, headers=headers)
        assert answer.status_code == 200, answer.text
    await admin.execute("UPDATE notification SET received_at = $1", SystemClock().now() - timedelta(days=600))
    await admin.execute("UPDATE event SET is_fanned_out = true")
    leaving = await Leaving.of(shop.business_id, runtime, admin, RetentionDays())
    return {kind: await leaving.sweep(kind, SystemClock()) for kind in ALL_KINDS}


async def test_an_old_credit_that_is_notified_again_is_not_credited_again(inflows: Inflows, admin: Any) -> None:
    number = await inflows.number()
    body = credit(number)
    assert (await inflows.notify(body)).status_code == 200
    before = await inflows.journals()
    removed = await let_all_leave(inflows.shop, inflows.runtime, admin)
    assert removed["notifications"] == 1
    assert removed["events"] == 2  # The account was approved, and credited.
    for again in (body, {**body, "id": "under-another-id"}):
        assert (await inflows.notify(again)).status_code == 200
    assert await inflows.journals() == before
    assert await inflows.events() == {}
    rows = await admin.fetch("SELECT state, note FROM notification")
    assert [tuple(row) for row in rows] == [("done", "this transaction was notified before")] * 2


async def test_an_old_credit_with_another_amount_is_quarantined(inflows: Inflows, admin: Any) -> None:
    body = credit(await inflows.number())
    await inflows.notify(body)
    await let_all_leave(inflows.shop, inflows.runtime, admin)
    before = await inflows.journals()
    assert (await inflows.notify({**body, "amount": "99900"})).status_code == 200
    assert await inflows.journals() == before
    assert await admin.fetchval("SELECT state FROM notification") == "quarantined"


async def test_an_old_reversal_that_is_notified_again_takes_nothing_more(inflows: Inflows, admin: Any) -> None:
    body = credit(await inflows.number())
    taken = reversal_of(body)
    await inflows.notify(body)
    await inflows.notify(taken)
    await let_all_leave(inflows.shop, inflows.runtime, admin)
    before = await inflows.journals()
    assert before["credit_reversed"] == 1
    assert (await inflows.notify(taken)).status_code == 200
    await inflows.tick()
    assert await inflows.journals() == before


async def test_money_in_suspense_keeps_all_its_notifications(inflows: Inflows, admin: Any) -> None:
    body = credit("GB00UNKNOWN")
    await inflows.notify(body)
    await inflows.notify({**body, "id": "once-more"})
    removed = await let_all_leave(inflows.shop, inflows.runtime, admin)
    assert removed["notifications"] == 0
    rows = await admin.fetch("SELECT state FROM notification")
    assert [row["state"] for row in rows] == ["suspense", "suspense"]


async def test_a_checkout_whose_rows_have_left_is_paid_once_and_the_books_are_clean(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await checkout.transfer(account, "100", reference="once")
    assert (await checkout.record())["status"] == "success"
    body = await admin.fetchval("SELECT body FROM sandbox_notification")
    wallet = await checkout.wallet()
    removed = await let_all_leave(checkout.shop, runtime, admin)
    assert removed["notifications"] == removed["events"] == removed["sandbox_notifications"] == 1
    assert removed["sandbox_attempts"] == 1
    # The bank sends the same bytes again.
    await admin.execute(
        """
        INSERT INTO sandbox_notification (business_id, notification_id, body, created_at, due_at)
        VALUES ($1, 'again', $2, now() + interval '600 days', now())
        """,
        checkout.shop.business_id, body,
    )  # fmt: skip
    await checkout.tick()
    assert await admin.fetchval("SELECT count(*) FROM sandbox_notification WHERE sent_at IS NOT NULL") == 1
    assert await checkout.wallet() == wallet
    assert await admin.fetchval("SELECT count(*) FROM receipt") == 1


@pytest.mark.breaks_the_books
async def test_an_event_that_is_missing_and_too_young_to_have_left_is_found(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    old = await new_checkout()
    await old.transfer(await old.account(), "100")
    await let_all_leave(old.shop, runtime, admin)
    young = await new_checkout(old.shop)
    await young.transfer(await young.account(), "100")

    async def found() -> list[str]:
        findings, _ = await examine_books(runtime.db, now=SystemClock().now() + timedelta(seconds=1))
        return [one.subject for one in findings if not one.is_well and one.subject != "chain"]

    assert await found() == []
    await admin.execute("DELETE FROM event")
    assert await found() == ["events"]


def test_nothing_of_the_books_and_no_payment_ever_leaves() -> None:
    assert {kind.name for kind in KINDS} == {
        "notifications", "webhook_attempts", "events", "idempotency_keys", "mails", "requests", "failed_requests",
    }  # fmt: skip
