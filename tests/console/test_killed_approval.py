"""A server that is killed in the middle of an approval has done it once or not at all."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from console.people import SignedInStaff
from console.test_staff_approvals import decide, held, proposed
from inflow import Inflows
from process import api
from waiting import until, until_waiting

pytestmark = pytest.mark.usefixtures("unlimited")


@pytest.fixture
def victim(database_url: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Another server of the same deployment."""
    with api(database_url) as running:
        yield running


async def test_it_is_approved_once_by_whoever_asks_again(
    victim: tuple[str, subprocess.Popen[str]], operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows,
    admin: Any,
) -> None:  # fmt: skip
    address, server = victim
    reference = await held(inflows)
    approval = await proposed(operator, reference)
    business_id = inflows.shop.business_id
    async with httpx.AsyncClient(base_url=address, cookies=approver.client.cookies, timeout=60) as client:
        async with inflows.runtime.db.transaction() as tx:
            # The approval is decided in its transaction, and then waits for the inflow.
            await tx.execute(
                "SELECT FROM collection WHERE business_id = $1 AND reference = $2 FOR UPDATE", business_id, reference
            )
            deciding = asyncio.create_task(decide(replace(approver, client=client), approval))
            await until_waiting(admin, unless=deciding)
            os.killpg(server.pid, signal.SIGKILL)
            with pytest.raises(httpx.TransportError):
                await deciding
        # What the database still does of it comes to nothing.
        assert await admin.fetchval("SELECT status FROM approval") == "open"
        assert (await inflows.get(reference))["status"] == "pending"

    async def is_approved() -> bool:
        """What was killed may still have the approval for a moment."""
        return (await decide(approver, approval)).status_code == 303

    await until(is_approved)
    assert (await inflows.get(reference))["status"] == "successful"
    assert (await inflows.journals())["held_settled"] == 1
