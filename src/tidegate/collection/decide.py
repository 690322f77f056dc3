"""Decisions on inflows, as pure functions of what was read."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

import msgspec

from tidegate.account.model import AccountType
from tidegate.account.name_rule import NameCheck, NameVerdict, check_name
from tidegate.collection import event
from tidegate.collection.model import (
    AccountSnapshot,
    AppliedRate,
    Collection,
    CollectionChange,
    CollectionStatus,
    Credited,
    InflowReturn,
)
from tidegate.collection.rate import convert, worth_of
from tidegate.collection.reason import REASON_OF_BLOCK, InflowReason
from tidegate.core import ids
from tidegate.core.fee import Fee, fee_on, fee_within
from tidegate.core.method import InflowMethod
from tidegate.core.money import Money
from tidegate.ledger import postings
from tidegate.ledger.model import Conversion, Journal
from tidegate.merchant.model import NamePolicy
from tidegate.money_return.model import ReturnRequest
from tidegate.rail.deps import InflowTerms
from tidegate.rail.event import MoneyArrived
from tidegate.rail.notification import NotificationRef

# Far above any transfer, far below the overflow of a wallet's balance.
WORTH_MINOR_MAX = 10**15


class ReturnInflow(msgspec.Struct, frozen=True):
    reason: InflowReason


class HoldInflow(msgspec.Struct, frozen=True):
    reason: InflowReason


class CreditInflow(msgspec.Struct, frozen=True):
    credited: Credited
    conversion: Conversion | None


InflowDecision = ReturnInflow | HoldInflow | CreditInflow

REASON_OF_NAME = {
    NameVerdict.CLOSE: InflowReason.NAME_IS_CLOSE,
    NameVerdict.MISSING: InflowReason.NAME_MISSING,
    NameVerdict.DIFFERENT: InflowReason.NAME_DIFFERS,
}


def on_arrival(
    snapshot: AccountSnapshot,
    transfer: MoneyArrived,
    *,
    rail: str,
    terms: InflowTerms,
    ref: NotificationRef | None,
    now: datetime,
) -> CollectionChange:
    account = snapshot.account
    name_check = check_name(
        payee_name=transfer.payee_name,
        holder=account.holder,
        is_company=account.account_type is AccountType.CORPORATE,
    )
    arrived = Collection(
        business_id=account.business_id,
        reference=ids.new_collection_reference(),
        account_id=account.id,
        merchant_reference=account.merchant_reference,
        status=CollectionStatus.PENDING,
        amount=transfer.amount,
        destination_currency=account.settlement_currency,
        rail=rail,
        transaction_id=transfer.transaction_id,
        payer=transfer.payer,
        payee_name=transfer.payee_name,
        scheme=transfer.scheme,
        remittance=transfer.remittance,
        valued_at=transfer.valued_at,
        name_check=name_check,
        created_at=now,
        updated_at=now,
    )
    verdict = judge(snapshot, transfer.amount, name_check, terms=terms, now=now)
    if not transfer.is_payee_reported and verdict == ReturnInflow(InflowReason.NAME_MISSING):
        # A bank that reports no name for any payer must not make every inflow go back.
        verdict = HoldInflow(InflowReason.NAME_MISSING)
    if isinstance(verdict, HoldInflow):
        # The review needs both reasons.
        also = InflowReason.AMOUNT_IS_LARGE if _is_large(transfer.amount, terms) else verdict.reason
        arrived = msgspec.structs.replace(arrived, held_for=tuple(dict.fromkeys((verdict.reason, also))))
        if verdict.reason is not InflowReason.TAKEN_BACK:
            arrived = msgspec.structs.replace(arrived, held_until=now + terms.hold)
    return msgspec.structs.replace(_change(arrived, verdict, is_held=False, now=now), ref=ref)


def judge(
    snapshot: AccountSnapshot, amount: Money, name_check: NameCheck, *, terms: InflowTerms, now: datetime
) -> InflowDecision:
    """What cannot be credited is returned; what needs a review is held."""
    if snapshot.is_taken_back:
        return HoldInflow(InflowReason.TAKEN_BACK)
    block_reason = snapshot.account.block_reason(now)
    if block_reason is not None:
        return ReturnInflow(REASON_OF_BLOCK[block_reason])
    if name_check.verdict is not NameVerdict.EXACT:
        reason = REASON_OF_NAME[name_check.verdict]
        may_hold = snapshot.business.inflow_name_policy is NamePolicy.HOLD and reason is not InflowReason.NAME_DIFFERS
        return HoldInflow(reason) if may_hold else ReturnInflow(reason)
    if _is_large(amount, terms):
        return HoldInflow(InflowReason.AMOUNT_IS_LARGE)
    if not snapshot.business.is_active:
        return HoldInflow(InflowReason.BUSINESS_SUSPENDED)
    return price(snapshot, amount, terms=terms, now=now)


def _is_large(amount: Money, terms: InflowTerms) -> bool:
    review_from = terms.review_from_major
    return review_from > 0 and amount.minor >= review_from * amount.currency.minor_per_major


def price(snapshot: AccountSnapshot, amount: Money, *, terms: InflowTerms, now: datetime) -> HoldInflow | CreditInflow:
    """The credit. Held when a rate is needed and none is fresh."""
    rule = snapshot.business.fee_rule_for(amount.currency, InflowMethod.VIRTUAL_ACCOUNT)
    fee = fee_on(amount, rule)
    if snapshot.account.settlement_currency is amount.currency:
        credited = Credited(gross=amount, fee=fee_within(amount, fee), fee_rule_id=rule.id)
        return CreditInflow(credited, None)
    rate = snapshot.rate
    if rate is None:
        return HoldInflow(InflowReason.RATE_MISSING)
    if now - rate.quoted_at > terms.rate_lasts:
        return HoldInflow(InflowReason.RATE_STALE)
    conversion = convert(amount, rate)
    if conversion is None:
        return HoldInflow(InflowReason.TOO_SMALL_TO_CONVERT)
    if conversion.worth.minor > WORTH_MINOR_MAX:
        return HoldInflow(InflowReason.TOO_LARGE_TO_CONVERT)
    credited = Credited(
        gross=conversion.converted,
        fee=fee_within(conversion.converted, Fee(worth_of(fee.fee, rate), worth_of(fee.vat, rate))),
        fee_rule_id=rule.id,
        applied_rate=AppliedRate(
            rate=rate.rate, source=rate.source, quoted_at=rate.quoted_at, spread=conversion.spread
        ),
    )
    return CreditInflow(credited, conversion)


def on_review_passed(
    snapshot: AccountSnapshot, held: Collection, *, note: str | None, terms: InflowTerms, now: datetime
) -> CollectionChange | InflowReason:
    """An operator has accepted it. The reason when it still cannot be credited."""
    block_reason = snapshot.account.block_reason(now)
    if block_reason is not None:
        return REASON_OF_BLOCK[block_reason]
    if not snapshot.business.is_active:
        return InflowReason.BUSINESS_SUSPENDED
    verdict = price(snapshot, held.amount, terms=terms, now=now)
    if isinstance(verdict, HoldInflow):
        return verdict.reason
    return _change(msgspec.structs.replace(held, note=note), verdict, is_held=True, now=now)


def on_review_refused(held: Collection, *, reason: InflowReason, note: str | None, now: datetime) -> CollectionChange:
    noted = msgspec.structs.replace(held, note=note)
    return _change(noted, ReturnInflow(reason), is_held=True, now=now)


def on_hold_ended(held: Collection, *, now: datetime) -> CollectionChange:
    return _change(held, ReturnInflow(InflowReason.HOLD_ENDED), is_held=True, now=now)


def _change(before: Collection, verdict: InflowDecision, *, is_held: bool, now: datetime) -> CollectionChange:
    match verdict:
        case CreditInflow():
            after = msgspec.structs.replace(
                before, status=CollectionStatus.SUCCESSFUL, reason=None, credited=verdict.credited, updated_at=now
            )
            journal = _crediting(after, verdict, is_held=is_held, now=now)
            return CollectionChange(
                collection=after, journal=journal, event=event.collection_successful(after), now=now
            )
        case HoldInflow():
            after = msgspec.structs.replace(before, reason=verdict.reason)
            return CollectionChange(
                collection=after,
                journal=postings.receipt_held(cause=after.cause, received=after.amount, event_at=now),
                now=now,
            )
        case ReturnInflow():
            return _sending_back(before, verdict.reason, is_held=is_held, now=now)
    assert_never(verdict)


def _crediting(after: Collection, verdict: CreditInflow, *, is_held: bool, now: datetime) -> Journal:
    fee, conversion, cause = verdict.credited.fee, verdict.conversion, after.cause
    if conversion is None:
        if is_held:
            return postings.held_settled(cause=cause, held=after.amount, fee=fee, event_at=now)
        return postings.inflow_credited(cause=cause, received=after.amount, fee=fee, event_at=now)
    posting = postings.held_converted if is_held else postings.inflow_converted
    return posting(cause=cause, conversion=conversion, fee=fee, event_at=now)


def _sending_back(before: Collection, reason: InflowReason, *, is_held: bool, now: datetime) -> CollectionChange:
    going_back = ReturnRequest(
        rail=before.rail,
        reference=ids.new_return_reference(),
        transaction_id=before.transaction_id,
        amount=before.amount,
        reason=f"{reason.return_code} {reason.sentence}",
    )
    after = msgspec.structs.replace(
        before,
        status=CollectionStatus.REVERSED,
        reason=reason,
        sent_back=InflowReturn(reference=going_back.reference, asked_at=now),
        updated_at=now,
    )
    if is_held:
        journal = postings.held_returning(cause=after.cause, held=after.amount, event_at=now)
    else:
        journal = postings.receipt_returning(cause=after.cause, returned=after.amount, event_at=now)
    return CollectionChange(collection=after, journal=journal, going_back=going_back, now=now)
