"""Refunds of inflows that were converted, at either rate. The books are examined after each test."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from inflow import Inflows, credit
from tidegate.audit.model import OPERATOR
from tidegate.core.errors import Conflict, InsufficientBalance
from tidegate.core.ids import Mode
from tidegate.core.money import Currency
from tidegate.doctor import refund_store
from tidegate.refund.model import RefundRate, RefundView
from tidegate.staff_approval import commands as staff_approvals
from tidegate.staff_approval.arguments import OperatorRefund
from tidegate.staff_approval.commands import StaffCommandRequest
from tidegate.staff_approval.model import StaffApprovalDeps


@pytest.fixture
async def reference(inflows: Inflows) -> str:
    """100.00 EUR that were worth 110.00 USD, of which 1 % is our spread."""
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.10", spread=100)
    arrived = await inflows.notified(credit(await inflows.number(Currency.EUR, Currency.USD)))
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.25")
    found: str = arrived["reference"]
    return found


async def refund(inflows: Inflows, reference: str, amount: str | None, rate: RefundRate | None) -> RefundView:
    deps = StaffApprovalDeps(
        inflows.runtime.deps, inflows.runtime.clock, Mode.SANDBOX, "", "",
        lambda: inflows.runtime.webhook_deps, Path("none"),
    )  # fmt: skip
    wanted = OperatorRefund(amount=Decimal(amount) if amount else None, rate=rate)
    request = StaffCommandRequest(
        command="refund.create", business_id=inflows.shop.business_id, subject=reference, reason="sold out",
        arguments=wanted,
    )  # fmt: skip
    made = await staff_approvals.act(deps, request, by=OPERATOR)
    assert isinstance(made, RefundView)
    return made


async def ended(inflows: Inflows) -> None:
    await inflows.tick()
    await inflows.let_pass("1m")
    await inflows.tick()


async def test_at_the_rate_of_the_credit_the_difference_to_today_is_ours(inflows: Inflows, reference: str) -> None:
    before = await inflows.wallet("USD")
    view = await refund(inflows, reference, "40", RefundRate.CREDIT)
    assert str(view.refund.debited) == "USD 44.00"
    assert before - await inflows.wallet("USD") == 44_00
    await ended(inflows)
    assert await inflows.entries("refund_converted") == {
        ("refunds", "USD", -44_00), ("conversion", "USD", 50_00), ("exchange", "USD", -6_00),
        ("conversion", "EUR", -40_00), ("rail", "EUR", 40_00),
    }  # fmt: skip
    # Of the rest, the wallet has not enough for all: the fee and the spread are kept.
    with pytest.raises(InsufficientBalance):
        await refund(inflows, reference, None, RefundRate.CREDIT)
    assert str((await refund(inflows, reference, "50", RefundRate.CREDIT)).refund.debited) == "USD 55.00"


async def test_at_the_rate_of_the_day_the_wallet_pays_what_it_costs(inflows: Inflows, reference: str) -> None:
    view = await refund(inflows, reference, "40", RefundRate.TODAY)
    assert str(view.refund.debited) == "USD 50.00"
    await ended(inflows)
    assert ("exchange", "USD", 0) not in await inflows.entries("refund_converted")
    assert {account for account, _, _ in await inflows.entries("refund_converted")} == {"refunds", "conversion", "rail"}
    line = (await inflows.call("GET", "/wallets/USD/statement")).json()["data"]["results"][0]
    assert "EUR 40.00" in line["description"]


async def test_a_refund_that_fails_gives_the_wallet_all_of_it_back(
    inflows: Inflows, reference: str, admin: Any
) -> None:
    before = await inflows.wallet("USD")
    # The sandbox declines an amount that ends in .13.
    await refund(inflows, reference, "40.13", RefundRate.CREDIT)
    assert await admin.fetchval("SELECT locked_minor FROM wallet WHERE currency = 'USD'") == 44_14
    await ended(inflows)
    assert await inflows.wallet("USD") == before
    assert (await inflows.journals()).get("refund_converted") is None


async def test_it_needs_a_choice_and_a_fresh_rate(inflows: Inflows, reference: str) -> None:
    with pytest.raises(Conflict, match="is refunded by the operator"):
        await refund(inflows, reference, "1", None)
    await inflows.let_pass("400d")
    with pytest.raises(Conflict, match="no fresh rate of EUR in USD"):
        await refund(inflows, reference, "1", RefundRate.CREDIT)


async def test_a_difference_that_is_booked_wrongly_is_found(inflows: Inflows, reference: str, admin: Any) -> None:
    await refund(inflows, reference, "40", RefundRate.CREDIT)
    await ended(inflows)
    await admin.execute("UPDATE refund SET worth_minor = worth_minor + 1")
    assert await refund_store.list_wrongly_exchanged(admin)
    await admin.execute("UPDATE refund SET worth_minor = worth_minor - 1")
