"""Whatever a developer sends to the sandbox's controls that is wrong is refused with a reason, and writes nothing."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from build import Shop
from conftest import MakeCheckout
from payment.refusal import Refusal, assert_each_refused, assert_refused

PAN = "4111 1111 1111 1111"


async def send(shop: Shop, path: str, body: str | bytes, **headers: str) -> httpx.Response:
    """The body as text, so that it may hold numbers that no float can."""
    all_headers = {"api-key": shop.secret_key, "content-type": "application/json", **headers}
    return await shop.client.post(f"/sandbox/{path}", content=body, headers=all_headers)


def transfer(**changes: str) -> str:
    """A transfer as JSON text; each change is JSON text as well, and an empty one leaves the field out."""
    fields = {"accountNumber": '"0000000000"', "amount": "100", "currency": '"NGN"', "payer": '{"name": "Ada Obi"}'}
    return "{" + ", ".join(f'"{name}": {value}' for name, value in {**fields, **changes}.items() if value) + "}"


def invalid(field: str) -> Refusal:
    return 422, "VALIDATION_FAILED", field


async def test_the_body_these_tests_spoil_is_accepted(shop: Shop) -> None:
    assert (await send(shop, "transfers", transfer())).status_code == 201


AMOUNTS = [
        "0", "0.00", "-0", "-1", "-0.01", "0.001", "100.005", "100.00000000000000000000000000000000001",
        "1e-3", "1e21", "1e999", "1e-999", "1000000000000.01", "1000000000001",
        "9223372036854775808", "9" * 60, "9" * 200, "1e9999", '"100"', "true", "null", "[100]", '{"value": 100}', '""',
        "",
    ]  # fmt: skip


async def test_an_amount_is_exact_money_and_more_than_nothing(shop: Shop, admin: Any) -> None:
    rows = ((one, send(shop, "transfers", transfer(amount=one)), invalid("amount")) for one in AMOUNTS)
    await assert_each_refused(admin, rows)


async def test_an_amount_is_json(shop: Shop, admin: Any) -> None:
    amounts = ["NaN", "Infinity", "-Infinity", "0x10", "1_000", "01", "1.", ".5", "+1"]
    refusal = (400, "MALFORMED_REQUEST", None)
    await assert_each_refused(admin, ((one, send(shop, "transfers", transfer(amount=one)), refusal) for one in amounts))


@pytest.mark.parametrize(
    ("currency", "amount"), [("UGX", "100.5"), ("UGX", "0.1"), ("NGN", "1.001"), ("KES", "0.005"), ("USD", "1.999")]
)
async def test_an_amount_has_no_more_decimals_than_its_currency(
    shop: Shop, admin: Any, currency: str, amount: str
) -> None:
    sending = send(shop, "transfers", transfer(amount=amount, currency=f'"{currency}"'))
    answer = await assert_refused(admin, sending, 422, "VALIDATION_FAILED", field="amount")
    assert "decimals" in answer.json()["message"]


@pytest.mark.parametrize("currency", ['"ngn"', '"XXX"', '"NG"', '""', "1", "null", "[]", '"NGN "', '"₦"', ""])
async def test_a_currency_is_one_of_ours(shop: Shop, admin: Any, currency: str) -> None:
    sending = send(shop, "transfers", transfer(currency=currency))
    answer = await assert_refused(admin, sending, 422, "VALIDATION_FAILED", field="currency")
    assert "NGN" in answer.json()["message"] or currency == ""


BAD_FIELDS: dict[str, tuple[dict[str, str], str]] = {
    "no account": ({"accountNumber": ""}, "accountNumber"),
    "an empty account": ({"accountNumber": '""'}, "accountNumber"),
    "an account as a number": ({"accountNumber": "9900000001"}, "accountNumber"),
    "a null account": ({"accountNumber": "null"}, "accountNumber"),
    "a long account": ({"accountNumber": f'"{"9" * 141}"'}, "accountNumber"),
    "an account that is not text": ({"accountNumber": '"\\u0000"'}, "accountNumber"),
    "no payer": ({"payer": ""}, "payer"),
    "a null payer": ({"payer": "null"}, "payer"),
    "a payer as text": ({"payer": '"Ada Obi"'}, "payer"),
    "a nameless payer": ({"payer": "{}"}, "payer.name"),
    "a name as a number": ({"payer": '{"name": 1}'}, "payer.name"),
    "a long name": ({"payer": f'{{"name": "{"x" * 1_001}"}}'}, "payer.name"),
    "half a character": ({"payer": '{"name": "A\\ud800"}'}, "payer.name"),
    "a number of the payer": ({"payer": '{"name": "A", "accountNumber": 1}'}, "payer.accountNumber"),
    "an empty bank": ({"payer": '{"name": "A", "bankName": ""}'}, "payer.bankName"),
    "a payee as text": ({"payee": '"Shop"'}, "payee"),
    "a nameless payee": ({"payee": "{}"}, "payee.name"),
    "an empty name of the payee": ({"payee": '{"name": ""}'}, "payee.name"),
    "a long name of the payee": ({"payee": f'{{"name": "{"x" * 1_001}"}}'}, "payee.name"),
    "an account of nothing but gaps": ({"accountNumber": '" - \\u00a0"'}, "accountNumber"),
    "an empty remittance": ({"remittance": '""'}, "remittance"),
    "a long remittance": ({"remittance": f'"{"x" * 141}"'}, "remittance"),
    "a remittance as a list": ({"remittance": '["a"]'}, "remittance"),
    "an empty scheme": ({"scheme": '""'}, "scheme"),
    "a long scheme": ({"scheme": f'"{"x" * 36}"'}, "scheme"),
    "a scheme as a number": ({"scheme": "1"}, "scheme"),
    "a value date of another form": ({"valuedAt": '"15.11.2026"'}, "valuedAt"),
    "a value date that does not exist": ({"valuedAt": '"2026-02-30"'}, "valuedAt"),
    "a value time without an offset": ({"valuedAt": '"2026-11-15T09:30:00"'}, "valuedAt"),
    "a value date beyond all dates": ({"valuedAt": '"99999-01-01"'}, "valuedAt"),
    "a value date as a number": ({"valuedAt": "1763199000"}, "valuedAt"),
    "a delay in words": ({"delay": '"soon"'}, "delay"),
    "a delay into the past": ({"delay": '"-1s"'}, "delay"),
    "a long delay": ({"delay": '"401d"'}, "delay"),
    "a delay as a number": ({"delay": "10"}, "delay"),
    "an empty reference": ({"reference": '""'}, "reference"),
    "a reference as a number": ({"reference": "1"}, "reference"),
    "a long reference": ({"reference": f'"{"x" * 141}"'}, "reference"),
}  # fmt: skip


async def test_a_field_of_a_transfer_has_its_form(shop: Shop, admin: Any) -> None:
    rows = (
        (name, send(shop, "transfers", transfer(**changes)), invalid(field))
        for name, (changes, field) in BAD_FIELDS.items()
    )
    await assert_each_refused(admin, rows)


async def test_all_that_is_wrong_with_a_transfer_is_said_at_once(shop: Shop, admin: Any) -> None:
    answer = await assert_refused(admin, send(shop, "transfers", "{}"), 422, "VALIDATION_FAILED", field="payer")
    wrong = {problem["field"] for problem in answer.json()["errors"]}
    assert wrong == {"accountNumber", "amount", "currency", "payer"}


CARD_NUMBERS: dict[str, tuple[dict[str, str], str]] = {
    "the payer's name": ({"payer": f'{{"name": "{PAN}"}}'}, "payer.name"),
    "the bank's name": ({"payer": f'{{"name": "A", "bankName": "{PAN}"}}'}, "payer.bankName"),
    "an account": ({"payer": f'{{"name": "A", "accountNumber": "{PAN}"}}'}, "payer.accountNumber"),
    "the payee's name": ({"payee": f'{{"name": "{PAN}"}}'}, "payee.name"),
    "the remittance": ({"remittance": '"pay 4111111111111111"'}, "remittance"),
    "full width": ({"accountNumber": '"４１１１１１１１１１１１１１１１"'}, "accountNumber"),
    "an unknown field": ({"note": f'"{PAN}"'}, "note"),
    "a key": ({"4111111111111111": "1"}, "body"),
}  # fmt: skip


async def test_a_card_number_is_refused_wherever_it_stands(shop: Shop, admin: Any) -> None:
    rows = (
        (name, send(shop, "transfers", transfer(**changes)), (422, "CARD_DATA_NOT_ALLOWED", field))
        for name, (changes, field) in CARD_NUMBERS.items()
    )
    await assert_each_refused(admin, rows)


async def test_a_card_number_in_a_key_is_not_repeated_with_its_value(shop: Shop, admin: Any) -> None:
    body = transfer(**{"4111111111111111": '{"4111111111111111": "4111111111111111"}'})
    await assert_refused(admin, send(shop, "transfers", body), 422, "CARD_DATA_NOT_ALLOWED", field="body")


DURATIONS = [
        '"x"', '"-1h"', '"9999999d"', '"401d"', '"999999h"', '"1.5h"', '"1 h"', '"h"', '"1"', '"1w"', '"1H"', '"2h\\n"',
        '"٢h"', '""', '"+1h"', '"1h30m"', '"PT2H"', "7200", "true", "null", "[]", "",
    ]  # fmt: skip


async def test_a_duration_is_a_number_and_a_unit(shop: Shop, admin: Any) -> None:
    bodies = {one: f'{{"advance": {one}}}' if one else "{}" for one in DURATIONS}
    await assert_each_refused(
        admin, ((one, send(shop, "clock", body), invalid("advance")) for one, body in bodies.items())
    )
    assert await admin.fetchval("SELECT count(*) FROM business_clock") == 0


@pytest.mark.parametrize(
    ("reason", "rule"),
    [
        ("1", "VALIDATION_FAILED"),
        ('""', "VALIDATION_FAILED"),
        (f'"{"x" * 141}"', "VALIDATION_FAILED"),
        ('["declined"]', "VALIDATION_FAILED"),
        (f'"{PAN}"', "CARD_DATA_NOT_ALLOWED"),
    ],
)
async def test_a_reason_is_a_short_text(new_checkout: MakeCheckout, admin: Any, reason: str, rule: str) -> None:
    checkout = await new_checkout()
    await checkout.charge({"type": "payAttitude", "bank": "058"})
    sending = send(checkout.shop, f"charges/{checkout.pay_code}/decline", f'{{"reason": {reason}}}')
    await assert_refused(admin, sending, 422, rule, field="reason")


@pytest.mark.parametrize(
    ("body", "status", "rule", "field"),
    [
        (b"{", 400, "MALFORMED_REQUEST", None),
        (b"\xff{}", 400, "MALFORMED_REQUEST", None),
        (b'{"a": 1, "a": 2}', 400, "MALFORMED_REQUEST", None),
        (b"[" * 1_000, 400, "MALFORMED_REQUEST", None),
        (b"null", 422, "VALIDATION_FAILED", "body"),
        (b"[]", 422, "VALIDATION_FAILED", "body"),
        (b'"text"', 422, "VALIDATION_FAILED", "body"),
        (b'"' + b"x" * 70_000 + b'"', 413, "BODY_TOO_LARGE", None),
    ],
)
async def test_a_body_is_an_object_of_reasonable_size(
    shop: Shop, admin: Any, *, body: bytes, status: int, rule: str, field: str | None
) -> None:
    for path in ("transfers", "clock", f"charges/tg_00000_{'0' * 22}/decline"):
        await assert_refused(admin, send(shop, path, body), status, rule, field=field)


@pytest.mark.parametrize("path", ["transfers", "clock"])
async def test_a_body_is_there_and_is_json(shop: Shop, admin: Any, path: str) -> None:
    await assert_refused(admin, send(shop, path, b""), 400, "MALFORMED_REQUEST")
    sending = send(shop, path, b"advance=2h", **{"content-type": "application/x-www-form-urlencoded"})
    await assert_refused(admin, sending, 415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "transfers", "POST"),
        ("GET", "reset", "POST"),
        ("DELETE", "clock", "GET, HEAD, POST"),
        ("GET", f"charges/tg_00000_{'0' * 22}/approve", "POST"),
    ],
)
async def test_another_method_is_refused(shop: Shop, admin: Any, method: str, path: str, allowed: str) -> None:
    sending = shop.client.request(method, f"/sandbox/{path}", headers={"api-key": shop.secret_key})
    answer = await assert_refused(admin, sending, 405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == allowed
