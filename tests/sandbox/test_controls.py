"""The sandbox's controls do what payers, banks and time do, for one's own business alone, and never in live mode."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from build import Checkout, Shop, make_shop
from checkout.paying import WANTS_PIN, card, phone
from conftest import LEDGER_TABLES, TABLES, MakeCheckout
from inflow import HOLDER
from inflow import request as account_request
from payment.refusal import assert_refused, assert_says_no, without_request_id
from serving import serving
from tidegate import app
from tidegate.core.ids import Mode
from tidegate.infra.db import Database
from tidegate.ledger.model import PLATFORM_BUSINESS_ID
from tidegate.sandbox import wire
from tidegate.settings import Settings

ON_THE_PHONE = {"type": "payAttitude", "bank": "058"}
# Method, path and a body that is accepted.
CONTROLS: list[tuple[str, str, Any]] = [
    ("POST", "/sandbox/transfers", {"accountNumber": "1", "amount": 1, "currency": "NGN", "payer": {"name": "Ada"}}),
    ("POST", "/sandbox/transfers/BANK-1/reverse", {"reason": "sent twice"}),
    ("POST", f"/sandbox/charges/tg_00000_{'0' * 22}/approve", None),
    ("POST", f"/sandbox/charges/tg_00000_{'0' * 22}/decline", {"reason": "not_approved"}),
    ("POST", f"/sandbox/charges/tg_00000_{'0' * 22}/expire", None),
    ("GET", "/sandbox/clock", None),
    ("POST", "/sandbox/clock", {"advance": "1s"}),
    ("POST", "/sandbox/reset", None),
    ("POST", f"/sandbox/virtual-accounts/{'0' * 24}/approve", None),
    ("POST", f"/sandbox/virtual-accounts/{'0' * 24}/decline", {"reason": "no passport"}),
    ("POST", f"/sandbox/virtual-accounts/{'0' * 24}/suspend", {"reason": "under review"}),
    ("POST", f"/sandbox/virtual-accounts/{'0' * 24}/reinstate", None),
    ("POST", f"/sandbox/virtual-accounts/{'0' * 24}/close", {"reason": "not needed"}),
    ("POST", "/sandbox/collections/col_1/credit", {"note": "a slip of the pen"}),
    ("POST", "/sandbox/collections/col_1/return", {"note": "somebody else"}),
    ("POST", "/sandbox/rates", {"base": "EUR", "quote": "USD", "rate": 1}),
]
each_control = pytest.mark.parametrize(("method", "path", "body"), CONTROLS)


# Who may.


@each_control
async def test_a_control_needs_the_secret_key(shop: Shop, admin: Any, method: str, path: str, body: Any) -> None:
    requests = [
        shop.client.build_request(method, path, json=body, headers={"api-key": key})
        for key in ("", "sk_test_wrong", shop.public_key, shop.secret_key[:-1] + "!")
    ]
    requests += [
        shop.client.build_request(method, path, json=body),
        shop.client.build_request(method, path, json={**(body or {}), "api-key": shop.secret_key}),
        shop.client.build_request(method, f"{path}?api-key={shop.secret_key}", json=body),
    ]
    for request in requests:
        await assert_refused(admin, shop.client.send(request), 401, "UNAUTHENTICATED")
    assert await admin.fetchval("SELECT count(*) FROM business_clock") == 0


@each_control
async def test_a_control_does_not_exist_in_live_mode(method: str, path: str, body: Any) -> None:
    live = app.build(Settings(mode=Mode.LIVE, base_url="https://api.example.com"))
    transport = httpx.ASGITransport(app=live)
    async with httpx.AsyncClient(transport=transport, base_url="https://api.example.com") as client:
        answer = await client.request(method, path, json=body)
        nowhere = await client.request(method, "/nowhere", json=body)
    assert_says_no(answer, 404, "RESOURCE_NOT_FOUND")
    assert without_request_id(answer) == without_request_id(nowhere)


# On the phone.


@pytest.mark.parametrize("act", ["approve", "decline"])
async def test_a_payment_of_another_business_is_as_unknown_as_none(
    new_checkout: MakeCheckout, shop: Shop, admin: Any, act: str
) -> None:
    checkout = await new_checkout()
    await checkout.charge(ON_THE_PHONE)
    headers = {"api-key": shop.secret_key}
    codes = (checkout.pay_code, "tg_00000_" + "0" * 22, "x", "a" * 5_000, checkout.pay_code + "%0A")
    answers = [
        await assert_refused(
            admin, shop.client.post(f"/sandbox/charges/{code}/{act}", headers=headers), 404, "RESOURCE_NOT_FOUND"
        )
        for code in codes
    ]
    assert len({without_request_id(answer) for answer in answers}) == 1
    await checkout.tick()
    assert (await checkout.view())["status"] == "pending"


@pytest.mark.parametrize("act", ["approve", "decline"])
@pytest.mark.parametrize("body", [None, card(WANTS_PIN), card(), {"type": "bank_transfer"}])
async def test_only_what_waits_for_a_phone_is_approved_or_declined(
    new_checkout: MakeCheckout, admin: Any, act: str, body: dict[str, Any] | None
) -> None:
    checkout = await new_checkout()
    if body:
        assert (await checkout.charge(body)).status_code == 200
    await assert_refused(admin, checkout.sandbox(f"charges/{checkout.pay_code}/{act}"), 409, "CONFLICT")


@pytest.mark.parametrize("act", ["approve", "decline"])
async def test_a_phone_answers_once(new_checkout: MakeCheckout, admin: Any, act: str) -> None:
    checkout = await new_checkout(currency="KES")
    await checkout.charge(phone("0712345678"))
    assert (await checkout.sandbox(f"charges/{checkout.pay_code}/approve")).status_code == 200
    await assert_refused(admin, checkout.sandbox(f"charges/{checkout.pay_code}/{act}"), 409, "CONFLICT")
    await checkout.tick()
    assert (await checkout.record())["status"] == "success"


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        (None, "not_approved"),
        ({}, "not_approved"),
        ({"reason": None}, "not_approved"),
        ({"reason": "insufficient_funds"}, "insufficient_funds"),
        ({"reason": "no money, sorry"}, "not_approved"),
    ],
)
async def test_a_refusal_on_the_phone_may_say_why(new_checkout: MakeCheckout, body: Any, failure: str) -> None:
    checkout = await new_checkout()
    await checkout.charge(ON_THE_PHONE)
    assert (await checkout.sandbox(f"charges/{checkout.pay_code}/decline", body)).status_code == 200
    await checkout.tick()
    assert (await checkout.view())["attempt"]["failure"] == failure


# Transfers.


async def test_a_transfer_to_an_unknown_account_is_taken_by_the_bank_and_ends_in_suspense(
    new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    sent = await checkout.transfer("0000000000", "12.5")
    row = await admin.fetchrow("SELECT business_id, transaction_id, outcome, amount_minor FROM receipt")
    assert tuple(row) == (PLATFORM_BUSINESS_ID, sent.json()["data"]["transactionId"], "suspense", 1_250)


async def test_the_same_reference_twice_is_the_same_transfer(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    account = await checkout.account()
    for _ in range(2):
        sent = await checkout.transfer(account, "40", reference="BANK-1")
        assert sent.json()["data"]["transactionId"] == "BANK-1"
    assert (await checkout.view())["amountReceived"] == 40
    assert await admin.fetchval("SELECT count(*) FROM receipt") == 1


async def test_two_businesses_may_use_the_same_reference(new_checkout: MakeCheckout) -> None:
    for checkout in (await new_checkout(), await new_checkout()):
        await checkout.transfer(await checkout.account(), "100", reference="BANK-1")
        assert (await checkout.record())["status"] == "success"


@pytest.mark.parametrize(
    ("currency", "amount", "minor"), [("NGN", "0.01", 1), ("UGX", "1.0", 1), ("NGN", "1e3", 100_000)]
)
async def test_an_amount_may_be_written_in_any_way_that_is_exact(
    new_checkout: MakeCheckout, admin: Any, currency: str, amount: str, minor: int
) -> None:
    await (await new_checkout()).transfer("0000000000", amount, currency=currency)
    assert await admin.fetchval("SELECT amount_minor FROM receipt") == minor


# Emptying.


async def rows_of(admin: Any, business_id: str) -> dict[str, int]:
    counts = {}
    for table in (*TABLES, *LEDGER_TABLES):
        has_owner = await admin.fetchval(
            "SELECT count(*) FROM information_schema.columns WHERE table_name = $1 AND column_name = 'business_id'",
            table,
        )
        if has_owner:
            counts[table] = await admin.fetchval(f"SELECT count(*) FROM {table} WHERE business_id = $1", business_id)
    return counts


async def busy(new_checkout: MakeCheckout) -> Checkout:
    """A business with something in every table: paid, returned, waiting."""
    checkout = await new_checkout(settings={"variance_policy": "return"})
    account = await checkout.account()
    await checkout.transfer(account, "40")
    await checkout.transfer(account, "130")
    await new_checkout(checkout.shop)
    headers = {**checkout.shop.create_headers, "idempotency-key": "once"}
    assert (await checkout.shop.create(headers=headers)).status_code == 201
    own = {"api-key": checkout.shop.secret_key}
    endpoint = await checkout.post("/webhooks/endpoints", {"url": "http://localhost:3000/"}, **own)
    sent = await checkout.post(f"/webhooks/endpoints/{endpoint.json()['data']['id']}/test", **own)
    assert sent.status_code == 200, sent.text
    await receive_euros(checkout)
    assert (await checkout.sandbox("rates", {"base": "EUR", "quote": "USD", "rate": 1})).status_code == 201
    # What goes back has left by then.
    await checkout.let_pass("1m")
    return checkout


async def receive_euros(checkout: Checkout) -> None:
    own = {"api-key": checkout.shop.secret_key}
    asked = await checkout.post("/profile/virtual-accounts/requests", account_request(), **own)
    approved = await checkout.sandbox(f"virtual-accounts/{asked.json()['data']['_id']}/approve")
    number = approved.json()["data"]["accountNumber"]
    await checkout.transfer(number, "250", currency="EUR", payee={"name": HOLDER})


async def test_emptying_one_business_leaves_the_others_and_the_keys(new_checkout: MakeCheckout, admin: Any) -> None:
    mine, other = await busy(new_checkout), await busy(new_checkout)
    before, full = await rows_of(admin, other.shop.business_id), await rows_of(admin, mine.shop.business_id)
    not_needed = {"fee_rule", "business_logo", "journal_to_link", "webhook_attempt", "leased_work"}
    # Nothing was refunded.
    not_needed |= {"refund", "refund_leg"}
    # Nothing failed, and nothing is in work.
    not_needed |= {"leased_work"}
    # No card holder disputes a payment in a sandbox, and no other rail is asked.
    not_needed |= {"dispute", "paystack_attempt", "paystack_payout", "pawapay_deposit", "pawapay_payout"}
    not_needed |= {"bank_attempt", "bank_number", "bank_payout", "payment_link", "request_log"}
    # Nobody uses the dashboard, and its figures are rolled up later.
    not_needed |= {"mail", "mail_attachment", "receipt_mail", "approval", "refund_limit", "invitation", "membership"}
    not_needed |= {"takings", "takings_watermark", "saved_view", "case_link", "sandbox_trade", "suspense_decision"}
    # The worker links audit rows later, and books are proven as a whole.
    not_needed |= {"audit_to_link", "audit_link", "proof"}
    # Nothing is wrong, and the sandbox asks for no documents.
    not_needed |= {
        "alarm",
        "card_pause",
        "rail_pause",
        "break_note",
        "comparison",
        "account_document",
        "account_question",
    }
    # No worker runs.
    not_needed |= {"job_round"}
    assert {table for table, count in full.items() if count == 0} <= not_needed
    answer = await mine.sandbox("reset")
    assert answer.json()["data"] == {"business": mine.shop.business_id}
    left = await rows_of(admin, mine.shop.business_id)
    settings = {"credential": 2, "webhook_endpoint": 1, "webhook_secret": 1, "endpoint_state": 1}
    # Accounts are settings too.
    settings |= {"virtual_account": 1, "account_number": 1, "sandbox_account": 1}
    # Rates are as well, and time does not go back.
    settings |= {"exchange_rate": 1, "business_clock": 1}
    # The trail stays, and its chain is as long as the worker has come.
    trail = {table: left.pop(table) for table in ("audit", "audit_link", "audit_to_link")}
    assert trail["audit"] == trail["audit_link"] + trail["audit_to_link"] == 6
    assert {table: count for table, count in left.items() if count} == settings
    assert await rows_of(admin, other.shop.business_id) == before
    assert (await mine.shop.verify(mine.reference)).status_code == 404
    assert (await other.record())["status"] == "success"


async def test_an_emptied_business_begins_anew(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await busy(new_checkout)
    for _ in range(2):
        assert (await checkout.sandbox("reset")).status_code == 200
    again = await new_checkout(checkout.shop, reference=checkout.reference)
    await again.transfer(await again.account(), "100")
    assert (await again.record())["status"] == "success"
    wallet = await admin.fetchval("SELECT balance_minor FROM wallet WHERE business_id = $1", again.shop.business_id)
    assert wallet == 9_849


async def test_the_old_pay_codes_and_accounts_of_an_emptied_business_are_unknown(
    new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await checkout.sandbox("reset")
    assert (await checkout.charge(ON_THE_PHONE)).status_code == 404
    assert (await checkout.sandbox(f"charges/{checkout.pay_code}/approve")).status_code == 404
    await checkout.transfer(account, "100")
    assert await admin.fetchval("SELECT outcome FROM receipt") == "suspense"


# Time. In a database of its own: the clock is one for all, and never goes back.


@pytest.fixture(scope="module")
async def own_sandbox(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Shop]:
    url = await make_database("tidegate_test_clock")
    database = Database(url)
    await database.open()
    async with (
        serving(Settings(database_url=url)) as (_, service),
        httpx.AsyncClient(transport=httpx.ASGITransport(app=service), base_url="http://localhost") as client,
    ):
        yield await make_shop(database, client, rate_per_second=100_000, rate_burst=100_000)
    await database.close()


async def clock_of(shop: Shop, body: Any = None) -> httpx.Response:
    return await shop.client.request(
        "POST" if body else "GET", "/sandbox/clock", json=body, headers={"api-key": shop.secret_key}
    )


def time_in(answer: httpx.Response) -> datetime:
    return datetime.fromisoformat(answer.json()["data"]["now"])


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [("0s", 0), ("1s", 1), ("90m", 5_400), ("2h", 7_200), ("3d", 259_200), ("400d", 34_560_000)],
)
async def test_the_clock_moves_by_what_is_asked(own_sandbox: Shop, duration: str, seconds: int) -> None:
    before = await clock_of(own_sandbox)
    after = await clock_of(own_sandbox, {"advance": duration})
    assert after.status_code == 200
    ahead = after.json()["data"]["aheadSeconds"] - before.json()["data"]["aheadSeconds"]
    assert ahead == seconds
    moved = time_in(after) - time_in(before) - timedelta(seconds=seconds)
    assert timedelta(0) <= moved < timedelta(seconds=5)
    assert (await clock_of(own_sandbox)).json()["data"]["aheadSeconds"] == after.json()["data"]["aheadSeconds"]


async def test_the_clock_stops_before_dates_end(own_sandbox: Shop) -> None:
    while (answer := await clock_of(own_sandbox, {"advance": "400d"})).status_code == 200:
        assert answer.json()["data"]["aheadSeconds"] <= wire.AHEAD_MAX.total_seconds()
    assert_says_no(answer, 422, "VALIDATION_FAILED", field="advance")
    assert (await clock_of(own_sandbox)).status_code == 200
    assert (await own_sandbox.create()).status_code == 201, "all else goes on"


async def test_a_reference_of_the_bank_is_free_again_after_a_reset(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    await checkout.transfer(await checkout.account(), "100", reference="SAME")
    assert (await checkout.record())["status"] == "success"
    assert (await checkout.sandbox("reset")).status_code == 200
    again = await new_checkout(checkout.shop)
    await again.transfer(await again.account(), "100", reference="SAME")
    assert (await again.record())["status"] == "success"


async def test_a_transfer_under_an_idempotency_key_is_sent_once(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    body = {"accountNumber": await checkout.account(), "amount": 40, "currency": "NGN", "payer": {"name": "Ada"}}
    headers = {"api-key": checkout.shop.secret_key, "Idempotency-Key": "t-1"}
    first, second = [await checkout.post("/sandbox/transfers", body, **headers) for _ in range(2)]
    assert first.content == second.content
    await checkout.tick()
    assert await admin.fetchval("SELECT count(*) FROM receipt") == 1
