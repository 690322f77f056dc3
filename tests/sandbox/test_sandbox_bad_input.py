"""Whatever a developer sends to the sandbox's controls that is wrong is refused with a reason, and writes nothing."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from build import Shop
from conftest import MakeCheckout
from payment.refusal import assert_refused

PAN = "4111 1111 1111 1111"


async def send(shop: Shop, path: str, body: str | bytes, **headers: str) -> httpx.Response:
    """The body as text, so that it may hold numbers that no float can."""
    all_headers = {"api-key": shop.secret_key, "content-type": "application/json", **headers}
    return await shop.client.post(f"/sandbox/{path}", content=body, headers=all_headers)


def transfer(**changes: str) -> str:
    """A transfer as JSON text; each change is JSON text as well, and an empty one leaves the field out."""
    fields = {"accountNumber": '"0000000000"', "amount": "100", "currency": '"NGN"', "payer": '{"name": "Ada Obi"}'}
    return "{" + ", ".join(f'"{name}": {value}' for name, value in {**fields, **changes}.items() if value) + "}"


async def test_the_body_these_tests_spoil_is_accepted(shop: Shop) -> None:
    assert (await send(shop, "transfers", transfer())).status_code == 201


@pytest.mark.parametrize(
    "amount",
    [
        "0", "0.00", "-0", "-1", "-0.01", "0.001", "100.005", "100.00000000000000000000000000000000001",
        "1e-3", "1e21", "1e999", "1e-999", "1000000000000.01", "1000000000001",
        "9223372036854775808", "9" * 60, "9" * 200, "1e9999", '"100"', "true", "null", "[100]", '{"value": 100}', '""',
        "",
    ],
)  # fmt: skip
async def test_an_amount_is_exact_money_and_more_than_nothing(shop: Shop, admin: Any, amount: str) -> None:
    sending = send(shop, "transfers", transfer(amount=amount))
    await assert_refused(admin, sending, 422, "VALIDATION_FAILED", field="amount")


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "-Infinity", "0x10", "1_000", "01", "1.", ".5", "+1"])
async def test_an_amount_is_json(shop: Shop, admin: Any, amount: str) -> None:
    await assert_refused(admin, send(shop, "transfers", transfer(amount=amount)), 400, "MALFORMED_REQUEST")


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


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param({"accountNumber": ""}, "accountNumber", id="no account"),
        pytest.param({"accountNumber": '""'}, "accountNumber", id="an empty account"),
        pytest.param({"accountNumber": "9900000001"}, "accountNumber", id="an account as a number"),
        pytest.param({"accountNumber": "null"}, "accountNumber", id="a null account"),
        pytest.param({"accountNumber": f'"{"9" * 141}"'}, "accountNumber", id="a long account"),
        pytest.param({"accountNumber": '"\\u0000"'}, "accountNumber", id="an account that is not text"),
        pytest.param({"payer": ""}, "payer", id="no payer"),
        pytest.param({"payer": "null"}, "payer", id="a null payer"),
        pytest.param({"payer": '"Ada Obi"'}, "payer", id="a payer as text"),
        pytest.param({"payer": "{}"}, "payer.name", id="a nameless payer"),
        pytest.param({"payer": '{"name": 1}'}, "payer.name", id="a name as a number"),
        pytest.param({"payer": f'{{"name": "{"x" * 1_001}"}}'}, "payer.name", id="a long name"),
        pytest.param({"payer": '{"name": "A\\ud800"}'}, "payer.name", id="half a character"),
        pytest.param({"payer": '{"name": "A", "accountNumber": 1}'}, "payer.accountNumber", id="a number of the payer"),
        pytest.param({"payer": '{"name": "A", "bankName": ""}'}, "payer.bankName", id="an empty bank"),
        pytest.param({"payee": '"Shop"'}, "payee", id="a payee as text"),
        pytest.param({"payee": "{}"}, "payee.name", id="a nameless payee"),
        pytest.param({"payee": '{"name": ""}'}, "payee.name", id="an empty name of the payee"),
        pytest.param({"payee": f'{{"name": "{"x" * 1_001}"}}'}, "payee.name", id="a long name of the payee"),
        pytest.param({"accountNumber": '" - \\u00a0"'}, "accountNumber", id="an account of nothing but gaps"),
        pytest.param({"remittance": '""'}, "remittance", id="an empty remittance"),
        pytest.param({"remittance": f'"{"x" * 141}"'}, "remittance", id="a long remittance"),
        pytest.param({"remittance": '["a"]'}, "remittance", id="a remittance as a list"),
        pytest.param({"scheme": '""'}, "scheme", id="an empty scheme"),
        pytest.param({"scheme": f'"{"x" * 36}"'}, "scheme", id="a long scheme"),
        pytest.param({"scheme": "1"}, "scheme", id="a scheme as a number"),
        pytest.param({"valuedAt": '"15.11.2026"'}, "valuedAt", id="a value date of another form"),
        pytest.param({"valuedAt": '"2026-02-30"'}, "valuedAt", id="a value date that does not exist"),
        pytest.param({"valuedAt": '"2026-11-15T09:30:00"'}, "valuedAt", id="a value time without an offset"),
        pytest.param({"valuedAt": '"99999-01-01"'}, "valuedAt", id="a value date beyond all dates"),
        pytest.param({"valuedAt": "1763199000"}, "valuedAt", id="a value date as a number"),
        pytest.param({"delay": '"soon"'}, "delay", id="a delay in words"),
        pytest.param({"delay": '"-1s"'}, "delay", id="a delay into the past"),
        pytest.param({"delay": '"401d"'}, "delay", id="a long delay"),
        pytest.param({"delay": "10"}, "delay", id="a delay as a number"),
        pytest.param({"reference": '""'}, "reference", id="an empty reference"),
        pytest.param({"reference": "1"}, "reference", id="a reference as a number"),
        pytest.param({"reference": f'"{"x" * 141}"'}, "reference", id="a long reference"),
    ],
)
async def test_a_field_of_a_transfer_has_its_form(shop: Shop, admin: Any, changes: dict[str, str], field: str) -> None:
    sending = send(shop, "transfers", transfer(**changes))
    await assert_refused(admin, sending, 422, "VALIDATION_FAILED", field=field)


async def test_all_that_is_wrong_with_a_transfer_is_said_at_once(shop: Shop, admin: Any) -> None:
    answer = await assert_refused(admin, send(shop, "transfers", "{}"), 422, "VALIDATION_FAILED", field="payer")
    wrong = {problem["field"] for problem in answer.json()["errors"]}
    assert wrong == {"accountNumber", "amount", "currency", "payer"}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param({"payer": f'{{"name": "{PAN}"}}'}, "payer.name", id="the payer's name"),
        pytest.param({"payer": f'{{"name": "A", "bankName": "{PAN}"}}'}, "payer.bankName", id="the bank's name"),
        pytest.param({"payer": f'{{"name": "A", "accountNumber": "{PAN}"}}'}, "payer.accountNumber", id="an account"),
        pytest.param({"payee": f'{{"name": "{PAN}"}}'}, "payee.name", id="the payee's name"),
        pytest.param({"remittance": '"pay 4111111111111111"'}, "remittance", id="the remittance"),
        pytest.param({"accountNumber": '"４１１１１１１１１１１１１１１１"'}, "accountNumber", id="full width"),
        pytest.param({"note": f'"{PAN}"'}, "note", id="an unknown field"),
        pytest.param({"4111111111111111": "1"}, "body", id="a key"),
    ],
)
async def test_a_card_number_is_refused_wherever_it_stands(
    shop: Shop, admin: Any, changes: dict[str, str], field: str
) -> None:
    sending = send(shop, "transfers", transfer(**changes))
    await assert_refused(admin, sending, 422, "CARD_DATA_NOT_ALLOWED", field=field)


async def test_a_card_number_in_a_key_is_not_repeated_with_its_value(shop: Shop, admin: Any) -> None:
    body = transfer(**{"4111111111111111": '{"4111111111111111": "4111111111111111"}'})
    await assert_refused(admin, send(shop, "transfers", body), 422, "CARD_DATA_NOT_ALLOWED", field="body")


@pytest.mark.parametrize(
    "advance",
    [
        '"x"', '"-1h"', '"9999999d"', '"401d"', '"999999h"', '"1.5h"', '"1 h"', '"h"', '"1"', '"1w"', '"1H"', '"2h\\n"',
        '"٢h"', '""', '"+1h"', '"1h30m"', '"PT2H"', "7200", "true", "null", "[]", "",
    ],
)  # fmt: skip
async def test_a_duration_is_a_number_and_a_unit(shop: Shop, admin: Any, advance: str) -> None:
    body = f'{{"advance": {advance}}}' if advance else "{}"
    await assert_refused(admin, send(shop, "clock", body), 422, "VALIDATION_FAILED", field="advance")
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
