"""What a payer can do at a payment, whichever door the wish comes through: as JSON or from the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegate.checkout import means, wire
from tidegate.checkout.limit import Limited, PayerLimit
from tidegate.core import errors, ids
from tidegate.core.clock import Clock
from tidegate.core.method import Method
from tidegate.infra.http.read import read
from tidegate.merchant.keyring import Keyring
from tidegate.payment import pay
from tidegate.payment.change import Situation
from tidegate.payment.pay import NOT_FOUND, Payer
from tidegate.rail.till import Till


@dataclass(frozen=True)
class PayerAt:
    """One payer at one payment. `client` is the address that is counted against the limits."""

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
        self.limit.check(Limited.LOOK, visit.client)
        business_id = await self._owner_of(visit.pay_code)
        return await pay.view(self.till.db, business_id, visit.pay_code)

    async def charge(self, visit: PayerAt, value: Any, *, seen: int | None = None) -> Situation:
        """`value` is the request as JSON has it. With `seen`, nothing begins unless the payment is still as it was
        then: a second click and a second window find it changed."""
        self.limit.check(Limited.ACT, visit.client)
        payer = await self._payer(visit)
        request = read(
            value, wire.Charge, lambda _: (*wire.card_data_elsewhere(value), *wire.expiry_passed(value, now=payer.now))
        )
        method = wire.method_named(request.type, self.till.names)
        if method is Method.CARD:
            self.limit.check(Limited.CARD, visit.client)
        situation = await pay.view(self.till.db, payer.business_id, payer.pay_code)
        if seen is not None and seen != situation.payment.version:
            raise pay.changed_elsewhere()
        order = situation.payment.order
        if method not in order.methods:
            raise errors.Invalid(errors.Problem("type", "is not offered for this payment"))
        chosen, details = means.means_from(
            request, method, order.asked.currency, account_name=situation.business.name, now=payer.now
        )
        return await pay.charge(payer, situation, method, chosen, details)

    async def authorize(self, visit: PayerAt, value: Any) -> Situation:
        self.limit.check(Limited.ACT, visit.client)
        payer = await self._payer(visit)
        request = read(value, wire.Authorize, lambda _: (*wire.one_answer(value), *wire.card_data_elsewhere(value)))
        return await pay.authorize(payer, means.authorization_from(request))

    async def cancel(self, visit: PayerAt) -> Situation:
        self.limit.check(Limited.ACT, visit.client)
        return await pay.cancel(await self._payer(visit))

    async def extend(self, visit: PayerAt) -> Situation:
        self.limit.check(Limited.ACT, visit.client)
        return await pay.extend(await self._payer(visit))

    async def _payer(self, visit: PayerAt) -> Payer:
        business_id = await self._owner_of(visit.pay_code)
        return Payer(self.till, business_id, visit.pay_code, f"{self.checkout_url}/{visit.pay_code}", self.clock.now())

    async def _owner_of(self, pay_code: str) -> str:
        """The pay code says whose it is; one that is not of our making costs no look-up."""
        code = ids.business_code_of(pay_code)
        business = await self.keyring.business_by_code(code) if code else None
        if business is None:
            raise errors.NotFound(NOT_FOUND)
        return business.id
