"""The rail Paystack."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import structlog

from tidegate.core.errors import Conflict, NotFound
from tidegate.core.finding import Finding
from tidegate.core.method import Method
from tidegate.infra.db import Database
from tidegate.infra.timestamp import to_iso
from tidegate.rail.action import FailureReason, OtpAction, RedirectAction
from tidegate.rail.breaker import Breaker
from tidegate.rail.capability import Capabilities
from tidegate.rail.event import Notification, RawNotification
from tidegate.rail.instrument import Authorization, Otp
from tidegate.rail.interface import (
    AccountDetails,
    OpenAccount,
    RailBusy,
    RailRefused,
    RailTimeout,
    RailTransaction,
    RefundMoney,
    ReturnMoney,
    StartAttempt,
)
from tidegate.rail.paystack import offer, reference, signed_notification, state, store, wire
from tidegate.rail.paystack.client import DUPLICATE, PaystackClient, PaystackRejected
from tidegate.rail.paystack.notification_event import events_of
from tidegate.rail.paystack.payout import Payouts
from tidegate.rail.paystack.store import StartedAttempt
from tidegate.rail.state import AttemptState, Failed, PayoutState, StillWaiting, Waiting
from tidegate.rail_settings import PaystackSettings

NAME = "paystack"
# A start may take as long as our longest wait for an answer; until then nothing is concluded from its absence.
START_TAKES_S = 60
# A list is by the time of the request, which is before that of the payment.
LISTED_BEFORE = timedelta(days=3)

log = structlog.get_logger("paystack")


class PaystackRail:
    def __init__(self, settings: PaystackSettings, db: Database, *, webhook_url: str) -> None:
        self._settings = settings
        self._db = db
        self._webhook_url = webhook_url
        self._breaker = Breaker()
        self._client = PaystackClient(settings.base_url, settings.secret_key, self._breaker)
        self._payouts = Payouts(NAME, self._client, db)
        self._up = offer.capabilities_of(settings, is_open=True)
        self._down = offer.capabilities_of(settings, is_open=False)

    @property
    def name(self) -> str:
        return NAME

    @property
    def capabilities(self) -> Capabilities:
        return self._up if self._breaker.is_up else self._down

    async def open(self) -> None:
        await self._client.open()

    async def close(self) -> None:
        await self._client.close()

    async def check(self, *, now: datetime) -> list[Finding]:
        return [
            await self._check_key(),
            Finding("rail paystack", True, f"the dashboard's webhook URL must be {self._webhook_url}"),
        ]

    async def _check_key(self) -> Finding:
        advice = "check TIDEGATE_PAYSTACK_SECRET_KEY, and that this machine reaches Paystack"
        try:
            balances = await self._client.get("/balance", list[wire.AccountBalance])
            held = ", ".join(f"{one.currency} {wire.major(one.balance)}" for one in balances)
        except (RailTimeout, RailBusy, RailRefused, NotFound, wire.PaystackUnreadable) as error:
            return Finding("rail paystack", False, str(error), advice)
        return Finding("rail paystack", True, f"{self._settings.domain} key accepted; it holds {held or 'nothing'}")

    async def start(self, attempt: StartAttempt, *, now: datetime) -> AttemptState:
        async with self._db.connection() as tx:
            is_new = await store.insert_attempt(tx, attempt, expected=offer.expected_action(attempt), now=now)
        if not is_new:
            return await self._started_before(attempt, now)
        sent_as = reference.sent_as(attempt.business_id, attempt.reference)
        try:
            return await self._start(attempt, sent_as)
        except PaystackRejected as rejected:
            if rejected.code == DUPLICATE:
                return await self._started_before(attempt, now)
            log.error("Paystack rejects an attempt", reference=attempt.reference, why=str(rejected))
            reason = state.failure_of(str(rejected))
            is_limit = reason is FailureReason.LIMIT_REACHED
            return Failed(reason if is_limit else FailureReason.NOT_STARTED)

    async def _start(self, attempt: StartAttempt, sent_as: str) -> AttemptState:
        if attempt.method is Method.CARD:
            page = await self._client.post(
                "/transaction/initialize", offer.page_request(attempt, sent_as), wire.StartedPage
            )
            return await self._waits(attempt, Waiting(RedirectAction(page.authorization_url, is_hosted=True)))
        charge = await self._client.post("/charge", offer.charge_request(attempt, sent_as), wire.PaystackCharge)
        answered = state.of_charge(charge)
        if answered is None:
            return await self._paid(attempt.business_id, attempt.reference)
        return await self._waits(attempt, answered) if isinstance(answered, Waiting) else answered

    async def _waits(self, attempt: StartAttempt | StartedAttempt, waiting: Waiting) -> Waiting:
        async with self._db.connection() as tx:
            await store.set_action(tx, attempt.business_id, attempt.reference, waiting.action)
        return waiting

    async def _started_before(self, attempt: StartAttempt, now: datetime) -> AttemptState:
        found = await self.poll(attempt.business_id, attempt.reference, now=now)
        return Waiting(found.action) if isinstance(found, StillWaiting) and found.action else found

    async def authorize(self, business_id: str, reference: str, given: Authorization, *, now: datetime) -> AttemptState:
        started = await self._get(business_id, reference)
        action = started.action or started.expected
        if not isinstance(given, Otp) or not isinstance(action, OtpAction):
            raise Conflict("this payment is not waiting for a code; fetch it again")
        body = {"otp": str(given.otp), "reference": _sent_as(started)}
        try:
            charge = await self._client.post("/charge/submit_otp", body, wire.PaystackCharge)
        except PaystackRejected as rejected:
            log.warning("Paystack rejects a code", reference=reference, why=str(rejected))
            return Waiting(action, FailureReason.WRONG_OTP)
        answered = state.of_charge(charge, given=action)
        if answered is None:
            return await self._paid(business_id, reference)
        return await self._waits(started, answered) if isinstance(answered, Waiting) else answered

    async def resend(self, business_id: str, reference: str, *, now: datetime) -> AttemptState:
        await self._get(business_id, reference)
        raise Conflict("Paystack sends no prompt or code again; start another attempt")

    async def poll(self, business_id: str, reference: str, *, now: datetime) -> AttemptState:
        started = await self._get(business_id, reference)
        is_starting = started.action is None and state.is_younger(started.started_at, START_TAKES_S, now=now)
        try:
            found = await self._verify(business_id, reference, started=started)
        except NotFound:
            if is_starting:
                raise RailTimeout("the attempt may be on its way to Paystack") from None
            raise
        if isinstance(found, StillWaiting) and is_starting:
            raise RailTimeout("the attempt is being started")
        if isinstance(found, StillWaiting) and found.action is None:
            # Paystack has it, but the page or the account was never shown: it cannot be paid.
            return Failed(FailureReason.NOT_STARTED)
        return found

    async def _paid(self, business_id: str, reference: str) -> AttemptState:
        """Of a charge that has ended well, a moment ago."""
        try:
            return await self._verify(business_id, reference)
        except NotFound as error:
            raise RailTimeout("Paystack has taken the payment and does not tell of it yet") from error

    async def _verify(self, business_id: str, ours: str, *, started: StartedAttempt | None = None) -> AttemptState:
        started = started or await self._get(business_id, ours)
        found = await self._client.get(f"/transaction/verify/{_sent_as(started)}", wire.PaystackTransaction)
        try:
            return state.of_transaction(found, asked=started.asked, action=started.action or started.expected)
        except wire.PaystackUnreadable as error:
            raise RailTimeout(f"Paystack's answer is not understood: {error}") from error

    async def _get(self, business_id: str, reference: str) -> StartedAttempt:
        async with self._db.connection() as tx:
            started = await store.find_attempt(tx, business_id, reference)
        if started is None:
            raise NotFound("no attempt with this reference was given to Paystack")
        return started

    async def read(self, raw: RawNotification, *, now: datetime) -> list[Notification]:
        return await events_of(self._db, signed_notification.read(raw, self._settings))

    async def send_back(self, money: ReturnMoney, *, now: datetime) -> PayoutState:
        return await self._payouts.request("return", money, now=now)

    async def refund(self, money: RefundMoney, *, now: datetime) -> PayoutState:
        return await self._payouts.request("refund", money, now=now)

    async def poll_refund(self, money: RefundMoney, *, now: datetime) -> PayoutState:
        return await self._payouts.poll(money, now=now)

    async def open_account(self, order: OpenAccount, *, now: datetime) -> AccountDetails:
        raise Conflict(f"Paystack opens no accounts in {order.currency}")

    async def list_transactions(self, begin: datetime, end: datetime) -> AsyncIterator[RailTransaction]:
        query = {"from": to_iso(begin - LISTED_BEFORE), "to": to_iso(end)}
        async for found in self._client.list("/transaction", wire.PaystackTransaction, query):
            paid_at = wire.moment(found.paid_at)
            if found.status not in state.PAID or paid_at is None or not begin <= paid_at < end:
                continue
            try:
                yield _incoming(found, paid_at)
            except wire.PaystackUnreadable as error:
                log.warning("a transaction of Paystack is left out", transaction_id=found.id, why=str(error))
        async for line in self._payouts.list_lines(begin, end):
            yield line


def _sent_as(started: StartedAttempt) -> str:
    return reference.sent_as(started.business_id, started.reference)


def _incoming(found: wire.PaystackTransaction, paid_at: datetime) -> RailTransaction:
    own = reference.read(found.reference)
    amount = state.paid(found, asked=None)
    return RailTransaction(
        transaction_id=str(found.id),
        is_incoming=True,
        amount=amount,
        booked_at=paid_at,
        reference=own[1] if own else found.reference,
        fee=wire.money(found.fees, found.currency) if found.fees else None,
    )
