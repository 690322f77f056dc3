"""Rates in the console: which are used, what an inflow without one says, and what a proposal of one tells."""

from __future__ import annotations

from datetime import timedelta

import pytest

from console.people import SignedInStaff
from inflow import Inflows, credit
from tidegate.account import document
from tidegate.core.money import Currency
from tidegate.rail.bankfiles.ecb import FILE_BYTES_MAX

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


@pytest.mark.parametrize("is_too_large", [False, True], ids=["unreadable", "too large"])
async def test_what_was_typed_beside_a_file_of_rates_that_is_refused_is_kept(
    operator: SignedInStaff, is_too_large: bool
) -> None:
    body = b"x" * (FILE_BYTES_MAX + 100_000 if is_too_large else 10)
    fields = {"token": (await operator.fields("/rates"))["token"], "spread": "0.75", "why": "daily & <b>"}
    answer = await operator.client.post("/console/rates/import", data=fields, files={"file": ("a.xml", body)})
    assert answer.status_code == (413 if is_too_large else 422)
    assert 'id="f-file-spread" name="spread" value="0.75"' in answer.text
    assert 'id="f-file-why" name="why" value="daily &amp; &lt;b&gt;"' in answer.text
    # Not in the form beside it.
    assert answer.text.count('value="0.75"') == 1


async def test_what_another_site_typed_is_not_shown_beside_a_file_that_is_too_large(operator: SignedInStaff) -> None:
    files = {"file": ("a.xml", b"x" * (FILE_BYTES_MAX + 100_000))}
    answer = await operator.client.post("/console/rates/import", data={"token": "x", "why": "pay me"}, files=files)
    assert (answer.status_code, "pay me" in answer.text) == (413, False)


async def test_the_name_of_a_document_that_is_too_large_is_kept(operator: SignedInStaff, inflows: Inflows) -> None:
    at = f"/accounts/{(await inflows.account()).id}"
    fields = {"token": (await operator.fields(at))["token"], "name": "Passport"}
    files = {"file": ("a.pdf", b"x" * (document.BYTES_MAX + 100_000))}
    answer = await operator.client.post(f"/console{at}/documents", data=fields, files=files)
    assert (answer.status_code, 'value="Passport"' in answer.text) == (413, True)


async def test_a_wrong_spread_of_a_file_is_said_at_its_own_field(operator: SignedInStaff) -> None:
    fields = {"token": (await operator.fields("/rates"))["token"], "spread": "much", "why": "daily"}
    answer = await operator.client.post("/console/rates/import", data=fields, files={"file": ("a.xml", b"x")})
    assert (answer.status_code, answer.text.count('id="w-file-spread"'), 'id="w-spread"' in answer.text) == (
        422,
        1,
        False,
    )
    assert 'href="#f-file-spread"' in answer.text


async def test_a_proposal_of_a_rate_has_its_source_and_arrows_only_where_something_changes(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows
) -> None:
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.10", spread=50)
    fields = {"base": "EUR", "quote": "USD", "rate": "1.10", "source": "ecb", "why": "daily"}
    assert (await operator.send("/rates", at="/rates", **fields)).status_code == 303
    page = (await approver.get("/approvals")).text
    for words in (
        "<dt>1 EUR in USD</dt><dd>1.10, as now",
        "<dt>Spread</dt><dd>0.50 %",
        "<dt>Source</dt><dd>desk → ecb",
    ):
        assert words in page, words
