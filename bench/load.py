"""The load generator: a process of its own that sends prepared requests and reads complete answers.

    echo '{"port": 8080, …}' | python -m bench.load

Closed load: each connection sends its next request when it has an answer. Open load: requests arrive at random, whether
or not earlier ones have been answered, and each is measured from the moment it was due: when the generator has no
connection free, or is late itself, the wait counts. Only the status line, the length and Retry-After of an answer are
looked at, so that the generator costs little beside the server. docs/decisions/0018 says why it is our own.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any, cast

import uvloop

from bench.report import percentiles_ms

HOST = "127.0.0.1"
# How long the last answers may take after the time is over.
LAST_ANSWERS_S = 5.0
LOOK_EVERY_S = 0.01
# After so many arrivals in a row, the answers that have come meanwhile are read.
ARRIVALS_IN_A_ROW_MAX = 32
COMPLAINT_BYTES_MAX = 500
# Where the reference of a request goes.
UNIQUE = "{unique}"
UNIQUE_LENGTH = 19
# Letters only: among long runs of digits, some would pass for card numbers and be refused.
_LETTERS = bytes.maketrans(b"0123456789", b"ghijklmnop")
_LENGTH = b"content-length: "
_RETRY_AFTER = b"\r\nretry-after: "


@dataclass(frozen=True)
class Plan:
    port: int
    requests: list[str]
    # Opened before the first request.
    connections: int
    seconds: float
    # Arrivals of an open load; None for a closed one.
    per_second: float | None = None
    # Answers of the first moments are checked but not counted.
    lead_s: float = 0.0
    # In their order and none a second time; else shuffled, again and again.
    is_each_once: bool = False
    # Of an overload, whose connections are opened as arrivals need them, up to so many: an arrival for which none is
    # free is then given up and counted, instead of waiting.
    connections_max: int = 0
    # So that the server gets the machine when both want it.
    niceness: int = 0


class Client(asyncio.Protocol):
    """One connection, with one request under way at a time."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._received = b""
        self.due_at = self.sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are of no asyncio class.
        self.transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        answer = self._received + data if self._received else data
        if is_complete(answer):
            self._received = b""
            self._load.has_answer(self, answer)
        else:
            self._received = answer

    def connection_lost(self, exc: Exception | None) -> None:
        self._load.seen["cut"] += self._load.is_running


class Load:
    """What all connections share; an open load, or a closed one."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        parts = [text.encode().split(UNIQUE.encode(), 1) for text in plan.requests]
        if not plan.is_each_once:
            random.shuffle(parts)
        self._parts: Iterator[list[bytes]] = iter(parts) if plan.is_each_once else itertools.cycle(parts)
        self._idle: list[Client] = []
        self._clients: list[Client] = []
        self._opening: list[asyncio.Task[None]] = []
        self._due: deque[float] = deque()
        self._counted_from = self._ends_at = 0.0
        self._under_way = 0
        self.is_running = True
        self.statuses: Counter[int] = Counter()
        self.seen: Counter[str] = Counter()
        self.in_time: Counter[int] = Counter()
        self.since_due_s: dict[int, list[float]] = defaultdict(list)
        self.since_sent_s: dict[int, list[float]] = defaultdict(list)
        self.complaint = ""

    async def run(self) -> None:
        asyncio.get_running_loop().set_exception_handler(self._complain)
        for _ in range(self._plan.connections):
            await self._connect(None)
        self._counted_from = perf_counter() + self._plan.lead_s
        self._ends_at = self._counted_from + self._plan.seconds
        if self._plan.per_second is None:
            for client in [self._idle.pop() for _ in self._clients]:
                self._free(client)
            await asyncio.sleep(self._ends_at - perf_counter())
        else:
            await self._arrive(self._plan.per_second)
        for _ in range(round(LAST_ANSWERS_S / LOOK_EVERY_S)):
            if not self._under_way and not self._due:
                break
            await asyncio.sleep(LOOK_EVERY_S)
        self.seen["unanswered"] = self._under_way + len(self._due)
        self._due.clear()
        self.is_running = False
        for task in self._opening:
            task.cancel()
        for client in self._clients:
            client.transport.abort()

    async def _connect(self, due_at: float | None) -> None:
        loop = asyncio.get_running_loop()
        _, client = await loop.create_connection(lambda: Client(self), HOST, self._plan.port)
        self._clients.append(client)
        if due_at is None:
            self._idle.append(client)
        else:
            self._send(client, due_at)

    async def _arrive(self, per_second: float) -> None:
        """At random distances, as independent clients come."""
        due_at, in_a_row = self._counted_from, 0
        while (due_at := due_at + random.expovariate(per_second)) < self._ends_at:
            ahead_s = due_at - perf_counter()
            in_a_row += 1
            if ahead_s > 0 or in_a_row > ARRIVALS_IN_A_ROW_MAX:
                await asyncio.sleep(max(ahead_s, 0))
                in_a_row = 0
            if perf_counter() > self._ends_at:
                return
            self.seen["arrived"] += 1
            # The last one first: a connection that was idle for long may be about to be closed.
            if self._idle:
                self._send(self._idle.pop(), due_at)
            elif not self._plan.connections_max:
                self._due.append(due_at)
            elif len(self._opening) < self._plan.connections_max:
                self._opening.append(asyncio.create_task(self._connect(due_at)))
            else:
                self.seen["given_up"] += 1

    def has_answer(self, client: Client, answer: bytes) -> None:
        now = perf_counter()
        status = int(answer[9:12])
        self._under_way -= 1
        self.statuses[status] += 1
        if now >= self._counted_from:
            self.in_time[status] += now < self._ends_at
            self.since_due_s[status].append(now - client.due_at)
            self.since_sent_s[status].append(now - client.sent_at)
        if status >= 400:
            self.seen["without_retry_after"] += _RETRY_AFTER not in answer
            self.complaint = self.complaint or answer[:COMPLAINT_BYTES_MAX].decode("latin-1")
        self._free(client)

    def _free(self, client: Client) -> None:
        """What a connection does next."""
        if self._due:
            self._send(client, self._due.popleft())
        elif self._plan.per_second is None and perf_counter() < self._ends_at:
            self._send(client, None)
        else:
            self._idle.append(client)

    def _send(self, client: Client, due_at: float | None) -> None:
        parts = next(self._parts, None)
        if parts is None:
            self.seen["run_out"] = 1
            return
        client.sent_at = perf_counter()
        client.due_at = client.sent_at if due_at is None else due_at
        client.transport.write(parts[0] if len(parts) == 1 else parts[0] + unique() + parts[1])
        self._under_way += 1
        self.seen["sent"] += 1

    def _complain(self, _: object, context: dict[str, Any]) -> None:
        """A mistake of the generator itself must not pass for a slow server."""
        self.seen["cut"] += 1
        self.complaint = self.complaint or repr(context)[:COMPLAINT_BYTES_MAX]


def unique() -> bytes:
    return (b"%019x" % random.getrandbits(4 * UNIQUE_LENGTH)).translate(_LETTERS)


def is_complete(answer: bytes) -> bool:
    head_end = answer.find(b"\r\n\r\n")
    if head_end < 0:
        return False
    at = answer.find(_LENGTH, 0, head_end)
    if at < 0:
        raise ValueError(f"an answer without a length: {answer[:COMPLAINT_BYTES_MAX]!r}")
    return len(answer) >= head_end + 4 + int(answer[at + len(_LENGTH) : answer.index(b"\r", at)])


async def run(plan: Plan) -> dict[str, Any]:
    """Counts, statuses, and latencies by status."""
    os.nice(plan.niceness)
    load = Load(plan)
    await load.run()
    counts = ("arrived", "sent", "given_up", "cut", "unanswered", "without_retry_after", "run_out")
    return {
        **{name: load.seen[name] for name in counts},
        "seconds": plan.seconds,
        "statuses": dict(load.statuses),
        "in_time": dict(load.in_time),
        "since_due_ms": {status: percentiles_ms(seconds) for status, seconds in load.since_due_s.items()},
        "since_sent_ms": {status: percentiles_ms(seconds) for status, seconds in load.since_sent_s.items()},
        "complaint": load.complaint,
    }


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(Plan(**json.loads(sys.stdin.read()))))))
