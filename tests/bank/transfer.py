"""Checkouts by transfer to the operator's own account."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from bank.world import SHILLINGS, BankWorld
from bank_file_maker import camt_file, entry
from build import order
from rail.world import RETURN_URL
from tidegate.core.method import Method
from tidegate.payment import pay
from tidegate.payment.change import PaymentSnapshot
from tidegate.rail.action import TransferAction
from tidegate.rail.instrument import TransferInstrument

PRICE = 10_000


async def begun(bank: BankWorld) -> tuple[str, TransferAction]:
    answer = await bank.shop.create(order(amount=PRICE, currency="UGX", paymentMethods=["bank_transfer"]))
    assert answer.status_code == 201, answer.text
    pay_code: str = answer.json()["data"]["payCode"]
    payer = pay.Payer(bank.deps, bank.shop.business_id, pay_code, RETURN_URL, bank.now)
    means = TransferInstrument("Test Shop", bank.now + timedelta(minutes=30))
    charged = await pay.charge(payer, await seen(bank, pay_code), Method.BANK_TRANSFER, means, {})
    assert charged.attempt is not None
    assert isinstance(charged.attempt.action, TransferAction)
    return pay_code, charged.attempt.action


async def seen(bank: BankWorld, pay_code: str) -> PaymentSnapshot:
    return await pay.view(bank.runtime.db, bank.shop.business_id, pay_code)


def paid(narration: str | None, amount: str = str(PRICE), **changed: Any) -> bytes:
    fields = {"currency": "UGX", "destination": None, "payee_name": None, "remittance": narration, **changed}
    return camt_file(entry(amount, **fields), account=SHILLINGS, currency="UGX", kind="053")
