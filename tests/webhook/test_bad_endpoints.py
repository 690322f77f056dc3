"""Unsafe webhook addresses: refused when they are saved, and not called when one is stored."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import httpx
import pytest

from build import Shop, make_shop
from conftest import ENCRYPTION_KEY, with_database_name
from payment.refusal import assert_each_refused, assert_refused
from receiver import receiving
from serving import serving
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment
from tidegate.infra.address import Ip, WebUrl
from tidegate.infra.db import Database
from tidegate.infra.guard import Guard
from tidegate.merchant import commands as merchants
from tidegate.settings import Settings
from webhook.world import make_world

DATABASE = "tidegate_test_live_webhooks"

SANDBOX_ONLY = ["http://shop.example.com/", "https://shop.example.com:8080/"]
NO_WEB_ADDRESS = ["ftp://shop.example.com/", "gopher://shop.example.com/", "file:///etc/passwd", "unix:/run/x.sock"]
THIS_MACHINE = [
    "https://127.0.0.1", "https://localhost", "https://0", "https://127.1", "https://0177.0.0.1",
    "https://2130706433", "https://0x7f000001", "https://0.0.0.0", "https://LOCALHOST/", "https://shop.localhost",
]  # fmt: skip
INSIDE = [
    "https://10.0.0.1", "https://172.16.0.1", "https://192.168.1.1", "https://100.64.0.1", "https://169.254.169.254",
    "https://192.0.0.192", "https://198.18.0.1", "https://224.0.0.1", "https://240.0.0.1", "https://255.255.255.255",
    "https://[::]", "https://[::ffff:10.0.0.1]", "https://[fe80::1]", "https://[fd00:ec2::254]", "https://[ff02::1]",
    "https://[64:ff9b::a00:1]", "https://[2002:7f00:1::]", "https://[2002:a00:1::]",
]  # fmt: skip
IPV6_OF_THIS_MACHINE = ["https://[::1]", "https://[::ffff:127.0.0.1]", "https://[64:ff9b::7f00:1]"]
SHAPES = [
    "https://user:pass@shop.example.com/", "https://user@shop.example.com/", "https://shop.example.com/#part",
    "https://shop.example.com:0/", "https://shop.example.com:65536/", "https://shop.example.com:x/",
    "https://shop.example.com:22/", "https://shop.example.com:25/", "https://shop.example.com:5432/",
    "https://shop.example.com:6379/",
]  # fmt: skip
TEXTS = [
    f"https://shop.example.com/{'x' * 2_024}", "https://shop.example.com/\r\nx-evil: 1", "https://shop.example.com/\t",
    "https://shop.example.com/ä", "https://shop.example.com\\@evil.example.com", "https://a..b.com",
    "//shop.example.com", "https://", f"https://{'a.' * 300}com", 7, None, [], "",
]  # fmt: skip


@pytest.fixture(scope="module")
async def live(server_url: str) -> AsyncIterator[tuple[Shop, Any]]:
    """In live mode, with a database that never was a sandbox's."""
    owner = await asyncpg.connect(server_url)
    await owner.execute(f'DROP DATABASE IF EXISTS "{DATABASE}" WITH (FORCE)')
    await owner.execute(f'CREATE DATABASE "{DATABASE}"')
    url = with_database_name(server_url, DATABASE)
    await deployment.prepare(url, Mode.LIVE)
    db = Database(url)
    await db.open()
    now = SystemClock().now()
    new = await merchants.create(db, name="Live", email="live@example.com", mode=Mode.LIVE, now=now)
    await merchants.change(db, new.business.id, {"rate_per_second": 100_000, "rate_burst": 100_000}, now=now)
    await db.close()
    admin = await asyncpg.connect(url)
    settings = Settings(mode=Mode.LIVE, database_url=url, encryption_keys=(ENCRYPTION_KEY,))
    async with serving(settings) as (base_url, _), httpx.AsyncClient(base_url=base_url) as client:
        yield Shop(client, new.business.id, new.secret_key, new.public_key), admin
    await admin.close()
    await owner.execute(f'DROP DATABASE "{DATABASE}" WITH (FORCE)')
    await owner.close()


async def create(shop: Shop, **body: Any) -> httpx.Response:
    return await shop.client.post("/webhooks/endpoints", json=body, headers={"api-key": shop.secret_key})


REFUSED = (422, "VALIDATION_FAILED", "url")


async def test_an_unsafe_address_is_not_saved_in_live_mode(live: tuple[Shop, Any]) -> None:
    shop, admin = live
    urls = [*SANDBOX_ONLY, *NO_WEB_ADDRESS, *THIS_MACHINE, *INSIDE, *IPV6_OF_THIS_MACHINE, *SHAPES, *TEXTS]
    await assert_each_refused(admin, ((repr(url), create(shop, url=url), REFUSED) for url in urls))


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example.com/hook",
        "https://shop.example.com:8443/?a=b",
        "https://8.8.8.8/",
        "HTTPS://Shop.Example.com",
    ],
)
async def test_in_live_mode_a_public_https_address_is(live: tuple[Shop, Any], url: str) -> None:
    shop, _ = live
    answer = await create(shop, url=url)
    assert answer.status_code == 201, answer.text
    assert answer.json()["data"]["url"] == url


async def test_our_own_host_is_not_saved(live: tuple[Shop, Any]) -> None:
    for url in ("https://api.example.com/hook", "https://API.example.com:8443/"):
        guard = Guard(Mode.LIVE, "https://api.example.com/v1")
        assert await guard.problem_at(WebUrl.parse(url)) == "must not be this service itself"
    sandbox = Guard(Mode.SANDBOX, "http://localhost:8080")
    assert sandbox.problem_in(WebUrl.parse("http://localhost:8080/webhooks")) == "must not be this service itself"
    assert sandbox.problem_in(WebUrl.parse("http://localhost:3000/webhooks")) is None


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "[::ffff:127.0.0.1]", "named.example"]
)
async def test_our_own_port_is_not_saved_by_whatever_name_or_address(host: str) -> None:
    async def look_up(_: str) -> list[Ip]:
        return [ipaddress.ip_address("127.0.0.1")]

    guard = Guard(Mode.SANDBOX, "http://pay.example.com", look_up, own_ports=[8080])
    assert await guard.problem_at(WebUrl.parse(f"http://{host}:8080/hook")) == "must not be this service itself"
    assert await guard.problem_at(WebUrl.parse(f"http://{host}:3000/hook")) is None


async def test_an_endpoint_at_our_own_port_is_refused_by_the_api(database_url: str, db: Database) -> None:
    settings = Settings(database_url=database_url, port=4711, encryption_keys=(ENCRYPTION_KEY,))
    async with serving(settings) as (url, _), httpx.AsyncClient(base_url=url) as client:
        shop = await make_shop(db, client)
        answer = await create(shop, url="http://127.0.0.1:4711/hook")
    assert answer.status_code == 422
    assert "this service itself" in answer.text


async def test_a_host_in_other_letters_is_saved_in_punycode(live: tuple[Shop, Any]) -> None:
    shop, _ = live
    answer = await create(shop, url="https://bücher.example/hook")
    assert answer.json()["data"]["url"] == "https://xn--bcher-kva.example/hook"


async def test_the_sandbox_refuses_all_but_this_machine(shop: Shop, admin: Any) -> None:
    urls = [*NO_WEB_ADDRESS, *INSIDE, *THIS_MACHINE[2:8], *SHAPES, *TEXTS]
    await assert_each_refused(admin, ((repr(url), create(shop, url=url), REFUSED) for url in urls))


@pytest.mark.parametrize(
    "url", ["http://localhost:3000/hook", "http://127.0.0.1:8081/", "http://[::1]:3000/", "https://shop.example.com/"]
)
async def test_the_sandbox_calls_this_machine_by_http(shop: Shop, url: str) -> None:
    assert (await create(shop, url=url)).status_code == 201


def names(**known: list[str]) -> Callable[[str], Any]:
    async def look_up(host: str) -> list[Ip]:
        return [ipaddress.ip_address(text) for text in known[host.partition(".")[0]]]

    return look_up


@pytest.mark.parametrize("addresses", [["10.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["2606:4700::1111", "fd00::1"]])
async def test_a_host_name_of_a_private_address_is_not_saved(addresses: list[str]) -> None:
    guard = Guard(Mode.LIVE, "https://api.example.com", names(shop=addresses))
    assert await guard.problem_at(WebUrl.parse("https://shop.example.com/")) == "must not lead into a private network"


async def test_a_host_name_that_does_not_resolve_yet_is_saved() -> None:
    async def nothing(_: str) -> list[Ip]:
        raise OSError

    assert (
        await Guard(Mode.LIVE, "https://api.example.com", nothing).problem_at(WebUrl("https://new.example.com")) is None
    )


@pytest.mark.parametrize(
    "url", [*THIS_MACHINE, *INSIDE, *IPV6_OF_THIS_MACHINE, "http://8.8.8.8/", "https://8.8.8.8:22/"]
)
async def test_nothing_is_sent_to_a_private_address_that_is_stored(db: Database, admin: Any, url: str) -> None:
    """As if somebody had written it past us, or the rules had become stricter since."""
    async with make_world(db, mode=Mode.LIVE, lookup=names(localhost=["127.0.0.1"], shop=["127.0.0.1"])) as world:
        await world.endpoint("https://shop.example.com/")
        await admin.execute("UPDATE webhook_endpoint SET url = $1", url)
        await world.event()
        [result] = await world.deliver()
        assert result.error == "address_refused"
        assert (await world.delivery()).status == "pending"


async def test_a_host_name_that_becomes_private_after_it_was_saved_is_not_called(db: Database) -> None:
    addresses = ["8.8.8.8"]
    async with receiving() as inside, make_world(db, mode=Mode.LIVE, lookup=names(shop=addresses)) as world:
        url = WebUrl.parse("https://shop.example.com:8443/")
        assert await world.webhook_deps.guard.problem_at(url) is None
        await world.endpoint(url)
        addresses[:] = ["127.0.0.1"]
        await world.event()
        [result] = await world.deliver()
        assert (result.error, inside.connections) == ("address_refused", 0)


async def test_custom_headers_are_not_supported(shop: Shop) -> None:
    """There are none to set, so none can be smuggled in."""
    evil = {"x-evil\r\nhost": "a", "host": "evil.example.com", "content-length": "0"}
    answer = await create(shop, url="http://localhost:3000/", headers=evil)
    assert answer.status_code == 201
    assert "headers" not in answer.json()["data"]


@pytest.mark.parametrize(
    "secret",
    ["short", "whsec_", f"whsec_{base64.b64encode(bytes(23)).decode()}", "x" * 40, f"whsec_{'A' * 200}", 7, {}],
)
async def test_a_weak_secret_is_refused(shop: Shop, admin: Any, secret: Any) -> None:
    sending = create(shop, url="http://localhost:3000/", secret=secret)
    await assert_refused(admin, sending, 422, "VALIDATION_FAILED", field="secret")


async def test_a_strong_secret_of_the_merchant_is_accepted(shop: Shop) -> None:
    secret = f"whsec_{base64.b64encode(bytes(24)).decode()}"
    answer = await create(shop, url="http://localhost:3000/", secret=secret)
    assert answer.json()["data"]["secret"] == secret


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("events[0]", {"events": ["payment.exploded"]}),
        ("events", {"events": "charge.successful"}),
        ("events", {"events": []}),
        ("events", {"events": ["charge.successful"] * 50}),
        ("description", {"description": "x" * 201}),
        ("description", {"description": "card 5319317801366660"}),
        ("ratePerSecond", {"ratePerSecond": 0}),
        ("ratePerSecond", {"ratePerSecond": 1_001}),
        ("ratePerSecond", {"ratePerSecond": "25"}),
        ("url", {"url": ...}),
    ],
)
async def test_other_fields_keep_their_rules(shop: Shop, admin: Any, field: str, body: dict[str, Any]) -> None:
    whole = {"url": "http://localhost:3000/", **body}
    sending = create(shop, **{name: value for name, value in whole.items() if value is not ...})
    await assert_refused(admin, sending, 422, "VALIDATION_FAILED", field=field)


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ("charge.successful", "must be an array of strings, each one of charge.successful, "),
        ({}, "must be an array of strings, each one of charge.successful, "),
        ([], "must not be empty"),
        (["charge.successful"] * 50, "must have at most "),
        (["payment.exploded"], "must be one of charge.successful, "),
        ([7], "must be one of charge.successful, "),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_events_are_an_array_of_names_and_at_least_one(
    shop: Shop, method: str, events: Any, message: str
) -> None:
    made = (await create(shop, url="http://localhost:3000/")).json()["data"]
    path = "/webhooks/endpoints" + (f"/{made['id']}" if method == "PATCH" else "")
    body = {"url": "http://localhost:3000/b", "events": events}
    answer = await shop.client.request(method, path, json=body, headers={"api-key": shop.secret_key})
    assert answer.status_code == 422
    [problem] = answer.json()["errors"]
    assert problem["message"].startswith(message), problem
