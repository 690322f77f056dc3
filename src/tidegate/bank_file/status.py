"""What pain.002 says about our payments."""

from __future__ import annotations

from datetime import datetime

import structlog

from tidegate.bank_file import payout_store
from tidegate.bank_file.payout_store import ProposedPayout
from tidegate.intake import returns
from tidegate.rail.bankfiles.model import TransferStatus
from tidegate.rail.bankfiles.rail import NAME
from tidegate.rail.deps import PaymentDeps
from tidegate.refund import store as refund_store

# Every other status is a step on the way: only a debit in a statement ends a payment well.
REJECTED = frozenset({"RJCT", "CANC"})

log = structlog.get_logger("bank")


async def apply(deps: PaymentDeps, report: TransferStatus, now: datetime) -> None:
    """May be repeated."""
    async with deps.db.connection() as tx:
        if report.is_of_file:
            payouts = await payout_store.list_of_export(tx, report.message_id)
        else:
            found = await payout_store.find_by_end_to_end_id(tx, report.end_to_end_id)
            payouts = [found] if found else []
    if not payouts:
        log.error(
            "the bank tells of a payment that is none of ours, or does not name it",
            payment=report.end_to_end_id, message=report.message_id, status=report.status, why=report.reason,
        )  # fmt: skip
    for payout in payouts:
        is_rejected = report.status in REJECTED
        why = " ".join(part for part in (report.status, report.reason) if part)
        async with deps.db.connection() as tx:
            await payout_store.note_status(
                tx, payout, bank_status=report.status, why=why if is_rejected else None, is_rejected=is_rejected
            )
            after = await payout_store.find_by_end_to_end_id(tx, payout.end_to_end_id)
        # Rejected by this, now or in a round that was interrupted. One whose debit was seen is paid.
        if is_rejected and after is not None and after.status == "rejected":
            await tell_rejected(deps, payout, why, now)


async def tell_rejected(deps: PaymentDeps, payout: ProposedPayout, why: str, now: datetime) -> None:
    """The return fails with the bank's reason; a refund is asked about at once, and fails then."""
    log.error("the bank rejects a payment", reference=payout.reference, why=why)
    if payout.kind == "return":
        await returns.fail(deps, NAME, payout.business_id, payout.reference, why=why, now=now)
        return
    async with deps.db.connection() as tx:
        await refund_store.poll_now(tx, payout.business_id, payout.reference, rail=NAME, now=now)
