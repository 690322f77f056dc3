"""Faults are planted, and the browser of the tests must see each of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, expect

from browser import DESK, PHONE, Visit
from browser_axe import HAS_NO_SCRIPTS, assert_accessible
from pages import conftest
from pages.background import working
from pages.planted import serving_planted
from pages.stage import NewPayment
from pages.windows import Windows
from tidegate.core.clock import Clock
from tidegate.infra.leased_work import RoundResult
from tidegate.rail.deps import PaymentDeps
from tidegate.runtime import Runtime
from tidegate.worker import Loop

VisitPlanted = Callable[..., AbstractAsyncContextManager[Visit]]


@pytest.fixture(scope="module")
async def visit_planted(shared_browser: Browser) -> AsyncIterator[VisitPlanted]:
    async with serving_planted() as (url, _):
        yield Windows(shared_browser, url).visiting


# What a page must not do.


async def test_a_clean_page_is_without_fault(visit_planted: VisitPlanted) -> None:
    async with visit_planted() as visit:
        await visit.page.goto("/planted/clean")


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("planted/console", "console: planted"),
        ("planted/uncaught", "uncaught in a script: planted"),
        ("planted/rejected", "uncaught in a script: planted"),
        ("planted/inline-style", "Applying inline style violates"),
        ("planted/inline-script", "Executing inline script violates"),
        ("planted/foreign-image", "Loading the image 'https://elsewhere.example/pixel.png' violates"),
        ("planted/untrusted-text", "requires 'TrustedHTML'"),
        ("planted/missing-file", "status of 404"),
        ("careless", "request to another host: https://elsewhere.example/pixel.png"),
        ("careless", "request failed: https://elsewhere.example/pixel.png"),
    ],
)
async def test_what_a_page_must_not_do_fails_its_test(visit_planted: VisitPlanted, page: str, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        async with visit_planted() as visit:
            await visit.page.goto(f"/{page}")


async def test_only_what_is_named_is_allowed(visit_planted: VisitPlanted) -> None:
    async with visit_planted(allowed=("console: planted",)) as visit:
        await visit.page.goto("/planted/console")
    with pytest.raises(AssertionError, match="uncaught in a script"):
        async with visit_planted(allowed=("console: planted",)) as visit:
            await visit.page.goto("/planted/uncaught")


async def test_leaving_a_page_that_listens_is_no_fault(visit_planted: VisitPlanted) -> None:
    async with visit_planted() as visit:
        await visit.page.goto("/planted/listening")
        await expect(visit.page).to_have_title("Open")
        await visit.page.goto("/planted/clean")


# What a window is like.


async def test_without_javascript_no_script_runs(visit_planted: VisitPlanted) -> None:
    async with visit_planted() as visit:
        await visit.page.goto("/planted/script")
        assert await visit.page.title() == "Changed"
    async with visit_planted(javascript=False) as visit:
        await visit.page.goto("/planted/script")
        assert await visit.page.title() == "Planted"
        # Not by its text: Playwright looks for none in there.
        await expect(visit.page.locator("noscript p")).to_be_visible()


LOOK = """() => [
    innerWidth,
    navigator.language,
    matchMedia('(prefers-color-scheme: dark)').matches,
    matchMedia('(prefers-reduced-motion: reduce)').matches,
]"""


async def test_a_window_is_as_asked_for(visit_planted: VisitPlanted) -> None:
    async with visit_planted() as visit:
        assert await visit.page.evaluate(LOOK) == [PHONE, "en-GB", False, False]
    async with visit_planted(width=DESK, dark=True, locale="ar", reduced_motion=True) as visit:
        assert await visit.page.evaluate(LOOK) == [DESK, "ar", True, True]


async def test_every_window_calls_from_an_address_of_its_own(visit_planted: VisitPlanted) -> None:
    addresses = []
    for _ in range(2):
        async with visit_planted() as visit:
            await visit.page.goto("/who")
            addresses.append(await visit.page.inner_text("p"))
    assert addresses[0] != addresses[1]
    assert "127.0.0.1" not in addresses


KEEP_SOMETHING = """() => {
    document.cookie = "kept=1";
    localStorage.kept = sessionStorage.kept = 1;
    history.pushState(null, "", "/planted/clean?kept");
}"""
KEPT = "() => [document.cookie, localStorage.length, sessionStorage.length, history.length, innerWidth]"


async def test_a_window_that_is_used_again_keeps_nothing(visit_planted: VisitPlanted) -> None:
    pages = []
    for _ in range(2):
        async with visit_planted(locale="de") as visit:
            pages.append(visit.page)
            await visit.page.goto("/planted/clean")
            # The blank page before, and this one.
            assert await visit.page.evaluate(KEPT) == ["", 0, 0, 2, PHONE]
            await visit.page.evaluate(KEEP_SOMETHING)
            await visit.page.context.new_page()
            await visit.page.set_viewport_size({"width": DESK, "height": 800})
            await visit.page.emulate_media(color_scheme="dark", media="print")
            await visit.page.context.route("**/*", lambda route: route.abort())
    assert pages[0] is pages[1]
    assert len(pages[0].context.pages) == 1


async def test_a_window_whose_clock_was_taken_is_not_used_again(visit_planted: VisitPlanted) -> None:
    pages = []
    for _ in range(2):
        async with visit_planted(locale="pl") as visit:
            pages.append(visit.page)
            await visit.page.clock.install()
    assert pages[0] is not pages[1]
    assert pages[0].is_closed()


async def test_a_failure_leaves_a_picture(
    visit_planted: VisitPlanted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(conftest, "PICTURES_OF_FAILURES", tmp_path / "failed")
    async with visit_planted() as visit:
        await visit.page.goto("/planted/clean")
        await conftest.keep_pictures("test_of[a/b]", [visit.page])
    path = tmp_path / "failed" / "test_of-a-b-1.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert str(path) in capsys.readouterr().out


# Accessibility.


@pytest.mark.parametrize("javascript", [True, False])
async def test_a_page_without_barriers_is_accessible(visit_planted: VisitPlanted, javascript: bool) -> None:
    async with visit_planted(javascript=javascript) as visit:
        await visit.page.goto("/planted/clean")
        await assert_accessible(visit.page)


@pytest.mark.parametrize("rule", ["image-alt", "color-contrast", "target-size"])
@pytest.mark.parametrize("javascript", [True, False])
async def test_a_barrier_is_found(visit_planted: VisitPlanted, rule: str, javascript: bool) -> None:
    async with visit_planted(javascript=javascript) as visit:
        await visit.page.goto(f"/planted/{rule}")
        for has_many_alike in (False, True):
            with pytest.raises(AssertionError, match=rule):
                await assert_accessible(visit.page, has_many_alike=has_many_alike)


async def test_a_page_examined_without_javascript_stays_without(visit_planted: VisitPlanted) -> None:
    async with visit_planted(javascript=False) as visit:
        for _ in range(2):
            await visit.page.goto("/planted/script")
            await assert_accessible(visit.page)
            assert await visit.page.title() == "Planted"
            assert await visit.page.evaluate(HAS_NO_SCRIPTS)


# The worker behind the page.


async def test_news_arrive_by_themselves(new_payment: NewPayment) -> None:
    payment = await new_payment(amount=100)
    account = await payment.account()
    body = {"accountNumber": account, "currency": "NGN", "amount": 100, "payer": {"name": "Ada Obi"}}
    async with (
        asyncio.timeout(60),
        payment.shop.client.stream("GET", f"/checkout/payments/{payment.pay_code}/events") as events,
    ):
        assert (await payment.sandbox("transfers", body)).status_code == 201
        assert await says(events, '"status":"success"')


async def says(events: httpx.Response, words: str) -> bool:
    async for line in events.aiter_lines():
        if words in line:
            return True
    return False


async def test_a_failed_round_of_the_worker_fails_the_test(runtime: Runtime, db: Any) -> None:
    has_run = asyncio.Event()

    async def broken(_: PaymentDeps, __: Clock) -> RoundResult:
        has_run.set()
        raise ValueError("planted")

    with pytest.raises(AssertionError, match="rounds of the worker failed"):
        async with working(runtime, (Loop("broken", broken, every_s=60),)):
            await has_run.wait()
