"""The search of the console; documents that a merchant adds to its account request."""

from __future__ import annotations

from typing import Any

import pytest

from build import Shop
from checkout.paying import card
from conftest import MakeCheckout
from console.people import SignedInStaff
from dashboard.people import People, SignedInPerson
from inflow import DIFFERENT, Inflows, credit
from tidegate.console.find import amounts_in
from tidegate.core.money import Currency, Money
from tidegate.member.permission import Role

pytestmark = pytest.mark.usefixtures("unlimited")


async def test_a_merchant_adds_documents_until_its_account_is_decided_on(
    operator: SignedInStaff, people: People, inflows: Inflows, admin: Any
) -> None:
    assert (await inflows.ask_for()).status_code == 201
    account_id = await admin.fetchval("SELECT id FROM virtual_account")
    owner = await people.person(inflows.shop, Role.OWNER)
    viewer = await people.person(inflows.shop, Role.VIEWER)
    at = f"/accounts/{account_id}"

    async def add(person: SignedInPerson, content: bytes) -> int:
        fields = await person.fields(at)
        data = {"token": fields["token"], "once": content.hex()[-20:], "name": "Passport"}
        files = {"file": ("p.pdf", content, "application/pdf")}
        return (await person.client.post(person.path(f"{at}/documents"), data=data, files=files)).status_code

    assert await add(viewer, b"%PDF-1.7 a viewer") == 403
    assert await add(owner, b"<svg>") == 422
    assert await add(owner, b"%PDF-1.7 secret") == 303
    assert "Passport" in (await owner.get(at)).text
    kept = await admin.fetchrow("SELECT id, sealed FROM account_document")
    assert "secret" not in kept["sealed"]
    # The staff open it after saying why.
    opened = await operator.send(f"{at}/documents/{kept['id']}", at=at, reason="the name is unclear")
    assert opened.content == b"%PDF-1.7 secret"
    assert await admin.fetchval("SELECT count(*) FROM audit WHERE action = 'document.opened'") == 1
    await admin.execute("UPDATE virtual_account SET status = 'declined', reason = 'no'")
    assert await add(owner, b"%PDF-1.7 too late") == 409


async def test_why_an_inflow_was_returned_is_found_by_its_reference(operator: SignedInStaff, inflows: Inflows) -> None:
    """Typed into the bar, its page opens."""
    returned = await inflows.notified(credit(await inflows.number(), payeeName=DIFFERENT))
    found = await operator.client.get(f"/console/find?q={returned['reference']}")
    assert found.headers["location"] == f"/console/held/{returned['reference']}"
    assert "is not the account holder" in (await operator.client.get(found.headers["location"])).text
    merchant = await operator.client.get(f"/console/find?q={inflows.shop.business_id}")
    assert merchant.headers["location"] == f"/console/merchants/{inflows.shop.business_id}"
    for text in ("", "%", "_", "'", "\\", "x" * 100, "١٢٣", "9" * 90, "@", "a@", "₦", "0", "-1", "1e3"):
        assert (await operator.client.get("/console/find", params={"q": text})).status_code == 200, text
    assert "Payments by the hour" in (await operator.get()).text


async def opens(staff: SignedInStaff, text: str) -> str:
    """The page that is opened at once; empty where a list is shown."""
    answer = await staff.client.get("/console/find", params={"q": text})
    return str(answer.headers.get("location", "")).removeprefix("/console")


async def listed(staff: SignedInStaff, text: str) -> str:
    answer = await staff.client.get("/console/find", params={"q": text})
    assert answer.status_code == 200, (text, answer.headers)
    return answer.text


async def test_a_payment_is_found_by_whatever_its_payer_tells(
    operator: SignedInStaff, new_checkout: MakeCheckout, admin: Any
) -> None:
    paid = await new_checkout(
        reference="BAKE-7001", amount=19_000, customer={"name": "Chidinma Eze", "email": "C.Eze@example.com"}
    )
    await new_checkout(reference="OTHER-1", amount=5)
    number = await paid.account()
    rail_reference = await admin.fetchval("SELECT reference FROM attempt")
    page = f"/payments/{paid.shop.business_id}/{paid.pay_code}"
    for text in (
        paid.pay_code, "BAKE-7001", "bake-7001", "BAKE-70", "c.eze@example.com", "C.EZE@EXAMPLE.COM", "chidinma",
        "19000", "19,000", "₦19,000", "19000.00", "NGN 19,000.00", "19 000", number, f" {number} ", rail_reference,
        "#BAKE-7001", "  chidinma   eze ",
        f"https://pay.example.com/pay/{paid.pay_code}", f"http://127.0.0.1:8080/pay/{paid.pay_code}/?lang=fr#x",
    ):  # fmt: skip
        assert await opens(operator, text) == page, text
    await paid.transfer(number, "19000.00")
    assert await opens(operator, await admin.fetchval("SELECT transaction_id FROM receipt")) == page
    for text in ("19000.01", "KES 19000", "eze@example.com", "AKE-7001"):
        assert "Nothing is called" in await listed(operator, text), text


async def test_what_was_paid_by_transfer_is_found_by_its_sender(
    operator: SignedInStaff, new_checkout: MakeCheckout, admin: Any
) -> None:
    paid = await new_checkout(amount=19_000, customer={"name": "Chidinma Eze", "email": "c@example.com"})
    await paid.transfer(await paid.account(), "19000.00")
    await admin.execute('UPDATE receipt SET payer = payer || \'{"name": "Olumide Bello"}\'')
    page = f"/payments/{paid.shop.business_id}/{paid.pay_code}"
    for text in ("Olumide Bello", "olumide", "OLUMIDE B"):
        assert await opens(operator, text) == page, text
    assert "Nothing is called" in await listed(operator, "Bello")


async def test_an_inflow_that_was_credited_is_found_by_its_amount(operator: SignedInStaff, inflows: Inflows) -> None:
    arrived = await inflows.notified(credit(await inflows.number(), 4_321_00))
    assert arrived["status"] == "successful"
    for text in ("4321", "4,321.00", "EUR 4321", "4321 EUR", "4,321.00 eur", "4321€"):
        assert await opens(operator, text) == f"/held/{arrived['reference']}", text


async def test_of_several_the_one_with_the_whole_name_is_opened(
    operator: SignedInStaff, new_checkout: MakeCheckout, shop: Shop
) -> None:
    short = await new_checkout(shop, reference="ORDER-1")
    await new_checkout(shop, reference="ORDER-10")
    assert await opens(operator, "ORDER-1") == f"/payments/{shop.business_id}/{short.pay_code}"
    both = await listed(operator, "order-")
    assert both.count("Payment of") == 2
    assert both.index("ORDER-10") < both.index("ORDER-1<"), "the newest is not the first"
    elsewhere = await new_checkout(reference="ORDER-1")
    assert elsewhere.shop.business_id != shop.business_id
    assert (await listed(operator, "ORDER-1")).count(">ORDER-1</a>") == 2


async def test_a_reference_is_found_however_its_letters_are_typed(
    operator: SignedInStaff, new_checkout: MakeCheckout
) -> None:
    one = await new_checkout(reference="Order-10")
    for text in ("order-10", "ORDER-10", "Order-10", "order-1"):
        assert await opens(operator, text) == f"/payments/{one.shop.business_id}/{one.pay_code}", text
    two = await new_checkout(reference="Big-Order-2")
    assert await opens(operator, "big-order-2") == f"/payments/{two.shop.business_id}/{two.pay_code}"
    # Capitals within a word are not guessed, and the page says so.
    await new_checkout(reference="oRDer-30")
    assert "with capital initials" in await listed(operator, "order-30")


async def test_a_return_leads_to_its_payment_and_a_refund_to_its_own_page(
    operator: SignedInStaff, new_checkout: MakeCheckout, admin: Any
) -> None:
    over = await new_checkout(settings={"variance_policy": "return"}, amount=10_000)
    await over.transfer(await over.account(), "12000.00")
    page = f"/payments/{over.shop.business_id}/{over.pay_code}"
    assert await opens(operator, await admin.fetchval("SELECT reference FROM money_return")) == page
    paid = await new_checkout(amount=10_000)
    assert (await paid.charge(card())).status_code == 200
    body = {"transReference": paid.pay_code, "amount": 5}
    answer = await paid.shop.client.post("/collections/refund", json=body, headers=paid.shop.verify_headers)
    assert answer.status_code == 200, answer.text
    reference = answer.json()["data"]["reference"]
    page = f"/stuck/refund/{paid.shop.business_id}/{reference}"
    await admin.execute("UPDATE refund_leg SET sent_as = 'BANK/77-A'")
    for text in (reference, f"{reference}-1", "BANK/77-A"):
        assert await opens(operator, text) == page, text


async def test_inflows_accounts_and_suspense_are_found_by_sender_number_and_amount(
    operator: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    number = await inflows.number()
    sent = credit(number, 4_800_00, payer={"name": "Zeta Ltd", "accountNumber": "NL91ABNA0417164300",
                                           "bankName": None, "bankCode": None})  # fmt: skip
    arrived = await inflows.notified(sent)
    inflow = f"/held/{arrived['reference']}"
    for text in ("zeta", "Zeta Ltd", "NL91ABNA0417164300", "nl91 abna 0417 1643 00", sent["transactionId"]):
        assert await opens(operator, text) == inflow, text
    account = await admin.fetchval("SELECT id FROM virtual_account")
    for text in (number, account):
        assert await opens(operator, text) == f"/accounts/{account}", text
    unclaimed = credit("DE99", 2_512, payer={"name": "Ola Bright", "accountNumber": "GB33BUKB20201555555555",
                                             "bankName": None, "bankCode": None})  # fmt: skip
    assert (await inflows.notify(unclaimed)).status_code == 200
    receipt = await admin.fetchval("SELECT id FROM receipt WHERE outcome = 'suspense'")
    for text in ("€25.12", "25.12", "ola", "GB33 BUKB 2020 1555 5555 55", unclaimed["transactionId"], str(receipt)):
        assert await opens(operator, text) == f"/suspense/{receipt}", text


def test_an_amount_is_read_as_people_write_it() -> None:
    assert amounts_in("₦19,000") == [Money(19_000_00, Currency.NGN)]
    assert amounts_in("ngn 19000.5") == [Money(19_000_50, Currency.NGN)]
    assert Money(250, Currency.UGX) in amounts_in("250")
    assert amounts_in("KES 12 000") == [Money(12_000_00, Currency.KES)]
    assert amounts_in("40.00 EUR") == amounts_in("40 EUR") == amounts_in("€40") == [Money(40_00, Currency.EUR)]
    # Uganda's shilling has no cents.
    assert Currency.UGX not in {one.currency for one in amounts_in("250.50")}
    for text in ("", "ORDER-1", "1e3", "0", "1,00", "19.000,00", "-5", "₦", "5 00", "EUR 40 EUR", "40 XYZ"):
        assert amounts_in(text) == [], text


@pytest.mark.parametrize("accept", ["text/html", "*/*"])
async def test_a_search_that_is_far_too_long_is_answered_with_a_page(operator: SignedInStaff, accept: str) -> None:
    answer = await operator.client.get(f"/console/find?q={'x' * 10_000}", headers={"accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (414, "text/html; charset=utf-8")
    assert "The address may have at most 8192 bytes" in answer.text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("q=" + "x" * 101, "The search has 101 characters; shorten it to at most 100."),
        ("q=a%0Ab", "that is not text"),
        ("q=one&q=two", "twice, as “one” and as “two”"),
    ],
)
async def test_a_search_that_cannot_be_made_says_why(operator: SignedInStaff, query: str, said: str) -> None:
    page = (await operator.get(f"/find?{query}", status=422)).text
    assert (said in page, "Nothing is called" in page) == (True, False)
