"""Background work at once: rows that failed are tried again, a whole job is run."""

from __future__ import annotations

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.clock import Clock, SystemClock
from tidegate.core.errors import NotFound
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra import job_round_store, lease_store
from tidegate.infra.db import Database
from tidegate.webhook import log_store
from tidegate.webhook.model import EVENT_CHANNEL
from tidegate.webhook.queue_store import DELIVER


async def retry(db: Database, kind: str, *, business_id: str | None, id_: str | None, by: Actor, clock: Clock) -> int:
    """One row, all of a business, or all of a kind; those in progress are left alone. How many."""
    async with db.transaction() as tx:
        released = await lease_store.retry(tx, kind, business_id=business_id, id_=id_)
        if kind == DELIVER:
            for business, delivery_id in released:
                await log_store.resend(tx, business, int(delivery_id), now=clock.now_of(business))
        if released:
            await audit.insert(
                tx, business_id or PLATFORM_BUSINESS_ID, by, action="job.retried", subject=id_ or kind,
                details={"kind": kind, "rows": len(released)}, now=clock.now(),
            )  # fmt: skip
    db.notify(EVENT_CHANNEL)
    return len(released)


async def run(db: Database, job: str, *, by: Actor) -> None:
    """A round within seconds, in each worker that runs."""
    now = SystemClock().now()
    async with db.transaction() as tx:
        if not await job_round_store.want(tx, job, now=now):
            raise NotFound(f"no worker has run a job {job}; `tidegate job rounds` shows those there are")
        await audit.insert(tx, PLATFORM_BUSINESS_ID, by, action="job.run", subject=job, details={}, now=now)
