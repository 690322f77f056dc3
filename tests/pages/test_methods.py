"""Every method with every outcome of the sandbox; what the page says at the end is what the merchant is told."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import expect

from checkout.paying import (
    NOT_FOR_TESTS,
    SUCCEEDS,
    WANTS_3DS,
    WANTS_ADDRESS,
    WANTS_PIN,
    WANTS_PIN_AND_OTP,
    WITHOUT_MONEY,
)
from pages.payer import REFUSED_INPUT, Payer
from pages.stage import Stage
from tidegate.payment.attempt import RESEND_PAUSE

KENYAN: dict[str, Any] = {"currency": "KES", "paymentMethods": ["mobile_money"]}
PAUSE = f"{int(RESEND_PAUSE.total_seconds()) + 1}s"
PAID_BY_PHONE = "KSh\u00a0100.00"


# Card.


Answers = list[tuple[dict[str, str], str]]
WRONG_PIN, WRONG_CODE = "That was not the right PIN.", "That was not the right code."
PAID = "₦100.00 paid"


@pytest.mark.parametrize(
    ("number", "answers"),
    [
        pytest.param(SUCCEEDS, [], id="no-step"),
        pytest.param(WANTS_PIN, [({"pin": "9999"}, WRONG_PIN), ({"pin": "1234"}, PAID)], id="pin"),
        pytest.param(
            WANTS_PIN_AND_OTP,
            [
                ({"pin": "1234"}, "Your bank has sent a one-time code"),
                ({"otp": "000000"}, WRONG_CODE),
                ({"otp": "123456"}, PAID),
            ],
            id="pin-then-otp",
        ),
        pytest.param(
            WANTS_ADDRESS,
            [({"line": "1 Marina", "city": ""}, "Enter the city"), ({"city": "Lagos"}, PAID)],
            id="address",
        ),
    ],
)
async def test_a_card_is_paid_with_what_its_bank_asks_for(stage: Stage, number: str, answers: Answers) -> None:
    """Each answer, the wrong ones too, and what the page says to it."""
    payer = await Payer.arrives(stage, window={"allowed": REFUSED_INPUT})
    await payer.pays_by_card(number)
    for answer, words in answers:
        await payer.answers(**answer)
        await payer.sees(words)
    await payer.sees_paid("₦100.00", amountReceived=100)
    await payer.sees(f"card ending in {number[-4:]}")


async def test_a_card_is_confirmed_on_the_banks_own_page(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.pays_by_card(WANTS_3DS)
    await payer.sees_heading("Confirm with your bank")
    await payer.follows("Go to my bank")
    await payer.sees_heading("Tidegate Test Bank")
    await payer.confirms("000000")
    await payer.sees("That was not the right code.")
    await payer.follows("Go to my bank")
    await payer.confirms("123456")
    await payer.sees_paid("₦100.00")


async def test_three_wrong_answers_end_the_attempt_and_not_the_payment(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.pays_by_card(WANTS_PIN)
    await payer.answers(pin="9999")
    await payer.sees("That was not the right PIN.")
    for pin in ("9998", "9997"):
        await payer.answers(pin=pin)
    await payer.sees("The answer was wrong too many times. Nothing was taken.")
    await payer.merchant_is_told(status="pending", amountReceived=0)
    await payer.pays_by_card(SUCCEEDS)
    await payer.sees_paid("₦100.00")


DECLINED = {
    WITHOUT_MONEY: "There is not enough money for this payment. Nothing was taken.",
    NOT_FOR_TESTS: "only the test cards listed below work here",
}


async def test_a_decline_says_what_to_do_and_keeps_the_payment(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    for number, words in DECLINED.items():
        await payer.pays_by_card(number)
        await payer.sees(words)
        await payer.merchant_is_told(status="pending", amountReceived=0)
    await payer.pays_by_card(SUCCEEDS)
    await payer.sees_paid("₦100.00")


async def test_the_way_back_from_a_question_leads_to_another_method(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.pays_by_card(WANTS_PIN)
    await payer.follows("Back: use another card or way to pay")
    await payer.sees_heading("Pay with your card")
    await payer.begins_transfer()
    await payer.is_sent(100)
    await payer.sees_paid("₦100.00")


# Mobile money.


async def test_a_phone_that_approves_at_once(stage: Stage) -> None:
    payer = await Payer.arrives(stage, **KENYAN)
    await payer.pays_by_phone("712340000")
    await payer.sees_paid(PAID_BY_PHONE, amountReceived=100)
    await payer.sees("M-PESA +254")


@pytest.mark.parametrize("end", [pytest.param("0001", id="late"), pytest.param("0005", id="silent")])
async def test_a_phone_that_takes_its_time_is_waited_for(stage: Stage, end: str) -> None:
    payer = await Payer.arrives(stage, **KENYAN)
    await payer.pays_by_phone(f"71234{end}")
    await payer.sees("We are waiting for its answer")
    await payer.merchant_is_told(status="processing")
    async with payer.watching():
        await payer.lets_pass("2m")
        await payer.sees_paid(PAID_BY_PHONE, amountReceived=100)


UNPAID = {
    "0002": "There is not enough money for this payment.",
    "0003": "The payment was not approved on the phone.",
    "0004": "This number has no mobile money wallet.",
}


async def test_a_phone_that_does_not_pay_says_what_to_do(stage: Stage) -> None:
    payer = await Payer.arrives(stage, **KENYAN)
    for end, words in UNPAID.items():
        await payer.pays_by_phone(f"71234{end}")
        await payer.sees(words)
        await payer.merchant_is_told(status="pending", amountReceived=0)
    await payer.pays_by_phone("712340000")
    await payer.sees_paid(PAID_BY_PHONE)


async def test_a_prompt_is_declined_sent_again_and_approved(stage: Stage) -> None:
    payer = await Payer.arrives(stage, **KENYAN)
    await payer.pays_by_phone("712345678")
    await payer.sees_heading("Check your phone")
    await payer.sees("+254\u00a0…\u00a05678")
    again = payer.page.get_by_role("button", name="Send the prompt again")
    await expect(again).to_be_disabled()
    await payer.sees("You can ask again in 0:")
    await payer.lets_pass(PAUSE)
    await payer.page.reload()
    await payer.presses("Send the prompt again")
    await expect(again).to_be_disabled()
    async with payer.watching():
        await payer.on_the_phone("decline")
        await payer.sees("The payment was not approved on the phone.")
    await payer.pays_by_phone("712345678")
    await payer.follows("Use another number")
    await payer.pays_by_phone("712345679")
    await payer.sees("+254\u00a0…\u00a05679")
    await payer.simulates("Approve")
    await payer.sees_paid(PAID_BY_PHONE, amountReceived=100)


# USSD.


async def test_a_code_is_dialled(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.gets_a_code()
    code = await payer.page.locator("#panel-ussd .code").inner_text()
    await expect(payer.page.get_by_role("link", name="Dial now")).to_have_attribute(
        "href", f"tel:{code.replace('#', '%23')}"
    )
    async with payer.watching():
        await payer.on_the_phone("approve")
        await payer.sees_paid("₦100.00", amountReceived=100)
    await payer.sees("USSD, Guaranty Trust Bank")


async def test_a_code_that_is_declined_or_lapses_is_replaced(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.gets_a_code()
    await payer.simulates("Decline")
    await payer.sees("The payment was not approved on the phone.")
    await payer.gets_a_code()
    async with payer.watching():
        await payer.lets_pass("11m")
        await payer.sees("There was no answer in time. Nothing was taken.")
    await payer.gets_a_code("Zenith Bank")
    await payer.merchant_is_told(status="pending", amountReceived=0)


# Bank transfer.


async def test_a_transfer_is_noticed_by_itself(stage: Stage) -> None:
    payer = await Payer.arrives(stage, amount=10_000, successMessage="Your beans are on their way.")
    # Then nothing but a push can tell the page.
    await payer.stops_the_clock()
    await payer.begins_transfer()
    await payer.presses("I have sent the money")
    await payer.sees("We are looking out for it")
    await payer.merchant_is_told(status="pending", amountReceived=0)
    async with payer.watching():
        await payer.is_sent(10_000)
        await payer.sees_paid("₦10,000.00", amountReceived=10_000, varianceType=None)
    await payer.sees("Your beans are on their way.")


# Without script.


PLAIN = {"javascript": False}


async def test_without_script_a_card_is_paid(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window=PLAIN)
    await payer.pays_by_card(WANTS_PIN_AND_OTP)
    await payer.answers(pin="1234")
    await payer.answers(otp="123456")
    await payer.sees_paid("₦100.00")


async def test_without_script_a_page_that_waits_looks_again_by_itself(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window=PLAIN)
    await payer.begins_transfer()
    await payer.lets_it_look_again(every_s=10)
    await payer.is_sent(100)
    await payer.sees_paid("₦100.00")


async def test_without_script_a_phone_approves(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window=PLAIN, **KENYAN)
    await payer.pays_by_phone("712345678")
    await payer.lets_it_look_again(every_s=10)
    await payer.sees_heading("Check your phone")
    await payer.on_the_phone("approve")
    await payer.sees_paid(PAID_BY_PHONE)


async def test_without_script_a_code_is_dialled(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window=PLAIN)
    await payer.gets_a_code()
    await payer.lets_it_look_again(every_s=10)
    await payer.on_the_phone("approve")
    await payer.sees_paid("₦100.00")
