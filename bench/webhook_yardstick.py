"""The yardstick of delivering: an aiohttp client that posts the same bytes again and again, and does nothing else.

echo '{"url": "http://…", …}' | python -m bench.webhook_yardstick
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from time import monotonic

import aiohttp
import uvloop


@dataclass(frozen=True)
class Plan:
    url: str
    headers: dict[str, str]
    body: str
    at_once: int
    # What is answered in the first moments is not counted: connections are being opened.
    lead_s: float
    seconds: float


@dataclass
class Tally:
    begins_at: float
    ends_at: float
    count: int = 0


async def post_until_the_end(session: aiohttp.ClientSession, plan: Plan, tally: Tally) -> None:
    body = plan.body.encode()
    while (now := monotonic()) < tally.ends_at:
        async with session.post(plan.url, data=body, headers=plan.headers, allow_redirects=False) as response:
            await response.read()
            if response.status != 200:
                raise SystemExit(f"the receiver answered {response.status}")
        tally.count += tally.begins_at <= now


async def run(plan: Plan) -> Tally:
    begins_at = monotonic() + plan.lead_s
    tally = Tally(begins_at, begins_at + plan.seconds)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:
        await asyncio.gather(*(post_until_the_end(session, plan, tally) for _ in range(plan.at_once)))
    return tally


if __name__ == "__main__":
    given = Plan(**json.load(sys.stdin))
    print(json.dumps({"count": uvloop.run(run(given)).count, "seconds": given.seconds}))
