"""What operators do besides inflows: rails, returns, quarantine, cards, documents, the audit trail; on either side."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from build import Shop
from checkout.paying import card
from cli.operating import Operator
from conftest import MakeCheckout
from console.people import SignedInStaff, let_refunds_wait
from console.test_staff_approvals import decide, open_approval, rail_resumed
from database_questions import watched_server
from inflow import DIFFERENT, Inflows, credit

pytestmark = pytest.mark.usefixtures("unlimited")


@pytest.fixture
def command_line(database_url: str, tmp_path: Path) -> Operator:
    return Operator(database_url, tmp_path)


async def test_a_rail_is_paused_by_one_and_resumed_by_two(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, command_line: Operator
) -> None:
    deps = inflows.runtime.deps
    assert (await operator.send("/rails/sandbox/pause", at="/rails", reason="")).status_code == 422
    assert (await operator.send("/rails/sandbox/pause", at="/rails", reason="it answers wrongly")).status_code == 303
    await deps.paused.look(deps.db)
    assert (deps.open_rails, list(deps.rails)) == ({}, ["sandbox"])
    # Money that arrives is booked, what goes back waits.
    await inflows.notify(credit("DE02120300000000202051"))
    assert "it answers wrongly" in await command_line.said("rail", "list")
    assert "paused already" in await command_line.refused("rail", "pause", "sandbox", "--reason", "again")
    answer = await operator.send("/rails/sandbox/resume", at="/rails", why="it is mended")
    assert answer.status_code == 303, answer.text
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    await deps.paused.look(deps.db)
    assert list(deps.open_rails) == ["sandbox"]


async def test_a_return_without_an_end_is_ended_by_hand(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any, command_line: Operator
) -> None:
    number = await inflows.number()
    for _ in range(2):
        await inflows.notified(credit(number, payeeName=DIFFERENT))
    await admin.execute(
        "UPDATE money_return SET status = 'failed', failure = 'the account is closed', next_try_at = NULL"
    )
    first, second = [row["reference"] for row in await admin.fetch("SELECT reference FROM money_return ORDER BY id")]
    at = f"/stuck/return/{inflows.shop.business_id}/{first}/end"
    assert (await operator.send(at, at="/stuck", why="paid by hand, bank's id 4711")).status_code == 303
    assert "its end is proposed" in (await operator.get("/stuck")).text
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert (await inflows.journals())["return_done"] == 1
    listed = await command_line.json("return", "list")
    assert [one["reference"] for one in listed] == [second]
    end = ("return", "end", inflows.shop.business_id, second, "--note", "paid by hand")
    assert "is done" in await command_line.said(*end)
    assert "has ended" in await command_line.refused(*end)
    assert (await inflows.journals())["return_done"] == 2
    assert await admin.fetchval("SELECT count(*) FROM event WHERE type = 'collection.returned'") == 2


async def test_a_refund_without_an_end_is_ended_by_two(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    arrived = await inflows.notified(credit(await inflows.number()))
    answer = await inflows.call("POST", "/collections/refund", {"transReference": arrived["reference"], "amount": 5})
    assert answer.status_code == 200, answer.text
    await let_refunds_wait(admin)
    assert (await operator.get("")).text.count('href="/console/stuck"') > 1
    part = answer.json()["data"]["reference"] + "-1"
    at = f"/stuck/refund/{inflows.shop.business_id}/{part}/end"
    wrong = await operator.send(at, at="/stuck", why="no answer")
    assert (wrong.status_code, "Choose whether the payer has the money" in wrong.text) == (422, True)
    assert (await operator.send(at, at="/stuck", why="their desk, 4711", outcome="paid")).status_code == 303
    assert "its end is proposed" in (await operator.get("/stuck")).text
    assert await admin.fetchval("SELECT status FROM refund") == "processing"
    assert (await decide(operator, await open_approval(operator))).status_code == 403
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert await admin.fetchval("SELECT status FROM refund") == "successful"
    assert (await inflows.journals())["refund_done"] == 1


async def test_a_refund_in_doubt_is_requested_again_or_ended_as_its_number_at_the_rail_by_two(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any, command_line: Operator
) -> None:
    business, parts = inflows.shop.business_id, []
    arrived = await inflows.notified(credit(await inflows.number()))
    for _ in range(2):
        asked = {"transReference": arrived["reference"], "amount": 5}
        answer = await inflows.call("POST", "/collections/refund", asked)
        parts.append(answer.json()["data"]["reference"] + "-1")
    await let_refunds_wait(admin)
    await admin.execute("UPDATE refund_leg SET rail = 'paystack'")
    await admin.execute(
        """
        INSERT INTO paystack_payout (business_id, reference, kind, transaction_id, tried_at)
        SELECT business_id, reference, 'refund', '1', now() - interval '1 day' FROM refund_leg
        """
    )
    await admin.execute(
        """
        INSERT INTO notification (rail, id, state, body, note, received_at)
        SELECT 'paystack', 'refund-' || reference, 'quarantined', '', 'Paystack lists none since', now() FROM refund_leg
        """
    )
    for page in ("/stuck", f"/stuck/refund/{business}/{parts[0]}"):
        shown = (await operator.get(page)).text
        assert "In doubt: Paystack lists none since" in shown
        assert "Never requested there: request it again" in shown
    at = [f"/stuck/refund/{business}/{part}/end" for part in parts]
    assert (await operator.send(at[0], at="/stuck", why="not listed", outcome="again")).status_code == 303
    assert (await decide(operator, await open_approval(operator))).status_code == 403
    assert await admin.fetchval("SELECT count(*) FROM paystack_payout WHERE may_repeat") == 0
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert await admin.fetchval("SELECT reference FROM paystack_payout WHERE may_repeat") == parts[0]
    assert await admin.fetchval("SELECT count(*) FROM audit WHERE action = 'refund.requested_again'") == 1
    ended = await operator.send(at[1], at="/stuck", why="listed without a note", outcome="paid", sent_as="3018284")
    assert ended.status_code == 303
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert await admin.fetchval("SELECT sent_as FROM refund_leg WHERE reference = $1", parts[1]) == "3018284"
    assert await admin.fetchval("SELECT count(*) FROM notification WHERE state = 'quarantined'") == 0
    # What the rail has, or was asked for a moment ago, is not requested again.
    for change in ("tried_at = now()", "tried_at = now() - interval '1 day', refund_id = '1'"):
        await admin.execute(f"UPDATE paystack_payout SET {change}")
        said = await command_line.refused("refund", "again", business, parts[0], "--note", "not listed")
        assert "it is not in doubt" in said
    await admin.execute("UPDATE refund_leg SET rail = 'sandbox'")


async def test_a_return_in_doubt_is_requested_again_by_two(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any, command_line: Operator
) -> None:
    await inflows.notified(credit(await inflows.number(), payeeName=DIFFERENT))
    await admin.execute(
        "UPDATE money_return SET rail = 'paystack', status = 'sent', asked_at = now() - interval '1 day'"
    )
    reference = await admin.fetchval("SELECT reference FROM money_return")
    business = inflows.shop.business_id
    await admin.execute(
        "INSERT INTO paystack_payout (business_id, reference, kind, transaction_id, tried_at)"
        " VALUES ($1, $2, 'return', '1', now() - interval '1 day')", business, reference,
    )  # fmt: skip
    await admin.execute(
        "INSERT INTO notification (rail, id, state, body, note, received_at)"
        " VALUES ('paystack', 'return-' || $1, 'quarantined', '', 'Paystack lists none since', now())", reference,
    )  # fmt: skip
    assert "Never requested there: request it again" in (await operator.get("/stuck")).text
    at = f"/stuck/return/{business}/{reference}/end"
    assert (await operator.send(at, at="/stuck", why="not listed", outcome="again")).status_code == 303
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert await admin.fetchval("SELECT may_repeat FROM paystack_payout") is True
    assert await admin.fetchval("SELECT count(*) FROM notification WHERE state = 'quarantined'") == 0
    end = ("return", "end", business, reference, "--as", "3018284", "--note", "it is there after all")
    assert "is done" in await command_line.said(*end)
    assert await admin.fetchval("SELECT sent_as FROM money_return") == "3018284"


async def test_the_page_of_a_refund_asks_as_often_for_three_parts_as_for_one(
    operator: SignedInStaff, inflows: Inflows, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    business = inflows.shop.business_id
    arrived = await inflows.notified(credit(await inflows.number()))
    answer = await inflows.call("POST", "/collections/refund", {"transReference": arrived["reference"], "amount": 5})
    reference = answer.json()["data"]["reference"]
    counts = []
    async with watched_server(database_url, monkeypatch) as (url, said):
        for parts in (1, 3):
            await inflows.admin.execute(
                """
                INSERT INTO refund_leg (business_id, reference, refund_id, rail, transaction_id, currency, amount_minor,
                                        next_poll_at)
                SELECT business_id, $1 || '-' || number, refund_id, rail, transaction_id || number, currency, 1,
                       next_poll_at
                  FROM refund_leg, generate_series(2, $2::integer) AS number WHERE reference = $1 || '-1'
                """,
                reference, parts,
            )  # fmt: skip
            asked = []
            # The first answers of a connection learn its types.
            for _ in range(4):
                said.clear()
                page = await operator.client.get(f"{url}/console/stuck/refund/{business}/{reference}")
                asked.append(len(said))
            assert page.text.count("Ask now") == parts
            counts.append(min(asked))
    await inflows.admin.execute("DELETE FROM refund_leg WHERE reference <> $1 || '-1'", reference)
    # Three of them are of every page: session, person, queues.
    assert counts[0] == counts[1] <= 3 + 7


async def test_the_page_of_a_refund_shows_its_way_and_ends_it(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    business = inflows.shop.business_id
    arrived = await inflows.notified(credit(await inflows.number()))
    answer = await inflows.call("POST", "/collections/refund", {"transReference": arrived["reference"], "amount": 5})
    reference = answer.json()["data"]["reference"]
    await let_refunds_wait(admin)
    await admin.execute(
        """
        INSERT INTO leased_work (business_id, kind, id, next_try_at, failures, last_error)
        VALUES ($1, 'poll_refunds', $2, now() + interval '1 hour', 3, 'the rail said nothing')
        """,
        business, f"{reference}-1",
    )  # fmt: skip
    at = f"/stuck/refund/{business}/{reference}"
    assert f'href="/console{at}"' in (await operator.get("/stuck")).text
    page = (await operator.get(at)).text
    assert re.search("<dt>Asked for by</dt><dd>API key .*</dd>", page)
    assert "<dt>Approved by</dt><dd>not needed</dd>" in page
    for words in ("On its way", "the rail said nothing", "refund started", "Ask now",
                  f'href="/console/held/{arrived["reference"]}"', f'href="/console/merchants/{business}"'):  # fmt: skip
        assert words in page, words
    # A part has the page of the whole; others have none.
    assert (await operator.get(f"{at}-1")).text.count("<h1>") == 1
    for other in (f"{at}-2", "/stuck/refund/000000000000000000000000/x", f"/stuck/refund/{business}/x"):
        await operator.get(other, status=404)

    async def send(person: SignedInStaff, below: str, **fields: str) -> httpx.Response:
        return await person.post(below, {**await person.fields(at), "factor": "sandbox", "at": "subject", **fields})

    asked = await send(operator, f"{at}-1/ask", rail="sandbox")
    assert asked.headers["location"] == f"/console{at}-1?said=done"
    wrong = await send(operator, f"{at}-1/end", why="their desk")
    assert (wrong.status_code, "Choose whether" in wrong.text, 'value="their desk"' in wrong.text) == (422, True, True)
    ended = await send(operator, f"{at}-1/end", why="their desk, 4711", outcome="paid")
    assert ended.status_code == 303
    page = (await approver.get(at)).text
    assert "their desk, 4711" in page
    assert "Approve:" in page
    number = await open_approval(approver)
    approved = await send(approver, f"/approvals/{number}/approve")
    assert approved.headers["location"] == f"/console{at}-1?said=approved"
    page = (await approver.get(at)).text
    assert "Arrived" in page
    assert "refund done" in page
    await admin.execute("DELETE FROM leased_work")


async def test_a_notification_in_quarantine_is_closed_with_what_the_rail_said(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any, command_line: Operator
) -> None:
    body = credit(await inflows.number())
    await inflows.notify(body)
    await inflows.notify({**body, "amount": "1"})
    [notice] = await command_line.json("quarantine", "list")
    [differing] = notice["differences"]
    assert differing == {"field": "amount", "first": body["amount"], "then": "1"}
    subject = f"{notice['rail']}/{notice['id']}"
    at = f"/quarantine?subject={quote(subject, safe='')}"
    assert f'href="/console{at.replace("%2F", "/")}"' in (await operator.get("/suspense")).text
    page = (await operator.get(at)).text
    reference = await admin.fetchval("SELECT reference FROM collection")
    for words in (
        f'<mark>{differing["first"]}</mark></td><td><mark>1</mark></td>',
        f'href="/console/held/{reference}"', f'href="/console/merchants/{inflows.shop.business_id}"',
        "<dt>In our books</dt><dd>€100.00", "What the rail said first is booked",
    ):  # fmt: skip
        assert words in page, words
    answer = await operator.send("/quarantine", at=at, subject=subject, why="the first is right")
    assert answer.status_code == 303, answer.text
    fields = {**await approver.fields(at), "factor": "sandbox", "at": "subject"}
    done = await approver.post(f"/approvals/{await open_approval(approver)}/approve", fields)
    assert done.headers["location"] == f"/console{at}&said=approved"
    assert await command_line.json("quarantine", "list") == []
    row = await admin.fetchrow("SELECT subject, details FROM audit WHERE action = 'quarantine.closed'")
    assert (row["subject"], "the first is right" in row["details"]) == (subject, True)
    page = (await operator.get(at)).text
    for words in ("Closed", f"<dt>Approved by</dt><dd>{approver.member.name}", "the first is right"):
        assert words in page, words
    await operator.get("/quarantine?subject=sandbox/none", status=404)


async def test_what_the_console_shows_is_on_the_command_line(
    operator: SignedInStaff, inflows: Inflows, admin: Any, command_line: Operator, tmp_path: Path
) -> None:
    business_id = inflows.shop.business_id
    assert "No alarm" in await command_line.said("alarm", "list")
    await command_line.said("merchant", "cards", "pause", business_id, "--reason", "tried out")
    assert "tried out" in (await operator.get(f"/merchants/{business_id}")).text
    await command_line.said("merchant", "cards", "lift", business_id)
    assert "not paused" in await command_line.refused("merchant", "cards", "lift", business_id)
    suspended = ("merchant", "set", business_id, "--status", "suspended")
    assert "Say why" in await command_line.refused(*suspended)
    await command_line.said(*suspended, "--reason", "a complaint")
    assert "Suspended: a complaint" in (await operator.get(f"/merchants/{business_id}")).text

    account = await inflows.account()
    picture, opened = tmp_path / "id.png", tmp_path / "opened.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + b"x" * 100)
    await command_line.said("account", "document", "add", account.id, str(picture), "--name", "passport")
    number = await admin.fetchval("SELECT id FROM account_document")
    await command_line.said("account", "document", "open", account.id, str(number), str(opened), "--why", "a call")
    assert opened.read_bytes() == picture.read_bytes()
    assert "passport" in await command_line.said("account", "document", "list", account.id)

    assert "document.opened" in await command_line.said("audit", "list", "--subject", account.id)
    assert "as it was written" in await command_line.said("audit", "verify")
    exported = tmp_path / "audit.csv"
    await command_line.said("audit", "export", str(exported))
    assert exported.read_text().count("document.opened") == 1


async def test_a_paused_rail_is_said_where_its_refunds_wait_and_is_not_asked(
    operator: SignedInStaff, approver: SignedInStaff, new_checkout: MakeCheckout, inflows: Inflows,
    command_line: Operator,
) -> None:  # fmt: skip
    admin = inflows.admin
    paid = await new_checkout(amount=10_000, customer={"name": "Chidinma Eze", "email": "c@example.com"})
    assert (await paid.charge(card())).status_code == 200
    business = paid.shop.business_id
    answer = await paid.shop.client.post(
        "/collections/refund", json={"transReference": paid.pay_code, "amount": 5}, headers=paid.shop.verify_headers
    )
    part = f"{answer.json()['data']['reference']}-1"
    await let_refunds_wait(admin)
    await admin.execute(
        """
        INSERT INTO leased_work (business_id, kind, id, next_try_at, failures, last_error)
        VALUES ($1, 'poll_refunds', $2, now() + interval '1 hour', 3, 'the rail said nothing')
        """,
        business, part,
    )  # fmt: skip
    page = (await operator.get("/stuck")).text
    for words in ("Chidinma Eze", f'href="/console/payments/{business}/{paid.pay_code}"', "the rail said nothing",
                  f'href="/console/merchants/{business}"', "Ask now"):  # fmt: skip
        assert words in page, words
    assert "is paused" not in page
    assert (await operator.send("/rails/sandbox/pause", at="/rails", reason="it answers wrongly")).status_code == 303
    for below in ("", "/stuck"):
        page = (await operator.get(below)).text
        assert "The rail sandbox is paused." in page
        assert f"{operator.member.name}, since" in page
        assert "it answers wrongly" in page
    assert "Ask now" not in page
    asked = await operator.send(f"/stuck/refund/{business}/{part}/ask", at="/stuck", rail="sandbox")
    assert (asked.status_code, "the rail sandbox is paused" in asked.text.lower()) == (409, True)
    assert "is paused" in await command_line.refused("refund", "ask", business, part, "--rail", "sandbox")
    assert await admin.fetchval("SELECT count(*) FROM audit WHERE action = 'refund.asked'") == 0
    await rail_resumed(operator, approver, admin, inflows.runtime)
    await admin.execute("DELETE FROM leased_work")
    assert (await operator.send(f"/stuck/refund/{business}/{part}/ask", at="/stuck", rail="sandbox")).status_code == 303


async def test_the_name_and_address_of_a_merchant_are_changed_by_one(
    operator: SignedInStaff, shop: Shop, admin: Any
) -> None:
    at = f"/merchants/{shop.business_id}"
    wrong = await operator.send(f"{at}/contact", at=at, name="Bread", contact="nowhere")
    assert (wrong.status_code, 'value="nowhere"' in wrong.text) == (422, True)
    given = {"name": "Bread & Butter", "contact": "bread@shop.example"}
    assert (await operator.send(f"{at}/contact", at=at, **given)).status_code == 303
    row = await admin.fetchrow("SELECT name, email FROM business WHERE id = $1", shop.business_id)
    assert tuple(row) == ("Bread & Butter", "bread@shop.example")
    assert "Changed the settings" in (await operator.get("/audit")).text


async def test_the_deployment_is_checked_as_the_doctor_does(operator: SignedInStaff) -> None:
    page = (await operator.send("/books/examine", at="/books")).text
    for words in ("sandbox mode at", "PostgreSQL", "Migrations", "Well"):
        assert words in page, words
