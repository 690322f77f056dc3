"""The payer's actions on a payment, shared by the JSON API and the page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from tidegate.checkout import means, wire
from tidegate.checkout.limit import PayerLimit
from tidegate.core import errors, ids
from tidegate.core.clock import Clock
from tidegate.core.method import Method
from tidegate.infra.gathering import Gathering
from tidegate.infra.http.read import read
from tidegate.merchant.keyring import Keyring
from tidegate.merchant.model import Business
from tidegate.payment import pay, view_store
from tidegate.payment.attempt import AttemptStatus
from tidegate.payment.change import Situation
from tidegate.payment.pay import NOT_FOUND, Payer
from tidegate.payment.store import Key
from tidegate.payment.view_store import PaymentView
from tidegate.rail.till import Till


class PayerAt(msgspec.Struct, frozen=True):
    """One payer's request for one payment. `client` is the address that rate limits count."""

    pay_code: str
    client: str


@dataclass(frozen=True)
class Desk:
    till: Till
    keyring: Keyring
    clock: Clock
    limit: PayerLimit
    checkout_url: str

    async def look(self, visit: PayerAt) -> Situation:
        with self._counting_unknown(visit):
            return await self._look(visit)

    async def _look(self, visit: PayerAt) -> Situation:
        code = ids.business_code_of(visit.pay_code)
        # Read before the cached business: a change during the wait must not pass for the cached state.
        epoch = self.keyring.epoch
        # Most requests are for a payment of a cached business.
        business = (code and self.keyring.recall_business(code)) or await self._owner_of(code)
        view = await self._looks.do(Key(business.id, visit.pay_code))
        if view is None:
            raise errors.NotFound(NOT_FOUND)
        if view.epoch != epoch:
            # A business has changed, perhaps this one.
            return await pay.view(self.till.db, business.id, visit.pay_code)
        return Situation(business, view.payment, view.attempt)

    @cached_property
    def _looks(self) -> Gathering[Key, PaymentView | None]:
        return Gathering(self._find_views, lanes=1, turns=1)

    async def _find_views(self, keys: Sequence[Key]) -> list[PaymentView | None]:
        async with self.till.db.connection() as tx:
            return await view_store.find_views(tx, keys)

    async def charge(self, visit: PayerAt, value: Any, *, seen: int | None = None) -> Situation:
        """`value` is the request's JSON. With `seen`, an attempt starts only if the payment still has that version: a
        second click or a second window finds it changed."""
        async with self._payer(visit) as payer:
            situation = await self._charge(payer, visit, value, seen)
        self._count_decline(visit, situation)
        return situation

    async def _charge(self, payer: Payer, visit: PayerAt, value: Any, seen: int | None) -> Situation:
        request = read(
            value, wire.Charge, lambda _: (*wire.card_data_elsewhere(value), *wire.expiry_passed(value, now=payer.now))
        )
        method = wire.method_named(request.type, self.till.names)
        if method is Method.CARD:
            self.limit.refuse_cards(visit.client, payer.business_id)
        situation = await pay.view(self.till.db, payer.business_id, payer.pay_code)
        if seen is not None and seen != situation.payment.version:
            raise pay.changed_elsewhere()
        order = situation.payment.order
        if method not in order.methods:
            raise errors.Invalid(errors.Problem("type", "is not offered for this payment"))
        chosen, details = means.means_from(
            request, method, order.asked.currency, account_name=situation.business.name, now=payer.now
        )
        pay.refuse_same_prompt(situation, method, details, payer.now)
        return await pay.charge(payer, situation, method, chosen, details)

    async def authorize(self, visit: PayerAt, value: Any) -> Situation:
        async with self._payer(visit) as payer:
            request = read(value, wire.Authorize, lambda _: (*wire.one_answer(value), *wire.card_data_elsewhere(value)))
            situation = await pay.authorize(payer, means.authorization_from(request))
        self._count_decline(visit, situation)
        return situation

    async def resend(self, visit: PayerAt) -> Situation:
        async with self._payer(visit) as payer:
            return await pay.resend(payer)

    async def say_sent(self, visit: PayerAt) -> Situation:
        async with self._payer(visit) as payer:
            return await pay.say_sent(payer)

    async def cancel(self, visit: PayerAt) -> Situation:
        async with self._payer(visit) as payer:
            return await pay.cancel(payer)

    async def extend(self, visit: PayerAt) -> Situation:
        async with self._payer(visit) as payer:
            return await pay.extend(payer)

    def can_resend(self, situation: Situation) -> bool:
        return situation.attempt is not None and pay.can_resend(self.till, situation.attempt)

    @asynccontextmanager
    async def _payer(self, visit: PayerAt) -> AsyncIterator[Payer]:
        with self._counting_unknown(visit):
            business = await self._owner_of(ids.business_code_of(visit.pay_code))
            page = f"{self.checkout_url}/{visit.pay_code}"
            yield Payer(self.till, business.id, visit.pay_code, page, self.clock.now_of(business.id))

    @contextmanager
    def _counting_unknown(self, visit: PayerAt) -> Iterator[None]:
        try:
            yield
        except errors.NotFound:
            self.limit.count_unknown(visit.client)
            raise

    def _count_decline(self, visit: PayerAt, situation: Situation) -> None:
        attempt = situation.attempt
        if attempt and attempt.method is Method.CARD and attempt.status is AttemptStatus.FAILED:
            self.limit.count_decline(visit.client, attempt.business_id)

    async def _owner_of(self, code: str | None) -> Business:
        """A pay code names its business. A forged one has no business's code, and costs no lookup."""
        business = await self.keyring.business_by_code(code) if code else None
        if business is None:
            raise errors.NotFound(NOT_FOUND)
        return business
