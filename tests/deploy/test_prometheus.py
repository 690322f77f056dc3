"""A real Prometheus with the files of deploy/ watches a real API and a real worker: board and rules are asked of it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from build import make_shop, order
from checkout.paying import card
from deploy.test_watch import WATCH, alerts, board
from process import START_TIMEOUT_S, api, free_port, stop, tidegate
from receiver import receiving
from tidegate.infra.db import Database

PROGRAM = shutil.which("prometheus")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="Prometheus is not installed: apt-get install prometheus")


@contextmanager
def prometheus(folder: Path, *, of_api: int, of_worker: int) -> Iterator[str]:
    assert PROGRAM is not None
    text = (WATCH / "prometheus.yml").read_text()
    for there, here in (
        ("api:9464", f"127.0.0.1:{of_api}"),
        ("worker:9465", f"127.0.0.1:{of_worker}"),
        ("/etc/prometheus/alerts.yml", str(WATCH / "alerts.yml")),
        ("_interval: 10s", "_interval: 1s"),
    ):
        assert there in text
        text = text.replace(there, here)
    (folder / "prometheus.yml").write_text(text)
    address = f"127.0.0.1:{free_port()}"
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen(
            [
                PROGRAM, f"--config.file={folder / 'prometheus.yml'}", f"--web.listen-address={address}",
                f"--storage.tsdb.path={folder / 'data'}",
            ],
            env={"PATH": os.environ["PATH"]}, stdout=log, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        try:
            yield f"http://{address}/api/v1/"
        finally:
            stop(process)


@asynccontextmanager
async def watched(
    database_url: str, db: Database, folder: Path
) -> AsyncIterator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    """Prometheus and the API, after a payment was made and told to a merchant, and somebody forged a notification."""
    of_api, of_worker = free_port(), free_port()
    with (
        api(database_url, TIDEGATE_METRICS_PORT=str(of_api)) as (base_url, _),
        prometheus(folder, of_api=of_api, of_worker=of_worker) as url,
    ):
        worker = tidegate("worker", DATABASE_URL=database_url, TIDEGATE_METRICS_PORT=str(of_worker))
        try:
            async with (
                receiving() as receiver,
                httpx.AsyncClient(base_url=base_url, timeout=60) as client,
                httpx.AsyncClient(base_url=url, timeout=60) as asking,
            ):
                shop = await make_shop(db, client)
                headers = {"api-key": shop.secret_key}
                await client.post("/webhooks/endpoints", json={"url": receiver.url()}, headers=headers)
                pay_code = (await shop.create(order())).json()["data"]["payCode"]
                paid = await client.post(f"/checkout/payments/{pay_code}/charge", json=card())
                assert paid.status_code == 200, paid.text
                assert (await client.post("/intake/sandbox", json={})).status_code == 401
                await receiver.got(1, timeout_s=START_TIMEOUT_S)
                yield asking, client
        finally:
            stop(worker)


async def result_of(asking: httpx.AsyncClient, query: str) -> list[Any]:
    answer = await asking.get("query", params={"query": query})
    assert answer.status_code == 200, f"{query}: {answer.text}"
    found: list[Any] = answer.json()["data"]["result"]
    # A quotient of nothing by nothing.
    return [one for one in found if one["value"][1] != "NaN"]


async def answered(asking: httpx.AsyncClient, path: str) -> Any:
    try:
        return (await asking.get(path)).json()["data"]
    except (httpx.TransportError, ValueError):
        return None


async def test_prometheus_has_data_for_every_panel_of_the_board_and_evaluates_every_rule(
    database_url: str, db: Database, tmp_path: Path
) -> None:
    without_data = {target["expr"] for panel in board()["panels"] for target in panel["targets"]}
    rules: list[Any] = []
    async with watched(database_url, db, tmp_path) as (asking, client):
        with suppress(TimeoutError):
            async with asyncio.timeout(START_TIMEOUT_S):
                while without_data or {rule["health"] for rule in rules} != {"ok"}:
                    # Some quotients have data only while there are requests.
                    await client.get("/readyz")
                    await asyncio.sleep(0.5)
                    if await answered(asking, "targets") is not None:
                        without_data = {query for query in without_data if not await result_of(asking, query)}
                        rules = rules_in(await answered(asking, "rules"))
    assert without_data == set()
    assert [(rule["name"], rule["health"]) for rule in rules] == [(rule["alert"], "ok") for rule in alerts()]
    assert [rule["name"] for rule in rules if rule["state"] == "firing"] == []


def rules_in(answer: Any) -> list[Any]:
    return [rule for group in answer["groups"] for rule in group["rules"]]
