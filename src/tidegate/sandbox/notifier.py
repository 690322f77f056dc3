"""Sends the sandbox rail's notifications to our own intake, as a rail's servers would."""

from __future__ import annotations

import structlog

from tidegate.core.clock import Clock, ShiftedClock
from tidegate.core.errors import Refusal, Unavailable
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import RoundResult
from tidegate.intake import commands as intake
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.event import RawNotification
from tidegate.rail.sandbox import SandboxRail

log = structlog.get_logger("sandbox")


async def send_notifications(deps: PaymentDeps, clock: Clock) -> RoundResult:
    rail = deps.rails["sandbox"]
    assert isinstance(rail, SandboxRail)

    async def carry(lease: Lease, raw: RawNotification) -> None:
        # Due by the clock offset in the database, which this process may not have loaded yet.
        if isinstance(clock, ShiftedClock):
            clock.learn(lease.business_id, lease.ahead)
        try:
            await intake.receive(deps, rail.name, raw, clock)
        except Unavailable:
            raise
        except Refusal as refused:
            log.error("notification of the sandbox's rail was refused", why=refused.message)

    return await rail.send_notifications(carry, clock)
