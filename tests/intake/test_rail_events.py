"""What rails notify besides outcomes and money: hints, failed returns, disputes, chargebacks."""

from __future__ import annotations

from typing import Any

import pytest

from build import Checkout
from conftest import MakeCheckout
from tidegate.core.money import Currency, Money
from tidegate.doctor.commands import examine_books
from tidegate.intake import commands as intake
from tidegate.rail.event import (
    AttemptOutcome,
    CreditReversed,
    DisputeChanged,
    DisputeStatus,
    Notification,
    PollRequested,
    PollSubject,
    RailEvent,
    ReturnConfirmed,
    ReturnFailed,
)
from tidegate.rail.state import Succeeded
from tidegate.runtime import Runtime

PHONE = {"type": "mobile_money", "phone": "0712345678", "operator": "mpesa"}
CARD = {"number": "5319317801366660", "expiryMonth": 12, "expiryYear": 2040, "cvv": "123"}


async def tell(runtime: Runtime, *events: RailEvent, body: bytes | None = None) -> None:
    notifications = [
        Notification(id=f"test-{number}-{type(event).__name__}", event=event, body=body)
        for number, event in enumerate(events)
    ]
    await intake.record_all(runtime.deps, "sandbox", notifications, b"the whole file", runtime.clock)


async def paid_by_card(checkout: Checkout, admin: Any) -> str:
    answer = await checkout.charge({"type": "card", "card": CARD})
    assert answer.json()["data"]["status"] == "success", answer.text
    transaction_id: str = await admin.fetchval("SELECT transaction_id FROM receipt")
    return transaction_id


async def test_a_hint_lets_the_worker_ask_at_once(new_checkout: MakeCheckout, runtime: Runtime, admin: Any) -> None:
    checkout = await new_checkout(currency="KES")
    attempt = (await checkout.charge(PHONE)).json()["data"]["attemptId"]
    business_id = checkout.shop.business_id
    await admin.execute("UPDATE attempt SET next_poll_at = now() + interval '1 hour'")
    await tell(runtime, PollRequested(subject=PollSubject.ATTEMPT, business_id=business_id, reference=attempt))
    assert await admin.fetchval("SELECT next_poll_at <= now() FROM attempt")
    assert await admin.fetchval("SELECT state FROM notification WHERE id LIKE 'test-%'") == "done"


async def test_money_of_no_attempt_told_twice_in_other_words_is_no_contradiction(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    await new_checkout()
    paid = Succeeded("unasked-1", Money.of_major(5, Currency.KES))
    outcome = AttemptOutcome(business_id="", reference="a-reference-of-somebody-else", state=paid)
    await tell(runtime, outcome, outcome)
    states = [row["state"] for row in await admin.fetch("SELECT state FROM notification")]
    assert states == ["suspense", "suspense"]
    assert await admin.fetchval("SELECT count(*) FROM receipt") == 1


@pytest.mark.parametrize("subject", PollSubject)
async def test_a_hint_about_something_unknown_is_noted(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any, subject: PollSubject
) -> None:
    checkout = await new_checkout()
    await tell(runtime, PollRequested(subject=subject, business_id=checkout.shop.business_id, reference="xx_never"))
    assert "xx_never" in await admin.fetchval("SELECT note FROM notification WHERE id LIKE 'test-%'")


async def test_a_hint_about_an_ended_attempt_asks_once_and_stops(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    checkout = await new_checkout(currency="KES")
    attempt = (await checkout.charge(PHONE)).json()["data"]["attemptId"]
    await checkout.cancel()
    await tell(
        runtime, PollRequested(subject=PollSubject.ATTEMPT, business_id=checkout.shop.business_id, reference=attempt)
    )
    await checkout.tick()
    assert await admin.fetchval("SELECT next_poll_at FROM attempt") is None
    assert (await checkout.view())["ending"] == "cancelled"


async def test_a_return_that_fails_stays_in_the_books_and_is_shown(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await checkout.cancel()
    await checkout.transfer(account, "100")
    await admin.execute("UPDATE money_return SET status = 'sent', next_try_at = now(), confirmed_at = NULL")
    row = await admin.fetchrow("SELECT business_id, reference FROM money_return")
    failed = ReturnFailed(business_id=row["business_id"], reference=row["reference"], reason="AC04 closed account")
    await tell(runtime, failed)
    after = await admin.fetchrow("SELECT status, failure, next_try_at FROM money_return")
    assert tuple(after) == ("failed", "AC04 closed account", None)
    # Its twin comes too late.
    await intake.record_all(runtime.deps, "sandbox", [Notification(id="test-again", event=failed)], b"", runtime.clock)
    assert await admin.fetchval("SELECT state FROM notification WHERE id = 'test-again'") == "suspense"
    findings, _ = await examine_books(runtime.db, now=runtime.clock.now())
    assert [finding.subject for finding in findings if not finding.is_well] == ["failed returns"]
    # The bank may still say that the money has left.
    await tell(
        runtime,
        ReturnConfirmed(business_id=row["business_id"], reference=row["reference"], transaction_id="after all"),
    )
    assert await admin.fetchval("SELECT status FROM money_return") == "confirmed"


async def test_a_dispute_is_recorded_and_an_ended_one_stays_ended(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    transaction_id = await paid_by_card(await new_checkout(), admin)

    def dispute(status: DisputeStatus) -> DisputeChanged:
        return DisputeChanged(
            dispute_id="d1",
            transaction_id=transaction_id,
            amount=Money.of_major(100, Currency.NGN),
            status=status,
            due_at=None,
            reason="chargeback",
        )

    await tell(runtime, dispute(DisputeStatus.OPEN), dispute(DisputeStatus.WON), dispute(DisputeStatus.OPEN))
    assert await admin.fetchval("SELECT status FROM dispute") == "won"


async def test_a_chargeback_names_a_transaction_only(new_checkout: MakeCheckout, runtime: Runtime, admin: Any) -> None:
    checkout = await new_checkout()
    transaction_id = await paid_by_card(checkout, admin)
    reversal = CreditReversed(
        account_number=None,
        transaction_id=transaction_id,
        reversal_id="r1",
        amount=Money.of_major(100, Currency.NGN),
        reason="chargeback",
    )
    await tell(runtime, reversal, body=b"a part of the file")
    await checkout.tick()
    assert (await checkout.view())["amountReversed"] == 100
    assert await admin.fetchval("SELECT body FROM notification WHERE id LIKE 'test-%'") == b"a part of the file"


async def test_one_event_that_cannot_be_recorded_does_not_hold_up_the_others(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    checkout = await new_checkout()
    business_id = checkout.shop.business_id
    broken = PollRequested(subject=PollSubject.ATTEMPT, business_id=business_id, reference="a NUL \0")
    with pytest.raises(Exception, match=r".+"):
        await tell(
            runtime, broken, PollRequested(subject=PollSubject.ATTEMPT, business_id=business_id, reference="at_other")
        )
    assert await admin.fetchval("SELECT count(*) FROM notification WHERE id LIKE 'test-%'") == 1
