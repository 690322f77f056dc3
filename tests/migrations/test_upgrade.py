"""An upgrade without stopping: processes of this release go on, and start again, on a database that the next release
has migrated under load, while processes of the next release work beside them.

The next release is this one with one more migration, which adds to tables that are read as whole rows.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import httpx
import pytest

import tidegate
from build import Shop, make_shop, order
from checkout.paying import card
from process import api, run_apart
from tidegate.infra.db import Database
from tidegate.infra.migrate import latest_version
from waiting import until

CLIENTS = 3
# Paid by each side before the next step.
PROGRESS = 6
# Of the next release.
NEXT_MIGRATION = f"{latest_version() + 1:04}_loyalty.sql"
EXPAND = """
ALTER TABLE payment ADD COLUMN loyalty text;
ALTER TABLE business ADD COLUMN loyalty text;
ALTER TABLE attempt ADD COLUMN loyalty text NOT NULL DEFAULT 'none';
CREATE TABLE loyalty (
    business_id text NOT NULL CONSTRAINT loyalty_business_fk REFERENCES business (id),
    id          text NOT NULL,
    CONSTRAINT loyalty_pk PRIMARY KEY (business_id, id)
);
"""


@pytest.fixture
def next_release(tmp_path: Path) -> Path:
    """What PYTHONPATH is for it."""
    package = tmp_path / "next" / "tidegate"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(tidegate.__file__).parent, package, ignore=ignored)
    # Where a wheel has the packages of the clients.
    (package / "docs" / "clients").mkdir()
    (package / "migrations" / NEXT_MIGRATION).write_text(EXPAND)
    return package.parent


@dataclass
class Load:
    """Payments that are made, paid by card and read, by several clients, until the end."""

    shop: Shop
    paid: int = 0

    async def run(self) -> None:
        while True:
            body = order()
            made = await self._until_answered(partial(self.shop.create, body))
            path = f"/checkout/payments/{made.json()['data']['payCode']}/charge"
            charged = await self._until_answered(partial(self.shop.client.post, path, json=card()))
            seen = await self._until_answered(partial(self.shop.verify, body["reference"]))
            # One that was refused in the middle, as on a full machine, is for a worker to finish; there is none here.
            if charged.is_success:
                assert seen.json()["data"]["status"] == "success", seen.text
                self.paid += 1

    async def _until_answered(self, ask: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
        """A refusal that may be repeated is; a charge that had its effect before its refusal is answered with 409."""
        for _ in range(100):
            answer = await ask()
            # 408: this machine was too busy to send its own request.
            if answer.status_code not in (408, 503):
                assert answer.is_success or answer.status_code == 409, answer.text
                return answer
            await asyncio.sleep(0.05)
        raise AssertionError(answer.text)

    async def goes_on(self, tasks: list[asyncio.Task[None]]) -> None:
        wanted = self.paid + PROGRESS

        async def has_paid() -> bool:
            for task in tasks:
                if task.done():
                    task.result()
            return self.paid >= wanted

        await until(has_paid)


@asynccontextmanager
async def loaded(base_url: str, shop: Shop) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Gives what waits for more payments."""
    async with httpx.AsyncClient(base_url=base_url, timeout=60) as client:
        load = Load(replace(shop, client=client))
        tasks = [asyncio.create_task(load.run()) for _ in range(CLIENTS)]
        try:
            yield lambda: load.goes_on(tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def test_this_release_works_on_the_database_of_the_next(
    make_database: Callable[[str], Awaitable[str]], next_release: Path
) -> None:
    url = await make_database("tidegate_test_upgrade")
    database = Database(url)
    await database.open()
    async with httpx.AsyncClient() as unused:
        shop = await make_shop(database, unused, rate_per_second=100_000, rate_burst=100_000)
    await database.close()
    with api(url) as (this, _):
        async with loaded(this, shop) as this_goes_on:
            await this_goes_on()
            code, said = await asyncio.to_thread(run_apart, "migrate", DATABASE_URL=url, PYTHONPATH=str(next_release))
            assert (code, NEXT_MIGRATION in said) == (0, True), said
            await this_goes_on()
            with api(url, PYTHONPATH=str(next_release)) as (other, _):
                async with loaded(other, shop) as other_goes_on:
                    await asyncio.gather(this_goes_on(), other_goes_on())
    # And back: a process of this release starts where the next one has been.
    with api(url) as (this, _):
        async with loaded(this, shop) as this_goes_on:
            await this_goes_on()
