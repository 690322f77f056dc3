"""Refunds of inflows from the dashboard: by the same form, limit and second person as those of payments."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from build import Shop
from dashboard.people import People, SignedInPerson
from inflow import CLOSE, Inflows, credit
from tidegate.core.money import Currency
from tidegate.member.permission import Role

pytestmark = pytest.mark.usefixtures("unlimited")


@pytest.fixture
async def credited(inflows: Inflows) -> str:
    """The page of one of 100 euros, in a wallet with more."""
    number = await inflows.number()
    await inflows.notified(credit(number))
    return f"/inflows/{(await inflows.notified(credit(number)))['reference']}"


@pytest.fixture
async def blocked(inflows: Inflows) -> list[str]:
    """References of one that waits for a decision, and of one that went into a wallet of another currency."""
    await inflows.set_rate(Currency.EUR, Currency.NGN, "1600")
    bodies = [credit(await inflows.number(), payeeName=CLOSE), credit(await inflows.number(into=Currency.NGN))]
    return [(await inflows.notified(body))["reference"] for body in bodies]


async def count(admin: Any) -> int:
    return int(await admin.fetchval("SELECT count(*) FROM refund"))


async def test_an_inflow_is_refunded_and_stands_among_the_refunds(
    owner: SignedInPerson, inflows: Inflows, credited: str
) -> None:
    before = await inflows.wallet("EUR")
    page = (await owner.get(credited)).text
    assert f"wallet then €{(before - 100_00) / 100:.2f}" in page
    done = await owner.send(f"{credited}/refund", at=credited, what="part", amount="40.50", reason="Sent too much")
    assert (done.status_code, await inflows.wallet("EUR")) == (303, before - 40_50)
    assert "40.50" in (await owner.client.get(done.headers["location"])).text
    assert credited.rpartition("/")[2] in (await owner.get("/refunds")).text
    after = (await owner.get(credited)).text
    assert ("All that is left" in after, "Sent too much" in after, "Refund started" in after) == (True, True, True)
    row = await inflows.admin.fetchrow("SELECT amount_minor, reason, payment_id FROM refund")
    assert tuple(row) == (40_50, "Sent too much", None)


async def test_a_refund_leads_to_its_journals_and_each_journal_to_what_it_is_about(
    owner: SignedInPerson, inflows: Inflows, credited: str
) -> None:
    done = await owner.send(f"{credited}/refund", at=credited, what="part", amount="40.50")
    await inflows.let_pass("1h")
    await inflows.let_pass("5s")
    page, refund = (await owner.client.get(done.headers["location"])).text, done.headers["location"].rpartition("/")[2]
    journals = {row["kind"]: row["id"] for row in await inflows.admin.fetch("SELECT kind, id FROM journal ORDER BY id")}
    for kind, about in (
        ("refund_started", f"/refunds/{refund}"), ("refund_done", f"/refunds/{refund}"), ("inflow_credited", credited),
    ):  # fmt: skip
        below = f"/ledger/{journals[kind]}"
        words = about.replace("s/", " ").strip("/")
        assert f'<a href="{owner.path(about)}">{words}</a>' in (await owner.get(below)).text, kind
        shown_on = page if kind.startswith("refund") else (await owner.get(credited)).text
        assert f'href="{owner.path(below)}"' in shown_on, kind


async def test_what_the_wallet_has_not_is_not_preselected(owner: SignedInPerson, inflows: Inflows) -> None:
    # Its fee is taken, so alone it cannot be given back whole.
    alone = f"/inflows/{(await inflows.notified(credit(await inflows.number())))['reference']}"
    form = (await owner.get(alone)).text.partition('id="f-what"')[2].partition("</fieldset>")[0]
    assert ("more than the wallet holds" in form, 'value="part" checked' in form) == (True, True)
    assert 'value="all" checked' not in form
    await inflows.notified(credit(await inflows.number()))
    form = (await owner.get(alone)).text.partition('id="f-what"')[2].partition("</fieldset>")[0]
    assert ('value="all" checked' in form, 'value="part" checked' in form) == (True, False)


@pytest.mark.parametrize("amount", ["", "0", "1,000", "10.001", "100.01"])
async def test_a_wrong_amount_is_a_clear_no(owner: SignedInPerson, credited: str, admin: Any, amount: str) -> None:
    answer = await owner.send(f"{credited}/refund", at=credited, what="part", amount=amount, reason="kept")
    assert (answer.status_code, 'value="kept"' in answer.text, await count(admin)) == (422, True, 0)


async def test_twice_at_once_and_from_a_stale_page_make_one_refund(
    owner: SignedInPerson, credited: str, admin: Any
) -> None:
    fields = {**await owner.fields(credited), "what": "part", "amount": "10", "factor": "sandbox"}
    answers = await asyncio.gather(*(owner.post(f"{credited}/refund", fields) for _ in range(3)))
    assert {answer.status_code for answer in answers} == {303}
    late = await owner.post(f"{credited}/refund", {**fields, "once": "another"})
    assert (late.status_code, "inflow has changed" in late.text, await count(admin)) == (409, True, 1)


async def test_of_two_who_refund_at_once_what_both_have_seen_one_does(
    people: People, owner: SignedInPerson, shop: Shop, credited: str, admin: Any
) -> None:
    finance = await people.person(shop, Role.FINANCE)
    sent = [
        (person, {**await person.fields(credited), "what": "part", "amount": "10", "factor": "sandbox", "once": once})
        for person, once in ((owner, "a"), (owner, "b"), (finance, "c"))
    ]
    answers = await asyncio.gather(*(person.post(f"{credited}/refund", fields) for person, fields in sent))
    assert sorted(answer.status_code for answer in answers) == [303, 409, 409]
    assert await count(admin) == 1


async def test_of_two_approvals_of_what_both_have_seen_one_runs(
    people: People, owner: SignedInPerson, shop: Shop, credited: str, admin: Any
) -> None:
    support = await people.person(shop, Role.SUPPORT)
    for amount in ("10", "20"):
        assert (await support.send(f"{credited}/refund", at=credited, what="part", amount=amount)).status_code == 303
    fields = {**await owner.fields("/refunds?tab=approve"), "factor": "sandbox"}
    numbers = [row["id"] for row in await admin.fetch("SELECT id FROM approval")]
    answers = await asyncio.gather(
        *(owner.post(f"/approvals/{number}/approve", {**fields, "once": f"o{number}"}) for number in numbers)
    )
    assert sorted(answer.status_code for answer in answers) == [303, 409]
    assert await count(admin) == 1


async def test_what_cannot_be_refunded_is_not_proposed(
    people: People, shop: Shop, credited: str, blocked: list[str]
) -> None:
    support = await people.person(shop, Role.SUPPORT)
    sent = {**await support.fields(credited), "what": "part", "factor": "sandbox"}
    too_much = (credited.rpartition("/")[2], "100.01", 422)
    for reference, amount, status in (*((one, "1", 409) for one in blocked), too_much):
        version = await people.admin.fetchval("SELECT version FROM collection WHERE reference = $1", reference)
        fields = {**sent, "version": str(version), "amount": amount, "once": reference}
        answer = await support.post(f"/inflows/{reference}/refund", fields)
        assert (answer.status_code, "has changed" in answer.text) == (status, False), reference
    assert await people.admin.fetchval("SELECT count(*) FROM approval") == 0


async def test_a_request_leaves_the_list_when_its_time_is_over_and_only_approvers_decline(
    people: People, owner: SignedInPerson, shop: Shop, credited: str, admin: Any
) -> None:
    support, colleague = await people.person(shop, Role.SUPPORT), await people.person(shop, Role.SUPPORT)
    await support.send(f"{credited}/refund", at=credited, what="part", amount="20")
    below = f"/approvals/{await admin.fetchval('SELECT id FROM approval')}"
    assert f"{below}/decline" not in (await colleague.get("/refunds?tab=approve")).text
    assert (await colleague.send(f"{below}/decline", at="/refunds?tab=approve")).status_code == 403
    assert f"{below}/approve" in (await owner.get("/refunds?tab=approve")).text
    await admin.execute("UPDATE approval SET expires_at = now()")
    page = (await owner.get("/refunds?tab=approve")).text
    assert (f"{below}/approve" in page, "nobody decided until" in page) == (False, True)


async def test_what_support_asks_for_another_person_allows(
    people: People, shop: Shop, credited: str, admin: Any
) -> None:
    support, finance = await people.person(shop, Role.SUPPORT), await people.person(shop, Role.FINANCE)
    asked = await support.send(f"{credited}/refund", at=credited, what="all", note="not ours")
    assert (asked.status_code, await count(admin)) == (303, 0)
    assert finance.path(credited) in (await finance.get("/refunds?tab=approve")).text
    below = f"/approvals/{await admin.fetchval('SELECT id FROM approval')}/approve"
    assert (await support.send(below, at="/refunds?tab=approve")).status_code == 403
    assert (await finance.send(below, at="/refunds?tab=approve")).status_code == 303
    assert await count(admin) == 1
    assert "asked for a refund" in (await finance.get(credited)).text
    assert f'href="{finance.path(credited)}"' in (await finance.get("/audit?what=refunds")).text


async def test_an_approval_is_void_once_the_inflow_changed(
    people: People, owner: SignedInPerson, shop: Shop, credited: str
) -> None:
    support = await people.person(shop, Role.SUPPORT)
    await support.send(f"{credited}/refund", at=credited, what="part", amount="20")
    number = await people.admin.fetchval("SELECT id FROM approval")
    await owner.send(f"{credited}/refund", at=credited, what="part", amount="10")
    answer = await owner.send(f"/approvals/{number}/approve", at="/refunds?tab=approve", once="x")
    assert (answer.status_code, await count(people.admin)) == (409, 1)


async def test_above_the_limit_needs_two(people: People, owner: SignedInPerson, credited: str, admin: Any) -> None:
    await people.person(await people.shop_of(owner), Role.ADMIN)
    assert (await owner.send("/settings/limits", at="/settings", **{"limit-EUR": "50"})).status_code == 303
    assert ">Continue</span></button>" in (await owner.get(credited)).text
    assert (await owner.send(f"{credited}/refund", at=credited, what="all")).status_code == 303
    assert await count(admin) == 0


async def test_held_and_converted_inflows_and_viewers_have_no_form(
    people: People, owner: SignedInPerson, shop: Shop, credited: str, blocked: list[str]
) -> None:
    viewer = await people.person(shop, Role.VIEWER)
    for at in (f"/inflows/{reference}" for reference in blocked):
        assert f"{at}/refund" not in (await owner.get(at)).text
    assert f"{credited}/refund" not in (await viewer.get(credited)).text
    at = f"/inflows/{blocked[-1]}"
    assert "the operator refunds it" in (await owner.get(at)).text
    fields = {**await owner.fields(at), "factor": "sandbox", "version": "1", "what": "part", "amount": "1"}
    answer = await owner.post(f"{at}/refund", fields)
    assert (answer.status_code, await count(people.admin)) == (409, 0)


async def test_a_refund_that_failed_is_given_again_from_the_inflow(
    owner: SignedInPerson, inflows: Inflows, credited: str, admin: Any
) -> None:
    # Refunds that end in .13 are declined.
    first = await owner.send(f"{credited}/refund", at=credited, what="part", amount="10.13")
    await inflows.let_pass("1h")
    await inflows.let_pass("5s")
    assert "Open the inflow to try again" in (await owner.client.get(first.headers["location"])).text
    assert "The refund of €10.13 failed" in (await owner.get(credited)).text
    again = await owner.send(f"{credited}/refund", at=credited, what="part", amount="10.13")
    assert (again.status_code, await count(admin)) == (303, 2)


async def test_the_page_of_an_inflow_says_what_a_refund_was_asked_of(
    people: People, owner: SignedInPerson, shop: Shop, credited: str
) -> None:
    support = await people.person(shop, Role.SUPPORT, name="Sade Ojo")
    await support.send(f"{credited}/refund", at=credited, what="part", amount="20")
    assert "Sade Ojo asked for a refund of this inflow" in (await owner.get(credited)).text
