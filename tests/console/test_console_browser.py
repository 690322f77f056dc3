"""The console in a real browser: nothing for axe to find, nothing sideways, no report of our policy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page

from bank.world import BankWorld
from bank_file_maker import camt_file, entry
from browser import chromium
from build import Shop
from checkout.paying import card
from conftest import MakeCheckout
from console.people import SignedInStaff
from console.test_staff_approvals import decide, held, open_approval, proposed
from dashboard.test_browser import VIEWS, look_at
from dispute.test_disputes import DUE_AT
from inflow import DIFFERENT, Inflows, credit
from tidegate.core.money import Currency, Money
from tidegate.intake import commands as intake
from tidegate.rail.event import DisputeChanged, DisputeStatus, Notification
from tidegate.runtime import Runtime

PAGES = (
    "", "/find?q=x",
    "/alarms", "/merchants", "/merchants/{business}", "/approvals", "/accounts", "/accounts/{account}", "/held",
    "/held?status=returned", "/held/{held}", "/held/{returned}", "/refunds/{business}/{inflow}",
    "/suspense", "/suspense/{receipt}", "/suspense/{closed}", "/stuck", "/disputes", "/bank",
    "/bank/{business}/{payout}",
    "/rails", "/rates", "/reconcile", "/books",
    "/books/EUR/suspense",
    "/webhooks", "/jobs", "/audit", "/staff", "/sandbox/people", "/sign-in",
)  # fmt: skip

# They have other buttons there.
OF_APPROVER = ("/approvals", "/held/{proposed}")

pytestmark = pytest.mark.usefixtures("unlimited")


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as opened:
        yield opened


async def visit(browser: Browser, staff: SignedInStaff) -> Page:
    base_url = str(staff.client.base_url)
    context = await browser.new_context(base_url=base_url)
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


@pytest.mark.usefixtures("two_disputes")
async def test_every_page_on_a_dark_phone_and_on_a_desk(
    browser: Browser, approver: SignedInStaff, operator: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.10")
    converted = await inflows.notified(credit(await inflows.number(Currency.EUR, Currency.USD), 3_900_00))
    credited = await inflows.notified(credit(await inflows.number(), 3_900_00))
    refund = {"transReference": credited["reference"], "amount": 5}
    assert (await inflows.call("POST", "/collections/refund", refund)).status_code == 200
    await admin.execute("UPDATE refund SET initiated_at = initiated_at - interval '1 hour'")
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
    names = {
        "payout": "rt_1",
        "business": inflows.shop.business_id,
        "held": first,
        "proposed": second,
        "returned": returned["reference"],
        "closed": closed,
        "inflow": converted["reference"],
        "account": await admin.fetchval("SELECT id FROM virtual_account WHERE status = 'pending'"),
        "receipt": await admin.fetchval("SELECT id FROM receipt WHERE outcome = 'suspense'"),
    }
    problems: list[str] = []
    page = await visit(browser, operator)
    for below in PAGES:
        name = below.strip("/").replace("/", "-").replace("{", "").replace("}", "") or "overview"
        unfolds = below in ("/stuck", "/disputes")
        problems += await look_at(page, f"/console{below.format(**names)}", f"console-{name}", unfolds=unfolds)
    page = await visit(browser, approver)
    for below in OF_APPROVER:
        name = below.strip("/").replace("/", "-").replace("{", "").replace("}", "")
        problems += await look_at(page, f"/console{below.format(**names)}", f"console-approver-{name}")
    # The takings are of no payment, and a return that failed is to be seen to: the books would say so.
    await admin.execute("DELETE FROM takings")
    await admin.execute("UPDATE money_return SET status = 'sent', failure = NULL")
    assert problems == []


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
