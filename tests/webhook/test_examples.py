"""The receivers of examples/, run as a merchant runs them, against the real delivery engine."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from tidegate.audit.model import OPERATOR
from tidegate.core.clock import SystemClock
from tidegate.infra.db import Database
from tidegate.infra.http.operation import encode
from tidegate.webhook import commands, sign
from tidegate.webhook.model import Delivery
from webhook.world import World, make_world

EXAMPLES = Path(__file__).parents[2] / "examples"
SECRET = "whsec_" + base64.b64encode(b"of the merchant, and well kept..").decode()
OTHER = "whsec_" + base64.b64encode(b"of somebody else, who has guesse").decode()
BODY = encode(
    {"event": "charge.successful", "data": {"merchantReference": "Órder-1", "amountReceived": 101.5, "note": "a/b <é>"}}
)
WITHIN_S = 120.0


def command_of(language: str) -> list[str]:
    if language == "python":
        return [sys.executable, str(EXAMPLES / "receiver.py")]
    node = shutil.which("node")
    if node is None:
        pytest.fail("examples/receiver.mjs is tested with Node 18 or newer, and there is none: install `nodejs`.")
    return [node, str(EXAMPLES / "receiver.mjs")]


class Example:
    """One of the receivers, running. `handled` are the lines of its work so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.url = ""
        self.handled: list[str] = []

    async def line(self) -> str:
        assert self.process.stdout is not None
        async with asyncio.timeout(WITHIN_S):
            return (await self.process.stdout.readline()).decode().strip()

    async def has_handled(self, event_id: str) -> None:
        while not any(event_id in line for line in self.handled):
            line = await self.line()
            assert line.startswith("handled "), line
            self.handled.append(line)


@asynccontextmanager
async def running(language: str, inbox: Path) -> AsyncIterator[Example]:
    environment = {"PATH": os.environ["PATH"], "WEBHOOK_SECRET": SECRET, "PORT": "0", "INBOX": str(inbox)}
    process = await asyncio.create_subprocess_exec(
        *command_of(language), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    example = Example(process)
    try:
        # What the process before was killed at is done again first.
        while (greeting := await example.line()).startswith("handled "):
            example.handled.append(greeting)
        assert greeting.startswith("listening on "), greeting
        example.url = greeting.removeprefix("listening on ")
        yield example
    finally:
        process.kill()
        await process.communicate()


@pytest.fixture(params=["python", "node"])
def language(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
async def example(language: str, tmp_path: Path) -> AsyncIterator[Example]:
    async with running(language, tmp_path / "inbox") as started:
        yield started


@pytest.fixture
async def world(db: Database) -> AsyncIterator[World]:
    async with make_world(db) as made:
        yield made


async def last_answer(world: World) -> int | None:
    newest: Delivery = (await world.deliveries())[0]
    return newest.attempts[-1].status_code


async def resend(world: World, delivery_id: int) -> None:
    async with world.db.transaction() as tx:
        await commands.resend(tx, world.business_id, delivery_id, by=OPERATOR, now=world.clock.now())
    await world.deliver()


async def test_an_event_is_answered_and_then_handled(world: World, example: Example) -> None:
    await world.endpoint(example.url, secret=SECRET)
    event_id = await world.event(BODY)
    await world.deliver()
    assert await last_answer(world) == 204
    await example.has_handled(event_id)
    assert example.handled == [f"handled {event_id} charge.successful Órder-1 101.5"]


async def test_an_event_that_comes_again_is_dropped_also_after_a_crash(
    world: World, language: str, tmp_path: Path
) -> None:
    async with running(language, tmp_path / "inbox") as example:
        made = await world.endpoint(example.url, secret=SECRET)
        first = await world.event(BODY)
        await world.deliver()
        delivery = await world.delivery()
        await resend(world, delivery.id)
        second = await world.event(BODY)
        await world.deliver()
        await example.has_handled(second)
        assert [line.split()[1] for line in example.handled] == [first, second]
    async with running(language, tmp_path / "inbox") as example:
        changes = {"url": example.url}
        await commands.change(
            world.db, world.business_id, made.endpoint.id, changes, by=OPERATOR, now=world.clock.now()
        )
        await resend(world, delivery.id)
        third = await world.event(BODY)
        await world.deliver()
        await example.has_handled(third)
        # The process before was killed, perhaps before it had noted that the second was done.
        assert [line.split()[1] for line in example.handled] in ([third], [second, third])
    assert [attempt.status_code for attempt in (await world.deliveries())[-1].attempts] == [204, 204, 204]


async def test_both_secrets_fit_while_one_is_rotated(world: World, example: Example) -> None:
    made = await world.endpoint(example.url, secret=SECRET)
    async with world.db.transaction() as tx:
        await commands.rotate(
            tx, world.webhook_deps.vault, world.business_id, made.endpoint.id, by=OPERATOR, now=world.clock.now()
        )
    await world.event(BODY)
    await world.deliver()
    assert await last_answer(world) == 204
    world.later(hours=25)
    await world.event(BODY)
    await world.deliver()
    assert await last_answer(world) == 401


Forge = Callable[[dict[str, str]], tuple[dict[str, str], bytes]]


def headers_of(body: bytes = BODY, secret: str = SECRET, **ago: float) -> dict[str, str]:
    timestamp = (SystemClock().now() - timedelta(**ago)).timestamp()
    return sign.headers("evt_by_hand", body, [secret], timestamp_s=int(timestamp))


@pytest.mark.parametrize(
    "forge",
    [
        lambda good: (headers_of(secret=OTHER), BODY),
        lambda good: (headers_of(minutes=6), BODY),
        lambda good: (headers_of(minutes=-6), BODY),
        lambda good: (good, BODY.replace(b"101.5", b"901.5")),
        lambda good: (good, json.dumps(json.loads(BODY)).encode()),
        lambda good: (good, b""),
        lambda good: ({**good, "webhook-id": "evt_other"}, BODY),
        lambda good: ({**good, "webhook-signature": "v1,"}, BODY),
        lambda good: ({**good, "webhook-signature": good["webhook-signature"][:-1]}, BODY),
        lambda good: ({**good, "webhook-timestamp": "soon"}, BODY),
        lambda good: ({"signature": good["signature"]}, BODY),
        lambda good: ({}, BODY),
    ],
    ids=["other secret", "old", "from the future", "changed", "written again", "empty", "other id", "no signature",
         "short signature", "no time", "without time and id", "nothing"],
)  # fmt: skip
async def test_what_is_not_signed_is_refused(forge: Forge, example: Example) -> None:
    headers, body = forge(headers_of())
    async with httpx.AsyncClient(timeout=WITHIN_S) as client:
        answer = await client.post(example.url, content=body, headers=headers)
        assert answer.status_code == 401
        # And the receiver goes on.
        answer = await client.post(example.url, content=BODY, headers=headers_of())
        assert answer.status_code == 204
    await example.has_handled("evt_by_hand")
    assert len(example.handled) == 1


async def test_of_many_at_the_same_time_one_is_handled(example: Example) -> None:
    async with httpx.AsyncClient(timeout=WITHIN_S) as client:

        async def post() -> int:
            return (await client.post(example.url, content=BODY, headers=headers_of())).status_code

        assert await asyncio.gather(*(post() for _ in range(8))) == [204] * 8
        last = sign.headers("evt_last", BODY, [SECRET], timestamp_s=int(SystemClock().now().timestamp()))
        await client.post(example.url, content=BODY, headers=last)
    await example.has_handled("evt_last")
    assert [line.split()[1] for line in example.handled] == ["evt_by_hand", "evt_last"]


async def test_a_huge_body_is_refused_unread(example: Example) -> None:
    async with httpx.AsyncClient(timeout=WITHIN_S) as client:
        try:
            answer = await client.post(example.url, content=bytes(3_000_000), headers=headers_of())
            assert answer.status_code == 413
        except httpx.TransportError:
            pass  # It has closed the connection before we were done.
        assert (await client.post(example.url, content=BODY, headers=headers_of())).status_code == 204


CHECKS = {
    "python": """
import sys
from email.message import Message
from receiver import is_authentic_by_signature
message = Message()
message["Signature"] = sys.argv[1]
print(is_authentic_by_signature(message, sys.stdin.buffer.read()))
""",
    "node": """
import { readFileSync } from "node:fs";
const { isAuthenticBySignature } = await import(process.env.EXAMPLE);
console.log(isAuthenticBySignature({ signature: process.argv[1] }, readFileSync(0)));
""",
}

Check = Callable[[str], Awaitable[str]]


@pytest.fixture
def check(language: str) -> Check:
    program, path = command_of(language)
    asked = ["-c"] if language == "python" else ["--input-type=module", "-e"]

    async def run(signature: str) -> str:
        process = await asyncio.create_subprocess_exec(
            program, *asked, CHECKS[language], signature, env={
                "PATH": os.environ["PATH"], "WEBHOOK_SECRET": SECRET, "EXAMPLE": path, "PYTHONPATH": str(EXAMPLES)
            }, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        async with asyncio.timeout(WITHIN_S):
            said, _ = await process.communicate(BODY)
        return said.decode().strip().lower()

    return run


async def test_the_other_header_can_be_checked_instead(check: Check) -> None:
    assert await check(headers_of()["signature"]) == "true"
    assert await check(headers_of(secret=OTHER)["signature"]) == "false"
    assert await check("") == "false"


async def test_without_a_secret_it_says_what_is_missing(language: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *command_of(language), env={"PATH": os.environ["PATH"]}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    async with asyncio.timeout(WITHIN_S):
        said, _ = await process.communicate()
    assert (process.returncode, said.decode().strip()) == (1, "WEBHOOK_SECRET must be the endpoint's secret, whsec_…")
