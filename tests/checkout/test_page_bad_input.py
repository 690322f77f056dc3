"""The hosted page with bad input: wrong links, tampered forms, wrong fields, odd headers."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from build import Checkout
from checkout.paying import SUCCEEDS
from checkout.plain_browser import Sheet, open_page, path_of
from conftest import MakeCheckout

CARD = {"number": SUCCEEDS, "expiry": "12 / 40", "cvv": "123", "holder": "Ada Obi"}
IS_CARD = {"type": "card"}
PAGE_HEADERS = {
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "strict-transport-security": "max-age=63072000; includeSubDomains",
}


async def visit(checkout: Checkout, query: str = "", **options: Any) -> Sheet:
    return await open_page(checkout.shop.client, f"/pay/{checkout.pay_code}{query}", **options)


async def attempts_made(checkout: Checkout) -> int:
    return 5 - int((await checkout.view())["attemptsLeft"])


def assert_guarded(answer: httpx.Response) -> None:
    assert {name: answer.headers.get(name) for name in PAGE_HEADERS} == PAGE_HEADERS
    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert not any(word in policy for word in ("unsafe-inline", "unsafe-eval", "*"))


FORMS = ("charge", "authorize", "again", "sent", "extend", "cancel", "simulate")


@pytest.mark.parametrize("form", FORMS)
async def test_the_address_of_a_form_leads_to_the_payment(new_checkout: MakeCheckout, form: str) -> None:
    """A reload after a form was refused, or a page from the history."""
    checkout = await new_checkout()
    before = await checkout.view()
    answer = await checkout.shop.client.get(f"/pay/{checkout.pay_code}/{form}?lang=fr")
    assert (answer.status_code, path_of(answer.headers["location"])) == (303, f"/pay/{checkout.pay_code}")
    assert (await open_page(checkout.shop.client, answer.headers["location"])).status == 200
    assert await checkout.view() == before


@pytest.mark.parametrize("pay_code", ["tg_abc", "%0d%0aset-cookie:x=y", "%2f%2fevil.example.com"])
async def test_the_address_of_a_form_leads_nowhere_without_a_payment(
    payer_client: httpx.AsyncClient, pay_code: str
) -> None:
    answer = await payer_client.get(f"/pay/{pay_code}/charge")
    assert (answer.status_code, "location" in answer.headers) == (404, False)


@pytest.mark.parametrize(
    "pay_code",
    [
        pytest.param("tg_00000_0000000000000000000000", id="unknown"),
        pytest.param("tg_abc", id="malformed"),
        pytest.param("x" * 3_000, id="very-long"),
        pytest.param("%3Cscript%3Ealert(1)%3C%2Fscript%3E", id="markup"),
        pytest.param("%2e%2e%2f%2e%2e%2fetc%2fpasswd", id="folders"),
    ],
)
async def test_a_wrong_pay_code_is_not_found_without_a_hint(payer_client: httpx.AsyncClient, pay_code: str) -> None:
    page = await open_page(payer_client, f"/pay/{pay_code}")
    assert page.status == 404
    assert "There is no payment here" in page.text
    assert "<script>alert" not in page.answer.text
    assert_guarded(page.answer)


async def test_a_paid_link_shows_the_receipt_and_no_form(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    form_page = await visit(checkout, "?method=card")
    await form_page.send("/charge", IS_CARD, **CARD)
    page = await visit(checkout, "?method=card&again=1")
    assert "paid" in page.text
    assert [form.action for form in page.forms if form.action.endswith("/charge")] == []
    # Somebody kept the form open in another window.
    late = await form_page.send("/charge", IS_CARD, **CARD)
    assert "₦100.00 paid" in late.text
    assert await attempts_made(checkout) == 1


async def test_a_disabled_link_says_so_and_takes_nothing(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    form_page = await visit(checkout, "?method=card")
    path = f"/checkout/payments/merchant-reference/{checkout.reference}/disable"
    answer = await checkout.shop.client.post(path, headers=checkout.shop.verify_headers)
    assert answer.status_code == 200, answer.text
    page = await visit(checkout)
    assert "This payment link is switched off" in page.text
    assert [form.action for form in page.forms if form.action.endswith("/charge")] == []
    await form_page.send("/charge", IS_CARD, **CARD)
    assert await attempts_made(checkout) == 0


async def test_what_the_form_says_of_amount_and_redirect_is_not_applied(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(redirectUrl="https://shop.example/back")
    page = await visit(checkout, "?method=card")
    tampered = {"amount": "1", "currency": "USD", "feeBearer": "customer", "redirectUrl": "https://evil.example"}
    page = await page.send("/charge", IS_CARD, **CARD, **tampered)
    assert "₦100.00 paid" in page.text
    assert "evil.example" not in page.answer.text
    record = await checkout.record()
    assert (record["amountReceived"], record["currency"], record["feeBearer"]) == (100, "NGN", "business")


@pytest.mark.parametrize("method", ["mobile_money", "cheque", ""])
async def test_a_method_that_is_not_offered_is_refused(new_checkout: MakeCheckout, method: str) -> None:
    checkout = await new_checkout()
    page = await visit(checkout)
    page = await page.send("/charge", {"type": "bank_transfer"}, type=method)
    assert page.status == 422
    assert_guarded(page.answer)
    assert await attempts_made(checkout) == 0


@pytest.mark.parametrize("token", [..., "", "x" * 64, "é"])
async def test_a_form_without_its_token_is_refused(new_checkout: MakeCheckout, token: Any) -> None:
    checkout = await new_checkout()
    page = await visit(checkout, "?method=card")
    page = await page.send("/charge", IS_CARD, **CARD, token=token)
    assert page.status == 403
    assert "Nothing was charged." in page.text
    assert_guarded(page.answer)
    assert await attempts_made(checkout) == 0


async def test_a_token_of_another_payment_or_visitor_is_refused(new_checkout: MakeCheckout) -> None:
    checkout, other = await new_checkout(), await new_checkout()
    foreign = (await visit(other)).form("/charge").fields["token"]
    page = await visit(checkout, "?method=card")
    assert (await page.send("/charge", IS_CARD, **CARD, token=foreign)).status == 403
    checkout.shop.client.cookies.clear()
    assert (await page.send("/charge", IS_CARD, **CARD)).status == 403
    assert await attempts_made(checkout) == 0


@pytest.mark.parametrize("path", ["charge", "authorize", "extend", "cancel", "simulate"])
async def test_every_form_needs_its_token(new_checkout: MakeCheckout, path: str) -> None:
    checkout = await new_checkout()
    await visit(checkout)
    answer = await checkout.shop.client.post(f"/pay/{checkout.pay_code}/{path}", data={"type": "card"})
    assert answer.status_code == 403


async def test_a_double_click_is_one_charge(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    page = await visit(checkout, "?method=card")
    sheets = await asyncio.gather(*(page.send("/charge", IS_CARD, **CARD) for _ in range(6)))
    assert {sheet.status for sheet in sheets} == {200}
    assert await attempts_made(checkout) == 1
    assert (await checkout.record())["amountReceived"] == 100


async def test_two_windows_are_one_charge(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    first, second = await visit(checkout, "?method=card"), await visit(checkout)
    await first.send("/charge", IS_CARD, **{**CARD, "number": "5366139833864633"})
    after = await second.send("/charge", {"type": "bank_transfer"})
    assert "This payment changed in another window" in after.text
    assert "Enter your card PIN" in after.text
    assert await attempts_made(checkout) == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"expiry": "01 / 20"}, "This card has expired", id="past"),
        pytest.param({"expiry": "13 / 40"}, "Month and year as on the card", id="month-13"),
        pytest.param({"cvv": "12345"}, "3 digits, on the back of the card", id="long-code"),
    ],
)
async def test_a_wrong_expiry_or_security_code_is_shown_at_its_field(
    new_checkout: MakeCheckout, changes: dict[str, str], words: str
) -> None:
    checkout = await new_checkout()
    page = await visit(checkout, "?method=card")
    page = await page.send("/charge", IS_CARD, **{**CARD, **changes})
    assert page.status == 422
    assert words in page.text
    assert await attempts_made(checkout) == 0


async def test_query_parameters_cannot_set_texts_or_the_redirect(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(redirectUrl="https://shop.example/back")
    await (await visit(checkout)).send("/cancel", sure="yes")
    page = await visit(checkout, "?redirectUrl=https://evil.example&successMessage=<b>hi</b>&shop=Evil")
    assert "evil" not in page.answer.text.lower().replace("prevent", "")
    assert "<b>hi" not in page.answer.text


@pytest.mark.parametrize("phone", ["", "0712", "letters", "+2348012345678", "0712345678901234"])
async def test_a_number_of_another_country_or_length_is_refused(new_checkout: MakeCheckout, phone: str) -> None:
    checkout = await new_checkout(currency="KES", paymentMethods=["mobile_money"])
    page = await (await visit(checkout)).send("/charge", phone=phone)
    assert page.status == 422
    assert 'id="phone-wrong"' in page.answer.text
    assert await attempts_made(checkout) == 0


@pytest.mark.parametrize("header", ["host", "x-forwarded-host"])
async def test_links_stay_on_our_host(new_checkout: MakeCheckout, header: str) -> None:
    page = await visit(await new_checkout(), headers={header: "evil.example"})
    assert "evil.example" not in page.answer.text


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"accept-language": "\xff;;q=,," * 50}, id="language-garbage"),
        pytest.param({"accept-language": ",".join(["xx"] * 900)}, id="language-long"),
        pytest.param({"cookie": "a=" + "b" * 10_000}, id="cookie-10-kb"),
        pytest.param({"cookie": "tidegate=é; ;;=; tidegate-language=../../etc"}, id="cookie-garbage"),
    ],
)
async def test_odd_headers_give_the_page_in_english(new_checkout: MakeCheckout, headers: dict[str, str]) -> None:
    checkout = await new_checkout()
    raw = {name: value.encode("latin-1") for name, value in headers.items()}
    page = await visit(checkout, headers=raw)
    assert page.status == 200
    assert "Pay by bank transfer" in page.text


async def test_every_page_is_guarded(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    first, second = await visit(checkout), await visit(checkout)
    assert_guarded(first.answer)
    assert first.answer.headers["content-security-policy"] != second.answer.headers["content-security-policy"]
    charged = await checkout.shop.client.post(f"/pay/{checkout.pay_code}/charge", content=b"{}")
    assert charged.status_code == 415
    assert_guarded(charged)
    assert_guarded(await checkout.shop.client.delete(f"/pay/{checkout.pay_code}"))


async def test_a_language_is_chosen_and_remembered(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    assert 'lang="en"' in (await visit(checkout)).answer.text
    assert '<html lang="ar" dir="rtl"' in (await visit(checkout, "?lang=ar")).answer.text
    assert '<html lang="ar" dir="rtl"' in (await visit(checkout)).answer.text
