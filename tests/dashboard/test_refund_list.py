"""The list of refunds says who asked for each and who approved it, or for whom it waits."""

from __future__ import annotations

import asyncio
import re
from decimal import Decimal
from html import unescape
from typing import Any

import pytest

from build import Checkout, Shop
from checkout.paying import card
from conftest import MakeCheckout
from dashboard.people import People, SignedInPerson
from earlier import earlier
from tidegate.approval.model import WaitingRequest
from tidegate.audit.model import OPERATOR, staff
from tidegate.dashboard.refunds import waiting_words
from tidegate.infra.db import Database
from tidegate.member.permission import Role
from tidegate.refund import commands
from tidegate.refund.model import RefundRequest
from waiting import until

pytestmark = pytest.mark.usefixtures("unlimited")


@pytest.fixture
async def paid(new_checkout: MakeCheckout, shop: Shop) -> Checkout:
    checkout = await new_checkout(shop)
    assert (await checkout.charge(card())).status_code == 200
    return checkout


async def rows_of(person: SignedInPerson, below: str = "/refunds") -> list[tuple[str, str]]:
    """By and approval of each row, the newest first."""
    page = (await person.get(below)).text
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    found = []
    for row in body.split("<tr>")[1:]:
        cells = re.findall(r'<td class="rest">(.*?)</td>', row)
        found.append((unescape(cells[-2]), unescape(cells[-1])))
    return found


async def test_each_refund_says_who_asked_for_it(
    people: People, shop: Shop, paid: Checkout, db: Database, admin: Any
) -> None:
    owner = await people.person(shop, Role.OWNER, name="Ada Obi")
    at = f"/payments/{paid.pay_code}"
    await owner.send(f"{at}/refund", at=at, what="part", amount="1")
    by_key = await shop.client.post(
        "/collections/refund",
        json={"transReference": paid.pay_code, "amount": 2},
        headers={"api-key": shop.secret_key},
    )
    assert by_key.status_code == 200
    for by, amount in ((OPERATOR, "3"), (staff(owner.member.id, "127.0.0.1"), "4")):
        async with db.transaction() as tx:
            request = RefundRequest(reference=paid.pay_code, amount=Decimal(amount))
            await commands.begin(tx, shop.business_id, request, by=by, now=people.now())
    key = await admin.fetchval("SELECT coalesce(name, '…' || last_four) FROM credential WHERE kind = 'secret'")
    assert await rows_of(owner) == [
        ("Tidegate's operator", "by two of its staff"),
        ("Tidegate's operator", "not needed"),
        (f"API key {key}", "not needed"),
        ("Ada Obi", "not needed"),
    ]


async def test_what_waits_says_for_whom_and_what_was_approved_says_by_whom(
    people: People, shop: Shop, paid: Checkout
) -> None:
    support = await people.person(shop, Role.SUPPORT, name="Sade Ojo")
    await people.person(shop, Role.VIEWER, name="Vera Viewer")
    finance = await people.person(shop, Role.FINANCE, name="Tunde Bello")
    owner = await people.person(shop, Role.OWNER, name="Ada Obi")
    at = f"/payments/{paid.pay_code}"
    assert (await support.send(f"{at}/refund", at=at, what="part", amount="5")).status_code == 303
    assert await rows_of(support) == [("Sade Ojo", "waits for Ada Obi or Tunde Bello")]
    # A list by status has refunds alone.
    assert await rows_of(support, "/refunds?status=failed") == []
    assert "waits for Ada Obi or Tunde Bello, until" in (await support.get("/refunds?tab=approve")).text
    number = await people.admin.fetchval("SELECT id FROM approval")
    done = await finance.send(f"/approvals/{number}/approve", at="/refunds?tab=approve")
    assert await rows_of(support) == [("Sade Ojo", "Tunde Bello")]
    # What was decided is listed by the reference that the merchant gave it, too.
    assert f">{paid.reference}</a>" in (await owner.get("/refunds?tab=approve")).text
    page = (await support.client.get(done.headers["location"])).text
    assert "<dt>Asked by</dt><dd>Sade Ojo</dd>" in page
    assert "<dt>Approval</dt><dd>Tunde Bello</dd>" in page


async def test_a_payment_says_what_waits_and_what_was_taken_back(people: People, shop: Shop, paid: Checkout) -> None:
    support = await people.person(shop, Role.SUPPORT, name="Sade Ojo")
    at = f"/payments/{paid.pay_code}"
    waits = "A refund of ₦5.00 waits for a second person."
    assert waits not in (await support.get(at)).text
    await support.send(f"{at}/refund", at=at, what="part", amount="5")
    page = (await support.get(at)).text
    assert (waits in page, "Refund of ₦5.00 proposed by Sade Ojo" in page) == (True, True)
    number = await people.admin.fetchval("SELECT id FROM approval")
    await support.send(f"/approvals/{number}/decline", at="/refunds?tab=approve")
    page = (await support.get(at)).text
    assert (waits in page, "Refund of ₦5.00 taken back by Sade Ojo" in page) == (False, True)


async def test_of_two_requests_about_one_payment_each_says_that_approving_it_voids_the_other(
    people: People, shop: Shop, paid: Checkout
) -> None:
    support, owner = await people.person(shop, Role.SUPPORT, name="Sade Ojo"), await people.person(shop, Role.OWNER)
    at, words = f"/payments/{paid.pay_code}", "approving it voids 1 other request about the same money"
    await support.send(f"{at}/refund", at=at, what="part", amount="5")
    assert words not in (await owner.get("/refunds?tab=approve")).text
    await support.send(f"{at}/refund", at=at, what="part", amount="6")
    assert [waits for _, waits in await rows_of(owner)] == [f"waits for Owner; {words}"] * 2
    assert (await owner.get("/refunds?tab=approve")).text.count(words) == 2
    said = "Refunds of ₦5.00 and ₦6.00 wait for a second person. The first that is approved voids the other."
    assert said in (await owner.get(at)).text
    number = await people.admin.fetchval("SELECT min(id) FROM approval")
    assert (await owner.send(f"/approvals/{number}/approve", at="/refunds?tab=approve")).status_code == 303
    assert [waits for _, waits in await rows_of(owner)] == ["has changed since; decline it and ask anew", "Owner"]
    assert "for a second person" not in (await owner.get(at)).text


@pytest.mark.one_server("on a cluster, locks are of the node that has the shard")
async def test_of_two_who_ask_at_once_for_more_than_there_is_the_second_is_refused(
    people: People, shop: Shop, paid: Checkout, admin: Any
) -> None:
    at, asking = f"/payments/{paid.pay_code}", [await people.person(shop, Role.SUPPORT) for _ in range(2)]
    forms = [{**await one.fields(at), "what": "part", "amount": "60"} for one in asking]

    async def both_wait() -> bool:
        return bool(await admin.fetchval("SELECT count(*) = 2 FROM pg_locks WHERE NOT granted"))

    # Until both have come as far as one lets the other.
    async with admin.transaction():
        await admin.execute("LOCK TABLE approval IN SHARE MODE")
        sending = [asyncio.create_task(one.post(f"{at}/refund", form)) for one, form in zip(asking, forms, strict=True)]
        await until(both_wait)
    sent = await asyncio.gather(*sending)
    assert sorted(answer.status_code for answer in sent) == [303, 422]
    assert "waits for a second person already" in next(one.text for one in sent if one.status_code == 422)


async def test_a_request_that_nobody_decided_in_time_waits_no_more(
    people: People, shop: Shop, paid: Checkout, admin: Any
) -> None:
    support = await people.person(shop, Role.SUPPORT)
    at = f"/payments/{paid.pay_code}"
    await support.send(f"{at}/refund", at=at, what="part", amount="5")
    assert "waits for a second person" in (await support.get(at)).text
    await admin.execute(f"UPDATE audit SET {earlier('created_at', '3 days')} WHERE action = 'refund.proposed'")
    assert "waits for a second person" not in (await support.get(at)).text


async def test_another_business_has_none_of_it(people: People, shop: Shop, paid: Checkout, new_shop: Any) -> None:
    owner, stranger = await people.person(shop, Role.OWNER), await people.person(await new_shop(), Role.OWNER)
    at = f"/payments/{paid.pay_code}"
    made = await owner.send(f"{at}/refund", at=at, what="part", amount="1")
    assert await rows_of(stranger) == []
    await stranger.get(f"/refunds/{made.headers['location'].rpartition('/')[2]}", status=404)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "nobody else may approve it; invite one"),
        (["Ada"], "waits for Ada"),
        (["Ada", "Bola", "Chi"], "waits for Ada, Bola or Chi"),
        (["Ada", "Bola", "Chi", "Dele"], "waits for Ada, Bola or 2 others"),
    ],
)
def test_those_who_may_approve_are_named_or_counted(names: list[str], words: str) -> None:
    # Of the request itself the words have nothing.
    request: Any = None
    assert waiting_words(WaitingRequest(request, tuple(names), "ORDER-1", False)) == words


async def test_a_request_that_can_no_longer_be_approved_says_so(people: People, shop: Shop, paid: Checkout) -> None:
    support = await people.person(shop, Role.SUPPORT, name="Sade Ojo")
    owner = await people.person(shop, Role.OWNER, name="Ada Obi")
    at = f"/payments/{paid.pay_code}"
    await support.send(f"{at}/refund", at=at, what="part", amount="5")
    page = (await owner.get("/refunds?tab=approve")).text
    # By the reference that the merchant gave it.
    assert f">{paid.reference}</a>" in page
    assert '/approve"' in page
    await owner.send(f"{at}/refund", at=at, what="part", amount="1")
    assert ("Sade Ojo", "has changed since; decline it and ask anew") in await rows_of(owner)
    page = (await owner.get("/refunds?tab=approve")).text
    assert '/approve"' not in page
    assert '/decline"' in page


@pytest.mark.parametrize("query", ["status=x", "tab=x", "tab=x&status=failed"])
async def test_a_tab_that_is_none_lists_nothing(owner: SignedInPerson, query: str) -> None:
    page = (await owner.get(f"/refunds?{query}", status=422)).text
    assert "Choose one of the tabs." in page
