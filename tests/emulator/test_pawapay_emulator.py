"""The emulated pawaPay, held by what pawaPay documents."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from receiver import answer, receiving
from tidegate.cli.emulate import emulate
from tidegate.core.clock import SystemClock
from tidegate.emulator.pawapay import server
from tidegate.emulator.pawapay.model import EmulatedPawapayAccount
from tidegate.emulator.pawapay.server import RunningPawapay
from tidegate.infra import message_signature
from tidegate.infra.message_signature import HttpMessage

TOKEN = "a-token-of-the-tests"


@pytest.fixture
async def emulated() -> AsyncIterator[RunningPawapay]:
    async with server.running(EmulatedPawapayAccount(TOKEN)) as running:
        yield running


@pytest.fixture
async def http(emulated: RunningPawapay) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(verify=False, base_url=emulated.api_url, headers=headers) as client:
        yield client


def payer(number: str, provider: str = "MTN_MOMO_ZMB") -> dict[str, Any]:
    return {"type": "MMO", "accountDetails": {"phoneNumber": number, "provider": provider}}


def a_deposit(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "depositId": str(uuid.uuid4()),
        "payer": payer("260763456789"),
        "amount": "15",
        "currency": "ZMW",
        "clientReferenceId": "INV-123456",
        "customerMessage": "Note of 4 to 22 chars",
        "metadata": [{"orderId": "ORD-123456789"}, {"customerId": "customer@email.com", "isPII": True}],
    }
    return {name: value for name, value in {**fields, **changes}.items() if value is not ...}


async def control(emulated: RunningPawapay, path: str, **body: Any) -> Any:
    async with httpx.AsyncClient(verify=False) as client:
        done = await client.post(f"{emulated.control_url}/{path}", json=body)
    assert done.status_code == 200, done.text
    return done.json()


async def test_a_deposit_is_accepted_found_and_ends(http: httpx.AsyncClient, emulated: RunningPawapay) -> None:
    asked = a_deposit()
    accepted = (await http.post("/v2/deposits", json=asked)).json()
    assert (accepted["status"], accepted["nextStep"]) == ("ACCEPTED", "FINAL_STATUS")
    await control(emulated, "advance", seconds=2)
    found = (await http.get(f"/v2/deposits/{asked['depositId']}")).json()
    assert found["status"] == "FOUND"
    assert (found["data"]["status"], found["data"]["amount"]) == ("COMPLETED", "15.00")
    assert found["data"]["metadata"] == {"orderId": "ORD-123456789", "customerId": "customer@email.com"}
    assert found["data"]["clientReferenceId"] == "INV-123456"
    missing = (await http.get(f"/v2/deposits/{uuid.uuid4()}")).json()
    assert missing == {"status": "NOT_FOUND"}


async def test_a_known_id_is_ignored_whatever_else_is_said(http: httpx.AsyncClient) -> None:
    asked = a_deposit()
    await http.post("/v2/deposits", json=asked)
    again = (await http.post("/v2/deposits", json={**asked, "amount": "99"})).json()
    assert again["status"] == "DUPLICATE_IGNORED"
    assert (await http.get(f"/v2/deposits/{asked['depositId']}")).json()["data"]["amount"] == "15.00"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"depositId": "f4401bd2-1568-1140-bf2d-eb77d2b2b639"}, "INVALID_PARAMETER"),
        ({"depositId": ...}, "MISSING_PARAMETER"),
        ({"payer": ...}, "MISSING_PARAMETER"),
        ({"correspondent": "X"}, "UNSUPPORTED_PARAMETER"),
        ({"amount": 15}, "INVALID_PARAMETER"),
        ({"amount": "015"}, "INVALID_PARAMETER"),
        ({"amount": "1" * 24}, "INVALID_PARAMETER"),
        ({"customerMessage": "abc"}, "INVALID_PARAMETER"),
        ({"customerMessage": "not-alphanumeric"}, "INVALID_PARAMETER"),
        ({"metadata": [{"key": "a"}, {"key": "b"}]}, "DUPLICATE_METADATA_FIELD"),
        ({"metadata": {"a": "b"}}, "INVALID_PARAMETER"),
        ({"payer": payer("+260763456789", "X")}, "INVALID_PARAMETER"),
    ],
)
async def test_a_wrong_request_is_400(http: httpx.AsyncClient, changes: dict[str, Any], code: str) -> None:
    refused = await http.post("/v2/deposits", json=a_deposit(**changes))
    assert (refused.status_code, refused.json()["failureReason"]["failureCode"]) == (400, code)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"amount": "0.5"}, "AMOUNT_OUT_OF_BOUNDS"),
        ({"currency": "KES"}, "INVALID_CURRENCY"),
        ({"payer": payer("260763456789", "X")}, "INVALID_PROVIDER"),
        (
            {
                "payer": payer("254703456789", "MPESA_KEN"),
                "currency": "KES",
                "amount": "15.50",
            },
            "INVALID_AMOUNT",
        ),
    ],
)
async def test_a_rejected_deposit_is_200(http: httpx.AsyncClient, changes: dict[str, Any], code: str) -> None:
    refused = await http.post("/v2/deposits", json=a_deposit(**changes))
    assert refused.status_code == 200
    assert (refused.json()["status"], refused.json()["failureReason"]["failureCode"]) == ("REJECTED", code)


async def test_tokens_are_looked_at(emulated: RunningPawapay) -> None:
    async with httpx.AsyncClient(verify=False, base_url=emulated.api_url) as client:
        assert (await client.get("/v2/active-conf")).status_code == 401
        wrong = await client.get("/v2/active-conf", headers={"authorization": "Bearer x"})
        assert (wrong.status_code, wrong.json()["failureReason"]["failureCode"]) == (403, "AUTHENTICATION_ERROR")


async def test_callbacks_are_signed_and_repeated_until_200(http: httpx.AsyncClient, emulated: RunningPawapay) -> None:
    asked = a_deposit()
    async with receiving() as receiver:
        receiver.script = [answer(500), answer(204), answer(200)]
        await control(emulated, "account", callback_url=receiver.url())
        await http.post("/v2/deposits", json=asked)
        await control(emulated, "advance", seconds=2)
        await receiver.got(1)
        for count in (2, 3):
            await control(emulated, "advance", seconds=60)
            await receiver.got(count)
        await control(emulated, "advance", seconds=3600)
        resent = await http.post(f"/v2/deposits/resend-callback/{asked['depositId']}")
        assert resent.json()["status"] == "ACCEPTED"
        await receiver.got(4)
        await asyncio.sleep(0.3)
        assert len(receiver.received) == 4
    request = receiver.received[0]
    told = json.loads(request.body)
    assert (told["status"], "clientReferenceId" in told) == ("COMPLETED", False)
    [listed] = (await http.get("/v2/public-key/http")).json()
    key = message_signature.public_key(listed["key"])
    assert key is not None
    headers = {name.lower(): text for name, text in request.headers.items()}
    url = httpx.URL(receiver.url())
    message = HttpMessage("POST", url.netloc.decode(), url.path, headers, request.body)
    message_signature.verify(message, {listed["id"]: key}, now=SystemClock().now())


async def test_a_callback_may_come_twice_and_before_the_answer(
    http: httpx.AsyncClient, emulated: RunningPawapay
) -> None:
    async with receiving() as receiver:
        await control(emulated, "account", callback_url=receiver.url(), callbacks_early=True, callbacks_twice=True)
        await http.post("/v2/deposits", json=a_deposit())
        assert [json.loads(one.body)["status"] for one in receiver.received] == ["COMPLETED", "COMPLETED"]


async def test_a_callback_of_nothing_is_not_sent_again(http: httpx.AsyncClient) -> None:
    asked = a_deposit(payer=payer("260763456129"))
    await http.post("/v2/deposits", json=asked)
    stuck = (await http.post(f"/v2/deposits/resend-callback/{asked['depositId']}")).json()
    assert stuck["failureReason"]["failureCode"] == "INVALID_STATE"
    missing = (await http.post(f"/v2/refunds/resend-callback/{uuid.uuid4()}")).json()
    assert missing["failureReason"]["failureCode"] == "NOT_FOUND"


async def test_refunds_are_one_at_a_time_and_up_to_the_deposit(
    http: httpx.AsyncClient, emulated: RunningPawapay
) -> None:
    asked = a_deposit()
    await http.post("/v2/deposits", json=asked)

    async def refund(**changes: Any) -> dict[str, Any]:
        body = {"refundId": str(uuid.uuid4()), "depositId": asked["depositId"], **changes}
        done: dict[str, Any] = (await http.post("/v2/refunds", json=body)).json()
        return done

    assert (await refund())["failureReason"]["failureCode"] == "INVALID_STATE"
    await control(emulated, "advance", seconds=2)
    assert (await refund(amount="16"))["failureReason"]["failureCode"] == "AMOUNT_TOO_LARGE"
    assert (await refund(amount="5", currency="ZMW"))["status"] == "ACCEPTED"
    assert (await refund())["failureReason"]["failureCode"] == "REFUND_IN_PROGRESS"
    await control(emulated, "advance", seconds=2)
    assert (await refund())["status"] == "ACCEPTED"
    await control(emulated, "advance", seconds=2)
    assert (await refund())["failureReason"]["failureCode"] == "DEPOSIT_ALREADY_REFUNDED"
    await control(emulated, "account", rejects_by_rejection_reason=True)
    assert (await refund())["rejectionReason"]["rejectionCode"] == "DEPOSIT_ALREADY_REFUNDED"


async def test_the_toolkit_answers(http: httpx.AsyncClient) -> None:
    found = (await http.get("/v2/active-conf", params={"country": "KEN"})).json()
    [country] = found["countries"]
    [provider] = country["providers"]
    terms = provider["currencies"][0]["operationTypes"]["DEPOSIT"]
    assert (provider["provider"], terms["decimalsInAmount"], terms["status"]) == ("MPESA_KEN", "NONE", "OPERATIONAL")
    guess = (await http.post("/v2/predict-provider", json={"phoneNumber": "+260 763-456789a"})).json()
    assert guess == {"country": "ZMB", "provider": "MTN_MOMO_ZMB", "phoneNumber": "260763456789"}
    nobody = (await http.post("/v2/predict-provider", json={"phoneNumber": "1"})).json()
    assert "failureReason" in nobody
    available = (await http.get("/v2/availability")).json()
    assert {one["country"] for one in available} == {"KEN", "UGA", "GHA", "ZMB", "TZA"}
    assert len((await http.get("/v2/wallet-balances")).json()["balances"]) == 5


@pytest.mark.parametrize(("method", "path"), [("GET", "/nothing"), ("DELETE", "/v2/deposits")])
async def test_unknown_paths_and_methods_are_answered_in_its_own_form(
    http: httpx.AsyncClient, method: str, path: str
) -> None:
    refused = await http.request(method, path)
    assert refused.status_code in (404, 405)
    assert "failureReason" in refused.json()


async def test_the_phones_approve_and_decline(http: httpx.AsyncClient, emulated: RunningPawapay) -> None:
    by_hand = payer("260763000001")
    first, second = a_deposit(payer=by_hand), a_deposit(payer=by_hand)
    for asked in (first, second):
        await http.post("/v2/deposits", json=asked)
    async with httpx.AsyncClient(verify=False, base_url=emulated.page_url, follow_redirects=True) as browser:
        assert "Approve with PIN" in (await browser.get("/")).text
        await browser.post("/act", data={"id": first["depositId"], "do": "approve"})
        shown = await browser.post("/act", data={"id": second["depositId"], "do": "fail"})
        assert shown.text.count("ZMW 15.00") == 2
        assert "Approve with PIN" not in shown.text
        assert (await browser.post("/act", data={"id": "x"})).status_code == 404
    states = [(await http.get(f"/v2/deposits/{one['depositId']}")).json()["data"]["status"] for one in (first, second)]
    assert states == ["COMPLETED", "FAILED"]


def test_it_is_a_command() -> None:
    assert "pawapay" in emulate.commands
