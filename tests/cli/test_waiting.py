"""Processes that start before their database does."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from conftest import postgres_bin
from process import START_TIMEOUT_S, api_process, stop, supervised_by, tidegate, wait_until_ready
from receiver import receiving
from tidegate.cli.database import prepare_embedded
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment
from tidegate.infra.db import Database
from tidegate.infra.embedded import EmbeddedPostgres
from tidegate.settings import from_environment
from webhook.world import make_world


@pytest.fixture
async def postgres() -> AsyncIterator[EmbeddedPostgres]:
    """Prepared for the sandbox."""
    home = Path(tempfile.mkdtemp(prefix="tidegate-waiting-"))
    server = EmbeddedPostgres(home, bin_dir=postgres_bin(), durable=False)
    server.start()
    await deployment.prepare(server.url(), Mode.SANDBOX)
    yield server
    server.stop()
    shutil.rmtree(home, ignore_errors=True)


def answer_of(url: str, *, method: str = "GET") -> tuple[int, dict[str, Any], dict[str, str]]:
    """Status 0 when nobody listens yet."""
    request = urllib.request.Request(url, method=method, data=b"{}" if method == "POST" else None)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer), dict(answer.headers)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused), dict(refused.headers)
    except OSError:
        return 0, {}, {}


def until(is_so: Callable[[], bool], otherwise: str) -> None:
    ends_at = time.monotonic() + START_TIMEOUT_S
    while not is_so():
        assert time.monotonic() < ends_at, otherwise
        time.sleep(0.05)


async def test_the_api_starts_without_its_database_and_is_ready_once_that_is_there(postgres: EmbeddedPostgres) -> None:
    url = postgres.url()
    postgres.stop()
    with api_process(url, workers=2) as (base_url, process):
        until(lambda: answer_of(f"{base_url}/healthz")[0] == 200, "it never was alive")
        status, body, _ = answer_of(f"{base_url}/readyz")
        assert (status, body["message"]) == (503, "the database cannot be reached")
        for method, path in (("POST", "/checkout/payments"), ("GET", "/docs"), ("GET", "/pay/x"), ("GET", "/nothing")):
            status, body, headers = answer_of(f"{base_url}{path}", method=method)
            assert (status, body["errorType"], int(headers["retry-after"]) > 0) == (503, "SERVICE_UNAVAILABLE", True)
        postgres.start()
        wait_until_ready(base_url, process)
        until(lambda: answer_of(f"{base_url}/nothing")[0] == 404, "it still refuses everything")


async def test_a_process_that_is_killed_while_the_database_is_away_is_started_again(postgres: EmbeddedPostgres) -> None:
    with api_process(postgres.url()) as (base_url, process):
        wait_until_ready(base_url, process)
        postgres.stop()
        for _ in range(3):
            [child] = supervised_by(process)
            os.kill(child, signal.SIGKILL)
            until(lambda dead=child: dead not in supervised_by(process), "it was not replaced")  # type: ignore[misc]
        until(lambda: answer_of(f"{base_url}/readyz")[0] == 503, "it never said that it is not ready")
        postgres.start()
        wait_until_ready(base_url, process)


async def test_a_database_of_another_mode_is_not_served_and_the_reason_is_said(postgres: EmbeddedPostgres) -> None:
    connection = await asyncpg.connect(postgres.url())
    await connection.execute("UPDATE deployment SET mode = 'live'")
    await connection.close()
    url = postgres.url()
    postgres.stop()
    with api_process(url) as (base_url, process):
        until(lambda: answer_of(f"{base_url}/readyz")[0] == 503, "it never was alive")
        postgres.start()
        until(lambda: "belongs to live mode" in answer_of(f"{base_url}/readyz")[1]["message"], "no reason was given")
        assert answer_of(f"{base_url}/nothing")[0] == 503
        connection = await asyncpg.connect(postgres.url())
        await connection.execute("UPDATE deployment SET mode = 'sandbox'")
        await connection.close()
        wait_until_ready(base_url, process)


async def test_a_worker_starts_without_its_database_and_works_once_that_is_there(postgres: EmbeddedPostgres) -> None:
    db = Database(postgres.url())
    await db.open()
    async with receiving() as receiver, make_world(db) as world:
        await world.endpoint(receiver.url())
        await world.event()
        await db.close()
        postgres.stop()
        process = tidegate("worker", DATABASE_URL=db.url)
        try:
            [child] = supervised_by(process)
            os.kill(child, signal.SIGKILL)
            until(lambda: child not in supervised_by(process), "it was not replaced")
            postgres.start()
            await receiver.got(1, timeout_s=START_TIMEOUT_S)
            assert process.poll() is None
        finally:
            stop(process)


def test_an_embedded_database_that_ends_while_it_is_prepared_is_started_again(postgres: EmbeddedPostgres) -> None:
    """A worker that starts at this moment does not end because of it."""
    settings = replace(from_environment(), database_url=postgres.url())
    assert postgres.pid is not None
    os.kill(postgres.pid, signal.SIGKILL)
    prepare_embedded(settings, postgres)
    assert postgres.is_running()
