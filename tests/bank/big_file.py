"""A bank file of 100,000 entries, imported and recorded to the end: how long, and in how much memory. It takes many
minutes, and is run by its name: `pytest -s tests/bank/big_file.py`. `TIDEGATE_TEST_ENTRIES` makes it smaller."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from pathlib import Path
from typing import Any

from bank.world import BankWorld
from bank_file_maker import camt_file, entry
from build import Shop
from conftest import check_books
from tidegate.bank_file import imports, record
from tidegate.runtime import Runtime

ENTRIES = int(os.environ.get("TIDEGATE_TEST_ENTRIES", "100000"))
SHOWN_EVERY = 5_000
MB = 1_000_000
KILOBYTE = 1_024


def write_file(path: Path, number: str) -> None:
    """Half of them for an account, half without an owner."""
    owners = [None, number]
    many = [entry("1.00", reference=f"R{n}", end_to_end_id=f"E{n}", destination=owners[n % 2]) for n in range(ENTRIES)]
    path.write_bytes(camt_file(*many))


def memory_mb() -> int:
    """The most that this process has used."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KILOBYTE // MB


async def test_a_big_file_is_recorded_to_the_end(shop: Shop, runtime: Runtime, admin: Any, tmp_path: Path) -> None:
    bank = BankWorld.of(shop, runtime, admin, tmp_path)
    path = tmp_path / "big.xml"
    # In a process of its own, so that only reading it counts.
    writer = multiprocessing.get_context("spawn").Process(target=write_file, args=(path, await bank.account()))
    writer.start()
    writer.join()
    before, begun = memory_mb(), time.monotonic()
    print(f"\n{ENTRIES} entries, {path.stat().st_size // MB} MB; {before} MB of memory before")
    made = await imports.import_file(bank.deps, bank.settings, path, now=bank.now)
    assert made.entry_count == ENTRIES
    print(f"imported in {time.monotonic() - begun:.0f} s, {memory_mb()} MB at most")
    begun, done = time.monotonic(), 0
    while round_ := (await record.record_entries(bank.deps, runtime.clock)).done:
        if done // SHOWN_EVERY != (done + round_) // SHOWN_EVERY:
            print(f"{done + round_} recorded in {time.monotonic() - begun:.0f} s, {memory_mb()} MB at most", flush=True)
        done += round_
    assert done == ENTRIES
    assert await admin.fetchval("SELECT count(*) FROM collection") == ENTRIES // 2
    assert await admin.fetchval("SELECT count(*) FROM receipt WHERE outcome = 'suspense'") == ENTRIES - ENTRIES // 2
    await check_books(runtime)
