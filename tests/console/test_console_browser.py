"""The console in a real browser: nothing for axe to find, nothing sideways, no report of our policy."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from markupsafe import escape
from playwright.async_api import Browser, Page

from bank.world import BankWorld
from bank_file_maker import camt_file, entry
from browser import open_context
from build import Checkout, Shop
from checkout.paying import WITHOUT_MONEY, card
from conftest import MakeCheckout
from console.people import SignedInStaff, let_refunds_wait
from console.test_staff_approvals import decide, held, open_approval, proposed, rail_resumed
from console.test_staff_roles import table_of
from dashboard.people import People
from dashboard.test_browser import VIEWS, look_at
from dispute.test_disputes import DUE_AT
from inflow import DIFFERENT, Inflows, credit
from pages.hostile import RUN
from tidegate.core.money import Currency, Money
from tidegate.intake import commands as intake
from tidegate.member.permission import Role
from tidegate.rail.event import DisputeChanged, DisputeStatus, Notification
from tidegate.runtime import Runtime
from tidegate.webhook import queue
from tidegate.webhook.field import delivery_id
from tidegate.webhook.model import EVENTS

PAGES = (
    "", "/find?q=x", "/find?q=order", "/payments/{business}/{payment}", "/refunds/{business}/{payment}",
    "/taken/NGN", "/alarms", "/alarms/{alarm}",
    "/merchants", "/merchants/{business}", "/merchants/{business}/keys", "/merchants/{business}/wallets/NGN",
    "/approvals", "/accounts",
    "/accounts/{account}", "/held",
    "/held?status=returned", "/held/{held}", "/held/{returned}", "/refunds/{business}/{inflow}",
    "/suspense", "/suspense/{receipt}", "/suspense/{closed}", "/quarantine?subject={quarantined}",
    "/stuck", "/stuck/refund/{business}/{refund}",
    "/disputes", "/bank",
    "/bank/{business}/{payout}",
    "/rails", "/rates", "/rates?base=EUR&quote=NGN", "/books",
    "/books/EUR/suspense", "/books/USD/conversion", "/accounts/{opened}",
    "/webhooks", "/webhooks/{business}/{endpoint}", "/webhooks/{business}/deliveries/{delivery}",
    "/jobs", "/audit", "/erasures", "/staff", "/sandbox/people", "/sign-in",
)  # fmt: skip

# A bank's own.
LONG_ID = "FT2611150001700000000042-SETTLEMENT-OF-THE-DAY-BEFORE"
UNFOLDED = ("/stuck", "/disputes", "/suspense", "/audit", "/merchants/{business}")
# They have other buttons there.
OF_APPROVER = ("/approvals", "/held/{proposed}", "/merchants/{business}")

pytestmark = pytest.mark.usefixtures("unlimited")


async def visit(browser: Browser, staff: SignedInStaff) -> Page:
    base_url = str(staff.client.base_url)
    context = await open_context(browser, base_url=base_url)
    session = staff.client.cookies["tidegate-console"]
    await context.add_cookies([{"name": "tidegate-console", "value": session, "url": base_url}])
    return await context.new_page()


@pytest.fixture
async def two_disputes(inflows: Inflows, new_checkout: MakeCheckout) -> None:
    """Of a payment, and of money in suspense."""
    checkout = await new_checkout()
    assert (await checkout.charge(card())).status_code == 200
    unclaimed = credit("DE98", 2_500)
    assert (await inflows.notify(unclaimed)).status_code == 200
    db = inflows.runtime.deps.db
    async with db.connection() as tx:
        paid = await tx.fetchval("SELECT transaction_id FROM receipt WHERE payment_id IS NOT NULL")
    for number, (transaction_id, currency) in enumerate(
        ((paid, Currency.NGN), (unclaimed["transactionId"], Currency.EUR)), start=1
    ):
        told = DisputeChanged(
            dispute_id=f"D-{number}", transaction_id=transaction_id, amount=Money(2_500, currency),
            status=DisputeStatus.OPEN, due_at=DUE_AT, reason="fraud awaiting-merchant-feedback",
        )  # fmt: skip
        notice = Notification(id=f"dispute-{number}", event=told)
        await intake.record_all(inflows.runtime.deps, "sandbox", [notice], b"{}", inflows.runtime.clock)


@pytest.fixture
async def much_to_tell(
    people: People, new_checkout: MakeCheckout, inflows: Inflows, admin: Any
) -> tuple[Checkout, int]:
    """Tried by a card without money, paid too much by transfer, partly sent back and refunded, its event not taken."""
    shop = inflows.shop
    await admin.execute("UPDATE business SET variance_policy = 'return' WHERE id = $1", shop.business_id)
    owner = await people.person(shop, Role.OWNER)
    await owner.send("/webhooks/endpoints", at="/webhooks", url="https://hooks.averylongnameofashop.example.com/in")
    await new_checkout(shop, reference="ORDER-1043", amount=900)
    payer = {"name": "Chidinma Eze", "email": "chidinma.eze@example.com"}
    payment = await new_checkout(shop, reference="ORDER-1044", amount=12_500, customer=payer)
    assert (await payment.charge(card(WITHOUT_MONEY))).status_code == 200
    await payment.transfer(await payment.account(), "14000.00")
    refund = {"transReference": payment.pay_code, "amount": 500}
    assert (await inflows.call("POST", "/collections/refund", refund)).status_code == 200
    await admin.execute(TOLD)
    await queue.fan_out(inflows.runtime.db, inflows.now)
    found = await admin.fetchrow("SELECT business_id, id FROM webhook_delivery ORDER BY id LIMIT 1")
    await admin.execute(
        """
        INSERT INTO webhook_attempt (business_id, delivery_id, number, url, started_at, duration_ms, status_code, body)
        VALUES ($1, $2, 1, 'https://hooks.averylongnameofashop.example.com/in', now(), 12, 500, '<b>no</b>')
        """,
        *found,
    )
    await admin.execute(
        """
        UPDATE webhook_delivery SET attempts = 1, failures = 1, due_at = now() + interval '1 hour'
         WHERE business_id = $1 AND id = $2
        """,
        *found,
    )
    return payment, found["id"]


# What workers and an operator have told.
TOLD = """
    INSERT INTO job_round (business_id, job, every_s, ended_at, lasted_ms, done, failed, error, failed_at)
    VALUES ('000000000000000000000000', 'send_mail', 1, now(), 12, 3, 0, NULL, NULL),
           ('000000000000000000000000', 'return_overdue_inflows', 60, now() - interval '10 min', 12345, 0, 1,
            'Unavailable: the database does not answer; it is tried again', now());
    INSERT INTO break_note (business_id, rail, kind, transaction_id, sides, note, noted_by, noted_at)
    VALUES ('000000000000000000000000', 'sandbox', 'amount', 'FT26111500017',
            'rail: in NGN 99.99, books: in NGN 100.00 done', 'The rail rounds.', 'operator', now());
    INSERT INTO erasure (id, asked_at, found, approved_by, erased, ended_at)
    VALUES ('erasure_0123456789abcdef', now(), '{"rows": {"payments": 3}, "left": {"open": 1}}', 'operator',
            '{"payments": 3, "answers": 12}', now())
"""
ASKED = """
    INSERT INTO account_question
           (business_id, account_id, question, asked_by, asked_at, answer, answered_by, answered_at)
    SELECT business_id, id, question, 'operator', now(), answer, answered_by, answered_at FROM virtual_account,
           (VALUES ('Who owns it?', 'Ada Obi.', 'person/1', now()), ('Where does she live?', NULL, NULL, NULL))
           AS asked (question, answer, answered_by, answered_at)
     WHERE status = 'pending'
"""


@pytest.fixture
def both(operator: SignedInStaff, approver: SignedInStaff) -> tuple[SignedInStaff, SignedInStaff]:
    return operator, approver


@pytest.fixture
async def names(
    two_disputes: None, both: tuple[SignedInStaff, SignedInStaff], inflows: Inflows, admin: Any,
    much_to_tell: tuple[Checkout, int],
) -> AsyncIterator[dict[str, Any]]:  # fmt: skip
    """Something on every page, and what stands in their addresses."""
    (operator, approver), (payment, delivery) = both, much_to_tell
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.10")
    converted = await inflows.notified(credit(await inflows.number(Currency.EUR, Currency.USD), 3_900_00))
    credited = await inflows.notified(credit(await inflows.number(), 3_900_00))
    refund = {"transReference": credited["reference"], "amount": 5}
    assert (await inflows.call("POST", "/collections/refund", refund)).status_code == 200
    await let_refunds_wait(admin)
    returned = await inflows.notified(credit(await inflows.number(), payeeName=DIFFERENT))
    await admin.execute("UPDATE money_return SET status = 'failed', failure = 'closed account', next_try_at = NULL")
    first, second = await held(inflows), await held(inflows)
    assert (await inflows.notify(credit("DE97", 4_500))).status_code == 200
    closed = await admin.fetchval("SELECT max(id) FROM receipt WHERE outcome = 'suspense'")
    at = f"/suspense/{closed}"
    assert (await operator.send(at, at=at, what="close", why="paid back at the bank")).status_code == 303
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    await proposed(operator, second)
    assert (await inflows.ask_for()).status_code == 201
    await admin.execute(ASKED)
    assert (await inflows.notify(credit("DE99", 7_500))).status_code == 200
    await inflows.set_rate(Currency.EUR, Currency.NGN, "1650.5")
    await operator.send("/books/prove", at="/books")
    await admin.execute(
        """
        INSERT INTO alarm (business_id, rule, subject, sentence, page, raised_at)
        VALUES ('000000000000000000000000', 'rail_failing', 'x', 'sandbox in NGN: 30 of 40 attempts failed.', '/rails',
                now())
        """
    )
    await admin.execute(
        """
        INSERT INTO leased_work (business_id, kind, id, next_try_at, failures, last_error, parked_at)
        VALUES ($1, 'send_returns', 'ret_1', 'infinity', 20, 'the rail did not answer', now())
        """,
        inflows.shop.business_id,
    )
    await admin.execute(
        """
        INSERT INTO bank_payout (business_id, reference, kind, transaction_id, account_number, currency, amount_minor,
                                 end_to_end_id, payee_name, payee_account, remittance, proposed_by, proposed_at)
        VALUES ($1, 'rt_1', 'return', 't', 'DE89370400440532013000', 'EUR', 25000, 'rt-1', 'Zeta Ltd',
                'NL91ABNA0417164300', 'Return of 2026111500017: the name differs', 'tidegate', now())
        """,
        inflows.shop.business_id,
    )
    said = credit(await inflows.number(), 1_200)
    for minor in (1_200, 1_300):
        assert (await inflows.notify({**said, "amount": str(minor)})).status_code == 200
    await admin.execute("UPDATE business SET email = 'payments.department@averylongnameofashop.example.com'")
    await admin.execute(
        """
        INSERT INTO takings (business_id, hour, currency, method, payments, received_minor, fee_minor, settled_minor)
        SELECT $1, date_trunc('hour', now()) - make_interval(hours => number), 'NGN', 'card', number, 100, 0, 100
          FROM generate_series(1, 20) AS number
        """,
        inflows.shop.business_id,
    )
    arrived = await admin.fetchval("SELECT transaction_id FROM collection ORDER BY id LIMIT 1")
    day = f"{inflows.now:%Y-%m-%d}"
    lines = (f"FT1,in,9,EUR,{day}", f"{arrived},in,3899.99,EUR,{day}", f"{LONG_ID},out,12345678901.25,EUR,{day}")
    statement = "\n".join(["transactionId,direction,amount,currency,bookedAt", *lines])
    fields = {"token": (await operator.fields("/reconcile"))["token"], "rail": "sandbox"}
    files = {"file": ("s.csv", statement.encode(), "text/csv")}
    assert (await operator.client.post("/console/reconcile", data=fields, files=files)).status_code == 303
    assert (await operator.send("/rails/sandbox/pause", at="/rails", reason="it answers wrongly")).status_code == 303
    contradicted = credit(await inflows.number(), 1_234_56)
    for amount in ("123456", "123465"):
        assert (await inflows.notify({**contradicted, "amount": amount})).status_code == 200
    quarantined = await admin.fetchval("SELECT rail || '/' || id FROM notification WHERE state = 'quarantined'")
    yield {
        "quarantined": quote(quarantined, safe=""),
        "payment": payment.pay_code,
        "delivery": delivery_id(delivery),
        "endpoint": await admin.fetchval("SELECT id FROM webhook_endpoint"),
        "payout": "rt_1",
        "refund": await admin.fetchval("SELECT reference FROM refund ORDER BY id DESC LIMIT 1"),
        "business": inflows.shop.business_id,
        "held": first,
        "proposed": second,
        "returned": returned["reference"],
        "closed": closed,
        "inflow": converted["reference"],
        "account": await admin.fetchval("SELECT id FROM virtual_account WHERE status = 'pending'"),
        "opened": await admin.fetchval("SELECT id FROM virtual_account WHERE status = 'approved' ORDER BY id LIMIT 1"),
        "receipt": await admin.fetchval("SELECT id FROM receipt WHERE outcome = 'suspense'"),
        "alarm": await admin.fetchval("SELECT id FROM alarm"),
    }
    await rail_resumed(operator, approver, admin, inflows.runtime)
    # The takings are of no payment, and a return that failed is to be seen to: the books would say so.
    await admin.execute("DELETE FROM takings")
    await admin.execute("UPDATE money_return SET status = 'sent', failure = NULL")


async def test_every_page_on_a_dark_phone_and_on_a_desk(
    browser: Browser, both: tuple[SignedInStaff, SignedInStaff], names: dict[str, Any]
) -> None:
    operator, approver = both
    problems: list[str] = []
    page = await visit(browser, operator)
    problems += await look_at(page, "/console/reconcile", "console-reconcile", (*VIEWS, (1024, "light")))
    for below in PAGES:
        name = re.sub(r"[^a-z]+", "-", below).strip("-") or "overview"
        unfolds = below in UNFOLDED
        problems += await look_at(
            page, f"/console{below.format(**names)}", f"console-{name}", VIEWS[:4], unfolds=unfolds
        )
    page = await visit(browser, approver)
    for below in OF_APPROVER:
        name = re.sub(r"[^a-z]+", "-", below).strip("-")
        problems += await look_at(page, f"/console{below.format(**names)}", f"console-approver-{name}", VIEWS[:4])
    assert problems == []


def test_no_page_is_left_out(runtime: Runtime) -> None:
    """Reconciling is looked at in a width of its own; the search for what is refunded leads to other pages."""
    seen = [one.partition("?")[0] for one in (*PAGES, "/reconcile", "/refunds/{business}")]
    pages = {row.path: re.sub(r"\{\w+\}", "[^/]+", row.path) for row in table_of(runtime) if row.method == "GET"}
    assert {path for path, pattern in pages.items() if not any(re.fullmatch(pattern, one) for one in seen)} == set()


# Names of fields, values and actions, as programs write them: refund_converted, firstName, business.changed.
RAW = re.compile(r"(?<![\w./:@#-])(?:[a-z]+(?:_[a-z]+)+|[a-z]+(?:[A-Z][a-z]+)+|[a-z]+(?:_[a-z]+)*\.[a-z_]+)(?![\w@/-])")
# What is shown as it was sent or is to be typed, and what is seen by nobody.
AS_IT_IS = re.compile(r'<(pre|code|head|script|style|svg)\b.*?</\1>|<table class="versions">.*?</table>', re.DOTALL)
TAG = re.compile(r"<[^>]*>")
OF_ADDRESSES = (".com", ".example", ".csv", ".xml")


def raw_names_in(page: str) -> set[str]:
    text = html.unescape(TAG.sub(" ", AS_IT_IS.sub(" ", page)))
    return {one for one in RAW.findall(text) if not one.endswith(OF_ADDRESSES) and one not in EVENTS}


async def test_no_page_shows_a_name_as_programs_write_it(
    both: tuple[SignedInStaff, SignedInStaff], names: dict[str, Any]
) -> None:
    assert raw_names_in("<p>the rate_burst of a.b, <code>x_y</code> firstName payment.completed at a.example</p>") == {
        "rate_burst", "a.b", "firstName", "payment.completed",
    } - set(EVENTS)  # fmt: skip
    operator, _ = both
    found = {below: raw_names_in((await operator.get(below.format(**names))).text) for below in PAGES}
    assert {below: raw for below, raw in found.items() if raw} == {}


HOSTILE = (
    f'"><img src=x onerror={RUN}><script>{RUN}</script>',
    f"'><svg onload={RUN}></title></pre></textarea>{{{{7*7}}}}",
)
# Columns with what strangers and merchants choose, rails say, or one of the staff types.
WRITTEN = {
    name: name.partition(".")
    for name in (
        "business.name", "alarm.sentence", "leased_work.last_error", "break_note.note", "account_question.question",
        "collection.payee_name", "collection.remittance", "collection.note", "refund.reason", "refund.note",
        "bank_payout.payee_name", "bank_payout.remittance", "approval.reason", "rail_pause.reason", "dispute.reason",
        "suspense_decision.note", "money_return.failure", "webhook_attempt.body", "exchange_rate.source",
        "payment.customer_name", "virtual_account.holder", "collection.payer", "receipt.payer",
    )
}  # fmt: skip
NAMED = ("collection.payer", "receipt.payer")


@pytest.mark.parametrize("text", HOSTILE)
async def test_no_text_runs_on_any_page(
    browser: Browser, both: tuple[SignedInStaff, SignedInStaff], names: dict[str, Any], admin: Any, text: str
) -> None:
    for name, (table, _, column) in WRITTEN.items():
        value = f"{column} || jsonb_build_object('name', $1::text)" if name in NAMED else "$1"
        await admin.execute(f"UPDATE {table} SET {column} = {value}", f"{name} {text}")
    operator, _ = both
    page, unseen = await visit(browser, operator), set(WRITTEN)
    for below in (*PAGES, "/reconcile"):
        address = operator.path(below.format(**names))
        source = (await operator.client.get(address, follow_redirects=True)).text
        assert text not in source, below
        unseen -= {name for name in WRITTEN if f"{name} {escape(text)}" in source}
        await page.goto(address)
        assert await page.evaluate("window.hasRun") is None, below
        assert await page.locator("[src=x], svg[onload]").count() == 0, below
    # The letters of a name that differ are marked one by one.
    assert unseen == {"collection.payee_name"}


@pytest.fixture
def bank(shop: Shop, runtime: Runtime, admin: Any, tmp_path: Path) -> BankWorld:
    return BankWorld.of(shop, runtime, admin, tmp_path)


async def test_entries_of_a_bank_that_need_a_decision_with_their_forms(
    browser: Browser, operator: SignedInStaff, bank: BankWorld
) -> None:
    """A reversal that several credits fit, a credit that contradicts another, and one that is proposed already."""
    number = await bank.account()
    back = entry(is_credit=False, is_reversal=True, reference="REV-1")
    await bank.bring(
        camt_file(*(entry(destination=number, reference=text) for text in ("A", "B")), back, sequence=1),
        "camt053-DE89370400440532013000-EUR-2026-11-15-000000000000000001-final.xml",
    )
    await bank.bring(camt_file(entry("260.00", reference="A"), entry("1.005", reference="C"), sequence=4, id="S-4"))
    at = f"{await bank.admin.fetchval('SELECT file_id FROM bank_entry WHERE amount = 1.005')}/2"
    given = {"subject": at, "decision": "settle", "why": "the bank corrects it"}
    assert (await operator.send("/bank/decide", at="/bank", **given)).status_code == 303
    page = await visit(browser, operator)
    assert await look_at(page, "/console/bank", "console-bank-decisions", VIEWS, unfolds=True) == []


async def test_payments_by_the_hour_are_as_wide_as_their_card(
    browser: Browser, operator: SignedInStaff, new_checkout: MakeCheckout, admin: Any
) -> None:
    assert (await (await new_checkout()).charge(card())).status_code == 200
    await admin.execute(
        """
        INSERT INTO takings (business_id, hour, currency, method, payments, received_minor, fee_minor, settled_minor)
        SELECT id, now() - interval '2 h', 'NGN', 'card', 4, 100, 0, 100 FROM business WHERE id NOT LIKE '0000%'
        """
    )
    page = await visit(browser, operator)
    await page.goto("/console")
    chart, section = page.locator("svg.chart"), page.locator("section[aria-labelledby=hours]")
    drawn, around = await chart.bounding_box(), await section.bounding_box()
    assert drawn
    assert around
    assert drawn["width"] > 0.9 * around["width"]
    await admin.execute("DELETE FROM takings")


async def test_ctrl_k_goes_to_the_search(browser: Browser, operator: SignedInStaff) -> None:
    page = await visit(browser, operator)
    await page.goto("/console/rails")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("nothing-at-all")
    await page.keyboard.press("Enter")
    await page.get_by_text("Nothing is called “nothing-at-all”").wait_for()


@pytest.mark.parametrize("width", [390, 1280])
async def test_why_an_inflow_was_returned_is_three_clicks_from_the_overview(
    browser: Browser, operator: SignedInStaff, inflows: Inflows, width: int
) -> None:
    """Through the lists, and by its reference in the search."""
    returned = await inflows.notified(credit(await inflows.number(), payeeName=DIFFERENT))
    answer = re.compile("name given is not", re.IGNORECASE)
    page = await visit(browser, operator)
    await page.set_viewport_size({"width": width, "height": 900})
    await page.goto("/console")
    await page.get_by_role("main").get_by_role("link", name="Held inflows").click()
    await page.get_by_role("link", name="Returned", exact=True).click()
    await page.get_by_role("main").get_by_role("row").get_by_role("link").first.click()
    await page.get_by_text(answer).first.wait_for()
    await page.goto("/console")
    await page.get_by_role("searchbox").first.fill(returned["reference"])
    await page.keyboard.press("Enter")
    await page.get_by_text(answer).first.wait_for()


async def test_a_comparison_is_as_wide_as_its_screen(
    browser: Browser, operator: SignedInStaff, inflows: Inflows
) -> None:
    """Neither the page nor a table within its card has a part that is out of sight."""
    await inflows.notified(credit(await inflows.number(), 3_900_00))
    day = f"{inflows.now:%Y-%m-%d}"
    lines = [f"{LONG_ID}-{number},out,12345678901.25,EUR,{day}" for number in range(3)]
    statement = "\n".join(["transactionId,direction,amount,currency,bookedAt", *lines])
    fields = {"token": (await operator.fields("/reconcile"))["token"], "rail": "sandbox"}
    files = {"file": ("s.csv", statement.encode(), "text/csv")}
    assert (await operator.client.post("/console/reconcile", data=fields, files=files)).status_code == 303
    page = await visit(browser, operator)
    await page.goto(operator.path("/reconcile"))
    for width in (360, 390, 768, 1024, 1280):
        await page.set_viewport_size({"width": width, "height": 900})
        wide = "() => [document.documentElement, ...document.querySelectorAll('.card')]"
        over = await page.evaluate(f"{wide}.map(one => one.scrollWidth - one.clientWidth)")
        assert max(over) <= 0, (width, over)


@pytest.mark.usefixtures("two_disputes")
async def test_long_words_push_nothing_off_the_page(
    browser: Browser, operator: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    long = "x" * 200
    await inflows.notified(credit(await inflows.number(), payeeName=DIFFERENT))
    await admin.execute("UPDATE collection SET note = $1", long)
    await admin.execute("UPDATE business SET name = $1 WHERE id = $2", "N" * 100, inflows.shop.business_id)
    await operator.send(f"/merchants/{inflows.shop.business_id}/cards", at=f"/merchants/{inflows.shop.business_id}",
                        what="pause", reason=long)  # fmt: skip
    page = await visit(browser, operator)
    for below in ("/audit", "/held?status=returned", "/merchants", "/disputes"):
        await page.goto(operator.path(below))
        for width in (390, 1024, 1280):
            await page.set_viewport_size({"width": width, "height": 900})
            wide = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert await page.evaluate(wide) <= 0, (below, width)
