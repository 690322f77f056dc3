"""`tidegate trigger` against a running sandbox: every event of the catalogue, on demand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from process import free_port, run_here, stop, tidegate, wait_until_ready
from receiver import Receiver, answer, receiving
from tidegate.cli.trigger_recipe import RECIPES, changed, names_of
from tidegate.core.money import CHECKOUT_OFFERS, Currency
from tidegate.webhook.model import EVENTS, EVENTS_ON_REQUEST, OPEN_AFTER, TEST_EVENT
from tidegate_client import Tidegate, webhooks


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a running sandbox."""
    folder = tmp_path_factory.mktemp("sandbox")
    port = free_port()
    process = tidegate("dev", TIDEGATE_HOME=str(folder), PORT=str(port))
    try:
        wait_until_ready(f"http://localhost:{port}", process)
        yield folder
    finally:
        stop(process)


def sandbox_in(home: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((home / "sandbox.json").read_text())
    return found


def merchant(home: Path) -> Tidegate:
    known = sandbox_in(home)
    return Tidegate(known["secretKey"], known["publicKey"], base_url=known["baseUrl"])


async def said_by(home: Path, *arguments: str) -> tuple[int, str]:
    code, said = await asyncio.to_thread(run_here, "trigger", *arguments, TIDEGATE_HOME=str(home))
    return code, " ".join(said.split())


def subscribe(home: Path, receiver: Receiver) -> str:
    with merchant(home) as client:
        for endpoint in client.webhooks.endpoints.list():
            client.webhooks.endpoints.delete(endpoint.id)
        made = client.webhooks.endpoints.create(
            url=receiver.url(),
            events=EVENTS_ON_REQUEST,  # type: ignore[arg-type]
            secret=sandbox_in(home)["webhookSecret"],
        )
        return made.id


def test_every_event_has_a_recipe() -> None:
    missing = {*EVENTS, TEST_EVENT} - RECIPES.keys()
    assert not missing, (
        f"`tidegate trigger` cannot make {sorted(missing)}: write a recipe in src/tidegate/cli/trigger_recipe.py that "
        "makes it happen through the sandbox's API, and enter it in RECIPES"
    )
    assert RECIPES.keys() == {*EVENTS, TEST_EVENT}


@pytest.mark.parametrize("event", RECIPES)
async def test_an_event_happens_and_arrives(home: Path, event: str) -> None:
    async with receiving() as receiver:
        await asyncio.to_thread(subscribe, home, receiver)
        code, said = await said_by(home, event)
        assert code == 0, said
        assert f"{event} " in said
        assert "→ 200" in said
        [received] = [one for one in receiver.received if json.loads(one.body)["event"] == event]
        verified = webhooks.verify(received.body, received.headers, sandbox_in(home)["webhookSecret"])
        assert verified.event == event


async def test_the_api_agrees_with_the_event(home: Path) -> None:
    async with receiving() as receiver:
        await asyncio.to_thread(subscribe, home, receiver)
        code, said = await said_by(home, "charge.successful", "--set", "amount=900", "--set", "reference=TRIGGER-1")
        assert code == 0, said
        with merchant(home) as client:
            payment = await asyncio.to_thread(client.payments.verify, "TRIGGER-1")
        assert (payment.status, payment.amount_received) == ("success", Decimal(900))


@pytest.mark.parametrize("currency", CHECKOUT_OFFERS)
@pytest.mark.parametrize("event", ["charge.successful", "refund.failed"])
async def test_it_is_paid_by_a_method_that_the_currency_has(home: Path, event: str, currency: Currency) -> None:
    async with receiving() as receiver:
        await asyncio.to_thread(subscribe, home, receiver)
        code, said = await said_by(home, event, "--set", f"currency={currency}")
        assert code == 0, said
        assert [json.loads(one.body)["event"] for one in receiver.received].count(event) == 1


async def test_it_is_paid_by_a_method_that_the_payment_has(home: Path) -> None:
    async with receiving() as receiver:
        await asyncio.to_thread(subscribe, home, receiver)
        code, said = await said_by(home, "charge.successful", "--set", 'paymentMethods=["bank_transfer"]')
        assert code == 0, said
        code, said = await said_by(home, "charge.reversed", "--set", "currency=ZMW")
        assert code == 1
        assert "this event needs bank_transfer; the payment offers only mobile_money, card" in said


async def test_an_inflow_comes_to_an_account_of_its_currency(home: Path) -> None:
    async with receiving() as receiver:
        await asyncio.to_thread(subscribe, home, receiver)
        code, said = await said_by(home, "collection.successful", "--set", "currency=USD")
        assert code == 0, said
        told = [json.loads(one.body) for one in receiver.received]
        [inflow] = [one["data"] for one in told if one["event"] == "collection.successful"]
        assert inflow["sourceCurrency"] == "USD"


async def test_a_refusal_of_the_server_is_shown(home: Path) -> None:
    async with receiving(answer(500)) as receiver:
        endpoint_id = await asyncio.to_thread(subscribe, home, receiver)
        code, said = await said_by(home, TEST_EVENT, "--endpoint", endpoint_id, "--times", "2")
        assert code == 1
        assert said.count("→ 500 again at 20") == 2
        assert f"no endpoint accepted {TEST_EVENT} (2 of 2 times)." in said


async def test_a_dead_endpoint_beside_it_is_shown_and_not_waited_for(home: Path) -> None:
    """Ten failures open its circuit, so it is not tried again for half a minute."""
    async with receiving() as receiver:
        await asyncio.to_thread(subscribe, home, receiver)
        dead_url = f"http://127.0.0.1:{free_port()}/hook"
        with merchant(home) as client:
            dead = await asyncio.to_thread(lambda: client.webhooks.endpoints.create(url=dead_url))
        code, said = await said_by(home, TEST_EVENT, "--endpoint", dead.id, "--times", str(OPEN_AFTER))
        assert code == 1, said
        code, said = await said_by(home, "charge.successful")
        assert code == 0, said
        assert f"{receiver.url()} → 200" in said
        assert f"{dead_url} → " in said


async def test_without_an_endpoint_it_says_so(home: Path) -> None:
    with merchant(home) as client:
        for endpoint in await asyncio.to_thread(lambda: list(client.webhooks.endpoints.list())):
            await asyncio.to_thread(client.webhooks.endpoints.delete, endpoint.id)
    code, said = await said_by(home, "virtualaccount.approved")
    assert code == 0
    assert "No endpoint gets virtualaccount.approved" in said


async def test_mistakes_are_explained(home: Path) -> None:
    code, said = await said_by(home, "charge.happened")
    assert code == 1
    assert "charge.successful" in said
    code, said = await said_by(home, "charge.successful", "--set", "amount")
    assert code == 1
    assert "FIELD=VALUE" in said
    code, said = await said_by(home, "charge.successful", "--set", "customer.emial=ada@example.com")
    assert code == 1
    assert "--set customer.emial: there is no such field; did you mean customer.email?" in said
    assert "There are: amount, currency, customer, customer.name, customer.email," in said
    code, said = await said_by(home, TEST_EVENT, "--set", "amount=1")
    assert code == 1
    assert "this event has no field to set" in said
    code, said = await said_by(home, "--list")
    assert code == 0
    assert all(event in said for event in RECIPES)


def test_the_places_to_set_are_those_of_the_request() -> None:
    found = {event: names_of(recipe.request) for event, recipe in RECIPES.items()}
    assert {"amount", "customer.email", "metadata."} <= {*found["charge.successful"]}
    assert {"currency", "KYCInformation", "KYCInformation."} <= {*found["virtualaccount.approved"]}
    assert {"payer.name", "payee.name", "delay"} <= {*found["collection.successful"]}


def test_a_dotted_place_is_changed_and_nothing_else() -> None:
    assert changed({"a": {"b": 1, "c": 2}, "d": 3}, {"a.b": 5}) == {"a": {"b": 5, "c": 2}, "d": 3}
