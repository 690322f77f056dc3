"""A merchant receives euros: sections 2.6 to 2.8 and 4.3 to 4.5 of the specification, from the request to the last
webhook, over HTTP and with a server of the merchant's own.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from standardwebhooks import Webhook

from inflow import CLOSE, DIFFERENT, HOLDER, Inflows
from receiver import Receiver, receiving

EVENTS = ["charge.successful", "collection.successful", "collection.returned", "virtualaccount.approved"]


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as made:
        yield made


class Merchant:
    def __init__(self, inflows: Inflows, receiver: Receiver) -> None:
        self.inflows, self.receiver = inflows, receiver
        self.secret = ""

    async def call(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        answer = await self.inflows.call(method, path, body, **query)
        assert answer.is_success, answer.text
        data = answer.json()
        assert data["success"] is True
        assert data["message"]
        return data["data"]

    async def listen(self) -> None:
        made = await self.call("POST", "/webhooks/endpoints", {"url": self.receiver.url(), "events": EVENTS})
        self.secret = made["secret"]

    async def hears(self) -> list[tuple[str, dict[str, Any]]]:
        """What was sent since the last time, each signed as it should be, checked with somebody else's library."""
        self.receiver.received.clear()
        await self.inflows.deliver()
        for got in self.receiver.received:
            Webhook(self.secret).verify(got.body, got.headers)
        payloads = [json.loads(got.body) for got in self.receiver.received]
        return [(payload["event"], payload["data"]) for payload in payloads]

    async def is_paid(self, number: str, amount: float, name: str, **fields: Any) -> dict[str, Any]:
        """Somebody's bank sends it; gives the newest inflow."""
        payer = {"name": "Bola Ade", "accountNumber": "GB29NWBK60161331926819", "bankName": "Sample Bank"}
        body = {"accountNumber": number, "amount": amount, "currency": "EUR", "payer": payer, "payee": {"name": name}}
        await self.call("POST", "/sandbox/transfers", {**body, **fields})
        await self.inflows.tick()
        newest: dict[str, Any] = (await self.inflows.page())["results"][0]
        return newest


async def test_a_merchant_receives_euros(inflows: Inflows, receiver: Receiver) -> None:
    merchant = Merchant(inflows, receiver)
    await merchant.listen()
    account_id, number = await opens_an_account(merchant)
    credited = await is_paid_with_the_right_name(merchant, account_id, number)
    returned = await is_paid_with_another_name(merchant, number)
    reviewed = await is_paid_with_a_name_that_is_close(merchant, number)
    await lists_them(merchant, account_id, [reviewed, returned, credited])
    # 1,250.50 and 80.00, and five euros of each are ours.
    assert await inflows.wallet("EUR") == 1_245_50 + 75_00


async def opens_an_account(merchant: Merchant) -> tuple[str, str]:
    request = {
        "currency": "EUR",
        "accountType": "individual",
        "KYCInformation": {"firstName": "Ada", "lastName": "Obi"},
        "documents": [{"name": "Passport", "url": "https://files.example.com/p.pdf", "type": "meansOfId"}],
        "merchantReference": "EUR-1",
    }
    asked = await merchant.call("POST", "/profile/virtual-accounts/requests", request)
    assert (asked["status"], asked["accountNumber"]) == ("pending", "")
    await merchant.call("POST", f"/sandbox/virtual-accounts/{asked['_id']}/approve")
    record = await merchant.call("GET", f"/profile/virtual-accounts/{asked['_id']}")
    assert (record["status"], record["isActive"]) == ("approved", True)
    assert record["accountInformation"]["accountName"] == HOLDER
    [(event, data)] = await merchant.hears()
    assert (event, data) == ("virtualaccount.approved", record)
    return record["_id"], record["accountInformation"]["otherInfo"]["iban"]


async def is_paid_with_the_right_name(merchant: Merchant, account_id: str, number: str) -> str:
    record = await merchant.is_paid(number, 1250.5, "OBI Ada", remittance="Invoice 7", reference="BANK-1")
    assert (record["status"], record["nameCheck"]["verdict"]) == ("successful", "exact")
    [(event, data)] = await merchant.hears()
    assert event == "collection.successful"
    expected = {
        "business": merchant.inflows.shop.business_id, "virtualAccount": account_id, "sourceCurrency": "EUR",
        "destinationCurrency": "EUR", "sourceAmount": 1250.5, "destinationAmount": 1250.5, "amountReceived": 1245.5,
        "fee": 5, "description": "Invoice 7", "customerName": "Bola Ade", "senderAddress": "GB29NWBK60161331926819",
        "settlementDestination": "wallet", "status": "successful", "reference": record["reference"],
        "paymentScheme": "sepa", "merchantReference": "EUR-1",
    }  # fmt: skip
    assert {name: data[name] for name in expected} == expected
    assert (data["createdAt"], data["initiatedAt"]) == (record["createdAt"], record["initiatedAt"])
    # The bank says it again: nothing more comes of it.
    await merchant.is_paid(number, 1250.5, "OBI Ada", remittance="Invoice 7", reference="BANK-1")
    assert await merchant.hears() == []
    return str(record["reference"])


async def is_paid_with_another_name(merchant: Merchant, number: str) -> str:
    record = await merchant.is_paid(number, 300, DIFFERENT)
    assert (record["status"], record["isReversed"]) == ("reversed", 1)
    assert record["refundInfo"]["reasonCode"] == "name_differs"
    assert await merchant.hears() == []
    await merchant.inflows.let_pass("1m")
    [(event, data)] = await merchant.hears()
    assert (event, data["reference"], data["status"]) == ("collection.returned", record["reference"], "reversed")
    assert data["returnReference"] == record["refundInfo"]["returnReference"]
    return str(record["reference"])


async def is_paid_with_a_name_that_is_close(merchant: Merchant, number: str) -> str:
    record = await merchant.is_paid(number, 80, CLOSE)
    assert (record["status"], record["nameCheck"]["verdict"]) == ("pending", "close")
    assert await merchant.hears() == []
    path = f"/sandbox/collections/{record['reference']}/credit"
    decided = await merchant.call("POST", path, {"note": "a slip of the pen"})
    assert decided["status"] == "successful"
    [(event, data)] = await merchant.hears()
    assert (event, data["reference"], data["amountReceived"]) == ("collection.successful", record["reference"], 75)
    return str(record["reference"])


async def lists_them(merchant: Merchant, account_id: str, newest_first: list[str]) -> None:
    business = merchant.inflows.shop.business_id
    for query in ({"virtualAccount": account_id}, {"destinationCurrency": "EUR"}):
        data = await merchant.call("GET", "/collections", business=business, **query)
        assert [one["reference"] for one in data["results"]] == newest_first
        assert data["total"] == 3
    dollars = await merchant.call("GET", "/collections", business=business, destinationCurrency="USD")
    assert dollars == {"results": [], "total": 0, "nextCursor": None}
    for one in data["results"]:
        assert await merchant.call("GET", f"/collections/reference/{one['reference']}") == one
