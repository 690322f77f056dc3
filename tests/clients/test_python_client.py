"""The Python client against the running API: typed records, errors as classes, pages, files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

import msgspec
import pytest

import tidegate_client as tg
from build import Shop
from checkout.paying import SUCCEEDS
from conftest import MakeShop
from generator.__main__ import document, generated
from tidegate_client import _operations as ops
from tidegate_client._call import Operation
from tidegate_client._model import read_data

T = TypeVar("T")
CUSTOMER: tg.CustomerFields = {"name": "Ada Obi", "email": "ada@example.com", "phone_number": "+2348012345678"}
CARD: tg.CardFields = {"number": SUCCEEDS, "expiry_month": 12, "expiry_year": 2040, "cvv": "123"}


@pytest.fixture
async def api(shop: Shop, base_url: str) -> AsyncIterator[tg.AsyncTidegate]:
    async with tg.AsyncTidegate(shop.secret_key, shop.public_key, base_url=base_url) as opened:
        yield opened


def sync_client(shop: Shop, base_url: str) -> tg.Tidegate:
    return tg.Tidegate(shop.secret_key, shop.public_key, base_url=base_url)


async def in_thread(work: Callable[[], T]) -> T:
    """The sync client waits, and the server under test is on this event loop."""
    return await asyncio.to_thread(work)


async def paid(api: tg.AsyncTidegate, reference: str, amount: int = 2500) -> tg.PaymentRecord:
    created = await api.payments.create(amount=amount, currency="NGN", reference=reference, customer=CUSTOMER)
    await api.checkouts.charge(created.pay_code, type="card", card=CARD)
    return await api.payments.verify(reference)


def test_the_generated_files_are_as_the_api_is() -> None:
    """Otherwise: `make clients`, and commit what it writes."""
    assert [str(path) for path, text in generated().items() if path.read_text() != text] == []


def test_every_operation_has_a_method_in_both_clients() -> None:
    for client in (tg.Tidegate(base_url="http://localhost"), tg.AsyncTidegate(base_url="http://localhost")):
        for operation in document().operations:
            found: Any = client
            for part in operation.method.split("."):
                found = getattr(found, part)
            assert callable(found), operation.method


def test_every_answer_of_the_document_is_read() -> None:
    raw = document().raw
    kinds = {(op.method, op.path): op.kind for op in vars(ops).values() if isinstance(op, Operation)}
    examples = [
        ((method.upper(), path), answer["content"]["application/json"]["example"])
        for path, methods in raw["paths"].items()
        for method, operation in methods.items()
        for status, answer in operation["responses"].items()
        if status.startswith("2")
    ]
    assert len(examples) >= 49
    for key, example in examples:
        if kinds[key] is not bytes:
            read_data(kinds[key], msgspec.json.encode(example), None)


async def test_a_payment_is_created_paid_and_verified(api: tg.AsyncTidegate) -> None:
    payment = await paid(api, "ORDER-1")
    assert (payment.status, payment.amount_received, payment.variance_type) == ("success", Decimal(2500), None)
    assert isinstance(payment.amount, Decimal)
    assert isinstance(payment.created_at, datetime)
    assert payment.customer.phone_number == "+2348012345678"
    assert payment.raw["merchantReference"] == payment.merchant_reference == "ORDER-1"
    assert payment.request_id is not None
    assert payment.request_id.startswith("req_")


async def test_the_sync_client_does_the_same(shop: Shop, base_url: str) -> None:
    def work() -> tg.PaymentRecord:
        with sync_client(shop, base_url) as client:
            created = client.payments.create(amount=900, currency="NGN", reference="ORDER-2", customer=CUSTOMER)
            client.checkouts.charge(created.pay_code, type="card", card=CARD)
            return client.payments.verify("ORDER-2")

    assert (await in_thread(work)).amount_received == Decimal(900)


async def test_a_field_that_is_newer_than_the_client_is_kept(api: tg.AsyncTidegate) -> None:
    body = b'{"success": true, "data": {"link": "l", "payCode": "p", "reference": "r", "later": 0.1}}'
    created = read_data(tg.Created, body, "req_1")
    assert created.raw["later"] == Decimal("0.1")


async def test_a_value_that_is_newer_than_the_client_is_kept(api: tg.AsyncTidegate) -> None:
    payment = await paid(api, "ORDER-3")
    later = msgspec.json.encode({"data": {**payment.raw, "status": "frozen", "paymentMethods": ["card", "qr"]}})
    read = read_data(tg.PaymentRecord, later, None)
    assert (read.status, read.payment_methods) == ("frozen", ["card", "qr"])


async def test_iterating_goes_through_all_pages(api: tg.AsyncTidegate, shop: Shop, base_url: str) -> None:
    await paid(api, "ORDER-4", amount=100_000)
    made = [
        (await api.refunds.create(trans_reference="ORDER-4", amount=Decimal("10.50") + number)).reference
        for number in range(3)
    ]
    first = await api.refunds.list(per_page=1)
    assert [refund.reference for refund in first.results] == [made[-1]]
    assert [refund.reference async for refund in api.refunds.list(per_page=1)] == made[::-1]
    with pytest.raises(TypeError, match="async for"):
        list(first)

    def work() -> list[str]:
        with sync_client(shop, base_url) as other:
            return [refund.reference for refund in other.refunds.list(per_page=2)]

    assert await in_thread(work) == made[::-1]


async def test_lists_by_page_number_are_walked_too(api: tg.AsyncTidegate) -> None:
    for number in range(3):
        await api.accounts.request(
            currency="USD",
            account_type="individual",
            kyc_information={"firstName": "Ada", "lastName": "Obi"},
            merchant_reference=f"ACC-{number}",
        )
    found = [account.merchant_reference async for account in api.accounts.list(per_page=2)]
    assert sorted(str(name) for name in found) == ["ACC-0", "ACC-1", "ACC-2"]


async def test_files_are_bytes(api: tg.AsyncTidegate) -> None:
    await paid(api, "ORDER-5")
    assert b"ORDER-5" in await api.wallets.statement_csv("NGN")
    assert (await api.wallets.statement_pdf("NGN")).startswith(b"%PDF-")
    assert b"reference" in (await api.collections.list_csv())
    assert [wallet.currency for wallet in await api.wallets.list()] == ["NGN"]


async def test_a_duplicate_is_an_error_with_the_first_payment(api: tg.AsyncTidegate) -> None:
    first = await api.payments.create(amount=100, currency="NGN", reference="ORDER-6", customer=CUSTOMER)
    with pytest.raises(tg.DuplicateReference) as caught:
        await api.payments.create(amount=100, currency="NGN", reference="ORDER-6", customer=CUSTOMER)
    assert (caught.value.link, caught.value.pay_code) == (first.link, first.pay_code)


async def test_a_wrong_field_is_named(api: tg.AsyncTidegate) -> None:
    with pytest.raises(tg.ValidationFailed, match=r"customer\.email") as caught:
        await api.payments.create(amount=100, currency="NGN", customer={"name": "Ada", "email": "nobody"})
    assert [error.field for error in caught.value.errors] == ["customer.email"]
    assert caught.value.status == 422


async def test_other_refusals_are_classes(api: tg.AsyncTidegate, new_shop: MakeShop, base_url: str) -> None:
    with pytest.raises(tg.NotFound):
        await api.payments.verify("NOTHING")
    await paid(api, "ORDER-7")
    with pytest.raises(tg.RefundExceedsAvailable):
        await api.refunds.create(trans_reference="ORDER-7", amount=1_000_000)
    with pytest.raises(tg.Conflict):
        await api.checkouts.cancel((await api.payments.verify("ORDER-7")).reference)
    other = await new_shop()
    async with tg.AsyncTidegate("sk_test_nobody", other.public_key, base_url=base_url) as stranger:
        with pytest.raises(tg.Unauthenticated) as caught:
            await stranger.merchant.me()
    assert "sk_test_nobody" not in f"{caught.value}{caught.value!r}{stranger!r}"


def test_without_keys_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TIDEGATE_URL", "TIDEGATE_SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(tg.ConfigurationError, match="TIDEGATE_URL"):
        tg.Tidegate()
    with pytest.raises(tg.ConfigurationError, match="TIDEGATE_SECRET_KEY"):
        tg.Tidegate(base_url="http://localhost").merchant.me()
    with pytest.raises(tg.ConfigurationError, match="https"):
        tg.Tidegate("sk_live_x", base_url="http://api.example.com")


KEYS = {
    "secret_key": "TIDEGATE_SECRET_KEY",
    "public_key": "TIDEGATE_PUBLIC_KEY",
    "business_id": "TIDEGATE_BUSINESS_ID",
}


@pytest.mark.parametrize("client", [tg.Tidegate, tg.AsyncTidegate])
@pytest.mark.parametrize("name", KEYS)
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(
    client: Callable[..., Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in (
        "sk_test_hid\nden",
        "sk_test_hid\r\nden",
        "sk_test_hid den",
        "sk_test_hid\u00e9den",
        "sk_test_hid\x00den",
    ):
        with pytest.raises(tg.ConfigurationError, match=f"^{name} must be ASCII") as caught:
            client(**{name: value}, base_url="http://localhost:9")
        assert "sk_test" not in str(caught.value)
        assert caught.value.__cause__ is caught.value.__context__ is None
    monkeypatch.setenv(KEYS[name], "sk_test_hid\nden")
    with pytest.raises(tg.ConfigurationError, match=f"^{name} must be ASCII"):
        client(base_url="http://localhost:9")


@pytest.mark.parametrize("name", KEYS)
def test_an_empty_key_is_not_replaced_by_that_of_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEYS[name], "of_the_environment")
    for value in ("", " \n"):
        with pytest.raises(tg.ConfigurationError, match=f"^{name} is empty: .*{KEYS[name]}"):
            tg.Tidegate(**{name: value}, base_url="http://localhost:9")  # type: ignore[arg-type]
    monkeypatch.setenv("TIDEGATE_URL", "http://localhost:9")
    with pytest.raises(tg.ConfigurationError, match="base_url is missing"):
        tg.Tidegate(base_url="")


async def test_white_space_around_a_key_is_no_part_of_it(
    shop: Shop, base_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tg.AsyncTidegate(f" {shop.secret_key}\r\n", base_url=base_url) as given:
        assert (await given.merchant.me()).id == shop.business_id
    monkeypatch.setenv("TIDEGATE_SECRET_KEY", f"{shop.secret_key}\n")
    async with tg.AsyncTidegate(base_url=base_url) as found:
        assert (await found.merchant.me()).id == shop.business_id
    with pytest.raises(tg.ConfigurationError, match="https"):
        tg.Tidegate("\nsk_live_x", base_url="http://api.example.com")


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        (None, "reference must not be None: it would"),
        ("", "reference must not be '': it would address something else"),
        (".", "reference must not be '.': it would"),
        ("..", "reference must not be '..': it would"),
        ("\ud800", "reference is not text"),
    ],
)
def test_a_reference_cannot_become_another_path(reference: str | None, why: str) -> None:
    client = tg.Tidegate("sk_test_x", business_id="b", base_url="http://localhost:9", max_retries=0)
    with pytest.raises(tg.ConfigurationError) as caught:
        client.payments.verify(reference)  # type: ignore[arg-type]
    assert str(caught.value).startswith(why)


async def test_a_reference_is_one_part_of_the_path_whatever_it_has(api: tg.AsyncTidegate) -> None:
    for reference in ("a?b=c#d", "%2e%2e"):
        with pytest.raises(tg.NotFound, match="no payment of this business has that reference"):
            await api.payments.verify(reference)
    for reference in ("../../../wallets", "a/b"):
        with pytest.raises(tg.NotFound):
            await api.payments.verify(reference)
