"""Payments to the bank: proposed by one of the staff, approved by another, exported as pain.001."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import structlog

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.bank_file import payout_store, status
from tidegate.bank_file.payout_store import ExportedFile, ProposedPayout
from tidegate.bank_settings import BankFilesSettings
from tidegate.core.bank_number import normal_account_number
from tidegate.core.errors import Conflict, NotFound
from tidegate.infra.db import Database, Tx
from tidegate.infra.same_transaction import InSameTransaction, nothing_else
from tidegate.rail.bankfiles import pain001
from tidegate.rail.bankfiles.pain001 import PaymentsNotValid
from tidegate.rail.deps import PaymentDeps

log = structlog.get_logger("bank")


async def _locked(tx: Tx, reference: str, *statuses: str) -> ProposedPayout:
    found = await payout_store.lock(tx, reference)
    if len(found) != 1:
        raise NotFound(f"no payment to the bank has the reference {reference}; `tidegate bank payout list` shows them")
    if found[0].status not in statuses:
        raise Conflict(f"{reference} is {found[0].status} already")
    return found[0]


async def _audit(tx: Tx, payout: ProposedPayout, what: str, *, by: Actor, now: datetime) -> None:
    await audit.insert(
        tx, payout.business_id, by, action=f"payout.{what}", subject=payout.reference, details={}, now=now
    )


async def get(tx: Tx, reference: str) -> ProposedPayout:
    """Locked, and still to be decided on: refused where it is approved, sent or ended."""
    return await _locked(tx, reference, "proposed")


async def amend(
    tx: Tx, reference: str, *, name: str, account: str, bank: str | None, by: Actor, now: datetime
) -> ProposedPayout:
    """Says where the money goes; the same person may not approve it. One that was approved is so no longer."""
    payout = await _locked(tx, reference, "proposed", "approved")
    await payout_store.amend(tx, payout, name=name, account=normal_account_number(account), bank=bank, by=by.actor)
    await _audit(tx, payout, "amended", by=by, now=now)
    return payout


async def approve(
    db: Database, reference: str, *, asked_by: Actor, by: Actor, now: datetime, also: InSameTransaction = nothing_else
) -> ProposedPayout:
    async with db.transaction() as tx:
        await also(tx)
        payout = await _locked(tx, reference, "proposed")
        if by.actor in (payout.proposed_by, asked_by.actor):
            raise Conflict(f"{by.actor} set the payee of {reference}; another person must approve it")
        refuse_without_payee(payout)
        why_not = await payout_store.why_not_to_pay(tx, payout)
        if why_not is not None:
            raise Conflict(f"{reference} is not to be paid: {why_not}")
        await payout_store.approve(tx, payout, proposed_by=asked_by.actor, by=by.actor, now=now)
        await _audit(tx, payout, "approved", by=by, now=now)
        return payout


def refuse_without_payee(payout: ProposedPayout) -> None:
    if not payout.payee_account or not payout.payee_name:
        raise Conflict(
            f"the bank did not report who paid {payout.reference}; set the payee with `tidegate bank payout amend`"
        )


async def refuse(deps: PaymentDeps, reference: str, *, why: str, by: Actor, now: datetime) -> None:
    """It is not paid by this way; the return or refund fails."""
    async with deps.db.transaction() as tx:
        payout = await _locked(tx, reference, "proposed", "approved")
        await payout_store.refuse(tx, payout, why=why)
        await _audit(tx, payout, "refused", by=by, now=now)
    await status.tell_rejected(deps, payout, why, now)


async def export(
    deps: PaymentDeps, settings: BankFilesSettings, *, by: Actor, now: datetime, on_written: Callable[[Path, int], None]
) -> None:
    """One file for each account. It is kept before it is written: a crash in between writes the same bytes again."""
    for account in settings.accounts:
        async with deps.db.transaction() as tx:
            payouts = await _lock_to_export(tx, account.number)
            if not payouts:
                continue
            message_id = f"TG{now:%Y%m%d%H%M%S}{secrets.token_hex(4)}"
            outgoing = [one.outgoing() for one in payouts]
            try:
                content = pain001.payments_file(account, outgoing, message_id=message_id, now=now)
            except PaymentsNotValid as error:
                raise Conflict(f"the payments of {account.number} make no valid file: {error}") from None
            made = ExportedFile(id=message_id, content=content, payment_count=len(payouts))
            await payout_store.insert_export(tx, made, payouts, account_number=account.number, by=by.actor, now=now)
            for payout in payouts:
                await _audit(tx, payout, "exported", by=by, now=now)
    await write_files(deps.db, settings, now=now, on_written=on_written)


async def _lock_to_export(tx: Tx, account_number: str) -> list[ProposedPayout]:
    """What is not to be paid any more, though it was approved, waits for a decision again."""
    payouts = []
    for payout in await payout_store.lock_approved(tx, account_number):
        why_not = await payout_store.why_not_to_pay(tx, payout)
        if why_not is None:
            payouts.append(payout)
            continue
        log.error("an approved payment is not exported", reference=payout.reference, why=why_not)
        await payout_store.withdraw(tx, payout, why=why_not)
    return payouts


async def write_files(
    db: Database, settings: BankFilesSettings, *, now: datetime, on_written: Callable[[Path, int], None]
) -> None:
    """Each by one process: a file that was sent to the bank already must not appear again."""
    async with db.connection() as tx:
        unwritten = await payout_store.list_unwritten(tx)
    for export_id in unwritten:
        path = settings.folder / "out" / f"{export_id}.xml"
        async with db.transaction() as tx:
            file = await payout_store.lock_unwritten(tx, export_id)
            if file is None:
                continue
            try:
                _write(path, file.content)
            except OSError as error:
                raise Conflict(
                    f"{path} cannot be written: {error.strerror}. Nothing is lost: make the folder writable, and run "
                    "`tidegate bank payout export` again"
                ) from error
            await payout_store.mark_written(tx, file.id, now=now)
        on_written(path, file.payment_count)


def _write(path: Path, content: bytes) -> None:
    """Appears as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.tmp")
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
