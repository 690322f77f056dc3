"""The load generator of the open model: requests come when they come, whether or not earlier ones have been answered.

    echo '{"port": 8080, …}' | python -m bench.open_load

Each is measured from the moment it was due, not from the moment it was sent: when the generator has no connection
free, or is late itself, that wait counts as its client's. Who sends only after an answer would leave out exactly the
moments in which the server was slow.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

import uvloop

from bench.load import COMPLAINT_BYTES_MAX, HOST, LAST_ANSWERS_S, Asker, Requests, percentiles_ms

# After so many arrivals in a row, the answers that have come meanwhile are read.
ARRIVALS_AT_ONCE_MAX = 32
# Of the picture over time.
SLICE_S = 0.5
LOOK_EVERY_S = 0.01
_RETRY_AFTER = b"\r\nretry-after: "


@dataclass(frozen=True)
class Plan:
    port: int
    per_second: float
    seconds: float
    # Opened as they are needed.
    connections_max: int
    requests: list[str]
    # Opened before the first arrival.
    connections_first: int = 0
    # Whether a request waits for a connection when all are busy; else it is given up and counted.
    is_patient: bool = True
    # So that the server gets the machine when both want it.
    niceness: int = 0


@dataclass
class Tally:
    """Latencies of answers by their status: from when they were due, and from when they were sent."""

    since_due_s: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    since_sent_s: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    slices: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    # Not those that came when the time was over.
    in_time: Counter[int] = field(default_factory=Counter)
    without_retry_after: Counter[int] = field(default_factory=Counter)
    arrived: int = 0
    sent: int = 0
    # No connection was free, and none could be opened any more.
    given_up: int = 0
    # The kernel or the server would not open one.
    not_connected: int = 0
    # The server hung up on a client that waited.
    cut: int = 0
    late_s: float = 0.0
    complaint: str = ""


class Crowd:
    """Clients that come at random, and the connections between them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._requests = Requests(plan.requests, is_shuffled=True)
        self._opening: set[asyncio.Task[None]] = set()
        self._waiting: deque[float] = deque()
        self._idle: list[Client] = []
        self._clients: set[Client] = set()
        self.tally = Tally()
        self.open = 0
        self.under_way = 0
        self.began_at = 0.0

    async def come(self) -> None:
        """At a random distance from one another, as those who do not know of one another come."""
        for _ in range(self._plan.connections_first):
            await self._open(None)
        self.began_at = due_at = perf_counter()
        ends_at = due_at + self._plan.seconds
        in_a_row = 0
        while (due_at := due_at + random.expovariate(self._plan.per_second)) < ends_at:
            ahead_s = due_at - perf_counter()
            in_a_row += 1
            if ahead_s > 0 or in_a_row > ARRIVALS_AT_ONCE_MAX:
                await asyncio.sleep(max(ahead_s, 0))
                in_a_row = 0
            if perf_counter() > ends_at:
                break  # Late by as much as is left; those who did not come are no arrivals.
            self._arrive(due_at)

    async def leave(self) -> None:
        """When the last answers have come, or the time for them is over."""
        for _ in range(round(LAST_ANSWERS_S / LOOK_EVERY_S)):
            if not self.under_way and not self._waiting:
                return
            await asyncio.sleep(LOOK_EVERY_S)

    def hang_up(self) -> None:
        self._waiting.clear()
        for client in list(self._clients):
            client.hang_up()

    def request(self) -> bytes:
        return self._requests.next()

    def has_connection(self, client: Client) -> None:
        self._clients.add(client)

    def has_answer(self, client: Client, answer: bytes) -> None:
        now = perf_counter()
        status = int(answer[9:12])
        self.tally.in_time[status] += now < self.began_at + self._plan.seconds
        self.tally.since_due_s[status].append(now - client.due_at)
        self.tally.since_sent_s[status].append(now - client.sent_at)
        self.tally.slices[int((client.due_at - self.began_at) / SLICE_S)].append(now - client.due_at)
        if status >= 400:
            self.tally.without_retry_after[status] += _RETRY_AFTER not in answer
            self.tally.complaint = self.tally.complaint or answer[:COMPLAINT_BYTES_MAX].decode("latin-1")
        if self._waiting:
            self._send(client, self._waiting.popleft())
        else:
            self._idle.append(client)

    def has_lost(self, client: Client) -> None:
        self.open -= 1
        self._clients.discard(client)
        if client.is_waiting:
            self.under_way -= 1
            self.tally.cut += 1
        elif client in self._idle:
            self._idle.remove(client)
        if self._waiting:
            self._begin_opening(self._waiting.popleft())

    def _arrive(self, due_at: float) -> None:
        self.tally.arrived += 1
        # The last one first: those that have been idle for long may be about to be closed.
        if self._idle:
            self._send(self._idle.pop(), due_at)
        elif self.open < self._plan.connections_max:
            self._begin_opening(due_at)
        elif self._plan.is_patient:
            self._waiting.append(due_at)
        else:
            self.tally.given_up += 1

    def _send(self, client: Client, due_at: float) -> None:
        self.tally.sent += 1
        self.under_way += 1
        client.send(due_at)
        self.tally.late_s = max(self.tally.late_s, client.sent_at - due_at)

    def _begin_opening(self, due_at: float) -> None:
        self.open += 1
        task = asyncio.get_running_loop().create_task(self._open(due_at))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, due_at: float | None) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, client = await loop.create_connection(lambda: Client(self), HOST, self._plan.port)
        except OSError:
            self.open -= 1
            self.tally.not_connected += 1
            return
        if due_at is None:
            self.open += 1
            self._idle.append(client)
        else:
            self._send(client, due_at)


class Client(Asker):
    def __init__(self, crowd: Crowd) -> None:
        super().__init__()
        self._crowd = crowd
        self.due_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._crowd.has_connection(self)

    def hang_up(self) -> None:
        assert self._transport is not None
        self._transport.abort()

    def send(self, due_at: float) -> None:
        self.due_at = due_at
        self.ask(self._crowd.request())

    def has_answer(self, answer: bytes) -> None:
        self._crowd.under_way -= 1
        self._crowd.has_answer(self, answer)

    def connection_lost(self, exc: Exception | None) -> None:
        self._crowd.has_lost(self)


async def run(plan: Plan) -> dict[str, Any]:
    os.nice(plan.niceness)
    crowd = Crowd(plan)
    await crowd.come()
    took_s = perf_counter() - crowd.began_at
    await crowd.leave()
    seen = _seen(crowd, took_s)
    crowd.hang_up()
    # Closed in the next turn of the loop.
    await asyncio.sleep(LOOK_EVERY_S)
    return seen


def _seen(crowd: Crowd, took_s: float) -> dict[str, Any]:
    tally = crowd.tally
    return {
        "seconds": took_s,
        "arrived": tally.arrived,
        "sent": tally.sent,
        "given_up": tally.given_up,
        "not_connected": tally.not_connected,
        "cut": tally.cut,
        "unanswered": crowd.under_way,
        "connections": crowd.open,
        "late_ms": round(1000 * tally.late_s, 1),
        "statuses": {status: len(seconds) for status, seconds in tally.since_due_s.items()},
        "in_time": dict(tally.in_time),
        "without_retry_after": {status: count for status, count in tally.without_retry_after.items() if count},
        "since_due_ms": {status: percentiles_ms(seconds) for status, seconds in tally.since_due_s.items()},
        "since_sent_ms": {status: percentiles_ms(seconds) for status, seconds in tally.since_sent_s.items()},
        "slices_p50_ms": [
            round(1000 * median(tally.slices[number]), 1) if number in tally.slices else None
            for number in range(max(tally.slices, default=-1) + 1)
        ],
        "complaint": tally.complaint,
    }


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(Plan(**json.loads(sys.stdin.read()))))))
