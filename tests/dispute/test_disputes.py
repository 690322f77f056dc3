"""Disputes: recorded, shown, told, and their money held, released or taken."""

from __future__ import annotations

import asyncio
import itertools
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import asyncpg
import httpx
import pytest

from build import Checkout
from conftest import MakeCheckout
from tidegate.core.errors import RefundExceedsAvailable
from tidegate.core.fee import Fee
from tidegate.core.money import Currency, Money
from tidegate.dispute.commands import share_of
from tidegate.dispute.store import DisputedPayment
from tidegate.doctor import rail_store, refund_store
from tidegate.infra.db import constraint_of
from tidegate.intake import commands as intake
from tidegate.ledger import postings
from tidegate.rail.event import CreditReversed, DisputeChanged, DisputeStatus, Notification, RailEvent
from tidegate.refund import store as refunds
from tidegate.refund.model import Leg, Refund
from tidegate.runtime import Runtime

CARD = {"number": "5319317801366660", "expiryMonth": 12, "expiryYear": 2040, "cvv": "123"}
OPEN, WON, LOST = DisputeStatus.OPEN, DisputeStatus.WON, DisputeStatus.LOST
DUE_AT = datetime(2027, 1, 2, 3, 4, 5, tzinfo=UTC)
# What a wallet gets of NGN 100.
SHARE_MINOR = 98_49
_numbers = itertools.count()


def naira(minor: int) -> Money:
    return Money(minor, Currency.NGN)


@dataclass(frozen=True)
class DisputeWorld:
    """A payment by card, and what its bank tells of it."""

    checkout: Checkout
    runtime: Runtime
    admin: Any
    transaction_id: str

    async def tell(self, *events: RailEvent) -> None:
        told = [Notification(id=f"test-{next(_numbers)}", event=event) for event in events]
        await intake.record_all(self.runtime.deps, "sandbox", told, b"{}", self.runtime.clock)

    def dispute(self, status: DisputeStatus, minor: int = 100_00, dispute_id: str = "d1") -> DisputeChanged:
        return DisputeChanged(
            dispute_id=dispute_id,
            transaction_id=self.transaction_id,
            amount=naira(minor),
            status=status,
            due_at=DUE_AT,
            reason="chargeback",
        )

    def reversal(self, minor: int = 100_00) -> CreditReversed:
        return CreditReversed(
            account_number=None,
            transaction_id=self.transaction_id,
            reversal_id="dispute-d1",
            amount=naira(minor),
            reason="chargeback",
        )

    async def wallet(self) -> tuple[int, int]:
        """The balance, and what is locked."""
        query = "SELECT balance_minor, locked_minor FROM wallet WHERE business_id = $1"
        row = await self.admin.fetchrow(query, self.checkout.shop.business_id)
        return row["balance_minor"], row["locked_minor"]

    async def events(self) -> list[dict[str, Any]]:
        rows = await self.admin.fetch("SELECT payload FROM event WHERE type = 'charge.disputed' ORDER BY created_at")
        return [json.loads(row["payload"], parse_float=Decimal)["data"]["dispute"] for row in rows]

    async def record(self) -> dict[str, Any]:
        found: dict[str, Any] = (await self.checkout.shop.verify(self.checkout.reference)).json()["data"]
        return found


@pytest.fixture
async def world(new_checkout: MakeCheckout, runtime: Runtime, admin: Any) -> DisputeWorld:
    """Afterwards the books are examined."""
    checkout = await new_checkout()
    answer = await checkout.charge({"type": "card", "card": CARD})
    assert answer.json()["data"]["status"] == "success", answer.text
    transaction_id = await admin.fetchval("SELECT transaction_id FROM receipt")
    return DisputeWorld(checkout, runtime, admin, transaction_id)


async def test_while_it_is_open_the_money_is_held_shown_and_told(world: DisputeWorld) -> None:
    assert await world.wallet() == (SHARE_MINOR, 0)
    assert (await world.record())["disputeStatus"] is None
    await world.tell(world.dispute(OPEN))
    assert await world.wallet() == (0, SHARE_MINOR)
    record = await world.record()
    assert (record["status"], record["disputeStatus"]) == ("success", "open")
    assert await world.events() == [
        {
            "id": "d1",
            "status": "open",
            "sessionId": world.transaction_id,
            "amount": 100,
            "reason": "chargeback",
            "dueAt": "2027-01-02T03:04:05.000Z",
        }
    ]


async def test_the_event_has_the_time_of_the_business(world: DisputeWorld) -> None:
    """An endpoint gets what happened after it was made, by the clock of its sandbox."""
    await world.checkout.let_pass("10h")
    await world.tell(world.dispute(OPEN))
    query = "SELECT created_at > now() + interval '1 hour' FROM event WHERE type = 'charge.disputed'"
    assert await world.admin.fetchval(query) is True


async def test_a_wallet_shows_what_is_held_as_locked(world: DisputeWorld) -> None:
    await world.tell(world.dispute(OPEN))
    shop = world.checkout.shop
    answer = await shop.client.get("/wallets", headers=shop.verify_headers)
    assert answer.status_code == 200, answer.text
    [wallet] = [one for one in answer.json()["data"] if one["currency"] == "NGN"]
    assert (wallet["lockedBalance"], wallet["ledgerBalance"]) == (98.49, 98.49)


async def refund(world: DisputeWorld, **body: Any) -> httpx.Response:
    shop = world.checkout.shop
    given = {"transReference": world.checkout.reference, **body}
    return await shop.client.post("/collections/refund", json=given, headers={"api-key": shop.secret_key})


@pytest.mark.parametrize("status", [OPEN, LOST])
async def test_disputed_money_is_not_refunded(world: DisputeWorld, status: DisputeStatus) -> None:
    await world.tell(world.dispute(OPEN), world.dispute(status))
    answer = await refund(world, amount=1)
    assert (answer.status_code, answer.json()["errorType"]) == (409, "PAYMENT_DISPUTED")
    what = "accept the dispute at sandbox" if status is OPEN else "the bank returns that money to the customer"
    assert "dispute d1 of" in answer.json()["message"]
    assert what in answer.json()["message"]
    assert await world.admin.fetchval("SELECT count(*) FROM refund") == 0


async def test_a_won_dispute_can_be_refunded(world: DisputeWorld) -> None:
    await world.tell(world.dispute(OPEN), world.dispute(WON))
    assert (await refund(world, amount=98)).status_code == 200


async def test_what_is_not_disputed_can_be_refunded_before_and_after_the_bank_takes_the_rest(
    world: DisputeWorld,
) -> None:
    await world.tell(world.dispute(OPEN, 40_00))
    answer = await refund(world, amount=61)
    assert (answer.status_code, answer.json()["errorType"]) == (422, "REFUND_EXCEEDS_AVAILABLE")
    assert "at most NGN 60.00" in answer.json()["message"]
    assert (await refund(world, amount=20)).status_code == 200
    await world.tell(world.dispute(LOST, 40_00), world.reversal(40_00))
    await world.checkout.tick()
    assert "at most NGN 40.00" in (await refund(world, amount=41)).json()["message"]
    assert (await refund(world, amount=30)).status_code == 200


async def test_a_dispute_and_a_refund_at_the_same_moment_are_not_of_the_same_money(world: DisputeWorld) -> None:
    answer, _ = await asyncio.gather(refund(world, amount=90), world.tell(world.dispute(OPEN)))
    held = await world.admin.fetchval("SELECT held_minor FROM dispute")
    if answer.status_code == 200:
        assert held <= SHARE_MINOR - 90_00
    else:
        assert (answer.json()["errorType"], held) == ("PAYMENT_DISPUTED", SHARE_MINOR)


async def test_the_database_itself_spares_disputed_money(world: DisputeWorld) -> None:
    await world.tell(world.dispute(OPEN))
    leg = {"reference": "rf_x-1", "rail": "sandbox", "transaction_id": world.transaction_id, "amount_minor": 1}
    payment_id = await world.admin.fetchval("SELECT id FROM payment")
    change = {"refund": {"payment_id": payment_id, "amount_minor": 1, "currency": "NGN"}, "legs": [leg]}
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as raised:
        await world.admin.fetchval(
            "SELECT start_refund($1, $2, now())", world.checkout.shop.business_id, json.dumps(change)
        )
    assert constraint_of(raised.value) == "refund_leg_takes_what_is_left"


async def test_a_refund_of_money_that_is_disputed_since_it_was_decided_is_refused(world: DisputeWorld) -> None:
    await world.tell(world.dispute(OPEN))
    business_id, one, none = world.checkout.shop.business_id, naira(1), naira(0)
    payment_id = await world.admin.fetchval("SELECT id FROM payment")
    refund_of_one = Refund(
        business_id=business_id, reference="rf_x", payment_id=payment_id, collection_id=None, amount=one, refunded=none,
        fee_returned=Fee(none, none), reason=None, note=None, initiated_at=DUE_AT,
    )  # fmt: skip
    leg = Leg(reference="rf_x-1", rail="sandbox", transaction_id=world.transaction_id, amount=one, fee=Fee(none, none))
    journal = postings.refund_started(cause="rf_x", refunded=one, event_at=DUE_AT)
    with pytest.raises(RefundExceedsAvailable, match="less can be refunded"):
        async with world.runtime.db.transaction() as tx:
            await refunds.insert(tx, refund_of_one, [leg], journal)


async def test_a_won_dispute_releases_the_money(world: DisputeWorld) -> None:
    await world.tell(world.dispute(OPEN), world.dispute(WON))
    assert await world.wallet() == (SHARE_MINOR, 0)
    assert (await world.record())["disputeStatus"] == "won"
    assert [event["status"] for event in await world.events()] == ["open", "won"]


async def test_a_lost_dispute_holds_until_the_bank_takes_the_money(world: DisputeWorld) -> None:
    await world.tell(world.dispute(OPEN), world.dispute(LOST))
    assert await world.wallet() == (0, SHARE_MINOR)
    await world.tell(world.reversal())
    await world.checkout.tick()
    assert await world.wallet() == (0, 0)
    record = await world.record()
    assert (record["disputeStatus"], record["isReversed"], record["amountReversed"]) == ("lost", True, 100)
    assert await world.admin.fetchval("SELECT owed_minor FROM payment") == 0
    assert [event["status"] for event in await world.events()] == ["open", "lost"]


async def test_the_reversal_may_come_before_the_decision(world: DisputeWorld) -> None:
    await world.tell(world.dispute(OPEN), world.reversal())
    await world.checkout.tick()
    await world.tell(world.dispute(LOST))
    assert await world.wallet() == (0, 0)
    assert (await world.record())["disputeStatus"] == "lost"


async def test_a_part_that_is_disputed_is_held_and_taken_in_proportion(world: DisputeWorld) -> None:
    await world.tell(world.dispute(OPEN, 40_00))
    balance, locked = await world.wallet()
    assert (balance + locked, locked) == (SHARE_MINOR, SHARE_MINOR * 40 // 100)
    await world.tell(world.dispute(LOST, 40_00), world.reversal(40_00))
    await world.checkout.tick()
    after, locked = await world.wallet()
    assert locked == 0
    assert abs(after - SHARE_MINOR * 60 // 100) <= 1
    assert (await world.record())["amountReversed"] == 40


async def test_a_wallet_that_has_less_holds_what_it_has_and_owes_the_rest(world: DisputeWorld) -> None:
    await world.admin.execute(
        """
        SELECT post_journals($1, ARRAY[ROW('debt_collected', 'spent', ARRAY['wallet', 'suspense'], ARRAY['NGN', 'NGN'],
                                           ARRAY[-8000, 8000], now())::posting], now())
        """,
        world.checkout.shop.business_id,
    )
    await world.tell(world.dispute(OPEN))
    assert await world.wallet() == (0, SHARE_MINOR - 80_00)
    await world.tell(world.dispute(LOST), world.reversal())
    await world.checkout.tick()
    assert await world.wallet() == (0, 0)
    assert await world.admin.fetchval("SELECT owed_minor FROM payment") == 80_00
    await world.admin.execute(
        """
        SELECT post_journals($1, ARRAY[ROW('held_settled', 'given', ARRAY['suspense', 'wallet'], ARRAY['NGN', 'NGN'],
                                           ARRAY[-8000, 8000], now())::posting], now())
        """,
        world.checkout.shop.business_id,
    )
    await world.checkout.tick()
    assert await world.admin.fetchval("SELECT owed_minor FROM payment") == 0


async def test_an_end_without_a_beginning_is_recorded(world: DisputeWorld) -> None:
    await world.tell(world.dispute(WON))
    assert await world.wallet() == (SHARE_MINOR, 0)
    await world.tell(world.dispute(OPEN))
    assert (await world.record())["disputeStatus"] == "won"
    assert [event["status"] for event in await world.events()] == ["won"]


@pytest.mark.parametrize(("first", "then"), [(WON, LOST), (LOST, WON)])
async def test_another_end_than_the_first_is_for_an_operator(
    world: DisputeWorld, first: DisputeStatus, then: DisputeStatus
) -> None:
    await world.tell(world.dispute(OPEN), world.dispute(first))
    wallet = await world.wallet()
    await world.tell(world.dispute(then), world.dispute(first), world.dispute(OPEN))
    assert (await world.wallet(), (await world.record())["disputeStatus"]) == (wallet, first)
    notes = await world.admin.fetch("SELECT note FROM notification WHERE state = 'quarantined'")
    assert [row["note"] for row in notes] == [f"dispute d1 had ended as {first}, and is {then} now"]


async def test_a_reminder_changes_the_time_only(world: DisputeWorld) -> None:
    await world.tell(world.dispute(OPEN), world.dispute(OPEN))
    assert await world.wallet() == (0, SHARE_MINOR)
    assert len(await world.events()) == 1


async def test_the_same_dispute_told_at_once_holds_once(world: DisputeWorld) -> None:
    await asyncio.gather(*(world.tell(world.dispute(OPEN)) for _ in range(5)))
    assert await world.wallet() == (0, SHARE_MINOR)
    await asyncio.gather(*(world.tell(world.dispute(WON)) for _ in range(5)))
    assert await world.wallet() == (SHARE_MINOR, 0)
    assert len(await world.events()) == 2


async def test_a_second_dispute_of_the_same_money_holds_no_more_than_there_is(world: DisputeWorld) -> None:
    await world.tell(world.dispute(OPEN), world.dispute(OPEN, dispute_id="d2"))
    assert await world.wallet() == (0, SHARE_MINOR)
    await world.tell(world.dispute(WON))
    assert await world.wallet() == (SHARE_MINOR, 0)
    await world.tell(world.dispute(WON, dispute_id="d2"))
    assert [event["status"] for event in await world.events()] == ["open", "open", "won", "won"]


@pytest.mark.parametrize(("end", "wallet"), [("won", (SHARE_MINOR, 0)), ("lost", (0, 0))])
async def test_a_sandbox_disputes_a_payment_on_request(world: DisputeWorld, end: str, wallet: tuple[int, int]) -> None:
    path = f"charges/{world.checkout.pay_code}/dispute"
    opened = await world.checkout.sandbox(path)
    assert opened.status_code == 200, opened.text
    await world.checkout.tick()
    assert await world.wallet() == (0, SHARE_MINOR)
    assert (await world.checkout.sandbox(path, {"status": end})).json()["data"] == opened.json()["data"]
    await world.checkout.tick()
    assert await world.wallet() == wallet
    assert (await world.record())["disputeStatus"] == end
    assert {event["id"] for event in await world.events()} == {opened.json()["data"]["disputeId"]}


async def test_only_a_paid_payment_is_disputed(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    answer = await checkout.sandbox(f"charges/{checkout.pay_code}/dispute")
    assert answer.status_code == 409
    answer = await checkout.sandbox(f"charges/{checkout.pay_code}/dispute", {"status": "perhaps"})
    assert answer.status_code == 422


async def test_what_is_not_in_our_books_is_kept_for_an_operator(world: DisputeWorld) -> None:
    other = DisputeWorld(world.checkout, world.runtime, world.admin, "no such transaction")
    await other.tell(other.dispute(OPEN))
    assert await world.admin.fetchval("SELECT state FROM notification WHERE id LIKE 'test-%'") == "suspense"
    assert await world.admin.fetchval("SELECT count(*) FROM dispute") == 0


async def test_a_statement_names_the_payment(world: DisputeWorld) -> None:
    await world.tell(world.dispute(OPEN))
    shop = world.checkout.shop
    answer = await shop.client.get("/wallets/NGN/statement", headers=shop.verify_headers)
    assert answer.status_code == 200, answer.text
    assert world.checkout.reference in answer.text
    assert "dispute_held" in answer.text


@pytest.mark.breaks_the_books
async def test_the_doctor_finds_what_is_held_without_a_booking(world: DisputeWorld) -> None:
    await world.tell(world.dispute(OPEN))
    async with world.runtime.db.connection() as tx:
        assert await rail_store.list_wrongly_held(tx) == []
        await world.admin.execute("UPDATE dispute SET held_minor = held_minor - 1")
        assert len(await rail_store.list_wrongly_held(tx)) == 1
        assert len(await refund_store.list_wrongly_locked(tx)) == 1


@pytest.mark.parametrize(
    ("disputed", "received", "settled", "share"),
    [
        (100_00, 100_00, 98_49, 98_49),
        (50_00, 100_00, 98_49, 49_24),
        (200_00, 100_00, 98_49, 98_49),
        (1, 100_00, 98_49, 0),
        (100_00, 0, None, 0),
    ],
)
def test_the_merchants_share(disputed: int, received: int, settled: int | None, share: int) -> None:
    payment = DisputedPayment(
        pay_code="tg", received=naira(received), settled=None if settled is None else naira(settled)
    )
    assert share_of(naira(disputed), payment) == naira(share)
