"""A cached business is never shown as the current one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import pytest

from conftest import MakeCheckout
from serving import serving
from tidegate.checkout.api import CheckoutApi
from tidegate.checkout.commands import PayerRequest
from tidegate.core.clock import SystemClock
from tidegate.infra.db import Database, Tx
from tidegate.merchant import commands as merchants
from tidegate.payment import view_store
from tidegate.payment.store import PaymentKey
from tidegate.payment.view_store import PaymentView
from tidegate.settings import Settings

NEW_RATE = 77
FindViews = Callable[[Tx, Sequence[PaymentKey]], Awaitable[list[PaymentView | None]]]


async def test_a_business_that_changes_during_a_request_is_read_anew_by_the_next(
    database_url: str, db: Database, new_checkout: MakeCheckout, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = await new_checkout()
    request = PayerRequest(checkout.pay_code, "127.0.0.1")
    async with serving(Settings(database_url=database_url)) as (_, service):
        owners = [getattr(getattr(route.app, "respond", None), "__self__", None) for route in service.routing.routes]
        commands = next(owner.commands for owner in owners if isinstance(owner, CheckoutApi))
        business = (await commands.look(request)).business

        async def find_after_a_change(
            find_views: FindViews, tx: Tx, keys: Sequence[PaymentKey]
        ) -> list[PaymentView | None]:
            await merchants.change(db, business.id, {"rate_per_second": NEW_RATE}, now=SystemClock().now())
            seen = await find_views(tx, keys)
            await commands.key_cache.refresh()
            return seen

        # As it is asked for on one PostgreSQL, and on a cluster.
        for name in ("find_views", "find_views_of_business"):
            find = partial(find_after_a_change, getattr(view_store, name))
            monkeypatch.setattr(view_store, name, find)
        assert (await commands.look(request)).business.rate_per_second == NEW_RATE
