"""`tidegate erase`: nothing of the payer is left anywhere, the books are whole, and nobody else is touched."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from build import Checkout, order
from checkout.paying import card
from cli.operating import Operator
from conftest import MakeCheckout, MakeShop, check_books
from inflow import Inflows, credit, request
from receiver import Exchange, answer, receiving
from tidegate.core.clock import SystemClock
from tidegate.infra.db import Database
from tidegate.mail import store as mail_store
from tidegate.mail.model import Mail, MailAttachment
from tidegate.retention import erase
from tidegate.retention.erase import PayerIdentity
from tidegate.runtime import Runtime
from tidegate.webhook.model import EVENTS

NAME, EMAIL, PHONE = "Zebedee Quuxwald", "Zebedee@Quuxwald.example", "+2348055512345"
BANK_ACCOUNT = "0987654321"
PAYER = {"name": NAME, "accountNumber": BANK_ACCOUNT, "bankName": "Quuxwald Bank", "bankCode": None}
# Whatever of the payer a row could hold. Each is too long to come up in a random identifier.
TRACES = ("Zebedee", "Quuxwald", "quuxwald.example", "8055512345", BANK_ACCOUNT)

NOTHING_LEFT = {"open": 0, "undelivered": 0, "disputed": 0}

_COLUMNS = """
    SELECT table_name, column_name, data_type FROM information_schema.columns
     WHERE table_schema = 'public' AND data_type IN ('text', 'json', 'jsonb', 'bytea', 'ARRAY')
"""


UNDELIVERED = "SELECT count(*) FROM webhook_delivery WHERE status = 'pending'"


async def traces(admin: Any, words: tuple[str, ...] = TRACES) -> dict[str, str]:
    """Every column of every table that holds one of the words."""
    found = {}
    for row in await admin.fetch(_COLUMNS):
        table, column = row["table_name"], row["column_name"]
        text = f"encode({column}, 'escape')" if row["data_type"] == "bytea" else f"{column}::text"
        for word in words:
            question = f"SELECT count(*) FROM {table} WHERE position(lower($1) IN lower({text})) > 0"
            if await admin.fetchval(question, word):
                found[f"{table}.{column}"] = word
    return found


async def echo(exchange: Exchange) -> None:
    """A receiver that says the payload back."""
    await answer(200, exchange.received.body)(exchange)


@dataclass(frozen=True)
class Story:
    """A payer who has paid in many ways, and what is asked about it afterwards."""

    inflows: Inflows
    admin: Any
    operator: Operator
    checkouts: list[Checkout]
    account_id: str

    async def sums(self) -> list[Any]:
        """Every number of the books, and the chain."""
        return [
            await self.admin.fetch("SELECT * FROM entry ORDER BY business_id, journal_id, line"),
            await self.admin.fetch("SELECT * FROM journal ORDER BY business_id, id"),
            await self.admin.fetch(
                "SELECT business_id, currency, balance_minor, locked_minor FROM wallet ORDER BY 1, 2"
            ),
            await self.admin.fetch("SELECT * FROM journal_link ORDER BY business_id, position"),
        ]

    async def statement(self) -> list[dict[str, Any]]:
        lines = (await self.inflows.call("GET", "/wallets/NGN/statement")).json()["data"]["results"]
        # Only the payer's name is in the description.
        return [{name: value for name, value in one.items() if name != "description"} for one in lines]

    async def erase(self, *options: str) -> Any:
        return await self.operator.json("erase", *options)


@pytest.fixture
def operator(database_url: str, tmp_path: Path) -> Operator:
    return Operator(database_url, tmp_path)


@pytest.fixture
async def story(
    inflows: Inflows, new_checkout: MakeCheckout, admin: Any, operator: Operator
) -> AsyncIterator[Story]:  # fmt: skip
    async with receiving(echo) as receiver:
        events = ["charge.reversed", "collection.returned", "refund.successful", "virtualaccount.approved",
                  "virtualaccount.closed"]  # fmt: skip
        made = await inflows.call("POST", "/webhooks/endpoints", {"url": receiver.url(), "events": events})
        assert made.status_code == 201, made.text
        checkouts = [
            await _paid_by_card(inflows, new_checkout),
            await _paid_by_transfer(inflows, new_checkout),
            await _paid_by_phone(inflows, new_checkout),
        ]
        account_id = await _received_on_an_account(inflows)
        await _mailed(inflows)
        await inflows.let_pass("10s")
        while await inflows.deliver() or await admin.fetchval(UNDELIVERED):
            # A busy machine may answer a webhook too late: then it is sent again.
            if await admin.fetchval(UNDELIVERED):
                await inflows.let_pass("1h")
        await inflows.tick()
        yield Story(inflows, admin, operator, checkouts, account_id)


CUSTOMER = {"name": NAME, "email": EMAIL, "phoneNumber": PHONE}
OF_THE_PAYER = {
    "customer": CUSTOMER,
    "metadata": {"deliverTo": f"{NAME}, 1 Quuxwald Street", "note": "a gift"},
    "successMessage": f"Thank you, {NAME}",
    "redirectUrl": "http://localhost/?email=zebedee@quuxwald.example",
}


async def _mailed(inflows: Inflows) -> None:
    receipt = MailAttachment(name="receipt.txt", media_type="text/plain", body=NAME.encode())
    letter = Mail(recipient=EMAIL, subject=f"Receipt for {NAME}", paragraphs=(f"Dear {NAME}",), attachments=(receipt,))
    async with inflows.runtime.db.transaction() as tx:
        await mail_store.insert(tx, inflows.shop.business_id, letter, now=inflows.now)


async def _paid_by_card(inflows: Inflows, new_checkout: MakeCheckout) -> Checkout:
    checkout = await new_checkout(inflows.shop, **OF_THE_PAYER)
    assert (await checkout.charge(card())).status_code == 200
    refund = {"transReference": checkout.reference, "amount": 10, "reason": f"for {NAME}", "note": PHONE}
    answered = await inflows.call("POST", "/collections/refund", refund)
    assert answered.status_code == 200, answered.text
    return checkout


async def _paid_by_transfer(inflows: Inflows, new_checkout: MakeCheckout) -> Checkout:
    body = order(**OF_THE_PAYER)
    answered = await inflows.shop.create(body, headers={"Idempotency-Key": "create-1"})
    assert answered.status_code == 201, answered.text
    data = answered.json()["data"]
    other = await new_checkout(inflows.shop)
    checkout = Checkout(other.shop, data["payCode"], data["reference"], inflows.tick)
    await checkout.transfer(await checkout.account(), "100", payer=PAYER, reference="trf-1")
    return checkout


async def _paid_by_phone(inflows: Inflows, new_checkout: MakeCheckout) -> Checkout:
    fields = {**OF_THE_PAYER, "currency": "KES", "customer": {**CUSTOMER, "phoneNumber": "+234 805 551 2345"}}
    checkout = await new_checkout(inflows.shop, **fields)
    charged = await checkout.charge({"type": "mobile_money", "phone": "+254712340000"})
    assert charged.status_code == 200, charged.text
    return checkout


async def _received_on_an_account(inflows: Inflows) -> str:
    kyc = {"firstName": "Zebedee", "lastName": "Quuxwald", "email": EMAIL, "address": {"street": "1 Quuxwald Street"}}
    asked = await inflows.ask_for(
        request(KYCInformation=kyc, metadata={"of": NAME}), **{"Idempotency-Key": "account-1"}
    )
    assert asked.status_code == 201, asked.text
    account_id: str = asked.json()["data"]["_id"]
    for step in ("approve", "close"):
        if step == "close":
            number = await inflows.admin.fetchval("SELECT account_number FROM virtual_account")
            body = credit(number, payer=PAYER, payeeName=NAME, remittance=f"from {NAME}")
            assert (await inflows.notified(body))["status"] == "successful"
        reason = {"reason": f"{NAME} asked for it"} if step == "close" else None
        done = await inflows.call("POST", f"/sandbox/virtual-accounts/{account_id}/{step}", reason)
        assert done.status_code == 200, done.text
    return account_id


async def test_nothing_of_the_payer_is_left_and_the_books_are_the_same(story: Story, runtime: Runtime) -> None:
    before = await traces(story.admin)
    # So that the question below is a hard one.
    assert {
        "payment.customer_name", "payment.metadata", "receipt.payer", "event.payload", "webhook_attempt.body",
        "notification.body", "idempotency_key.body", "refund.reason", "virtual_account.kyc", "collection.payer",
        "collection.name_check", "sandbox_notification.body", "audit.details",
    } <= set(before)  # fmt: skip
    await check_books(runtime)
    sums, statement = await story.sums(), await story.statement()

    counts = await story.erase("--email", EMAIL, "--yes")
    assert counts["left"] == NOTHING_LEFT
    assert (counts["payments"], counts["inflows"], counts["accounts"]) == (3, 1, 1)
    assert await traces(story.admin) == {}
    await check_books(runtime)
    assert await story.sums() == sums
    assert await story.statement() == statement


async def test_without_yes_it_only_shows(story: Story) -> None:
    before = await traces(story.admin)
    shown = await story.erase("--email", EMAIL)
    assert (shown["erased"], shown["payments"], shown["accounts"]) == (False, 3, 1)
    said = await story.operator.said("erase", "--email", EMAIL)
    assert "Nothing has been erased" in said
    assert await traces(story.admin) == before
    done = await story.erase("--email", EMAIL, "--yes")
    assert {**done, "erased": False} == shown


async def test_it_is_found_by_phone_in_any_spelling_and_again_finds_nothing(story: Story) -> None:
    first = await story.erase("--phone", "+234 (805) 551-2345", "--yes")
    assert first["payments"] == 3
    again = await story.erase("--phone", PHONE, "--yes")
    assert {name: again[name] for name in ("payments", "inflows", "notifications", "answers")} == {
        "payments": 0, "inflows": 0, "notifications": 0, "answers": 0,
    }  # fmt: skip


async def test_the_audit_trail_says_how_many_and_not_who(story: Story) -> None:
    await story.erase("--email", EMAIL, "--yes")
    rows = await story.admin.fetch("SELECT actor, subject, details FROM audit WHERE action = 'payer.erased'")
    assert {row["actor"] for row in rows} == {"operator"}
    assert len({row["subject"] for row in rows}) == 1
    details = [json.loads(row["details"]) for row in rows]
    assert all(one.pop("by") == ["email"] for one in details)
    counts = {name: count for one in details for name, count in one.items()}
    assert counts["payments"] == 3
    assert set(counts) == {"payments", "inflows", "accounts", "payees", "notifications", "answers"}


async def test_an_erased_event_is_neither_resent_nor_replayed(story: Story) -> None:
    call = story.inflows.call
    await story.erase("--email", EMAIL, "--yes")
    deliveries = (await call("GET", "/webhooks/deliveries")).json()["data"]["results"]
    erased = [one for one in deliveries if one["isErased"]]
    assert len(erased) == len(deliveries) > 4
    assert all(one["payload"] == {} and one["attempts"][0]["responseBody"] is None for one in erased)
    refused = await call("POST", f"/webhooks/deliveries/{erased[0]['id']}/resend")
    assert refused.status_code == 409
    assert "erased at the payer's request" in refused.json()["message"]
    window = {"dateFrom": "2020-01-01", "dateTo": "2099-01-01", "confirm": True}
    replayed = (await call("POST", "/webhooks/replays", window)).json()["data"]
    assert replayed == {"count": 0, "sent": True, "erased": len(erased)}
    assert await story.inflows.deliver() == 0
    said = await story.operator.said("events", "show", erased[0]["id"], "--business", story.inflows.shop.business_id)
    assert "it was erased at the payer's request" in said
    replay = ("events", "replay", "--from", "2020-01-01", "--to", "0s", "--business", story.inflows.shop.business_id)
    assert f"{len(erased)} left out" in await story.operator.said(*replay)


async def test_an_event_queued_just_before_it_was_erased_is_not_sent(story: Story) -> None:
    await story.erase("--email", EMAIL, "--yes")
    await story.admin.execute("UPDATE webhook_delivery SET status = 'pending', due_at = now() - interval '1 minute'")
    await story.admin.execute("UPDATE endpoint_state SET next_poll_at = now() - interval '1 minute'")
    assert await story.inflows.deliver() > 0
    rows = await story.admin.fetch("SELECT DISTINCT status FROM webhook_delivery")
    assert [row["status"] for row in rows] == ["exhausted"]
    assert await story.admin.fetchval("SELECT count(*) FROM webhook_attempt WHERE error = 'payload_erased'") > 0


async def test_a_repeated_request_whose_answer_was_erased_has_no_second_effect(story: Story) -> None:
    await story.erase("--email", EMAIL, "--yes")
    before = await story.admin.fetchval("SELECT count(*) FROM payment")
    row = await story.admin.fetchrow("SELECT request_hash FROM idempotency_key WHERE key = 'create-1'")
    assert row is not None
    body = order(**OF_THE_PAYER, reference=story.checkouts[1].reference)
    again = await story.inflows.shop.create(body, headers={"Idempotency-Key": "create-1"})
    assert again.status_code in (409, 422)
    assert await story.admin.fetchval("SELECT count(*) FROM payment") == before


async def test_a_notification_that_comes_again_after_erasure_is_a_repeat(story: Story) -> None:
    row = await story.admin.fetchrow("SELECT id, body FROM notification WHERE position('trf-1'::bytea IN body) > 0")
    await story.erase("--email", EMAIL, "--yes")
    assert (await story.inflows.notify(row["body"])).status_code == 200
    assert await story.admin.fetchval("SELECT body IS NULL FROM notification WHERE id = $1", row["id"])
    assert await story.admin.fetchval("SELECT count(*) FROM notification WHERE state = 'quarantined'") == 0


async def test_the_pages_and_records_of_an_erased_payment_still_work(story: Story) -> None:
    await story.erase("--email", EMAIL, "--yes")
    for checkout in story.checkouts:
        record = await checkout.record()
        assert record["status"] == "success"
        assert record["customer"]["name"] == "(erased)"
        page = await checkout.shop.client.get(f"/pay/{checkout.pay_code}")
        assert page.status_code == 200
        receipt = await checkout.shop.client.get(f"/pay/{checkout.pay_code}/receipt.pdf")
        assert receipt.status_code == 200
    for path in ("/wallets/NGN/statement", "/collections", "/webhooks/deliveries", "/collections/refund"):
        shown = await story.inflows.call("GET", path, business=story.inflows.shop.business_id)
        assert shown.status_code in (200, 422), shown.text
    account = await story.inflows.call("GET", f"/profile/virtual-accounts/{story.account_id}")
    assert account.status_code == 200, account.text
    assert account.json()["data"]["KYCInformation"] == {}


async def test_nobody_else_is_touched(story: Story, new_checkout: MakeCheckout, new_shop: MakeShop) -> None:
    other_payer = await new_checkout(story.inflows.shop)
    await other_payer.transfer(await other_payer.account(), "100")
    other_shop = await new_checkout(await new_shop(), customer=CUSTOMER)
    assert (await other_shop.charge(card())).status_code == 200
    while await story.inflows.deliver():
        pass
    await story.erase("--email", EMAIL, "--business", story.inflows.shop.business_id, "--yes")
    assert (await other_payer.record())["customer"]["name"] == "Ada Obi"
    assert (await other_shop.record())["customer"]["name"] == NAME
    assert await story.admin.fetchval("SELECT count(*) FROM event WHERE payload IS NOT NULL") == 2
    await story.erase("--email", EMAIL, "--yes")
    assert (await other_shop.record())["customer"]["name"] == "(erased)"
    assert (await other_payer.record())["customer"]["name"] == "Ada Obi"


async def test_what_is_still_needed_is_left_and_said(
    new_checkout: MakeCheckout, operator: Operator, admin: Any
) -> None:
    checkout = await new_checkout(customer=CUSTOMER)
    options = ("erase", "--email", EMAIL, "--yes")
    assert (await operator.json(*options))["left"] == {**NOTHING_LEFT, "open": 1}
    assert (await checkout.charge(card())).status_code == 200
    # Its event has not been fanned out yet.
    assert (await operator.json(*options))["left"] == {**NOTHING_LEFT, "undelivered": 1}
    assert "1 left" in await operator.said(*options)
    assert (await checkout.record())["customer"]["name"] == NAME
    await admin.execute("UPDATE event SET is_fanned_out = true")
    done = await operator.json(*options)
    assert (done["payments"], done["left"]) == (1, NOTHING_LEFT)


async def test_a_notification_in_quarantine_is_left_and_said(story: Story) -> None:
    body = await story.admin.fetchval("SELECT body FROM notification WHERE position('trf-1'::bytea IN body) > 0")
    contradiction = json.loads(body) | {"amount": "1"}
    assert (await story.inflows.notify(contradiction)).status_code == 200
    done = await story.erase("--email", EMAIL, "--yes")
    assert done["left"] == {**NOTHING_LEFT, "disputed": 1}
    assert await traces(story.admin) == {"notification.body": BANK_ACCOUNT}


async def test_a_delivery_to_a_disabled_endpoint_is_cancelled(
    new_checkout: MakeCheckout, operator: Operator, admin: Any
) -> None:
    checkout = await new_checkout(customer=CUSTOMER)
    assert (await checkout.charge(card())).status_code == 200
    await admin.execute(
        """
        WITH made AS (
            INSERT INTO webhook_endpoint (business_id, id, url, events, status, disabled_reason, rate_per_second,
                                          created_at, updated_at)
            VALUES ($1, 'gone', 'http://localhost/', '{}', 'disabled', 'gone', 1, now(), now())),
        told AS (UPDATE event SET is_fanned_out = true RETURNING business_id, id)
        INSERT INTO webhook_delivery (business_id, id, endpoint_id, event_id, event_type, priority, due_at, created_at)
        SELECT business_id, 1, 'gone', id, 'charge.successful', 0, now(), now() FROM told
        """,
        checkout.shop.business_id,
    )
    assert (await operator.json("erase", "--email", EMAIL, "--yes"))["payments"] == 1
    assert await admin.fetchval("SELECT status FROM webhook_delivery") == "cancelled"


async def test_it_goes_on_where_it_was_interrupted(
    story: Story, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "BATCH", 1)
    monkeypatch.setattr(erase, "PAGE", 2)
    who = PayerIdentity.parse([EMAIL], [])

    class Interrupted(Exception):
        pass

    for steps in range(1, 30):
        left = steps

        class Eraser(erase.Eraser):
            async def _batch(self, *arguments: Any) -> int:
                nonlocal left
                if (left := left - 1) < 0:
                    raise Interrupted
                return await super()._batch(*arguments)

        found = await erase.find(runtime.db, who, None)
        try:
            await Eraser(runtime.db, runtime.clock, who).erase(found)
        except Interrupted:
            continue
        break
    assert await traces(story.admin) == {}


async def test_short_transactions_identifiers_are_whole_words(story: Story) -> None:
    """A bank may number its transactions 1, 2, 3."""
    await story.admin.execute("UPDATE receipt SET transaction_id = '7' WHERE transaction_id = 'trf-1'")
    await story.admin.execute(
        """
        INSERT INTO notification (rail, id, state, body, received_at)
        VALUES ('sandbox', 'other', 'done', '{"transactionId":"17","x":777}', now()),
               ('sandbox', 'its', 'done', '{"transactionId":"7"}', now())
        """
    )
    found = await erase.find(story.inflows.runtime.db, PayerIdentity.parse([EMAIL], []), None)
    assert "its" in found.notifications["sandbox"]
    assert "other" not in found.notifications["sandbox"]
    await story.admin.execute("UPDATE receipt SET transaction_id = 'trf-1' WHERE transaction_id = '7'")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give an e-mail address or a phone number"),
        (["--email", "ada"], "an e-mail address is like"),
        (["--phone", "123"], "at least 7 digits"),
        (["--email", "a@b", "--business", "0" * 23 + "1"], "no business"),
    ],
)
async def test_a_request_that_names_nobody_is_refused(
    db: Database, operator: Operator, options: list[str], said: str
) -> None:
    assert said in await operator.refused("erase", *options)


async def test_the_service_cannot_erase_past_the_functions(db: Database) -> None:
    now: datetime = SystemClock().now()
    async with db.connection() as tx:
        assert await tx.fetchval("SELECT erase_payment('nobody', 1, $1)", now) == "unknown"
        for statement in ("UPDATE notification SET body = NULL", "UPDATE idempotency_key SET body = NULL"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await tx.execute(statement)


async def test_events_of_every_type_are_found_by_their_cause(admin: Any) -> None:
    text = await admin.fetchval("SELECT prosrc FROM pg_proc WHERE proname = 'events_about'")
    assert sorted(re.findall(r"'([a-z.]+)'", text)) == sorted(EVENTS)
