"""Refunds from the dashboard: what is typed wrongly, twice, late; and four eyes."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from build import Checkout, Shop
from checkout.paying import card
from conftest import MakeCheckout
from dashboard.people import People, SignedInPerson
from tidegate.member.permission import Role
from tidegate.rail.action import FailureReason

pytestmark = pytest.mark.usefixtures("unlimited")


@pytest.fixture
async def paid(new_checkout: MakeCheckout, shop: Shop) -> Checkout:
    """Of 100 naira, in a wallet with more."""
    for _ in range(2):
        checkout = await new_checkout(shop)
        assert (await checkout.charge(card())).status_code == 200
    return checkout


def at(paid: Checkout) -> str:
    return f"/payments/{paid.pay_code}"


async def count(admin: Any) -> int:
    return int(await admin.fetchval("SELECT count(*) FROM refund"))


@pytest.mark.parametrize(
    "amount", ["", "0", "-1", "1e3", "1,000", "10.001", "100.01", "9" * 40, "abc", "\u0661\u0660", " "]
)
async def test_a_wrong_amount_is_a_clear_no(owner: SignedInPerson, paid: Checkout, admin: Any, amount: str) -> None:
    answer = await owner.send(f"{at(paid)}/refund", at=at(paid), what="part", amount=amount, reason="kept")
    assert answer.status_code == 422
    assert "needs a change" in answer.text
    assert 'value="kept"' in answer.text
    assert await count(admin) == 0


async def test_more_than_is_left_is_refused_before_anybody_is_asked_to_approve(
    people: People, shop: Shop, paid: Checkout, admin: Any
) -> None:
    support = await people.person(shop, Role.SUPPORT)
    answer = await support.send(f"{at(paid)}/refund", at=at(paid), what="part", amount="100.01")
    assert answer.status_code == 422
    assert "At most ₦100.00 is left to refund" in answer.text
    assert await admin.fetchval("SELECT count(*) FROM approval") == 0


async def test_what_waits_already_is_not_asked_for_again(
    people: People, owner: SignedInPerson, shop: Shop, paid: Checkout, admin: Any
) -> None:
    support = await people.person(shop, Role.SUPPORT)
    sent = []
    for amount in ("60", "40.01", "40", "1"):
        sent.append(await support.send(f"{at(paid)}/refund", at=at(paid), what="part", amount=amount))
    assert [answer.status_code for answer in sent] == [303, 422, 303, 422]
    assert "Of this payment, NGN 60.00 of NGN 100.00 waits for a second person already." in sent[1].text
    assert "Ask for at most NGN 40.00 more" in sent[1].text
    assert "Nothing more is left to ask for" in sent[3].text
    # Before a factor is shown, of those who show one.
    await owner.send("/settings/limits", at="/settings", **{"limit-NGN": "50"})
    await people.person(shop, Role.ADMIN)
    await admin.execute("UPDATE member_session SET stepped_up_at = NULL")
    page = await owner.post(f"{at(paid)}/refund", {**await owner.fields(at(paid)), "what": "all"})
    assert (page.status_code, "Nothing more is left to ask for" in page.text) == (422, True)
    # What was declined, has lapsed, or is void waits no longer.
    first = await admin.fetchval("SELECT min(id) FROM approval")
    declined = await support.send(f"/approvals/{first}/decline", at=at(paid))
    assert declined.status_code == 303
    again = await support.send(f"{at(paid)}/refund", at=at(paid), what="part", amount="60")
    await admin.execute(
        "UPDATE approval SET expires_at = (asked_at AT TIME ZONE 'UTC' + interval '1 microsecond') AT TIME ZONE 'UTC'"
    )
    lapsed = await support.send(f"{at(paid)}/refund", at=at(paid), what="all")
    assert (again.status_code, lapsed.status_code) == (303, 303)


async def test_the_form_says_what_the_wallet_has_afterwards(owner: SignedInPerson, paid: Checkout, admin: Any) -> None:
    # Twice 98.49, of which 100 go back; then with its fee of 1.51 returned.
    assert "wallet then ₦96.98" in (await owner.get(at(paid))).text
    await admin.execute(
        """
        INSERT INTO fee_rule (business_id, id, currency, method, basis_points, vat_basis_points, fixed_minor,
                              created_at, on_refund) OVERRIDING SYSTEM VALUE
        VALUES ($1, 0, 'NGN', 'card', 140, 750, 0, now(), 'returned')
        """,
        paid.shop.business_id,
    )
    await admin.execute("UPDATE payment SET fee_rule_id = 'own-0'")
    page = (await owner.get(at(paid))).text
    assert ("wallet then ₦98.49" in page, "its share, to your wallet" in page) == (True, True)


async def test_more_than_the_wallet_holds_is_refused(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, admin: Any
) -> None:
    alone = await new_checkout(shop)
    assert (await alone.charge(card())).status_code == 200
    # The wallet has what is left after the fee.
    answer = await owner.send(f"{at(alone)}/refund", at=at(alone), what="all")
    assert (answer.status_code, "needs a change" in answer.text, await count(admin)) == (422, True, 0)


async def test_twice_at_once_back_and_reload_make_one_refund(owner: SignedInPerson, paid: Checkout, admin: Any) -> None:
    fields = {**await owner.fields(at(paid)), "what": "part", "amount": "10", "factor": "sandbox"}
    answers = await asyncio.gather(*(owner.post(f"{at(paid)}/refund", fields) for _ in range(3)))
    again = await owner.post(f"{at(paid)}/refund", fields)
    assert {answer.status_code for answer in (*answers, again)} == {303}
    assert len({answer.headers["location"] for answer in (*answers, again)}) == 1
    assert await count(admin) == 1


async def test_a_second_click_waits_for_where_the_first_leads(
    owner: SignedInPerson, paid: Checkout, admin: Any
) -> None:
    fields = {**await owner.fields(at(paid)), "what": "part", "amount": "10", "factor": "sandbox"}
    lock = (f"{paid.shop.business_id}/form {fields['once']}",)
    # As the first click holds it.
    await admin.execute("SELECT pg_advisory_lock(hashtextextended($1, 0))", *lock)
    second = asyncio.create_task(owner.post(f"{at(paid)}/refund", fields))
    try:
        await asyncio.wait({second}, timeout=1)
        assert not second.done(), (await second).text[-600:]
    finally:
        await admin.execute("SELECT pg_advisory_unlock(hashtextextended($1, 0))", *lock)
    assert ((await second).status_code, await count(admin)) == (303, 1)


async def test_a_stale_page_refunds_nothing_and_shows_the_fresh_one(
    owner: SignedInPerson, paid: Checkout, admin: Any
) -> None:
    stale = await owner.fields(at(paid))
    assert (await owner.send(f"{at(paid)}/refund", at=at(paid), what="part", amount="10")).status_code == 303
    late = await owner.post(f"{at(paid)}/refund", {**stale, "what": "part", "amount": "10", "once": "another"})
    assert late.status_code == 409
    assert "changed" in late.text
    assert await count(admin) == 1


async def test_what_support_asks_for_another_person_allows(
    people: People, shop: Shop, paid: Checkout, admin: Any
) -> None:
    support, finance = await people.person(shop, Role.SUPPORT), await people.person(shop, Role.FINANCE, name="Tunde")
    asked = await support.send(f"{at(paid)}/refund", at=at(paid), what="all", note="never arrived")
    assert (asked.status_code, await count(admin)) == (303, 0)
    number = await admin.fetchval("SELECT id FROM approval")
    below = f"/approvals/{number}/approve"
    assert (await support.send(below, at="/refunds?tab=approve")).status_code == 403
    done = await finance.send(below, at="/refunds?tab=approve")
    assert done.status_code == 303
    assert await count(admin) == 1
    again = await finance.send(below, at="/refunds?tab=approve", once="another")
    assert again.status_code == 409
    # By the business's clock, as every time of the page.
    assert re.search(r"Tunde approved this on \w{3} \d{1,2} \w{3} \d{4}, \d\d:\d\d:\d\d\.", again.text)
    assert await count(admin) == 1
    rows = await admin.fetch("SELECT actor, action FROM audit WHERE action LIKE 'refund.%' ORDER BY id")
    assert [tuple(row) for row in rows] == [
        (f"person/{support.member.id}", "refund.proposed"),
        (f"person/{finance.member.id}", "refund.started"),
        (f"person/{finance.member.id}", "refund.approved"),
    ]


async def test_nobody_approves_their_own_and_above_the_limit_needs_two(
    people: People, owner: SignedInPerson, shop: Shop, paid: Checkout, admin: Any
) -> None:
    await people.person(shop, Role.ADMIN)
    set_limit = await owner.send("/settings/limits", at="/settings", **{"limit-NGN": "50"})
    assert set_limit.status_code == 303
    assert (await owner.send(f"{at(paid)}/refund", at=at(paid), what="all")).status_code == 303
    assert await count(admin) == 0
    number = await admin.fetchval("SELECT id FROM approval")
    denied = await owner.send(f"/approvals/{number}/approve", at="/refunds?tab=approve", once="x")
    assert (denied.status_code, await count(admin)) == (403, 0)
    assert (await owner.send(f"{at(paid)}/refund", at=at(paid), what="part", amount="50")).status_code == 303
    assert await count(admin) == 1


@pytest.mark.parametrize("case", ["changed", "late"])
async def test_an_approval_is_void_once_the_payment_changed_or_after_three_days(
    people: People, owner: SignedInPerson, shop: Shop, paid: Checkout, case: str
) -> None:
    support = await people.person(shop, Role.SUPPORT)
    admin = people.admin
    await support.send(f"{at(paid)}/refund", at=at(paid), what="part", amount="20")
    number = await admin.fetchval("SELECT id FROM approval")
    if case == "changed":
        await owner.send(f"{at(paid)}/refund", at=at(paid), what="part", amount="10")
    else:
        await admin.execute("UPDATE approval SET expires_at = now()")
    before = await count(admin)
    answer = await owner.send(f"/approvals/{number}/approve", at="/refunds?tab=approve", once="x")
    assert answer.status_code == 409
    assert await count(admin) == before


async def test_who_may_not_refund_has_no_form_and_a_viewer_sees_no_payer(
    people: People, shop: Shop, paid: Checkout
) -> None:
    viewer = await people.person(shop, Role.VIEWER)
    page = (await viewer.get(at(paid))).text
    assert "/refund" not in page.replace("/refunds", "")
    email = await people.admin.fetchval("SELECT customer_email FROM payment LIMIT 1")
    assert email not in page
    assert email not in (await viewer.get("/payments")).text


async def test_a_refund_that_failed_is_given_again_from_the_payment(
    people: People, shop: Shop, owner: SignedInPerson, paid: Checkout, admin: Any
) -> None:
    # Refunds that end in .13 are declined.
    first = await owner.send(f"{at(paid)}/refund", at=at(paid), what="part", amount="10.13", reason="one item less")
    await paid.tick()
    await paid.let_pass("5s")
    assert "Open the payment to try again" in (await owner.client.get(first.headers["location"])).text
    assert FailureReason.DECLINED.meaning in (await owner.get("/refunds")).text
    page = (await owner.get(at(paid))).text
    assert "The refund of ₦10.13 failed" in page
    form = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.partition('id="again"')[2].partition("</form>")[0]))
    viewer = await people.person(shop, Role.VIEWER)
    assert 'id="again"' not in (await viewer.get(at(paid))).text
    assert (await owner.post(f"{at(paid)}/refund", form)).status_code == 303
    again = await admin.fetch("SELECT amount_minor, reason, status FROM refund ORDER BY id")
    assert [tuple(row) for row in again] == [(1013, "one item less", "failed"), (1013, "one item less", "processing")]
    # The newest one is on its way.
    assert 'id="again"' not in (await owner.get(at(paid))).text


async def test_disputed_money_has_no_refund_form(owner: SignedInPerson, paid: Checkout, admin: Any) -> None:
    row = await admin.fetchrow(
        "SELECT rail, transaction_id, payment_id FROM receipt"
        " JOIN payment ON payment.business_id = receipt.business_id AND payment.id = payment_id"
        " WHERE pay_code = $1",
        paid.pay_code,
    )
    await admin.execute(
        """
        INSERT INTO dispute (business_id, rail, id, transaction_id, payment_id, currency, amount_minor, held_minor,
                             status, reason, opened_at, updated_at)
        VALUES ($1, $2, 'd-7', $3, $4, 'NGN', 10000, 0, 'open', 'chargeback', now(), now())
        """,
        paid.shop.business_id, row["rail"], row["transaction_id"], row["payment_id"],
    )  # fmt: skip
    page = await owner.get(at(paid))
    assert "Dispute d-7 of NGN 100.00 is open" in page.text
    assert f"{at(paid)}/refund" not in page.text


async def test_each_choice_says_whether_a_second_person_is_needed(
    people: People, owner: SignedInPerson, shop: Shop, paid: Checkout
) -> None:
    form = (await owner.get(at(paid))).text.partition('id="f-what"')[2].partition("</form>")[0]
    assert ("at once" in form, "second person" in form, ">Refund</span></button>" in form) == (True, False, True)
    assert '<span class="all">Refund ₦100.00</span>' in form
    support = await people.person(shop, Role.SUPPORT)
    await people.person(shop, Role.ADMIN)
    form = (await support.get(at(paid))).text.partition('id="f-what"')[2].partition("</form>")[0]
    assert ("at once" in form, ">Ask for the refund</span></button>" in form) == (False, True)
    assert '<span class="all">Ask for the refund of ₦100.00</span>' in form
    await owner.send("/settings/limits", at="/settings", **{"limit-NGN": "50"})
    form = (await owner.get(at(paid))).text.partition('id="f-what"')[2].partition("</form>")[0]
    everything, another = form.split("<label")[1:3]
    assert "a second person approves" in everything
    assert "up to ₦50.00 at once; above, a second person approves" in another
    # A part can be done at once, so the button promises neither.
    assert ">Continue</span></button>" in form


@pytest.mark.parametrize("changed", [{"amount": "20"}, {"reason": "another"}])
async def test_one_form_sent_again_with_something_else_is_refused(
    owner: SignedInPerson, paid: Checkout, admin: Any, changed: dict[str, str]
) -> None:
    fields = {**await owner.fields(at(paid)), "what": "part", "amount": "10", "factor": "sandbox"}
    assert (await owner.post(f"{at(paid)}/refund", fields)).status_code == 303
    other = await owner.post(f"{at(paid)}/refund", {**fields, **changed})
    assert (other.status_code, "sent before with something else" in other.text) == (409, True)
    assert await count(admin) == 1
    # A factor and a token are of the page, not of what is asked for.
    again = await owner.post(f"{at(paid)}/refund", {**fields, "factor": "another"})
    assert (again.status_code, await count(admin)) == (303, 1)


@pytest.mark.parametrize("what", ["excess", "all"])
async def test_a_choice_sent_again_leads_to_the_refund_it_made(
    owner: SignedInPerson, new_checkout: MakeCheckout, shop: Shop, admin: Any, what: str
) -> None:
    more = await new_checkout(shop)
    assert (await more.charge(card())).status_code == 200
    overpaid = await new_checkout(shop, settings={"variance_policy": "accept"})
    await overpaid.transfer(await overpaid.account(), "150")
    fields = {**await owner.fields(at(overpaid)), "what": what, "factor": "sandbox"}
    later = {**await owner.fields(at(overpaid)), "what": what, "factor": "sandbox"}
    places = [(await owner.post(f"{at(overpaid)}/refund", fields)).headers.get("location") for _ in range(2)]
    assert (places[0], await count(admin)) == (places[1], 1)
    assert "/refunds/rf_" in str(places[0])
    other = await owner.post(f"{at(overpaid)}/refund", {**fields, "amount": "5"})
    assert (other.status_code, "sent before with something else" in other.text) == (409, True)
    # Another tab that was open before.
    stale = await owner.post(f"{at(overpaid)}/refund", later)
    assert (stale.status_code, "has changed meanwhile" in stale.text, await count(admin)) == (409, True, 1)


async def test_marks_of_direction_are_dropped_from_a_reason(owner: SignedInPerson, paid: Checkout, admin: Any) -> None:
    done = await owner.send(
        f"{at(paid)}/refund", at=at(paid), what="part", amount="10", reason="paid \u202etwice", note="\u2066n"
    )
    assert done.status_code == 303
    assert tuple(await admin.fetchrow("SELECT reason, note FROM refund")) == ("paid twice", "n")
