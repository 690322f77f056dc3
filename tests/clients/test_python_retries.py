"""The Python client on a bad line: what is repeated has one effect, and what may not be repeated is not."""

from __future__ import annotations

import socket
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

import tidegate_client as tg
from build import Shop
from clients.faulty_proxy import CUT, FaultyProxy, faulty, refused
from clients.test_python_client import CARD, CUSTOMER, in_thread


@pytest.fixture
async def proxy(base_url: str) -> AsyncIterator[FaultyProxy]:
    async with faulty(base_url) as opened:
        yield opened


@pytest.fixture
async def api(shop: Shop, proxy: FaultyProxy) -> AsyncIterator[tg.AsyncTidegate]:
    async with tg.AsyncTidegate(shop.secret_key, shop.public_key, shop.business_id, base_url=proxy.url) as opened:
        yield opened


def keys(proxy: FaultyProxy) -> set[str | None]:
    return {headers.get("idempotency-key") for _, headers in proxy.requests}


async def test_a_create_that_is_cut_off_makes_one_payment(
    api: tg.AsyncTidegate, proxy: FaultyProxy, admin: Any
) -> None:
    proxy.script = [CUT, CUT]
    created = await api.payments.create(amount=100, currency="NGN", reference="CUT-1", customer=CUSTOMER)
    assert created.link.endswith(created.pay_code)
    assert len(proxy.requests) == 3
    assert len(keys(proxy)) == 1
    assert None not in keys(proxy)
    assert await admin.fetchval("SELECT count(*) FROM payment WHERE reference = 'CUT-1'") == 1


async def test_the_sync_client_repeats_too(shop: Shop, proxy: FaultyProxy) -> None:
    proxy.script = [CUT]

    def work() -> str:
        with tg.Tidegate(shop.secret_key, shop.public_key, base_url=proxy.url) as client:
            return client.payments.create(amount=100, currency="NGN", reference="CUT-2", customer=CUSTOMER).reference

    assert await in_thread(work) == "CUT-2"
    assert len(proxy.requests) == 2


async def test_a_charge_is_never_repeated(api: tg.AsyncTidegate, proxy: FaultyProxy) -> None:
    created = await api.payments.create(amount=100, currency="NGN", reference="CUT-3", customer=CUSTOMER)
    proxy.script, proxy.requests = [CUT], []
    with pytest.raises(tg.APIConnectionError):
        await api.checkouts.charge(created.pay_code, type="card", card=CARD)
    assert len(proxy.requests) == 1
    assert (await api.payments.verify("CUT-3")).status == "success"


@pytest.mark.parametrize("status", [429, 503])
async def test_it_waits_as_long_as_it_is_told(api: tg.AsyncTidegate, proxy: FaultyProxy, status: int) -> None:
    proxy.script = [refused(status, retry_after="1")]
    began = time.monotonic()
    await api.merchant.me()
    assert time.monotonic() - began >= 1
    assert len(proxy.requests) == 2


async def test_a_long_wait_is_the_callers_decision(api: tg.AsyncTidegate, proxy: FaultyProxy) -> None:
    proxy.script = [refused(429, retry_after="61")]
    with pytest.raises(tg.RateLimited) as caught:
        await api.merchant.me()
    assert caught.value.retry_after == 61
    assert len(proxy.requests) == 1


async def test_a_refusal_is_not_repeated(api: tg.AsyncTidegate, proxy: FaultyProxy) -> None:
    proxy.script = [refused(409)]
    with pytest.raises(tg.Conflict):
        await api.merchant.me()
    assert len(proxy.requests) == 1


async def test_retries_end(api: tg.AsyncTidegate, proxy: FaultyProxy) -> None:
    proxy.script = [refused(500, retry_after="0")] * 5
    with pytest.raises(tg.ServerError):
        await api.merchant.me()
    assert len(proxy.requests) == 3
    proxy.script, proxy.requests = [CUT], []
    with pytest.raises(tg.APIConnectionError):
        await api.merchant.me(max_retries=0)
    assert len(proxy.requests) == 1


async def test_no_answer_in_time_is_a_timeout(shop: Shop) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        async with tg.AsyncTidegate(shop.secret_key, base_url=url, timeout=0.2, max_retries=0) as client:
            with pytest.raises(tg.APITimeoutError, match=r"0\.2 s"):
                await client.merchant.me()


async def test_an_idempotency_key_of_ones_own(api: tg.AsyncTidegate, proxy: FaultyProxy) -> None:
    for _ in range(2):
        await api.payments.create(
            amount=100, currency="NGN", reference="KEY-1", customer=CUSTOMER, idempotency_key="order-1"
        )
    assert keys(proxy) == {"order-1"}
