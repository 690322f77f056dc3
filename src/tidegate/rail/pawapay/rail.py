"""The rail pawaPay."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import structlog

from tidegate.core.errors import Conflict, NotFound
from tidegate.core.finding import Finding
from tidegate.infra import message_signature
from tidegate.infra.db import Database
from tidegate.infra.message_signature import HttpMessage, SignatureRefused
from tidegate.rail.action import PromptAction
from tidegate.rail.breaker import Breaker
from tidegate.rail.capability import Capabilities
from tidegate.rail.event import Notification, RawNotification
from tidegate.rail.instrument import Authorization
from tidegate.rail.interface import (
    AccountDetails,
    NotificationRefused,
    OpenAccount,
    RailBusy,
    RailRefused,
    RailTimeout,
    RailTransaction,
    RefundMoney,
    ReturnMoney,
    StartAttempt,
)
from tidegate.rail.pawapay import callback, examine, offer, state, store
from tidegate.rail.pawapay.client import PawapayClient
from tidegate.rail.pawapay.configuration import Configuration, SigningKeys
from tidegate.rail.pawapay.ids import id_of
from tidegate.rail.pawapay.listing import Listing
from tidegate.rail.pawapay.payout import PawapayPayouts
from tidegate.rail.pawapay.store import Deposit
from tidegate.rail.pawapay.wire import Accepted, Found, PawapayUnreadable
from tidegate.rail.state import AttemptState, Failed, PayoutState, StillWaiting, Waiting
from tidegate.rail_settings import PawapaySettings

NAME = "pawapay"
# A start may take as long as our longest wait for an answer; until then nothing is concluded from its absence.
START_TAKES = timedelta(seconds=60)

log = structlog.get_logger("pawapay")


class PawapayRail:
    def __init__(self, settings: PawapaySettings, db: Database, *, callback_url: str) -> None:
        self._settings = settings
        self._db = db
        self._callback_url = callback_url
        self._breaker = Breaker()
        self._client = PawapayClient(settings, self._breaker)
        self._configuration = Configuration(self._client)
        self._keys = SigningKeys(self._client)
        self._payouts = PawapayPayouts(self._client, db)
        self._listing = Listing(self._client, self._payouts, db)

    @property
    def name(self) -> str:
        return NAME

    @property
    def capabilities(self) -> Capabilities:
        return offer.capabilities_of(self._configuration.terms, is_up=self._breaker.is_up)

    async def open(self) -> None:
        await self._client.open()
        self._configuration.open()

    async def close(self) -> None:
        await self._configuration.close()
        await self._client.close()

    async def check(self, *, now: datetime) -> list[Finding]:
        return await examine.findings(
            self._client, self._configuration, self._keys, self._settings, callback_url=self._callback_url
        )

    async def start(self, attempt: StartAttempt, *, now: datetime) -> AttemptState:
        """A repeat is the same deposit to pawaPay, whatever became of the first request."""
        deposit_id = id_of(attempt.business_id, attempt.reference)
        provider = offer.provider_of(attempt)
        async with self._db.connection() as tx:
            await store.insert_deposit(tx, attempt, deposit_id, provider, now=now)
        answer = await self._client.post("/v2/deposits", offer.deposit_request(attempt, deposit_id), Accepted)
        if answer.status == "ACCEPTED":
            return Waiting(self._prompt(provider))
        if answer.status == "REJECTED":
            log.warning("pawaPay rejects a deposit", reference=attempt.reference, why=answer.why)
            return Failed(state.failure_of(answer.code))
        try:
            found = await self.poll(attempt.business_id, attempt.reference, now=now)
        except NotFound as error:
            raise RailTimeout("pawaPay knows the deposit and does not tell of it") from error
        return Waiting(self._prompt(provider)) if isinstance(found, StillWaiting) else found

    def _prompt(self, provider: str) -> PromptAction:
        return offer.prompt_of(self._configuration.terms, provider)

    async def authorize(self, business_id: str, reference: str, given: Authorization, *, now: datetime) -> AttemptState:
        await self._get(business_id, reference)
        raise Conflict("this payment is approved on the phone only; fetch it again")

    async def resend(self, business_id: str, reference: str, *, now: datetime) -> AttemptState:
        await self._get(business_id, reference)
        raise Conflict("pawaPay sends no prompt again; start another attempt")

    async def poll(self, business_id: str, reference: str, *, now: datetime) -> AttemptState:
        deposit = await self._get(business_id, reference)
        found = await self._client.get(f"/v2/deposits/{deposit.deposit_id}", Found)
        if found.status == "NOT_FOUND":
            if now < deposit.started_at + START_TAKES:
                raise RailTimeout("the deposit may be on its way to pawaPay")
            raise NotFound("pawaPay has no deposit with this reference")
        if found.status != "FOUND" or found.data is None:
            raise RailTimeout(f"pawaPay's answer is not understood: {found.status[:50]!r}, without a deposit")
        try:
            return state.of_deposit(found.data)
        except PawapayUnreadable as error:
            raise RailTimeout(f"pawaPay's answer is not understood: {error}") from error

    async def _get(self, business_id: str, reference: str) -> Deposit:
        async with self._db.connection() as tx:
            deposit = await store.find_deposit(tx, business_id, reference)
        if deposit is None:
            raise NotFound("no attempt with this reference was given to pawaPay")
        return deposit

    async def read(self, raw: RawNotification, *, now: datetime) -> list[Notification]:
        if len(raw.body) > callback.BODY_BYTES_MAX:
            raise NotificationRefused(f"the body is longer than {callback.BODY_BYTES_MAX} bytes")
        if await self._is_vouched_for(raw, now):
            return await callback.events_of(self._db, raw)
        return await callback.hints_of(self._db, raw)

    async def _is_vouched_for(self, raw: RawNotification, now: datetime) -> bool:
        """False for what is not signed, where the account at pawaPay signs nothing, and while the keys are not known.

        Raises NotificationRefused.
        """
        found = self._configuration.found
        if "signature" not in raw.headers:
            if found is not None and not found.signature_configuration.signed_callbacks:
                return False
            raise NotificationRefused("it is not signed")
        message = HttpMessage(raw.method, raw.authority, raw.path, raw.headers, raw.body)
        try:
            keys = await self._keys.get(message_signature.read(raw.headers).key_id)
            message_signature.verify(message, keys, now=now)
        except SignatureRefused as refused:
            raise NotificationRefused(str(refused)) from None
        except (RailTimeout, RailBusy, RailRefused) as error:
            log.warning("a callback cannot be verified, and is a hint only", why=str(error))
            return False
        return True

    async def send_back(self, money: ReturnMoney, *, now: datetime) -> PayoutState:
        return await self._payouts.request("return", money, now=now)

    async def refund(self, money: RefundMoney, *, now: datetime) -> PayoutState:
        return await self._payouts.request("refund", money, now=now)

    async def poll_refund(self, money: RefundMoney, *, now: datetime) -> PayoutState:
        return await self._payouts.poll(money, now=now)

    async def open_account(self, order: OpenAccount, *, now: datetime) -> AccountDetails:
        raise Conflict(f"pawaPay opens no accounts in {order.currency}")

    def list_transactions(self, begin: datetime, end: datetime) -> AsyncIterator[RailTransaction]:
        return self._listing.between(begin, end)
