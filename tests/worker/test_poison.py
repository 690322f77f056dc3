"""One row that cannot be worked on, among a hundred: it delays no other, and is done when its cause is fixed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bank.world import BankWorld
from cli.operating import Operator
from conftest import MakeCheckout
from inflow import Inflows
from settable_clock import SettableClock
from tidegate import worker
from tidegate.core.ids import Mode
from tidegate.infra.leased_work import BATCH, FAILURES_MAX, PAUSE_MAX, RoundResult, next_try_at
from tidegate.retention.commands import KINDS, LIVE_KINDS, SANDBOX_KINDS
from tidegate.settings import Settings
from worker.poison import AS_REPLICA, POISONS, ROWS, Poison, Scene

ROUNDS_MAX = 10

pytestmark = pytest.mark.breaks_the_books


# Of a worker in either mode.
LOOPS = {
    loop.name: loop for mode in (Mode.SANDBOX, Mode.LIVE) for loop in worker.loops_of(replace(Settings(), mode=mode))
}


@pytest.fixture
def scene(inflows: Inflows, new_checkout: MakeCheckout, admin: Any, database_url: str, tmp_path: Path) -> Scene:
    bank = BankWorld.of(inflows.shop, inflows.runtime, admin, tmp_path)
    return Scene(admin, inflows, new_checkout, Operator(database_url, tmp_path), bank)


async def rounds(scene: Scene, clock: SettableClock, poison: Poison) -> list[RoundResult]:
    """Of the worker's own loop, until there is nothing to do."""
    loop, deps = LOOPS[poison.kind], poison.deps(scene)
    tallies: list[RoundResult] = []
    with capture_logs():  # To write twenty traces takes longer than all the rest.
        while any(tally := await loop.round(deps, clock)):
            tallies.append(tally)
            assert len(tallies) <= ROUNDS_MAX, tallies
    return tallies


async def the_failed(admin: Any) -> Any:
    [row] = await admin.fetch("SELECT * FROM leased_work WHERE failures > 0")
    return row


async def parked_work(operator: Operator) -> str:
    _, said = await operator.run("doctor", "--json")
    [what] = [finding["what"] for finding in json.loads(said) if finding["subject"] == "parked work"]
    return str(what)


@pytest.mark.parametrize(
    "poison",
    [
        pytest.param(
            poison,
            id=poison.kind,
            marks=[pytest.mark.one_server("a row past its foreign key")] if AS_REPLICA in poison.cause else [],
        )
        for poison in POISONS
    ],
)
async def test_one_broken_row_delays_no_other_and_is_done_once_its_cause_is_fixed(poison: Poison, scene: Scene) -> None:
    operator, admin = scene.operator, scene.admin
    await poison.make(scene)
    await admin.execute(poison.cause)
    clock = SettableClock(scene.inflows.runtime.clock.now() + poison.after)

    # As many rounds as a hundred good rows would take.
    tallies = await rounds(scene, clock, poison)
    assert len(tallies) == ROWS / BATCH
    assert (await admin.fetchval(poison.done), sum(tally.failed for tally in tallies)) == (ROWS - 1, 1)

    for failures in (1, 2, 3):
        row = await the_failed(admin)
        assert (row["kind"], row["failures"], row["lease_token"], row["parked_at"]) == (
            poison.kind,
            failures,
            None,
            None,
        )
        assert row["next_try_at"] == next_try_at(failures, now=clock.now())
        clock.advance(row["next_try_at"] - clock.now())
        await rounds(scene, clock, poison)
    # The failures in between are like these.
    await admin.execute(
        "UPDATE leased_work SET failures = $1, next_try_at = $2 WHERE failures > 0", FAILURES_MAX - 1, clock.now()
    )
    await rounds(scene, clock, poison)

    row = await the_failed(admin)
    assert (row["failures"], row["parked_at"]) == (FAILURES_MAX, clock.now())
    clock.advance(PAUSE_MAX * 2)
    await rounds(scene, clock, poison)
    assert (await the_failed(admin))["failures"] == FAILURES_MAX
    said = await parked_work(operator)
    assert all(part in said for part in (poison.kind, row["business_id"], row["id"], row["last_error"]))

    await admin.execute(poison.cure)
    await operator.said("job", "retry", poison.kind, row["business_id"], row["id"])
    await rounds(scene, clock, poison)
    assert await admin.fetchval(poison.done) == ROWS
    assert await admin.fetchval("SELECT count(*) FROM leased_work") == 0
    assert await parked_work(operator) == "no background work has failed too often"


def test_every_loop_of_the_worker_is_poisoned_or_has_no_rows_of_its_own() -> None:
    without_rows = {
        "purge_leases",
        "roll_up_takings",
        "trade_sample_days",
        "prove_books",
        "watch_alarms",
        "end_void_proposals",
    }
    # One that fails is left for a while, see tests/console/test_erasures.py.
    without_rows |= {"erase_payers"}
    # Files: a broken one is put aside, see tests/bank/test_import.py.
    without_rows |= {"import_bank_files"} | {f"remove_{kind.name}" for kind in (*KINDS, *LIVE_KINDS, *SANDBOX_KINDS)}
    assert set(LOOPS) == {poison.kind for poison in POISONS} | without_rows


async def test_failed_work_is_listed_and_retried_by_its_names(scene: Scene) -> None:
    operator, admin = scene.operator, scene.admin
    assert "No background work has failed" in await operator.said("job", "list")
    poison = POISONS[0]
    await poison.make(scene)
    await admin.execute(poison.cause)
    await rounds(scene, SettableClock(scene.inflows.now + poison.after), poison)
    [listed] = await operator.json("job", "list")
    row = await the_failed(admin)
    assert listed == {
        "kind": poison.kind, "businessId": row["business_id"], "id": row["id"], "failures": 1, "isParked": False,
        "lastError": row["last_error"],
    }  # fmt: skip
    assert row["last_error"].startswith("ValidationError: ")
    said = await operator.said("job", "list")
    assert all(part in said for part in (poison.kind, row["id"], "tried again"))
    assert await operator.json("job", "list", "--parked") == []
    assert "No failed row" in await operator.refused("job", "retry", poison.kind, row["business_id"], "another")
    assert "1 tried again" in await operator.said("job", "retry", poison.kind)
    assert await operator.json("job", "list") == []
