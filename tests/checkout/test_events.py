"""Server-sent events: a stream begins with the state of the payment, then has each change, then the end."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
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
from tidegate.core.errors import RateLimited, Unavailable
from tidegate.infra.http import application
from tidegate.infra.http.application import Application
from tidegate.payment import pay
from tidegate.runtime import Runtime
from tidegate.settings import Settings

HEARS_WITHIN_S = 60.0


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

    async def view_when(self, status: str) -> dict[str, Any]:
        """What begins and what is told of it are several changes; a watcher hears of all, or of the last."""
        while (view := await self.next_view())["status"] != status:
            pass
        return view


@dataclass(frozen=True)
class Watched:
    """A server whose watchers and requests in flight can be counted."""

    client: httpx.AsyncClient
    service: Application
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
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            yield Watched(client, service, api.watch)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(HEARS_WITHIN_S):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in the server
            await asyncio.sleep(0.01)


async def test_a_stream_begins_with_the_state_of_the_payment(watched: Watched, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    async with watched.stream(checkout) as stream:
        assert stream.answer.status_code == 200
        assert stream.answer.headers["content-type"].startswith("text/event-stream")
        assert stream.answer.headers["cache-control"] == "no-store"
        assert await stream.next_view() == await checkout.view()


async def test_two_streams_get_every_change_and_then_the_end(watched: Watched, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    async with watched.stream(checkout) as one, watched.stream(checkout) as other:
        for stream in (one, other):
            assert (await stream.next_view())["status"] == "initiated"
        account = await checkout.account()
        for stream in (one, other):
            view = await stream.view_when("pending")
            assert view["attempt"]["action"]["virtualAccount"]["accountNumber"] == account
        await checkout.transfer(account, "100")
        for stream in (one, other):
            assert (await stream.view_when("success"))["amountReceived"] == 100
            with pytest.raises(Ended):
                await stream.next_block()
    await until(lambda: watched.watchers == 0)


async def test_a_failed_attempt_is_sent_and_the_stream_goes_on(watched: Watched, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    async with watched.stream(checkout) as stream:
        await stream.next_view()
        await checkout.charge(card(WITHOUT_MONEY))
        assert (await stream.view_when("pending"))["attempt"]["failure"] == "insufficient_funds"
        await checkout.cancel()
        assert (await stream.next_view())["ending"] == "cancelled"
        with pytest.raises(Ended):
            await stream.next_block()


async def test_the_stream_of_an_ended_payment_has_one_event(watched: Watched, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    await checkout.cancel()
    answer = await watched.client.get(f"/checkout/payments/{checkout.pay_code}/events")
    assert answer.text.count("event: status") == 1
    assert json.loads(answer.text.partition("data: ")[2])["status"] == "failed"


async def test_a_stream_has_no_events_of_another_payment(watched: Watched, new_checkout: MakeCheckout) -> None:
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


async def test_a_stream_whose_client_leaves_is_freed_without_a_log_line(
    watched: Watched, new_checkout: MakeCheckout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "log", structlog.get_logger("http"))  # A used one may be bound elsewhere.
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
    assert not watched.watch._networks


async def test_streams_do_not_count_as_requests_in_flight(watched: Watched, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    async with watched.stream(checkout) as one, watched.stream(checkout) as other:
        await one.next_view()
        await other.next_view()
        assert (watched.watchers, watched.service.admission._in_flight) == (2, 0)
    await until(lambda: watched.watchers == 0)
    assert watched.service.admission._in_flight == 0


async def test_one_stream_too_many_is_refused_before_the_answer_begins(
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


async def test_a_page_older_than_the_last_change_gets_it_and_others_do_not(
    runtime: Runtime, new_checkout: MakeCheckout, tick: Callable[[], Awaitable[None]]
) -> None:
    checkout = await new_checkout()
    watch = Watch(runtime.db, per_address_max=2)
    before = (await pay.view(runtime.db, checkout.shop.business_id, checkout.pay_code)).payment
    async with watch.on(before, "192.0.2.1") as first:
        await checkout.account()
        await watch._look()
        assert first.changed.is_set()
        after = (await pay.view(runtime.db, checkout.shop.business_id, checkout.pay_code)).payment
        first.clear(after.version)
        # This page looked at the payment before the change and begins to wait after it was told.
        async with watch.on(before, "192.0.2.1") as second:
            await watch._look()
            assert second.changed.is_set()
            assert not first.changed.is_set(), "a new stream makes no other one ask the database"


@pytest.mark.parametrize(
    ("others", "mine", "is_refused"),
    [
        pytest.param(["192.0.2.1"] * 2, "192.0.2.1", True, id="one address"),
        pytest.param(["192.0.2.1"] * 2, "192.0.2.2", False, id="another address"),
        pytest.param(["2001:db8:1:200::1", "2001:db8:1:200::2"], "2001:db8:1:200::3", True, id="one /64"),
        pytest.param([f"2001:db8:1:2{n:02x}::1" for n in range(8)], "2001:db8:1:2ff::1", True, id="one /56"),
        pytest.param([f"2001:db8:1:2{n:02x}::1" for n in range(8)], "2001:db8:1:300::1", False, id="another /56"),
    ],
)
async def test_streams_of_one_address_are_limited(
    runtime: Runtime, new_checkout: MakeCheckout, others: list[str], mine: str, is_refused: bool
) -> None:
    checkout = await new_checkout()
    payment = (await pay.view(runtime.db, checkout.shop.business_id, checkout.pay_code)).payment
    watch = Watch(runtime.db, per_address_max=2)
    async with AsyncExitStack() as stack:
        for other in others:
            await stack.enter_async_context(watch.on(payment, other))
        with pytest.raises(RateLimited) if is_refused else nullcontext():
            watch.check_stream_limit(payment, mine)
    watch.check_stream_limit(payment, mine)


async def test_streams_of_one_payment_are_limited_and_other_payments_go_on(
    watched: Watched, new_checkout: MakeCheckout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_module, "PER_PAYMENT_MAX", 2)
    mine, other = await new_checkout(), await new_checkout()
    async with watched.stream(mine) as one, watched.stream(mine) as two:
        await one.next_view()
        await two.next_view()
        answer = await watched.client.get(f"/checkout/payments/{mine.pay_code}/events")
        assert_says_no(answer, 429, "RATE_LIMITED")
        assert answer.headers["retry-after"] == "5"
        async with watched.stream(other) as third:
            assert (await third.next_view())["status"] == "initiated"
    await until(lambda: watched.watchers == 0)


async def test_a_database_that_is_busy_cuts_no_stream_and_leaves_no_trace_in_the_log(
    watched: Watched, new_checkout: MakeCheckout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "log", structlog.get_logger("http"))
    checkout = await new_checkout()
    asked = asyncio.Event()

    async def busy(*_: Any) -> Any:
        asked.set()
        raise Unavailable("the database is busy")

    with capture_logs() as logged:
        async with watched.stream(checkout) as stream:
            await stream.next_view()
            with monkeypatch.context() as patch:
                patch.setattr(checkout_api, "pay", SimpleNamespace(view=busy))
                await checkout.cancel()
                async with asyncio.timeout(HEARS_WITHIN_S):
                    await asked.wait()
            assert (await stream.next_view())["status"] == "failed"
    assert "answer cut short" not in {line["event"] for line in logged}


async def test_forty_streams_that_are_cut_at_once_leave_no_trace_in_the_log(
    watched: Watched, new_checkout: MakeCheckout, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(application, "log", structlog.get_logger("http"))
    checkouts = [await new_checkout() for _ in range(4)]
    wires = []
    with capture_logs() as logged:
        for number in range(40):
            wire = socket.create_connection(("127.0.0.1", watched.client.base_url.port or 0), timeout=60)
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # Closing resets.
            path = f"/checkout/payments/{checkouts[number % 4].pay_code}/events"
            wire.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
            wires.append(wire)
        await until(lambda: watched.watchers == 40)
        await checkouts[0].cancel()  # While they are being written to.
        for wire in wires:
            wire.close()
        await until(lambda: watched.watchers == 0)
        await until(lambda: sum(line.get("operation") == "watchPayment" for line in logged) == 40)
    assert {line["event"] for line in logged} == {"request"}
    assert [record.getMessage() for record in caplog.records if record.name.startswith(("uvicorn", "asyncio"))] == []
