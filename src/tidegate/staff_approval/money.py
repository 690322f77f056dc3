"""Commands that move money: inflows, suspense, refunds, and the rates that inflows are converted at."""

from __future__ import annotations

from tidegate.bank_file import decide as bank_entry
from tidegate.bank_file import payout as payouts
from tidegate.collection import review, set_rate
from tidegate.collection.rate import Rate
from tidegate.intake import disputes, quarantine, returns, suspense
from tidegate.intake import refunds as intake_refunds
from tidegate.intake import request_again as requests
from tidegate.rail import pause
from tidegate.refund import commands as refunds
from tidegate.refund.commands import ChosenRate
from tidegate.refund.model import RefundRequest
from tidegate.staff_approval.arguments import (
    AssignArguments,
    DisputeEndArguments,
    ImportArguments,
    NoArguments,
    OperatorRefund,
    PayoutArguments,
    RateArguments,
    RefundEndArguments,
    ReturnArguments,
    ReturnEndArguments,
    TakeBackArguments,
)
from tidegate.staff_approval.model import StaffCommandRun


async def credit(run: StaffCommandRun, _: NoArguments) -> object:
    return await review.credit(run.deps.payment, run.subject, note=run.reason, **run.common)


async def send_back(run: StaffCommandRun, to_payer: ReturnArguments) -> object:
    deps, reason = run.deps.payment, to_payer.reason
    return await review.send_back(deps, run.subject, reason=reason, note=run.reason, **run.common)


async def set_one_rate(run: StaffCommandRun, rate: RateArguments) -> object:
    return (await set_rate.set_rates(run.deps.db, [_rate(run, rate)], **run.common))[0]


async def import_rates(run: StaffCommandRun, wanted: ImportArguments) -> object:
    return await set_rate.set_rates(run.deps.db, [_rate(run, one) for one in wanted.rates], **run.common)


def _rate(run: StaffCommandRun, rate: RateArguments) -> Rate:
    return Rate(
        base=rate.base, quote=rate.quote, rate=rate.rate, spread_basis_points=rate.spread_basis_points,
        source=rate.source, quoted_at=rate.quoted_at or run.asked_at,
    )  # fmt: skip


async def assign(run: StaffCommandRun, to: AssignArguments) -> object:
    deps, receipt_id = run.deps.payment, int(run.subject)
    if to.payment is not None:
        return await suspense.assign_to_payment(
            deps, receipt_id, business_id=to.business_id, reference=to.payment, note=run.note, **run.common
        )
    return await suspense.assign_to_account(
        deps, receipt_id, business_id=to.business_id, account_id=to.account_id or "", note=run.note, **run.common
    )


async def return_suspense(run: StaffCommandRun, _: NoArguments) -> object:
    return await suspense.send_back(run.deps.payment, int(run.subject), note=run.note, **run.common)


async def close_suspense(run: StaffCommandRun, _: NoArguments) -> object:
    return await suspense.close(run.deps.payment, int(run.subject), note=run.note, **run.common)


async def close_quarantine(run: StaffCommandRun, _: NoArguments) -> object:
    rail, _slash, notification_id = run.subject.partition("/")
    return await quarantine.close(run.deps.db, rail, notification_id, note=run.note, **run.common)


async def end_return(run: StaffCommandRun, wanted: ReturnEndArguments) -> object:
    return await returns.end_by_hand(
        run.deps.payment, run.business_id, run.subject, sent_as=wanted.sent_as, note=run.note, **run.common
    )


async def request_return_again(run: StaffCommandRun, _: NoArguments) -> object:
    return await requests.request_again(
        run.deps.payment, "return", run.business_id, run.subject, note=run.note, **run.common
    )


async def end_refund(run: StaffCommandRun, wanted: RefundEndArguments) -> object:
    return await intake_refunds.end_by_hand(
        run.deps.payment, run.business_id, run.subject, is_paid=wanted.is_paid, sent_as=wanted.sent_as, note=run.note,
        **run.common,
    )  # fmt: skip


async def request_refund_again(run: StaffCommandRun, _: NoArguments) -> object:
    return await requests.request_again(
        run.deps.payment, "refund", run.business_id, run.subject, note=run.note, **run.common
    )


async def end_dispute(run: StaffCommandRun, wanted: DisputeEndArguments) -> object:
    return await disputes.end_by_hand(
        run.deps.payment, run.business_id, run.subject, is_won=wanted.is_won, note=run.note, **run.common
    )


async def pay(run: StaffCommandRun, _: PayoutArguments) -> object:
    return await payouts.approve(run.deps.db, run.subject, asked_by=run.asked_by, **run.common)


async def settle_bank_entry(run: StaffCommandRun, _: NoArguments) -> object:
    return await bank_entry.settle(run.deps.db, run.subject, note=run.note, **run.common)


async def record_bank_entry(run: StaffCommandRun, _: NoArguments) -> object:
    return await bank_entry.record(run.deps.db, run.subject, note=run.note, **run.common)


async def take_back_bank_entry(run: StaffCommandRun, chosen: TakeBackArguments) -> object:
    return await bank_entry.take_back(run.deps.db, run.subject, chosen.credit, note=run.note, **run.common)


async def resume_rail(run: StaffCommandRun, _: NoArguments) -> object:
    await pause.resume(run.deps.db, run.subject, **run.common)
    await run.deps.payment.paused.look(run.deps.db)
    return run.subject


async def refund(run: StaffCommandRun, wanted: OperatorRefund) -> object:
    request = RefundRequest(reference=run.subject, amount=wanted.amount, reason=wanted.reason, note=run.reason)
    chosen = ChosenRate(wanted.rate, run.deps.payment.inflow_terms.rate_lasts) if wanted.rate else None
    async with run.deps.db.transaction() as tx:
        await run.also(tx)
        return await refunds.begin(
            tx, run.business_id, request, by=run.by, now=run.now, chosen=chosen, proposed_by=run.asked_by
        )
