"""Notifications of the emulated Paystack: repeated until they are answered with 200, and only with 200."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import aiohttp

RETRY_LIVE = (*[timedelta(minutes=3)] * 4, *[timedelta(hours=1)] * 72)
RETRY_TEST = (timedelta(hours=1),) * 10
ANSWER_WITHIN_S = 30.0


@dataclass
class EmulatedNotice:
    body: bytes
    signature: str
    due_at: datetime
    tries: int = 0
    # The last answer's status; 0 for none.
    answered: int | None = None
    is_done: bool = False


class Notifier:
    def __init__(self, secret_key: str, url: str | None) -> None:
        self._key = secret_key
        self._retry = RETRY_LIVE if secret_key.startswith("sk_live_") else RETRY_TEST
        self.url = url
        self.notices: list[EmulatedNotice] = []

    def add(self, event: str, data: dict[str, Any], *, now: datetime) -> EmulatedNotice:
        return self.add_body(json.dumps({"event": event, "data": data}).encode(), now=now)

    def add_body(self, body: bytes, *, now: datetime, signature: str | None = None) -> EmulatedNotice:
        notice = EmulatedNotice(body, signature if signature is not None else self.sign(body), now)
        self.notices.append(notice)
        return notice

    def sign(self, body: bytes) -> str:
        return hmac.new(self._key.encode(), body, hashlib.sha512).hexdigest()

    async def send_due(self, session: aiohttp.ClientSession, *, now: datetime) -> int:
        """Returns how many were sent."""
        due = [notice for notice in self.notices if not notice.is_done and notice.due_at <= now]
        for notice in due:
            await self._send(session, notice, now)
        return len(due)

    async def _send(self, session: aiohttp.ClientSession, notice: EmulatedNotice, now: datetime) -> None:
        if self.url is None:
            return
        # Before the attempt, so that no second one begins at the same time.
        pause = self._retry[notice.tries] if notice.tries < len(self._retry) else None
        notice.tries += 1
        notice.due_at = now + (pause or timedelta(days=36500))
        headers = {"content-type": "application/json", "x-paystack-signature": notice.signature}
        try:
            async with session.post(
                self.url,
                data=notice.body,
                headers=headers,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=ANSWER_WITHIN_S),
            ) as answer:
                notice.answered = answer.status
        except (aiohttp.ClientError, OSError, TimeoutError):
            notice.answered = 0
        notice.is_done = notice.answered == 200 or pause is None
