"""A delivery that cannot be sent, or whose result cannot be written: the others arrive, and it has its own schedule."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from cli.operating import Operator
from receiver import Receiver, receiving
from tidegate.infra.db import Database
from tidegate.webhook.schedule import ATTEMPTS_MAX
from webhook.world import World, make_world

DELIVERIES = 100
DELIVERED = "SELECT count(*) FROM webhook_delivery WHERE status = 'delivered'"


@pytest.fixture
async def world(db: Database) -> AsyncIterator[World]:
    async with make_world(db) as made:
        yield made


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as made:
        yield made


async def run_until(world: World, admin: Any, question: str, wanted: int) -> None:
    """The sender itself, with its own loops."""
    with capture_logs():
        task = asyncio.create_task(world.sender.run(grace_s=0))
        try:
            async with asyncio.timeout(120):
                found = -1
                while found != wanted:
                    await asyncio.sleep(0.05)
                    found = await admin.fetchval(question)
                    assert not task.done()
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def queue(world: World, receiver: Receiver, admin: Any) -> int:
    """A hundred deliveries; gives the first."""
    await world.endpoint(receiver.url(), rate_per_second=10_000)
    for _ in range(DELIVERIES):
        await world.event()
    await world.sender.fan_out()
    return int(await admin.fetchval("SELECT min(id) FROM webhook_delivery"))


async def test_a_result_that_cannot_be_written_delays_no_other_and_is_shown(
    world: World, receiver: Receiver, admin: Any, database_url: str, tmp_path: Path
) -> None:
    operator, first = Operator(database_url, tmp_path), await queue(world, receiver, admin)
    # The attempt that would be written is there already.
    await admin.execute(
        "INSERT INTO webhook_attempt (business_id, delivery_id, number, url, started_at, error) "
        "VALUES ($1, $2, 1, 'x', $3, 'x')",
        world.business_id, first, world.clock.now(),
    )  # fmt: skip
    failed = "(SELECT count(*) FROM leased_work WHERE failures = 1)"
    await run_until(world, admin, f"SELECT 1000 * {failed} + ({DELIVERED})", 1000 + DELIVERIES - 1)
    row = await admin.fetchrow("SELECT * FROM webhook_delivery WHERE id = $1", first)
    assert (row["status"], row["failures"], row["lease_token"]) == ("pending", 1, None)
    assert row["due_at"] > world.clock.now()

    await admin.execute("UPDATE webhook_delivery SET failures = $2 WHERE id = $1", first, ATTEMPTS_MAX - 1)
    world.later(days=1)
    await run_until(world, admin, "SELECT count(*) FROM webhook_delivery WHERE status = 'exhausted'", 1)
    _, said = await operator.run("doctor", "--json")
    [what] = [finding["what"] for finding in json.loads(said) if finding["subject"] == "parked work"]
    assert all(part in what for part in ("deliver_webhooks", world.business_id, str(first), "UniqueViolation"))

    await admin.execute("DELETE FROM webhook_attempt WHERE delivery_id = $1", first)
    await operator.said("job", "retry", "deliver_webhooks", world.business_id, str(first))
    world.clock.advance(
        await admin.fetchval("SELECT due_at FROM webhook_delivery WHERE id = $1", first) - world.clock.now()
    )
    await run_until(world, admin, DELIVERED, DELIVERIES)


async def test_a_delivery_that_cannot_be_sent_follows_its_schedule(
    world: World, receiver: Receiver, admin: Any
) -> None:
    first = await queue(world, receiver, admin)
    await world.endpoint(receiver.url("/broken"))
    # What the vault cannot even read.
    await admin.execute(
        "UPDATE webhook_secret SET sealed = 'v1:nonsense' WHERE endpoint_id <> "
        "(SELECT endpoint_id FROM webhook_delivery WHERE id = $1)",
        first,
    )
    await world.event()
    failed = "(SELECT count(*) FROM webhook_delivery WHERE failures = 1)"
    await run_until(world, admin, f"SELECT 1000 * {failed} + ({DELIVERED})", 1000 + DELIVERIES + 1)
    [row] = await admin.fetch("SELECT * FROM webhook_delivery WHERE failures = 1")
    assert (row["status"], row["lease_token"], row["due_at"] > world.clock.now()) == ("pending", None, True)
