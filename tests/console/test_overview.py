"""The overview: how rails are, when a statement was compared last, and what makes its amounts."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from build import Shop
from conftest import MakeCheckout, MakeShop
from console.people import SignedInStaff, StaffPeople
from console.test_reconciling import Reconciling
from console.test_staff_approvals import rail_resumed
from earlier import earlier
from inflow import Inflows, credit
from tidegate.alarm.health_store import RailHour
from tidegate.console import overview
from tidegate.console.rail_state import FAILING, PAUSED, QUIET, WORKING, RailState, rail_lines, state_of
from tidegate.console.shell import PATH
from tidegate.core.money import Currency
from tidegate.staff.permission import StaffRole

pytestmark = pytest.mark.usefixtures("unlimited")

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def hour(succeeded: int, failed: int, rail: str = "r") -> RailHour:
    return RailHour(rail, "NGN", succeeded, failed, 3)


@pytest.mark.parametrize(
    ("one", "is_heard", "is_paused", "expected"),
    [
        (hour(9, 11), True, False, FAILING),
        (hour(9, 11), True, True, PAUSED),
        (hour(10, 10), True, False, WORKING),
        (hour(1, 0), False, False, WORKING),
        (hour(0, 3), False, False, QUIET),
        (None, True, False, WORKING),
        (None, False, False, QUIET),
        (None, False, True, PAUSED),
    ],
)
def test_the_state_of_a_rail(one: RailHour | None, is_heard: bool, is_paused: bool, expected: RailState) -> None:
    assert state_of(one, is_heard=is_heard, is_paused=is_paused) == expected


def test_a_rail_without_payments_has_a_line_too_and_an_old_word_says_nothing() -> None:
    heard = {"bankfiles": NOW - 3 * HOUR, "paid": NOW}
    lines = rail_lines(["bankfiles", "paid"], [hour(5, 0, "paid")], heard, (), since=NOW - HOUR)
    assert [(one.rail, one.state, one.heard_at) for one in lines] == [
        ("paid", WORKING, NOW),
        ("bankfiles", QUIET, NOW - 3 * HOUR),
    ]


async def test_a_rail_works_when_it_was_heard_and_is_paused_when_somebody_paused_it(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    assert "Quiet" in rails_of((await operator.get()).text)
    await inflows.notified(credit(await inflows.number()))
    assert re.search(r"sandbox.*last word <time.*Working", rails_of((await operator.get()).text), re.DOTALL)
    await operator.send("/rails/sandbox/pause", at="/rails", reason="it answers wrongly")
    words = rails_of((await operator.get()).text)
    assert ("Paused" in words, "Working" in words) == (True, False)
    await rail_resumed(operator, approver, admin, inflows.runtime)


def rails_of(page: str) -> str:
    return page.partition('aria-labelledby="rails"')[2].partition("</section>")[0]


async def test_whoever_compared_a_statement_last_is_on_the_overview(
    operator: SignedInStaff, approver: SignedInStaff, staff: StaffPeople
) -> None:
    assert "Last reconciled</dt><dd>not yet" in (await approver.get()).text
    day = "2026-11-10"
    await Reconciling(operator).upload(f"FT1,in,9,EUR,{day}", f"FT2,in,9,EUR,{day}", rail="sandbox")
    auditor = await staff.person(StaffRole.AUDITOR)
    for one in (approver, auditor):
        page = (await one.get()).text
        assert re.search(r"Last reconciled</dt><dd>sandbox, \d\d:\d\d<small>2 lines, 2 breaks</small>", page)


async def test_what_was_taken_opens_the_merchants_that_took_it(
    operator: SignedInStaff, new_shop: MakeShop, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shops = [await new_shop() for _ in range(3)]
    for shop, minor, hours in ((shops[0], 1_000_00, 2), (shops[1], 500_00, 3), (shops[1], 200_00, 4)):
        await put_takings(admin, shop, minor, hours)
    await put_takings(admin, shops[2], 999_00, 30)
    assert '<a class="door" href="/console/taken/NGN">₦1,700.00</a>' in (await operator.get()).text
    page = (await operator.get("/taken/NGN")).text
    rows = re.findall(r'merchants/([0-9a-f]{24})">.*?<td class="num">(.*?)</td><td class="num">(\d+)</td>', page)
    assert rows == [(shops[0].business_id, "₦1,000.00", "1"), (shops[1].business_id, "₦700.00", "2")]
    assert ("₦1,700.00" in page, "All others" in page) == (True, False)
    monkeypatch.setattr(overview, "MERCHANTS_MAX", 1)
    assert re.search(r"All others</th><td class=\"num\">₦700\.00", (await operator.get("/taken/NGN")).text)
    await operator.get("/taken/XXX", status=404)
    await admin.execute("DELETE FROM takings")


async def test_what_was_not_paid_stands_beside_what_was_taken(
    operator: SignedInStaff, new_checkout: MakeCheckout, admin: Any
) -> None:
    """Of payments that were made in the last 24 hours; also of a currency that took nothing."""
    first = await new_checkout()
    for currency, hours in (("NGN", 1), ("NGN", 1), ("KES", 2), ("NGN", 30)):
        made = await new_checkout(first.shop, currency=currency)
        back = earlier("created_at", f"{hours} hours")
        await admin.execute(f"UPDATE payment SET status = 'expired', {back} WHERE pay_code = $1", made.pay_code)
    await put_takings(admin, first.shop, 900_00, 2)
    cells = re.findall(
        r'<tr><th scope="row">(\w+)<span class="sub">(.*?)</span>.*?<td class="num">([^<]*)</td><td class="num rest">',
        (await operator.get()).text.partition('aria-labelledby="taken"')[2].partition("</section>")[0], re.DOTALL,
    )  # fmt: skip
    await admin.execute("DELETE FROM takings")
    assert cells == [("KES", "0 paid, 1 not", "0.0%"), ("NGN", "1 paid, 2 not", "33.3%")]


async def test_what_a_merchant_with_a_clock_ahead_was_told_is_not_of_the_future(
    operator: SignedInStaff, inflows: Inflows
) -> None:
    await inflows.let_pass("720h")
    await inflows.notified(credit(await inflows.number()))
    assert "by a merchant’s clock that is ahead" in rails_of((await operator.get()).text)
    assert "by a merchant’s clock that is ahead" in (await operator.get("/rails")).text


async def put_takings(admin: Any, shop: Shop, minor: int, hours: int) -> None:
    await admin.execute(
        """
        INSERT INTO takings (business_id, hour, currency, method, payments, received_minor, fee_minor, settled_minor)
        VALUES ($1, now() - make_interval(hours => $3), 'NGN', 'card', 1, $2, 0, $2)
        """,
        shop.business_id, minor, hours,
    )  # fmt: skip


async def test_what_waits_says_how_much_money_and_is_marked_when_it_is_old(
    operator: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    await inflows.notified(credit(await inflows.number(into=Currency.NGN), 50_00))
    assert (await inflows.notify(credit("DE99", 20_00))).status_code == 200
    page = (await operator.get()).text
    for below, words in (("/held", "€50.00"), ("/suspense", "€20.00")):
        assert re.search(rf'href="{PATH}{below}">[^<]*</a><br><span class="small muted">{words}<', page), below
    assert 'class="state warn">oldest' not in page
    await admin.execute(f"UPDATE receipt SET {earlier('created_at', '3 days')} WHERE outcome = 'suspense'")
    assert 'class="state warn">oldest 3 d' in (await operator.get()).text


async def test_the_books_are_proven_from_the_overview(operator: SignedInStaff) -> None:
    page = (await operator.get()).text
    assert 'action="/console/books/prove"' in page
    assert 'href="/console/reconcile">Reconcile a file' in page
