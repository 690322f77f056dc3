"""A browser, a server that tells its visitors apart, and a worker behind it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Generator
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Error, Page

from browser import Visit
from conftest import MakeCheckout
from pages.background import working
from pages.stage import LinkedCheckout, NewPage, NewPayment, Stage
from pages.windows import Windows
from serving import serving
from tidegate.infra.db import Database
from tidegate.rail.sandbox import model as sandbox_model
from tidegate.runtime import Runtime
from tidegate.settings import Settings

PICTURES_OF_FAILURES = Path(__file__).parents[2] / "shots" / "failed"
HAS_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Lets fixtures know, when they end, how the test went."""
    report = yield
    item.stash[HAS_FAILED] = item.stash.get(HAS_FAILED, False) or report.failed
    return report


@pytest.fixture
def slow_payouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A return takes two seconds, less than a page on a busy machine: with this it takes an hour."""
    monkeypatch.setattr(sandbox_model, "PAYOUT_TAKES", timedelta(hours=1))


@pytest.fixture(scope="session")
async def pages_url(database_url: str) -> AsyncIterator[str]:
    """Payers are limited by address, and a browser cannot choose its own: this server believes what it is told."""
    async with serving(Settings(database_url=database_url, trusted_proxies=1)) as (url, _):
        yield url


@pytest.fixture(scope="session")
def windows(shared_browser: Browser, pages_url: str) -> Windows:
    return Windows(shared_browser, pages_url)


@pytest.fixture
async def new_page(request: pytest.FixtureRequest, windows: Windows, db: Database) -> AsyncIterator[NewPage]:
    """Opens a window with the options of `Windows.visiting`; what its page must not do fails the test at its end.

    After the database, so that pages are left before their payments are deleted: an open one would ask for its own.
    """
    async with AsyncExitStack() as stack:
        visits: list[Visit] = []

        async def open_page(**options: Any) -> Page:
            visits.append(await stack.enter_async_context(windows.visiting(**options)))
            return visits[-1].page

        yield open_page
        if has_failed(request.node) or any(visit.faults for visit in visits):
            await keep_pictures(request.node.name, [visit.page for visit in visits])
            # Who knows what the test would still have undone.
            for visit in visits:
                await visit.page.context.close()


def has_failed(test: pytest.Item) -> bool:
    return test.stash.get(HAS_FAILED, False)


async def keep_pictures(test: str, pages: list[Page]) -> None:
    PICTURES_OF_FAILURES.mkdir(parents=True, exist_ok=True)
    name = "-".join(re.findall(r"\w+", test))
    for number, page in enumerate(pages, start=1):
        path = PICTURES_OF_FAILURES / f"{name}-{number}.png"
        try:
            await page.screenshot(path=path, full_page=True)
        except Error as error:
            print(f"no picture of {page.url}: {error.message}")
        else:
            print(f"{page.url} looked like this: {path}")


@pytest.fixture
async def background(runtime: Runtime, new_checkout: MakeCheckout) -> AsyncIterator[None]:
    """The worker, so that news arrive by themselves. It ends before the books are examined and the tables emptied."""
    async with working(runtime):
        yield


@pytest.fixture
def new_payment(new_checkout: MakeCheckout, background: None, pages_url: str) -> NewPayment:
    """Like `new_checkout`, with the address of the page."""
    return _linked(new_checkout, pages_url)


def _linked(new_checkout: MakeCheckout, pages_url: str) -> NewPayment:
    async def make(*arguments: Any, **options: Any) -> LinkedCheckout:
        made = await new_checkout(*arguments, **options)
        return LinkedCheckout(**vars(made), link=f"{pages_url}/pay/{made.pay_code}")

    return make


@pytest.fixture
def stage(new_page: NewPage, new_payment: NewPayment, db: Database) -> Stage:
    return Stage(new_page, new_payment, db)


@pytest.fixture
def still_stage(new_page: NewPage, new_checkout: MakeCheckout, pages_url: str, db: Database) -> Stage:
    """Without the worker: nothing happens but what a scene does, and money on its way stays there to be looked at."""
    return Stage(partial(new_page, still=True), _linked(new_checkout, pages_url), db)
