"""Paystack's rail against the emulated Paystack, over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from rail.world import PAYER, RETURN_URL
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Mode, new_attempt_reference
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.emulator.paystack import server
from tidegate.emulator.paystack.model import EmulatedAccount, EmulatedPayment
from tidegate.emulator.paystack.notifier import EmulatedNotice
from tidegate.emulator.paystack.service import PaystackService
from tidegate.infra.db import Database
from tidegate.merchant import commands as merchants
from tidegate.rail.event import Notification, RawNotification
from tidegate.rail.instrument import HostedPage, PaymentInstrument
from tidegate.rail.interface import StartAttempt
from tidegate.rail.paystack import PaystackRail
from tidegate.rail.paystack.reference import sent_as
from tidegate.rail_settings import PaystackSettings

KEY = "sk_test_tidegate0000"
ADDRESS = "203.0.113.7"


@dataclass(frozen=True)
class PaystackWorld:
    rail: PaystackRail
    service: PaystackService
    business_id: str
    control_url: str
    page_url: str

    def order(
        self,
        instrument: PaymentInstrument | None = None,
        *,
        method: Method = Method.CARD,
        amount: Money | None = None,
        **changes: Any,
    ) -> StartAttempt:
        return StartAttempt(
            **{
                "business_id": self.business_id,
                "reference": new_attempt_reference(),
                "method": method,
                "amount": amount or Money.of_major(100, Currency.NGN),
                "instrument": instrument or HostedPage(),
                "payer": PAYER,
                "return_url": RETURN_URL,
                **changes,
            }
        )

    def payment(self, order: StartAttempt) -> EmulatedPayment:
        return self.service.memory.payments[sent_as(order.business_id, order.reference)]

    def notices(self, event: str) -> list[EmulatedNotice]:
        return [one for one in self.service.notifier.notices if f'"{event}"'.encode() in one.body]

    async def told(self, event: str) -> list[Notification]:
        """What the rail reads in the notifications of this event."""
        found = [await self.rail.read(raw_of(one), now=SystemClock().now()) for one in self.notices(event)]
        return [notification for notifications in found for notification in notifications]


def raw_of(notice: EmulatedNotice, **changes: Any) -> RawNotification:
    headers = {"x-paystack-signature": notice.signature}
    return RawNotification(**{"body": notice.body, "headers": headers, "peer": ADDRESS, **changes})


@asynccontextmanager
async def paystack_world(db: Database, account: EmulatedAccount | None = None) -> AsyncIterator[PaystackWorld]:
    now = SystemClock().now()
    new = await merchants.create(db, name="Test Shop", email="shop@example.com", mode=Mode.SANDBOX, now=now)
    async with server.running(account or EmulatedAccount(KEY)) as emulated:
        settings = PaystackSettings(
            secret_key=KEY, base_url=emulated.api_url, has_pesalink=True, webhook_ips=(ADDRESS,)
        )
        rail = PaystackRail(settings, db, webhook_url="https://pay.example.com/intake/paystack")
        await rail.open()
        try:
            yield PaystackWorld(rail, emulated.service, new.business.id, emulated.control_url, emulated.page_url)
        finally:
            await rail.close()
