"""Numbers that a rail uses again, and rails that speak of one another's payments."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from build import Checkout
from conftest import MakeCheckout
from inflow import HOLDER, Inflows, reversal_of
from inflow import credit as inflow_credit
from intake.test_notifications import credit
from settable_clock import SettableClock
from tidegate.account import commands as accounts
from tidegate.account.model import Account
from tidegate.audit.model import OPERATOR
from tidegate.core.errors import Conflict
from tidegate.core.money import Currency
from tidegate.intake import commands as intake
from tidegate.payment import pay, sweep
from tidegate.payment.attempt import AttemptStatus
from tidegate.payment.change import PaymentSnapshot
from tidegate.rail.action import FailureReason, TransferAction
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.instrument import TransferInstrument
from tidegate.rail.interface import AccountDetails, OpenAccount, StartAttempt
from tidegate.rail.sandbox import SandboxRail, signed_notification
from tidegate.rail.state import AttemptState, Waiting
from tidegate.runtime import Runtime

NUMBER = "9900000001"


class PoolRail(SandboxRail):
    """A rail with one account number, which it gives to everybody."""

    def __init__(self, runtime: Runtime, name: str = "sandbox") -> None:
        super().__init__(runtime.db, runtime.secret)
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    async def start(self, attempt: StartAttempt, *, now: Any) -> AttemptState:
        state = await super().start(attempt, now=now)
        assert isinstance(state, Waiting)
        assert isinstance(state.action, TransferAction)
        return Waiting(msgspec.structs.replace(state.action, account_number=NUMBER))

    async def open_account(self, order: OpenAccount, *, now: Any) -> AccountDetails:
        return msgspec.structs.replace(await super().open_account(order, now=now), account_number=NUMBER)


@dataclass(frozen=True)
class Pool:
    """Payments whose account all have the one number, on the rail of that name."""

    runtime: Runtime
    new_checkout: MakeCheckout
    deps: PaymentDeps

    async def pay(self, checkout: Checkout | None = None, *, rail: str = "sandbox") -> tuple[Checkout, PaymentSnapshot]:
        checkout = checkout or await self.new_checkout()
        now = self.runtime.clock.now()
        deps = replace(self.deps, rails={rail: self.deps.rails[rail]})
        payer = pay.Payer(deps, checkout.shop.business_id, checkout.pay_code, "http://localhost", now)
        seen = await pay.view(deps.db, payer.business_id, payer.pay_code)
        instrument = TransferInstrument(account_name="Shop", expires_at=now)
        return checkout, await pay.charge(payer, seen, next(iter(seen.payment.order.methods)), instrument, {})

    async def notify(self, body: dict[str, Any], *, rail: str = "sandbox") -> None:
        raw = signed_notification.sign(json.dumps(body).encode(), self.runtime.secret, now=self.runtime.clock.now())
        await intake.receive(self.deps, rail, raw, self.runtime.clock)

    async def close(self) -> None:
        """Every account whose time is over is closed, and sessions stay."""
        await sweep.close_accounts(self.deps, SettableClock(self.runtime.clock.now() + timedelta(minutes=31)))


@pytest.fixture
def pool(runtime: Runtime, new_checkout: MakeCheckout) -> Pool:
    async def transfers(**fields: Any) -> Checkout:
        return await new_checkout(paymentMethods=["bank_transfer"], **fields)

    rails = {name: PoolRail(runtime, name) for name in ("sandbox", "other")}
    return Pool(runtime, transfers, replace(runtime.deps, rails=rails))


async def status(checkout: Checkout) -> str:
    found: str = (await checkout.record())["status"]
    return found


async def test_a_number_is_used_again_once_its_account_has_ended(pool: Pool) -> None:
    first, _ = await pool.pay()
    await pool.close()
    second, snapshot = await pool.pay()
    assert snapshot.attempt is not None
    assert (snapshot.attempt.status, snapshot.attempt.account_number) == (AttemptStatus.WAITING, NUMBER)
    await pool.notify(credit(NUMBER))
    assert (await status(first), await status(second)) == ("pending", "success")


async def test_money_for_a_number_that_no_open_account_has_goes_back_from_the_newest(pool: Pool, admin: Any) -> None:
    first, _ = await pool.pay()
    await pool.close()
    second, _ = await pool.pay()
    await pool.close()
    late = SettableClock(pool.runtime.clock.now() + timedelta(minutes=40))
    raw = signed_notification.sign(json.dumps(credit(NUMBER)).encode(), pool.runtime.secret, now=late.now())
    await intake.receive(pool.deps, "sandbox", raw, late)
    assert (await status(first), await status(second)) == ("pending", "pending")
    assert (await second.view())["amountReturned"] == 100
    assert await admin.fetchval("SELECT outcome FROM receipt") == "returned"


async def test_money_notified_before_its_number_was_reused_is_not_the_successors(pool: Pool, admin: Any) -> None:
    first, _ = await pool.pay()
    await pool.notify(credit(NUMBER, transactionId="T-1"))
    second, _ = await pool.pay()
    await pool.notify(credit(NUMBER, transactionId="T-1"))
    assert (await status(first), await status(second)) == ("success", "pending")
    assert await admin.fetchval("SELECT count(*) FROM receipt") == 1


async def test_a_number_that_an_open_account_has_fails_the_attempt_and_nothing_else(pool: Pool) -> None:
    first, _ = await pool.pay()
    second, snapshot = await pool.pay()
    assert snapshot.attempt is not None
    assert (snapshot.attempt.status, snapshot.attempt.failure) == (AttemptStatus.FAILED, FailureReason.NOT_STARTED)
    assert await status(second) == "pending"
    await pool.notify(credit(NUMBER))
    assert (await status(first), await status(second)) == ("success", "pending")
    # The number is free again, and so may the payer try again.
    _, again = await pool.pay(second)
    assert again.attempt is not None
    assert again.attempt.status is AttemptStatus.WAITING


async def test_an_account_whose_number_another_has_meanwhile_gets_no_more_time(pool: Pool) -> None:
    first, _ = await pool.pay()
    await pool.close()
    await pool.pay()
    answer = await first.extend()
    assert answer.status_code == 409
    assert "start another attempt" in answer.json()["message"]


async def test_two_rails_may_use_the_same_number(pool: Pool) -> None:
    first, _ = await pool.pay()
    second, snapshot = await pool.pay(rail="other")
    assert snapshot.attempt is not None
    assert snapshot.attempt.status is AttemptStatus.WAITING
    await pool.notify(credit(NUMBER), rail="other")
    assert (await status(first), await status(second)) == ("pending", "success")
    await pool.notify(credit(NUMBER))
    assert await status(first) == "success"


async def test_money_notified_by_another_rail_is_not_for_this_account(pool: Pool, admin: Any) -> None:
    checkout, _ = await pool.pay()
    await pool.notify(credit(NUMBER), rail="other")
    assert await status(checkout) == "pending"
    assert await admin.fetchval("SELECT outcome FROM receipt") == "suspense"


async def test_an_outcome_notified_by_another_rail_changes_nothing(pool: Pool, admin: Any) -> None:
    checkout, snapshot = await pool.pay()
    assert snapshot.attempt is not None
    outcome: Callable[[str], dict[str, Any]] = lambda kind: {  # noqa: E731
        "type": f"attempt.{kind}", "id": f"N-{kind}", "businessId": checkout.shop.business_id,
        "reference": snapshot.attempt.reference if snapshot.attempt else "",
    }  # fmt: skip
    await pool.notify({**outcome("failed"), "reason": "declined"}, rail="other")
    await pool.notify(
        {**outcome("succeeded"), "transactionId": "T-1", "amount": "10000", "currency": "NGN"}, rail="other"
    )
    assert await status(checkout) == "pending"
    assert await admin.fetchval("SELECT outcome FROM receipt") == "suspense"
    assert await admin.fetchval("SELECT status FROM attempt") == "waiting"


async def test_a_return_notified_by_another_rail_is_not_confirmed(pool: Pool, admin: Any) -> None:
    checkout, _ = await pool.pay()
    await pool.notify(credit(NUMBER))
    await pool.notify(credit(NUMBER))
    reference = await admin.fetchval("SELECT reference FROM money_return")
    body = {
        "type": "return.left", "id": "N-1", "businessId": checkout.shop.business_id, "reference": reference,
        "transactionId": "T-1",
    }  # fmt: skip
    await pool.notify(body, rail="other")
    assert await admin.fetchval("SELECT status FROM money_return") != "confirmed"
    await pool.notify(body)
    assert await admin.fetchval("SELECT status FROM money_return") == "confirmed"


# Permanent accounts.


async def approved(inflows: Inflows, runtime: Runtime, **changes: Any) -> Account:
    pooled = replace(runtime, rails={"sandbox": PoolRail(runtime)})
    return await replace(inflows, runtime=pooled).account(**changes)


async def test_a_permanent_number_is_used_again_once_its_account_is_closed(
    inflows: Inflows, runtime: Runtime, admin: Any
) -> None:
    first = await approved(inflows, runtime)
    await accounts.close(runtime.db, first.id, "not used", by=OPERATOR, now=inflows.now)
    second = await approved(inflows, runtime)
    body = inflow_credit(NUMBER)
    await inflows.notified(body)
    assert await admin.fetchval("SELECT account_id FROM collection") == second.id
    assert await inflows.wallet("EUR") == 95_00
    # What the bank takes back of it is found through the account that had it.
    await inflows.notify(reversal_of(body))
    assert await inflows.wallet("EUR") == 0
    await accounts.close(runtime.db, second.id, "not used", by=OPERATOR, now=inflows.now)
    late = await inflows.notified(inflow_credit(NUMBER))
    assert (late["status"], await inflows.wallet("EUR")) == ("reversed", 0)


async def test_a_permanent_number_that_an_open_account_has_is_refused(inflows: Inflows, runtime: Runtime) -> None:
    await approved(inflows, runtime)
    with pytest.raises(Conflict, match="another open account"):
        await approved(inflows, runtime)


async def test_an_open_account_of_either_kind_comes_before_a_closed_one(
    pool: Pool, inflows: Inflows, runtime: Runtime, admin: Any
) -> None:
    closed = await approved(inflows, runtime)
    await accounts.close(runtime.db, closed.id, "not used", by=OPERATOR, now=inflows.now)
    checkout, _ = await pool.pay()
    await pool.notify(credit(NUMBER))
    assert await status(checkout) == "success"
    opened = await approved(inflows, runtime, currency=Currency.EUR, holder=HOLDER)
    await pool.notify(inflow_credit(NUMBER))
    assert await admin.fetchval("SELECT account_id FROM collection") == opened.id
