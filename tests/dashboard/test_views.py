"""Saved views, the palette, the entries behind a figure, and addresses that a form has left in the browser."""

from __future__ import annotations

import re
from typing import Any

import pytest

from build import Shop, order
from checkout.paying import card
from conftest import MakeCheckout, MakeShop
from dashboard.people import People, SignedInPerson
from dashboard.test_roles import table_of
from tidegate.dashboard.signed_in import page_of
from tidegate.member.permission import Role
from tidegate.runtime import Runtime

pytestmark = pytest.mark.usefixtures("unlimited")

FILTERS = {"status": "failed", "q": "ORDER-"}


async def test_a_view_is_saved_shared_renamed_and_deleted(
    people: People, owner: SignedInPerson, shop: Shop, admin: Any, new_shop: MakeShop
) -> None:
    saved = await owner.send("/views", at="/payments?status=failed", name="Failed", shared="yes", **FILTERS)
    assert saved.headers["location"].endswith("/payments?q=ORDER-&status=failed")
    assert (await owner.send("/views", at="/payments?status=failed", name="Mine", status="expired")).status_code == 303
    number = await admin.fetchval("SELECT id FROM saved_view WHERE is_shared")
    viewer = await people.person(shop, Role.VIEWER)
    page = (await viewer.get("/payments?from=2026-11-01")).text
    # A view without dates keeps those that are chosen.
    assert "/payments?q=ORDER-&amp;status=failed&amp;from=2026-11-01" in page
    assert ">Mine<" not in page
    assert (await viewer.send(f"/views/{number}", at="/payments", what="delete")).status_code == 403
    assert (await viewer.send("/views", at="/payments", name="x", shared="yes", **FILTERS)).status_code == 403
    own = await admin.fetchval("SELECT id FROM saved_view WHERE NOT is_shared")
    stranger = await people.person(await new_shop(), Role.OWNER)
    for person, other in ((viewer, own), (stranger, number)):
        assert (await person.send(f"/views/{other}", at="/payments", what="delete")).status_code == 404
    assert (await owner.send(f"/views/{number}", at="/payments", what="rename", name="Lost")).status_code == 303
    assert ">Lost<" in (await owner.get("/payments")).text
    assert (await owner.send(f"/views/{number}", at="/payments", what="delete")).status_code == 303
    assert await admin.fetchval("SELECT count(*) FROM saved_view") == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": ""}, "Enter a name."),
        ({"name": "x" * 61}, "The name has 61 characters; shorten it to at most 60."),
        ({"status": "green"}, "Choose one of"),
        ({"status": "", "q": ""}, "Choose a filter first"),
    ],
)
async def test_a_wrong_view_is_refused_on_its_list(
    owner: SignedInPerson, shop: Shop, admin: Any, wrong: dict[str, str], said: str
) -> None:
    await shop.create(order(reference="ORDER-1"))
    filters = {"status": "initiated", "q": "ORDER-"}
    answer = await owner.send("/views", at="/payments", **{"name": "Open ones", **filters, **wrong})
    assert (answer.status_code, said in answer.text) == (422, True)
    assert await admin.fetchval("SELECT count(*) FROM saved_view") == 0
    # The list with its filters, unless these are wrong; and what was typed.
    assert ("/payments/tg_" in answer.text) is (wrong.get("status") != "green")
    assert f'name="name" type="text" value="{wrong["name"]}"' in answer.text if "name" in wrong else True


async def test_a_wrong_new_name_of_a_view_is_refused_on_its_list(owner: SignedInPerson, admin: Any) -> None:
    await owner.send("/views", at="/payments?status=failed", name="Failed", **FILTERS)
    number = await admin.fetchval("SELECT id FROM saved_view")
    for name in (" ", "x" * 61):
        answer = await owner.send(f"/views/{number}", at="/payments", what="rename", name=name)
        assert (answer.status_code, '<details class="confirm" open>' in answer.text) == (422, True)
        assert f'name="name" type="text" value="{name}"' in answer.text
    assert await admin.fetchval("SELECT name FROM saved_view") == "Failed"
    # To delete it, its name does not matter.
    assert (await owner.send(f"/views/{number}", at="/payments", what="delete", name="")).status_code == 303


async def test_one_view_too_many_is_refused_on_its_list(owner: SignedInPerson, admin: Any) -> None:
    await owner.send("/views", at="/payments?status=failed", name="Failed", **FILTERS)
    await admin.execute(
        """
        INSERT INTO saved_view (business_id, person_id, name, filters, is_shared, created_at)
        SELECT business_id, person_id, name, filters, is_shared, created_at FROM saved_view, generate_series(2, 30)
        """
    )
    answer = await owner.send("/views", at="/payments?status=failed", name="Another", status="expired")
    assert (answer.status_code, "There are 30 views" in answer.text, "Newest" in answer.text) == (409, True, False)
    assert 'value="Another"' in answer.text


async def test_the_palette_finds_payments_refunds_and_pages_that_the_role_sees(
    people: People, owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout
) -> None:
    paid = await new_checkout(shop, reference="LCR-1", customer={"name": "Ngozi Udo", "email": "n@example.com"})
    assert (await paid.charge(card())).status_code == 200
    at = f"/payments/{paid.pay_code}"
    refunded = await owner.send(f"{at}/refund", at=at, what="part", amount="10")
    reference = refunded.headers["location"].rpartition("/")[2]
    for typed, found in (
        (paid.pay_code, at), ("LCR", at), ("ngozi", at), (reference, f"/refunds/{reference}"), ("webh", "/webhooks"),
        ("new key", "/keys"), ("%00 '", "Nothing is called so"),
    ):  # fmt: skip
        assert found in (await owner.client.get(owner.path("/find"), params={"q": typed})).text, typed
    viewer = await people.person(shop, Role.VIEWER)
    for typed in ("new key", "ngozi"):
        assert "Nothing is called so" in (await viewer.get(f"/find?q={typed}")).text
    # In the list, a pay code leads to its payment.
    assert (await owner.get(f"/payments?q={paid.pay_code}", status=303)).headers["location"] == owner.path(at)


async def test_a_figure_of_home_is_the_sum_of_the_entries_that_it_opens(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout
) -> None:
    for amount in (100, 250):
        assert (await (await new_checkout(shop, amount=amount)).charge(card())).status_code == 200
    below = re.search(r'href="[^"]*(/takings\?[^"]+)">350\.00<', (await owner.get()).text)
    assert below is not None
    page = (await owner.get(below[1].replace("&amp;", "&"))).text
    taken = re.findall(r'<td class="num">(?:<a class="door" href="[^"]*/ledger/[0-9]+">)?₦([0-9.]+)<', page)
    assert taken == ["250.00", "100.00", "350.00"]
    assert "2 payments" in page
    for wrong in ("/takings", "/takings?currency=XXX", "/takings?currency=NGN&method=cash"):
        await owner.get(wrong, status=404)
    await owner.get("/takings?currency=NGN&day=yesterday", status=422)


async def test_an_address_that_a_form_left_behind_leads_to_the_page_of_the_form(
    owner: SignedInPerson, runtime: Runtime
) -> None:
    table = table_of(runtime)
    pages = {row.path for row in table if row.method == "GET"}
    for row in table:
        if row.method == "POST" and row.path not in pages:
            path = row.path.replace("{", "").replace("}", "")
            expected = page_of(row, pages).replace("{", "").replace("}", "")
            assert (await owner.get(path, status=303)).headers["location"] == owner.path(expected), row.name


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("q=" + "x" * 201, "The search has 201 characters; shorten it to at most 200."),
        ("q=" + "x" * 7_000, "The search has 7,000 characters"),
        ("q=%00", "that is not text"),
        ("q=one&q=two", "twice, as “one” and as “two”"),
    ],
)
async def test_a_search_for_anything_that_cannot_be_made_says_why(owner: SignedInPerson, query: str, said: str) -> None:
    page = (await owner.get(f"/find?{query}", status=422)).text
    assert (said in page, "Nothing is called so" in page) == (True, False)
