"""Carries what the sandbox's rail has to tell to our own intake, as the rail's servers would."""

from __future__ import annotations

import structlog

from tidegate.core.clock import Clock, ShiftedClock
from tidegate.core.errors import Refusal, Unavailable
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import Tally
from tidegate.intake import commands as intake
from tidegate.rail.interface import RawNotification
from tidegate.rail.sandbox import SandboxRail
from tidegate.rail.till import Till

log = structlog.get_logger("teller")


async def tell(till: Till, clock: Clock) -> Tally:
    rail = till.rails["sandbox"]
    assert isinstance(rail, SandboxRail)

    async def carry(lease: Lease, raw: RawNotification) -> None:
        # It is due by the time in the database, which this process may not have heard of yet.
        if isinstance(clock, ShiftedClock):
            clock.learn(lease.business_id, lease.ahead)
        try:
            await intake.receive(till, rail.name, raw, clock)
        except Unavailable:
            raise
        except Refusal as refused:
            log.error("the sandbox's own notice was refused", why=refused.message)

    return await rail.tell_all(carry, clock)
