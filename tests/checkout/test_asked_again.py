"""A wrong PIN, code or address is asked for again, and the payer is told why, for as long as that is so."""

from __future__ import annotations

from typing import Any

import pytest

from build import Checkout
from checkout.paying import ADDRESS, WANTS_3DS, WANTS_ADDRESS, WANTS_PIN, WANTS_PIN_AND_OTP, card
from conftest import MakeCheckout
from tidegate.rail.instrument import Otp
from tidegate.rail.interface import RailTimeout
from tidegate.runtime import Runtime

WRONG_PIN = {"pin": "8479"}
WRONG_OTP = {"otp": "847912"}
WRONG_ADDRESS = {"address": {**ADDRESS, "line": " "}}
TRANSFER = {"type": "bank_transfer"}


async def asked(checkout: Checkout, number: str) -> None:
    answer = await checkout.charge(card(number))
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"]["failure"] is None


async def answered(checkout: Checkout, body: dict[str, Any]) -> dict[str, Any]:
    answer = await checkout.authorize(body)
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def kept_failures(admin: Any, checkout: Checkout) -> list[tuple[str, str | None]]:
    rows = await admin.fetch(
        "SELECT status, failure FROM attempt WHERE business_id = $1 ORDER BY number", checkout.shop.business_id
    )
    return [(row["status"], row["failure"]) for row in rows]


@pytest.mark.parametrize(
    ("number", "wrong", "right", "asks_again"),
    [
        pytest.param(WANTS_PIN, WRONG_PIN, {"pin": "1234"}, ("pin", "wrong_pin"), id="PIN"),
        pytest.param(WANTS_3DS, WRONG_OTP, {"otp": "123456"}, ("redirect", "wrong_otp"), id="code"),
        pytest.param(WANTS_ADDRESS, WRONG_ADDRESS, {"address": ADDRESS}, ("address", "wrong_address"), id="address"),
    ],
)
async def test_a_wrong_answer_is_asked_for_again_with_the_reason(
    new_checkout: MakeCheckout, number: str, wrong: Any, right: Any, asks_again: tuple[str, str]
) -> None:
    checkout = await new_checkout()
    await asked(checkout, number)
    again = await answered(checkout, wrong)
    shown = (await checkout.view())["attempt"]
    assert (again["attemptStatus"], again["action"]["type"], again["failure"]) == ("waiting", *asks_again)
    assert (shown["status"], shown["action"]["type"], shown["failure"]) == ("waiting", *asks_again)
    done = await answered(checkout, right)
    assert (done["status"], done["attemptStatus"], done["failure"]) == ("success", "succeeded", None)
    assert (await checkout.view())["attempt"]["failure"] is None


async def test_the_next_question_begins_without_a_reason(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    await asked(checkout, WANTS_PIN_AND_OTP)
    assert (await answered(checkout, WRONG_PIN))["failure"] == "wrong_pin"
    then = await answered(checkout, {"pin": "1234"})
    assert (then["action"]["type"], then["failure"]) == ("otp", None)
    assert (await answered(checkout, WRONG_OTP))["failure"] == "wrong_otp"


async def replaced(checkout: Checkout) -> None:
    assert (await checkout.charge(TRANSFER)).status_code == 200


async def given_up(checkout: Checkout) -> None:
    assert (await checkout.cancel()).status_code == 200


async def forgotten(checkout: Checkout) -> None:
    await checkout.let_pass("2h")


@pytest.mark.parametrize(("move", "status"), [(replaced, "replaced"), (given_up, "replaced"), (forgotten, "expired")])
async def test_an_attempt_that_was_left_keeps_no_reason(
    new_checkout: MakeCheckout, admin: Any, move: Any, status: str
) -> None:
    checkout = await new_checkout()
    await asked(checkout, WANTS_PIN)
    await answered(checkout, WRONG_PIN)
    await move(checkout)
    assert (await kept_failures(admin, checkout))[0] == (status, None)


async def test_a_bank_that_does_not_answer_leaves_no_reason(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = await new_checkout()
    await asked(checkout, WANTS_PIN)
    await answered(checkout, WRONG_PIN)
    monkeypatch.setattr(type(runtime.rails["sandbox"]), "authorize", silent)
    assert (await answered(checkout, {"pin": "1234"}))["attemptStatus"] == "running"
    assert await kept_failures(admin, checkout) == [("running", None)]


async def silent(*_: Any, **__: Any) -> Any:
    raise RailTimeout


async def test_a_reason_found_by_the_sweep_is_shown_too(new_checkout: MakeCheckout, runtime: Runtime) -> None:
    """The answer to a wrong code was lost on its way to us; asking about the attempt tells the same."""
    checkout = await new_checkout()
    charged = (await checkout.charge(card(WANTS_3DS))).json()["data"]
    rail: Any = runtime.rails["sandbox"]
    await rail.authorize(checkout.shop.business_id, charged["attemptId"], Otp("000000"), now=runtime.clock.now())
    assert (await checkout.view())["attempt"]["failure"] is None
    await checkout.let_pass("1m")
    assert (await checkout.view())["attempt"]["failure"] == "wrong_otp"
