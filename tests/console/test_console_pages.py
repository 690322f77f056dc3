"""Pages of the console, and what can be done on them by one person."""

from __future__ import annotations

import asyncio
import html
import re
from datetime import timedelta
from typing import Any

import pytest

from build import Shop
from checkout.paying import card
from conftest import MakeCheckout
from console.people import SignedInStaff
from console.test_overview import rails_of
from console.test_staff_approvals import decide, held, open_approval, proposed
from earlier import earlier
from inflow import CLOSE, DIFFERENT, Inflows, credit
from process import run_here
from tidegate.audit import chain, export
from tidegate.core.clock import SystemClock
from tidegate.core.money import Currency
from tidegate.doctor.proof import prove_due
from tidegate.ledger import chain as journal_chain
from tidegate.runtime import Runtime

ECB_FILE = """\
<?xml version="1.0"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
<Cube><Cube time="2026-01-13"><Cube currency="USD" rate="1.1"/></Cube></Cube></gesmes:Envelope>"""

pytestmark = pytest.mark.usefixtures("unlimited")


async def linked(runtime: Runtime) -> None:
    while (await chain.extend(runtime.db, SystemClock())).done:
        pass


async def test_a_tampered_audit_row_is_found_and_named(
    operator: SignedInStaff, shop: Shop, runtime: Runtime, admin: Any, database_url: str
) -> None:
    at = f"/merchants/{shop.business_id}"
    await operator.send(f"{at}/suspend", at=at, reason="unpaid")
    await linked(runtime)
    assert "unchanged since it was linked" in (await operator.send("/audit/verify", at="/audit")).text
    row = await admin.fetchrow("SELECT * FROM audit WHERE action = 'business.changed' ORDER BY id DESC LIMIT 1")
    await admin.execute("UPDATE audit SET actor = 'operator' WHERE id = $1", row["id"])
    found = (await operator.send("/audit/verify", at="/audit")).text
    assert f"row {shop.business_id}/{row['id']} of the audit trail was changed" in found
    code, said = await asyncio.to_thread(run_here, "doctor", "--books", DATABASE_URL=database_url, COLUMNS="240")
    assert (code, f"{shop.business_id}/{row['id']} of the audit trail was changed" in said) == (1, True)
    # The next proof of the books says so too, and the overview.
    await prove_due(runtime.db, SystemClock())
    assert "was changed" in (await operator.get()).text
    await admin.execute("UPDATE audit SET actor = $2 WHERE id = $1", row["id"], row["actor"])
    # What may be erased is no tampering; a row that is missing is.
    await admin.execute("UPDATE audit SET details = details - 'reason' - 'note'")
    assert "unchanged since" in (await operator.send("/audit/verify", at="/audit")).text
    await admin.execute("DELETE FROM audit WHERE id = $1", row["id"])
    assert "is missing" in (await operator.send("/audit/verify", at="/audit")).text


@pytest.mark.parametrize(
    ("tampering", "named"),
    [
        (f"UPDATE audit SET {earlier('written_at', '1 day')} WHERE id = {{row}}", "was changed"),
        ("DELETE FROM audit_link WHERE business_id = '{business}'", "has no link"),
        (
            """
            INSERT INTO audit (business_id, actor, action, subject, details, created_at)
            VALUES ('{business}', 'operator', 'x', 'x', '{{}}', now())
            """,
            "has no link",
        ),
    ],
)
async def test_no_row_is_moved_put_in_or_taken_out_of_the_chain_unseen(
    shop: Shop, runtime: Runtime, admin: Any, tampering: str, named: str
) -> None:
    await linked(runtime)
    assert await chain.verify_all(runtime.db, now=SystemClock().now()) == []
    row = await admin.fetchval("SELECT max(id) FROM audit WHERE business_id = $1", shop.business_id)
    await admin.execute(tampering.format(row=row, business=shop.business_id))
    found = await chain.verify_all(runtime.db, now=SystemClock().now())
    assert found
    assert all(f"row {shop.business_id}/" in one and named in one for one in found)


async def test_the_chain_of_every_merchant_is_verified_and_exported(
    operator: SignedInStaff, shop: Shop, runtime: Runtime, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain, "BUSINESSES_AT_ONCE", 1)
    monkeypatch.setattr(export, "BATCH", 1)
    # In the chain of the deployment itself, whose id comes first.
    assert (await operator.send("/books/export", at="/books")).status_code == 200
    await linked(runtime)
    exported = (await operator.send("/audit/export", at="/audit")).text
    heads = {line.split(",")[1] for line in exported.splitlines() if line.startswith("chain,")}
    assert heads == {row["business_id"] for row in await admin.fetch("SELECT business_id FROM audit_link")}
    assert len(heads) > 1
    await admin.execute("UPDATE audit SET actor = 'operator' || actor WHERE business_id = $1", shop.business_id)
    assert len(await chain.verify_all(runtime.db, now=SystemClock().now())) == 1


async def test_the_books_are_proven_when_the_job_is_run(operator: SignedInStaff, runtime: Runtime, admin: Any) -> None:
    await admin.execute(
        """
        INSERT INTO job_round (business_id, job, every_s, ended_at, lasted_ms, done, failed)
        VALUES ('000000000000000000000000', 'prove_books', 60, now(), 1, 0, 0)
        """
    )
    assert [(await prove_due(runtime.db, SystemClock())).done for _ in range(2)] == [1, 0]
    assert (await operator.send("/jobs/run", at="/jobs", job="prove_books")).status_code == 303
    assert [(await prove_due(runtime.db, SystemClock())).done for _ in range(2)] == [1, 0]
    assert await admin.fetchval("SELECT count(*) FROM proof") == 2


async def test_the_overview_has_one_number_for_the_chains_of_all_books(
    operator: SignedInStaff, new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    heads = []
    for _ in range(2):
        assert (await (await new_checkout()).charge(card())).status_code == 200
        while (await journal_chain.extend(runtime.db, SystemClock())).done:
            pass
        assert (await operator.send("/books/prove", at="/books")).status_code == 303
        heads.append((await admin.fetchval("SELECT head FROM proof ORDER BY id DESC LIMIT 1")).hex())
        assert f'title="{heads[-1]}"' in (await operator.get()).text
    assert heads[0] != heads[1]
    books = (await operator.get("/books")).text
    assert [head in books for head in heads] == [True, True]


async def test_the_audit_trail_is_exported_without_formulas(operator: SignedInStaff, admin: Any) -> None:
    await admin.execute(
        """
        INSERT INTO audit (business_id, actor, action, subject, created_at)
        VALUES ('000000000000000000000000', 'operator', 'x', '=1+1', now())
        """
    )
    answer = await operator.send("/audit/export", at="/audit")
    assert answer.headers["content-type"].startswith("text/csv")
    assert "'=1+1" in answer.text
    assert "=1+1" in (await operator.get("/audit?subject=%3D1%2B1")).text


async def test_money_in_suspense_is_assigned_returned_or_closed_by_two(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    number = await inflows.number()
    account = await admin.fetchval("SELECT id FROM virtual_account WHERE account_number = $1", number)
    for minor in (1_000, 2_000, 3_000):
        assert (await inflows.notify(credit("DE99", minor))).status_code == 200
    receipts = [row["id"] for row in await admin.fetch("SELECT id FROM receipt ORDER BY amount_minor")]
    assert "All money has an owner" not in (await operator.get("/suspense")).text
    where = {"business": inflows.shop.business_id, "account": account}
    for receipt, fields in zip(
        receipts, ({"what": "assign", **where}, {"what": "return"}, {"what": "close"}), strict=True
    ):
        at = f"/suspense/{receipt}"
        answer = await operator.send(at, at=at, why="found by phone", **fields)
        assert answer.status_code == 303, answer.text
        done = await decide(approver, await open_approval(approver))
        assert done.status_code == 303, done.text
        assert "found by phone" in (await operator.get(at)).text
    assert (await operator.send(at, at="/suspense", what="close", why="x")).status_code == 404
    decisions = await admin.fetch("SELECT decision FROM suspense_decision ORDER BY receipt_id")
    assert [row["decision"] for row in decisions] == ["assigned", "returned", "closed"]
    wrong = await operator.get("/suspense")
    assert "All money has an owner" in wrong.text


async def test_a_rate_far_off_the_last_is_typed_twice(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    fields = {"base": "EUR", "quote": "NGN", "source": "desk", "why": "market", "spread": "0"}
    assert (await operator.send("/rates", at="/rates", rate="1650", **fields)).status_code == 303
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    off = await operator.send("/rates", at="/rates", rate="165", **fields)
    assert (off.status_code, "once more" in off.text) == (422, True)
    assert (await operator.send("/rates", at="/rates", rate="165", again="165.0", **fields)).status_code == 303
    assert (await operator.send("/rates", at="/rates", rate="-1", **fields)).status_code == 422
    assert "1650" in (await operator.get("/rates")).text


async def test_a_rate_is_of_the_time_of_its_quote(operator: SignedInStaff, approver: SignedInStaff, admin: Any) -> None:
    fields = {"base": "EUR", "quote": "NGN", "source": "desk", "why": "market", "rate": "1650", "spread": "0"}
    for bad in ("noon", "2099-01-01T00:00:00Z"):
        wrong = await operator.send("/rates", at="/rates", quoted_at=bad, **fields)
        assert (wrong.status_code, f'value="{bad}"' in wrong.text) == (422, True), bad
    assert (await operator.send("/rates", at="/rates", quoted_at="2026-01-15T09:30:00Z", **fields)).status_code == 303
    page = (await approver.get("/approvals")).text
    assert ("15 Jan 2026, 09:30 UTC" in page, "<dt>Too old</dt>" in page) == (True, True)
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert str(await admin.fetchval("SELECT quoted_at FROM exchange_rate")) == "2026-01-15 09:30:00+00:00"


async def test_a_spread_that_is_not_typed_stays_and_none_is_supposed(
    operator: SignedInStaff, approver: SignedInStaff, admin: Any
) -> None:
    fields = {"base": "EUR", "quote": "NGN", "source": "desk", "why": "market", "rate": "1650"}
    first = await operator.send("/rates", at="/rates", **fields)
    assert (first.status_code, "EUR/NGN has no spread yet" in first.text) == (422, True)
    assert (await operator.send("/rates", at="/rates", spread="0.5", **fields)).status_code == 303
    assert "<dt>Too old</dt>" not in (await approver.get("/approvals")).text
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    page = (await operator.get("/rates?base=EUR&quote=NGN")).text
    assert "Now 1 EUR is 1650 NGN, spread 0.50 %" in page
    assert "<option selected>NGN" in page
    assert (await operator.send("/rates", at="/rates", **fields | {"rate": "1660"})).status_code == 303
    assert "<dt>Spread</dt><dd>0.50 %</dd>" in (await approver.get("/approvals")).text
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    rows = await admin.fetch("SELECT rate, spread_basis_points FROM exchange_rate ORDER BY id")
    assert [(int(row["rate"]), row["spread_basis_points"]) for row in rows] == [(1650, 50), (1660, 50)]


@pytest.mark.parametrize("wrong", ["1500,5", "1.500,5", "1e3", "1 500", "much"])
async def test_a_rate_that_is_no_plain_number_says_how_one_is_written(operator: SignedInStaff, wrong: str) -> None:
    fields = {"base": "EUR", "quote": "NGN", "source": "desk", "why": "market", "spread": "0"}
    answer = await operator.send("/rates", at="/rates", rate=wrong, **fields)
    assert (answer.status_code, "with a decimal point, such as 1652.5" in answer.text) == (422, True)
    answer = await operator.send("/rates", at="/rates", rate="1650", **fields | {"spread": "0,5"})
    assert (answer.status_code, "with a decimal point, such as 0.5" in answer.text) == (422, True)


async def test_a_file_of_rates_is_imported_with_a_spread(
    operator: SignedInStaff, approver: SignedInStaff, admin: Any
) -> None:
    fields = {"token": (await operator.fields("/rates"))["token"], "why": "daily"}
    file = {"file": ("eurofxref-daily.xml", ECB_FILE.encode(), "text/xml")}

    async def upload(spread: str, once: str) -> int:
        data = {**fields, "spread": spread, "once": once}
        return (await operator.client.post("/console/rates/import", data=data, files=file)).status_code

    # Without one there is none to keep yet.
    assert [await upload(bad, "1") for bad in ("much", "-1", "100", "0.001", "")] == [422] * 5
    assert await upload("0.75", "2") == 303
    page = (await approver.get("/approvals")).text
    assert "spread 0.75 %" in page
    assert "<dt>Day of the file</dt><dd>13 Jan 2026</dd>" in page
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert await admin.fetchval("SELECT min(spread_basis_points) FROM exchange_rate") == 75
    assert await upload("", "3") == 303
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert await admin.fetchval("SELECT min(spread_basis_points) FROM exchange_rate") == 75


async def test_the_last_hour_of_a_rail_is_by_the_time_of_each_merchant(
    operator: SignedInStaff, new_checkout: MakeCheckout
) -> None:
    old = await new_checkout()
    assert (await old.charge(card())).status_code == 200
    assert "NGN" in rails_of((await operator.get()).text)
    # To the merchant it was yesterday.
    await old.let_pass("1d")
    assert "NGN" not in rails_of((await operator.get()).text)
    new = await new_checkout(old.shop)
    assert (await new.charge(card())).status_code == 200
    assert "NGN" in rails_of((await operator.get()).text)


async def test_what_waits_is_as_old_as_its_merchant_says(operator: SignedInStaff, inflows: Inflows) -> None:
    """To whom time travel has passed. Nothing of the operator's own time has."""
    number = await inflows.number()
    await inflows.let_pass("30d")
    await inflows.notified(credit(number, payeeName=CLOSE))
    assert "oldest 0 min" in (await operator.get()).text
    await inflows.let_pass("5h")
    assert "oldest 5 h" in (await operator.get()).text


async def test_a_return_is_stuck_by_the_time_of_its_merchant(operator: SignedInStaff, inflows: Inflows) -> None:
    returned = await inflows.notified(credit(await inflows.number(), payeeName=DIFFERENT))
    assert "No return has waited for half an hour" in (await operator.get("/stuck")).text
    reference = returned["refundInfo"]["returnReference"]
    # No worker runs, so nobody asks the rail meanwhile.
    assert (await inflows.call("POST", "/sandbox/clock", {"advance": "2h"})).status_code == 200
    assert reference in (await operator.get("/stuck")).text
    assert "oldest 2 h" in (await operator.get()).text


async def test_what_was_paid_and_how_long_it_took_is_shown(
    operator: SignedInStaff, new_checkout: MakeCheckout, admin: Any
) -> None:
    paid = await new_checkout()
    assert (await paid.charge(card())).status_code == 200
    ended_at = await admin.fetchval("SELECT updated_at FROM attempt")
    await admin.execute("UPDATE attempt SET created_at = $1", ended_at - timedelta(seconds=7.5))
    await new_checkout(paid.shop)
    await admin.execute("UPDATE payment SET status = 'expired' WHERE status = 'initiated'")
    assert "50.0%" in (await operator.get("/merchants")).text
    assert "7.5 s" in (await operator.get("/rails")).text


async def test_a_held_inflow_that_is_converted_shows_the_rate_and_its_age(
    operator: SignedInStaff, inflows: Inflows
) -> None:
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.10")
    number = await inflows.number(Currency.EUR, Currency.USD)
    reference = (await inflows.notified(credit(number, 100_00, payeeName=CLOSE)))["reference"]
    assert "1 EUR = 1.10 USD" in (await operator.get(f"/held/{reference}")).text


@pytest.mark.parametrize("is_refund", [False, True], ids=["credit", "refund at today's rate"])
async def test_an_amount_that_another_rate_makes_another_one_is_not_approved(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any, is_refund: bool
) -> None:
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.10")
    number = await inflows.number(Currency.EUR, Currency.USD)
    name = {} if is_refund else {"payeeName": CLOSE}
    reference = (await inflows.notified(credit(number, 100_00, **name)))["reference"]
    if is_refund:
        at, fields = f"/refunds/{inflows.shop.business_id}/{reference}", {"rate": "today", "amount": "10"}
    else:
        at, fields = f"/held/{reference}", {"what": "credit"}
        shown = re.search(r'name="credit_version" value="(\d+)"', (await operator.get(at)).text)
        assert shown is not None
        fields["credit_version"] = shown[1]
    answer = await operator.send(at, at=at, why="it is right", **fields)
    assert answer.status_code == 303, answer.text[-1500:]
    before = await admin.fetch("SELECT * FROM wallet")
    await inflows.set_rate(Currency.EUR, Currency.USD, "3.00")
    assert (await decide(approver, await open_approval(approver))).status_code == 409
    assert await admin.fetch("SELECT * FROM wallet") == before


@pytest.mark.parametrize(
    ("priced", "status"), [("EUR virtual_account", 409), ("USD virtual_account", 303), ("NGN card", 303)]
)
async def test_only_another_price_of_such_inflows_makes_the_proposal_of_a_credit_void(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, priced: str, status: int
) -> None:
    credit_of = await proposed(operator, await held(inflows))
    at, (currency, method) = f"/merchants/{inflows.shop.business_id}", priced.split()
    price = {"what": "price", "currency": currency, "method": method, "percent": "2", "why": "agreed"}
    assert (await operator.send(f"{at}/propose", at=at, **price)).status_code == 303
    page = (await approver.get("/approvals")).text
    found = set(re.findall(r"/approvals/(\w+/\d+)/approve", page)) - {credit_of}
    assert (await decide(approver, found.pop())).status_code == 303
    assert (await decide(approver, credit_of)).status_code == status


async def test_a_price_keeps_the_tax_and_what_a_refund_gives_back_unless_it_is_said(
    operator: SignedInStaff, approver: SignedInStaff, shop: Shop, admin: Any
) -> None:
    at = f"/merchants/{shop.business_id}"

    async def price(**fields: str) -> tuple[int, str]:
        said = {"what": "price", "currency": "NGN", "method": "card", "why": "agreed", **fields}
        answer = await operator.send(f"{at}/propose", at=at, **said)
        assert answer.status_code == 303, answer.text[-1500:]
        assert (await decide(approver, await open_approval(approver))).status_code == 303
        row = await admin.fetchrow(
            "SELECT vat_basis_points, on_refund FROM fee_rule WHERE ended_at IS NULL AND business_id = $1",
            shop.business_id,
        )
        return row["vat_basis_points"], row["on_refund"]

    assert await price(percent="1.4", vat="5", on_refund="returned") == (500, "returned")
    assert await price(percent="2") == (500, "returned")
    assert await price(percent="2", vat="0", on_refund="kept") == (0, "kept")


async def test_a_document_is_kept_encrypted_and_opened_with_a_reason(
    operator: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    assert (await inflows.ask_for()).status_code == 201
    account_id = await admin.fetchval("SELECT id FROM virtual_account")
    at, body = f"/accounts/{account_id}", b"%PDF-1.7 passport of Ada Obi"
    token = (await operator.fields(at))["token"]

    async def upload(content: bytes) -> int:
        data, files = {"token": token, "name": "Passport"}, {"file": ("p.pdf", content, "application/pdf")}
        return (await operator.client.post(f"/console{at}/documents", data=data, files=files)).status_code

    assert await upload(b"<svg onload=alert(1)>") == 422
    assert await upload(body) == 303
    row = await admin.fetchrow("SELECT * FROM account_document")
    assert "passport" not in row["sealed"]
    document = f"{at}/documents/{row['id']}"
    assert (await operator.send(document, at=at, reason="")).status_code == 422
    opened = await operator.send(document, at=at, reason="the name is unclear")
    assert (opened.content, opened.headers["content-type"]) == (body, "application/pdf")
    assert opened.headers["content-disposition"].startswith("attachment")
    why = await admin.fetchval("SELECT details->>'note' FROM audit WHERE action = 'document.opened'")
    assert why == "the name is unclear"


async def test_failed_work_is_shown_and_tried_again(operator: SignedInStaff, shop: Shop, admin: Any) -> None:
    await admin.execute(
        """
        INSERT INTO leased_work (business_id, kind, id, next_try_at, failures, last_error, parked_at)
        VALUES ($1, 'send_returns', 'ret_1', 'infinity', 20, 'the rail said <b>no</b>', now())
        """,
        shop.business_id,
    )
    page = (await operator.get("/jobs")).text
    assert "the rail said &lt;b&gt;no&lt;/b&gt;" in page
    fields = {"kind": "send_returns", "business": shop.business_id, "id": "ret_1"}
    assert (await operator.send("/jobs/retry", at="/jobs", **fields)).status_code == 303
    assert (await operator.send("/jobs/retry", at="/jobs", **fields)).status_code == 409
    assert await admin.fetchval("SELECT count(*) FROM audit WHERE action = 'job.retried'") == 1


async def test_the_last_round_of_each_job_is_shown_and_asked_for(operator: SignedInStaff, admin: Any) -> None:
    assert "No worker has run yet" in (await operator.get("/jobs")).text
    await admin.execute(
        """
        INSERT INTO job_round (business_id, job, every_s, ended_at, lasted_ms, done, failed, error, failed_at)
        SELECT '000000000000000000000000', job, 60, now() - ago, 12, 3, 0, error,
               CASE WHEN error IS NOT NULL THEN now() END
          FROM (VALUES ('send_mail', interval '5 s', NULL), ('prove_books', interval '10 min', 'no <i>disk</i>'))
               AS one (job, ago, error)
        """
    )
    page = (await operator.get("/jobs")).text
    assert "no &lt;i&gt;disk&lt;/i&gt;" in page
    assert "In time" in page
    assert " s late" in page
    assert (await operator.send("/jobs/run", at="/jobs", job="send_mail")).status_code == 303
    assert (await operator.send("/jobs/run", at="/jobs", job="no such")).status_code == 404
    assert "Asked for" in (await operator.get("/jobs")).text
    assert await admin.fetchval("SELECT count(*) FROM audit WHERE action = 'job.run'") == 1


async def test_the_books_are_proven_and_every_figure_opens_its_entries(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows
) -> None:
    await inflows.notified(credit(await inflows.number(), 50_00))
    await held(inflows)
    assert (await operator.send("/books/prove", at="/books")).status_code == 303
    page = (await operator.get("/books")).text
    assert "Proven" in page
    assert 'href="/console/books/EUR/suspense"' in page
    assert "€4,800.00" in (await operator.get("/books/EUR/suspense")).text
    await operator.get("/books/EUR/nothing", status=404)
    exported = await operator.send("/books/export", at="/books")
    assert "EUR,suspense,480000" in exported.text
    for below in ("", "/rails", "/stuck", "/webhooks", "/merchants", "/approvals"):
        await operator.get(below)


async def test_the_balance_of_a_merchant_s_wallet_opens_the_entries_that_make_it(
    operator: SignedInStaff, inflows: Inflows, shop: Shop, admin: Any
) -> None:
    for minor in (50_00, 70_00):
        await inflows.notified(credit(await inflows.number(), minor))
    at = f"/merchants/{inflows.shop.business_id}"
    balance = await admin.fetchval("SELECT balance_minor FROM wallet WHERE currency = 'EUR'")
    door = f'href="/console{at}/wallets/EUR">€{balance / 100:,.2f}</a>'
    assert door in (await operator.get(at)).text
    page = (await operator.get(f"{at}/wallets/EUR")).text
    rows = re.findall(r'<td class="num">(−?)€([\d,.]+)</td>', page)
    assert sum(float(f"{sign and '-'}{text}") for sign, text in rows) == balance / 100
    assert f"€{balance / 100:,.2f} in all" in page
    for other in (f"{at}/wallets/USD", f"{at}/wallets/XXX", f"/merchants/{'0' * 24}/wallets/EUR"):
        await operator.get(other, status=404)


async def test_what_is_held_of_a_merchant_is_opened_by_its_number(operator: SignedInStaff, inflows: Inflows) -> None:
    reference = await held(inflows)
    [door] = re.findall(r'href="/console(/held\?merchant=[0-9a-f]{24})">1</a>', (await operator.get("/merchants")).text)
    assert reference in (await operator.get(door)).text
    of_another = await operator.get(f"/held?merchant={'0' * 24}")
    assert ("No inflow is held" in of_another.text, reference in of_another.text) == (True, False)


async def test_merchants_of_one_name_fill_several_pages(operator: SignedInStaff, admin: Any) -> None:
    await admin.execute(
        """
        INSERT INTO business (id, code, name, email, created_at, updated_at)
        SELECT lpad(to_hex(number), 24, '0'), lpad(number::text, 5, '0'), 'Same Name', 'same@example.com', now(), now()
          FROM generate_series(1, 120) AS number
        """
    )
    seen: list[str] = []
    below: str | None = "/merchants"
    while below is not None:
        page = (await operator.get(below)).text
        seen += re.findall(r"/console/merchants/([0-9a-f]{24})\"", page)
        more = re.search(r'href="/console(/merchants\?[^"]+)">More', page)
        below = html.unescape(more[1]) if more else None
    assert len(seen) == len(set(seen)) == await admin.fetchval("SELECT count(*) - 1 FROM business")


@pytest.mark.parametrize("before", ["0001-01-01T00:00:00%2B14:00_5", "9999-12-31T23:59:59-14:00_5", "x_5", "_", "5"])
async def test_a_page_of_the_audit_trail_that_is_none_is_the_first(operator: SignedInStaff, before: str) -> None:
    assert (await operator.get(f"/audit?before={before}")).status_code == 200


async def test_what_is_done_without_a_second_person_is_in_the_audit_trail(
    operator: SignedInStaff, shop: Shop, admin: Any
) -> None:
    given = {"name": "Bread & Butter", "email": "bread@shop.example"}
    assert (await operator.send("/merchants", at="/merchants", **given)).status_code == 303
    assert (await operator.send("/books/export", at="/books")).status_code == 200
    at = f"/merchants/{shop.business_id}/keys"
    of_shop = "SELECT id FROM credential WHERE business_id = $1 AND kind = 'secret'"
    key, revoke = await admin.fetchval(of_shop, shop.business_id), f"{at}/revoke"
    assert (await operator.send(revoke, at=at, key=str(key))).status_code == 422
    assert (await operator.send(revoke, at=at, key=str(key), reason="it was on a forum")).status_code == 303
    page = (await operator.get("/audit")).text
    for words in (
        "Created the business", "Bread &amp; Butter", "Exported the books", "Revoked an API key",
        "why: it was on a forum", operator.member.name,
    ):  # fmt: skip
        assert words in page, words


@pytest.mark.parametrize("hosts", ["javascript:alert(1)", "../x", "https://shop.example.com", "a b"])
async def test_a_host_that_is_none_is_refused_and_the_form_stays_open(
    operator: SignedInStaff, shop: Shop, hosts: str
) -> None:
    at = f"/merchants/{shop.business_id}"
    given = {"rate": "10", "burst": "20", "variance": "accept", "tolerance": "0", "names": "hold", "origins": ""}
    answer = await operator.send(f"{at}/settings", at=at, hosts=hosts, why="they asked", **given)
    assert answer.status_code == 422
    assert "is not the name of a host" in answer.text
    assert '<details open><summary id="settings">' in answer.text
    assert 'value="they asked"' in answer.text


async def test_a_price_that_is_none_is_refused_and_what_was_typed_stays(operator: SignedInStaff, shop: Shop) -> None:
    at = f"/merchants/{shop.business_id}"
    given = {"what": "price", "currency": "NGN", "method": "card", "percent": "1.25", "fixed": "12.5", "why": "agreed"}
    answer = await operator.send(f"{at}/propose", at=at, **given)
    assert answer.status_code == 422
    for kept in ('<details open><summary id="price">', 'value="1.25"', 'value="12.5"', 'value="agreed"'):
        assert kept in answer.text, kept
    assert "Enter whole minor units" in answer.text


@pytest.mark.parametrize("field", ["percent", "vat"])
@pytest.mark.parametrize("typed", ["NaN", "sNaN", "-1", "1e1", "1_0", "1.255", "100.01", "1000", "٣"])
async def test_a_percentage_that_is_none_is_refused(
    operator: SignedInStaff, shop: Shop, field: str, typed: str
) -> None:
    at = f"/merchants/{shop.business_id}"
    given = {"what": "price", "currency": "NGN", "method": "card", "percent": "1.25", "why": "agreed", field: typed}
    answer = await operator.send(f"{at}/propose", at=at, **given)
    assert answer.status_code == 422
    assert "Enter a percentage from 0 to 100 with at most two decimals." in answer.text


@pytest.mark.parametrize(
    ("path", "limit"), [("/reconcile", "10 MB"), ("/rates/import", "1 MB"), ("/accounts/{}/documents", "5 MB")]
)
async def test_a_file_that_is_too_large_gives_the_form_back(
    operator: SignedInStaff, inflows: Inflows, admin: Any, path: str, limit: str
) -> None:
    assert (await inflows.ask_for()).status_code == 201
    at = path.format(await admin.fetchval("SELECT id FROM virtual_account"))
    sent = {"token": (await operator.fields())["token"], "name": "Passport", "why": "daily", "rail": "sandbox"}
    file = {"file": ("large", b"x" * (11 * 2**20), "application/octet-stream")}
    answer = await operator.client.post(f"/console{at}", data=sent, files=file)
    assert answer.status_code == 413
    assert f"The file is too large. Choose one of at most {limit}." in answer.text
    assert ('aria-label="Pages"' in answer.text, 'type="file"' in answer.text) == (True, True)


@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        ("rate", "0", "Requests a second: enter a whole number from 1 to 100,000."),
        ("burst", "1e3", "At once: enter a whole number from 1 to 100,000."),
        ("tolerance", "-1", "Difference that is ignored, at most: enter whole minor units"),
        ("hosts", "http://x", "Of the redirect hosts, “http://x” is not the name of a host"),
        ("origins", "shop", "Of the checkout origins, “shop” must be an origin such as https://shop.example.com"),
    ],
)
async def test_what_is_wrong_with_a_setting_names_it(
    operator: SignedInStaff, shop: Shop, field: str, typed: str, words: str
) -> None:
    at = f"/merchants/{shop.business_id}"
    fields = {"rate": "5", "burst": "5", "variance": "accept", "tolerance": "0", "names": "hold", "hosts": "",
              "origins": "", "why": "agreed"}  # fmt: skip
    answer = await operator.send(f"{at}/settings", at=at, **{**fields, field: typed})
    assert (answer.status_code, words in answer.text) == (422, True)
