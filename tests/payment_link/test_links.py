"""Payment links: made, listed, ended, and paid by through their page."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from build import Shop
from checkout.plain_browser import open_page
from conftest import MakeShop
from payment.refusal import assert_each_refused, assert_refused, assert_says_no
from payment_link.link_calls import PATH, PAYER, TICKET, call, get, look, make, path_in, pay_code_of, send, submit
from tidegate.infra.db import Database

# By the merchant.


async def test_a_link_has_what_was_asked_for(shop: Shop) -> None:
    link = await make(shop, paymentsMax=40, endsAt="2199-01-01", paymentMethods=["card"], feeBearer="customer")
    expected = {
        "name": "Workshop ticket", "kind": "reusable", "state": "open", "amount": 2500, "amountMin": None,
        "paymentsMax": 40, "endsAt": "2199-01-02T00:00:00.000Z", "paymentMethods": ["card"], "feeBearer": "customer",
        "paymentsMade": 0, "paymentsPaid": 0, "amountReceived": 0, "businessId": shop.business_id, "endedAt": None,
    }  # fmt: skip
    assert {name: link[name] for name in expected} == expected
    assert await get(shop, link) == link


async def test_a_link_without_an_amount_has_bounds(shop: Shop) -> None:
    link = await make(shop, amount=..., amountMin=100)
    assert (link["amount"], link["amountMin"], link["amountMax"]) == (None, 100, 100_000_000)


async def test_links_are_listed_in_pages_the_newest_first(shop: Shop, new_shop: MakeShop) -> None:
    made = [(await make(shop, name=f"Link {number}"))["id"] for number in range(3)][::-1]
    first = (await call(shop, "GET", perPage=2)).json()["data"]
    second = (await call(shop, "GET", perPage=2, cursor=first["nextCursor"])).json()["data"]
    assert [link["id"] for link in first["results"] + second["results"]] == made
    assert second["nextCursor"] is None
    await call(shop, "POST", f"/{made[1]}/end")
    for status, ids in (("ended", [made[1]]), ("not_ended", [made[0], made[2]])):
        found = (await call(shop, "GET", status=status)).json()["data"]["results"]
        assert [link["id"] for link in found] == ids
    other = await new_shop()
    assert (await call(other, "GET")).json()["data"]["results"] == []


async def test_a_link_is_ended_and_reopened(shop: Shop, payer_client: httpx.AsyncClient, admin: Any) -> None:
    link = await make(shop)
    for _ in range(2):
        ended = (await call(shop, "POST", f"/{link['id']}/end")).json()["data"]
        assert ended["state"] == "ended"
    assert (await look(payer_client, link)).status == 410
    reopened = (await call(shop, "POST", f"/{link['id']}/reopen")).json()["data"]
    assert reopened == link
    assert (await look(payer_client, link)).status == 200
    rows = await admin.fetch("SELECT action, subject FROM audit WHERE action LIKE 'payment_link.%' ORDER BY id")
    assert [tuple(row) for row in rows] == [
        (f"payment_link.{what}", link["id"]) for what in ("created", "ended", "reopened")
    ]


async def test_a_duplicate_has_the_same_terms_and_another_address(shop: Shop) -> None:
    chosen = {"paymentMethods": ["card"], "askPhoneNumber": "required", "askNote": "optional", "noteLabel": "Size"}
    link = await make(shop, successMessage="Thanks", **chosen)
    await call(shop, "POST", f"/{link['id']}/end")
    copy = (await call(shop, "POST", f"/{link['id']}/duplicate")).json()["data"]
    own = ("id", "link", "qrSvg", "qrPng", "poster", "createdAt")
    assert {name: copy[name] for name in copy if name not in own} == {
        name: link[name] for name in link if name not in own
    }
    assert copy["id"] != link["id"]


async def test_the_same_key_makes_one_link(shop: Shop) -> None:
    headers = {"api-key": shop.secret_key, "idempotency-key": "k-1"}
    answers = [await shop.client.post(PATH, json=TICKET, headers=headers) for _ in range(2)]
    assert answers[0].json()["data"] == answers[1].json()["data"]
    assert len((await call(shop, "GET")).json()["data"]["results"]) == 1


async def test_a_bad_link_is_refused_and_named(shop: Shop, admin: Any) -> None:
    bad: list[tuple[str, dict[str, Any]]] = [
        ("name", {"name": ""}), ("name", {"name": "x" * 201}), ("name", {"name": ...}),
        ("kind", {"kind": "twice"}), ("currency", {"currency": "EUR"}),
        ("amount", {"amount": 0}), ("amount", {"amount": 1.5}), ("amount", {"amount": 100_000_001}),
        ("amountMin", {"amountMin": 1}), ("amountMax", {"amount": ..., "amountMin": 5, "amountMax": 4}),
        ("amountMax", {"amount": ..., "amountMax": 100_000_001}), ("endsAt", {"endsAt": "2020-01-01"}),
        ("endsAt", {"endsAt": "soon"}), ("paymentsMax", {"paymentsMax": 0}), ("paymentsMax", {"paymentsMax": 10_001}),
        ("paymentsMax", {"kind": "one_off", "paymentsMax": 2}), ("redirectUrl", {"redirectUrl": "javascript:x"}),
        ("successMessage", {"successMessage": "x" * 5001}),
        ("paymentMethods", {"paymentMethods": []}), ("paymentMethods", {"paymentMethods": "card"}),
        ("paymentMethods[0]", {"paymentMethods": ["cheque"]}),
        ("paymentMethods[1]", {"paymentMethods": ["card", "CARD"]}),
        ("paymentMethods[2]", {"paymentMethods": ["payattitude", "card", "payAttitude"]}),
        ("askPhoneNumber", {"askPhoneNumber": "sometimes"}), ("askPhoneNumber", {"askPhoneNumber": True}),
        ("askNote", {"askNote": ""}), ("askNote", {"askNote": {"label": "Size"}}),
        ("noteLabel", {"noteLabel": "Size"}), ("noteLabel", {"askNote": "optional", "noteLabel": ""}),
        ("noteLabel", {"askNote": "optional", "noteLabel": "x" * 61}),
        ("noteLabel", {"askNote": "optional", "noteLabel": "\u202eeziS"}),
    ]  # fmt: skip
    rows = [
        (
            f"{field} {changes}",
            call(shop, "POST", body={k: v for k, v in {**TICKET, **changes}.items() if v is not ...}),
            (422, "VALIDATION_FAILED", field),
        )
        for field, changes in bad
    ]
    await assert_each_refused(admin, rows)
    other = call(shop, "POST", body={**TICKET, "paymentMethods": ["card", "mobile_money"]})
    await assert_refused(admin, other, 422, "METHOD_NOT_SUPPORTED_FOR_CURRENCY", field="paymentMethods[1]")
    card = call(shop, "POST", body={**TICKET, "name": "4111 1111 1111 1111"})
    await assert_refused(admin, card, 422, "CARD_DATA_NOT_ALLOWED", field="name")


async def test_a_link_of_another_business_is_not_found(shop: Shop, new_shop: MakeShop, admin: Any) -> None:
    link, other = await make(shop), await new_shop()
    for method, path in (("GET", ""), ("POST", "/end"), ("POST", "/reopen"), ("POST", "/duplicate")):
        sending = call(other, method, f"/{link['id']}{path}")
        await assert_refused(admin, sending, 404, "RESOURCE_NOT_FOUND")
    for unknown in ("x", "pl_AAAAA_" + "0" * 22, "%00"):
        await assert_refused(admin, call(shop, "GET", f"/{unknown}"), 404, "RESOURCE_NOT_FOUND")


# By the payer.


async def test_each_submitted_opening_makes_a_payment(shop: Shop, payer_client: httpx.AsyncClient) -> None:
    link = await make(shop, successMessage="Thanks", redirectUrl="https://shop.example.com/")
    page = await look(payer_client, link)
    assert "Workshop ticket" in page.text
    assert (await get(shop, link))["paymentsMade"] == 0, "looking makes nothing"
    codes = {pay_code_of(await submit(payer_client, link)) for _ in range(2)}
    assert len(codes) == 2
    listed = await shop.client.get(
        "/checkout/payments", params={"paymentLinkId": link["id"]}, headers={"api-key": shop.secret_key}
    )
    records = listed.json()["data"]["results"]
    assert {record["reference"] for record in records} == codes
    for record in records:
        assert record["paymentLinkId"] == link["id"]
        assert (record["amount"], record["successMessage"]) == (2500, "Thanks")
        assert record["customer"] == {"name": "Bola Ade", "email": "bola@example.com", "phoneNumber": ""}
        assert record == (await shop.verify(record["merchantReference"])).json()["data"]
    assert (await get(shop, link))["paymentsMade"] == 2


async def test_a_pasted_name_loses_its_marks_of_the_writing_direction(
    shop: Shop, payer_client: httpx.AsyncClient
) -> None:
    pay_code = pay_code_of(await submit(payer_client, await make(shop), name="\u202eBola Ade\u202c"))
    assert (await shop.verify(pay_code)).json()["data"]["customer"]["name"] == "Bola Ade"


async def test_a_form_sent_twice_makes_one_payment(shop: Shop, payer_client: httpx.AsyncClient) -> None:
    link = await make(shop)
    page = await look(payer_client, link)
    sheets = [await send(page), await send(page)]
    assert pay_code_of(sheets[0]) == pay_code_of(sheets[1])
    assert (await get(shop, link))["paymentsMade"] == 1


async def test_the_payer_chooses_the_amount_within_its_bounds(shop: Shop, payer_client: httpx.AsyncClient) -> None:
    link = await make(shop, amount=..., amountMin=10, amountMax=20)
    for amount in ("", "9.99", "20.01", "-15", "1e1", "1,5", "15.001", "x", "9" * 30):
        sheet = await submit(payer_client, link, amount=amount)
        assert sheet.status == 422, amount
        assert "10.00" in sheet.text, amount
    code = pay_code_of(await submit(payer_client, link, amount=" 15.50 "))
    assert (await shop.verify(code)).json()["data"]["amount"] == 15.5
    assert (await get(shop, link))["paymentsMade"] == 1


async def test_a_fixed_amount_cannot_be_changed(shop: Shop, payer_client: httpx.AsyncClient) -> None:
    link = await make(shop)
    code = pay_code_of(await submit(payer_client, link, amount="1"))
    assert (await shop.verify(code)).json()["data"]["amount"] == 2500


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", " "),
        ("name", "4111 1111 1111 1111"),
        ("email", "bola"),
        ("email", ""),
        ("name", "x" * 201),
    ],
)
async def test_wrong_details_are_said_at_their_field(
    shop: Shop, payer_client: httpx.AsyncClient, field: str, value: str
) -> None:
    link = await make(shop)
    sheet = await submit(payer_client, link, **{field: value})
    assert (sheet.status, f'id="{field}-wrong"' in sheet.answer.text) == (422, True)
    assert "4111" not in sheet.answer.text
    assert (await get(shop, link))["paymentsMade"] == 0


async def test_text_of_merchant_and_payer_is_no_markup(shop: Shop, payer_client: httpx.AsyncClient) -> None:
    hostile = "<script>alert(1)</script>"
    link = await make(shop, name=hostile, askNote="optional", noteLabel=hostile)
    sheet = await submit(payer_client, link, name=hostile, email="x", note=hostile)
    assert "<script>alert" not in sheet.answer.text
    assert "&lt;script&gt;alert" in sheet.answer.text


async def test_a_one_off_link_goes_on_with_its_payment(shop: Shop, payer_client: httpx.AsyncClient) -> None:
    link = await make(shop, kind="one_off")
    code = pay_code_of(await submit(payer_client, link))
    assert pay_code_of(await look(payer_client, link)) == code


async def test_a_one_off_link_is_paid_once(shop: Shop, payer_client: httpx.AsyncClient, admin: Any) -> None:
    link = await make(shop, kind="one_off")
    await submit(payer_client, link)
    await paid(admin)
    sheet = await look(payer_client, link)
    assert (sheet.status, "has been paid" in sheet.text) == (410, True)
    record = await get(shop, link)
    assert (record["state"], record["paymentsPaid"], record["amountReceived"]) == ("used_up", 1, 2500)
    assert_says_no(await call(shop, "POST", f"/{link['id']}/reopen"), 409, "CONFLICT")


async def paid(admin: Any) -> None:
    """As a settlement leaves it; how money arrives is tested elsewhere."""
    await admin.execute(
        """
        UPDATE payment SET status = 'success', received_minor = expected_minor, fee_minor = 0, vat_minor = 0,
               settled_minor = expected_minor, paid_at = created_at, method = 'card'
        """
    )


async def test_no_more_than_its_count_begin_at_once(shop: Shop, payer_client: httpx.AsyncClient) -> None:
    link = await make(shop, paymentsMax=2)
    pages = [await look(payer_client, link) for _ in range(5)]
    sheets = await asyncio.gather(*(send(page) for page in pages))
    assert sum(sheet.path.startswith("/pay/") for sheet in sheets) == 2
    late = await look(payer_client, link)
    assert (late.status, "is being paid now" in late.text) == (410, True)
    assert (await get(shop, link))["state"] == "open"


async def test_a_payment_that_expired_makes_room(shop: Shop, payer_client: httpx.AsyncClient, admin: Any) -> None:
    link = await make(shop, kind="one_off")
    first = pay_code_of(await submit(payer_client, link))
    await admin.execute("UPDATE payment SET status = 'expired'")
    assert pay_code_of(await submit(payer_client, link)) != first


async def test_a_link_ends_by_its_date(shop: Shop, payer_client: httpx.AsyncClient, admin: Any) -> None:
    link = await make(shop, endsAt="2199-01-01")
    page = await look(payer_client, link)
    await admin.execute("UPDATE payment_link SET ends_at = created_at")
    assert (await send(page)).status == 410
    record = await get(shop, link)
    assert (record["state"], record["paymentsMade"]) == ("expired", 0)
    assert_says_no(await call(shop, "POST", f"/{link['id']}/reopen"), 409, "CONFLICT")
    copy = (await call(shop, "POST", f"/{link['id']}/duplicate")).json()["data"]
    assert (copy["state"], copy["endsAt"]) == ("open", None)


async def test_a_suspended_shop_takes_nothing(new_shop: MakeShop, payer_client: httpx.AsyncClient, admin: Any) -> None:
    shop = await new_shop()
    link = await make(shop)
    page = await look(payer_client, link)
    await admin.execute("UPDATE business SET status = 'suspended' WHERE id = $1", shop.business_id)
    await admin.execute("UPDATE credential_epoch SET epoch = epoch + 1")
    for _ in range(100):
        if (await look(payer_client, link)).status == 410:
            break
        await asyncio.sleep(0.05)
    assert (await send(page)).status == 409
    assert await admin.fetchval("SELECT count(*) FROM payment") == 0


async def test_a_form_from_elsewhere_is_refused(shop: Shop, payer_client: httpx.AsyncClient, admin: Any) -> None:
    link, other = await make(shop), await make(shop)
    page = await look(payer_client, link)
    fields = {**page.forms[0].fields, **PAYER}
    sent: tuple[tuple[str, dict[str, str], dict[str, str]], ...] = (
        (path_in(link), {**fields, "token": "x"}, {}),
        (path_in(other), fields, {}),
        (path_in(link), fields, {"origin": "https://evil.example"}),
    )
    for path, data, headers in sent:
        answer = await payer_client.post(path, data=data, headers=headers)
        assert answer.status_code == 403
    assert await admin.fetchval("SELECT count(*) FROM payment") == 0


async def test_an_unknown_link_has_a_page_that_says_so(payer_client: httpx.AsyncClient, db: Database) -> None:
    for path in ("/link/x", "/link/pl_AAAAA_" + "0" * 22, "/link/a/b/c", "/link/x/qr.svg"):
        answer = await payer_client.get(path)
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith("text/html")


async def test_the_qr_code_leads_to_the_link(shop: Shop, payer_client: httpx.AsyncClient) -> None:
    link = await make(shop)
    svg = await payer_client.get(f"{path_in(link)}/qr.svg")
    assert (svg.headers["content-type"], svg.content[:4]) == ("image/svg+xml", b"<svg")
    png = await payer_client.get(f"{path_in(link)}/qr.png")
    assert (png.headers["content-type"], png.content[:8]) == ("image/png", b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize("language", ["en", "fr", "pt", "sw", "ar"])
async def test_the_page_speaks_every_language(shop: Shop, payer_client: httpx.AsyncClient, language: str) -> None:
    link = await make(shop, amount=..., amountMin=10)
    page = await open_page(payer_client, f"{path_in(link)}?lang={language}")
    assert f'lang="{language}"' in page.answer.text
    assert page.status == 200
