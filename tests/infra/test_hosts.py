"""Which Host headers are answered, and what is shown to the public at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from conftest import ENCRYPTION_KEY
from serving import serving_app
from tidegate import app
from tidegate.settings import Settings, WrongSettings, from_environment


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost@evil", "[::2]", ""]
)
async def test_a_page_of_another_host_reads_nothing(client: httpx.AsyncClient, host: str) -> None:
    for path in ("/docs", "/openapi.json", "/checkout/payments", "/nothing"):
        answer = await client.get(path, headers={"host": host})
        assert (answer.status_code, answer.json()["errorType"]) == (421, "UNKNOWN_HOST"), path
        assert "TIDEGATE_BASE_URL" in answer.json()["message"]


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:9999", "[::1]", "[::1]:8080"])
async def test_this_machine_is_answered_on_any_port(client: httpx.AsyncClient, host: str) -> None:
    assert (await client.get("/docs", headers={"host": host})).status_code == 200


async def test_health_checks_come_by_any_address(client: httpx.AsyncClient) -> None:
    for path in ("/healthz", "/readyz"):
        assert (await client.get(path, headers={"host": "10.1.2.3:8080"})).status_code == 200


async def test_the_base_url_and_named_hosts_are_answered(database_url: str) -> None:
    settings = Settings(database_url=database_url, base_url="http://pay.example:9000", hosts=("Api.example",))
    async with (
        serving_app(lambda _: app.build(settings)) as (url, _),
        httpx.AsyncClient(base_url=url) as client,
    ):
        statuses = {
            host: (await client.get("/openapi.json", headers={"host": host})).status_code
            for host in ("pay.example", "pay.example:9000", "api.example", "other.example")
        }
    assert statuses == {"pay.example": 200, "pay.example:9000": 200, "api.example": 200, "other.example": 421}


async def test_the_reference_can_be_switched_off(database_url: str) -> None:
    settings = Settings(database_url=database_url, has_docs=False)
    async with (
        serving_app(lambda _: app.build(settings)) as (url, _),
        httpx.AsyncClient(base_url=url) as client,
    ):
        answers = [await client.get(path) for path in ("/docs", "/openapi.json")]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert "/docs" not in answers[0].json()["message"]


def test_live_mode_shows_no_api_docs_unless_set(monkeypatch: pytest.MonkeyPatch) -> None:
    live = {"TIDEGATE_MODE": "live"}
    assert not read_despite_problems(live, monkeypatch).has_docs
    assert read_despite_problems({**live, "TIDEGATE_DOCS": "on"}, monkeypatch).has_docs


def read_despite_problems(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Settings:
    """No rail moves real money yet, so that live settings are always refused."""
    with pytest.raises(WrongSettings):
        from_environment(environment)
    monkeypatch.setattr("tidegate.settings._problems_in", lambda _: [])
    read = from_environment(environment)
    monkeypatch.undo()
    return read


async def test_security_txt_names_a_contact_and_expires_in_half_a_year(database_url: str) -> None:
    settings = Settings(
        database_url=database_url, security_contact="mailto:safe@example.com", encryption_keys=(ENCRYPTION_KEY,)
    )
    async with (
        serving_app(lambda _: app.build(settings)) as (url, _),
        httpx.AsyncClient(base_url=url) as client,
    ):
        answer = await client.get("/.well-known/security.txt")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    fields: dict[str, Any] = dict(line.split(": ", 1) for line in answer.text.splitlines())
    assert fields["Contact"] == "mailto:safe@example.com"
    assert fields["Canonical"] == f"{settings.base_url}/.well-known/security.txt"
    left = datetime.fromisoformat(fields["Expires"]) - datetime.now(UTC)
    assert timedelta(days=179) < left < timedelta(days=365)


async def test_without_a_contact_there_is_no_security_txt(client: httpx.AsyncClient) -> None:
    assert (await client.get("/.well-known/security.txt")).status_code == 404
