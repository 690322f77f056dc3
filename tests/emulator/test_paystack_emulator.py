"""The emulated Paystack, held by a published client that we did not write, and by what Paystack documents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from pypaystack2 import AsyncPaystackClient
from pypaystack2.enums import Currency as PaystackCurrency
from pypaystack2.models import InitTransaction, Refund, Transaction

from receiver import answer, receiving
from tidegate.cli.emulate import emulate
from tidegate.emulator.paystack import server
from tidegate.emulator.paystack.model import EmulatedAccount
from tidegate.emulator.paystack.server import RunningPaystack

KEY = "sk_test_emulated0000"
CARD = "4084084084084081"


@pytest.fixture
async def emulated() -> AsyncIterator[RunningPaystack]:
    async with server.running(EmulatedAccount(KEY)) as running:
        yield running


@pytest.fixture
def client(emulated: RunningPaystack, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("pypaystack2.base_clients.AbstractAPIClient._BASE_URL", emulated.api_url)
    return AsyncPaystackClient(secret_key=KEY)


async def control(emulated: RunningPaystack, path: str, **body: Any) -> Any:
    async with httpx.AsyncClient(verify=False) as http:
        done = await http.post(f"{emulated.control_url}/{path}", json=body)
    assert done.status_code == 200, done.text
    return done.json()


# By the published client: its models fail on fields that are missing or of another kind.


async def test_the_published_client_pays_verifies_and_refunds(client: Any, emulated: RunningPaystack) -> None:
    started = await client.transactions.initialize(
        amount=10_000, email="ada@example.com", currency=PaystackCurrency.NGN, reference="at-1"
    )
    assert isinstance(started.data, InitTransaction)
    before = await client.transactions.verify("at-1")
    assert isinstance(before.data, Transaction)
    assert before.data.status == "abandoned"
    async with httpx.AsyncClient(verify=False) as browser:
        paid = await browser.post(started.data.authorization_url, data={"number": CARD})
    assert paid.status_code == 200
    after = await client.transactions.verify("at-1")
    assert isinstance(after.data, Transaction)
    assert (after.data.status, after.data.amount) == ("success", 10_000)
    refunded = await client.refunds.create("at-1", amount=4_000, merchant_note="tidegate rf_1")
    assert isinstance(refunded.data, Refund)
    listed = await client.refunds.get_refunds()
    assert isinstance(listed.data, list)
    assert [one.merchant_note for one in listed.data] == ["tidegate rf_1"]


async def test_the_published_client_is_refused_as_by_paystack(client: Any) -> None:
    await client.transactions.initialize(amount=10_000, email="ada@example.com", reference="at-1")
    again = await client.transactions.initialize(amount=10_000, email="ada@example.com", reference="at-1")
    assert (again.status_code, again.raw["code"]) == (400, "duplicate_reference")
    wrong = await client.transactions.initialize(amount=10_000, email="ada@example.com", reference="at_1")
    assert (wrong.status_code, "Invalid character" in wrong.message) == (400, True)
    unknown = await client.transactions.verify("never")
    assert (unknown.status_code, unknown.raw["code"]) == (400, "transaction_not_found")
    stranger: Any = AsyncPaystackClient(secret_key="sk_test_another")
    assert (await stranger.transactions.verify("at-1")).status_code == 401


async def test_the_published_client_believes_its_signatures(client: Any, emulated: RunningPaystack) -> None:
    async with receiving() as receiver:
        await control(emulated, "account", webhook_url=receiver.url())
        await client.transactions.initialize(amount=10_000, email="ada@example.com", reference="at-1")
        await control(emulated, "pay", reference="at-1", card=CARD)
        await receiver.got(1)
    [request] = receiver.received
    signature = request.headers["x-paystack-signature"]
    assert client.is_verified_webhook_payload(request.body, signature)
    assert json.loads(request.body)["event"] == "charge.success"


# By its own rules.


@pytest.mark.parametrize(("key", "pause_s"), [(KEY, 3601), ("sk_live_emulated0000", 181)])
async def test_a_notification_is_repeated_until_200(key: str, pause_s: int) -> None:
    """Sooner in live mode."""
    async with receiving() as receiver, server.running(EmulatedAccount(key)) as emulated:
        receiver.script = [answer(500), answer(204), answer(200)]
        await control(emulated, "account", webhook_url=receiver.url())
        await control(emulated, "notify", body='{"event":"x","data":{}}')
        await receiver.got(1)
        for count in (2, 3):
            await control(emulated, "advance", seconds=pause_s)
            await receiver.got(count)
        await control(emulated, "advance", seconds=86_400)
        await asyncio.sleep(0.3)
        assert len(receiver.received) == 3


@pytest.mark.parametrize(("method", "path"), [("GET", "/nothing"), ("DELETE", "/charge"), ("GET", "/refund/1")])
async def test_unknown_paths_and_methods_are_answered_in_its_own_form(
    emulated: RunningPaystack, method: str, path: str
) -> None:
    async with httpx.AsyncClient(
        verify=False, base_url=emulated.api_url, headers={"authorization": f"Bearer {KEY}"}
    ) as http:
        refused = await http.request(method, path)
    assert refused.status_code in (404, 405)
    assert refused.json()["status"] is False


async def test_refunds_need_a_balance_a_rest_and_sometimes_attention(client: Any, emulated: RunningPaystack) -> None:
    await client.transactions.initialize(amount=10_000, email="ada@example.com", reference="at-1")
    await control(emulated, "pay", reference="at-1", card="4084080000671902")
    await control(emulated, "balance", currency="NGN", balance=0)
    assert "Insufficient balance" in (await client.refunds.create("at-1")).message
    await control(emulated, "balance", currency="NGN", balance=10**9)
    made = await client.refunds.create("at-1")
    assert isinstance(made.data, Refund)
    assert (await client.refunds.create("at-1")).raw["code"] == "transaction_reversed"
    async with httpx.AsyncClient(
        verify=False, base_url=emulated.api_url, headers={"authorization": f"Bearer {KEY}"}
    ) as http:
        early = await http.post(f"/refund/retry_with_customer_details/{made.data.id}", json={})
        assert early.status_code == 422
        await control(emulated, "advance", seconds=10)
        assert (await http.get(f"/refund/{made.data.id}")).json()["data"]["status"] == "needs-attention"
        assert (await http.post(f"/refund/retry_with_customer_details/{made.data.id}", json={})).status_code == 200
        await control(emulated, "advance", seconds=10)
        assert (await http.get(f"/refund/{made.data.id}")).json()["data"]["status"] == "processed"


async def test_the_list_of_payers_pays_and_declines(client: Any, emulated: RunningPaystack) -> None:
    page = emulated.page_url
    for reference in ("at-1", "at-2"):
        await client.charge.charge(
            email="ada@example.com", amount=25_000, reference=reference, bank_transfer={"account_expires_at": None}
        )
    async with httpx.AsyncClient(base_url=page, follow_redirects=True) as browser:
        assert "at-1" in (await browser.get("/")).text
        await browser.post("/act", data={"reference": "at-1", "do": "pay", "amount": "250.00"})
        await browser.post("/act", data={"reference": "at-2", "do": "pay", "amount": "240"})
        for typed in ("1e99", "0.001", "-5", "NaN", "much"):
            refused = await browser.post("/act", data={"reference": "at-2", "do": "pay", "amount": typed})
            assert "Write what is transferred like 250.00" in refused.text
        text = (await browser.get("/")).text
    assert "at-1: bank_transfer, NGN 250.00, success" in text
    assert "at-2: bank_transfer, NGN 250.00, ongoing" in text


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("pay", {}, 400),
        ("pay", {"reference": "never"}, 404),
        ("fault", {"kind": "thunder"}, 400),
        ("advance", {"seconds": "soon"}, 400),
        ("resolve", {"id": 1}, 400),
    ],
)
async def test_what_the_control_port_cannot_do_is_said(
    emulated: RunningPaystack, path: str, body: dict[str, Any], status: int
) -> None:
    async with httpx.AsyncClient(verify=False) as http:
        refused = await http.post(f"{emulated.control_url}/{path}", json=body)
    assert (refused.status_code, bool(refused.text)) == (status, True)


def test_it_is_a_command() -> None:
    assert "paystack" in emulate.commands
