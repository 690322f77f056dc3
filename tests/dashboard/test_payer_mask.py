"""Roles that do not see payers: nowhere is a name or an address in clear."""

from __future__ import annotations

import pytest

from build import Checkout, Shop
from checkout.paying import card
from conftest import MakeCheckout
from dashboard.people import People
from tidegate.dashboard import payer_mask
from tidegate.member.permission import Role
from tidegate.payment import event_examples

pytestmark = pytest.mark.usefixtures("unlimited")

NAME, EMAIL = "Zuri Secretname", "zuri@example.com"
PAGES = ("", "/payments", "/payments/{payment}", "/wallets/NGN", "/find?q=Zuri")


@pytest.fixture
async def paid(new_checkout: MakeCheckout, shop: Shop) -> Checkout:
    checkout = await new_checkout(shop, customer={"name": NAME, "email": EMAIL})
    assert (await checkout.charge(card())).status_code == 200
    return checkout


@pytest.mark.parametrize("role", list(Role))
async def test_who_may_not_see_payers_reads_their_names_nowhere(
    role: Role, people: People, shop: Shop, paid: Checkout
) -> None:
    person = await people.person(shop, role, name="Somebody")
    seen = {
        below
        for below in PAGES
        for page in [await person.client.get(person.path(below.format(payment=paid.pay_code)))]
        if NAME in page.text or EMAIL in page.text
    }
    may_see = role not in (Role.DEVELOPER, Role.VIEWER)
    assert ("/wallets/NGN" in seen, "/payments" in seen) == (may_see, may_see)
    assert may_see or seen == set()


async def test_the_body_of_an_event_keeps_all_but_the_payer() -> None:
    example = event_examples.EVENTS[0].example["data"]
    shown = payer_mask.without_payer(example)
    assert shown["customer"] == {"name": "A…", "email": "a…@example.com", "phoneNumber": "+…"}
    account = {name: value for name, value in shown["virtualAccount"].items() if str(value).endswith("…")}
    assert account == {"payerAccountNumber": "0…", "payerAccountName": "A…", "payerBankName": "S…"}
    kept = ("customer", "virtualAccount")
    assert {name: shown[name] for name in shown if name not in kept} == {
        name: example[name] for name in example if name not in kept
    }
