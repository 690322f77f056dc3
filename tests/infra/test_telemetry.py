from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import httpx
import pytest
import structlog

from build import make_shop, order
from conftest import log_plainly
from process import api, free_port
from serving import metrics_of, serving_app
from tidegate import app
from tidegate.infra.db import Database
from tidegate.infra.telemetry import MASK, Meter, configure_logs
from tidegate.settings import Settings

ASKED = 40


@pytest.fixture
def fresh_logs() -> Iterator[None]:
    yield
    log_plainly()


def test_private_fields_are_masked_and_an_event_is_one_line(
    fresh_logs: None, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    configure_logs(as_json=True, level="info")
    structlog.get_logger().info("odd\nevent\x1b[31m", email="ada@example.com", api_key="sk_test_x", status=201)
    lines = capfdbinary.readouterr().err.splitlines()
    assert len(lines) == 1
    event = json.loads(lines[0])
    assert (event["email"], event["api_key"], event["status"]) == (MASK, MASK, 201)
    assert event["timestamp"].endswith("Z")
    assert b"\x1b" not in lines[0]


def test_a_trace_shows_no_local_variables(fresh_logs: None, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    configure_logs(as_json=True, level="info")
    secret_in_a_variable = "sk_test_" + "hidden"
    try:
        assert secret_in_a_variable == "something else"
    except AssertionError as error:
        structlog.get_logger().error("failed", exc_info=RuntimeError("told", error.__class__))
    assert b"sk_test_hidden" not in capfdbinary.readouterr().err


async def test_a_request_is_logged_with_its_id_and_caller_but_nothing_private(
    capsys: pytest.CaptureFixture[str], database_url: str, db: Database
) -> None:
    with api(database_url, TIDEGATE_LOG_LEVEL="debug") as (base_url, _):
        async with httpx.AsyncClient(base_url=base_url) as client:
            shop = await make_shop(db, client)
            answer = await shop.create(order(metadata={"note": "very private"}))
    logged = capsys.readouterr().out
    lines = [json.loads(line) for line in logged.splitlines() if '"request"' in line]
    event = next(line for line in lines if line["request_id"] == answer.headers["x-request-id"])
    assert (event["operation"], event["status"]) == ("createPayment", 201)
    assert event["caller"].startswith(shop.business_id)
    for private in (shop.secret_key, "ada@example.com", "Ada Obi", "very private"):
        assert private not in logged


async def test_a_request_is_counted_by_operation_and_status(database_url: str) -> None:
    meter = Meter()
    settings = Settings(database_url=database_url)
    async with (
        serving_app(lambda _: app.build(settings, meter=meter)) as (url, _),
        httpx.AsyncClient(base_url=url) as client,
    ):
        for _ in range(2):
            await client.get("/nothing")
    assert 'tidegate_request_seconds_count{operation="other",status="404"} 2.0' in metrics_of(meter)


async def test_the_numbers_of_all_processes_are_shown_on_a_port_of_their_own(database_url: str) -> None:
    line = 'tidegate_request_seconds_count{operation="other",status="404"} '
    port = free_port()
    with api(database_url, workers=2, TIDEGATE_METRICS_PORT=str(port)) as (base_url, _):
        for _ in range(ASKED):
            async with httpx.AsyncClient(base_url=base_url) as client:  # Each a connection, which any of them may take.
                await client.get("/nothing")
        async with asyncio.timeout(60), httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            while f"{line}{ASKED}.0" not in (await client.get("/metrics")).text:  # noqa: ASYNC110 - others tell it
                await asyncio.sleep(0.05)


async def test_the_public_listener_shows_no_numbers(client: httpx.AsyncClient) -> None:
    assert (await client.get("/metrics")).status_code == 404
