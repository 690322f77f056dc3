"""Case links: what they show, until when, and to whom."""

from __future__ import annotations

import re
from typing import Any

import pytest

from build import Checkout, Shop
from checkout.paying import card
from conftest import MakeCheckout, MakeShop
from dashboard.people import People, SignedInPerson
from tidegate.member.permission import Role

pytestmark = pytest.mark.usefixtures("unlimited")

NAME, EMAIL = "Chidinma <b>Eze", "c.eze@example.com"


@pytest.fixture
async def paid(new_checkout: MakeCheckout, shop: Shop) -> Checkout:
    checkout = await new_checkout(shop, customer={"name": NAME, "email": EMAIL})
    assert (await checkout.charge(card())).status_code == 200
    return checkout


async def shared(person: SignedInPerson, paid: Checkout, **fields: str) -> str:
    """The path of the link."""
    at = f"/payments/{paid.pay_code}"
    answer = await person.send(f"{at}/case", at=at, days="7", **fields)
    assert answer.status_code == 200
    return str(re.findall(r"<code>https?://[^/]+(/case/[^<]+)</code>", answer.text)[0])


async def test_a_case_shows_what_was_chosen_and_no_more(people: People, owner: SignedInPerson, paid: Checkout) -> None:
    await owner.send(
        f"/payments/{paid.pay_code}/refund", at=f"/payments/{paid.pay_code}", what="part", amount="5",
        reason="one item less", note="team only",
    )  # fmt: skip
    stranger = people.browser()
    bare = (await stranger.get(await shared(owner, paid))).text
    assert "₦100.00 paid" in bare
    assert "one item less" in bare
    for hidden in (NAME, "Chidinma", EMAIL, "team only", "Card chosen", owner.member.name, "/ledger/", "/dashboard/"):
        assert hidden not in bare, hidden
    whole = (await stranger.get(await shared(owner, paid, **{"show-payer": "yes", "show-attempts": "yes"}))).text
    assert "Chidinma &lt;b&gt;Eze" in whole
    assert "Card chosen" in whole


async def test_a_case_is_shown_once_counted_and_ends(
    people: People, owner: SignedInPerson, paid: Checkout, admin: Any, new_shop: MakeShop
) -> None:
    path = await shared(owner, paid)
    at, stranger = f"/payments/{paid.pay_code}", people.browser()
    token = path.rpartition("/")[2]
    assert token not in (await owner.get(at)).text
    assert not await admin.fetchval("SELECT count(*) FROM audit WHERE details::text LIKE '%' || $1 || '%'", token)
    for _ in range(2):
        assert (await stranger.get(path)).status_code == 200
    assert "opened 2 times" in (await owner.get(at)).text
    other = await people.person(await new_shop(), Role.OWNER)
    wrong = [f"/case/{other.code}/{token}", f"/case/{owner.code}/{'A' * 43}", f"/case/{owner.code}/x", "/case/%00/x"]
    number = await admin.fetchval("SELECT encode(token_hash, 'hex') FROM case_link")
    assert (await owner.send(f"{at}/case/revoke", at=at, case=number)).status_code == 303
    answers = [(await stranger.get(one)).status_code for one in (path, *wrong)]
    assert answers == [404] * 5
    lapsed = await shared(owner, paid)
    await admin.execute("UPDATE case_link SET created_at = now() - interval '8 days', expires_at = now()")
    assert (await stranger.get(lapsed)).status_code == 404
    assert (await owner.send(f"{at}/case/revoke", at=at, case="zz")).status_code == 404
    assert (await owner.send(f"{at}/case", at=at, days="31")).status_code == 422
