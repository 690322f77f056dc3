"""What differs in live mode: a server and a database of its own, beside the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import asyncpg
import httpx
import pytest
from markupsafe import escape

from build import Shop, order
from dashboard.people import People
from live_database import live_database
from payment.refusal import assert_each_refused, assert_refused, rows_in, without_request_id
from serving import serving
from tidegate import app
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Mode
from tidegate.infra.db import Database
from tidegate.infra.http.server import GracefulServer, bind, configure
from tidegate.member.permission import Role
from tidegate.merchant import commands as merchants
from tidegate.settings import Settings

DATABASE = "tidegate_test_live"


class Live(NamedTuple):
    shop: Shop
    admin: Any


@pytest.fixture(scope="module")
async def live_url(server_url: str) -> AsyncIterator[str]:
    async with live_database(server_url, DATABASE) as url:
        yield url


@pytest.fixture(scope="module")
async def live(live_url: str) -> AsyncIterator[Live]:
    new = await _new_business(live_url)
    admin = await asyncpg.connect(live_url)
    settings = Settings(mode=Mode.LIVE, database_url=live_url, base_url="https://api.example.com")
    with bind("127.0.0.1", 0) as listening:
        base_url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        server = GracefulServer(configure(app.build(settings)))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started:
            await asyncio.sleep(0.01)
            assert not serving.done(), "the server did not start"
        async with httpx.AsyncClient(base_url=base_url) as client:
            yield Live(Shop(client, new.business.id, new.secret_key, new.public_key), admin)
        server.should_exit = True
        await serving
    await admin.close()


async def _new_business(url: str) -> merchants.NewBusiness:
    db = Database(url)
    await db.open()
    now = SystemClock().now()
    new = await merchants.create(db, name="Live Shop", email="live@example.com", mode=Mode.LIVE, now=now)
    await merchants.change(db, new.business.id, {"rate_per_second": 100_000, "rate_burst": 100_000}, now=now)
    await db.close()
    return new


NOT_PUBLIC: dict[str, str] = {
    "http": "http://shop.example.com/", "HTTP": "HTTP://shop.example.com/", "this machine": "https://127.0.0.1/",
    "this machine, short": "https://127.1/", "this machine as a number": "https://2130706433/",
    "this machine in hexadecimal": "https://0x7f000001/", "this machine in octal": "https://0177.0.0.1/",
    "zero": "https://0/", "this machine by IPv6": "https://[::1]/",
    "this machine, mapped": "https://[::ffff:127.0.0.1]/", "this machine behind NAT64": "https://[64:ff9b::7f00:1]/",
    "this machine by 6to4": "https://[2002:7f00:1::]/", "a 6to4 relay": "https://192.88.99.1/",
    "multicast": "https://224.0.0.1/", "multicast by IPv6": "https://[ff02::1]/",
    "a private network": "https://10.0.0.1/", "a private network with a port": "https://192.168.1.1:8443/",
    "cloud metadata": "https://169.254.169.254/latest", "a private network by IPv6": "https://[fd00::1]/",
    "localhost": "https://localhost", "LocalHost": "https://LocalHost:443/",
    "below localhost": "https://shop.localhost", "a bare name": "https://intranet",
}  # fmt: skip


async def test_a_redirect_leads_to_the_public_web_by_https(live: Live) -> None:
    refusal = (422, "VALIDATION_FAILED", "redirectUrl")
    rows = ((name, live.shop.create(order(redirectUrl=url)), refusal) for name, url in NOT_PUBLIC.items())
    await assert_each_refused(live.admin, rows)


@pytest.mark.parametrize("url", ["https://shop.example.com/thanks", "https://8.8.8.8/", "https://[2606:4700::1111]/"])
async def test_a_public_https_address_is_accepted(live: Live, url: str) -> None:
    assert (await live.shop.create(order(redirectUrl=url))).status_code == 201


async def test_the_same_reference_lives_in_both_modes(live: Live, shop: Shop) -> None:
    body = order(reference="BOTH-1")
    in_live, in_sandbox = await live.shop.create(body), await shop.create(body)
    assert (in_live.status_code, in_sandbox.status_code) == (201, 201)
    assert in_live.json()["data"]["payCode"] != in_sandbox.json()["data"]["payCode"]


async def test_a_key_works_in_its_own_mode_only(live: Live, shop: Shop, admin: Any) -> None:
    before = await rows_in(live.admin)
    for headers in (shop.create_headers, {**live.shop.create_headers, "x-pub-key": shop.public_key}):
        await assert_refused(live.admin, live.shop.create(headers=headers), 401, "UNAUTHENTICATED")
    await assert_refused(admin, shop.create(headers=live.shop.create_headers), 401, "UNAUTHENTICATED")
    assert await rows_in(live.admin) == before


async def test_a_live_reference_is_unknown_to_the_sandbox(live: Live, shop: Shop, admin: Any) -> None:
    assert (await live.shop.create(order(reference="LIVE-1"))).status_code == 201
    there = await assert_refused(admin, shop.verify("LIVE-1"), 404, "RESOURCE_NOT_FOUND")
    nowhere = await assert_refused(admin, shop.verify("NOWHERE"), 404, "RESOURCE_NOT_FOUND")
    assert without_request_id(there) == without_request_id(nowhere)


async def test_a_sandbox_key_cannot_verify_in_live_mode(live: Live, shop: Shop) -> None:
    assert (await live.shop.create(order(reference="LIVE-2"))).status_code == 201
    asking = live.shop.client.get("/checkout/payments/merchant-reference/LIVE-2", headers=shop.verify_headers)
    await assert_refused(live.admin, asking, 401, "UNAUTHENTICATED")


# Pages.


BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize(
    ("name", "heading", "contact"),
    [
        ("", "This is a payment service", ""),
        ("Ada & Sons Payments", "This is the payment service of Ada &amp; Sons Payments", "mailto:help@ada.example"),
    ],
)
async def test_the_front_page_names_the_operator(live_url: str, name: str, heading: str, contact: str) -> None:
    settings = Settings(
        mode=Mode.LIVE, database_url=live_url, has_docs=False, operator_name=name, operator_contact=contact
    )
    async with serving(settings) as (url, _), httpx.AsyncClient(base_url=url, headers=BROWSER, timeout=120) as browser:
        page = (await browser.get("/")).text
        assert f"<h1>{heading}</h1>" in page
        assert ('<a href="mailto:help@ada.example">help@ada.example</a>' in page) is bool(contact)
        assert f"<title>{escape(name or 'Tidegate')}</title>" in page
        assert escape(name or "Tidegate") in (await browser.get("/nowhere")).text


async def test_the_dashboard_recommends_nothing_of_the_sandbox(live: Live, live_url: str) -> None:
    db = Database(live_url)
    await db.open()
    opened: list[httpx.AsyncClient] = []
    try:
        async with serving(Settings(mode=Mode.LIVE, database_url=live_url)) as (url, _):
            owner = await People(db, url, live.admin, opened).person(live.shop, Role.OWNER)
            page = (await owner.get("/webhooks")).text
            for browser in opened:
                await browser.aclose()
    finally:
        await db.close()
    assert "None yet. Add one below.</p>" in page
    assert "tidegate listen" not in page
