"""A sample month of trade: payers pay, fail, pay too little or too much and are refunded, by the usual
commands, while the business's clock moves on. Receipts are not mailed: its payers are made up."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import structlog

from tidegate.audit.model import OURSELVES
from tidegate.checkout import instrument
from tidegate.checkout import wire as checkout_wire
from tidegate.core.clock import ShiftedClock
from tidegate.core.errors import Invalid, Problem, Refusal
from tidegate.core.fee import FeeBearer
from tidegate.core.method import Method
from tidegate.core.money import CHECKOUT_OFFERS, Currency, Money
from tidegate.infra.http.read import read
from tidegate.infra.leased_work import RoundResult
from tidegate.merchant import commands as merchants
from tidegate.merchant.model import Business
from tidegate.payment import commands as payments
from tidegate.payment import pay
from tidegate.payment.batching import PaymentBatching
from tidegate.payment.model import Customer, PaymentOrder
from tidegate.payment.pay import Payer
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.mobile_money import MOBILE_MONEY
from tidegate.rail.sandbox.begin import CARDS
from tidegate.rail.sandbox.model import Behaviour
from tidegate.rail.state import Party
from tidegate.refund import commands as refunds
from tidegate.refund.model import RefundRequest
from tidegate.sandbox import sample, store
from tidegate.sandbox.simulator import Simulator
from tidegate.sandbox.wire import AHEAD_MAX

log = structlog.get_logger("sandbox")

DAYS, DAYS_MAX = 30, 90
# By the day of the week, Monday first.
PAYMENTS_OF_DAY = (6, 5, 7, 8, 11, 13, 4)
_OPENS_AT_HOUR, _MINUTES_OPEN = 8, 12 * 60
_CARD_OF = {behaviour: number for number, behaviour in CARDS.items()}
_PAYERS = (
    "Ada Obi", "Bola Ade", "Chidi Eze", "Efua Mensah", "Fatou Diop", "Grace Wanjiru", "Hauwa Bello", "Ife Cole",
    "Juma Otieno", "Kemi Ojo", "Lindiwe Dube", "Musa Sani", "Ngozi Udo", "Otis Banda", "Peace Achieng", "Sade Lawal",
)  # fmt: skip
# In major units of the first currency; another's are a tenth of them.
_PRICES = (1_500, 2_500, 4_000, 7_500, 12_000, 18_500, 32_000, 60_000)
# Of a hundred transfers, the number from which too much is sent.
_PAYS_MUCH = 92
# So that the excess of yesterday is still there to be refunded.
_EXCESS_KEPT = timedelta(days=2)
_REASONS = ("Out of stock", "Returned in the shop", "Ordered twice")

# Until the work that follows is done, by this process or a worker.
Settle = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class TradeResult:
    """How many payments there were of each kind."""

    counts: Counter[str] = field(default_factory=Counter)

    @property
    def payments(self) -> int:
        return sum(count for kind, count in self.counts.items() if kind != "refunded")


# A worker that was killed amid a day leaves the rest of it; the next one goes on with the day after.
DAY_LASTS = timedelta(minutes=2)


async def trade_requested_day(deps: PaymentDeps, clock: ShiftedClock, settle: Settle) -> RoundResult:
    """One round of the worker: a day that the dashboard has asked for."""
    now = clock.now()
    async with deps.db.connection() as tx:
        business_id = await store.claim_trade(tx, now=now, until=now + DAY_LASTS)
    if business_id is None:
        return RoundResult()
    is_last = False
    try:
        await Trade(deps, clock, await merchants.get(deps.db, business_id), settle).run(1)
    except Refusal as refusal:
        log.warning("sample trade ended", business=business_id, reason=refusal.message)
        is_last = True
    async with deps.db.connection() as tx:
        await store.end_trade_day(tx, business_id, is_last=is_last)
    return RoundResult(done=1)


@dataclass(frozen=True)
class Trade:
    deps: PaymentDeps
    clock: ShiftedClock
    business: Business
    settle: Settle

    async def run(self, days: int = DAYS) -> TradeResult:
        """The business's clock is that many days further ahead afterwards; it cannot go back."""
        if not 1 <= days <= DAYS_MAX:
            raise Invalid(Problem("days", f"must be from 1 to {DAYS_MAX}"))
        result = TradeResult()
        for _ in range(days):
            await self._until(self._next_opening())
            await self._day(result)
            # What was abandoned ends.
            await self._until(self._now + timedelta(minutes=self.business.session_minutes + 1))
            await self.settle()
        return result

    @property
    def _now(self) -> datetime:
        return self.clock.now_of(self.business.id)

    def _next_opening(self) -> datetime:
        opening = self._now.replace(hour=_OPENS_AT_HOUR, minute=0, second=0, microsecond=0)
        return opening if opening > self._now else opening + timedelta(days=1)

    async def _until(self, moment: datetime) -> None:
        by = moment - self._now
        if by <= timedelta(0):
            return
        async with self.deps.db.transaction() as tx:
            ahead = await store.advance(tx, self.business.id, by, ahead_max=AHEAD_MAX)
        if ahead is None:
            raise Invalid(Problem("days", "the clock of this sandbox cannot go further ahead"))
        self.clock.learn(self.business.id, ahead)

    async def _day(self, result: TradeResult) -> None:
        opening, count = self._now, PAYMENTS_OF_DAY[self._now.weekday()]
        paid: list[str] = []
        for number in range(count):
            await self._until(opening + timedelta(minutes=number * _MINUTES_OPEN // count + _draw(opening, number, 9)))
            kind, pay_code = await self._sale(opening, number)
            result.counts[kind] += 1
            if kind in ("paid", "overpaid") and number != sample.OVERPAID:
                paid.append(pay_code)
        for pay_code in paid[:: 1 + len(paid) // 2][:1] if opening.day % 4 == 0 else []:
            await self._refund(pay_code, _REASONS[_draw(opening, "reason", len(_REASONS))], result)
        overpaid = sample.reference_of(opening - _EXCESS_KEPT, sample.OVERPAID)
        await self._refund(overpaid, "You paid more than the price", result)

    async def _sale(self, day: datetime, number: int) -> tuple[str, str]:
        order = _order(day, number)
        made = await payments.create(PaymentBatching(self.deps.db).insert, self.business, order, now=self._now)
        chance = _draw(day, number, "what", 100) if number != sample.OVERPAID else _PAYS_MUCH
        if chance < 12:
            return "abandoned", made.pay_code
        act = {Method.CARD: self._by_card, Method.BANK_TRANSFER: self._by_transfer}.get(
            order.default_method, self._by_phone
        )
        kind = await act(made.pay_code, order, chance)
        # Before the clock moves on: what a bank tells arrives in time.
        await self.settle()
        return kind, made.pay_code

    async def _by_card(self, pay_code: str, order: PaymentOrder, chance: int) -> str:
        is_declined = chance < 24
        number = _CARD_OF[Behaviour.CARD_WITHOUT_MONEY if is_declined else Behaviour.CARD_SUCCEEDS]
        details = {"number": number, "expiryMonth": 12, "expiryYear": self._now.year + 3, "cvv": "123"}
        await self._charge(pay_code, order, {"card": details})
        return "declined" if is_declined else "paid"

    async def _by_transfer(self, pay_code: str, order: PaymentOrder, chance: int) -> str:
        await self._charge(pay_code, order, {})
        short, much = chance < 20, chance >= _PAYS_MUCH
        hundredths = 80 if short else 125 if much else 100
        snapshot = await pay.view(self.deps.db, self.business.id, pay_code)
        amount = Money(snapshot.payment.expected.minor * hundredths // 100, order.asked.currency)
        payer = Party(name=order.customer.name)
        await Simulator(self.deps).send_transfer(self.business.id, pay_code, amount, payer=payer, now=self._now)
        return "underpaid" if short else "overpaid" if much else "paid"

    async def _by_phone(self, pay_code: str, order: PaymentOrder, chance: int) -> str:
        await self._charge(pay_code, order, {"phone": MOBILE_MONEY[order.asked.currency].example})
        if chance < 22:
            await Simulator(self.deps).decline(self.business.id, pay_code, now=self._now)
            return "declined"
        await Simulator(self.deps).approve(self.business.id, pay_code, now=self._now)
        return "paid"

    async def _charge(self, pay_code: str, order: PaymentOrder, given: dict[str, Any]) -> None:
        method, now = order.default_method, self._now
        snapshot = await pay.view(self.deps.db, self.business.id, pay_code)
        request = read({"type": method.value, **given}, checkout_wire.Charge)
        chosen, details = instrument.instrument_from(
            request,
            method,
            order.asked.currency,
            offer=pay.offers_of(self.deps, snapshot).get(method),
            account_name=self.business.name,
            now=now,
        )
        payer = Payer(self.deps, self.business.id, pay_code, "", now)
        await pay.charge(payer, snapshot, method, chosen, details)

    async def _refund(self, reference: str, reason: str, result: TradeResult) -> None:
        request = RefundRequest(reference=reference, reason=reason)
        try:
            async with self.deps.db.transaction() as tx:
                await refunds.begin(tx, self.business.id, request, by=OURSELVES, now=self._now)
        except Refusal:
            return  # There is none, or its money has not arrived: nothing is to be refunded.
        result.counts["refunded"] += 1


def _order(day: datetime, number: int) -> PaymentOrder:
    home = next(iter(CHECKOUT_OFFERS))
    abroad = next(currency for currency in CHECKOUT_OFFERS if Method.MOBILE_MONEY in currency.spec.methods)
    is_overpaid = number == sample.OVERPAID
    is_abroad = _draw(day, number, "where", 6) == 0 and not is_overpaid
    currency = abroad if is_abroad else home
    major = _PRICES[_draw(day, number, "price", len(_PRICES))] // (10 if is_abroad else 1)
    name = _PAYERS[_draw(day, number, "who", len(_PAYERS))]
    return PaymentOrder(
        reference=sample.reference_of(day, number),
        asked=Money.of_major(major, currency),
        fee_bearer=FeeBearer.BUSINESS,
        methods=currency.spec.methods,
        default_method=Method.BANK_TRANSFER if is_overpaid else _method(currency, _draw(day, number, "how", 10)),
        customer=Customer(name, f"{name.lower().replace(' ', '.')}@example.com", None),
        redirect_url=None,
        success_message=None,
        metadata=None,
    )


def _method(currency: Currency, chance: int) -> Method:
    if Method.MOBILE_MONEY in currency.spec.methods:
        return Method.MOBILE_MONEY
    return Method.CARD if chance < 6 else Method.BANK_TRANSFER


def _draw(*what: object) -> int:
    """The same for the same day and payment. The last argument is how many there are to choose from."""
    *words, count = what
    assert isinstance(count, int)
    digest = hashlib.blake2s(repr(words).encode(), digest_size=4).digest()
    return int.from_bytes(digest) % count
