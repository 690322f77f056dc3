"""Behind a real Caddy with the file of deploy/: one id finds a request in the logs of proxy, service and worker."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from build import make_shop, order
from checkout.paying import card
from process import api, free_port, stop, tidegate, wait_until_ready
from receiver import receiving
from tidegate.infra.db import Database

CADDYFILE = Path(__file__).parents[2] / "deploy" / "container" / "Caddyfile"
PROGRAM = shutil.which("caddy")
WEBHOOK_WITHIN_S = 120
FORGED = "req_forged_by_the_client"

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="Caddy is not installed: apt-get install caddy")


@contextmanager
def proxy(folder: Path, service_url: str) -> Iterator[tuple[str, Path]]:
    """Its address, and its log."""
    assert PROGRAM is not None
    url, log = f"http://127.0.0.1:{free_port()}", folder / "caddy.log"
    text = CADDYFILE.read_text().replace("api:8080", service_url.removeprefix("http://"))
    # The administration's port may be another Caddy's; and no test waits for a service that does not come back.
    text = text.replace("\n{\n", "\n{\n\tadmin off\n", 1).replace("lb_try_duration 5s", "lb_try_duration 100ms")
    (folder / "Caddyfile").write_text(text)
    environment = {"SITE": url, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with log.open("w") as out:
        process = subprocess.Popen(
            [PROGRAM, "run", "--config", folder / "Caddyfile", "--adapter", "caddyfile"],
            env={"PATH": os.environ["PATH"], **environment}, stdout=out, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        try:
            wait_until_ready(url, process)
            yield url, log
        finally:
            stop(process)


def line_about(request_id: str, lines: list[str]) -> dict[str, Any]:
    [line] = [line for line in lines if request_id in line]
    found: dict[str, Any] = json.loads(line)
    return found


async def test_one_id_finds_a_request_in_the_logs_of_proxy_and_service(
    capsys: pytest.CaptureFixture[str], database_url: str, db: Database, tmp_path: Path
) -> None:
    with (
        api(database_url, TIDEGATE_LOG_LEVEL="info", TIDEGATE_TRUSTED_PROXIES="1") as (service_url, service),
        proxy(tmp_path, service_url) as (url, log),
    ):
        async with httpx.AsyncClient(base_url=url, headers={"x-request-id": FORGED}) as client:
            shop = await make_shop(db, client)
            created = await shop.create(order())
            page = await client.get(created.json()["data"]["link"].replace(service_url, ""))
            stop(service)
            unanswered = await client.get("/readyz")
    proxied, served = log.read_text().splitlines(), capsys.readouterr().out.splitlines()
    for answer, operation in ((created, "createPayment"), (page, "showCheckout")):
        [request_id] = answer.headers.get_list("x-request-id")
        ours = line_about(request_id, served)
        assert (ours["request_id"], ours["operation"]) == (request_id, operation)
        assert line_about(request_id, proxied)["status"] == ours["status"] == answer.status_code
    [lost] = unanswered.headers.get_list("x-request-id")
    assert line_about(lost, proxied)["status"] == unanswered.status_code >= 500
    for private in (FORGED, shop.secret_key, created.json()["data"]["payCode"], "ada@example.com"):
        assert private not in "\n".join(proxied + served)


async def test_the_same_id_finds_the_webhook_in_the_log_of_the_worker(
    capsys: pytest.CaptureFixture[str], database_url: str, db: Database, tmp_path: Path
) -> None:
    with (
        api(database_url, TIDEGATE_LOG_LEVEL="info", TIDEGATE_TRUSTED_PROXIES="1") as (service_url, service),
        proxy(tmp_path, service_url) as (url, log),
    ):
        async with receiving() as receiver, httpx.AsyncClient(base_url=url, timeout=60) as client:
            shop = await make_shop(db, client)
            endpoint = {"url": receiver.url()}
            made = await client.post("/webhooks/endpoints", json=endpoint, headers={"api-key": shop.secret_key})
            assert made.status_code == 201, made.text
            pay_code = (await shop.create(order())).json()["data"]["payCode"]
            charged = await client.post(f"/checkout/payments/{pay_code}/charge", json=card())
            worker = tidegate("worker", DATABASE_URL=database_url, TIDEGATE_LOG_LEVEL="info")
            try:
                await receiver.got(1, timeout_s=WEBHOOK_WITHIN_S)
            finally:
                # It ends what it has begun, and logs it.
                stop(worker)
        sent = capsys.readouterr().out.splitlines()
        stop(service)
        served = capsys.readouterr().out.splitlines()
    [request_id] = charged.headers.get_list("x-request-id")
    assert line_about(request_id, log.read_text().splitlines())["status"] == charged.status_code == 200
    ours = line_about(request_id, served)
    assert (ours["operation"], ours["caller"]) == ("chargeCheckout", "")
    line = line_about(request_id, sent)
    assert (line["event"], line["event_id"]) == ("webhook sent", receiver.received[0].event_id)
