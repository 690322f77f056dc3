"""What a payer may see of the money: what arrived, what was done with it, what is on its way back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from build import Checkout
from checkout.paying import card
from conftest import MakeCheckout
from tidegate.checkout import store
from tidegate.checkout.model import Movements, ReceivedAs, ReturnStatus
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Database
from tidegate.money_return.reason import ReturnReason
from tidegate.payment import attempt_store

PAYER = {"name": "Ada Obi", "accountNumber": "0123456789", "bankName": "Sample Bank"}


def naira(major: int) -> Money:
    return Money.of_major(major, Currency.NGN)


async def movements_of(db: Database, checkout: Checkout) -> Movements:
    async with db.connection() as tx:
        snapshot = await attempt_store.find_by_pay_code(tx, checkout.shop.business_id, checkout.pay_code)
        assert snapshot is not None
        return await store.list_movements(tx, checkout.shop.business_id, snapshot.payment.id)


async def test_nothing_has_moved_at_first(new_checkout: MakeCheckout, db: Database) -> None:
    checkout = await new_checkout()
    await checkout.account()
    assert await movements_of(db, checkout) == Movements()


async def test_a_transfer_shows_who_sent_it_and_of_the_account_only_the_end(
    new_checkout: MakeCheckout, db: Database
) -> None:
    checkout = await new_checkout()
    await checkout.transfer(await checkout.account(), "100", payer=PAYER)
    movements = await movements_of(db, checkout)
    [receipt] = movements.receipts
    assert (receipt.amount, receipt.outcome, receipt.reason) == (naira(100), ReceivedAs.SETTLED, None)
    assert (receipt.payer_name, receipt.payer_bank, receipt.payer_account_end) == ("Ada Obi", "Sample Bank", "6789")
    assert movements.returns == ()


async def test_a_card_shows_no_payer(new_checkout: MakeCheckout, db: Database) -> None:
    checkout = await new_checkout()
    assert (await checkout.charge(card())).status_code == 200
    [receipt] = (await movements_of(db, checkout)).receipts
    assert (receipt.payer_name, receipt.payer_bank, receipt.payer_account_end) == (None, None, None)
    assert receipt.amount == naira(100)


async def test_money_that_goes_back_is_followed_until_it_has_left(new_checkout: MakeCheckout, db: Database) -> None:
    checkout = await new_checkout(settings={"variance_policy": "return"})
    account = await checkout.account()
    await checkout.transfer(account, "40")
    [receipt], [back] = (movements := await movements_of(db, checkout)).receipts, movements.returns
    assert (receipt.outcome, receipt.reason) == (ReceivedAs.RETURNED, ReturnReason.TOO_LITTLE)
    assert (back.amount, back.reason, back.status) == (naira(40), ReturnReason.TOO_LITTLE, ReturnStatus.SENT)
    assert (back.asked_at, back.confirmed_at) == (receipt.at, None)
    await checkout.let_pass("5s")
    [back] = (await movements_of(db, checkout)).returns
    assert back.status is ReturnStatus.CONFIRMED
    assert back.confirmed_at is not None
    assert back.confirmed_at - back.asked_at >= timedelta(seconds=5)


@pytest.mark.breaks_the_books
async def test_money_that_the_rail_did_not_return_is_still_shown_as_going_back(
    new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    checkout = await new_checkout(settings={"variance_policy": "return"})
    await checkout.transfer(await checkout.account(), "40")
    await admin.execute("UPDATE money_return SET status = 'failed', failure = 'account closed', next_try_at = NULL")
    [back] = (await movements_of(db, checkout)).returns
    assert (back.status, back.confirmed_at) == (ReturnStatus.FAILED, None)
    page = await checkout.shop.client.get(f"/pay/{checkout.pay_code}")
    assert page.status_code == 200


async def test_the_oldest_is_the_first(new_checkout: MakeCheckout, db: Database) -> None:
    checkout = await new_checkout(settings={"variance_policy": "return"})
    account = await checkout.account()
    for amount in ("10", "20", "130", "50"):
        await checkout.transfer(account, amount)
    movements = await movements_of(db, checkout)
    assert [(r.amount, r.outcome.value, r.reason) for r in movements.receipts] == [
        (naira(10), "returned", ReturnReason.TOO_LITTLE),
        (naira(20), "returned", ReturnReason.TOO_LITTLE),
        (naira(130), "settled", None),
        (naira(50), "returned", ReturnReason.ALREADY_PAID),
    ]
    assert [(back.amount, back.reason) for back in movements.returns] == [
        (naira(10), ReturnReason.TOO_LITTLE),
        (naira(20), ReturnReason.TOO_LITTLE),
        (naira(30), ReturnReason.TOO_MUCH),
        (naira(50), ReturnReason.ALREADY_PAID),
    ]


@pytest.mark.parametrize(("wait", "reason"), [("31m", ReturnReason.ACCOUNT_CLOSED), ("3h", ReturnReason.PAYMENT_ENDED)])
async def test_late_money_says_what_it_was_too_late_for(
    new_checkout: MakeCheckout, db: Database, wait: str, reason: ReturnReason
) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await checkout.let_pass(wait)
    await checkout.transfer(account, "100")
    movements = await movements_of(db, checkout)
    assert [receipt.reason for receipt in movements.receipts] == [reason]
    assert [back.reason for back in movements.returns] == [reason]


async def test_part_payments_go_back_because_the_rest_is_missing_or_the_payer_gave_up(
    new_checkout: MakeCheckout, db: Database
) -> None:
    reasons = []
    for is_given_up in (False, True):
        checkout = await new_checkout(settings={"variance_policy": "top_up"})
        await checkout.transfer(await checkout.account(), "40")
        if is_given_up:
            assert (await checkout.cancel()).status_code == 200
        await checkout.let_pass("3h")
        movements = await movements_of(db, checkout)
        assert [receipt.outcome for receipt in movements.receipts] == [ReceivedAs.HELD]
        reasons += [back.reason for back in movements.returns]
    assert reasons == [ReturnReason.REST_MISSING, ReturnReason.CANCELLED]


async def test_money_in_another_currency_is_shown_as_kept_aside(new_checkout: MakeCheckout, db: Database) -> None:
    checkout = await new_checkout()
    await checkout.transfer(await checkout.account(), "12.5", currency="USD")
    [receipt] = (await movements_of(db, checkout)).receipts
    assert (receipt.amount, receipt.outcome) == (Money(1_250, Currency.USD), ReceivedAs.SUSPENSE)
    assert receipt.reason is None, "its words are for the operator"


async def test_another_payment_of_the_business_is_another_matter(new_checkout: MakeCheckout, db: Database) -> None:
    one = await new_checkout()
    other = await new_checkout(one.shop)
    await one.transfer(await one.account(), "100")
    assert await movements_of(db, other) == Movements()


async def test_rows_of_earlier_versions_are_read(new_checkout: MakeCheckout, db: Database, admin: Any) -> None:
    checkout = await new_checkout(settings={"variance_policy": "return"})
    await checkout.transfer(await checkout.account(), "40")
    before = await movements_of(db, checkout)
    sentence = ReturnReason.TOO_LITTLE.sentence
    for table in ("receipt", "money_return"):
        assert await admin.fetchval(f"SELECT reason FROM {table}") == "too_little"
        await admin.execute(f"UPDATE {table} SET reason = $1", sentence)
    assert await movements_of(db, checkout) == before
    # A return that has not left yet is still sent, in words for the bank.
    await admin.execute("UPDATE money_return SET status = 'asked', next_try_at = asked_at")
    await checkout.let_pass("5s")
    assert [back.status for back in (await movements_of(db, checkout)).returns] == [ReturnStatus.CONFIRMED]


async def test_the_bank_gets_the_reason_in_words(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(settings={"variance_policy": "return"})
    await checkout.transfer(await checkout.account(), "40")
    assert await admin.fetchval("SELECT reason FROM sandbox_payout") == ReturnReason.TOO_LITTLE.sentence


async def test_of_too_many_the_newest_are_shown(
    new_checkout: MakeCheckout, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MOVEMENTS_MAX", 2)
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    account = await checkout.account()
    for amount in ("10", "20", "30"):
        await checkout.transfer(account, amount)
    assert [receipt.amount for receipt in (await movements_of(db, checkout)).receipts] == [naira(20), naira(30)]


@pytest.mark.one_server("each node has a plan of its own")
async def test_the_money_of_a_payment_is_found_by_its_indexes(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    await checkout.transfer(await checkout.account(), "100")
    # In tables this small reading all of it is cheapest, so that way is closed.
    async with admin.transaction():
        await admin.execute("SET LOCAL enable_seqscan = off")
        plan = await admin.fetch(f"EXPLAIN {store._MOVEMENTS}", checkout.shop.business_id, 1, 100)
    text = "\n".join(row[0] for row in plan)
    assert "receipt_of_payment" in text
    assert "money_return_of_payment" in text
    assert "Seq Scan" not in text
