"""A new user in a new sandbox: the link that is printed, a payment, and Home."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from build import Checkout, Shop
from checkout.paying import card
from conftest import MakeCheckout
from dashboard.people import TOKEN, People, SignedInPerson
from tidegate.member import sandbox_people, store
from tidegate.member.permission import Role

pytestmark = pytest.mark.usefixtures("unlimited")


async def test_who_enters_by_the_printed_link_makes_a_payment_and_sees_it_paid_on_home(
    people: People, shop: Shop, new_checkout: MakeCheckout, admin: Any
) -> None:
    """Nothing is waited for: Home has what was booked, before the worker has rolled it up."""
    await sandbox_people.seed(people.db, shop.business_id, now=people.now())
    link = await sandbox_people.new_link(people.db, people.base_url)
    browser = people.browser()
    entered = await browser.post(link, data={"token": TOKEN.findall((await browser.get(link)).text)[0]})
    landed = await browser.get(entered.headers["location"], follow_redirects=True)
    assert "Your first payment" in landed.text
    assert "<code>TIDEGATE_SECRET_KEY</code> stands for your secret key" in landed.text
    async with people.db.connection() as tx:
        found = await store.find_by_email(tx, sandbox_people.address_of(Role.OWNER))
    assert found is not None
    code = await admin.fetchval("SELECT code FROM business WHERE id = $1", shop.business_id)
    person = SignedInPerson(browser, found[0], Role.OWNER, code)
    order = {"amount": "2500", "currency": "NGN", "name": "Chidi", "email": "c@example.com", "reference": "FIRST"}
    made = await person.send("/payments/new", at="/payments/new", **order)
    # A payer pays it, as the one of any other checkout does.
    like: Checkout = await new_checkout(shop)
    checkout = replace(like, pay_code=made.headers["location"].rpartition("/")[2])
    assert (await checkout.charge(card())).status_code == 200
    home = (await person.get()).text
    assert ("2,500.00</a></p>" in home, "FIRST" in home) == (True, True)
