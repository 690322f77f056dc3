"""The releases: one row each, with what it does, what it is bound to and how it is written for the approver."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from tidegate.account import commands as accounts
from tidegate.approval.model import ApprovalRequest
from tidegate.audit.model import Actor
from tidegate.collection import review, set_rate
from tidegate.collection.rate import Rate
from tidegate.core.clock import Clock
from tidegate.core.fee import FeeRule
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.core.method import priced_in
from tidegate.infra.also import Also
from tidegate.infra.db import Tx
from tidegate.intake import suspense
from tidegate.merchant import commands as merchants
from tidegate.rail.deps import PaymentDeps
from tidegate.release import store
from tidegate.release.arguments import (
    AssignArguments,
    LimitArguments,
    NoArguments,
    PriceArguments,
    RateArguments,
    StaffArguments,
    percent_of,
    price_words,
)
from tidegate.staff import commands as staff
from tidegate.staff import store as staff_store


@dataclass(frozen=True)
class ReleaseDeps:
    payment: PaymentDeps
    clock: Clock
    console_url: str


@dataclass(frozen=True)
class ReleaseRun:
    """An approval that is carried out. `also` decides it, in the transaction of the effect."""

    deps: ReleaseDeps
    approval: ApprovalRequest
    by: Actor
    now: datetime
    also: Also

    @property
    def common(self) -> dict[str, Any]:
        return {"by": self.by, "now": self.now, "also": self.also}


@dataclass(frozen=True)
class Release:
    arguments: type[msgspec.Struct]
    version: Callable[[Tx, str, str], Awaitable[int | None]]
    run: Callable[[ReleaseRun, Any], Awaitable[object]]
    # As the approver reads it, and what happens.
    words: Callable[[Any], str]
    # The page of its subject, below the console.
    page: Callable[[ApprovalRequest], str]


async def _credit(run: ReleaseRun, _: NoArguments) -> object:
    return await review.credit(run.deps.payment, run.approval.subject, note=run.approval.why, **run.common)


async def _send_back(run: ReleaseRun, _: NoArguments) -> object:
    return await review.send_back(run.deps.payment, run.approval.subject, note=run.approval.why, **run.common)


async def _approve_account(run: ReleaseRun, _: NoArguments) -> object:
    return await accounts.approve(run.deps.payment, run.approval.subject, **run.common)


async def _reinstate_account(run: ReleaseRun, _: NoArguments) -> object:
    return await accounts.reinstate(run.deps.payment.db, run.approval.subject, **run.common)


async def _reinstate_merchant(run: ReleaseRun, _: NoArguments) -> object:
    return await merchants.change(run.deps.payment.db, run.approval.business_id, {"status": "active"}, **run.common)


async def _limit(run: ReleaseRun, limits: LimitArguments) -> object:
    changes = {"rate_per_second": limits.rate_per_second, "rate_burst": limits.rate_burst}
    return await merchants.change(run.deps.payment.db, run.approval.business_id, changes, **run.common)


async def _price(run: ReleaseRun, price: PriceArguments) -> object:
    rule = FeeRule(
        id="", basis_points=price.basis_points, vat_basis_points=price.vat_basis_points,
        fixed_minor=price.fixed_minor, cap_minor=price.cap_minor,
    )  # fmt: skip
    return await merchants.set_fee_rule(
        run.deps.payment.db, run.approval.business_id, currency=price.currency, method=priced_in(price.method),
        rule=rule, **run.common,
    )  # fmt: skip


async def _rate(run: ReleaseRun, rate: RateArguments) -> object:
    """Quoted when it was proposed: an old proposal makes an old rate."""
    made = Rate(
        base=rate.base, quote=rate.quote, rate=rate.rate, spread_basis_points=rate.spread_basis_points,
        source=rate.source, quoted_at=run.approval.asked_at,
    )  # fmt: skip
    await set_rate.set_rate(run.deps.payment.db, made, **run.common)
    return made


async def _assign(run: ReleaseRun, to: AssignArguments) -> object:
    deps, receipt_id = run.deps.payment, int(run.approval.subject)
    if to.payment is not None:
        return await suspense.assign_to_payment(
            deps, receipt_id, business_id=to.business_id, reference=to.payment, note=run.approval.why, **run.common
        )
    return await suspense.assign_to_account(
        deps, receipt_id, business_id=to.business_id, account_id=to.account_id or "", note=run.approval.why,
        **run.common,
    )  # fmt: skip


async def _return_suspense(run: ReleaseRun, _: NoArguments) -> object:
    return await suspense.send_back(run.deps.payment, int(run.approval.subject), note=run.approval.why, **run.common)


async def _close_suspense(run: ReleaseRun, _: NoArguments) -> object:
    return await suspense.close(run.deps.payment, int(run.approval.subject), note=run.approval.why, **run.common)


async def _add_staff(run: ReleaseRun, added: StaffArguments) -> object:
    async with run.deps.payment.db.transaction() as tx:
        await run.also(tx)
        member = await staff.add(
            tx, email=run.approval.subject, name=added.name, role=added.role, by=run.by, now=run.now
        )
        return await staff.invite(tx, member, run.deps.console_url, now=run.now)


async def _remove_staff(run: ReleaseRun, _: NoArguments) -> object:
    async with run.deps.payment.db.transaction() as tx:
        await run.also(tx)
        gone = [one for one in await staff_store.list_all(tx) if one.member.email == run.approval.subject]
        for one in gone:
            await staff.remove(tx, one.member.id, by=run.by, now=run.now)
        return gone


def _inflow_page(approval: ApprovalRequest) -> str:
    return f"/held/{approval.subject}"


def _account_page(approval: ApprovalRequest) -> str:
    return f"/accounts/{approval.subject}"


def _merchant_page(approval: ApprovalRequest) -> str:
    return f"/merchants/{approval.business_id}"


def _suspense_page(approval: ApprovalRequest) -> str:
    return f"/suspense/{approval.subject}"


RELEASES: dict[str, Release] = {
    "inflow.credit": Release(
        NoArguments, store.version_of_inflow, _credit, lambda _: "Credit a held inflow", _inflow_page
    ),
    "inflow.return": Release(
        NoArguments, store.version_of_inflow, _send_back, lambda _: "Return a held inflow to its payer", _inflow_page
    ),
    "account.approve": Release(
        NoArguments, store.version_of_account, _approve_account, lambda _: "Approve an account", _account_page
    ),
    "account.reinstate": Release(
        NoArguments, store.version_of_account, _reinstate_account, lambda _: "Reinstate an account", _account_page
    ),
    "merchant.reinstate": Release(
        NoArguments, store.version_of_business, _reinstate_merchant, lambda _: "Reinstate a merchant", _merchant_page
    ),
    "merchant.limits": Release(
        LimitArguments, store.version_of_business, _limit,
        lambda it: f"Limit of {it.rate_per_second} requests a second, {it.rate_burst} at once", _merchant_page,
    ),
    "merchant.price": Release(
        PriceArguments, store.version_of_business, _price, lambda it: f"Price: {price_words(it)}", _merchant_page
    ),
    "rate.set": Release(
        RateArguments, store.version_of_rate, _rate,
        lambda it: f"Rate: 1 {it.base} is {it.rate} {it.quote}, spread {percent_of(it.spread_basis_points)}",
        lambda _: "/rates",
    ),
    "suspense.assign": Release(
        AssignArguments, store.version_of_suspense, _assign,
        lambda it: f"Assign money in suspense to {it.payment or it.account_id} of {it.business_id}", _suspense_page,
    ),
    "suspense.return": Release(
        NoArguments, store.version_of_suspense, _return_suspense,
        lambda _: "Return money in suspense to its payer", _suspense_page,
    ),
    "suspense.close": Release(
        NoArguments, store.version_of_suspense, _close_suspense,
        lambda _: "Close money in suspense: it was settled outside", _suspense_page,
    ),
    "staff.add": Release(
        StaffArguments, store.version_of_staff, _add_staff, lambda it: f"Add {it.name} as {it.role}", lambda _: "/staff"
    ),
    "staff.remove": Release(
        NoArguments, store.version_of_staff, _remove_staff, lambda _: "Take the access of one of the staff",
        lambda _: "/staff",
    ),
}  # fmt: skip
# Releases that are about no merchant.
OF_THE_PLATFORM = frozenset({"rate.set", "staff.add", "staff.remove"})


def business_for(command: str, business_id: str) -> str:
    return PLATFORM_BUSINESS_ID if command in OF_THE_PLATFORM else business_id
