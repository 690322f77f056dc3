"""`tidegate listen`: a developer's server gets the sandbox's events, and the developer sees each of them."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

import waiting
from build import Shop, order
from checkout.paying import card
from conftest import MakeCheckout
from process import free_port, stop, tidegate, wait_until_ready
from receiver import Receiver, answer, hang, receiving
from tidegate.cli import forward, listen, main
from tidegate.cli.forward import Forwarder, ReceivedEvent
from tidegate.cli.listen import DESCRIPTION, ENDPOINTS
from tidegate.cli.merchant_client import MerchantAccount
from tidegate.core.clock import SystemClock
from tidegate.core.errors import Refusal
from tidegate.infra.telemetry import Meter
from tidegate.runtime import Runtime
from tidegate.sandbox.seed import SECRET_FIELD, VARIABLES
from tidegate.webhook import sign
from tidegate.webhook.model import EVENTS
from tidegate.worker import sender_of
from tidegate_client import webhooks

WITHIN_S = 120.0
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as made:
        yield made


@pytest.fixture(autouse=True)
async def sender(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    """As in a running sandbox, for the tests that have a business."""
    if "shop" not in request.fixturenames:
        yield
        return
    runtime: Runtime = request.getfixturevalue("runtime")
    task = asyncio.create_task(sender_of(runtime, Meter()).run(grace_s=1.0))
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@dataclass
class Listener:
    """A running `tidegate listen`, and what it would have shown."""

    url: str
    shown: asyncio.Queue[ReceivedEvent]

    async def next(self) -> ReceivedEvent:
        async with asyncio.timeout(WITHIN_S):
            return await self.shown.get()


@asynccontextmanager
async def listening(
    shop: Shop, forward_to: str | None = None, *, events: tuple[str, ...] = EVENTS
) -> AsyncIterator[Listener]:
    shown: asyncio.Queue[ReceivedEvent] = asyncio.Queue()
    forwarder = Forwarder(forward_to, SystemClock(), shown.put_nowait)
    account = MerchantAccount(str(shop.client.base_url), shop.secret_key, SECRET)
    stop_ = asyncio.Event()
    running = asyncio.create_task(listen.run(account, forwarder, list(events), stop_, is_quiet=True))
    try:
        async with asyncio.timeout(WITHIN_S):
            while forwarder.proof is None or not forwarder.proof.done():
                assert not running.done(), running.exception()
                await asyncio.sleep(0.01)
        yield Listener(forwarder.url, shown)
    finally:
        stop_.set()
        await running


async def call(shop: Shop, method: str, path: str, body: Any = None) -> Any:
    reply = await shop.client.request(method, path, json=body, headers={"api-key": shop.secret_key})
    assert reply.status_code < 300, reply.text
    return reply.json()["data"]


async def urls_of(shop: Shop) -> list[str]:
    return [endpoint["url"] for endpoint in (await call(shop, "GET", ENDPOINTS))["results"]]


async def log_of(shop: Shop, event_id: str) -> dict[str, Any]:
    """What Tidegate has written down of it; once it has."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            for record in (await call(shop, "GET", "/webhooks/deliveries"))["results"]:
                if record["eventId"] == event_id and record["attempts"]:
                    found: dict[str, Any] = record
                    return found
            await asyncio.sleep(0.02)


async def pay(shop: Shop, new_checkout: MakeCheckout) -> str:
    checkout = await new_checkout(shop)
    assert (await checkout.charge(card())).status_code == 200
    await checkout.tick()
    return checkout.reference


async def test_an_event_is_checked_passed_on_byte_for_byte_and_its_answer_passed_back(
    shop: Shop, new_checkout: MakeCheckout, receiver: Receiver
) -> None:
    receiver.behaviour = answer(201, b"thank you")
    async with listening(shop, receiver.url("/hook?a=%20b")) as listener:
        reference = await pay(shop, new_checkout)
        arrival = await listener.next()
        record = await log_of(shop, arrival.event_id)
    [got] = receiver.received
    assert (arrival.event, arrival.reference, arrival.found.is_well) == ("charge.successful", reference, True)
    assert (got.method, got.path, got.body, got.event_id) == ("POST", "/hook?a=%20b", arrival.body, arrival.event_id)
    assert got.headers.keys() == {
        "host", "user-agent", "accept", "accept-encoding", "content-type", "content-length",
        "webhook-id", "webhook-timestamp", "webhook-signature", "signature",
    }  # fmt: skip
    assert got.headers["user-agent"].startswith("Tidegate-Webhooks/")
    assert arrival.reply is not None
    assert (arrival.reply.status, arrival.reply.problem) == (201, None)
    [attempt] = record["attempts"]
    assert (record["status"], attempt["statusCode"], attempt["responseBody"]) == ("delivered", 201, "thank you")


async def test_what_your_server_refuses_is_tried_again_as_in_real_life(
    shop: Shop, new_checkout: MakeCheckout, receiver: Receiver
) -> None:
    receiver.behaviour = answer(503, b"later", retry_after="120")
    async with listening(shop, receiver.url()) as listener:
        await pay(shop, new_checkout)
        arrival = await listener.next()
        record = await log_of(shop, arrival.event_id)
    assert (record["status"], record["attempts"][0]["statusCode"]) == ("pending", 503)
    assert record["attempts"][0]["responseBody"] == "later"


async def test_a_server_that_is_not_there_answers_502(shop: Shop, new_checkout: MakeCheckout) -> None:
    async with listening(shop, f"http://127.0.0.1:{free_port()}/hook") as listener:
        await pay(shop, new_checkout)
        arrival = await listener.next()
        record = await log_of(shop, arrival.event_id)
    assert arrival.reply is not None
    assert arrival.reply.status == record["attempts"][0]["statusCode"] == 502
    assert arrival.reply.problem == "refuses the connection"


async def test_a_server_whose_name_is_unknown_answers_502(shop: Shop, new_checkout: MakeCheckout) -> None:
    async with listening(shop, "http://nobody.invalid/hook") as listener:
        await pay(shop, new_checkout)
        arrival = await listener.next()
    assert arrival.reply is not None
    assert arrival.reply.status == 502
    assert "cannot be reached" in (arrival.reply.problem or "")


async def test_a_server_that_does_not_answer_is_a_504(
    shop: Shop, new_checkout: MakeCheckout, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forward, "FORWARD_WITHIN_S", 0.2)
    receiver.behaviour = hang
    async with listening(shop, receiver.url()) as listener:
        await pay(shop, new_checkout)
        arrival = await listener.next()
    assert arrival.reply is not None
    assert (arrival.reply.status, arrival.reply.problem) == (504, "no answer in time")


async def test_without_a_server_events_are_only_shown(shop: Shop, new_checkout: MakeCheckout) -> None:
    async with listening(shop) as listener:
        await pay(shop, new_checkout)
        arrival = await listener.next()
        record = await log_of(shop, arrival.event_id)
    assert (arrival.reply, record["status"]) == (None, "delivered")


async def replay(shop: Shop) -> None:
    """The worker marks an event a moment after it was written; until then there is nothing to replay."""
    window = {"dateFrom": "2020-01-01", "dateTo": "2199-01-01", "events": ["charge.successful"], "confirm": True}
    async with asyncio.timeout(WITHIN_S):
        while True:
            if (await call(shop, "POST", "/webhooks/replays", window))["count"]:
                return
            await asyncio.sleep(0.3)


async def test_events_of_before_come_when_they_are_replayed(shop: Shop, new_checkout: MakeCheckout) -> None:
    reference = await pay(shop, new_checkout)
    async with listening(shop) as listener:
        await replay(shop)
        assert (await listener.next()).reference == reference


async def test_a_test_event_is_forwarded(shop: Shop, receiver: Receiver) -> None:
    async with listening(shop, receiver.url()) as listener:
        [endpoint] = (await call(shop, "GET", ENDPOINTS))["results"]
        await call(shop, "POST", f"{ENDPOINTS}/{endpoint['id']}/test")
        assert (await listener.next()).event == "webhook.test"
    assert len(receiver.received) == 1  # Its own, from the beginning, was not.


async def test_the_endpoint_lives_as_long_as_the_command(shop: Shop) -> None:
    async with listening(shop, events=("refund.failed",)) as listener:
        [endpoint] = (await call(shop, "GET", ENDPOINTS))["results"]
        assert (endpoint["url"], endpoint["events"][2:]) == (listener.url, ["refund.failed"])
    assert await urls_of(shop) == []


async def test_dead_ones_are_taken_away_and_living_ones_are_not(shop: Shop) -> None:
    mine = "http://127.0.0.1:3000/hook"
    await call(shop, "POST", ENDPOINTS, {"url": mine, "description": "mine"})
    dead = {"url": f"http://127.0.0.1:{free_port()}/gone", "description": DESCRIPTION}
    await call(shop, "POST", ENDPOINTS, dead)
    async with receiving() as stranger:
        # Somebody else has its port by now.
        await call(shop, "POST", ENDPOINTS, {"url": stranger.url(), "description": DESCRIPTION})
        async with listening(shop) as first, listening(shop) as second:
            assert await urls_of(shop) == [mine, first.url, second.url]
    assert await urls_of(shop) == [mine]


async def test_an_endpoint_that_was_made_another_s_stays(shop: Shop) -> None:
    async with listening(shop):
        [endpoint] = (await call(shop, "GET", ENDPOINTS))["results"]
        await call(shop, "PATCH", f"{ENDPOINTS}/{endpoint['id']}", {"url": "http://127.0.0.1:3000/hook"})
    assert await urls_of(shop) == ["http://127.0.0.1:3000/hook"]


async def test_a_forged_request_is_shown_to_be_one(shop: Shop) -> None:
    async with listening(shop) as listener, httpx.AsyncClient() as client:
        await client.post(listener.url, content=b'{"event": "charge.successful"}', headers={"webhook-id": "evt_1"})
        arrival = await listener.next()
        assert not arrival.found.is_well
        assert (await client.post(listener.url.rpartition("/")[0] + "/other", content=b"{}")).status_code == 404


async def test_each_event_is_one_line(
    shop: Shop, new_checkout: MakeCheckout, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver.behaviour = answer(500)
    async with listening(shop, receiver.url()) as listener:
        reference = await pay(shop, new_checkout)
        arrival = await listener.next()
    capsys.readouterr()  # The server's log.
    listen.show(arrival, with_payload=True)
    line, *payload = capsys.readouterr().out.splitlines()
    for words in ("charge.successful", reference, arrival.event_id, "✓ webhook-signature", "✓ signature", "→ 500"):
        assert words in line
    assert json.loads("\n".join(payload)) == json.loads(arrival.body)
    listen.show_as_json(arrival)
    shown = json.loads(capsys.readouterr().out)
    assert (shown["id"], shown["reference"], shown["answer"]["status"]) == (arrival.event_id, reference, 500)
    assert shown["isSigned"] == {"webhook-signature": True, "signature": True}
    assert shown["body"].encode() == arrival.body


async def test_without_a_worker_it_says_that_nothing_arrives(
    new_shop: Callable[..., Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen, "PROVEN_WITHIN_S", 0.2)
    shop = await new_shop()
    forwarder = Forwarder(None, SystemClock(), lambda _: None)
    stop_ = asyncio.Event()
    asyncio.get_running_loop().call_later(1.0, stop_.set)
    await listen.run(
        MerchantAccount(str(shop.client.base_url), shop.secret_key, None),
        forwarder,
        list(EVENTS),
        stop_,
        is_quiet=False,
    )
    said = capsys.readouterr()
    assert "Is a worker running" in said.err
    assert forwarder.secret in said.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "Or give --api-url and --api-key."),
        (["--api-url", "http://127.0.0.1:1", "--api-key", "sk_test_x"], "no sandbox answers at http://127.0.0.1:1"),
        (["--api-url", "http://127.0.0.1:1", "--api-key", "x", "--forward-to", "ftp://x"], "--forward-to must be"),
    ],
)
def test_a_mistake_is_said_in_a_sentence(arguments: list[str], expected: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["listen", *arguments], env={"TIDEGATE_HOME": str(tmp_path)})
    assert (done.exit_code, expected in done.output, "Traceback" in done.output) == (1, True, False), done.output


@pytest.mark.parametrize("text", [None, "", "{}", "[]", "no JSON"])
def test_without_the_sandboxs_file_env_and_listen_say_the_same(text: str | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "sandbox.json").write_text(text)
    env, listening = (
        CliRunner().invoke(main, [command], env={"TIDEGATE_HOME": str(tmp_path)}) for command in ("env", "listen")
    )
    assert (env.exit_code, listening.exit_code) == (1, 1)
    assert env.output.strip() in listening.output
    assert "make run" in env.output
    assert ("is missing" if text is None else "cannot be read") in env.output


async def test_events_are_signed_with_the_secret_that_is_set(
    shop: Shop, new_checkout: MakeCheckout, receiver: Receiver, tmp_path: Path
) -> None:
    """The receiver of the guide verifies with `WEBHOOK_SECRET`, not with the sandbox's own."""
    own = {"baseUrl": str(shop.client.base_url), "secretKey": shop.secret_key, "webhookSecret": sign.new_secret()}
    (tmp_path / "sandbox.json").write_text(json.dumps(own))
    variables = {"TIDEGATE_HOME": str(tmp_path), "WEBHOOK_SECRET": SECRET}
    process = tidegate("listen", "--forward-to", receiver.url("/hook"), **variables)

    async def has_endpoint() -> bool:
        return bool(await urls_of(shop))

    async def has_arrived() -> bool:
        return bool(receiver.received)

    try:
        await waiting.until(has_endpoint)
        await pay(shop, new_checkout)
        await waiting.until(has_arrived)
    finally:
        await asyncio.to_thread(stop, process)
    [got] = receiver.received
    assert webhooks.verify(got.body, got.headers, SECRET).event == "charge.successful"


@pytest.mark.parametrize("chosen", [None, SECRET])
def test_env_keeps_a_secret_that_is_set(chosen: str | None, tmp_path: Path) -> None:
    keys = dict.fromkeys(VARIABLES.values(), "x_test") | {SECRET_FIELD: "whsec_own", "virtualAccounts": {}}
    (tmp_path / "sandbox.json").write_text(json.dumps(keys))
    done = CliRunner().invoke(main, ["env"], env={"TIDEGATE_HOME": str(tmp_path), "WEBHOOK_SECRET": chosen})
    assert done.exit_code == 0
    assert ("export WEBHOOK_SECRET=whsec_own" in done.stdout) is (chosen is None)
    assert ("stays" in done.stderr) is (chosen is not None)


@pytest.mark.parametrize(
    ("path", "key", "expected"),
    [("", "sk_test_x", "is refused: "), ("/nowhere", "", "is refused: "), ("/docs?", "", "no sandbox answers at")],
)
async def test_a_refusal_of_the_api_is_shown(path: str, key: str, expected: str, base_url: str) -> None:
    forwarder = Forwarder(None, SystemClock(), lambda _: None)
    with pytest.raises(Refusal, match=expected):
        await listen.run(
            MerchantAccount(base_url + path, key, None), forwarder, list(EVENTS), asyncio.Event(), is_quiet=True
        )


async def test_an_event_that_does_not_exist_is_refused(shop: Shop) -> None:
    forwarder = Forwarder(None, SystemClock(), lambda _: None)
    account = MerchantAccount(str(shop.client.base_url), shop.secret_key, None)
    with pytest.raises(Refusal, match=r"is refused: events.* must be one of charge.successful"):
        await listen.run(account, forwarder, ["charge.failed"], asyncio.Event(), is_quiet=True)


async def line_with(words: str, process: subprocess.Popen[str]) -> str:
    # When it is over, the process is stopped, and that ends the thread.
    async with asyncio.timeout(2 * WITHIN_S):
        return await asyncio.to_thread(_line_with, words, process)


def _line_with(words: str, process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if words in line:
            return line
    raise AssertionError("".join(seen))


async def test_from_a_payment_in_the_sandbox_to_the_developer_s_server(receiver: Receiver) -> None:
    with tempfile.TemporaryDirectory(prefix="tidegate-listen-") as home:
        port = free_port()
        base_url = f"http://localhost:{port}"
        sandbox = tidegate("dev", "--port", str(port), TIDEGATE_HOME=home)
        try:
            await asyncio.to_thread(wait_until_ready, base_url, sandbox)
            keys = json.loads((Path(home) / "sandbox.json").read_text())
            listener = tidegate("listen", "--forward-to", receiver.url().removeprefix("http://"), TIDEGATE_HOME=home)
            try:
                await line_with("A test event has arrived", listener)
                async with httpx.AsyncClient(base_url=base_url, timeout=WITHIN_S) as client:
                    shop = Shop(client, keys["businessId"], keys["secretKey"], keys["publicKey"])
                    created = (await shop.create(order())).json()["data"]
                    await client.post(f"/checkout/payments/{created['payCode']}/charge", json=card())
                    line = await line_with("charge.successful", listener)
                    assert created["reference"] in line
                    assert "✓ webhook-signature  ✓ signature  → 200" in line
                    assert receiver.received[0].event_id in line
                    listener.send_signal(signal.SIGINT)
                    assert await asyncio.to_thread(listener.wait, WITHIN_S) == 0
                    assert await urls_of(shop) == []
            finally:
                await asyncio.to_thread(stop, listener)
        finally:
            await asyncio.to_thread(stop, sandbox)
