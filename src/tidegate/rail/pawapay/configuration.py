"""pawaPay's configuration of our account and its public keys, kept for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

import structlog

from tidegate.core.clock import monotonic_s
from tidegate.infra import message_signature
from tidegate.infra.message_signature import PublicKey
from tidegate.rail.interface import RailBusy, RailRefused, RailTimeout
from tidegate.rail.pawapay import offer
from tidegate.rail.pawapay.client import PawapayClient
from tidegate.rail.pawapay.offer import TermsByOperator
from tidegate.rail.pawapay.wire import ActiveConfiguration, PublicKeyView

REFRESH_S = 300.0
# While it is not known, or pawaPay does not answer.
RETRY_S = 10.0
KEYS_LAST_S = 24 * 3600.0
KEYS_AGAIN_S = 60.0

log = structlog.get_logger("pawapay")


class Configuration:
    """Refreshed in the background, since operators close and open again."""

    def __init__(self, client: PawapayClient) -> None:
        self._client = client
        self.found: ActiveConfiguration | None = None
        self.terms: TermsByOperator | None = None
        self._refreshing: asyncio.Task[None] | None = None

    def open(self) -> None:
        self._refreshing = asyncio.create_task(self._refresh_for_ever())

    async def close(self) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()
            with suppress(asyncio.CancelledError):
                await self._refreshing

    async def refresh(self) -> ActiveConfiguration:
        """Raises RailTimeout, RailBusy or RailRefused; what was known stays."""
        found = await self._client.get("/v2/active-conf", ActiveConfiguration)
        self.found, self.terms = found, offer.terms_in(found)
        return found

    async def _refresh_for_ever(self) -> None:
        while True:
            pause_s = REFRESH_S
            try:
                await self.refresh()
            except (RailTimeout, RailBusy, RailRefused) as error:
                log.warning("pawaPay's configuration is not known", why=str(error))
                pause_s = RETRY_S
            await asyncio.sleep(pause_s)


class SigningKeys:
    """The public keys of callbacks. An unknown one is fetched once a minute at most: any request can name one."""

    def __init__(self, client: PawapayClient) -> None:
        self._client = client
        self._keys: Mapping[str, PublicKey] = {}
        self._fetched_s = self._tried_s = float("-inf")

    async def get(self, key_id: str) -> Mapping[str, PublicKey]:
        """Raises RailTimeout, RailBusy or RailRefused while there are none."""
        now_s = monotonic_s()
        is_old = now_s - self._fetched_s >= KEYS_LAST_S
        if (key_id not in self._keys or is_old) and now_s - self._tried_s >= KEYS_AGAIN_S:
            self._tried_s = now_s
            try:
                await self.fetch()
            except (RailTimeout, RailBusy, RailRefused):
                if not self._keys:
                    self._tried_s = float("-inf")
                    raise
        return self._keys

    async def fetch(self) -> int:
        """How many there are."""
        listed = await self._client.get("/v2/public-key/http", list[PublicKeyView])
        read = {one.id: message_signature.public_key(one.key) for one in listed}
        self._keys = {name: key for name, key in read.items() if key is not None}
        self._fetched_s = monotonic_s()
        return len(self._keys)
