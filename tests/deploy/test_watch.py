"""Alerts and board: they ask for what real processes show, and the operator reads what to do about each."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import httpx
import yaml

from deploy.examined import examined
from process import START_TIMEOUT_S, api, free_port, stop, tidegate

ROOT = Path(__file__).parents[2]
WATCH = ROOT / "deploy" / "watch"
# Prometheus adds them to every series.
OF_PROMETHEUS = {"job", "instance"}


def alerts() -> list[dict[str, Any]]:
    rules = yaml.safe_load((WATCH / "alerts.yml").read_text())
    return [rule for group in rules["groups"] for rule in group["rules"]]


def board() -> dict[str, Any]:
    board: dict[str, Any] = json.loads((WATCH / "tidegate-board.json").read_text())
    return board


def metrics_in(text: str) -> set[str]:
    """Without the endings of a histogram's series."""
    return {re.sub("_(bucket|count|sum)$", "", name) for name in re.findall(r"\btidegate_[a-z_]+\b", text)}


def labels_in(text: str) -> set[str]:
    grouped = " ".join(re.findall(r"by \(([^)]*)\)", text))
    return set(re.findall(r"\w+", grouped)) | set(re.findall(r"(\w+)(?:=~|!=|!~|=)\"", text))


async def test_alerts_and_board_ask_for_what_real_processes_show_and_the_board_shows_all(database_url: str) -> None:
    asked = " ".join(rule["expr"] for rule in alerts())
    shown = " ".join(target["expr"] for panel in board()["panels"] for target in panel["targets"])
    of_api, of_worker = free_port(), free_port()
    worker = tidegate("worker", DATABASE_URL=database_url, TIDEGATE_METRICS_PORT=str(of_worker))
    try:
        with api(database_url, TIDEGATE_METRICS_PORT=str(of_api)) as (base_url, _):
            async with asyncio.timeout(START_TIMEOUT_S), httpx.AsyncClient() as client:
                forged = await client.post(f"{base_url}/intake/sandbox", json={})
                assert forged.status_code == 401
                text = ""
                while not metrics_in(asked + shown) <= (known := set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))):
                    await asyncio.sleep(0.1)
                    text = "".join([await scraped(client, port) for port in (of_api, of_worker)])
    finally:
        stop(worker)
    assert labels_in(asked + shown) - OF_PROMETHEUS <= set(re.findall(r"(\w+)=\"", text))
    assert known <= metrics_in(shown), "add a panel for it to deploy/watch/tidegate-board.json"


async def scraped(client: httpx.AsyncClient, port: int) -> str:
    try:
        return (await client.get(f"http://127.0.0.1:{port}/metrics")).text
    except httpx.TransportError:
        return ""


def test_the_operator_is_told_what_to_do_about_each_alert() -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    answered = re.findall(r"^### (Tidegate\w+)$", text, flags=re.MULTILINE)
    assert answered == [rule["alert"] for rule in alerts()], "docs/operations.md, section Alerts"


def test_the_board_reads_the_source_that_is_set_up() -> None:
    sources = yaml.safe_load((WATCH / "grafana-sources.yml").read_text())
    uids = {source["uid"] for source in sources["datasources"]}
    assert {panel["datasource"]["uid"] for panel in board()["panels"]} <= uids
    ids = [panel["id"] for panel in board()["panels"]]
    assert len(ids) == len(set(ids))


def test_what_prometheus_scrapes_is_where_the_services_show_it() -> None:
    compose = yaml.safe_load((ROOT / "deploy" / "container" / "compose.yaml").read_text())
    prometheus = yaml.safe_load((WATCH / "prometheus.yml").read_text())
    scraped = {job["job_name"]: job["static_configs"][0]["targets"] for job in prometheus["scrape_configs"]}
    assert scraped == {
        f"tidegate-{name}": [f"{name}:{compose['services'][name]['environment']['TIDEGATE_METRICS_PORT']}"]
        for name in ("api", "worker")
    }


def test_alert_rules_as_prometheus_reads_them() -> None:
    examined("promtool", "check", "rules", WATCH / "alerts.yml", package="apt-get install prometheus")
    examined("promtool", "test", "rules", WATCH / "alerts_test.yml", package="apt-get install prometheus")
