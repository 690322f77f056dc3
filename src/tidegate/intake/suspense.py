"""Money in suspense: an operator assigns it to a payment or a virtual account, returns it, or closes it.

Each decision is one transaction, made once: a repeat of the same one changes nothing, any other is refused. Assigned
money is judged and booked as if it had come to its owner at once. What the rules would send back is refused here: to
return money is a decision of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

import msgspec

from tidegate.account import store as account_store
from tidegate.account.model import ID as ACCOUNT_ID
from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.collection import decide as inflow
from tidegate.collection import store as collection_store
from tidegate.collection.model import AccountSnapshot, CollectionChange, CollectionStatus
from tidegate.core import ids
from tidegate.core.errors import Conflict, NotFound, Unavailable
from tidegate.dispute import commands as dispute
from tidegate.dispute.store import DisputedMoney
from tidegate.infra.db import StaleChange, Tx
from tidegate.infra.same_transaction import InSameTransaction, nothing_else
from tidegate.intake import suspense_store as store
from tidegate.intake.model import SuspenseDecision, SuspenseReceipt
from tidegate.ledger import postings
from tidegate.money_return.reason import ReturnReason
from tidegate.payment import attempt_store, decide, settle
from tidegate.payment.change import PaymentChange, PaymentSnapshot
from tidegate.payment.decide import IncomingTransfer
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.notification import AlreadyReceived
from tidegate.webhook.model import EVENT_CHANNEL

# The owner may change at the same moment; each try reads it again.
TRIES = 20
RECEIPT_ID_MAX = 2**63 - 1
WAY_OUT = "assign it elsewhere, or return it"

# Writes the decision and all that comes of it.
Write = Callable[[Tx, SuspenseReceipt, SuspenseDecision], Awaitable[None]]


async def assign_to_payment(
    deps: PaymentDeps, receipt_id: int, *, business_id: str, reference: str, note: str, by: Actor, now: datetime,
    also: InSameTransaction = nothing_else,
) -> SuspenseDecision:  # fmt: skip
    """`reference` is the payment's pay code or merchant reference."""
    async with deps.db.connection() as tx:
        pay_code = await _pay_code_of(tx, business_id, reference)

    async def write(tx: Tx, receipt: SuspenseReceipt, decision: SuspenseDecision) -> None:
        snapshot = await store.find_payment(tx, business_id, pay_code, receipt)
        assert snapshot is not None  # Payments stay.
        await _release(tx, receipt, decision, now)
        theirs, at = await _by_their_clock(tx, business_id, receipt, now)
        await _pay(deps, tx, theirs, snapshot, at)
        owner = DisputedMoney(business_id=business_id, payment_id=snapshot.payment.id)
        await dispute.follow(tx, receipt.business_id, receipt.rail, receipt.transaction_id, owner=owner, now=now)

    wanted = _wanted("assigned", note, by, now, given_to=business_id, subject=pay_code)
    return await _decide(deps, receipt_id, wanted, write, by=by, also=also)


async def assign_to_account(
    deps: PaymentDeps, receipt_id: int, *, business_id: str, account_id: str, note: str, by: Actor, now: datetime,
    also: InSameTransaction = nothing_else,
) -> SuspenseDecision:  # fmt: skip
    async with deps.db.connection() as tx:
        await _refuse_unknown_account(tx, business_id, account_id)

    async def write(tx: Tx, receipt: SuspenseReceipt, decision: SuspenseDecision) -> None:
        snapshot = await _snapshot(tx, receipt, business_id, account_id)
        await _release(tx, receipt, decision, now)
        theirs, at = await _by_their_clock(tx, business_id, receipt, now)
        await _credit(deps, tx, theirs, snapshot, at)

    wanted = _wanted("assigned", note, by, now, given_to=business_id, subject=account_id)
    return await _decide(deps, receipt_id, wanted, write, by=by, also=also)


async def _pay_code_of(tx: Tx, business_id: str, reference: str) -> str:
    pay_code = await store.find_pay_code(tx, business_id, reference)
    if pay_code is None:
        raise NotFound(f"the business {business_id} has no payment {reference}")
    return pay_code


async def _refuse_unknown_account(tx: Tx, business_id: str, account_id: str) -> None:
    if not ACCOUNT_ID.fullmatch(account_id) or not await account_store.find(tx, business_id, account_id):
        raise NotFound(f"the business {business_id} has no virtual account {account_id}")


async def check(tx: Tx, receipt_id: int, decision: str) -> SuspenseReceipt:
    """Raises what the decision would be refused for."""
    receipt = await store.find_open(tx, receipt_id) if 0 < receipt_id <= RECEIPT_ID_MAX else None
    if receipt is None:
        raise _unknown(receipt_id)
    await _refuse_twice(tx, receipt, decision)
    await _refuse_uncertain(tx, receipt, decision)
    return receipt


async def check_payment(
    tx: Tx, deps: PaymentDeps, receipt_id: int, *, business_id: str, reference: str, now: datetime
) -> None:
    """Raises what `assign_to_payment` would refuse."""
    receipt = await check(tx, receipt_id, "assigned")
    snapshot = await store.find_payment(tx, business_id, await _pay_code_of(tx, business_id, reference), receipt)
    assert snapshot is not None  # Payments stay.
    theirs, at = await _by_their_clock(tx, business_id, receipt, now)
    await _paid(deps, tx, theirs, snapshot, at)


async def check_account(
    tx: Tx, deps: PaymentDeps, receipt_id: int, *, business_id: str, account_id: str, now: datetime
) -> None:
    """Raises what `assign_to_account` would refuse."""
    receipt = await check(tx, receipt_id, "assigned")
    await _refuse_unknown_account(tx, business_id, account_id)
    snapshot = await _snapshot(tx, receipt, business_id, account_id)
    theirs, at = await _by_their_clock(tx, business_id, receipt, now)
    _credited(deps, theirs, snapshot, at)


async def send_back(
    deps: PaymentDeps, receipt_id: int, *, note: str, by: Actor, now: datetime,
    also: InSameTransaction = nothing_else,
) -> SuspenseDecision:  # fmt: skip
    """To the payer, by the rail that it came by; the worker asks the rail."""

    async def write(tx: Tx, receipt: SuspenseReceipt, decision: SuspenseDecision) -> None:
        journal = postings.held_returning(cause=receipt.cause, held=receipt.amount, event_at=now)
        await store.decide(tx, receipt, decision, journal, return_reason=note)

    wanted = _wanted("returned", note, by, now, subject=ids.new_return_reference())
    return await _decide(deps, receipt_id, wanted, write, by=by, also=also)


async def close(
    deps: PaymentDeps, receipt_id: int, *, note: str, by: Actor, now: datetime, also: InSameTransaction = nothing_else
) -> SuspenseDecision:
    """It was settled outside, such as by hand at the bank: it leaves the books."""

    async def write(tx: Tx, receipt: SuspenseReceipt, decision: SuspenseDecision) -> None:
        await _release(tx, receipt, decision, now)

    return await _decide(deps, receipt_id, _wanted("closed", note, by, now), write, by=by, also=also)


def _wanted(
    decision: str, note: str, by: Actor, now: datetime, *, given_to: str | None = None, subject: str | None = None
) -> SuspenseDecision:
    return SuspenseDecision(
        decision=decision, given_to=given_to, subject=subject, note=note, decided_by=by.actor, decided_at=now
    )


async def _decide(
    deps: PaymentDeps, receipt_id: int, wanted: SuspenseDecision, write: Write, *, by: Actor, also: InSameTransaction
) -> SuspenseDecision:
    if not 0 < receipt_id <= RECEIPT_ID_MAX:
        raise _unknown(receipt_id)
    for _ in range(TRIES):
        try:
            async with deps.db.transaction() as tx:
                await also(tx)
                found = await store.find_open(tx, receipt_id)
                if found is not None:
                    await _refuse_twice(tx, found, wanted.decision)
                receipt = await store.lock(tx, found) if found else None
                if receipt is None:
                    return _repeated(await store.find_decision(tx, receipt_id), wanted, receipt_id)
                await _refuse_uncertain(tx, receipt, wanted.decision)
                made = msgspec.structs.replace(
                    wanted, receipt_id=receipt.id, amount=receipt.amount, business_id=receipt.business_id,
                    rail=receipt.rail, notification_id=receipt.notification_id,
                )  # fmt: skip
                await write(tx, receipt, made)
                await _audit(tx, receipt, made, by)
        except StaleChange:
            continue
        except AlreadyReceived:
            raise Conflict(f"{wanted.given_to} has this transaction already; close this") from None
        deps.db.notify(EVENT_CHANNEL)
        return made
    raise Unavailable("its new owner was changed at the same time; retry after 1 s", retry_after_s=1)


async def _refuse_twice(tx: Tx, receipt: SuspenseReceipt, decision: str) -> None:
    """A bank may notify a transaction under a number of no account, and again under the right one. It came once."""
    owner = None if decision == "closed" else await store.find_other_owner(tx, receipt)
    if owner is not None:
        raise Conflict(
            f"{owner} has the transaction {receipt.transaction_id} already, with the same amount; look at the bank's "
            "statement: when it came once, close this"
        )


async def _refuse_uncertain(tx: Tx, receipt: SuspenseReceipt, decision: str) -> None:
    if await store.is_taken_back(tx, receipt):
        raise Conflict("the bank has taken this money back; the worker books that")
    found = await store.find_dispute(tx, receipt)
    if found is not None and decision != "closed":
        raise Conflict(
            f"dispute {found} is about this money, and the bank decides about it: wait until it is won, or close it"
        )


def _repeated(made: SuspenseDecision | None, wanted: SuspenseDecision, receipt_id: int) -> SuspenseDecision:
    if made is None:
        raise _unknown(receipt_id)
    is_same = made.decision == wanted.decision and made.given_to == wanted.given_to
    if is_same and (made.decision != "assigned" or made.subject == wanted.subject):
        return made
    raise Conflict(f"{receipt_id} is not in suspense any more: it was {made}")


def _unknown(receipt_id: int) -> NotFound:
    return NotFound(f"{receipt_id} is not in suspense; `tidegate suspense list` shows what is")


async def _audit(tx: Tx, receipt: SuspenseReceipt, made: SuspenseDecision, by: Actor) -> None:
    """Under the business that it was booked under, and under the one that has it now."""
    details = {"receipt": receipt.cause, "amount": str(receipt.amount), "note": made.note}
    for business_id in {receipt.business_id, made.given_to or receipt.business_id}:
        await audit.insert(
            tx, business_id, by, action=f"suspense.{made.decision}", subject=made.subject or str(receipt.id),
            details=details, now=made.decided_at,
        )  # fmt: skip


async def _release(tx: Tx, receipt: SuspenseReceipt, decision: SuspenseDecision, now: datetime) -> None:
    journal = postings.unclaimed_released(cause=receipt.cause, held=receipt.amount, event_at=now)
    await store.decide(tx, receipt, decision, journal)


async def _by_their_clock(
    tx: Tx, business_id: str, receipt: SuspenseReceipt, now: datetime
) -> tuple[SuspenseReceipt, datetime]:
    """As it came and is decided on by the time of the business, which a sandbox may have moved."""
    ahead = await store.get_ahead(tx, business_id, now)
    return msgspec.structs.replace(receipt, received_at=receipt.received_at + ahead), now + ahead


async def _pay(deps: PaymentDeps, tx: Tx, receipt: SuspenseReceipt, snapshot: PaymentSnapshot, now: datetime) -> None:
    change = await _paid(deps, tx, receipt, snapshot, now)
    assert change.receipt is not None
    taken = msgspec.structs.replace(change.receipt, arrived_at=receipt.account_number or "")
    await attempt_store.pay_from_suspense(tx, msgspec.structs.replace(change, receipt=taken))


async def _paid(
    deps: PaymentDeps, tx: Tx, receipt: SuspenseReceipt, snapshot: PaymentSnapshot, now: datetime
) -> PaymentChange:
    """As if it had come to the payment at once. Raises where the payment cannot take it."""
    attempt, pay_code = snapshot.attempt, snapshot.payment.pay_code
    if attempt is None:
        kind = "transfer" if receipt.transfer else "attempt"
        raise Conflict(f"the payment {pay_code} has no {kind} by {receipt.rail}, which this money came by; {WAY_OUT}")
    expected = snapshot.payment.expected.currency
    if receipt.amount.currency is not expected:
        raise Conflict(f"the payment {pay_code} is in {expected}, not {receipt.amount.currency}; {WAY_OUT}")
    change = decide.on_arrival(
        snapshot, _arrival(receipt, attempt.created_at), rule=await settle.rule_of(tx, snapshot), names=deps.names,
        public_ids=deps.public_ids, ref=None, now=now,
    )  # fmt: skip
    taken = change.receipt
    assert taken is not None
    if isinstance(taken.reason, ReturnReason):
        raise Conflict(f"the payment {pay_code} cannot take it: {taken.reason.sentence}; {WAY_OUT}")
    return change


def _arrival(receipt: SuspenseReceipt, begun_at: datetime) -> IncomingTransfer:
    """In time or late as it was when it arrived, not by the day of the decision."""
    valued_at = receipt.transfer.valued_at if receipt.transfer else receipt.received_at
    return IncomingTransfer(
        rail=receipt.rail,
        transaction_id=receipt.transaction_id,
        amount=receipt.amount,
        payer=receipt.payer,
        valued_at=valued_at if begun_at <= valued_at <= receipt.received_at else receipt.received_at,
    )


async def _snapshot(tx: Tx, receipt: SuspenseReceipt, business_id: str, account_id: str) -> AccountSnapshot:
    if receipt.transfer is None:
        raise Conflict("this money came by an attempt of a checkout, not by transfer: assign it to a payment")
    account = await account_store.find(tx, business_id, account_id)
    assert account is not None  # Accounts stay.
    if account.details is None or account.rail != receipt.rail:
        raise Conflict(f"the account {account_id} is none of {receipt.rail}, which this money came by; {WAY_OUT}")
    if account.currency is not receipt.amount.currency:
        raise Conflict(f"the account {account_id} takes {account.currency}, not {receipt.amount.currency}; {WAY_OUT}")
    number = account.details.account_number
    snapshot = await collection_store.find_account_snapshot(tx, receipt.rail, number)
    if snapshot is None or snapshot.account.id != account_id:
        raise Conflict(f"the number of the account {account_id} belongs to a newer account; {WAY_OUT}")
    return snapshot


async def _credit(
    deps: PaymentDeps, tx: Tx, receipt: SuspenseReceipt, snapshot: AccountSnapshot, now: datetime
) -> None:
    change = _credited(deps, receipt, snapshot, now)
    await collection_store.credit_from_suspense(tx, change, account_version=snapshot.account.version)


def _credited(
    deps: PaymentDeps, receipt: SuspenseReceipt, snapshot: AccountSnapshot, now: datetime
) -> CollectionChange:
    """As if it had come to the account at once. Raises where the account cannot take it."""
    assert receipt.transfer is not None
    change = inflow.on_arrival(
        snapshot, receipt.transfer, rail=receipt.rail, terms=deps.inflow_terms, ref=None, now=now
    )  # fmt: skip
    arrived = change.collection
    if arrived.status is CollectionStatus.REVERSED:
        assert arrived.reason is not None
        raise Conflict(f"the account {arrived.account_id} cannot take it: {arrived.reason.sentence}; {WAY_OUT}")
    return change
