"""pawaPay's rail against the emulated pawaPay, over real HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from rail.world import PAYER, RETURN_URL
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Mode, new_attempt_reference
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.emulator.pawapay import server
from tidegate.emulator.pawapay.callbacks import EmulatedCallback, Spoil
from tidegate.emulator.pawapay.model import EmulatedPawapayAccount, EmulatedTransaction
from tidegate.emulator.pawapay.service import PawapayService
from tidegate.infra.db import Database
from tidegate.merchant import commands as merchants
from tidegate.rail.event import Notification, RawNotification
from tidegate.rail.instrument import Phone
from tidegate.rail.interface import StartAttempt
from tidegate.rail.pawapay import PawapayRail
from tidegate.rail.pawapay.ids import id_of
from tidegate.rail_settings import PawapaySettings

TOKEN = "a-token-of-the-tests"
AUTHORITY, PATH = "pay.example.com", "/intake/pawapay"
CALLBACK_URL = f"https://{AUTHORITY}{PATH}"


@dataclass(frozen=True)
class PawapayWorld:
    rail: PawapayRail
    service: PawapayService
    business_id: str
    db: Database
    settings: PawapaySettings

    def order(
        self, number: str = "+254712345678", operator: str = "mpesa", *, amount: Money | None = None, **changes: Any
    ) -> StartAttempt:
        """Its payer approves by hand, unless the number is one of pawaPay's test numbers."""
        return StartAttempt(
            **{
                "business_id": self.business_id,
                "reference": new_attempt_reference(),
                "method": Method.MOBILE_MONEY,
                "amount": amount or Money.of_major(100, Currency.KES),
                "instrument": Phone(number, operator),
                "payer": PAYER,
                "return_url": RETURN_URL,
                **changes,
            }
        )

    def deposit(self, order: StartAttempt) -> EmulatedTransaction:
        return self.service.memory.deposits[id_of(order.business_id, order.reference)]

    def callbacks(self, status: str = "") -> list[EmulatedCallback]:
        return [one for one in self.service.callbacks.sent if status in ("", json.loads(one.body)["status"])]

    def raw(self, callback: EmulatedCallback, *, now: datetime | None = None, **changes: Any) -> RawNotification:
        headers = self.service.callbacks.headers_of(callback, now=now or SystemClock().now())
        fields = {"body": callback.body, "headers": headers, "authority": AUTHORITY, "path": PATH, **changes}
        return RawNotification(**fields)

    def signed(self, body: bytes, spoil: Spoil | None = None, *, now: datetime | None = None) -> RawNotification:
        now = now or SystemClock().now()
        return self.raw(EmulatedCallback(body, now, now, spoil), now=now)

    async def told(self, status: str = "") -> list[Notification]:
        """What the rail reads in the callbacks of this status."""
        found = [await self.rail.read(self.raw(one), now=SystemClock().now()) for one in self.callbacks(status)]
        return [notification for notifications in found for notification in notifications]

    @asynccontextmanager
    async def another_rail(self, **changes: Any) -> AsyncIterator[PawapayRail]:
        """Of the same account, with other settings."""
        async with opened(replace(self.settings, **changes), self.db) as rail:
            yield rail


@asynccontextmanager
async def opened(settings: PawapaySettings, db: Database) -> AsyncIterator[PawapayRail]:
    """Its configuration is known."""
    rail = PawapayRail(settings, db, callback_url=CALLBACK_URL)
    await rail.open()
    try:
        await rail.check(now=SystemClock().now())
        yield rail
    finally:
        await rail.close()


@asynccontextmanager
async def pawapay_world(db: Database, account: EmulatedPawapayAccount | None = None) -> AsyncIterator[PawapayWorld]:
    now = SystemClock().now()
    new = await merchants.create(db, name="Test Shop", email="shop@example.com", mode=Mode.SANDBOX, now=now)
    async with server.running(account or EmulatedPawapayAccount(TOKEN)) as emulated:
        emulated.service.callbacks.signed_for = (AUTHORITY, PATH)
        settings = PawapaySettings(token=TOKEN, base_url=emulated.api_url)
        async with opened(settings, db) as rail:
            yield PawapayWorld(rail, emulated.service, new.business.id, db, settings)
