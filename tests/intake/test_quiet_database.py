"""Ordinary traffic violates no constraint: PostgreSQL's log holds only real errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from build import order
from checkout.paying import SUCCEEDS, WANTS_PIN, card, phone
from conftest import MakeCheckout
from inflow import Inflows, request
from inflow import credit as credit_of_inflow
from intake.test_notifications import Bank, bank, credit  # noqa: F401 - a fixture

ErrorsSince = Callable[[], list[str]]


@pytest.fixture
async def errors_since(admin: Any) -> ErrorsSince:
    data = Path(await admin.fetchval("SELECT setting FROM pg_settings WHERE name = 'data_directory'"))
    log = data.with_suffix(".log")
    if not log.exists():
        pytest.skip("the log of a server that is not ours is kept elsewhere")
    begins_at = log.stat().st_size

    def errors() -> list[str]:
        with log.open("rb") as file:
            file.seek(begins_at)
            return [line for line in file.read().decode().splitlines() if "ERROR" in line]

    return errors


async def test_ordinary_payments_leave_no_error_in_the_log_of_the_database(
    bank: Bank,  # noqa: F811
    new_checkout: MakeCheckout,
    errors_since: ErrorsSince,
) -> None:
    by_card, by_pin, by_transfer, by_ussd = [await new_checkout() for _ in range(4)]
    by_phone = await new_checkout(currency="KES")
    same = order(reference=by_card.reference)
    assert (await by_card.shop.create(same)).status_code == 409
    key = {"idempotency-key": "once"}
    again = order(reference="once")
    assert [(await by_card.shop.create(again, key)).status_code for _ in range(2)] == [201, 201]
    assert (await by_card.charge(card(SUCCEEDS))).status_code == 200
    assert (await by_pin.charge(card(WANTS_PIN))).status_code == 200
    assert (await by_pin.authorize({"pin": "1234"})).status_code == 200
    assert (await by_phone.charge(phone("0712340000"))).status_code == 200
    assert (await by_ussd.charge({"type": "payAttitude", "bank": "057"})).status_code == 200
    assert (await by_ussd.sandbox(f"charges/{by_ussd.pay_code}/approve")).is_success
    transfer = credit(await by_transfer.account())
    same_money = {**transfer, "id": transfer["id"] + "x"}
    for body in (transfer, transfer, same_money):
        assert (await bank.notify(body)).status_code == 200
    for checkout in (by_card, by_pin, by_transfer, by_ussd, by_phone):
        await checkout.tick()
        assert (await checkout.view())["status"] == "success", checkout
    assert (await by_card.cancel()).status_code == 409
    assert errors_since() == []


async def test_ordinary_inflows_leave_no_error_in_the_log_of_the_database(
    bank: Bank,  # noqa: F811
    inflows: Inflows,
    errors_since: ErrorsSince,
) -> None:
    transfer = credit_of_inflow(await inflows.number())
    same_money = {**transfer, "id": transfer["id"] + "x"}
    for body in (transfer, transfer, same_money):
        assert (await bank.notify(body)).status_code == 200
    once = request(merchantReference="KYC-1")
    assert [(await inflows.ask_for(once)).status_code for _ in range(2)] == [201, 409]
    assert errors_since() == []
