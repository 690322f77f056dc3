"""Carries what the sandbox's rail has to tell to our own intake, as the rail's servers would."""

from __future__ import annotations

from datetime import datetime

import structlog

from tidegate.core.errors import Refusal, Unavailable
from tidegate.intake import commands as intake
from tidegate.rail.sandbox import SandboxRail
from tidegate.rail.till import Till

BATCH = 50

log = structlog.get_logger("teller")


async def tell(till: Till, now: datetime) -> int:
    rail = till.rails["sandbox"]
    assert isinstance(rail, SandboxRail)
    notices = await rail.due(now=now, limit=BATCH)
    for notice in notices:
        try:
            await intake.receive(till, rail.name, notice.raw, now=now)
        except Unavailable:
            raise  # Told again when the lease on it has ended.
        except Refusal as refused:
            log.error("the sandbox's own notice was refused", why=refused.message)
    await rail.sent(notices, now=now)
    return len(notices)
