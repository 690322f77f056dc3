"""The rails of this version: a sandbox has its own and no other; in live mode `TIDEGATE_RAILS` names them, in the order
in which they are preferred."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from tidegate.core.ids import Mode
from tidegate.infra.db import Database
from tidegate.rail.bankfiles.rail import BankFilesRail
from tidegate.rail.interface import Rail
from tidegate.rail.pawapay import PawapayRail
from tidegate.rail.paystack import PaystackRail
from tidegate.rail.sandbox import SandboxRail
from tidegate.settings import Settings


def _paystack(settings: Settings, db: Database) -> Rail:
    assert settings.paystack is not None  # Read with the rail's name.
    return PaystackRail(settings.paystack, db, webhook_url=f"{settings.base_url}/intake/paystack")


def _pawapay(settings: Settings, db: Database) -> Rail:
    assert settings.pawapay is not None  # Read with the rail's name.
    return PawapayRail(settings.pawapay, db, callback_url=f"{settings.base_url}/intake/pawapay")


def _bankfiles(settings: Settings, db: Database) -> Rail:
    assert settings.bankfiles is not None  # Read with the rail's name.
    return BankFilesRail(settings.bankfiles, db)


# How each is made. The names are also in `settings.LIVE_RAILS`.
LIVE_RAILS: Mapping[str, Callable[[Settings, Database], Rail]] = {
    "paystack": _paystack,
    "pawapay": _pawapay,
    "bankfiles": _bankfiles,
}


def rails_of(settings: Settings, db: Database, secret: bytes) -> dict[str, Rail]:
    if settings.mode is Mode.SANDBOX:
        return {"sandbox": SandboxRail(db, secret)}
    return {name: LIVE_RAILS[name](settings, db) for name in settings.rails}


@asynccontextmanager
async def opened(rails: Iterable[Rail]) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for rail in rails:
            await rail.open()
            stack.push_async_callback(rail.close)
        yield
