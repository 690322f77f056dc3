"""Checkouts by transfer to the operator's own account: the reference in the narration finds the payment."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bank.transfer import begun, paid, seen
from bank.world import ADA, BISI, SHILLINGS, BankWorld
from build import Shop
from conftest import check_books
from settable_clock import SettableClock
from tidegate.audit.model import Actor
from tidegate.bank_file import imports, payout_store, record
from tidegate.bank_file import payout as payouts
from tidegate.bank_file.payout_store import ProposedPayout
from tidegate.intake import candidates, refunds, suspense_store
from tidegate.payment import sweep
from tidegate.payment.model import PaymentStatus
from tidegate.rail.bankfiles.code import code_in, new_code
from tidegate.retention import erase_store
from tidegate.runtime import Runtime


@pytest.fixture
async def bank(shop: Shop, runtime: Runtime, admin: Any, tmp_path: Path) -> AsyncIterator[BankWorld]:
    yield BankWorld.of(shop, runtime, admin, tmp_path)
    await check_books(runtime)


async def test_the_payer_is_shown_the_operators_account_and_a_reference(bank: BankWorld) -> None:
    _, action = await begun(bank)
    assert (action.account_number, action.account_name, action.bank_name) == (
        SHILLINGS,
        "Tidegate Uganda",
        "Kampala Bank",
    )
    assert code_in(action.reference) == action.reference


@pytest.mark.parametrize("typed", ["{0}", "payment {0} thanks", "{1}", "tg-{2}"])
async def test_the_reference_finds_the_payment_however_it_is_typed(bank: BankWorld, typed: str) -> None:
    pay_code, action = await begun(bank)
    code = action.reference or ""
    await bank.bring(paid(typed.format(code, " ".join(code.lower()), code[2:].lower())))
    after = await seen(bank, pay_code)
    assert after.payment.status is PaymentStatus.SUCCESS


@pytest.mark.parametrize("narration", [None, "invoice 7", "TGAAAAAAAA"])
async def test_without_a_right_reference_it_is_in_suspense_with_candidates(
    bank: BankWorld, narration: str | None
) -> None:
    pay_code, action = await begun(bank)
    await bank.bring(paid(narration))
    assert (await seen(bank, pay_code)).payment.status is PaymentStatus.PENDING
    async with bank.runtime.db.connection() as tx:
        [case] = await suspense_store.list_open(tx, limit=10)
        [candidate] = await candidates.list_candidates(tx, case)
    assert case.remittance == narration
    assert (candidate.code, candidate.business_id) == (action.reference, bank.shop.business_id)


@pytest.mark.parametrize(
    ("after", "status"),
    [(timedelta(days=3, hours=20), PaymentStatus.SUCCESS), (timedelta(days=4, hours=1), PaymentStatus.EXPIRED)],
    ids=["in the statement of Tuesday", "later"],
)
async def test_a_payment_waits_for_the_statement_of_a_later_day(
    bank: BankWorld, after: timedelta, status: PaymentStatus
) -> None:
    pay_code, action = await begun(bank)
    assert action.is_notified_later
    later = SettableClock(bank.now + after)
    for sweep_round in (sweep.close_accounts, sweep.expire_payments):
        await sweep_round(bank.deps, later)
    file = bank.settings.folder / "statement.xml"
    file.write_bytes(paid(action.reference))
    await imports.import_file(bank.deps, bank.settings, file, now=later.now())
    while any(await record.record_entries(bank.deps, later)):
        pass
    assert (await seen(bank, pay_code)).payment.status is status
    assert await bank.admin.fetchval("SELECT count(*) FROM money_return") == (status is PaymentStatus.EXPIRED)


def test_a_mistyped_reference_is_never_another() -> None:
    code = new_code()
    for place in range(2, len(code)):
        for letter in "23456789ABCDEFGHJKMNPQRSTWXYZ".replace(code[place], ""):
            assert code_in(code[:place] + letter + code[place + 1 :]) is None
    for place in range(2, len(code) - 2):
        swapped = code[:place] + code[place + 1] + code[place] + code[place + 2 :]
        assert swapped == code or code_in(swapped) is None


async def refunded(bank: BankWorld, *, is_exported: bool = True) -> ProposedPayout:
    """A part of a payment, on its way back by the bank."""
    pay_code, action = await begun(bank)
    await bank.bring(paid(action.reference))
    body = {"transReference": pay_code, "amount": 4_000, "reason": "sold out"}
    answer = await bank.shop.client.post("/collections/refund", json=body, headers={"api-key": bank.shop.secret_key})
    assert answer.is_success, answer.text
    await bank.work()
    async with bank.runtime.db.connection() as tx:
        [payout] = await payout_store.list_payouts(tx, is_open=True, limit=10)
    assert (payout.kind, payout.amount.minor) == ("refund", 4_000)
    await payouts.approve(bank.runtime.db, payout.reference, asked_by=ADA, by=BISI, now=bank.now)
    if is_exported:
        await payouts.export(
            bank.deps, bank.settings, by=Actor("operator/bisi"), now=bank.now, on_written=lambda *_: None
        )
    return payout


async def test_a_refund_goes_out_by_the_bank_and_ends_with_its_debit(bank: BankWorld) -> None:
    payout = await refunded(bank)
    debit = paid(None, "4000", is_credit=False, end_to_end_id=payout.end_to_end_id, reference="OUT-1")
    await bank.bring(debit)
    await bank.work()
    assert await bank.admin.fetchval("SELECT status FROM refund") == "successful"


async def test_a_refund_whose_debit_has_another_amount_is_ended_by_hand(bank: BankWorld) -> None:
    payout = await refunded(bank)
    debit = paid(None, "3999", is_credit=False, end_to_end_id=payout.end_to_end_id, reference="OUT-1")
    await bank.bring(debit)
    await bank.work()
    assert await bank.admin.fetchval("SELECT status FROM refund") == "processing"
    assert sorted(await bank.states()) == ["done", "problem"]
    await refunds.end_by_hand(
        bank.deps, payout.business_id, payout.reference, is_paid=True, note="one shilling by hand", by=ADA, now=bank.now
    )
    assert await bank.admin.fetchval("SELECT status FROM refund") == "successful"
    assert await bank.admin.fetchval("SELECT status FROM bank_payout") == "rejected"
    assert await exports(bank) == 1


async def test_a_refund_that_was_not_exported_is_ended_by_hand_and_never_paid(bank: BankWorld) -> None:
    payout = await refunded(bank, is_exported=False)
    await refunds.end_by_hand(
        bank.deps, payout.business_id, payout.reference, is_paid=False, note="the payer wants goods", by=ADA,
        now=bank.now,
    )  # fmt: skip
    assert await bank.admin.fetchval("SELECT status FROM refund") == "failed"
    assert await exports(bank) == 0


async def exports(bank: BankWorld) -> int:
    await payouts.export(bank.deps, bank.settings, by=Actor("operator/bisi"), now=bank.now, on_written=lambda *_: None)
    return int(await bank.admin.fetchval("SELECT count(*) FROM bank_export"))


async def test_an_erased_payer_is_in_no_file(bank: BankWorld) -> None:
    pay_code, action = await begun(bank)
    file = await bank.bring(paid(action.reference))
    payment = (await seen(bank, pay_code)).payment
    await bank.admin.execute("UPDATE event SET is_fanned_out = true")
    async with bank.runtime.db.transaction() as tx:
        assert await erase_store.erase_payments(tx, bank.shop.business_id, [payment.id], bank.now) == 1
    assert await bank.admin.fetchval("SELECT count(*) FROM bank_file_part WHERE file_id = $1", file.id) == 0
    details = await bank.admin.fetchval("SELECT details::text FROM bank_entry")
    assert "Zeta" not in details
    assert await bank.states() == ["done"]
