"""Asking for accounts, and looking at them, over HTTP. A refused request writes nothing."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest

from build import Shop
from conftest import MakeCheckout, MakeShop
from inflow import Inflows, request
from payment.refusal import assert_each_refused, assert_refused, without_request_id
from tidegate.account import commands
from tidegate.audit.model import OPERATOR
from tidegate.core import ids
from tidegate.core.bank_number import is_iban
from tidegate.core.money import Currency

# As the specification's table 2.6 names them.
FIELDS = (
    "status",
    "isActive",
    "accountNumber",
    "merchantReference",
    "KYCInformation",
    "accountInformation",
    "verifiedKYCData",
    "note",
    "accountOpeningFee",
    "pendingAdditionalInfoCount",
    "isPermanent",
    "expiresAt",
    "isCheckoutVa",
    "isBankTransferVa",
    "isSuspended",
    "reason",
    "monthlyVolume",
    "entityName",
    "paymentFlowDescription",
    "attachments",
    "meansOfId",
    "bankStatement",
    "utilityBill",
    "virtualAccountType",
    "riskRating",
    "checklist",
    "riskScreening",
    "channelKycUpdateStatus",
    "channelKycUpdateResponse",
    "metadata",
    "_id",
    "business",
    "currency",
    "accountType",
    "entityType",
    "currencyType",
    "createdAt",
    "updatedAt",
)
INFORMATION = ["accountNumber", "bankName", "bankCode", "countryCode", "reference", "otherInfo"]
OTHER_INFORMATION = ["iban", "accountNumber", "checkNumber", "sortCode", "bankSwiftCode"]
KYC = {"firstName": "Ada", "lastName": "Obi"}
CARD = "4111 1111 1111 1111"


def assert_whole(record: dict[str, Any]) -> None:
    """Every name of the specification is there, and of the kind that it says."""
    assert [name for name in FIELDS if name not in record] == []
    flags = ("isActive", "isPermanent", "isCheckoutVa", "isBankTransferVa", "isSuspended")
    assert all(isinstance(record[flag], bool) for flag in flags)
    words = ("status", "virtualAccountType", "riskRating", "riskScreening", "entityType", "currencyType", "accountType")
    assert all(isinstance(record[word], str) and record[word] for word in words)
    assert set(record["business"]) == {"name", "email"}
    assert isinstance(record["checklist"], dict)
    for documents in ("meansOfId", "bankStatement", "utilityBill", "attachments"):
        assert all(set(document) == {"name", "url"} for document in record[documents])
    assert re.fullmatch("[0-9a-f]{24}", record["_id"])
    information = record["accountInformation"]
    if information is None:
        assert record["accountNumber"] is None
        return
    assert [name for name in INFORMATION if name not in information] == []
    assert sorted(information["otherInfo"]) == sorted(OTHER_INFORMATION)
    assert all(isinstance(value, str) for value in information["otherInfo"].values())


async def get(shop: Shop, account_id: str) -> Any:
    path = f"/profile/virtual-accounts/{account_id}"
    return await shop.client.get(path, headers={"api-key": shop.secret_key})


async def test_an_account_is_asked_for_and_starts_pending_without_details(inflows: Inflows) -> None:
    documents = [
        {"name": "Passport", "url": "https://files.example.com/p.pdf", "type": "meansOfId"},
        {"name": "Bill", "url": "https://files.example.com/b.pdf", "type": "utilityBill"},
        {"name": "Letter", "url": "https://files.example.com/l.pdf"},
    ]
    kyc = {**KYC, "nationality": "NG", "income": 12.5}
    body = request(
        KYCInformation=kyc, documents=documents, merchantReference="ACC-1", monthlyVolume="10,000 EUR",
        entityName="Ada Imports", paymentFlowDescription="Invoices", metadata={"shop": 7},
    )  # fmt: skip
    answer = await inflows.ask_for(body)
    assert answer.status_code == 201, answer.text
    record = answer.json()["data"]
    assert_whole(record)
    assert (record["status"], record["isActive"], record["accountNumber"]) == ("pending", False, "")
    details = record["accountInformation"]
    texts = {name: value for name, value in details.items() if name != "otherInfo"} | details["otherInfo"]
    assert set(texts.values()) == {""}
    assert record["KYCInformation"] == kyc
    assert (record["merchantReference"], record["metadata"]) == ("ACC-1", {"shop": 7})
    assert (record["monthlyVolume"], record["entityName"]) == ("10,000 EUR", "Ada Imports")
    assert record["meansOfId"] == [{"name": "Passport", "url": "https://files.example.com/p.pdf"}]
    assert record["attachments"] == [{"name": "Letter", "url": "https://files.example.com/l.pdf"}]
    assert record["checklist"] == {"meansOfId": True, "bankStatement": False, "utilityBill": True}
    assert (await get(inflows.shop, record["_id"])).json()["data"] == record


async def test_an_approved_account_shows_where_to_pay(inflows: Inflows) -> None:
    euro = (await get(inflows.shop, (await inflows.account()).id)).json()
    assert euro["success"] is True
    assert "will change" in euro["message"]
    assert_whole(euro["data"])
    information = euro["data"]["accountInformation"]
    assert is_iban(information["accountNumber"])
    assert information["otherInfo"]["iban"] == information["accountNumber"] == euro["data"]["accountNumber"]
    assert information["otherInfo"]["checkNumber"] == information["accountNumber"][2:4]
    assert information["accountName"] == "Ada Obi"
    assert (euro["data"]["status"], euro["data"]["isActive"], euro["data"]["isPermanent"]) == ("approved", True, True)
    dollar = (await get(inflows.shop, (await inflows.account(Currency.USD)).id)).json()["data"]
    assert_whole(dollar)
    assert dollar["accountInformation"]["otherInfo"]["iban"] == ""
    assert dollar["accountInformation"]["countryCode"] == "US"
    assert len(dollar["accountInformation"]["bankCode"]) == 9


BAD_REQUESTS: list[tuple[dict[str, Any], str]] = [
    ({"currency": "XTS"}, "currency"),
    ({"currency": "NGN"}, "currency"),
    ({"currency": "eur"}, "currency"),
    ({"currency": ...}, "currency"),
    ({"currency": None}, "currency"),
    ({"accountType": "personal"}, "accountType"),
    ({"accountType": ...}, "accountType"),
    ({"KYCInformation": ...}, "KYCInformation"),
    ({"KYCInformation": []}, "KYCInformation"),
    ({"KYCInformation": "Ada"}, "KYCInformation"),
    ({"KYCInformation": {}}, "KYCInformation.firstName"),
    ({"KYCInformation": {"firstName": "Ada"}}, "KYCInformation.lastName"),
    ({"KYCInformation": {**KYC, "firstName": None}}, "KYCInformation.firstName"),
    ({"KYCInformation": {**KYC, "firstName": 7}}, "KYCInformation"),
    ({"KYCInformation": {**KYC, "firstName": "  "}}, "KYCInformation"),
    ({"KYCInformation": {**KYC, "lastName": "x" * 201}}, "KYCInformation"),
    ({"KYCInformation": {**KYC, "lastName": "x" * 150}}, "KYCInformation"),
    ({"KYCInformation": {"firstName": "-", "lastName": "."}}, "KYCInformation"),
    ({"KYCInformation": {**KYC, "lastName": "Obi\nEze"}}, "KYCInformation"),
    ({"KYCInformation": {**KYC, "note": "x" * 17_000}}, "KYCInformation"),
    ({"accountType": "corporate"}, "KYCInformation.businessName"),
    ({"documents": "x"}, "documents"),
    ({"documents": [{"name": "P"}]}, "documents[0]"),
    ({"documents": [{"name": "P", "url": "http://files.example.com/p"}]}, "documents[0].url"),
    ({"documents": [{"name": "P", "url": "javascript:alert(1)"}]}, "documents[0].url"),
    ({"documents": [{"name": "P", "url": "https://u:p@files.example.com/"}]}, "documents[0].url"),
    ({"documents": [{"name": "P", "url": "https://a.example.com", "type": "selfie"}]}, "documents[0].type"),
    ({"documents": [{"name": "P", "url": "https://a.example.com"}] * 21}, "documents"),
    ({"settlementCurrency": "BTC"}, "settlementCurrency"),
    ({"merchantReference": ""}, "merchantReference"),
    ({"merchantReference": "a b"}, "merchantReference"),
    ({"monthlyVolume": 7}, "monthlyVolume"),
    ({"monthlyVolume": "x" * 501}, "monthlyVolume"),
    ({"metadata": []}, "metadata"),
]


async def test_a_wrong_request_is_refused(inflows: Inflows) -> None:
    rows = (
        (str(changes), inflows.ask_for(request(**changes)), (422, "VALIDATION_FAILED", field))
        for changes, field in BAD_REQUESTS
    )
    await assert_each_refused(inflows.admin, rows)


CARD_NUMBERS: list[tuple[dict[str, Any], str]] = [
    ({"KYCInformation": {**KYC, "card": CARD}}, "KYCInformation.card"),
    ({"KYCInformation": {**KYC, "note": f"line\n{CARD}"}}, "KYCInformation.note"),
    ({"monthlyVolume": CARD}, "monthlyVolume"),
    ({"paymentFlowDescription": CARD}, "paymentFlowDescription"),
    ({"metadata": {"card": CARD}}, "metadata.card"),
    ({"entityName": CARD}, "entityName"),
    ({"documents": [{"name": CARD, "url": "https://a.example.com"}]}, "documents[0].name"),
    ({"documents": [{"name": "P", "url": "https://a.example.com/4111111111111111"}]}, "documents[0].url"),
]


async def test_a_card_number_is_stored_nowhere(inflows: Inflows) -> None:
    before = await inflows.admin.fetchval("SELECT count(*) FROM virtual_account")
    for changes, field in CARD_NUMBERS:
        answer = await inflows.ask_for(request(**changes))
        assert answer.status_code == 422, answer.text
        assert field in [problem["field"] for problem in answer.json()["errors"]]
    assert await inflows.admin.fetchval("SELECT count(*) FROM virtual_account") == before


async def test_an_account_s_reference_is_never_taken_for_a_card_number(inflows: Inflows) -> None:
    answer = await inflows.ask_for(request(merchantReference="4111111111111111"))
    assert answer.json()["data"]["merchantReference"] == "4111111111111111"


async def test_a_company_and_another_wallet_may_be_asked_for(inflows: Inflows) -> None:
    body = request(
        accountType="corporate", KYCInformation={"businessName": "Ada & Söhne GmbH"}, currency="USD",
        settlementCurrency="NGN", merchantReference=None, documents=[], metadata=None,
    )  # fmt: skip
    record = (await inflows.ask_for(body)).json()["data"]
    assert (record["accountType"], record["currency"], record["settlementCurrency"]) == ("corporate", "USD", "NGN")
    account = await commands.approve(inflows.runtime.deps, record["_id"], by=OPERATOR, now=inflows.now)
    assert account.holder == "Ada & Söhne GmbH"


async def test_a_merchant_reference_is_used_once_by_each_business(inflows: Inflows, new_shop: MakeShop) -> None:
    body = request(merchantReference="ACC-1")
    assert (await inflows.ask_for(body)).status_code == 201
    await assert_refused(inflows.admin, inflows.ask_for(body), 409, "DUPLICATE_REFERENCE")
    other = await new_shop()
    answer = await other.client.post(
        "/profile/virtual-accounts/requests", json=body, headers={"api-key": other.secret_key}
    )
    assert answer.status_code == 201


async def test_the_same_key_gives_the_same_account(inflows: Inflows) -> None:
    key = {"idempotency-key": "k-1"}
    first, second = [await inflows.ask_for(request(merchantReference="ACC-1"), **key) for _ in range(2)]
    assert first.status_code == second.status_code == 201
    assert first.json()["data"] == second.json()["data"]
    assert await inflows.admin.fetchval("SELECT count(*) FROM virtual_account") == 1
    other = inflows.ask_for(request(merchantReference="ACC-2"), **key)
    await assert_refused(inflows.admin, other, 422, "VALIDATION_FAILED", field="Idempotency-Key")


async def test_without_a_key_nothing_is_shown(inflows: Inflows) -> None:
    account = await inflows.account()
    for path in ("", f"/{account.id}"):
        answer = await inflows.shop.client.get(f"/profile/virtual-accounts{path}")
        assert answer.status_code == 401
    wanted = inflows.shop.client.post("/profile/virtual-accounts/requests", json=request())
    await assert_refused(inflows.admin, wanted, 401, "UNAUTHENTICATED")


async def test_an_unknown_a_malformed_and_anothers_id_get_the_same_answer(inflows: Inflows, new_shop: MakeShop) -> None:
    account = await inflows.account()
    other = await new_shop()
    wrong = (account.id, ids.new_account_id(), "x", account.id.upper() + "%00", "%27%20OR%201=1", "0" * 100)
    answers = [await assert_refused(inflows.admin, get(other, w), 404, "RESOURCE_NOT_FOUND") for w in wrong]
    assert len({without_request_id(answer) for answer in answers}) == 1


@pytest.mark.parametrize("state", ["suspended", "expired", "expired, not swept", "closed", "declined"])
async def test_an_account_that_takes_no_money_is_shown_as_it_is(inflows: Inflows, state: str) -> None:
    db, now = inflows.runtime.db, inflows.now
    flags: tuple[str, bool, str | None]
    if state == "declined":
        made = (await inflows.ask_for()).json()["data"]["_id"]
        await commands.decline(db, made, "no proof", by=OPERATOR, now=now)
        flags = ("declined", False, "no proof")
    else:
        made = (await inflows.account(expires_at=now + timedelta(microseconds=1) if "expired" in state else None)).id
        flags = ("expired", False, None)
    if state == "suspended":
        await commands.suspend(db, made, "a complaint", by=OPERATOR, now=now)
        flags = ("approved", True, "a complaint")
    if state == "closed":
        await commands.close(db, made, "asked for", by=OPERATOR, now=now)
        flags = ("closed", False, "asked for")
    if state == "expired":
        assert (await commands.expire_due(inflows.runtime.deps, inflows.runtime.clock)).done == 1
        assert (await commands.expire_due(inflows.runtime.deps, inflows.runtime.clock)).done == 0
    record = (await get(inflows.shop, made)).json()["data"]
    assert_whole(record)
    assert (record["status"], record["isSuspended"], record["reason"]) == flags
    assert record["isActive"] is False
    listed = (await inflows.call("GET", "/profile/virtual-accounts")).json()["data"]
    assert listed["results"] == [record]


async def test_accounts_are_listed_newest_first_page_by_page(inflows: Inflows, new_shop: MakeShop) -> None:
    made = [(await inflows.account(currency)).id for currency in (Currency.EUR, Currency.USD, Currency.EUR)]
    pending = (await inflows.ask_for()).json()["data"]["_id"]
    newest_first = [pending, *reversed(made)]

    async def listed(**query: Any) -> tuple[list[str], int]:
        data = (await inflows.call("GET", "/profile/virtual-accounts", **query)).json()["data"]
        return [one["_id"] for one in data["results"]], data["total"]

    assert await listed() == (newest_first, 4)
    assert await listed(perPage=3) == (newest_first[:3], 4)
    assert await listed(perPage=3, page=2) == (newest_first[3:], 4)
    assert await listed(page=9) == ([], 4)
    assert await listed(currency="USD") == ([made[1]], 1)
    assert await listed(status="pending") == ([pending], 1)
    assert await listed(status="approved", currency="EUR") == ([made[2], made[0]], 2)
    other = await new_shop()
    path = "/profile/virtual-accounts"
    assert (await other.client.get(path, headers={"api-key": other.secret_key})).json()["data"]["total"] == 0


@pytest.mark.parametrize("query", ["page=0", "perPage=101", "currency=XTS", "status=open", "sort=x", "page=1&page=2"])
async def test_a_list_is_asked_for_in_known_words(inflows: Inflows, query: str) -> None:
    asking = inflows.call("GET", f"/profile/virtual-accounts?{query}")
    field = query.partition("=")[0]
    await assert_refused(inflows.admin, asking, 422, "VALIDATION_FAILED", field=field)


async def test_the_account_of_a_checkout_has_the_same_record(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    number = await checkout.account()
    account_id = await admin.fetchval("SELECT account_id FROM attempt WHERE account_number = $1", number)
    record = (await get(checkout.shop, account_id)).json()["data"]
    assert_whole(record)
    assert (record["isCheckoutVa"], record["isBankTransferVa"], record["isPermanent"]) == (True, True, False)
    assert (record["status"], record["isActive"], record["accountNumber"]) == ("approved", True, number)
    assert (record["currency"], record["merchantReference"]) == ("NGN", checkout.reference)
    assert record["expiresAt"] > record["createdAt"]
    listed = await checkout.shop.client.get("/profile/virtual-accounts", headers={"api-key": checkout.shop.secret_key})
    assert listed.json()["data"] == {"results": [], "total": 0}
    await checkout.let_pass("2d")
    late = (await get(checkout.shop, account_id)).json()["data"]
    assert late["isActive"] is False


async def test_json_that_no_library_writes_is_refused(inflows: Inflows) -> None:
    body = json.dumps(request())[:-1] + ', "currency": "USD"}'
    sending = inflows.shop.client.post(
        "/profile/virtual-accounts/requests",
        content=body,
        headers={"api-key": inflows.shop.secret_key, "content-type": "application/json"},
    )
    await assert_refused(inflows.admin, sending, 400, "MALFORMED_REQUEST")


async def test_requests_are_listed_with_what_became_of_them(inflows: Inflows) -> None:
    async def listed(**query: Any) -> tuple[list[str], int]:
        path, headers = "/profile/virtual-accounts/requests", {"api-key": inflows.shop.secret_key}
        answer = await inflows.shop.client.get(path, params=query, headers=headers)
        assert answer.status_code == 200, answer.text
        data = answer.json()["data"]
        for record in data["results"]:
            assert_whole(record)
        return [record["status"] for record in data["results"]], data["total"]

    approved, closed = await inflows.account(), await inflows.account(Currency.USD)
    declined = (await inflows.ask_for(request())).json()["data"]["_id"]
    await inflows.ask_for(request())
    now = inflows.runtime.clock.now()
    await commands.decline(inflows.runtime.db, declined, "no passport", by=OPERATOR, now=now)
    await commands.close(inflows.runtime.db, closed.id, "not used", by=OPERATOR, now=now)
    assert approved.id
    assert await listed() == (["pending", "declined", "approved"], 3)
    assert await listed(status="declined") == (["declined"], 1)
    assert await listed(perPage=1, page=2) == (["declined"], 3)
    assert await listed(currency="USD") == ([], 0)


@pytest.mark.parametrize(("name", "value"), [("status", "closed"), ("state", "pending"), ("page", "0")])
async def test_a_list_of_requests_ignores_no_filter(inflows: Inflows, name: str, value: str) -> None:
    path, headers = "/profile/virtual-accounts/requests", {"api-key": inflows.shop.secret_key}
    answer = await inflows.shop.client.get(path, params={name: value}, headers=headers)
    assert answer.status_code == 422, answer.text
    assert [problem["field"] for problem in answer.json()["errors"]] == [name]
