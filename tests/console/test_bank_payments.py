"""Payments to the bank in the console: shown, proposed by one, approved by another, refused by one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bank.test_payout import returned
from bank.world import BankWorld
from bank_file_maker import PAYER, VIRTUAL, camt_file, entry
from build import Shop
from console.people import SignedInStaff
from console.test_staff_approvals import decide, open_approval
from tidegate.runtime import Runtime

pytestmark = pytest.mark.usefixtures("unlimited")


@pytest.fixture
async def bank(shop: Shop, runtime: Runtime, admin: Any, tmp_path: Path) -> AsyncIterator[BankWorld]:
    yield BankWorld.of(shop, runtime, admin, tmp_path)
    # A return that fails is not in order by itself: the doctor tells an operator.
    await admin.execute("UPDATE money_return SET status = 'sent', failure = NULL WHERE status = 'failed'")


async def test_a_payment_is_shown_proposed_and_approved_by_another(
    operator: SignedInStaff, approver: SignedInStaff, bank: BankWorld, admin: Any
) -> None:
    payout = await returned(bank)
    at = f"/bank/{payout.business_id}/{payout.reference}"
    assert at in (await operator.get("/bank")).text
    assert PAYER in (await operator.get(at)).text
    assert (await operator.send(f"{at}/pay", at=at, why="it is theirs")).status_code == 303
    assert "To approve" in (await operator.get("/bank")).text
    waiting = (await approver.get("/approvals")).text
    assert "Pay EUR 250.00 by the bank to the account that ends in 4300" in waiting
    assert (await decide(operator, await open_approval(operator))).status_code == 403
    # What was amended meanwhile is not what the approver looked at.
    await admin.execute("UPDATE bank_payout SET payee_account = 'NL02ABNA0123456789'")
    assert (await decide(approver, await open_approval(approver))).status_code == 409
    await admin.execute("UPDATE bank_payout SET payee_account = $1", PAYER)
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    row = await admin.fetchrow("SELECT status, proposed_by, approved_by FROM bank_payout")
    assert tuple(row) == ("approved", f"staff/{operator.member.id}", f"staff/{approver.member.id}")
    assert (await operator.send(f"{at}/refuse", at=at, reason="")).status_code == 422
    assert (await operator.send(f"{at}/refuse", at=at, reason="paid by hand")).status_code == 303
    assert "paid by hand" in (await operator.get(at)).text
    assert await admin.fetchval("SELECT status FROM money_return") == "failed"


async def test_who_says_where_a_payment_goes_proposes_it_at_once(
    operator: SignedInStaff, approver: SignedInStaff, bank: BankWorld, admin: Any
) -> None:
    payout = await returned(bank, account=None)
    at = f"/bank/{payout.business_id}/{payout.reference}"
    assert "the bank did not report it" in (await operator.get(at)).text
    assert "did not report who paid" in (await operator.send(f"{at}/pay", at=at, why="x", version="1")).text
    assert (await operator.send(f"{at}/amend", at=at, name="Zeta Ltd", account="", why="x")).status_code == 422
    to = {"name": "Zeta Ltd", "account": "nl91 abna 0417 1643 00", "bank": "ABNANL2A"}
    assert (await operator.send(f"{at}/amend", at=at, **to, why="they wrote to us")).status_code == 303
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    row = await admin.fetchrow("SELECT status, payee_account FROM bank_payout")
    assert tuple(row) == ("approved", PAYER)


async def test_an_entry_that_needs_a_decision_is_settled_by_two(
    operator: SignedInStaff, approver: SignedInStaff, bank: BankWorld
) -> None:
    await bank.bring(camt_file(entry("1.005")))
    page = (await operator.get("/bank")).text
    assert "more decimals" in page
    subject = page.partition('name="subject" value="')[2].partition('"')[0]
    assert (await operator.send("/bank/decide", at="/bank", subject=subject, why="x")).status_code == 422
    given = {"subject": subject, "decision": "settle", "why": "asked them"}
    assert (await operator.send("/bank/decide", at="/bank", **given)).status_code == 303
    assert "A decision is proposed" in (await operator.get("/bank")).text
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert "Every entry" in (await operator.get("/bank")).text


async def test_a_credit_that_looks_like_a_repetition_is_recorded_by_two(
    operator: SignedInStaff, approver: SignedInStaff, bank: BankWorld
) -> None:
    """The bank gave its reference twice."""
    for _ in range(2):
        await bank.bring(camt_file(entry(destination=None), kind="054", account=await bank.account()))
    page = (await operator.get("/bank")).text
    assert "another account" in page
    subject = page.partition('name="subject" value="')[2].partition('"')[0]
    given = {"subject": subject, "decision": "record", "why": "the bank confirms it"}
    assert (await operator.send("/bank/decide", at="/bank", **given)).status_code == 303
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    await bank.record()
    assert "Every entry" in (await operator.get("/bank")).text
    first, second = await bank.inflows()
    assert first["account_id"] != second["account_id"]
    assert await bank.states() == ["done", "done"]
    # The same files again change nothing.
    await bank.bring(camt_file(entry(destination=None), kind="053", account=VIRTUAL))
    assert len(await bank.inflows()) == 2


async def test_a_debit_that_needs_a_decision_is_judged_again(
    operator: SignedInStaff, approver: SignedInStaff, bank: BankWorld
) -> None:
    await bank.bring(camt_file(entry(is_credit=False, is_reversal=True, reference="REV-1", account=None)))
    await bank.bring(camt_file(entry(destination=await bank.account()), id="S-2", message_id="M-2"))
    page = (await operator.get("/bank")).text
    assert "Judge it again" in page
    assert "Record:" not in page
    subject = page.partition('name="subject" value="')[2].partition('"')[0]
    given = {"subject": subject, "decision": "record", "why": "the payer is known by now"}
    assert (await operator.send("/bank/decide", at="/bank", **given)).status_code == 303
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    await bank.record()
    assert "the payer is known by now" in (await operator.get("/bank")).text


async def test_which_credit_a_bank_takes_back_is_chosen_by_two(
    operator: SignedInStaff, approver: SignedInStaff, bank: BankWorld, admin: Any
) -> None:
    number = await bank.account()
    credits_ = [entry(destination=number, reference=text) for text in ("A", "B")]
    back = entry(is_credit=False, is_reversal=True, reference="REV-1")
    await bank.bring(camt_file(*credits_, back))
    page = (await operator.get("/bank")).text
    assert "several credits of ours fit it" in page
    subject = page.partition('name="subject" value="')[2].partition('"')[0]
    chosen = page.partition('name="decision" value="take_back ')[2].partition('"')[0]
    given = {"subject": subject, "why": "the bank says so"}
    for wrong in ("take_back", "take_back ", f"settle {chosen}"):
        assert (await operator.send("/bank/decide", at="/bank", decision=wrong, **given)).status_code == 422
    # Of no credit of ours: refused when it is approved.
    assert (await operator.send("/bank/decide", at="/bank", decision="take_back X", **given)).status_code == 303
    assert (await decide(approver, await open_approval(approver))).status_code == 409
    number_ = await open_approval(approver)
    assert (await operator.send(f"/approvals/{number_}/withdraw", at="/approvals")).status_code == 303
    assert (await operator.send("/bank/decide", at="/bank", decision=f"take_back {chosen}", **given)).status_code == 303
    assert f"Take back the credit {chosen}" in (await approver.get("/approvals")).text
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    await bank.record()
    assert "Every entry" in (await operator.get("/bank")).text
    assert await admin.fetchval("SELECT transaction_id FROM credit_reversal") == chosen
