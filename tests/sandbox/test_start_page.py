"""The front page of the service, and what browsers get instead of JSON."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from html import unescape
from pathlib import Path

import httpx
import pytest

from build import Checkout, Shop
from conftest import ENCRYPTION_KEY
from receiver import receiving
from serving import serving, serving_app
from tidegate import app
from tidegate.docs.routes import SandboxKeys
from tidegate.infra.db import Database
from tidegate.infra.telemetry import Meter
from tidegate.runtime import Runtime
from tidegate.sandbox import demo_shop, start_page
from tidegate.sandbox.seed import FILE_NAME, seed
from tidegate.sandbox.service_state import WORKER_IDLE_MAX_S, worker_state
from tidegate.settings import Settings

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"}
JSON = {"accept": "application/json"}


@pytest.fixture
def settings(database_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> Settings:
    made = Settings(database_url=database_url, home=tmp_path, encryption_keys=(ENCRYPTION_KEY,))
    return replace(made, **getattr(request, "param", {}))


@pytest.fixture
def meter() -> Meter:
    return Meter()


@pytest.fixture
async def sandbox(db: Database, runtime: Runtime, settings: Settings, meter: Meter) -> AsyncIterator[httpx.AsyncClient]:
    """As `tidegate dev` serves it: with the keys of its seeded business."""
    made = await seed(runtime.webhook_deps, runtime.deps, settings, runtime.clock)
    keys = SandboxKeys(made["secretKey"], made["publicKey"], made["businessId"])
    async with (
        serving_app(lambda url: app.build(replace(settings, base_url=url), sandbox_keys=keys, meter=meter)) as (url, _),
        httpx.AsyncClient(base_url=url, timeout=60, headers=BROWSER) as client,
    ):
        yield client


def token_in(page: httpx.Response) -> str:
    found = re.search(r'name="token" value="([^"]+)"', page.text)
    assert found, page.text
    return found[1]


def secrets_in(text: str) -> list[str]:
    return re.findall(r"(?:sk_test|whsec)_[A-Za-z0-9+/=]{20,}", text)


async def test_the_front_page_of_a_sandbox_masks_its_secrets(sandbox: httpx.AsyncClient) -> None:
    page = await sandbox.get("/")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "The sandbox is running." in page.text
    assert 'href="/docs"' in page.text
    assert "sk_test_••••" in page.text
    assert secrets_in(page.text) == []
    assert "default-src 'none'" in page.headers["content-security-policy"]


async def test_the_secrets_are_shown_on_demand_by_a_form_of_the_page_only(sandbox: httpx.AsyncClient) -> None:
    token = token_in(await sandbox.get("/"))
    shown = await sandbox.post("/start/keys", data={"token": token})
    assert shown.status_code == 200
    assert len(set(secrets_in(shown.text))) == 2
    assert "export TIDEGATE_SECRET_KEY=sk_test_" in shown.text
    # A developer may have chosen another one.
    assert "export WEBHOOK_SECRET" not in shown.text
    assert "no-store" in shown.headers["cache-control"]
    for refused in (
        await sandbox.post("/start/keys", data={"token": "x" * 64}),
        await sandbox.post("/start/keys", data={"token": token}, headers={"origin": "https://evil.example.com"}),
        await sandbox.post("/start/keys", data={"token": token}, headers={"host": "evil.example.com"}),
    ):
        assert refused.status_code in (403, 421), refused.text
        assert secrets_in(refused.text) == []


async def parts_of(sandbox: httpx.AsyncClient) -> list[tuple[str, str]]:
    """The state of each part of the sandbox, and its words."""
    [listed] = re.findall(r'<ul class="parts".*?</ul>', (await sandbox.get("/")).text, re.DOTALL)
    return [(state, re.sub("<.*?>", "", words)) for state, words in re.findall(r'<li class="(\w+)">(.*)</li>', listed)]


async def test_the_state_of_database_worker_and_receivers_is_shown(
    sandbox: httpx.AsyncClient, meter: Meter, db: Database, settings: Settings
) -> None:
    no_receiver = ("unwell", "Webhooks: no receiver yet, start tidegate listen")
    starting = ("unwell", "Worker is starting")
    assert await parts_of(sandbox) == [("well", "Database ready"), starting, no_receiver]
    meter.count_round("any", 0)
    keys = json.loads((settings.home / FILE_NAME).read_text())
    for number in (1, 2):
        made = await sandbox.post(
            "/webhooks/endpoints",
            headers={"api-key": keys["secretKey"]},
            json={"url": f"http://localhost:{8000 + number}/"},
        )
        assert made.status_code == 201
    assert (await parts_of(sandbox))[1:] == [("well", "Worker running"), ("well", "Webhooks: 2 receivers")]
    async with db.transaction() as tx:
        await tx.execute(
            "UPDATE endpoint_state SET failing_since = now() WHERE endpoint_id = $1", made.json()["data"]["id"]
        )
    assert (await parts_of(sandbox))[2] == ("unwell", "Webhooks: 1 of 2 receivers failing")


async def test_a_database_that_does_not_answer_is_named(
    sandbox: httpx.AsyncClient, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_page, "READ_TIMEOUT_S", 0.1)
    async with db.transaction() as tx:
        await tx.execute("LOCK TABLE payment IN ACCESS EXCLUSIVE MODE")
        page = await sandbox.get("/")
    assert page.status_code == 503
    assert "The database does not answer; see the sandbox&#39;s terminal" in page.text


def test_a_worker_that_does_nothing_is_said_to() -> None:
    state = worker_state(WORKER_IDLE_MAX_S + 50)
    assert (state.is_well, state.words) == (False, "Worker idle for 60 s: see the sandbox's terminal")


async def test_run_sends_what_the_sample_sends(sandbox: httpx.AsyncClient) -> None:
    page = (await sandbox.get("/")).text
    [sent] = re.findall(r'data-body="([^"]+)"', page)
    [shown] = re.findall(r'data-lang="sh">(.*?)</pre>', page, re.DOTALL)
    curl = unescape(re.sub("<.*?>", "", shown))
    assert json.loads(unescape(sent)) == json.loads(shlex.split(curl)[-1])


async def test_the_demo_shop_is_linked_where_it_is_open(
    sandbox: httpx.AsyncClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_shop, "ANSWERS_WITHIN_S", 120)
    closed = "<code>make demo</code> starts it"
    assert closed in (await sandbox.get("/")).text
    async with receiving() as shop:
        (settings.home / demo_shop.FILE_NAME).write_text(shop.url("/"))
        page = (await sandbox.get("/")).text
        assert f'href="{shop.url("/")}"' in page
        assert closed not in page
    # It was killed, and its file is still there.
    page = (await sandbox.get("/")).text
    assert shop.url("/") not in page
    assert closed in page
    for wrong in ("javascript:alert(1)", "http://", "", "http://localhost:99999/", f"http://{'a' * 300}/"):
        (settings.home / demo_shop.FILE_NAME).write_text(wrong)
        assert closed in (await sandbox.get("/")).text


async def test_under_another_name_no_business_is_shown(sandbox: httpx.AsyncClient) -> None:
    page = await sandbox.get("/", headers={"host": "evil.example.com"})
    assert "sk_test" not in page.text
    assert "pk_test" not in page.text


async def test_a_payment_is_created_opened_and_listed(sandbox: httpx.AsyncClient) -> None:
    form = {"token": token_in(await sandbox.get("/")), "amount": "1,750", "currency": "KES"}
    created = await sandbox.post("/start/payment", data=form)
    assert created.status_code == 303
    assert created.headers["location"].startswith("/pay/")
    opened = await sandbox.get(created.headers["location"])
    assert opened.status_code == 200
    assert "1,750" in opened.text
    listed = (await sandbox.get("/")).text
    assert f'href="{created.headers["location"]}"' in listed
    assert "KES 1,750.00" in listed
    assert "initiated" in listed


async def test_what_was_received_is_listed_where_it_is_another_amount(
    sandbox: httpx.AsyncClient, settings: Settings, tick: Callable[[], Awaitable[None]]
) -> None:
    keys = json.loads((settings.home / FILE_NAME).read_text())
    form = {"token": token_in(await sandbox.get("/")), "amount": "1750", "currency": "NGN"}
    created = await sandbox.post("/start/payment", data=form)
    pay_code = created.headers["location"].removeprefix("/pay/")
    shop = Shop(sandbox, keys["businessId"], keys["secretKey"], keys["publicKey"])
    checkout = Checkout(shop, pay_code, pay_code, tick)
    await checkout.transfer(await checkout.account(), "900")
    listed = (await sandbox.get("/")).text
    assert 'NGN 900.00<br><span class="fine">of NGN 1,750.00</span>' in listed
    assert ">success<" in listed


WHOLE = "a whole number from 1 to 100,000,000 NGN, without decimals."


@pytest.mark.parametrize(
    ("amount", "currency", "sentence"),
    [
        ("", "NGN", f"Enter an amount: {WHOLE}"),
        ("ten", "NGN", f"The amount must be {WHOLE}"),
        ("0", "NGN", f"The amount must be {WHOLE}"),
        ("-5", "NGN", f"The amount must be {WHOLE}"),
        ("1.5", "NGN", f"The amount must be {WHOLE}"),
        ("100,000,001", "NGN", f"The amount must be {WHOLE}"),
        ("9" * 30, "NGN", f"The amount must be {WHOLE}"),
        ("5", "USD", "The currency must be one of NGN, "),
    ],
)
async def test_a_wrong_amount_is_said_on_the_page_and_nothing_is_created(
    sandbox: httpx.AsyncClient, amount: str, currency: str, sentence: str
) -> None:
    form = {"token": token_in(await sandbox.get("/")), "amount": amount, "currency": currency}
    again = await sandbox.post("/start/payment", data=form)
    assert again.status_code == 422
    [said] = re.findall(r'role="alert">(.*?)</p>', again.text)
    assert said.startswith(sentence), said
    assert "None yet." in again.text


async def test_programs_get_json_at_the_root(sandbox: httpx.AsyncClient, client: httpx.AsyncClient) -> None:
    for one in (sandbox, client):
        for accept in ("*/*", "application/json", ""):
            answer = await one.get("/", headers={"accept": accept})
            assert answer.headers["content-type"] == "application/json; charset=utf-8"
            assert answer.json()["docs"] == f"{one.base_url}/docs".replace("//docs", "/docs")
            assert answer.json().keys() == {"name", "mode", "docs", "openapi"}


async def test_a_service_for_others_has_a_plain_page_without_keys(client: httpx.AsyncClient) -> None:
    page = await client.get("/", headers=BROWSER)
    assert page.status_code == 200
    assert "Looking for your payment?" in page.text
    assert 'href="/dashboard"' in page.text
    assert "sk_test" not in page.text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/collections/nowhere/at/all", 404),
        ("GET", "/checkout/data/fees", 405),
        ("GET", "/checkout/payments", 401),
        ("DELETE", "/docs", 405),
        ("GET", "/wallets", 401),
    ],
)
async def test_a_browser_gets_a_page_where_a_program_gets_json(
    client: httpx.AsyncClient, method: str, path: str, status: int
) -> None:
    page = await client.request(method, path, headers=BROWSER)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["x-request-id"] in page.text
    assert "<h1>" in page.text
    assert 'href="/docs"' in page.text
    assert page.status_code == status
    assert ("allow" in page.headers) == (status == 405)


async def test_a_browser_at_an_address_of_the_documentation_gets_the_nearest_pages(sandbox: httpx.AsyncClient) -> None:
    for path in ("/docs/keys", "/docs/guides/refnd"):
        page = await sandbox.get(path)
        assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "The nearest pages:" in page.text


@pytest.mark.parametrize("headers", [{"accept": "*/*"}, {"accept": ""}, {**BROWSER, "api-key": "sk_test_wrong"}])
async def test_a_program_is_refused_in_json(sandbox: httpx.AsyncClient, headers: dict[str, str]) -> None:
    for path in ("/nowhere", "/checkout/payments", "/wallets", "/docs/nowhere", "/docs/keys", "/mail/1/1"):
        answer = await sandbox.get(path, headers=headers)
        assert answer.headers["content-type"] == "application/json; charset=utf-8", path
        assert answer.json()["requestId"] == answer.headers["x-request-id"]


@pytest.mark.parametrize(
    ("path", "media", "begins"),
    [
        ("/favicon.ico", "image/vnd.microsoft.icon", b"\0\0\1\0"),
        ("/favicon.svg", "image/svg+xml", b"<svg"),
        ("/robots.txt", "text/plain", b"User-agent: *\nDisallow: /pay/\n"),
    ],
)
async def test_browsers_and_search_engines_find_what_they_ask_for(
    client: httpx.AsyncClient, path: str, media: str, begins: bytes
) -> None:
    icon = await client.get(path)
    assert icon.status_code == 200
    assert icon.headers["content-type"].startswith(media)
    assert icon.content.startswith(begins)


@pytest.mark.parametrize("settings", [{"has_docs": False}], indirect=True)
async def test_no_page_points_to_a_reference_that_is_switched_off(
    sandbox: httpx.AsyncClient, settings: Settings
) -> None:
    """With the sandbox's keys, and without them as in live mode."""
    async with serving(settings) as (url, _):
        asked = [
            (base, path, accept)
            for base in (sandbox.base_url, url)
            for path in ("/", "/x")
            for accept in (BROWSER, JSON)
        ]
        answers = [await sandbox.get(f"{base}".rstrip("/") + path, headers=accept) for base, path, accept in asked]
    for answer in answers:
        assert "/docs" not in answer.text
        assert "openapi" not in answer.text
    assert {answer.status_code for answer in answers} == {200, 404}
