"""What the page of a payment link offers and asks for, where the merchant chose it."""

from __future__ import annotations

import csv
import io

import httpx
import pytest

from build import Shop
from payment_link.link_calls import get, look, make, pay_code_of, send, submit


async def exported(shop: Shop) -> list[dict[str, str]]:
    headers = {"api-key": shop.secret_key, "accept": "text/csv"}
    answer = await shop.client.get("/checkout/payments", headers=headers)
    return list(csv.DictReader(io.StringIO(answer.text.removeprefix("\ufeff"))))


async def test_the_page_offers_the_methods_of_the_link_in_their_order(
    shop: Shop, payer_client: httpx.AsyncClient
) -> None:
    link = await make(shop, paymentMethods=["CARD", "bank_transfer"])
    assert link["paymentMethods"] == ["card", "bank_transfer"]
    sheet = await submit(payer_client, link)
    record = (await shop.verify(pay_code_of(sheet))).json()["data"]
    assert (record["paymentMethods"], record["defaultPaymentMethod"]) == (["card", "bank_transfer"], "card")
    assert ("Card" in sheet.text, "Bank transfer" in sheet.text, "USSD" in sheet.text) == (True, True, False)


async def test_what_the_link_asks_for_is_kept_with_the_payment(shop: Shop, payer_client: httpx.AsyncClient) -> None:
    link = await make(shop, askPhoneNumber="required", askNote="required", noteLabel="T-shirt size")
    page = await look(payer_client, link)
    assert "Your phone number" in page.text
    assert "T-shirt size" in page.text
    code = pay_code_of(await send(page, phone="+234 803 123 4567", note=" \u202eXL, blue "))
    record = (await shop.verify(code)).json()["data"]
    assert record["customer"]["phoneNumber"] == "+234 803 123 4567"
    assert record["metadata"] == {"description": "Workshop ticket", "note": "XL, blue"}
    [row] = await exported(shop)
    assert (row["customerPhoneNumber"], row["note"]) == ("'+234 803 123 4567", "XL, blue")


async def test_what_is_optional_may_be_left_empty(shop: Shop, payer_client: httpx.AsyncClient) -> None:
    link = await make(shop, askPhoneNumber="optional", askNote="optional")
    page = await look(payer_client, link)
    assert "Your phone number (optional)" in page.text
    assert "Note (optional)" in page.text
    record = (await shop.verify(pay_code_of(await send(page, phone=" ", note="")))).json()["data"]
    assert [row["note"] for row in await exported(shop)] == [""]
    assert record["customer"]["phoneNumber"] == ""
    assert record["metadata"] == {"description": "Workshop ticket"}


async def test_what_the_link_does_not_ask_for_is_not_taken(shop: Shop, payer_client: httpx.AsyncClient) -> None:
    code = pay_code_of(await submit(payer_client, await make(shop), phone="+2348031234567", note="XL"))
    record = (await shop.verify(code)).json()["data"]
    assert record["customer"]["phoneNumber"] == ""
    assert record["metadata"] == {"description": "Workshop ticket"}


@pytest.mark.parametrize("rule", ["optional", "required"])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("phone", "call me"), ("phone", "123456"), ("phone", "1" * 16), ("phone", "4111 1111 1111 1111"),
        ("note", "x" * 201), ("note", "4111 1111 1111 1111"), ("note", "\u3164"), ("phone", ""), ("note", " "),
    ],
)  # fmt: skip
async def test_a_wrong_phone_number_or_note_is_said_at_its_field(
    shop: Shop, payer_client: httpx.AsyncClient, field: str, value: str, rule: str
) -> None:
    link = await make(shop, askPhoneNumber=rule, askNote=rule)
    sheet = await submit(payer_client, link, **{"phone": "+2348031234567", "note": "XL", field: value})
    if rule == "optional" and not value.strip():
        pay_code_of(sheet)
        return
    assert (sheet.status, f'id="{field}-wrong"' in sheet.answer.text) == (422, True)
    assert "4111" not in sheet.answer.text
    assert (await get(shop, link))["paymentsMade"] == 0
