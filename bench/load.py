"""The load generator: a process of its own that sends prepared requests and counts complete answers.

    echo '{"port": 8080, …}' | python -m bench.load

Each connection has one request under way, as a client that waits for its answer. Nothing but the status
line and the length of an answer is looked at, so that the generator costs little beside the server.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, cast

import uvloop

HOST = "127.0.0.1"
CONNECTIONS_MAX = 1_024
SECONDS_MAX = 600.0
CONNECT_TIMEOUT_S = 5.0
# How long the last answers may take after the time is over.
LAST_ANSWERS_S = 5.0
COMPLAINT_BYTES_MAX = 500
# A request says with this where its own reference goes.
UNIQUE = "{unique}"
UNIQUE_LENGTH = 19
# Letters only: among long runs of digits, some would pass for card numbers and be refused.
_LETTERS = bytes.maketrans(b"0123456789", b"ghijklmnop")
_LENGTH = b"content-length: "


@dataclass(frozen=True)
class Plan:
    port: int
    connections: int
    # Answers of the first moments are checked but not counted: connections are being opened.
    lead_s: float
    seconds: float
    expected_status: int
    requests: list[str]
    # In their order, and none a second time; else at random, for as long as the time lasts.
    is_each_once: bool = False


def plan_from(text: str) -> Plan:
    plan = Plan(**json.loads(text))
    if plan.is_each_once and len(plan.requests) < plan.connections:
        raise SystemExit("each connection needs a request of its own")
    if not (0 < plan.connections <= CONNECTIONS_MAX and 0 < plan.lead_s + plan.seconds <= SECONDS_MAX):
        raise SystemExit(f"at most {CONNECTIONS_MAX} connections and {SECONDS_MAX:.0f} s")
    return plan


def unique() -> bytes:
    return (b"%019x" % random.getrandbits(4 * UNIQUE_LENGTH)).translate(_LETTERS)


class Requests:
    """Ready to be sent, one after the other and then again from the first."""

    def __init__(self, texts: Sequence[str], *, is_shuffled: bool) -> None:
        self._parts = [tuple(text.encode().split(UNIQUE.encode(), 1)) for text in texts]
        if is_shuffled:
            random.shuffle(self._parts)
        self._next = 0

    @property
    def is_used_up(self) -> bool:
        return self._next >= len(self._parts)

    def next(self) -> bytes:
        parts = self._parts[self._next % len(self._parts)]
        self._next += 1
        return parts[0] if len(parts) == 1 else parts[0] + unique() + parts[1]


class Load:
    """What all connections share."""

    def __init__(self, plan: Plan) -> None:
        self._requests = Requests(plan.requests, is_shuffled=not plan.is_each_once)
        self._is_each_once = plan.is_each_once
        self._expected = plan.expected_status
        self.counted_from = perf_counter() + plan.lead_s
        self.ends_at = self.counted_from + plan.seconds
        self.answers = 0
        self.latencies_s: list[float] = []
        self.statuses: Counter[int] = Counter()
        self.complaint = ""
        self.broken = 0

    def complain(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A mistake of the generator itself must not pass for a slow server."""
        self.broken += 1
        self.complaint = self.complaint or repr(context)[:COMPLAINT_BYTES_MAX]

    @property
    def has_run_out(self) -> bool:
        return self._is_each_once and self._requests.is_used_up

    def request(self) -> bytes:
        return self._requests.next()

    def count(self, answer: bytes, sent_at: float) -> bool:
        """Whether to go on."""
        now = perf_counter()
        status = int(answer[9:12])
        self.answers += 1
        if status != self._expected:
            self.complaint = self.complaint or answer[:COMPLAINT_BYTES_MAX].decode("latin-1")
        if self.counted_from <= now < self.ends_at:
            self.latencies_s.append(now - sent_at)
        self.statuses[status] += 1
        return now < self.ends_at and not self.has_run_out


class Asker(asyncio.Protocol):
    """One end of a connection: asks, and puts the pieces of an answer together."""

    def __init__(self) -> None:
        self._transport: asyncio.WriteTransport | None = None
        self._received = b""
        self.sent_at = 0.0
        self.is_waiting = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are of no asyncio class, whatever they can do.
        self._transport = cast(asyncio.WriteTransport, transport)

    def ask(self, request: bytes) -> None:
        assert self._transport is not None
        self.is_waiting = True
        self.sent_at = perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        answer = self._received + data if self._received else data
        if not is_complete(answer):
            self._received = answer
            return
        self._received = b""
        self.is_waiting = False
        self.has_answer(answer)

    def has_answer(self, answer: bytes) -> None:
        raise NotImplementedError


class Connection(Asker):
    def __init__(self, load: Load) -> None:
        super().__init__()
        self._load = load
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.ask(self._load.request())

    def has_answer(self, answer: bytes) -> None:
        if self._load.count(answer, self.sent_at):
            self.ask(self._load.request())
        else:
            assert self._transport is not None
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        # A server that hangs up on a waiting client has not answered it.
        self._load.broken += self.is_waiting
        if not self.ended.done():
            self.ended.set_result(None)


def is_complete(answer: bytes) -> bool:
    head_end = answer.find(b"\r\n\r\n")
    if head_end < 0:
        return False
    at = answer.find(_LENGTH, 0, head_end)
    if at < 0:
        raise ValueError(f"an answer without a length: {answer[:COMPLAINT_BYTES_MAX]!r}")
    length = int(answer[at + len(_LENGTH) : answer.index(b"\r", at)])
    return len(answer) >= head_end + 4 + length


async def run(plan: Plan) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    load = Load(plan)
    loop.set_exception_handler(load.complain)
    async with asyncio.timeout(CONNECT_TIMEOUT_S):
        opened = [
            await loop.create_connection(lambda: Connection(load), HOST, plan.port) for _ in range(plan.connections)
        ]
    rest_s = load.ends_at - perf_counter() + LAST_ANSWERS_S
    _, unanswered = await asyncio.wait([connection.ended for _, connection in opened], timeout=max(rest_s, 0.1))
    for transport, _ in opened:
        transport.abort()
    return {
        "counted": len(load.latencies_s),
        "seconds": plan.seconds,
        "answers": load.answers,
        "statuses": dict(load.statuses),
        "broken": load.broken + len(unanswered),
        "has_run_out": load.has_run_out,
        "complaint": load.complaint,
        "latency_ms": percentiles_ms(load.latencies_s),
    }


def percentiles_ms(latencies_s: list[float]) -> dict[str, float]:
    ordered = sorted(latencies_s)
    if not ordered:
        return {}
    return {
        name: round(1000 * ordered[min(int(len(ordered) * share), len(ordered) - 1)], 3)
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
    }


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(plan_from(sys.stdin.read())))))
