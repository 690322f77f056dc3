"""Behind a real PgBouncer that gives another session to each transaction."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import httpx
import pytest

from build import make_shop, order
from checkout.paying import card
from conftest import postgres_bin
from process import START_TIMEOUT_S, api, free_port, stop, tidegate
from receiver import receiving
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment
from tidegate.infra.db import Database
from tidegate.infra.embedded import EmbeddedPostgres
from waiting import until

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
LOGIN = "pooled"
PAYMENTS = 12

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed: apt-get install pgbouncer")


@dataclass
class Pooled:
    """As an operator has it: an address through the pooler, one without, and a login for both."""

    url: str
    direct_url: str
    owner_url: str

    @property
    def environment(self) -> dict[str, str]:
        return {"TIDEGATE_POOLER": "transaction", "DATABASE_DIRECT_URL": self.direct_url}


@pytest.fixture
async def pooled() -> AsyncIterator[Pooled]:
    home = Path(tempfile.mkdtemp(prefix="tidegate-pooled-"))
    postgres = EmbeddedPostgres(home, bin_dir=postgres_bin(), durable=False)
    postgres.start()
    await deployment.prepare(postgres.url(), Mode.SANDBOX)
    await let_login_in(postgres.url(), home)
    folder = Path(tempfile.mkdtemp(prefix="tidegate-pgbouncer-"))
    port = free_port()
    process = start_pooler(folder, home, postgres.url(), port)
    direct_url = postgres.url().replace("//tidegate@", f"//{LOGIN}@")
    try:
        made = Pooled(f"postgresql://{LOGIN}@127.0.0.1:{port}/tidegate", direct_url, postgres.url())
        await until_it_answers(made.url)
        yield made
    finally:
        process.terminate()
        process.wait()
        postgres.stop()
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


async def let_login_in(owner_url: str, home: Path) -> None:
    rules = next(home.glob("postgres-*.hba"))  # noqa: ASYNC240 - nothing else runs meanwhile
    rules.write_text(f"local all {LOGIN} trust\n{rules.read_text()}")
    owner = await asyncpg.connect(owner_url)
    await owner.execute(f"CREATE ROLE {LOGIN} LOGIN; GRANT tidegate_app TO {LOGIN}; SELECT pg_reload_conf()")
    await owner.close()


def start_pooler(folder: Path, home: Path, owner_url: str, port: int) -> subprocess.Popen[bytes]:
    account = next(home.glob("postgres-*")).owner()
    sockets = httpx.URL(owner_url.replace("postgresql://", "http://x/", 1)).params
    lines = [
        "[databases]",
        f"* = host={sockets['host']} port={sockets['port']}",
        "[pgbouncer]",
        "listen_addr = 127.0.0.1",
        f"listen_port = {port}",
        "unix_socket_dir =",
        "auth_type = trust",
        f"auth_file = {folder / 'users'}",
        "pool_mode = transaction",
        # Fewer than there are clients, so that sessions are shared.
        "default_pool_size = 3",
        *([f"user = {account}"] if os.geteuid() == 0 else []),
    ]
    folder.chmod(0o755)
    (folder / "users").write_text(f'"{LOGIN}" ""\n')
    (folder / "pgbouncer.ini").write_text("\n".join(lines))
    assert PROGRAM is not None
    return subprocess.Popen([PROGRAM, "-q", str(folder / "pgbouncer.ini")])


async def until_it_answers(url: str) -> None:
    async with asyncio.timeout(START_TIMEOUT_S):
        while True:
            try:
                connection = await asyncpg.connect(url, statement_cache_size=0)
            except (OSError, asyncpg.PostgresError):
                await asyncio.sleep(0.1)
            else:
                await connection.close()
                return


async def give_settings(owner_url: str) -> None:
    """What the refusal of a login without them says."""
    owner = await asyncpg.connect(owner_url)
    await owner.execute(
        f"ALTER ROLE {LOGIN} SET role = 'tidegate_app'; ALTER ROLE {LOGIN} SET statement_timeout = '5s'; "
        f"ALTER ROLE {LOGIN} SET lock_timeout = '2s'; "
        f"ALTER ROLE {LOGIN} SET idle_in_transaction_session_timeout = '10s'; ALTER ROLE {LOGIN} SET jit = off"
    )
    # Sessions that the pooler opened before have the old ones.
    await owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", LOGIN)
    await owner.close()


async def test_payments_are_created_verified_paid_and_notified_through_a_pooler(pooled: Pooled) -> None:
    await give_settings(pooled.owner_url)
    db = Database(pooled.owner_url)
    await db.open()
    environment = {**pooled.environment, "TIDEGATE_TRUSTED_PROXIES": "1"}
    worker = tidegate("worker", DATABASE_URL=pooled.url, **environment)
    try:
        with api(pooled.url, workers=2, **environment) as (base_url, _):
            async with httpx.AsyncClient(base_url=base_url, timeout=30) as client, receiving() as receiver:
                shop = await make_shop(db, client, rate_per_second=100_000, rate_burst=100_000)
                endpoint = {"url": receiver.url(), "ratePerSecond": 1_000}
                made = await client.post("/webhooks/endpoints", json=endpoint, headers={"api-key": shop.secret_key})
                assert made.status_code == 201, made.text

                async def buy(number: int) -> str:
                    created = await shop.create(order())
                    assert created.status_code == 201, created.text
                    data = created.json()["data"]
                    path, payer = f"/checkout/payments/{data['payCode']}/charge", f"10.0.0.{number + 1}"
                    charged = await client.post(path, json=card(), headers={"x-forwarded-for": payer})
                    assert charged.status_code == 200, charged.text
                    return str((await shop.verify(data["reference"])).json()["data"]["status"])

                statuses = await asyncio.gather(*(buy(number) for number in range(PAYMENTS)))
                assert statuses == ["success"] * PAYMENTS
                await receiver.got(PAYMENTS, timeout_s=START_TIMEOUT_S)
    finally:
        stop(worker)
        await db.close()


async def test_a_login_whose_statements_would_be_compiled_is_refused(pooled: Pooled) -> None:
    """asyncpg asks each new connection about its types; compiling that takes a second each time."""
    await give_settings(pooled.owner_url)
    owner = await asyncpg.connect(pooled.owner_url)
    await owner.execute(f"ALTER ROLE {LOGIN} SET jit = on")
    await owner.close()
    process = tidegate("serve", DATABASE_URL=pooled.direct_url, PORT="0", TIDEGATE_POOLER="transaction")
    said, _ = await asyncio.to_thread(process.communicate, timeout=START_TIMEOUT_S)
    assert process.returncode == 1
    assert "ALTER ROLE login SET jit = off" in said


async def test_the_worker_goes_without_the_pooler(pooled: Pooled) -> None:
    """Its proof of the books takes longer than a pooler lets a statement run."""
    worker = tidegate("worker", DATABASE_URL=f"postgresql://{LOGIN}@127.0.0.1:{free_port()}/none", **pooled.environment)
    owner = await asyncpg.connect(pooled.owner_url)
    try:
        await until(lambda: owner.fetchval("SELECT count(*) FROM proof"))
    finally:
        await owner.close()
        stop(worker)


async def test_a_login_with_other_rights_is_refused_with_what_to_do(pooled: Pooled) -> None:
    process = tidegate("serve", DATABASE_URL=pooled.url, PORT="0", **pooled.environment)
    said, _ = await asyncio.to_thread(process.communicate, timeout=START_TIMEOUT_S)
    assert process.returncode == 1
    assert f"works as {LOGIN}" in said
    assert "ALTER ROLE login SET role = 'tidegate_app'" in said
