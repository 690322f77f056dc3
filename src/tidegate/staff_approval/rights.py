"""Commands that widen rights: of accounts, of merchants and their keys, of people."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from tidegate.account import commands as accounts
from tidegate.core.fee import FeeRule
from tidegate.core.method import priced_in
from tidegate.infra.address import WebUrl
from tidegate.member import team
from tidegate.merchant import commands as merchants
from tidegate.merchant.key_terms import terms_of
from tidegate.sandbox.seed import take_proposed_key
from tidegate.staff import commands as staff
from tidegate.staff_approval.arguments import (
    ApprovalArguments,
    EndpointArguments,
    EndpointChanges,
    KeyArguments,
    NoArguments,
    PriceArguments,
    RollArguments,
    SettingArguments,
    StaffArguments,
)
from tidegate.staff_approval.model import StaffCommandRun
from tidegate.webhook import commands as webhooks
from tidegate.webhook.model import NewEndpoint


async def approve_account(run: StaffCommandRun, wanted: ApprovalArguments) -> object:
    return await accounts.approve(run.deps.payment, run.subject, expires_at=wanted.expires_at, **run.common)


async def reinstate_account(run: StaffCommandRun, _: NoArguments) -> object:
    return await accounts.reinstate(run.deps.db, run.subject, **run.common)


async def change_settings(run: StaffCommandRun, wanted: SettingArguments) -> object:
    async with run.deps.db.connection() as tx:
        await merchants.refuse_needless(tx, run.business_id, wanted.changes)
    return await merchants.change(run.deps.db, run.business_id, wanted.changes, **run.common)


async def set_price(run: StaffCommandRun, price: PriceArguments) -> object:
    rule = FeeRule(
        id="", basis_points=price.basis_points, vat_basis_points=price.vat_basis_points,
        fixed_minor=price.fixed_minor, cap_minor=price.cap_minor, on_refund=price.on_refund,
    )  # fmt: skip
    return await merchants.set_fee_rule(
        run.deps.db, run.business_id, currency=price.currency, method=priced_in(price.method), rule=rule, **run.common
    )


async def make_key(run: StaffCommandRun, wanted: KeyArguments) -> object:
    terms = terms_of(wanted.request, now=run.now)
    async with run.deps.db.transaction() as tx:
        await run.also(tx)
        return await merchants.add_restricted(tx, run.business_id, terms, wanted.secret, by=run.by, now=run.now)


async def roll_key(run: StaffCommandRun, wanted: RollArguments) -> object:
    overlap = timedelta(seconds=wanted.overlap_s)
    async with run.deps.db.transaction() as tx:
        await run.also(tx)
        if wanted.key_id is not None:
            return await merchants.replace_key(
                tx, run.business_id, wanted.key_id, wanted.secret, overlap=overlap, by=run.by, now=run.now
            )
        made = await merchants.replace_main_key(
            tx, run.business_id, wanted.secret, overlap=overlap, by=run.by, now=run.now
        )
    take_proposed_key(run.deps.sandbox_file, run.business_id, wanted.secret.hash)
    return made


async def add_endpoint(run: StaffCommandRun, wanted: EndpointArguments) -> object:
    deps, new = run.deps.webhooks(), NewEndpoint(**msgspec.structs.asdict(wanted))
    await webhooks.refuse_forbidden(deps.guard, WebUrl(wanted.url))
    async with run.deps.db.transaction() as tx:
        await run.also(tx)
        return await webhooks.create(tx, deps.vault, run.business_id, new, by=run.by, now=run.now)


async def change_endpoint(run: StaffCommandRun, wanted: EndpointChanges) -> object:
    if wanted.url is not None:
        await webhooks.refuse_forbidden(run.deps.webhooks().guard, WebUrl(wanted.url))
    return await webhooks.change(run.deps.db, run.business_id, run.subject, wanted.changes, **run.common)


async def invite_owner(run: StaffCommandRun, _: NoArguments) -> object:
    return await team.invite_owner(
        run.deps.db, run.deps.base_url, run.business_id, run.subject, by=run.by, also=run.also
    )


async def owner_link(run: StaffCommandRun) -> str:
    return await team.invite_owner(run.deps.db, run.deps.base_url, run.business_id, run.subject, by=run.by)


async def reset_factors(run: StaffCommandRun, _: NoArguments) -> object:
    return await team.reset_factors_of(run.deps.db, run.subject, by=run.by, also=run.also)


async def add_staff(run: StaffCommandRun, added: StaffArguments) -> object:
    async with run.deps.db.transaction() as tx:
        await run.also(tx)
        member = await staff.add(tx, email=run.subject, name=added.name, role=added.role, by=run.by, now=run.now)
        return await staff.invite(tx, member, run.deps.console_url, now=run.now)


async def staff_link(run: StaffCommandRun) -> str:
    async with run.deps.db.transaction() as tx:
        found = await staff.get(tx, run.subject)
        return await staff.invite(tx, found.member, run.deps.console_url, now=run.now)


async def remove_staff(run: StaffCommandRun, _: NoArguments) -> object:
    async with run.deps.db.transaction() as tx:
        await run.also(tx)
        found = await staff.get(tx, run.subject)
        await staff.remove(tx, found.member.id, by=run.by, now=run.now)
        return found
