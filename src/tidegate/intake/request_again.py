"""A refund or a return of which a rail may have lost the request, or only its answer: an operator who has looked there
lets it be requested again. Rails that know our own identifiers need no operator: a repeat pays nothing there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import NamedTuple

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.errors import Conflict
from tidegate.infra import leased_work
from tidegate.infra.db import Tx
from tidegate.infra.leased_work import WorkKind
from tidegate.infra.same_transaction import InSameTransaction, nothing_else
from tidegate.intake import store
from tidegate.money_return import commands as money_return
from tidegate.money_return import store as returns
from tidegate.rail import notification_store
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.paystack import payout
from tidegate.rail.paystack import store as paystack
from tidegate.rail.paystack.rail import NAME as PAYSTACK
from tidegate.refund import send
from tidegate.refund import store as refunds

# Those that pay twice when they are asked twice.
RAILS = frozenset({PAYSTACK})


class _Kind(NamedTuple):
    work: WorkKind
    in_doubt: Callable[[str], str]
    poll_now: Callable[..., Awaitable[bool]]


_KINDS = {
    "refund": _Kind(send.POLL, notification_store.refund_in_doubt, refunds.poll_now),
    "return": _Kind(money_return.SEND, notification_store.return_in_doubt, returns.poll_now),
}


async def request_again(
    deps: PaymentDeps, kind: str, business_id: str, reference: str, *, note: str, by: Actor, now: datetime,
    also: InSameTransaction = nothing_else,
) -> str:  # fmt: skip
    """Once, unless the rail lists it by then. Of a refund, `reference` is that of the part that goes by the rail."""
    of = _KINDS[kind]
    async with deps.db.transaction() as tx:
        await also(tx)
        async with leased_work.instead_of_a_worker(tx, of.work, business_id, reference):
            await check(tx, business_id, reference, now=now)
            await paystack.let_repeat(tx, business_id, reference)
            await of.poll_now(tx, business_id, reference, rail=PAYSTACK, now=now)
        await store.close_quarantined(tx, PAYSTACK, of.in_doubt(reference))
        await audit.insert(
            tx, business_id, by, action=f"{kind}.requested_again", subject=reference, details={"note": note}, now=now
        )
    return reference


async def check(tx: Tx, business_id: str, reference: str, *, now: datetime) -> None:
    """Raises Conflict."""
    order = await paystack.find_payout(tx, business_id, reference)
    if order is None or order.refund_id is not None or now < order.tried_at + payout.LISTED_WITHIN:
        raise Conflict(f"it is not in doubt whether the rail has {reference}: ask the rail about it instead")
