"""`python -m bench.dashboard --rows 1000000`: pages of the dashboard of one business with many payments.

Payments are loaded straight into a PostgreSQL of its own, which goes afterwards. Each page is asked for in turn, by the
application in this process, so that only the server's own time is in the numbers.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click
import httpx
from rich.console import Console

from tidegate import app
from tidegate.core import ids
from tidegate.core.clock import SystemClock, monotonic_s
from tidegate.core.ids import Mode
from tidegate.dashboard.paging import place_of
from tidegate.deployment import commands as deployment
from tidegate.infra import db as database
from tidegate.infra.db import Database
from tidegate.infra.embedded import EmbeddedPostgres
from tidegate.infra.http.application import Application
from tidegate.member import session_store, store, team_store
from tidegate.member.model import hash_of_token, new_token
from tidegate.member.permission import Role
from tidegate.merchant import commands as merchants
from tidegate.settings import Settings

console = Console(stderr=True)
APART = timedelta(seconds=45)

# One a minute or less, so that a million is a year and a half; 7 of 10 are paid, one of 200 differs.
_PAYMENTS = """
    INSERT INTO payment (business_id, pay_code, reference, currency, asked_minor, expected_minor, received_minor,
                         fee_bearer, fee_rule_id, fee_minor, vat_minor, settled_minor, methods, default_method, method,
                         status, variance, customer_name, customer_email, request_hash, paid_at, expires_at, created_at,
                         updated_at)
    SELECT $1, 'tg_bench_' || number, 'ORDER-' || number, currency, minor, minor,
           CASE WHEN is_paid THEN minor + gap ELSE 0 END, 'business', 'rule',
           CASE WHEN is_paid THEN 0 END, CASE WHEN is_paid THEN 0 END, CASE WHEN is_paid THEN minor + gap END,
           '{card,bank_transfer}', method, CASE WHEN is_paid THEN method END,
           CASE WHEN is_paid THEN 'success' WHEN number % 10 = 8 THEN 'failed' ELSE 'expired' END,
           CASE WHEN is_paid AND gap > 0 THEN 'overpayment' END,
           (ARRAY['Ada','Bola','Chidi','Efua','Fatou','Grace','Hauwa','Ife'])[1 + number % 8] || ' '
               || (ARRAY['Obi','Ade','Eze','Mensah','Diop'])[1 + number % 5] || ' ' || number % 40000,
           'payer-' || number % 40000 || '@example.com', '', CASE WHEN is_paid THEN at END, at, at, at
      FROM generate_series($3::integer, $4::integer) AS number,
           LATERAL (SELECT number % 10 < 7 AS is_paid,
                           CASE WHEN number % 9 = 0 THEN 'KES' ELSE 'NGN' END AS currency,
                           CASE WHEN number % 3 = 0 OR number % 9 = 0 THEN 'bank_transfer' ELSE 'card' END AS method,
                           10000 + (number::bigint * 7919) % 5000000 AS minor,
                           CASE WHEN number % 200 = 0 THEN 2000 ELSE 0 END AS gap,
                           $2::timestamptz - ($5::integer - number) * $6::interval AS at) AS given
"""
_TAKINGS = """
    INSERT INTO takings (business_id, hour, currency, method, payments, received_minor, fee_minor, settled_minor)
    SELECT business_id, date_trunc('hour', paid_at), currency, method, count(*), sum(received_minor), 0,
           sum(settled_minor)
      FROM payment WHERE status = 'success' GROUP BY 1, 2, 3, 4
"""
PAGES = {
    "Home": "",
    "list": "/payments",
    "list, page 2": "/payments?before={middle}",
    "status failed": "/payments?status=failed",
    "paid, NGN, by card": "/payments?status=success&currency=NGN&method=card",
    "is:over": "/payments?q=is:over",
    "e-mail": "/payments?q=payer-7@example.com",
    "name": "/payments?q=name:Grace+Obi",
    "reference, few": "/payments?q=ORDER-7777",
    "reference, all": "/payments?q=ORDER-",
    "amount, few": "/payments?q=amount:50000",
    "amount, most": "/payments?q=%3E500",
    "nothing fits": "/payments?q=Nobody",
    "a day": "/payments?from={day}&to={day}",
    "detail": "/payments/tg_bench_{some}",
    "palette": "/find?q=ada",
}


@click.command()
@click.option("--rows", type=click.IntRange(1_000, 100_000_000), default=1_000_000, show_default=True)
@click.option("--rounds", type=click.IntRange(1, 1_000), default=40, show_default=True)
def main(rows: int, rounds: int) -> None:
    """Measure pages of the dashboard with many payments in one business."""
    home = Path(tempfile.mkdtemp(prefix="tidegate-bench-"))
    postgres = EmbeddedPostgres(home, durable=False)
    postgres.start()
    try:
        asyncio.run(_measure(postgres.url(), rows, rounds, home))
    finally:
        postgres.stop()
        shutil.rmtree(home, ignore_errors=True)


async def _measure(url: str, rows: int, rounds: int, home: Path) -> None:
    await deployment.prepare(url, Mode.SANDBOX)
    now = SystemClock().now()
    db = Database(url, connections_max=2)
    await db.open()
    new = await merchants.create(db, name="Bench", email="bench@example.com", mode=Mode.SANDBOX, now=now)
    began = monotonic_s()
    await _load(url, new.business.id, rows, now)
    console.print(f"{rows:,} payments in {monotonic_s() - began:.0f} s")
    # Only now: a session that is not used ends after half an hour.
    cookie = await _sign_in(db, new.business.id, SystemClock().now())
    settings = replace(Settings(), database_url=url, home=home, encryption_keys=(b"x" * 32,), has_docs=False)
    async with _living(app.build(settings)) as application:
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(application), base_url=settings.base_url, timeout=60,
            cookies={"tidegate-session": cookie},
        )  # fmt: skip
        middle = place_of(now - (rows - rows // 2) * APART, rows // 2)
        click.echo("| page | p50, ms | p95, ms |\n|---|--:|--:|")
        for name, below in PAGES.items():
            path = below.format(middle=middle, some=rows // 3 * 3 - 3, day=f"{now:%Y-%m-%d}")
            took = [await _time(client, f"/dashboard/{new.business.code}{path}") for _ in range(rounds + 3)][3:]
            click.echo(f"| {name} | {statistics.median(took):.1f} | {sorted(took)[int(len(took) * 0.95)]:.1f} |")
        await _export(client, f"/dashboard/{new.business.code}/payments.csv?q=ORDER-7777")
    await db.close()


async def _sign_in(db: Database, business_id: str, now: datetime) -> str:
    token = new_token()
    token_hash = hash_of_token(token)
    async with db.transaction() as tx:
        member = await store.insert_person(
            tx, person_id=ids.new_person_id(), email="owner@example.com", name="Ada", password_hash=None, now=now
        )
        assert member is not None
        assert token_hash is not None
        await team_store.put(tx, business_id, member.id, Role.OWNER, now=now)
        await session_store.insert(tx, token_hash, member, is_complete=True, browser="", address="127.0.0.1", now=now)
    return token


async def _load(url: str, business_id: str, rows: int, now: datetime) -> None:
    connection = await database.connect(url)
    for start in range(1, rows + 1, 100_000):
        await connection.execute(_PAYMENTS, business_id, now, start, min(start + 99_999, rows), rows, APART)
    await connection.execute(_TAKINGS)
    await connection.execute("VACUUM ANALYZE payment, takings")
    await connection.close()


async def _time(client: httpx.AsyncClient, path: str) -> float:
    began = monotonic_s()
    answer = await client.get(path)
    took = (monotonic_s() - began) * 1_000
    if answer.status_code != 200:
        raise click.ClickException(f"{path}: {answer.status_code}")
    return took


async def _export(client: httpx.AsyncClient, path: str) -> None:
    began = monotonic_s()
    count = (await client.get(path)).text.count("\n") - 1
    console.print(f"CSV: {count:,} rows in {monotonic_s() - began:.2f} s")


@asynccontextmanager
async def _living(application: Application) -> AsyncIterator[Application]:
    """Started and stopped as a server does it."""
    told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    is_started = asyncio.Event()

    async def send(message: Any) -> None:
        is_started.set()

    await told.put({"type": "lifespan.startup"})
    task = asyncio.create_task(application({"type": "lifespan"}, told.get, send))
    await is_started.wait()
    yield application
    await told.put({"type": "lifespan.shutdown"})
    await task


if __name__ == "__main__":
    main()
