"""The API as a merchant calls it, for commands that need no access to the database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self

import aiohttp
import click

from tidegate import settings as settings_module
from tidegate.cli.console import F, fail
from tidegate.cli.env import without_file
from tidegate.cli.forward import SIGN_OF_LIFE
from tidegate.cli.merchant_webhooks import seeded
from tidegate.core.errors import Refusal, Unavailable
from tidegate.sandbox.seed import FILE_NAME

CALL_WITHIN_S = 10.0
LIVES_WITHIN_S = 2.0


def api_options(command: F) -> F:
    url = click.option(
        "--api-url", metavar="URL", envvar="TIDEGATE_URL", help=f"The sandbox's URL; by default from {FILE_NAME}."
    )
    key = click.option(
        "--api-key", envvar="TIDEGATE_SECRET_KEY", help="A secret key; by default the seeded business's."
    )
    return url(key(command))


@dataclass(frozen=True)
class MerchantAccount:
    """The business and its API. Without a webhook secret Tidegate generates one."""

    api_url: str
    secret_key: str
    webhook_secret: str | None
    public_key: str | None = None


class MerchantClient:
    """The API, called as a merchant."""

    def __init__(self, account: MerchantAccount, session: aiohttp.ClientSession) -> None:
        self._account = account
        self._session = session

    @classmethod
    @asynccontextmanager
    async def open(cls, account: MerchantAccount) -> AsyncIterator[Self]:
        timeout = aiohttp.ClientTimeout(total=CALL_WITHIN_S)
        async with aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as session:
            yield cls(account, session)

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        url = self._account.api_url.rstrip("/") + path
        headers = {"api-key": self._account.secret_key}
        if self._account.public_key:
            headers["x-pub-key"] = self._account.public_key
        try:
            async with self._session.request(method, url, json=body, headers=headers) as answer:
                answered = await answer.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError):
            answered = None
        if not isinstance(answered, dict):
            raise Unavailable(
                f"no sandbox answers at {self._account.api_url}: start one with `tidegate dev`, or give --api-url"
            )
        if answer.status >= 300 or "data" not in answered:
            raise Refusal(f"{method} {url} is refused: {answered.get('message')}")
        return answered["data"]

    async def is_live(self, url: str) -> bool:
        """Whether another `tidegate listen` is still running behind that endpoint."""
        with suppress(aiohttp.ClientError, TimeoutError):
            async with self._session.get(url, timeout=aiohttp.ClientTimeout(total=LIVES_WITHIN_S)) as answer:
                return await answer.text() == SIGN_OF_LIFE
        return False


def account_of(api_url: str | None, api_key: str | None, public_key: str | None = None) -> MerchantAccount:
    settings = settings_module.from_environment()
    known = seeded(settings)
    url, key = api_url or known.get("baseUrl"), api_key or known.get("secretKey")
    if not url or not key:
        fail(f"{without_file(settings.home / FILE_NAME)} Or give --api-url and --api-key.")
    # What the file has besides belongs to the seeded business.
    of_file = known if key == known.get("secretKey") else {}
    return MerchantAccount(url, key, of_file.get("webhookSecret"), public_key or of_file.get("publicKey"))
