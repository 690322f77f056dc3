"""A business of the sandbox whose clock is ahead: pages say which of their times are real."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from build import Shop, order
from checkout.paying import card
from conftest import MakeCheckout
from dashboard.people import People, SignedInPerson
from dashboard.test_cases import shared
from tidegate.core.clock import SystemClock
from tidegate.dashboard.format import Times, ahead_words
from waiting import until

pytestmark = pytest.mark.usefixtures("unlimited")

AHEAD = "by the real time; the clock of this business is 30 days ahead of it."


def test_how_far_a_clock_is_ahead_is_said_in_its_two_largest_units() -> None:
    now = SystemClock().now()
    words = [ahead_words(now + timedelta(seconds=by), now) for by in (-1, 59, 60, 5 * 3_600, 30 * 86_400 - 600)]
    assert words == ["", "", "1 minute", "5 hours", "29 days and 23 hours"]


async def test_a_page_with_real_times_says_so_only_where_the_clock_is_ahead(
    people: People, owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout
) -> None:
    checkout = await new_checkout(shop)
    assert (await checkout.charge(card())).status_code == 200
    at = f"/payments/{checkout.pay_code}"
    link, stranger = await shared(owner, checkout), people.browser()
    pages = (at, "/team", "/developers")
    assert ["the real time" in (await owner.get(below)).text for below in (*pages, "/audit")] == [False] * 4
    assert "by the shop’s clock" not in (await stranger.get(link)).text
    await owner.send("/sandbox/advance", at="/team", by="24h")
    await shop.client.post("/sandbox/clock", json={"advance": "696h"}, headers={"api-key": shop.secret_key})
    assert [AHEAD in (await owner.get(below)).text for below in pages] == [True] * 3
    # Of the business's own things, nothing is to be said.
    assert AHEAD not in (await owner.get("/payments")).text
    # The link lives on, by the real time.
    assert "by the shop’s clock, which is 30 days ahead" in (await stranger.get(link)).text


async def test_each_line_of_the_audit_log_says_which_time_it_has(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, admin: Any
) -> None:
    await owner.make_link()
    assert "real time" not in (await owner.get("/audit")).text
    await shop.client.post("/sandbox/clock", json={"advance": "720h"}, headers={"api-key": shop.secret_key})
    # By the clock of the business, and by the real one.
    await owner.make_link(name="Later")
    await owner.send("/team/invitations", at="/team", email="g@new.example", role="viewer")
    page = (await owner.get("/audit")).text
    assert "The clock of this business is 30 days ahead of the real time." in page
    rows = re.findall(r"<tr><td class=\"rest muted\">(.*?)</td>", page)
    written = await admin.fetchval(
        "SELECT written_at FROM audit WHERE action = 'payment_link.created' ORDER BY id DESC"
    )
    zone = await admin.fetchval("SELECT time_zone FROM business WHERE id = $1", shop.business_id)
    really = Times(zone, SystemClock().now() + timedelta(days=30))
    assert [re.findall(r'muted">(real time|really [^<]*)<', row) for row in rows[:3]] == [
        ["real time"], [f"really {really.short(written)}"], ["real time"],
    ]  # fmt: skip


async def test_errors_alike_are_those_of_the_last_real_days(owner: SignedInPerson, shop: Shop, admin: Any) -> None:
    assert (await shop.create(order(amount="-1"))).status_code == 422
    await shop.client.post("/sandbox/clock", json={"advance": "720h"}, headers={"api-key": shop.secret_key})

    async def is_logged() -> bool:
        return bool(await admin.fetchval("SELECT count(*) FROM request_log WHERE status = 422"))

    await until(is_logged)
    page = (await owner.get("/developers")).text
    assert re.search(r'id="g">Errors alike', page)
