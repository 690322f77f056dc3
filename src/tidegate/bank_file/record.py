"""Records the entries of statements, each once: credits as money that arrived, debits as ends of our payments."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

import msgspec

from tidegate.bank_file import payout_store, reversal_store, store
from tidegate.bank_file.payout_store import ProposedPayout
from tidegate.bank_file.reversal import BY_PAYERS_ID, CreditFound, fitting, missing_before
from tidegate.bank_settings import BankFilesSettings
from tidegate.core.clock import Clock
from tidegate.core.money import Money
from tidegate.infra import leased_work
from tidegate.infra.db import Tx
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import RoundResult, WorkKind
from tidegate.intake import commands as intake
from tidegate.rail.bankfiles import arrival
from tidegate.rail.bankfiles import store as rail_store
from tidegate.rail.bankfiles.model import BankEntry
from tidegate.rail.bankfiles.rail import NAME, BankFilesRail
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.event import CreditReversed, Notification, PollRequested, PollSubject, RailEvent, ReturnConfirmed

RECORD = WorkKind(store.RECORD, store.list_to_record)


class RecordedAs(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of an entry, and the event that it is, if any."""

    state: str
    note: str | None = None
    event: RailEvent | None = None
    destination: str | None = None


def rail_in(deps: PaymentDeps) -> BankFilesRail | None:
    rail = deps.rails.get(NAME)
    return rail if isinstance(rail, BankFilesRail) else None


async def record_entries(deps: PaymentDeps, clock: Clock) -> RoundResult:
    """One round of the worker."""
    rail = rail_in(deps)
    if rail is None:
        return RoundResult()
    return await leased_work.run_round(deps.db, RECORD, partial(_record, deps, rail.settings, clock), clock)


async def _record(deps: PaymentDeps, settings: BankFilesSettings, clock: Clock, lease: Lease, now: datetime) -> bool:
    file_id, _, number = lease.id.partition("/")
    async with deps.db.connection() as tx:
        entry = await store.find_to_record(tx, file_id, int(number))
    if entry is None:
        return False
    outcome = await _judge(deps, settings, file_id, entry)
    if outcome is None:
        return True
    if outcome.event is not None:
        # By reference to the file: the entry's own bytes are kept with it, once.
        body = msgspec.json.encode({"file": file_id, "entry": entry.number})
        notification = Notification(id=f"{file_id[:32]}/{entry.number}", event=outcome.event, body=body)
        await intake.record_all(deps, NAME, [notification], body, clock)
    await _end(deps, file_id, entry, outcome)
    return True


async def _end(deps: PaymentDeps, file_id: str, entry: BankEntry, outcome: RecordedAs) -> None:
    async with deps.db.transaction() as tx:
        if entry.is_credit:
            await reversal_store.lock_for_credit(tx)
        await store.end_entry(
            tx, file_id, entry.number, state=outcome.state, note=outcome.note, destination=outcome.destination
        )
        if entry.is_credit and outcome.state == "done":
            await reversal_store.judge_again(tx, entry)


async def _judge(deps: PaymentDeps, settings: BankFilesSettings, file_id: str, entry: BankEntry) -> RecordedAs | None:
    """None for a reversal that waits."""
    account, amount = settings.account_of(entry.account), arrival.money_of(entry)
    if account is None or isinstance(amount, str):
        return RecordedAs(state="problem", note=str(amount) if account else f"{entry.account} is not ours any more")
    if entry.is_credit:
        money = arrival.arrived(entry, account, amount)
        return RecordedAs(state="done", event=money, destination=money.account_number)
    async with deps.db.connection() as tx:
        payout = await payout_store.find_by_end_to_end_id(tx, entry.end_to_end_id)
    if payout is not None and not entry.is_reversal:
        return await _paid_out(deps, payout, file_id, entry, amount)
    if entry.is_reversal or entry.is_return:
        return await _taken_back(deps, file_id, entry, amount)
    return RecordedAs(state="ignored", note="a debit that is none of our payments, such as the bank's charges")


async def _paid_out(
    deps: PaymentDeps, payout: ProposedPayout, file_id: str, entry: BankEntry, amount: Money
) -> RecordedAs:
    if payout.amount != amount:
        return RecordedAs(state="problem", note=f"it pays {payout.reference}, which is of {payout.amount}")
    key = entry.keys[0]
    async with deps.db.transaction() as tx:
        is_done = await payout_store.mark_done(tx, payout, sent_as=key)
        if not is_done and await store.is_decided(tx, file_id, entry.number):
            is_done = await payout_store.mark_made(tx, payout, sent_as=key)
        after = await payout_store.find_by_end_to_end_id(tx, payout.end_to_end_id)
    # Done by this entry, now or in a round that was interrupted.
    if not is_done and (after is None or after.sent_as != key):
        return RecordedAs(state="problem", note=_not_to_be_paid(payout, key))
    business_id, reference = payout.business_id, payout.reference
    if payout.kind == "return":
        event: RailEvent = ReturnConfirmed(business_id=business_id, reference=reference, transaction_id=key)
    else:
        event = PollRequested(subject=PollSubject.REFUND, business_id=business_id, reference=reference)
    return RecordedAs(state="done", note=f"pays {reference}", event=event)


def _not_to_be_paid(payout: ProposedPayout, key: str) -> str:
    what = f"{payout.reference} is {payout.status}, and was not to be paid"
    if payout.status != "rejected" or payout.export_id is None:
        return what
    if payout.kind == "return":
        return (
            f"{what} ({payout.reason}); if the bank has paid it, record this entry: the return is then booked as made"
        )
    again = f"refund it again, and end that refund by hand, as {key}"
    return f"{what} ({payout.reason}); if the bank has paid it, the payer has money that is back in the wallet: {again}"


async def _taken_back(deps: PaymentDeps, file_id: str, entry: BankEntry, amount: Money) -> RecordedAs | None:
    async with deps.db.transaction() as tx:
        await reversal_store.lock_for_reversal(tx)
        found = fitting(entry, await reversal_store.list_credits_like(tx, file_id, entry))
        doubt = await _doubt(tx, file_id, entry, found)
        if doubt is not None:
            # At once, while no credit is recorded: one that comes later has it judged again.
            await store.end_entry(
                tx, file_id, entry.number, state="problem", note=f"the bank takes money back; {doubt}",
                awaits_credit=len(found) <= 1 and all(one.amount == entry.amount for one in found),
            )  # fmt: skip
            return None
        [credit] = found
        await reversal_store.take_back(tx, file_id, entry.number, key=credit.key)
    event = CreditReversed(
        account_number=credit.destination,
        transaction_id=credit.key,
        reversal_id=entry.keys[0],
        amount=amount,
        reason=entry.return_reason or "taken back by the bank",
    )
    return RecordedAs(state="done", note=f"takes back {credit.key}", event=event)


async def _doubt(tx: Tx, file_id: str, entry: BankEntry, found: Sequence[CreditFound]) -> str | None:
    """Why no credit is debited by itself. Payers use their identifiers again: another may be to come."""
    if len(found) != 1:
        return f"{'several credits' if found else 'no credit'} of ours fit it"
    if found[0].amount != entry.amount:
        return f"the credit that it means is {found[0]}, and only a whole one is debited here: see to it, and settle it"
    if found[0].rank != BY_PAYERS_ID:
        return None
    if await reversal_store.has_unrecorded_like(tx, entry):
        return "one credit fits it, and another is not recorded yet"
    is_read = not entry.is_stated or await reversal_store.has_statement(tx, file_id, entry.statement)
    missing: str | None = "its statement is not read yet"
    if is_read:
        missing = missing_before(entry, await rail_store.list_statements(tx, entry.sheet.account))
    return f"one credit fits it, and another may be to come: {missing}" if missing else None
