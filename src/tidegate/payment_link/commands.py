"""What merchants do with payment links, and payers through them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import NamedTuple

import msgspec

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core import ids
from tidegate.core.errors import Invalid, NotFound, Problem
from tidegate.core.money import Money
from tidegate.infra.db import Database, Tx
from tidegate.merchant.model import Business
from tidegate.payment import commands as payments
from tidegate.payment import store as payment_store
from tidegate.payment.commands import ReferenceTaken
from tidegate.payment.model import Customer, PaymentOrder
from tidegate.payment.wire import MethodsTaken
from tidegate.payment_link import store
from tidegate.payment_link.model import LinkTerms, LinkView, copied, fits, refuse_closed, refuse_reopening

NO_LINK = "there is no payment link of this business with that id"


class LinkPage(NamedTuple):
    views: list[LinkView]
    has_more: bool


class Opening(msgspec.Struct, frozen=True):
    """One submitted form of a link's page. The same `form_id` makes one payment, however often it is sent."""

    link_id: str
    form_id: str
    customer: Customer
    # The payer's; None where the link has a fixed one.
    amount: Money | None
    note: str | None


async def create(tx: Tx, business: Business, terms: LinkTerms, *, by: Actor, now: datetime) -> LinkView:
    link = await store.insert(tx, business.id, ids.new_link_id(business.code), terms, now=now)
    await _note(tx, business.id, link.id, by, action="payment_link.created", now=now, name=terms.name)
    return await get_in(tx, business.id, link.id, now=now)


async def get_in(tx: Tx, business_id: str, link_id: str, *, now: datetime) -> LinkView:
    found = await store.find(tx, business_id, link_id, now=now) if ids.business_code_of_link(link_id) else None
    if found is None:
        raise NotFound(NO_LINK)
    return found


async def get(db: Database, business_id: str, link_id: str, *, now: datetime) -> LinkView:
    async with db.connection() as tx:
        return await get_in(tx, business_id, link_id, now=now)


async def list_page(
    db: Database, business_id: str, *, is_ended: bool | None, before_number: int | None, limit: int, now: datetime
) -> LinkPage:
    """The newest first."""
    async with db.connection() as tx:
        # One more than the page, to detect a next page.
        found = await store.list_page(
            tx, business_id, is_ended=is_ended, before_number=before_number, limit=limit + 1, now=now
        )
    return LinkPage(found[:limit], len(found) > limit)


async def end(db: Database, business_id: str, link_id: str, *, by: Actor, now: datetime) -> LinkView:
    """It takes no new payments; those under way can still be paid. Repeating it changes nothing."""
    async with db.transaction() as tx:
        await store.lock(tx, business_id, link_id)
        view = await get_in(tx, business_id, link_id, now=now)
        if view.link.ended_at is not None:
            return view
        await store.set_ended(tx, business_id, link_id, ended_at=now)
        await _note(tx, business_id, link_id, by, action="payment_link.ended", now=now)
        return await get_in(tx, business_id, link_id, now=now)


async def reopen(db: Database, business_id: str, link_id: str, *, by: Actor, now: datetime) -> LinkView:
    async with db.transaction() as tx:
        await store.lock(tx, business_id, link_id)
        view = await get_in(tx, business_id, link_id, now=now)
        refuse_reopening(view, now=now)
        if view.link.ended_at is None:
            return view
        await store.set_ended(tx, business_id, link_id, ended_at=None)
        await _note(tx, business_id, link_id, by, action="payment_link.reopened", now=now)
        return await get_in(tx, business_id, link_id, now=now)


async def duplicate(tx: Tx, business: Business, link_id: str, *, by: Actor, now: datetime) -> LinkView:
    view = await get_in(tx, business.id, link_id, now=now)
    return await create(tx, business, copied(view.link.terms, now=now), by=by, now=now)


async def _note(
    tx: Tx, business_id: str, link_id: str, by: Actor, *, action: str, now: datetime, **details: str
) -> None:
    await audit.insert(tx, business_id, by, action=action, subject=link_id, details=details, now=now)


@dataclass(frozen=True)
class OpenedLink:
    """A link as a payer meets it. `pay_code` is the payment under way of a link that is paid once."""

    view: LinkView
    pay_code: str | None


async def open_link(db: Database, business_id: str, link_id: str, *, now: datetime) -> OpenedLink:
    async with db.connection() as tx:
        view = await get_in(tx, business_id, link_id, now=now)
        is_once = view.link.terms.payments_max == 1
        return OpenedLink(view, await store.find_under_way(tx, business_id, link_id, now=now) if is_once else None)


async def open_payment(
    db: Database, business: Business, opening: Opening, *, taken: MethodsTaken, now: datetime
) -> str:
    """Makes a payment and returns its pay code."""
    async with db.transaction() as tx:
        view = await get_in(tx, business.id, opening.link_id, now=now)
        if view.link.terms.payments_max is not None:
            await store.lock(tx, business.id, opening.link_id)
            view = await get_in(tx, business.id, opening.link_id, now=now)
        order = _order_of(view.link.terms, opening, taken)
        # The form again, after it was answered: its own payment may be what has used the link up.
        existing = await payment_store.find(tx, payment_store.PaymentKey(business.id, order.reference or ""))
        if existing is not None:
            return existing.pay_code
        refuse_closed(view, now=now)
        insert = partial(payment_store.insert, tx)
        try:
            made = await payments.create(insert, business, order, now=now, payment_link_id=opening.link_id)
        except ReferenceTaken as taken_before:
            if taken_before.existing is None:
                raise Invalid(Problem("once", "was used for another payment; reload the page")) from None
            return taken_before.existing
    return made.pay_code


def _order_of(terms: LinkTerms, opening: Opening, taken: MethodsTaken) -> PaymentOrder:
    asked = terms.asked or opening.amount
    if asked is None or not fits(asked, terms):
        raise Invalid(Problem("amount", f"must be from {terms.least} to {terms.most}"))
    methods = terms.methods or taken(terms.currency)
    metadata = {"description": terms.name} | ({"note": opening.note} if opening.note else {})
    return PaymentOrder(
        reference=f"link-{opening.form_id}",
        asked=asked,
        fee_bearer=terms.fee_bearer,
        methods=methods,
        default_method=methods[0],
        customer=opening.customer,
        redirect_url=terms.redirect_url,
        success_message=terms.success_message,
        metadata=msgspec.json.encode(metadata).decode(),
    )
