"""Filters in the address of every list: what cannot be read, or is said twice, is refused and never ignored."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from build import Shop, order
from checkout.paying import card
from conftest import MakeCheckout
from dashboard.people import SignedInPerson
from tidegate.dashboard import audit, delivery_filter, inflow_pages, refunds, search_box

pytestmark = pytest.mark.usefixtures("unlimited")

# Every list, with its filters.
FILTERS = {
    "/payments": search_box.NAMES,
    "/inflows": inflow_pages.FILTERS,
    "/refunds": refunds.NAMES,
    "/webhooks": delivery_filter.NAMES,
    "/audit": audit.NAMES,
    "/developers": ("only",),
    "/wallets/NGN": ("kind", "from", "to"),
    "/links": (),
}


@pytest.fixture
async def paid(new_checkout: MakeCheckout, shop: Shop) -> None:
    """So that there is a wallet."""
    assert (await (await new_checkout(shop)).charge(card())).status_code == 200


@pytest.mark.usefixtures("paid")
@pytest.mark.parametrize("page", FILTERS)
async def test_a_filter_that_is_no_text_is_refused(owner: SignedInPerson, page: str) -> None:
    for name in (*FILTERS[page], "before"):
        for text in ("%00", "a%0Ab", "%E2%28"):
            answer = await owner.get(f"{page}?{name}={text}", status=422)
            assert "that is not text, such as a line break" in answer.text


@pytest.mark.usefixtures("paid")
@pytest.mark.parametrize("page", FILTERS)
async def test_a_filter_that_is_given_twice_is_refused_with_both(owner: SignedInPerson, page: str) -> None:
    for name in (*FILTERS[page], "before"):
        answer = await owner.get(f"{page}?{name}=one&{name}=two", status=422)
        assert ("twice, as “one” and as “two”" in answer.text, "Choose one of the list" in answer.text) == (True, False)


async def test_a_filter_that_says_the_same_twice_says_it_once(owner: SignedInPerson, shop: Shop) -> None:
    await shop.create(order(reference="ORDER-1"))
    for query in ("status=initiated&status=initiated", "status=&status=initiated", "status=initiated&status="):
        assert "ORDER-1" in (await owner.get(f"/payments?{query}")).text, query
        assert "ORDER-1" not in (await owner.get(f"/payments?{query.replace('initiated', 'failed')}")).text, query
    # Not a filter of ours: programs add such things to the links that people share.
    await owner.get("/payments?utm_source=mail&utm_source=chat&x=%00")


@pytest.mark.parametrize(
    ("query", "first", "second"),
    [
        ("q=status:failed&status=success", "“Paid” under Status", "“status:failed” in the search"),
        ("q=is:over&variance=under", "“Underpaid” under Difference", "“is:over” in the search"),
        ("q=method:card&method=ussd", "“USSD” under Method", "“method:card” in the search"),
        ("q=currency:kes&currency=NGN", "“NGN” under Currency", "“currency:kes” in the search"),
        ("q=overpaid+underpaid", "“overpaid” in the search", "“underpaid” in the search"),
        ("q=status:failed+status:paid", "“status:failed” in the search", "“status:paid” in the search"),
        ("q=a@x.com+email:b@x.com", "“a@x.com” in the search", "“email:b@x.com” in the search"),
        ("q=ref:A-1+B-2", "“ref:A-1” in the search", "“B-2” in the search"),
        ("q=%3E5+%3E6", "“&gt;5” in the search", "“&gt;6” in the search"),
        ("q=%3E6+%3C5", "“&gt;6” in the search", "“&lt;5” in the search"),
        ("q=%3E5+%3C5.01", "“&gt;5” in the search", "“&lt;5.01” in the search"),
    ],
)
async def test_two_filters_that_disagree_are_refused_with_both(
    owner: SignedInPerson, query: str, first: str, second: str
) -> None:
    answer = await owner.get(f"/payments?{query}", status=422)
    assert f"Two filters disagree: {first} and {second}." in answer.text


async def test_filters_that_agree_filter_together(owner: SignedInPerson, shop: Shop) -> None:
    for number, name in ((1, "Bola Ade"), (2, "Chidi Eze")):
        await shop.create(order(reference=f"ORDER-{number}", customer={"name": name, "email": "b@example.com"}))
    for query in (
        "q=status:initiated&status=initiated", "q=ref:ORDER+Bola", "q=name:Bola+ORDER-1",
        "q=is:unusual+is:over&variance=over",
    ):  # fmt: skip
        page = (await owner.get(f"/payments?{query}")).text
        assert ("ORDER-2" in page) is (query == "q=status:initiated&status=initiated"), query
        assert ("ORDER-1" in page) is ("unusual" not in query), query


async def test_an_amount_is_searched_as_pages_write_it(owner: SignedInPerson, shop: Shop) -> None:
    for amount in (12_500, 12_501):
        await shop.create(order(reference=f"ORDER-{amount}", amount=amount))
    for typed in ("12,500", "₦12,500.00", "₦12500"):
        for below in ("/payments", "/find"):
            page = (await owner.get(f"{below}?q={quote(typed)}")).text
            assert ("ORDER-12500" in page, "ORDER-12501" in page) == (True, False), (below, typed)


async def test_a_search_that_finds_nothing_names_what_may_have_been_meant(owner: SignedInPerson, shop: Shop) -> None:
    await shop.create(order(reference="ORDER-1", amount=12_500))
    for typed, other in (("order-1", "ORDER-1"), ("12500", "amount:12500")):
        for below in ("/payments", "/find"):
            page = (await owner.get(f"{below}?q={typed}")).text
            assert f'{below}?q={quote(other)}">' in page, (below, typed)
            assert "ORDER-1" in (await owner.get(f"{below}?q={quote(other)}")).text


async def test_a_filter_that_is_not_understood_is_named_as_it_was_typed(owner: SignedInPerson) -> None:
    page = (await owner.get("/payments?q=%3Eabc", status=422)).text
    assert "The search does not take “&gt;abc”: after amount: stands a number" in page


async def test_a_tab_and_a_status_of_refunds_are_not_both(owner: SignedInPerson) -> None:
    answer = await owner.get("/refunds?tab=approve&status=failed", status=422)
    assert "two tabs, “approve” and “failed”" in answer.text


@pytest.mark.parametrize("only", ["error", "all"])
async def test_requests_are_all_or_errors(owner: SignedInPerson, only: str) -> None:
    assert "errors only" in (await owner.get(f"/developers?only={only}", status=422)).text


async def test_a_long_value_is_shown_shortened_and_as_text(owner: SignedInPerson) -> None:
    long = "<b>" + "x" * 300
    page = (await owner.get(f"/audit?who={quote(long)}&who=two", status=422)).text
    assert "as “&lt;b&gt;" + "x" * 37 + "…” and as “two”" in page
