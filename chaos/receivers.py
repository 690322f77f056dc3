"""The merchants' own servers: they note every webhook, and at times are poisoned."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from dataclasses import dataclass, field

from receiver import ENDLESS_HEADERS, HALF, JUNK, OK, Behaviour, Exchange, Receiver, answer, close, reset

# Longer than the sender waits.
HANGS_FOR_S = 20.0


async def _hang(exchange: Exchange) -> None:
    await asyncio.sleep(HANGS_FOR_S)
    await exchange.close()


POISONS: dict[str, Behaviour] = {
    "answers 500": answer(500),
    "answers 429": answer(429, retry_after="1"),
    "hangs": _hang,
    "resets": reset,
    "closes": close,
    "answers half": HALF,
    "answers junk": JUNK,
    "endless headers": ENDLESS_HEADERS,
}


@dataclass
class WebhookLog:
    """What arrived, by event: its body's digest and how often; and which were answered with 200."""

    digests: dict[str, bytes] = field(default_factory=dict)
    arrivals: Counter[str] = field(default_factory=Counter)
    accepted: set[str] = field(default_factory=set)
    changed: list[str] = field(default_factory=list)
    poison: Behaviour | None = None

    def watch(self, receiver: Receiver) -> None:
        async def behave(exchange: Exchange) -> None:
            event_id, digest = exchange.received.event_id, hashlib.sha256(exchange.received.body).digest()
            receiver.received.clear()
            if self.digests.setdefault(event_id, digest) != digest:
                self.changed.append(event_id)
            self.arrivals[event_id] += 1
            poison = self.poison
            await (poison or OK)(exchange)
            if poison is None:
                self.accepted.add(event_id)

        receiver.behaviour = behave
