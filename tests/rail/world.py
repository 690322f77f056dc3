"""A sandbox rail with a business, and the moments and means that its tests share."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from settable_clock import SettableClock
from tidegate.core.ids import Mode
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Database
from tidegate.infra.lease_store import Lease
from tidegate.merchant import commands as merchants
from tidegate.rail.event import CreditReversed, Notification, RawNotification
from tidegate.rail.instrument import Bank, Card, PaymentInstrument, Phone, TransferInstrument
from tidegate.rail.interface import PayerContact, StartAttempt
from tidegate.rail.sandbox import SandboxRail
from tidegate.rail.sandbox.model import BankTransfer
from tidegate.rail.state import Party

NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
SECRET = b"a secret of the tests, long enough"
PAYER = PayerContact("ada@example.com", "Ada Obi")
RETURN_URL = "https://pay.example.com/p/tg_abcde_1"

PLAIN = "5319317801366660"
WITH_PIN = "5366139833864633"
WITH_PIN_AND_OTP = "5333018248439266"
WITH_3DS = "4084080000000409"
WITH_ADDRESS = "4960215093757593"
WITHOUT_MONEY = "4084080000005408"

_METHOD_OF: dict[type[PaymentInstrument], Method] = {
    Card: Method.CARD,
    Phone: Method.MOBILE_MONEY,
    Bank: Method.USSD,
    TransferInstrument: Method.BANK_TRANSFER,
}
_numbers = itertools.count(1)


def later(**by: int) -> datetime:
    return NOW + timedelta(**by)


def card(number: str, **changes: Any) -> Card:
    return Card(**{"number": number, "expiry_month": 12, "expiry_year": 2030, "cvv": "999", **changes})


def phone(last_four: str) -> Phone:
    return Phone(f"+25471234{last_four}", "mpesa")


def transfer_means() -> TransferInstrument:
    return TransferInstrument(account_name="Test Shop / Ada Obi", expires_at=later(minutes=30))


@dataclass(frozen=True)
class World:
    db: Database
    rail: SandboxRail
    business_id: str

    def order(
        self, instrument: PaymentInstrument, *, amount: Money | None = None, reference: str | None = None
    ) -> StartAttempt:
        currency = Currency.KES if isinstance(instrument, Phone) else Currency.NGN
        return StartAttempt(
            business_id=self.business_id,
            reference=reference or f"att-{next(_numbers)}",
            method=_METHOD_OF[type(instrument)],
            amount=amount or Money.of_major(100, currency),
            instrument=instrument,
            payer=PAYER,
            return_url=RETURN_URL,
        )

    async def sent(self, now: datetime = NOW) -> list[RawNotification]:
        """Everything that is due, as it is sent."""
        sent: list[RawNotification] = []

        async def take(_: Lease, raw: RawNotification) -> None:
            sent.append(raw)

        assert (await self.rail.send_notifications(take, SettableClock(now))).failed == 0
        return sent

    async def notifications(self, now: datetime = NOW) -> list[Notification]:
        """Sends everything that is due, and reads it as a receiver would."""
        return [notification for raw in await self.sent(now) for notification in await self.rail.read(raw, now=now)]

    async def send(self, account_number: str, amount: Money, *, now: datetime = NOW, **changes: Any) -> str:
        fields: dict[str, Any] = {
            "account_number": account_number,
            "amount": amount,
            "payer": Party(name="Ada Obi", account_number="0123456789", bank_name="Another Bank"),
            **changes,
        }
        async with self.db.transaction() as tx:
            return await self.rail.transfer(tx, self.business_id, BankTransfer(**fields), now=now)

    async def take_back(self, transaction_id: str, reason: str | None = None, *, now: datetime = NOW) -> CreditReversed:
        async with self.db.transaction() as tx:
            return await self.rail.reverse(tx, self.business_id, transaction_id, reason, now=now)


async def make_world(db: Database, secret: bytes = SECRET) -> World:
    new = await merchants.create(db, name="Test Shop", email="shop@example.com", mode=Mode.SANDBOX, now=NOW)
    return World(db, SandboxRail(db, secret), new.business.id)
