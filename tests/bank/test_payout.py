"""Returns and refunds by the bank: proposed, approved by another, exported, and ended by what the bank says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from bank.test_reversal import UETR, reversal_file
from bank.world import ADA, BISI, BankWorld, a_debit
from bank_file_maker import PAYER, camt_file, entry
from build import Shop
from conftest import check_books
from tidegate.audit.model import Actor
from tidegate.bank_file import decide, payout_store, store
from tidegate.bank_file import payout as payouts
from tidegate.bank_file.payout_store import ProposedPayout
from tidegate.core.errors import Conflict, NotFound
from tidegate.core.money import Currency
from tidegate.emulator.bank.pain import answer_to
from tidegate.intake import commands as intake
from tidegate.intake import returns
from tidegate.runtime import Runtime

OTHER_NAME = "Chidi Eze"


@pytest.fixture
async def bank(shop: Shop, runtime: Runtime, admin: Any, tmp_path: Path) -> AsyncIterator[BankWorld]:
    yield BankWorld.of(shop, runtime, admin, tmp_path)
    # What the bank rejects is not in order by itself: the doctor tells an operator.
    await admin.execute("UPDATE money_return SET status = 'sent', failure = NULL WHERE status = 'failed'")
    await check_books(runtime)


async def returned(bank: BankWorld, **changed: Any) -> ProposedPayout:
    """An inflow for somebody else, on its way back."""
    await bank.bring(camt_file(entry(destination=await bank.account(), payee_name=OTHER_NAME, **changed)))
    await bank.work()
    [found] = await listed(bank)
    return found


async def listed(bank: BankWorld) -> list[ProposedPayout]:
    async with bank.runtime.db.connection() as tx:
        return await payout_store.list_payouts(tx, is_open=False, limit=10)


async def approved(bank: BankWorld, payout: ProposedPayout) -> None:
    await payouts.approve(bank.runtime.db, payout.reference, asked_by=ADA, by=BISI, now=bank.now)


async def exported(bank: BankWorld) -> Path:
    written: list[Path] = []
    await payouts.export(
        bank.deps,
        bank.settings,
        by=Actor("operator/bisi"),
        now=bank.now,
        on_written=lambda path, _: written.append(path),
    )
    [path] = written
    return path


async def exports(bank: BankWorld) -> int:
    await payouts.export(bank.deps, bank.settings, by=Actor("operator/bisi"), now=bank.now, on_written=lambda *_: None)
    return int(await bank.admin.fetchval("SELECT count(*) FROM bank_export"))


async def ended_by_hand(bank: BankWorld, payout: ProposedPayout) -> None:
    await returns.end_by_hand(
        bank.deps, payout.business_id, payout.reference, note="by the web bank", by=ADA, now=bank.now
    )


async def status_of_return(bank: BankWorld) -> tuple[str, str | None]:
    row = await bank.admin.fetchrow("SELECT status, failure FROM money_return")
    return row["status"], row["failure"]


def text(file: bytes, name: str) -> list[str]:
    return [one.text for one in etree.fromstring(file).iter(f"{{*}}{name}")]


async def test_a_return_goes_out_as_pain_001_and_ends_with_its_debit(bank: BankWorld) -> None:
    payout = await returned(bank)
    assert (payout.status, payout.kind, payout.payee_account) == ("proposed", "return", PAYER)
    await approved(bank, payout)
    content = (await exported(bank)).read_bytes()
    assert text(content, "EndToEndId") == [payout.end_to_end_id]
    assert "_" not in payout.end_to_end_id
    assert text(content, "InstdAmt") == ["250.00"]
    assert text(content, "IBAN")[-1] == PAYER
    assert (await status_of_return(bank))[0] == "sent"
    await bank.bring(a_debit(payout.end_to_end_id))
    assert await status_of_return(bank) == ("confirmed", None)
    [inflow] = await bank.inflows()
    assert inflow["return_confirmed_at"] is not None
    [ended] = await listed(bank)
    assert ended.status == "done"


async def test_a_return_of_dollars_goes_by_routing_number(bank: BankWorld) -> None:
    number = await bank.account(Currency.USD)
    credit = entry(currency="USD", destination=number, payee_name=OTHER_NAME, account="1234567890", bic=None)
    await bank.bring(camt_file(credit, account="001234567", currency="USD"))
    await bank.work()
    [payout] = await listed(bank)
    await approved(bank, payout)
    content = (await exported(bank)).read_bytes()
    assert b"pain.001.001.03" in content
    assert text(content, "MmbId") == ["021000021"]


async def test_nothing_is_exported_before_somebody_approved_it(bank: BankWorld) -> None:
    await returned(bank)
    written: list[Any] = []
    await payouts.export(
        bank.deps, bank.settings, by=Actor("operator/b"), now=bank.now, on_written=lambda *one: written.append(one)
    )
    assert written == []


async def test_who_says_where_it_goes_may_not_approve_it(bank: BankWorld) -> None:
    payout = await returned(bank, account=None)
    with pytest.raises(Conflict, match="did not report who paid"):
        await approved(bank, payout)
    given = {"name": "Zeta Ltd", "account": PAYER, "bank": "ABNANL2A"}
    async with bank.runtime.db.transaction() as tx:
        await payouts.amend(tx, payout.reference, **given, by=BISI, now=bank.now)
    with pytest.raises(Conflict, match="another person must approve"):
        await approved(bank, payout)
    async with bank.runtime.db.transaction() as tx:
        await payouts.amend(tx, payout.reference, **given, by=ADA, now=bank.now)
    await approved(bank, payout)
    with pytest.raises(Conflict, match="approved already"):
        await approved(bank, payout)
    assert text((await exported(bank)).read_bytes(), "BICFI")[-1] == "ABNANL2A"


async def test_a_rejected_return_fails_with_the_banks_reason(bank: BankWorld) -> None:
    payout = await returned(bank)
    await approved(bank, payout)
    order = (await exported(bank)).read_bytes()
    await bank.bring(answer_to(order, status="RJCT", reason="AC04", now=bank.now))
    assert await status_of_return(bank) == ("failed", "RJCT AC04")
    # A debit of what was rejected needs a decision.
    await bank.bring(a_debit(payout.end_to_end_id))
    assert sorted(await bank.states()) == ["done", "problem"]


async def record_problem(bank: BankWorld) -> str:
    """By decision. What the entry says afterwards."""
    async with bank.runtime.db.connection() as tx:
        [found] = await store.list_problems(tx, limit=10)
    subject = f"{found.file_id}/{found.entry.number}"

    async def alone(_: Any) -> None:
        """Nothing else is written with the decision."""

    await decide.record(bank.runtime.db, subject, note="they say so", by=ADA, now=bank.now, also=alone)
    await bank.record()
    return found.reason


async def test_a_return_that_the_bank_rejected_and_paid_all_the_same_is_booked_by_one_decision(bank: BankWorld) -> None:
    payout = await returned(bank)
    await approved(bank, payout)
    order = (await exported(bank)).read_bytes()
    await bank.bring(answer_to(order, status="RJCT", reason="AC04", now=bank.now))
    await bank.bring(a_debit(payout.end_to_end_id))
    reason = await record_problem(bank)
    assert f"{payout.reference} is rejected, and was not to be paid (RJCT AC04)" in reason
    assert "record this entry: the return is then booked as made" in reason
    assert sorted(await bank.states()) == ["done", "done"]
    assert (await status_of_return(bank))[0] == "confirmed"
    assert (await listed(bank))[0].status == "done"
    assert await bank.admin.fetchval("SELECT count(*) FROM journal WHERE kind = 'return_done'") == 1
    assert await bank.admin.fetchval("SELECT count(*) FROM event WHERE type = 'collection.returned'") == 1
    with pytest.raises(NotFound):
        await ended_by_hand(bank, payout)


async def test_a_rejected_return_that_was_paid_by_another_way_is_not_booked_twice(bank: BankWorld) -> None:
    payout = await returned(bank)
    await approved(bank, payout)
    order = (await exported(bank)).read_bytes()
    await bank.bring(answer_to(order, status="RJCT", reason="AC04", now=bank.now))
    await ended_by_hand(bank, payout)
    await bank.bring(a_debit(payout.end_to_end_id))
    await record_problem(bank)
    assert sorted(await bank.states()) == ["done", "problem"]
    assert await bank.admin.fetchval("SELECT count(*) FROM journal WHERE kind = 'return_done'") == 1


async def test_a_rejected_return_of_a_credit_that_the_bank_took_back_needs_nobody(bank: BankWorld) -> None:
    """Exported, then the credit is taken back, then the return is rejected: the payer has the money once."""
    payout = await returned(bank, uetr=UETR)
    await approved(bank, payout)
    order = (await exported(bank)).read_bytes()
    await bank.bring(reversal_file(uetr=UETR))
    assert await bank.admin.fetchval("SELECT count(*) FROM notification WHERE state = 'quarantined'") == 1
    await bank.bring(answer_to(order, status="RJCT", reason="AC04", now=bank.now))
    assert await status_of_return(bank) == ("confirmed", "RJCT AC04")
    balances = await bank.admin.fetch(
        "SELECT account, sum(amount_minor) AS total FROM entry GROUP BY 1 HAVING sum(amount_minor) <> 0"
    )
    assert balances == []
    assert await bank.admin.fetchval("SELECT count(*) FROM journal WHERE kind = 'return_offset'") == 1
    assert await bank.admin.fetchval("SELECT count(*) FROM event WHERE type = 'collection.returned'") == 1
    assert await bank.admin.fetchval("SELECT count(*) FROM notification WHERE state = 'quarantined'") == 0


async def test_a_payment_whose_debit_was_seen_is_not_failed_by_a_late_rejection(bank: BankWorld) -> None:
    payout = await returned(bank)
    await approved(bank, payout)
    order = (await exported(bank)).read_bytes()
    # The debit is recorded; that the return is confirmed is about to be.
    await bank.admin.execute("UPDATE bank_payout SET status = 'done', sent_as = 'OUT-1'")
    await bank.bring(answer_to(order, status="RJCT", reason="AC04", now=bank.now))
    assert await status_of_return(bank) == ("sent", None)


async def test_an_accepted_payment_waits_for_its_debit(bank: BankWorld) -> None:
    payout = await returned(bank)
    await approved(bank, payout)
    order = (await exported(bank)).read_bytes()
    for status in ("ACTC", "ACSP", "ACSC"):
        await bank.bring(answer_to(order, status=status, now=bank.now))
    assert (await status_of_return(bank))[0] == "sent"
    [found] = await listed(bank)
    assert (found.status, found.bank_status) == ("exported", "ACSC")


async def test_a_rejected_file_rejects_all_of_it(bank: BankWorld) -> None:
    payout = await returned(bank)
    await approved(bank, payout)
    order = (await exported(bank)).read_bytes()
    await bank.bring(answer_to(order, status="RJCT", reason="AM05", is_of_group=True, now=bank.now))
    assert (await status_of_return(bank))[0] == "failed"


async def two_exported(bank: BankWorld) -> bytes:
    number = await bank.account()
    both = [
        entry("250.00", destination=number, payee_name=OTHER_NAME, reference="A"),
        entry("90.00", destination=number, payee_name=OTHER_NAME, reference="B", end_to_end_id="INV-78"),
    ]
    await bank.bring(camt_file(*both))
    await bank.work()
    for payout in await listed(bank):
        await approved(bank, payout)
    return (await exported(bank)).read_bytes()


def of_the_first(order: bytes, now: datetime, *, named: str) -> bytes:
    """Rejects the first payment of the order and says nothing of the second."""
    answer = etree.fromstring(answer_to(order, status="RJCT", reason="AC04", now=now))
    [first, second] = answer.iter("{*}TxInfAndSts")
    second.getparent().remove(second)
    [name] = first.iter("{*}OrgnlEndToEndId")
    if named:
        name.tag = name.tag.replace("OrgnlEndToEndId", named)
    else:
        first.remove(name)
    content: bytes = etree.tostring(answer)
    return content


async def test_a_rejection_that_names_a_payment_by_its_instruction_is_of_that_one(bank: BankWorld) -> None:
    order = await two_exported(bank)
    await bank.bring(of_the_first(order, bank.now, named="OrgnlInstrId"))
    [rejected] = [one for one in await listed(bank) if one.status == "rejected"]
    assert rejected.end_to_end_id == text(order, "EndToEndId")[0]
    assert await bank.admin.fetchval("SELECT count(*) FROM money_return WHERE status = 'failed'") == 1


async def test_a_rejection_that_names_no_payment_rejects_none(
    bank: BankWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    order = await two_exported(bank)
    await bank.bring(of_the_first(order, bank.now, named=""))
    assert {one.status for one in await listed(bank)} == {"exported"}
    assert "does not name it" in capsys.readouterr().out


async def test_a_crash_between_keeping_and_writing_writes_the_same_bytes(bank: BankWorld) -> None:
    payout = await returned(bank)
    await approved(bank, payout)
    first = await exported(bank)
    content = first.read_bytes()
    first.unlink()
    await bank.admin.execute("UPDATE bank_export SET written_at = NULL")
    assert (await exported(bank)).read_bytes() == content


async def test_a_folder_that_cannot_be_written_is_named_and_the_next_export_writes_it(bank: BankWorld) -> None:
    payout = await returned(bank)
    await approved(bank, payout)
    out = bank.settings.folder / "out"
    out.write_text("")
    with pytest.raises(Conflict, match=r"out/.*\.xml cannot be written: .* run `tidegate bank payout export` again"):
        await exported(bank)
    out.unlink()
    assert text((await exported(bank)).read_bytes(), "EndToEndId") == [payout.end_to_end_id]


async def test_a_debit_of_another_amount_needs_a_decision(bank: BankWorld) -> None:
    payout = await returned(bank)
    await approved(bank, payout)
    await exported(bank)
    await bank.bring(a_debit(payout.end_to_end_id, "249.00"))
    assert (await status_of_return(bank))[0] == "sent"
    assert "problem" in await bank.states()


async def test_money_that_comes_back_is_no_inflow(bank: BankWorld) -> None:
    payout = await returned(bank)
    await approved(bank, payout)
    await exported(bank)
    await bank.bring(a_debit(payout.end_to_end_id))
    bounce = entry(end_to_end_id=payout.end_to_end_id, return_reason="AC04", reference="BACK-1")
    await bank.bring(camt_file(bounce, id="S-3", message_id="M-3"))
    assert len(await bank.inflows()) == 1
    assert await bank.admin.fetchval("SELECT amount_minor FROM receipt WHERE outcome = 'suspense'") == 250_00


async def test_a_refused_payout_fails_the_return(bank: BankWorld) -> None:
    payout = await returned(bank)
    await payouts.refuse(bank.deps, payout.reference, why="paid by hand", by=ADA, now=bank.now)
    assert await status_of_return(bank) == ("failed", "paid by hand")


async def test_the_payment_of_a_return_that_is_ended_by_hand_is_closed(bank: BankWorld) -> None:
    payout = await returned(bank)
    await approved(bank, payout)
    await ended_by_hand(bank, payout)
    [closed] = await listed(bank)
    assert (closed.status, closed.reason) == ("rejected", "ended by hand")
    assert await exports(bank) == 0


async def test_a_return_that_ended_while_it_was_being_proposed_is_not_paid(bank: BankWorld) -> None:
    payout = await returned(bank)
    await ended_by_hand(bank, payout)
    # The worker had read the return before it ended, and proposes it afterwards.
    await bank.admin.execute("UPDATE bank_payout SET status = 'proposed', reason = NULL")
    with pytest.raises(Conflict, match="its return or refund has ended"):
        await approved(bank, payout)
    assert await exports(bank) == 0


async def test_a_debit_of_a_return_that_was_ended_by_hand_needs_a_decision(bank: BankWorld) -> None:
    payout = await returned(bank)
    await approved(bank, payout)
    await exported(bank)
    await ended_by_hand(bank, payout)
    await bank.bring(a_debit(payout.end_to_end_id))
    assert sorted(await bank.states()) == ["done", "problem"]


async def test_a_return_of_a_credit_that_the_bank_takes_back_is_not_paid(bank: BankWorld) -> None:
    payout = await returned(bank, uetr=UETR)
    await approved(bank, payout)
    await bank.bring(reversal_file(uetr=UETR))
    [withdrawn] = await listed(bank)
    assert (withdrawn.status, withdrawn.reason) == (
        "rejected", "the bank has taken back the credit that it would return"
    )  # fmt: skip
    assert await exports(bank) == 0
    # The bank has returned it, so the return is done.
    assert await status_of_return(bank) == ("confirmed", None)
    balances = await bank.admin.fetch(
        "SELECT account, sum(amount_minor) AS total FROM entry GROUP BY 1 HAVING sum(amount_minor) <> 0"
    )
    assert balances == []
    assert await bank.admin.fetchval("SELECT count(*) FROM notification WHERE state = 'quarantined'") == 0


async def test_between_the_entry_and_its_reversal_the_return_is_not_exported(
    bank: BankWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker dies after it has found which credit the entry takes back, and before that is booked."""
    payout = await returned(bank, uetr=UETR)
    await approved(bank, payout)

    async def dies(*_: Any) -> None:
        raise ConnectionError("the worker died")

    with monkeypatch.context() as broken:
        broken.setattr(intake, "record_all", dies)
        await bank.bring(reversal_file(uetr=UETR))
    assert await bank.admin.fetchval("SELECT count(*) FROM credit_reversal") == 0
    assert await exports(bank) == 0
    [withdrawn] = await listed(bank)
    assert (withdrawn.status, withdrawn.reason) == (
        "proposed", "the bank has taken back the credit that it would return"
    )  # fmt: skip
    with pytest.raises(Conflict, match="the bank has taken back"):
        await approved(bank, payout)
    await bank.admin.execute("DELETE FROM leased_work")
    await bank.record()
    assert await status_of_return(bank) == ("confirmed", None)
    [ended] = await listed(bank)
    assert ended.status == "rejected"


async def test_a_return_in_a_file_at_the_bank_stays_open_when_the_bank_takes_the_credit_back(bank: BankWorld) -> None:
    payout = await returned(bank, uetr=UETR)
    await approved(bank, payout)
    await exported(bank)
    await bank.bring(reversal_file(uetr=UETR))
    assert (await status_of_return(bank))[0] == "sent"
    # It may be paid twice: an operator asks the bank.
    quarantined = "UPDATE notification SET state = 'done' WHERE state = 'quarantined' RETURNING note"
    assert "which was being returned: both may have left; ask the bank" in await bank.admin.fetchval(quarantined)


async def test_approval_export_and_the_end_by_hand_at_once_pay_each_return_at_most_once(bank: BankWorld) -> None:
    number = await bank.account()
    await bank.bring(
        camt_file(*(entry(destination=number, payee_name=OTHER_NAME, reference=f"IN-{n}") for n in range(8)))
    )
    await bank.work()
    made = await listed(bank)
    for payout in made[::2]:
        await approved(bank, payout)

    async def tried(work: Awaitable[object]) -> None:
        with suppress(Conflict, NotFound):
            await work

    written: list[Path] = []
    await asyncio.gather(
        *(tried(approved(bank, payout)) for payout in made),
        *(tried(ended_by_hand(bank, payout)) for payout in made[:4]),
        *(
            payouts.export(
                bank.deps,
                bank.settings,
                by=Actor("operator/bisi"),
                now=bank.now,
                on_written=lambda p, _: written.append(p),
            )
            for _ in range(3)
        ),
    )
    paid_for = [id_ for path in written for id_ in text(path.read_bytes(), "EndToEndId")]
    assert len(paid_for) == len(set(paid_for))
    # Those that ended before the export are in no file; those that ended after it are closed.
    assert {one.status for one in await listed(bank) if one.reference in {p.reference for p in made[:4]}} == {
        "rejected"
    }
    assert await bank.admin.fetchval("SELECT count(*) FROM money_return WHERE status = 'confirmed'") == 4
