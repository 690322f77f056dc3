"""Rates in the console: which are used, what an inflow without one says, and what a proposal of one tells."""

from __future__ import annotations

from datetime import timedelta

import pytest

from console.people import SignedInStaff
from inflow import Inflows, credit
from tidegate.core.money import Currency

pytestmark = pytest.mark.usefixtures("unlimited")


async def test_a_rate_that_is_too_old_is_not_said_to_be_in_use(operator: SignedInStaff, inflows: Inflows) -> None:
    minutes = inflows.runtime.deps.inflow_terms.rate_lasts // timedelta(minutes=1)
    old = inflows.runtime.clock.now() - timedelta(minutes=minutes + 1)
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.10", quoted_at=old)
    page = (await operator.get("/rates")).text
    assert ("In use" in page, "Too old to use" in page) == (False, True)
    assert f"A rate is used for {minutes} minutes after its quote (TIDEGATE_RATE_LASTS_MINUTES)." in page
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.10")
    page = (await operator.get("/rates")).text
    assert ("In use" in page, "Too old to use" in page) == (True, False)


async def test_an_inflow_held_for_want_of_a_rate_leads_to_the_page_that_sets_it(
    operator: SignedInStaff, inflows: Inflows
) -> None:
    at = f"/held/{(await inflows.notified(credit(await inflows.number(into=Currency.NGN))))['reference']}"
    page = (await operator.get(at)).text
    assert 'href="/console/rates?base=EUR&amp;quote=NGN#set">Set the rate of EUR in NGN</a>' in page
    minutes = inflows.runtime.deps.inflow_terms.rate_lasts // timedelta(minutes=1)
    assert f"Rule: a rate is used for {minutes} minutes after its quote (TIDEGATE_RATE_LASTS_MINUTES)." in page
    answer = await operator.send(at, at=at, what="credit", why="it is right")
    assert (answer.status_code, "in the console under Rates" in answer.text) == (409, True)
