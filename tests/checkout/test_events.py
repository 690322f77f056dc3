"""Server-sent events: whoever watches a payment hears at once how it stands, soon what changes, and then the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import structlog
from structlog.testing import capture_logs

from build import Checkout
from checkout.paying import WITHOUT_MONEY, card
from conftest import MakeCheckout
from payment.refusal import assert_says_no
from serving import serving
from tidegate.checkout import api as checkout_api
from tidegate.checkout import watch as watch_module
from tidegate.checkout.api import CheckoutApi
from tidegate.checkout.watch import Watch
from tidegate.house import House
from tidegate.infra.http import front_door
from tidegate.infra.http.front_door import FrontDoor
from tidegate.settings import Settings

HEARS_WITHIN_S = 2.0


class Ended(Exception):
    """The stream is over."""


@dataclass
class Stream:
    answer: httpx.Response
    lines: AsyncIterator[str]

    async def next_block(self) -> list[str]:
        """The lines up to the next empty one."""
        block: list[str] = []
        async with asyncio.timeout(HEARS_WITHIN_S):
            async for line in self.lines:
                if not line:
                    return block
                block.append(line)
        raise Ended

    async def next_view(self) -> dict[str, Any]:
        name, data = await self.next_block()
        assert name == "event: status"
        view: dict[str, Any] = json.loads(data.removeprefix("data: "))
        return view


@dataclass(frozen=True)
class Watched:
    """A server whose watchers and requests in flight can be counted."""

    client: httpx.AsyncClient
    service: FrontDoor
    watch: Watch

    @property
    def watchers(self) -> int:
        return self.watch._count

    @asynccontextmanager
    async def stream(self, checkout: Checkout) -> AsyncIterator[Stream]:
        async with self.client.stream("GET", f"/checkout/payments/{checkout.pay_code}/events") as answer:
            yield Stream(answer, answer.aiter_lines())


@pytest.fixture(scope="module")
async def watched(database_url: str) -> AsyncIterator[Watched]:
    async with serving(Settings(database_url=database_url)) as (url, service):
        owners = [getattr(getattr(route.app, "respond", None), "__self__", None) for route in service.routing.routes]
        api = next(owner for owner in owners if isinstance(owner, CheckoutApi))
        async with httpx.AsyncClient(base_url=url, timeout=20) as client:
            yield Watched(client, service, api.watch)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(HEARS_WITHIN_S):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in the server
            await asyncio.sleep(0.01)


async def test_a_watcher_hears_at_once_how_the_payment_stands(watched: Watched, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    async with watched.stream(checkout) as stream:
        assert stream.answer.status_code == 200
        assert stream.answer.headers["content-type"].startswith("text/event-stream")
        assert stream.answer.headers["cache-control"] == "no-store"
        assert await stream.next_view() == await checkout.view()


async def test_two_watchers_hear_of_every_change_and_then_of_the_end(
    watched: Watched, new_checkout: MakeCheckout
) -> None:
    checkout = await new_checkout()
    async with watched.stream(checkout) as one, watched.stream(checkout) as other:
        for stream in (one, other):
            assert (await stream.next_view())["status"] == "initiated"
        account = await checkout.account()
        for stream in (one, other):
            # Beginning and being told of the account are two changes; a watcher may hear of both at once.
            view = await stream.next_view()
            view = view if view["status"] == "pending" else await stream.next_view()
            assert view["attempt"]["action"]["virtualAccount"]["accountNumber"] == account
        await checkout.transfer(account, "100")
        for stream in (one, other):
            view = await stream.next_view()
            assert (view["status"], view["amountReceived"]) == ("success", 100)
            with pytest.raises(Ended):
                await stream.next_block()
    await until(lambda: watched.watchers == 0)


async def test_a_failed_attempt_is_told_and_the_stream_goes_on(watched: Watched, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    async with watched.stream(checkout) as stream:
        await stream.next_view()
        await checkout.charge(card(WITHOUT_MONEY))
        view = await stream.next_view()
        view = view if view["status"] == "pending" else await stream.next_view()
        assert view["attempt"]["failure"] == "insufficient_funds"
        await checkout.cancel()
        assert (await stream.next_view())["ending"] == "cancelled"
        with pytest.raises(Ended):
            await stream.next_block()


async def test_a_payment_that_has_ended_is_told_once(watched: Watched, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    await checkout.cancel()
    answer = await watched.client.get(f"/checkout/payments/{checkout.pay_code}/events")
    assert answer.text.count("event: status") == 1
    assert json.loads(answer.text.partition("data: ")[2])["status"] == "failed"


async def test_nobody_hears_of_another_payment(watched: Watched, new_checkout: MakeCheckout) -> None:
    mine, other = await new_checkout(), await new_checkout()
    async with watched.stream(mine) as stream:
        await stream.next_view()
        await other.charge(card())
        await mine.cancel()
        view = await stream.next_view()
        assert (view["payCode"], view["status"]) == (mine.pay_code, "failed")


@pytest.mark.parametrize("pay_code", ["tg_00000_" + "0" * 22, "x"])
async def test_an_unknown_payment_is_refused_in_json(watched: Watched, pay_code: str) -> None:
    assert_says_no(await watched.client.get(f"/checkout/payments/{pay_code}/events"), 404, "RESOURCE_NOT_FOUND")
    assert watched.watchers == 0


async def test_a_quiet_stream_shows_that_it_lives(
    watched: Watched, new_checkout: MakeCheckout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkout_api, "HEARTBEAT_S", 0.1)
    async with watched.stream(await new_checkout()) as stream:
        await stream.next_view()
        for _ in range(2):
            assert await stream.next_block() == [": still here"]


async def test_a_stream_ends_after_its_time(
    watched: Watched, new_checkout: MakeCheckout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkout_api, "STREAM_FOR_S", 0.1)
    async with watched.stream(await new_checkout()) as stream:
        await stream.next_view()
        with pytest.raises(Ended):
            await stream.next_block()


async def test_streams_end_when_the_server_is_about_to_stop(watched: Watched, new_checkout: MakeCheckout) -> None:
    async with watched.stream(await new_checkout()) as stream:
        await stream.next_view()
        watched.service.is_draining = True
        try:
            with pytest.raises(Ended):
                await stream.next_block()
        finally:
            watched.service.is_draining = False


async def test_a_watcher_who_leaves_frees_the_place_without_a_word_in_the_log(
    watched: Watched, new_checkout: MakeCheckout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front_door, "log", structlog.get_logger("http"))  # A used one may be bound elsewhere.
    checkout = await new_checkout()
    with capture_logs() as logged:
        for _ in range(3):
            async with watched.stream(checkout) as stream:
                await stream.next_view()
                assert watched.watchers == 1
            await until(lambda: watched.watchers == 0)
        await until(lambda: sum(line.get("operation") == "watchPayment" for line in logged) == 3)
    assert {line["event"] for line in logged} == {"request"}
    assert not watched.watch._waiting
    assert not watched.watch._versions


async def test_streams_take_no_place_among_the_requests(watched: Watched, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    async with watched.stream(checkout) as one, watched.stream(checkout) as other:
        await one.next_view()
        await other.next_view()
        assert (watched.watchers, watched.service.places._in_flight) == (2, 0)
    await until(lambda: watched.watchers == 0)
    assert watched.service.places._in_flight == 0


async def test_one_watcher_too_many_is_told_so_before_the_answer_begins(
    watched: Watched, new_checkout: MakeCheckout, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = await new_checkout()
    monkeypatch.setattr(watch_module, "WATCHERS_MAX", 1)
    async with watched.stream(checkout) as stream:
        await stream.next_view()
        answer = await watched.client.get(f"/checkout/payments/{checkout.pay_code}/events")
        assert_says_no(answer, 503, "SERVICE_UNAVAILABLE")
        assert answer.headers["retry-after"] == "5"
    await until(lambda: watched.watchers == 0)


async def test_asking_for_the_head_alone_opens_no_stream(watched: Watched, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    async with asyncio.timeout(HEARS_WITHIN_S):
        answer = await watched.client.head(f"/checkout/payments/{checkout.pay_code}/events")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert watched.watchers == 0


async def test_a_page_that_opens_just_after_a_change_is_told_though_others_know_it(
    house: House, new_checkout: MakeCheckout, tick: Callable[[], Awaitable[None]]
) -> None:
    checkout = await new_checkout()
    watch = Watch(house.db)
    business_id, pay_code = checkout.shop.business_id, checkout.pay_code
    async with watch.on(business_id, pay_code) as first:
        await checkout.account()
        await watch._look()
        assert first.is_set()
        # This page looked at the payment before the change and begins to wait after it was told.
        async with watch.on(business_id, pay_code) as second:
            await watch._look()
            assert second.is_set()
