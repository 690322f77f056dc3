"""The payer's API with bad input: what is wrong, late or not the payer's to set is refused, and nothing is stored."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from build import Checkout
from checkout.paying import (
    ADDRESS,
    NOT_FOR_TESTS,
    WANTS_3DS,
    WANTS_ADDRESS,
    WANTS_PIN,
    WANTS_PIN_AND_OTP,
    WITHOUT_MONEY,
    card,
    phone,
)
from conftest import MakeCheckout
from payment.refusal import assert_each_refused, assert_refused, assert_says_no, without_request_id
from tidegate.checkout import field as fields
from tidegate.checkout import instrument, wire
from tidegate.core import ids
from tidegate.core.errors import Invalid
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.rail.choice import MethodOffer
from tidegate.rail.mobile_money import MOBILE_MONEY

TRANSFER = {"type": "bank_transfer"}
ON_THE_PHONE = {"type": "payAttitude", "bank": "058"}
# Fewer than the limit of requests that act on one payment.
ACTS_AT_ONCE = 15

VIEW_KEYS = {
    "banks", "operators",
    "payCode", "reference", "business", "customerName", "amount", "amountExpected", "amountReceived",
    "amountRemaining", "amountReturned", "amountReversed", "currency", "status", "ending", "varianceType",
    "paymentMethods", "defaultPaymentMethod", "successMessage", "attemptsLeft", "isDisabled", "version", "expiresAt",
    "paidAt", "attempt", "variancePolicy", "openPaymentMethods", "attemptsLeftByMethod", "hostedPaymentMethods",
}  # fmt: skip
LEFT_KEYS = {"answersLeft", "resendsLeft", "resendFrom"}
ATTEMPT_KEYS = LEFT_KEYS | {"attemptId", "type", "status", "failure", "details", "action"}
CHARGED_KEYS = LEFT_KEYS | {
    "attemptId", "type", "status", "attemptStatus", "failure", "attemptsLeft", "openPaymentMethods", "action",
}  # fmt: skip


async def begun(checkout: Checkout, body: dict[str, Any]) -> dict[str, Any]:
    answer = await checkout.charge(body)
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


def words_of(answer: httpx.Response) -> str:
    """All of a refusal but its identifier, which may hold any digits."""
    return f"{answer.json()['message']} {answer.json()['errors']}"


async def attempts_of(admin: Any, checkout: Checkout) -> list[str]:
    """The statuses of all attempts, the oldest first."""
    rows = await admin.fetch(
        "SELECT status FROM attempt WHERE business_id = $1 ORDER BY number", checkout.shop.business_id
    )
    return [row["status"] for row in rows]


async def refuse_each(
    new_checkout: MakeCheckout, admin: Any, charges: dict[str, tuple[dict[str, Any], str]], **fields: Any
) -> list[httpx.Response]:
    """Each charge names the field that is wrong with it. A payment takes so many requests at once."""
    answers: list[httpx.Response] = []
    rows = list(charges.items())
    for start in range(0, len(rows), ACTS_AT_ONCE):
        checkout = await new_checkout(**fields)
        sendings = (
            (name, checkout.charge(body), (422, "VALIDATION_FAILED", field))
            for name, (body, field) in rows[start : start + ACTS_AT_ONCE]
        )
        answers += await assert_each_refused(admin, sendings)
    return answers


# Which payment.


def every_request(client: httpx.AsyncClient, pay_code: str) -> list[Any]:
    path = f"/checkout/payments/{pay_code}"
    return [
        client.get(path),
        client.get(f"{path}/events"),
        client.post(f"{path}/charge", json=TRANSFER),
        client.post(f"{path}/charge/authorize", json={"pin": "1234"}),
        client.post(f"{path}/charge/extend"),
        client.post(f"{path}/cancel"),
    ]


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda code: code[:-1] + ("a" if code[-1] != "a" else "b"), id="unknown"),
        pytest.param(lambda code: ids.new_pay_code("zzzzz"), id="of an unknown business"),
        pytest.param(str.swapcase, id="in the other case"),
        pytest.param(str.upper, id="in capitals"),
        pytest.param(lambda code: code[:-1], id="too short"),
        pytest.param(lambda code: code + "0", id="too long"),
        pytest.param(lambda code: code + "%0A", id="with a line break"),
        pytest.param(lambda code: code + "%20", id="with a space"),
        pytest.param(lambda code: code + "%00", id="with a NUL"),
        pytest.param(lambda code: code + "'--", id="with SQL"),
        pytest.param(lambda code: code.replace("tg_", "tg_%EF%BC%91", 1), id="in full width"),
        pytest.param(lambda code: "x", id="one letter"),
        pytest.param(lambda code: "a" * 5_000, id="very long"),
        pytest.param(lambda code: NOT_FOR_TESTS, id="a card number"),
    ],
)
async def test_a_pay_code_that_is_not_ours_is_not_found_whatever_is_wrong_with_it(
    new_checkout: MakeCheckout, admin: Any, spoil: Any
) -> None:
    checkout = await new_checkout()
    client = checkout.shop.client
    unknown = ids.new_pay_code("00000")  # Each code has limits of its own.
    for wrong, other in zip(
        every_request(client, spoil(checkout.pay_code)), every_request(client, unknown), strict=True
    ):
        answer = await assert_refused(admin, wrong, 404, "RESOURCE_NOT_FOUND")
        assert without_request_id(answer) == without_request_id(await other)


# When it is over.


async def paid(checkout: Checkout) -> None:
    assert (await begun(checkout, card()))["status"] == "success"


async def failed(checkout: Checkout) -> None:
    assert (await checkout.cancel()).status_code == 200


async def expired(checkout: Checkout) -> None:
    await checkout.let_pass("2h")


@pytest.mark.parametrize("end", [paid, failed, expired])
async def test_a_payment_that_has_ended_takes_nothing_more(new_checkout: MakeCheckout, admin: Any, end: Any) -> None:
    checkout = await new_checkout()
    await end(checkout)
    before = await checkout.view()
    bodies = (card(), card(WANTS_PIN), TRANSFER, ON_THE_PHONE)
    for sending in (
        *(checkout.charge(body) for body in bodies),
        checkout.authorize({"pin": "1234"}),
        checkout.extend(),
        checkout.cancel(),
    ):
        await assert_refused(admin, sending, 409, "CONFLICT")
    assert await checkout.view() == before


async def test_a_payment_whose_time_is_over_takes_nothing_even_before_the_sweep(
    new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    assert (await begun(checkout, card(WANTS_PIN)))["action"] == {"type": "pin"}
    assert (await checkout.sandbox("clock", {"advance": "2h"})).status_code == 200
    for sending in (checkout.charge(card()), checkout.authorize({"pin": "1234"})):
        answer = await assert_refused(admin, sending, 409, "CONFLICT")
        assert "over" in answer.json()["message"]
    await checkout.tick()
    assert (await checkout.view())["status"] == "expired"
    assert await admin.fetchval("SELECT count(*) FROM receipt") == 0


async def test_a_card_that_waits_for_its_pin_is_not_charged_when_the_money_came_another_way(
    new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await begun(checkout, card(WANTS_PIN))
    await checkout.transfer(account, "100")
    assert (await checkout.view())["status"] == "success"
    await assert_refused(admin, checkout.authorize({"pin": "1234"}), 409, "CONFLICT")
    await checkout.tick()
    assert (await checkout.view())["amountReturned"] == 0
    assert await admin.fetchval("SELECT count(*) FROM receipt") == 1


# What is not the payer's to say.


async def test_the_payer_cannot_change_the_terms(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(redirectUrl="https://shop.example.com/")
    before = await checkout.record()
    terms = {
        "amount": 1, "amountExpected": 1, "currency": "KES", "feeBearer": "customer", "reference": "OTHER",
        "redirectUrl": "https://evil.example.com/", "status": "success", "attempts": 0, "expiresAt": "2099-01-01",
        "business": {"name": "Evil"},
    }  # fmt: skip
    charged = await begun(checkout, {**TRANSFER, **terms})
    assert charged["action"]["amountExpected"] == 100
    assert charged["action"]["virtualAccount"]["accountName"] == "Test Shop"
    after = await checkout.record()
    changed = {name for name in before if before[name] != after[name]}
    assert changed <= {"status", "updatedAt", "virtualAccount"}, changed
    assert (after["status"], (await checkout.view())["attemptsLeft"]) == ("pending", 4)


NOT_OFFERED: dict[str, Any] = {
    "not chosen by the merchant": card(), "not there in the currency": phone("+254712340000"),
    "unknown": {"type": "cash"}, "empty": {"type": ""}, "a number": {"type": 1}, "null": {"type": None},
    "a list": {"type": ["card"]}, "long": {"type": "x" * 101}, "absent": {},
}  # fmt: skip


async def test_a_method_that_is_not_offered_is_refused(new_checkout: MakeCheckout, admin: Any) -> None:
    charges = {name: (body, "type") for name, body in NOT_OFFERED.items()}
    await refuse_each(new_checkout, admin, charges, paymentMethods=["bank_transfer"])


async def test_ussd_needs_a_bank_on_the_list(new_checkout: MakeCheckout, admin: Any) -> None:
    ussd = {"type": "payAttitude"}
    banks: list[Any] = [None, "", "999", "58", 58, "058 ", "GTB"]
    charges = {repr(bank): ({**ussd, "bank": bank}, "bank") for bank in banks}
    await refuse_each(new_checkout, admin, {"absent": (ussd, "bank"), **charges})


@pytest.mark.parametrize("body", ["text", ["card"], 1, True])
async def test_a_body_is_an_object(new_checkout: MakeCheckout, admin: Any, body: Any) -> None:
    checkout = await new_checkout()
    for sending in (checkout.charge(body), checkout.authorize(body)):
        await assert_refused(admin, sending, 422, "VALIDATION_FAILED", field="body")


# Cards.


@pytest.mark.parametrize(
    "number",
    [
        pytest.param("5319 3178 0136 6660", id="spaces"),
        pytest.param("5319-3178-0136-6660", id="dashes"),
        pytest.param("5319–3178–0136–6660", id="long dashes"),
        pytest.param(" 5319\u00a03178\u20090136\t6660\n", id="odd spaces"),
        pytest.param("５３１９３１７８０１３６６６６０", id="full width"),
        pytest.param("٥٣١٩٣١٧٨٠١٣٦٦٦٦٠", id="Arabic digits"),
        pytest.param("\u200e5319317801366660\u202c", id="pasted with invisible marks"),
    ],
)
async def test_a_card_number_is_read_however_it_is_typed(new_checkout: MakeCheckout, number: str) -> None:
    checkout = await new_checkout()
    assert (await begun(checkout, card(number)))["status"] == "success"
    details = (await checkout.view())["attempt"]["details"]
    assert details == {"brand": "mastercard", "first6": "531931", "last4": "6660"}


NO_CARD_NUMBERS: dict[str, Any] = {
    "wrong check digit": "5319317801366661", "12 digits": "531931780136", "20 digits": "53193178013666600000",
    "zeros": "0000000000000000", "twice": "5319317801366660 5319317801366660", "a letter": "5319317801366660x",
    "dots": "5319.3178.0136.6660", "a sign": "+5319317801366660", "superscript": "⁵³¹⁹³¹⁷⁸⁰¹³⁶⁶⁶⁶⁰",
    "long": "5319317801366660" + " " * 100, "empty": "", "a number": 5319317801366660,
    "a list": ["5319317801366660"], "null": None, "absent": ...,
}  # fmt: skip


async def test_what_is_no_card_number_is_refused_and_never_repeated(new_checkout: MakeCheckout, admin: Any) -> None:
    charges = {name: (card(number), "card.number") for name, number in NO_CARD_NUMBERS.items()}
    for answer in await refuse_each(new_checkout, admin, charges):
        assert "5319" not in words_of(answer)


WRONG_CARD_FIELDS: dict[str, dict[str, Any]] = {
    "expiryMonth": {
        "month 13": 13, "month 0": 0, "month -1": -1, "month 13 as text": "13", "month of three digits": "007",
        "month with a space": " 7", "half a month": 1.5, "month true": True,
        "no month": ...,
    },
    "expiryYear": {
        "year 2101": 2101, "huge year": 2**63, "negative year": -30, "year 2101 as text": "2101",
        "year of three digits": "203", "no year": None,
    },
    "cvv": {
        "cvv of 2": "84", "cvv of 5": "84791", "cvv with a letter": "8a7", "cvv with a line break": "847\n",
        "cvv as a number": 847, "no cvv": ...,
    },
    "holder": {
        "long holder": "x" * 101, "holder as a number": 1,
    },
}  # fmt: skip


async def test_a_card_field_in_the_wrong_form_is_refused(new_checkout: MakeCheckout, admin: Any) -> None:
    charges = {
        name: (card(**{field: value}), f"card.{field}")
        for field, values in WRONG_CARD_FIELDS.items()
        for name, value in values.items()
    }
    for answer in await refuse_each(new_checkout, admin, charges):
        assert not any(secret in words_of(answer) for secret in ("847", "8a7"))


async def test_all_that_is_wrong_with_a_card_is_said_at_once(new_checkout: MakeCheckout, admin: Any) -> None:
    sending = (await new_checkout()).charge(card("1", expiryMonth=13, expiryYear=..., cvv="x"))
    answer = await assert_refused(admin, sending, 422, "VALIDATION_FAILED", field="card.cvv")
    wrong = {problem["field"] for problem in answer.json()["errors"]}
    assert wrong == {"card.number", "card.expiryMonth", "card.expiryYear", "card.cvv"}


async def test_a_card_payment_needs_a_card(new_checkout: MakeCheckout, admin: Any) -> None:
    cards: tuple[Any, ...] = (None, "5319317801366660", [], 1)
    charges = {repr(one): ({"type": "card", "card": one}, "card") for one in cards}
    await refuse_each(new_checkout, admin, {"absent": ({"type": "card"}, "card"), **charges})


@pytest.mark.parametrize(("month", "year"), [(12, 2020), (12, 20), (1, 0), (1, 2024), (6, 1999)])
async def test_a_card_of_the_past_is_refused_before_its_bank_is_asked(
    new_checkout: MakeCheckout, admin: Any, month: int, year: int
) -> None:
    checkout = await new_checkout()
    sending = checkout.charge(card(expiryMonth=month, expiryYear=year))
    answer = await assert_refused(admin, sending, 422, "VALIDATION_FAILED", field="card.expiryYear")
    assert [problem["message"] for problem in answer.json()["errors"]] == ["has passed"]
    view = await checkout.view()
    assert (view["status"], view["attemptsLeft"], view["attempt"]) == ("initiated", 5, None)


async def test_a_card_of_the_past_is_said_together_with_what_else_is_wrong(
    new_checkout: MakeCheckout, admin: Any
) -> None:
    sending = (await new_checkout()).charge(card("1", expiryYear=2020, cvv="x"))
    answer = await assert_refused(admin, sending, 422, "VALIDATION_FAILED", field="card.cvv")
    assert {problem["field"] for problem in answer.json()["errors"]} == {"card.number", "card.expiryYear", "card.cvv"}


@pytest.mark.parametrize(
    ("month", "year", "now", "field"),
    [
        pytest.param(3, 26, "2026-04-01T11:59:59", None, id="the last second of the month, far in the west"),
        pytest.param(3, 26, "2026-04-01T12:00:00", "card.expiryMonth", id="the month is over everywhere"),
        pytest.param(12, 2025, "2026-01-01T11:59:59", None, id="the last second of the year"),
        pytest.param(12, 2025, "2026-01-01T12:00:00", "card.expiryYear", id="the year is over everywhere"),
        pytest.param(1, 2027, "2026-12-31T23:59:59", None, id="next year"),
        pytest.param(12, 99, "2026-12-31T23:59:59", None, id="of this century"),
    ],
)
def test_a_card_is_good_until_its_month_is_over_everywhere(month: int, year: int, now: str, field: str | None) -> None:
    body = card(expiryMonth=month, expiryYear=year)
    problems = list(wire.expiry_passed(body, now=datetime.fromisoformat(now).replace(tzinfo=UTC)))
    assert [(problem.field, problem.kind) for problem in problems] == ([(field, wire.EXPIRED_CARD)] if field else [])


@pytest.mark.parametrize("card_field", [None, "5319", {}, {"expiryMonth": "x", "expiryYear": 20}, {"expiryMonth": 1}])
def test_an_expiry_in_the_wrong_form_is_not_judged(card_field: Any) -> None:
    assert list(wire.expiry_passed({"card": card_field}, now=datetime(2026, 1, 1, tzinfo=UTC))) == []


@pytest.mark.parametrize(("month", "year"), [("10", "2040"), ("07", "40"), ("7", 2040), (7, "40"), (12, 40)])
async def test_an_expiry_date_is_taken_as_text_and_as_numbers(
    new_checkout: MakeCheckout, month: str | int, year: str | int
) -> None:
    assert (await begun(await new_checkout(), card(expiryMonth=month, expiryYear=year)))["status"] == "success"


def test_an_expiry_date_given_as_text_is_found_to_have_passed() -> None:
    passed = wire.expiry_passed(card(expiryMonth="03", expiryYear="26"), now=datetime(2026, 6, 1, tzinfo=UTC))
    assert [problem.field for problem in passed] == ["card.expiryMonth"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param(card(holder="4111 1111 1111 1111"), "card.holder", id="the holder's name"),
        pytest.param(card(cvv="4111111111111111"), "card.cvv", id="the security code"),
        pytest.param({**TRANSFER, "note": NOT_FOR_TESTS}, "note", id="an unknown field"),
        pytest.param({**TRANSFER, "note": 4111111111111111}, "note", id="a number"),
        pytest.param({**TRANSFER, "bank": NOT_FOR_TESTS}, "bank", id="the bank"),
        pytest.param({**TRANSFER, NOT_FOR_TESTS: 1}, "body", id="a key"),
        pytest.param({**TRANSFER, "a": {NOT_FOR_TESTS: {"b": NOT_FOR_TESTS}}}, "a", id="a key with a value"),
    ],
)
async def test_a_card_number_in_any_other_place_is_refused_and_not_repeated(
    new_checkout: MakeCheckout, admin: Any, body: dict[str, Any], field: str
) -> None:
    checkout = await new_checkout()
    # Named after the rule, unless another one is broken too.
    rule = "VALIDATION_FAILED" if field == "card.cvv" else "CARD_DATA_NOT_ALLOWED"
    await assert_refused(admin, checkout.charge(body), 422, rule, field=field)


# Phones.


WRONG_PHONES: dict[str, Any] = {
    "of another country": "+2348012345678", "too short": "+254712", "too long": "07123456789012",
    "letters": "+25471234ABCD", "letters as keys": "0712 FLOWERS", "a landline": "+254202222222",
    "no country": "+999712345678", "an extension": "+254712345678 ext 5", "empty": "", "a sign": "+",
    "a card number": "4111 1111 1111 1111", "long": "0" * 101, "a number": 254712345678, "null": None,
}  # fmt: skip


async def test_a_phone_that_cannot_have_the_wallet_is_refused(new_checkout: MakeCheckout, admin: Any) -> None:
    charges = {name: (phone(number), "phone") for name, number in WRONG_PHONES.items()}
    await refuse_each(new_checkout, admin, charges, currency="KES")


@pytest.mark.parametrize(
    ("number", "kind"), [(None, "empty"), ("0712", "too_short"), ("+44 7911 123456", "other_country")]
)
def test_a_page_gets_the_rule_that_a_phone_breaks(number: str | None, kind: str) -> None:
    request = wire.Charge(type="mobile_money", phone=number)
    with pytest.raises(Invalid) as refused:
        instrument.instrument_from(
            request,
            Method.MOBILE_MONEY,
            Currency.KES,
            offer=MethodOffer(Money(1, Currency.KES), False, None),
            account_name="",
            now=datetime.now(UTC),
        )
    assert [(problem.field, problem.kind) for problem in refused.value.problems] == [("phone", kind)]
    # A whole sentence is set off from the field's name.
    assert re.match(r"phone is required|phone: [A-Z]", refused.value.message), refused.value.message


@pytest.mark.parametrize("number", ["0712 345 678", "+254 712-345-678", "00254712345678", "٠٧١٢٣٤٥٦٧٨"])
async def test_a_phone_is_read_however_it_is_typed_and_shown_masked(new_checkout: MakeCheckout, number: str) -> None:
    checkout = await new_checkout(currency="KES")
    await begun(checkout, phone(number))
    assert (await checkout.view())["attempt"]["details"] == {"phone": "+254 … 5678", "operator": "mpesa"}


async def test_an_operator_is_one_of_the_country(new_checkout: MakeCheckout, admin: Any) -> None:
    operators: tuple[Any, ...] = ("mtn", "MPESA", "", 1, "x" * 101)
    charges = {repr(one): (phone("0712345678", operator=one), "operator") for one in operators}
    await refuse_each(new_checkout, admin, charges, currency="KES")


# Answers to what the bank asks.


WRONG_ANSWERS: dict[str, tuple[dict[str, Any], str]] = {
    "none": ({}, "body"),
    "nulls": ({"pin": None, "otp": None}, "body"),
    "an unknown one": ({"password": "1234"}, "body"),
    "two": ({"pin": "1234", "otp": "123456"}, "body"),
    "a PIN and an address": ({"pin": "1234", "address": ADDRESS}, "body"),
    "a short PIN": ({"pin": "847"}, "pin"),
    "a long PIN": ({"pin": "8479123"}, "pin"),
    "a PIN with a letter": ({"pin": "84x9"}, "pin"),
    "a PIN as a number": ({"pin": 8479}, "pin"),
    "a short code": ({"otp": "847"}, "otp"),
    "a long code": ({"otp": "847912345"}, "otp"),
    "a list": ({"otp": ["123456"]}, "otp"),
    "an address as text": ({"address": "1 Marina"}, "address"),
    "an address without a city": ({"address": {"line": "1 Marina", "country": "NG"}}, "address.city"),
    "an empty line": ({"address": {**ADDRESS, "line": ""}}, "address.line"),
    "a long city": ({"address": {**ADDRESS, "city": "x" * 101}}, "address.city"),
    "a code as a number": ({"address": {**ADDRESS, "postalCode": 1}}, "address.postalCode"),
}  # fmt: skip


async def test_an_answer_is_one_and_of_the_right_form(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    await begun(checkout, card(WANTS_PIN))
    rows = (
        (name, checkout.authorize(body), (422, "VALIDATION_FAILED", field))
        for name, (body, field) in WRONG_ANSWERS.items()
    )
    for answer in await assert_each_refused(admin, rows):
        assert len(answer.json()["errors"]) == 1, "one mistake is one complaint"
        assert not any(secret in words_of(answer) for secret in ("847", "84x9"))
    assert (await checkout.view())["attempt"]["action"] == {"type": "pin"}


async def test_an_answer_holds_no_card_number(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    await begun(checkout, card(WANTS_ADDRESS))
    sending = checkout.authorize({"address": {**ADDRESS, "line": "4111 1111 1111 1111"}})
    await assert_refused(admin, sending, 422, "CARD_DATA_NOT_ALLOWED", field="address.line")


@pytest.mark.parametrize(
    ("number", "wrong", "right"),
    [
        (WANTS_PIN, {"otp": "123456"}, {"pin": "1234"}),
        (WANTS_PIN_AND_OTP, {"address": ADDRESS}, {"pin": "1234"}),
        (WANTS_3DS, {"pin": "1234"}, {"otp": "123456"}),
        (WANTS_ADDRESS, {"otp": "123456"}, {"address": ADDRESS}),
    ],
)
async def test_an_answer_to_another_question_is_refused_and_the_right_one_still_taken(
    new_checkout: MakeCheckout, admin: Any, number: str, wrong: dict[str, Any], right: dict[str, Any]
) -> None:
    checkout = await new_checkout()
    await begun(checkout, card(number))
    await assert_refused(admin, checkout.authorize(wrong), 409, "CONFLICT")
    assert (await checkout.authorize(right)).status_code == 200


@pytest.mark.parametrize("body", [None, TRANSFER, ON_THE_PHONE, card(WITHOUT_MONEY)])
async def test_an_answer_is_refused_where_nothing_was_asked(
    new_checkout: MakeCheckout, admin: Any, body: dict[str, Any] | None
) -> None:
    checkout = await new_checkout()
    if body:
        await begun(checkout, body)
    for answer in ({"pin": "1234"}, {"otp": "123456"}, {"address": ADDRESS}):
        await assert_refused(admin, checkout.authorize(answer), 409, "CONFLICT")


async def test_three_wrong_pins_are_all(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    await begun(checkout, card(WANTS_PIN))
    statuses = [(await checkout.authorize({"pin": "8479"})).json()["data"]["attemptStatus"] for _ in range(3)]
    assert statuses == ["waiting", "waiting", "failed"]
    await assert_refused(admin, checkout.authorize({"pin": "1234"}), 409, "CONFLICT")
    assert (await checkout.view())["attempt"]["failure"] == "wrong_pin"


# Giving up, more time, another try.


async def test_giving_up_twice_is_giving_up_once(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    assert (await checkout.cancel()).json()["data"]["status"] == "failed"
    await assert_refused(admin, checkout.cancel(), 409, "CONFLICT")


@pytest.mark.parametrize("body", [None, ON_THE_PHONE, card(WANTS_PIN)])
async def test_more_time_needs_an_account(new_checkout: MakeCheckout, admin: Any, body: dict[str, Any] | None) -> None:
    checkout = await new_checkout()
    if body:
        await begun(checkout, body)
    await assert_refused(admin, checkout.extend(), 409, "CONFLICT")


async def test_more_time_never_outlasts_the_checkout(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    await checkout.account()
    await checkout.let_pass("20m")
    for _ in range(3):
        await checkout.let_pass("25m")
        assert (await checkout.extend()).status_code == 200
    view = await checkout.view()
    assert view["attempt"]["action"]["virtualAccount"]["expiresAt"] == view["expiresAt"]


@pytest.mark.parametrize("first", [ON_THE_PHONE, card(WANTS_PIN), card(WANTS_3DS)])
async def test_a_second_charge_replaces_one_that_waits(
    new_checkout: MakeCheckout, admin: Any, first: dict[str, Any]
) -> None:
    checkout = await new_checkout()
    old = await begun(checkout, first)
    new = await begun(checkout, TRANSFER)
    assert old["attemptId"] != new["attemptId"]
    assert await attempts_of(admin, checkout) == ["replaced", "waiting"]
    assert (await checkout.view())["attempt"]["attemptId"] == new["attemptId"]


@pytest.mark.parametrize("suffix", ["0001", "0005"])
async def test_a_second_charge_is_refused_while_the_first_is_unknown(
    new_checkout: MakeCheckout, admin: Any, suffix: str
) -> None:
    checkout = await new_checkout(currency="KES")
    first = await begun(checkout, phone(MOBILE_MONEY[Currency.KES].test_numbers[suffix]))
    for sending in (checkout.charge(phone("0712345678")), checkout.cancel(), checkout.extend()):
        await assert_refused(admin, sending, 409, "CONFLICT")
    view = await checkout.view()
    assert (view["status"], view["attempt"]["attemptId"]) == ("processing", first["attemptId"])


# What a payer sees.


async def check_view(checkout: Checkout, admin: Any) -> None:
    answer = await checkout.shop.client.get(f"/checkout/payments/{checkout.pay_code}")
    data = answer.json()["data"]
    assert set(answer.json()) == {"status", "message", "data"}
    assert set(data) == VIEW_KEYS
    assert data["business"] == {
        "name": "Test Shop",
        "logoUrl": None,
        "accentColour": None,
        "support": {"email": "help@example.com", "phone": None, "url": None},
    }
    if data["attempt"]:
        assert set(data["attempt"]) == ATTEMPT_KEYS
        assert set(data["attempt"]["action"]) <= {"type", "amountExpected", "virtualAccount", "code", "url"}
    row = await admin.fetchrow("SELECT id, account_id FROM attempt ORDER BY id DESC LIMIT 1")
    private = (
        "ada@example.com", "+2348012345678", "very private", "shop@example.com", "shop.example.com/back",
        checkout.shop.business_id, checkout.shop.secret_key, checkout.shop.public_key, row and row["account_id"],
    )  # fmt: skip
    assert [word for word in private if word and word in answer.text] == []


async def test_a_payer_sees_what_the_page_shows_and_no_more(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(
        customer={"name": "Ada Obi", "email": "ada@example.com", "phoneNumber": "+2348012345678"},
        metadata={"note": "very private"},
        redirectUrl="https://shop.example.com/back",
        settings={"support_email": "help@example.com"},
    )
    await check_view(checkout, admin)
    for body in (ON_THE_PHONE, card(WITHOUT_MONEY), card(WANTS_3DS), TRANSFER):
        charged = await begun(checkout, body)
        assert set(charged) == CHARGED_KEYS
        await check_view(checkout, admin)
    await checkout.transfer(charged["action"]["virtualAccount"]["accountNumber"], "100", payer={"name": "Very Private"})
    assert (await checkout.view())["status"] == "success"
    await check_view(checkout, admin)


@pytest.mark.parametrize("header", ["x-forwarded-host", "x-original-host", "forwarded"])
async def test_links_stay_on_our_host_whatever_a_header_says(new_checkout: MakeCheckout, header: str) -> None:
    checkout = await new_checkout()
    value = "host=evil.example.com" if header == "forwarded" else "evil.example.com"
    headers = {header: value, "x-forwarded-proto": "gopher"}
    path = f"/checkout/payments/{checkout.pay_code}"
    charged = await checkout.shop.client.post(f"{path}/charge", json=card(WANTS_3DS), headers=headers)
    plain = await checkout.view()
    spoofed = await checkout.shop.client.get(path, headers=headers)
    assert "evil" not in charged.text + spoofed.text
    assert spoofed.json()["data"] == plain
    created = await checkout.shop.create(headers=headers)
    assert "evil" not in created.json()["data"]["link"]


@pytest.mark.parametrize("path", ["", "/charge", "/charge/authorize", "/charge/extend", "/cancel", "/events"])
async def test_another_method_is_refused_with_those_allowed(new_checkout: MakeCheckout, path: str) -> None:
    checkout = await new_checkout()
    url = f"/checkout/payments/{checkout.pay_code}{path}"
    answer = await checkout.shop.client.delete(url)
    assert_says_no(answer, 405, "METHOD_NOT_ALLOWED")
    allowed = answer.headers["allow"].replace(" ", "").split(",")
    assert allowed == (["GET", "HEAD"] if path in ("", "/events") else ["POST"])


def test_a_card_number_of_any_length_is_read_in_no_time() -> None:
    with pytest.raises(ValueError, match="must be a card number"):
        fields.CardNumber.parse("4" * 60_000)
