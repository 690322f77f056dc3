"""A payment made by hand: the form, the link that it gives, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from build import Shop
from dashboard.people import People, SignedInPerson
from tidegate.member.permission import Role

pytestmark = pytest.mark.usefixtures("unlimited")

AT = "/payments/new"
FORM = {
    "amount": "2500", "currency": "NGN", "name": "Chidinma Eze", "email": "c.eze@example.com",
    "description": "Invoice 7", "reference": "INV-7", "feeBearer": "customer",
}  # fmt: skip


async def test_a_payment_is_made_once_and_its_link_opens_the_payers_page(
    people: People, owner: SignedInPerson, shop: Shop, admin: Any
) -> None:
    assert AT in (await owner.get("/payments")).text
    fields = {**await owner.fields(AT), **FORM}
    first, again = [await owner.post(AT, fields) for _ in range(2)]
    assert first.status_code == 303, first.text[-600:]
    assert first.headers["location"] == again.headers["location"]
    page = (await owner.client.get(first.headers["location"])).text
    assert "by Ada Obi" in page
    [link] = set(re.findall(r'data-copy="(http[^"]+/pay/tg_\w+)"', page))
    pay_page = await people.browser().get(link)
    assert (pay_page.status_code, "Invoice 7" in pay_page.text) == (200, True)
    made = await admin.fetch("SELECT reference, fee_bearer, customer_name FROM payment")
    assert [tuple(row) for row in made] == [("INV-7", "customer", "Chidinma Eze")]
    assert "created a payment of" in (await owner.get("/audit")).text
    at = first.headers["location"].partition(owner.path())[2]
    assert (await owner.send(f"{at}/disable", at=at, disabled="yes")).status_code == 303
    page = (await owner.get(at)).text
    assert ("Disabled by Ada Obi" in page, link in page) == (True, False)
    taken = await owner.send(AT, at=AT, **{**FORM, "amount": "99"})
    assert (taken.status_code, "enter another one" in taken.text, 'value="99"' in taken.text) == (409, True, True)
    viewer = await people.person(shop, Role.VIEWER)
    assert AT not in (await viewer.get("/payments")).text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("amount", ""), ("amount", "1,000"), ("amount", "-1"), ("amount", "0"), ("amount", "1e3"),
        ("amount", "999999999999"), ("currency", "EUR"), ("name", ""), ("email", "nobody"), ("email", ""),
        ("reference", "a b"), ("description", "x" * 201), ("description", "5319 3178 0136 6660"),
        ("feeBearer", "bank"),
    ],
)  # fmt: skip
async def test_a_wrong_field_is_named_and_what_was_typed_stays(
    owner: SignedInPerson, admin: Any, field: str, value: str
) -> None:
    answer = await owner.send(AT, at=AT, **{**FORM, field: value})
    assert answer.status_code == 422
    assert f"#f-{field}" in answer.text
    assert 'value="INV-7"' in answer.text or field == "reference"
    assert await admin.fetchval("SELECT count(*) FROM payment") == 0
