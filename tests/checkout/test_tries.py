"""How often a payer may try: attempts by each method, answers to the bank, prompts and codes sent again."""

from __future__ import annotations

import asyncio
import re
from base64 import urlsafe_b64decode
from typing import Any

import msgspec
import pytest

from build import Checkout
from checkout.paying import SUCCEEDS, WANTS_PIN, WANTS_PIN_AND_OTP, WITHOUT_MONEY, card, phone
from checkout.plain_browser import Sheet, open_page
from checkout.test_page_without_script import CARD, IS_CARD, pay_by_card, visit
from conftest import MakeCheckout
from tidegate.payment.attempt import ANSWERS_MAX, RESEND_PAUSE, RESENDS_MAX
from tidegate.payment.transition import ATTEMPTS_MAX
from tidegate.runtime import Runtime

KENYAN: dict[str, Any] = {"currency": "KES", "paymentMethods": ["mobile_money", "bank_transfer"]}
PHONE = "0712 345 678"
PAUSE = f"{int(RESEND_PAUSE.total_seconds()) + 1}s"
CHANGED = "changed in another window"
BEGUN = [
    pytest.param(phone(PHONE), KENYAN, id="prompt"),
    pytest.param({"type": "payAttitude", "bank": "058"}, {}, id="code to dial"),
    pytest.param(card(WANTS_PIN_AND_OTP), {}, id="one-time code"),
]


async def begun(new_checkout: MakeCheckout, body: dict[str, Any], order: dict[str, Any]) -> Checkout:
    """Something waits for the payer that can be sent again."""
    checkout = await new_checkout(**order)
    assert (await checkout.charge(body)).is_success
    if body["type"] == "card":
        assert (await checkout.authorize({"pin": "1234"})).is_success
    return checkout


async def resent(checkout: Checkout) -> Any:
    return await checkout.shop.client.post(f"/checkout/payments/{checkout.pay_code}/charge/resend")


# Prompts and codes sent again.


@pytest.mark.parametrize(("body", "order"), BEGUN)
async def test_asking_again_is_the_same_attempt(
    new_checkout: MakeCheckout, body: dict[str, Any], order: dict[str, Any]
) -> None:
    checkout = await begun(new_checkout, body, order)
    before = await checkout.view()
    await checkout.let_pass(PAUSE)
    page = await visit(checkout)
    page = await page.send("/again")
    assert page.status == 200
    assert CHANGED not in page.text
    after = await checkout.view()
    assert after["attemptsLeft"] == before["attemptsLeft"] == ATTEMPTS_MAX - 1
    assert after["attempt"]["attemptId"] == before["attempt"]["attemptId"]
    assert after["attempt"]["resendsLeft"] == RESENDS_MAX - 1


@pytest.mark.parametrize(("body", "order"), BEGUN[:2])
async def test_beginning_anew_is_no_way_round_the_pause(
    new_checkout: MakeCheckout, body: dict[str, Any], order: dict[str, Any]
) -> None:
    checkout = await begun(new_checkout, body, order)
    before = await checkout.view()
    refused = await checkout.charge(body)
    assert (refused.status_code, refused.json()["errorType"]) == (429, "RATE_LIMITED")
    assert (await checkout.view())["attemptsLeft"] == before["attemptsLeft"]
    await checkout.let_pass("31s")
    assert (await checkout.charge(body)).status_code == 200


@pytest.mark.parametrize(("body", "order"), BEGUN)
async def test_asking_again_at_once_is_refused_with_the_time_to_wait(
    new_checkout: MakeCheckout, body: dict[str, Any], order: dict[str, Any]
) -> None:
    checkout = await begun(new_checkout, body, order)
    page = await visit(checkout)
    assert "You can ask again in 0:" in page.text
    page = await page.send("/again")
    assert "It was sent a moment ago." in page.text
    refused = await resent(checkout)
    assert (refused.status_code, refused.json()["errorType"]) == (429, "RATE_LIMITED")
    assert 0 < int(refused.headers["retry-after"]) <= RESEND_PAUSE.total_seconds()
    assert (await checkout.view())["attempt"]["resendsLeft"] == RESENDS_MAX


@pytest.mark.parametrize(("body", "order"), BEGUN)
async def test_it_is_sent_again_a_few_times_and_then_the_page_says_what_else_to_do(
    new_checkout: MakeCheckout, body: dict[str, Any], order: dict[str, Any]
) -> None:
    checkout = await begun(new_checkout, body, order)
    for _ in range(RESENDS_MAX):
        await checkout.let_pass(PAUSE)
        assert (await resent(checkout)).status_code == 200
    await checkout.let_pass(PAUSE)
    assert (await resent(checkout)).status_code == 409
    page = await visit(checkout)
    assert "as possible" in page.text
    assert "another" in page.text
    assert not [form for form in page.forms if form.action.endswith("/again")]


async def test_of_two_who_ask_again_at_once_one_is_sent(new_checkout: MakeCheckout) -> None:
    checkout = await begun(new_checkout, phone(PHONE), KENYAN)
    await checkout.let_pass(PAUSE)
    answers = await asyncio.gather(*(resent(checkout) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers)[0] == 200
    assert {answer.status_code for answer in answers} <= {200, 409, 429}
    assert (await checkout.view())["attempt"]["resendsLeft"] == RESENDS_MAX - 1


async def test_a_new_code_replaces_the_one_before(new_checkout: MakeCheckout) -> None:
    checkout = await begun(new_checkout, {"type": "payAttitude", "bank": "058"}, {})
    before = (await checkout.view())["attempt"]["action"]["code"]
    await checkout.let_pass("9m")
    after = (await resent(checkout)).json()["data"]["action"]["code"]
    assert after != before
    assert after.startswith("*737*")
    await checkout.let_pass("9m")
    assert (await checkout.view())["attempt"]["status"] == "waiting", "a new code lasts as long again"


@pytest.mark.parametrize("body", [{"type": "bank_transfer"}, card(WANTS_PIN)], ids=["transfer", "pin"])
async def test_what_cannot_be_sent_again_is_not_offered(new_checkout: MakeCheckout, body: dict[str, Any]) -> None:
    checkout = await new_checkout()
    await checkout.charge(body)
    await checkout.let_pass(PAUSE)
    assert not [form for form in (await visit(checkout)).forms if form.action.endswith("/again")]
    assert (await resent(checkout)).status_code == 409


async def test_a_rail_that_cannot_send_again_is_not_asked_to(
    new_checkout: MakeCheckout, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a rail would be that has no such call."""
    checkout = await begun(new_checkout, phone(PHONE), KENYAN)
    await checkout.let_pass(PAUSE)
    rail = runtime.rails["sandbox"]
    unable = msgspec.structs.replace(rail.capabilities, resends=frozenset())
    monkeypatch.setattr(type(rail), "capabilities", unable)
    assert (await checkout.view())["attempt"]["resendsLeft"] is None
    assert not [form for form in (await visit(checkout)).forms if form.action.endswith("/again")]
    assert (await resent(checkout)).status_code == 409


async def test_after_another_number_the_page_shows_that_one(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(**KENYAN)
    page = await visit(checkout, "?method=mobile_money")
    for last in range(1, ATTEMPTS_MAX + 1):
        page = await page.send("/charge", {"type": "mobile_money"}, phone=f"0712 345 67{last}")
        assert f"+254\u00a0…\u00a0567{last}" in page.answer.text
        page = await visit(checkout, "?method=mobile_money&again=1")
    assert "Mobile money: no tries left" in page.text
    assert "You can still pay another way" in page.text
    page = await visit(checkout)
    assert f"+254\u00a0…\u00a0567{ATTEMPTS_MAX}" in page.answer.text, "what waits on the phone can still be approved"
    page = await page.send("/charge", {"type": "bank_transfer"})
    assert "Transfer exactly" in page.text
    assert CHANGED not in page.text


# Attempts by each method.


async def declined(checkout: Checkout, times: int) -> Sheet:
    page = await visit(checkout, "?method=card")
    for _ in range(times):
        page = await page.send("/charge", IS_CARD, number=WITHOUT_MONEY, **CARD)
        assert "There is not enough money" in page.text
    return page


async def test_five_declined_cards_leave_the_other_methods(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(amount=2_500)
    page = await declined(checkout, ATTEMPTS_MAX)
    assert "Card: no tries left" in page.text
    view = await checkout.view()
    assert (view["status"], view["attemptsLeft"]) == ("pending", 0)
    assert view["openPaymentMethods"] == ["bank_transfer", "payattitude"]
    assert view["attemptsLeftByMethod"] == {"bank_transfer": 5, "card": 0, "payattitude": 5}
    refused = await checkout.charge(card(SUCCEEDS))
    assert refused.status_code == 409
    message = "all 5 attempts by card have been used; other methods are open: bank_transfer, payAttitude"
    assert refused.json()["message"] == message
    page = await page.send("/charge", {"type": "bank_transfer"})
    assert "Transfer exactly ₦2,500.00" in page.text
    account = (await checkout.view())["attempt"]["action"]["virtualAccount"]["accountNumber"]
    await checkout.transfer(account, "2500")
    assert (await checkout.record())["status"] == "success"


async def test_five_declined_cards_end_a_payment_by_card_alone(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(paymentMethods=["card"], redirectUrl="https://shop.example/back")
    page = await visit(checkout)
    for _ in range(ATTEMPTS_MAX):
        page = await page.send("/charge", IS_CARD, number=WITHOUT_MONEY, **CARD)
    assert "This payment did not work" in page.text
    assert page.refresh is not None
    assert page.refresh.startswith("5;url=https://shop.example/back?reference=")
    assert (await checkout.record())["status"] == "failed"


async def test_a_payment_fails_when_no_method_is_left(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(paymentMethods=["card", "payAttitude"])
    for _ in range(ATTEMPTS_MAX):
        await checkout.charge(card(WITHOUT_MONEY))
    for left in range(ATTEMPTS_MAX - 1, -1, -1):
        assert (await checkout.view())["status"] == "pending"
        await checkout.charge({"type": "payAttitude", "bank": "058"})
        await checkout.sandbox(f"charges/{checkout.pay_code}/decline")
        await checkout.tick()
        assert (await checkout.view())["attemptsLeft"] == left
    view = await checkout.view()
    assert (view["status"], view["ending"], view["openPaymentMethods"]) == ("failed", "attempts_used_up", [])


async def test_the_answer_to_a_charge_has_the_attempts_left_by_its_method(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(paymentMethods=["card", "payAttitude"])
    for left in range(ATTEMPTS_MAX - 1, -1, -1):
        charged = (await checkout.charge(card(WITHOUT_MONEY))).json()["data"]
        assert (charged["type"], charged["attemptsLeft"]) == ("card", left)
    assert charged["openPaymentMethods"] == ["payattitude"]
    charged = (await checkout.charge({"type": "payAttitude", "bank": "058"})).json()["data"]
    assert (charged["type"], charged["attemptsLeft"]) == ("payattitude", ATTEMPTS_MAX - 1)


async def test_the_last_try_is_announced(new_checkout: MakeCheckout) -> None:
    page = await declined(await new_checkout(), ATTEMPTS_MAX - 2)
    assert "Tries left with this way to pay: 2" in page.text
    page = await page.send("/charge", IS_CARD, number=WITHOUT_MONEY, **CARD)
    assert "This is the last try with this way to pay." in page.text


async def test_a_refusal_is_not_called_a_change_in_another_window(new_checkout: MakeCheckout) -> None:
    """A form that the page no longer offers, sent all the same."""
    checkout = await new_checkout()
    page = await declined(checkout, ATTEMPTS_MAX - 1)
    form = page.form("/charge", type="card")
    await checkout.charge(card(WITHOUT_MONEY))
    version = (await checkout.view())["version"]
    fields = {**form.fields, "number": SUCCEEDS, **CARD, "seen": str(version)}
    answer = await checkout.shop.client.post(form.action, data=fields, follow_redirects=True)
    assert "That was not possible." in answer.text
    assert CHANGED not in answer.text


# Answers to what the bank asks.


async def test_each_answer_is_counted_whatever_the_rail_counts(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    page = await pay_by_card(checkout, WANTS_PIN)
    assert f"Tries left: {ANSWERS_MAX}" in page.text
    page = await page.send("/authorize", pin="9999")
    assert "Tries left: 2" in page.text
    page = await page.send("/authorize", pin="9998")
    assert "This is your last try." in page.text
    page = await page.send("/authorize", pin="9997")
    assert "The answer was wrong too many times." in page.text
    tries = await admin.fetchval("SELECT tries FROM sandbox_attempt WHERE business_id = $1", checkout.shop.business_id)
    assert tries == ANSWERS_MAX
    assert (await checkout.authorize({"pin": "1234"})).status_code == 409


async def test_many_answers_at_once_are_no_more_than_the_limit(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    await checkout.charge(card(WANTS_PIN))
    answers = await asyncio.gather(*(checkout.authorize({"pin": f"90{number}0"}) for number in range(10)))
    assert {answer.status_code for answer in answers} <= {200, 409, 429}
    tries = await admin.fetchval("SELECT tries FROM sandbox_attempt WHERE business_id = $1", checkout.shop.business_id)
    assert 1 <= tries <= ANSWERS_MAX
    passed_on = sum(answer.status_code == 200 for answer in answers)
    assert passed_on == tries


async def test_the_next_question_has_its_own_answers(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    await checkout.charge(card(WANTS_PIN_AND_OTP))
    await checkout.authorize({"pin": "9999"})
    asked = (await checkout.authorize({"pin": "1234"})).json()["data"]
    assert (asked["action"]["type"], asked["answersLeft"]) == ("otp", ANSWERS_MAX)


async def test_the_page_says_that_the_shop_never_sees_a_pin_or_code(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(settings={"name": "Lekki Coffee"})
    page = await pay_by_card(checkout, WANTS_PIN_AND_OTP)
    assert "It goes to your bank. Lekki Coffee never sees it." in page.text
    page = await page.send("/authorize", pin="1234")
    assert "It goes to your bank. Lekki Coffee never sees it." in page.text


# What was typed before.


async def test_after_a_failure_the_fields_are_filled_again(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(currency="KES")
    page = await visit(checkout, "?method=mobile_money")
    page = await page.send("/charge", {"type": "mobile_money"}, phone="0712 340 004", operator="airtel")
    assert "no mobile money wallet" in page.text
    fields = page.form("/charge", type="mobile_money").fields
    assert (fields["phone"], fields["operator"]) == ("0712 340 004", "airtel")


async def test_of_a_card_only_the_name_is_filled_again(new_checkout: MakeCheckout) -> None:
    page = await pay_by_card(await new_checkout(), WITHOUT_MONEY)
    fields = page.form("/charge", type="card").fields
    assert (fields["holder"], fields["number"], fields["cvv"], fields["expiry"]) == ("Ada Obi", "", "", "")
    kept = page.client.cookies["tidegate-typed"]
    assert b"Ada Obi" in urlsafe_b64decode(kept + "==")
    assert WITHOUT_MONEY.encode() not in urlsafe_b64decode(kept + "==")


async def test_what_was_typed_stays_in_the_payers_own_browser(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(currency="KES", paymentMethods=["mobile_money"])
    page = await (await visit(checkout)).send("/charge", phone="0712 340 004")
    assert page.form("/charge").fields["phone"] == "0712 340 004"
    page.client.cookies.clear()
    assert (await visit(checkout)).form("/charge").fields["phone"] == ""
    other = await new_checkout(checkout.shop, currency="KES", paymentMethods=["mobile_money"])
    assert (await visit(other)).form("/charge").fields["phone"] == ""


@pytest.mark.parametrize(
    ("number", "filled"),
    [("+254712345678", "0712 345678"), ("+2348012345678", ""), ("+254202345678", "")],
    ids=["fits", "another country", "no mobile"],
)
async def test_the_customers_phone_is_filled_in_where_it_fits(
    new_checkout: MakeCheckout, number: str, filled: str
) -> None:
    customer = {"name": "Ada Obi", "email": "ada@example.com", "phoneNumber": number}
    checkout = await new_checkout(currency="KES", paymentMethods=["mobile_money"], customer=customer)
    page = await visit(checkout)
    assert page.form("/charge").fields["phone"] == filled


# A transfer.


async def test_having_sent_the_money_is_remembered(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    page = await (await visit(checkout)).send("/charge", {"type": "bank_transfer"})
    assert "Waiting for your transfer" in page.text
    page = await page.send("/sent")
    assert "We are looking out for it" in page.text
    page = await open_page(page.client, f"/pay/{checkout.pay_code}")
    assert "We are looking out for it" in page.text
    assert (await checkout.record())["status"] == "pending"


async def test_more_time_says_until_when(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    page = await (await visit(checkout)).send("/charge", {"type": "bank_transfer"})
    await checkout.let_pass("10m")
    page = await page.send("/extend")
    assert "The account now stays open until" in page.text
    await checkout.let_pass("29m")
    await page.send("/extend")
    await checkout.let_pass("29m")
    await page.send("/extend")
    await checkout.let_pass("29m")
    page = await page.send("/extend")
    assert "This payment link ends then, so it cannot be longer." in page.text


async def test_without_script_giving_up_asks_first(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    page = await (await visit(checkout)).send("/cancel")
    assert "Give up this payment?" in page.text
    assert (await checkout.record())["status"] == "initiated"
    assert f"/pay/{checkout.pay_code}" in page.links
    page = await page.send("/cancel")
    assert "You cancelled this payment" in page.text


# Endings.


async def test_too_little_is_not_called_paid(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(amount=2_500, successMessage="Your beans are on their way.")
    page = await (await visit(checkout)).send("/charge", {"type": "bank_transfer"})
    assert "A different amount is accepted" not in page.text
    assert "If another amount arrives, the shop decides" in page.text
    await checkout.transfer(await checkout.account(), "1000")
    page = await page.again()
    assert "₦1,000.00 of ₦2,500.00 received" in page.text
    assert "₦1,500.00 is missing." in page.text
    assert "Part paid" in page.text
    assert "₦1,000.00 paid" not in page.text
    assert "Your beans are on their way." not in page.text
    assert 'class="badge warn"' in page.answer.text


async def test_the_rest_that_goes_back_is_not_called_missing(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(amount=2_500)
    account = await checkout.account()
    await checkout.transfer(account, "1000")
    await checkout.transfer(account, "1500")
    page = await visit(checkout)
    assert "₦1,000.00 of ₦2,500.00 received" in page.text
    assert "accepted ₦1,000.00 instead of ₦2,500.00" in page.text
    assert "missing" not in page.text
    assert "already paid" not in page.text
    assert re.search("₦1,500.00 (is on its way|was sent) back to you.*: the amount sent before had already", page.text)
    view = await checkout.view()
    assert (view["amountReceived"], view["amountRemaining"], view["amountReturned"]) == (1000, 0, 1500)


@pytest.mark.parametrize("body", [{"type": "bank_transfer"}, None], ids=["account was shown", "nothing was begun"])
async def test_an_expired_page_has_a_note_for_a_payer_who_has_just_sent_money(
    new_checkout: MakeCheckout, body: dict[str, Any] | None
) -> None:
    checkout = await new_checkout()
    if body:
        await checkout.charge(body)
    await checkout.let_pass("3h")
    page = await visit(checkout)
    assert "This payment link has expired" in page.text
    assert ("it goes back by itself to the account it came from" in page.text) is (body is not None)


@pytest.mark.parametrize(("body", "order"), BEGUN[:2])
@pytest.mark.parametrize("way", ["cancelled", "expired", "declined"])
async def test_a_prompt_that_may_still_be_approved_is_not_called_nothing(
    new_checkout: MakeCheckout, body: dict[str, Any], order: dict[str, Any], way: str
) -> None:
    checkout = await begun(new_checkout, body, order)
    if way == "declined":
        await checkout.sandbox(f"charges/{checkout.pay_code}/decline")
        await checkout.tick()
    if way == "expired":
        await checkout.let_pass("3h")
    else:
        await checkout.cancel()
    page = await visit(checkout)
    is_open = way != "declined"
    assert ("Did you approve it on your phone after all?" in page.text) is is_open
    assert ("Nothing was taken." in page.text) is not is_open
    # And it is shown without a reload.
    assert ("/events" in page.answer.text) is is_open


async def test_whoever_said_that_the_money_was_sent_is_asked_about_that(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    await checkout.account()
    page = await visit(checkout)
    assert "Give up this payment?" in page.answer.text
    page = await page.send("/sent")
    assert "You said that you have sent the money." in page.answer.text
    asked = await page.send("/cancel")
    assert "What arrives then goes back to you." in asked.text
