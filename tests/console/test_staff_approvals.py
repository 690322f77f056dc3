"""Four eyes of the staff: one proposes, another one approves; once, on the version that was looked at."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import msgspec
import pytest

from checkout.paying import card
from conftest import MakeCheckout
from console.people import SignedInStaff, StaffPeople
from dashboard.people import People
from inflow import CLOSE, DIFFERENT, Inflows, credit
from tidegate import worker
from tidegate.account import commands as accounts
from tidegate.audit.model import OPERATOR
from tidegate.collection import review
from tidegate.console import held as held_pages
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.core.money import Currency
from tidegate.member.permission import Role
from tidegate.runtime import Runtime
from tidegate.staff.permission import StaffRole
from waiting import until_waiting

IN_SUSPENSE = "SELECT id FROM receipt WHERE outcome = 'suspense'"

pytestmark = pytest.mark.usefixtures("unlimited")


async def held(inflows: Inflows) -> str:
    """The reference of an inflow that waits because the name is close."""
    inflow = await inflows.notified(credit(await inflows.number(), 4_800_00, payeeName=CLOSE))
    return str(inflow["reference"])


async def in_suspense(inflows: Inflows, admin: Any) -> str:
    """The page of money that came to an unknown account."""
    assert (await inflows.notify(credit("DE99", 7_500))).status_code == 200
    return f"/suspense/{await admin.fetchval(IN_SUSPENSE)}"


async def proposed(operator: SignedInStaff, reference: str, what: str = "credit", why: str = "one letter") -> str:
    """The address of the approval."""
    answer = await operator.send(f"/held/{reference}", at=f"/held/{reference}", what=what, why=why)
    assert "said=proposed" in answer.headers["location"], answer.text
    return await open_approval(operator)


async def open_approval(person: SignedInStaff) -> str:
    page = (await person.get("/approvals")).text
    return page.partition('action="/console/approvals/')[2].partition('"')[0].rpartition("/")[0]


async def decide(person: SignedInStaff, approval: str, what: str = "approve") -> httpx.Response:
    return await person.send(f"/approvals/{approval}/{what}", at="/approvals")


async def rail_resumed(operator: SignedInStaff, approver: SignedInStaff, admin: Any, runtime: Runtime) -> None:
    """API and worker know of it at once; else the next tests would find the rail paused for a while."""
    assert (await operator.send("/rails/sandbox/resume", at="/rails", why="it is mended")).status_code == 303
    query = "SELECT business_id || '/' || id FROM approval WHERE command = 'rail.resume' AND status = 'open'"
    assert (await decide(approver, await admin.fetchval(query))).status_code == 303
    await runtime.deps.paused.look(runtime.db)


async def test_a_return_says_what_was_chosen_for_it(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    at = f"/held/{await held(inflows)}"
    refused = await operator.send(at, at=at, what="return", reason="hold_ended", why="the name")
    assert (refused.status_code, "The reason is one of review_refused, name_differs" in refused.text) == (422, True)
    assert (await operator.send(at, at=at, what="return", reason="name_differs", why="the name")).status_code == 303
    asked = (await approver.get("/approvals")).text
    assert "Return a held inflow to its payer: the name given is not the account holder&#39;s (BE01)" in asked
    approval = await admin.fetchval("SELECT business_id || '/' || id FROM approval WHERE command = 'inflow.return'")
    assert (await decide(approver, approval)).status_code == 303
    assert await admin.fetchval("SELECT reason FROM money_return") == "BE01 the name given is not the account holder's"


async def test_a_held_inflow_is_credited_by_two(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    reference = await held(inflows)
    page = (await operator.get(f"/held/{reference}")).text
    assert "<mark>i</mark>" in page
    approval = await proposed(operator, reference)
    assert (await inflows.get(reference))["status"] == "pending"
    # Neither the one who proposed nor another operator.
    assert (await decide(operator, approval)).status_code == 403
    assert (await decide(approver, approval)).headers["location"] == "/console/approvals?said=approved"
    assert (await inflows.get(reference))["status"] == "successful"
    # It runs once.
    again = await decide(approver, approval)
    assert (again.status_code, f"{approver.member.name} approved this on" in again.text) == (409, True)
    rows = await admin.fetch("SELECT actor, action, details FROM audit WHERE subject = $1 ORDER BY id", reference)
    assert [(row["actor"], row["action"]) for row in rows] == [
        (f"staff/{operator.member.id}", "inflow.credit.proposed"),
        (f"staff/{approver.member.id}", "inflow.credit.approved"),
        (f"staff/{approver.member.id}", "collection.credited"),
    ]
    assert f"staff/{operator.member.id}" in rows[1]["details"]


@pytest.mark.parametrize("what", ["credit", "return"])
async def test_why_an_inflow_was_held_and_who_decided_stays_on_its_pages(
    staff: StaffPeople, operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, what: str
) -> None:
    reference, outcome = await held(inflows), {"credit": "Credited", "return": "Sent back"}[what]
    await decide(approver, await proposed(operator, reference, what, "the invoice was looked at"))
    page = (await operator.get(f"/held/{reference}")).text
    for words in (
        f"<dt>Outcome</dt><dd>{outcome}", "Why it was held", "The name given is close to the account holder",
        "Rule: a name that is close", "Verdict: close", "the invoice was looked at",
        f"<dt>Proposed by</dt><dd>{operator.member.name}", f"<dt>Approved by</dt><dd>{approver.member.name}",
    ):  # fmt: skip
        assert words in page, words
    owner = await staff.people.person(inflows.shop, Role.OWNER)
    page = (await owner.get(f"/inflows/{reference}")).text
    assert ("the name given is close to the account holder" in page, "the invoice was looked at" in page) == (
        True,
        True,
    )


async def test_why_an_inflow_was_returned_is_found_in_three_clicks(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows
) -> None:
    reference = await held(inflows)
    await decide(approver, await proposed(operator, reference, "return", "the invoice is unknown"))
    assert 'href="/console/held"' in (await operator.get("")).text
    assert 'href="/console/held?status=returned"' in (await operator.get("/held")).text
    page = (await operator.get("/held?status=returned")).text
    assert f'href="/console/held/{reference}"' in page
    for words in (
        "reviewed and not accepted", "Held because the name given is close", "the invoice is unknown",
        f'<td class="rest broken">{operator.member.name}, approved by {approver.member.name}</td>',
        # At 390 px.
        f"; held because the name given is close to the account holder&#39;s, but not the same</span>"
        f'<span class="sub">Decided by {operator.member.name}, approved by {approver.member.name}: ',
    ):  # fmt: skip
        assert words in page, words


async def test_what_nobody_decided_says_so(operator: SignedInStaff, inflows: Inflows) -> None:
    reference = await held(inflows)
    await inflows.let_pass("73h")
    page = (await operator.get(f"/held/{reference}")).text
    assert ("Why it was held" in page, "<dt>Decided by</dt><dd>no one; the time ran out" in page) == (True, True)
    other = await inflows.notified(credit(await inflows.number(), payeeName=DIFFERENT))
    assert "is not the account holder" in (await operator.get(f"/held/{other['reference']}")).text


async def test_the_approver_reads_what_is_approved(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows
) -> None:
    """Merchant, amount, payer and holder; what would be booked; what is changed, and by how much."""
    business_id = inflows.shop.business_id
    reference, merchant = await held(inflows), f"/merchants/{business_id}"
    await proposed(operator, reference)
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.10")
    rate = {
        "base": "EUR",
        "quote": "USD",
        "rate": "1.32",
        "again": "1.32",
        "spread": "0",
        "source": "ecb",
        "why": "new",
    }
    for path, fields in (
        ("/rates", rate),
        (f"{merchant}/propose", {"what": "price", "currency": "NGN", "method": "card", "percent": "1.25",
                                 "fixed": "5000", "cap": "200000", "why": "agreed"}),
        (f"{merchant}/owner", {"email": "owner@new.example", "why": "asked by letter"}),
        (f"{merchant}/endpoints", {"url": "https://example.com/one", "why": "they moved"}),
        (f"{merchant}/settings", {"rate": "70", "burst": "100", "tolerance": "0", "variance": "accept",
                                  "names": "hold", "hosts": "", "origins": "", "why": "a sale"}),
    ):  # fmt: skip
        at = "/rates" if path == "/rates" else merchant
        answer = await operator.send(path, at=at, **fields)
        assert answer.status_code == 303, answer.text
    page = (await approver.get("/approvals")).text
    for words in (
        f'<a href="/console{merchant}">', "<dd>€4,800.00</dd>", "<dt>Payer</dt><dd>", "<dt>Account of</dt>",
        "<dt>Credited to the wallet</dt>", "1.10 → 1.32 (+20.00 %)",
        "1.25 % + NGN 50.00, at most NGN 2,000.00", "owner@new.example", "https://example.com/one",
        "<dt>Requests a second</dt><dd>", " → 70</dd>",
    ):  # fmt: skip
        assert words in page, words
    assert "minor units" not in page


async def test_what_was_decided_shows_what_was_proposed(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    """Approved, declined or void; also what was there before, which the decision has changed. No name of a payer is
    kept with a proposal: it is read where it can be erased."""
    at = f"/merchants/{inflows.shop.business_id}"
    reference, other = await held(inflows), await held(inflows)
    fields = {"rate": "70", "burst": "150", "tolerance": "1250", "variance": "return", "names": "strict"}
    facts = [
        "<dt>Amount</dt><dd>€4,800.00</dd>", "<dt>Payer</dt><dd>", "<dt>Account of</dt>", "<dt>Held because</dt>",
        "<dt>Credited to the wallet</dt><dd>€4,",
        "<dt>Transfers of too little or too much</dt><dd>accept them → return them</dd>",
        "<dt>Inflows with a close or missing name</dt><dd>hold them → return them</dd>",
        "<dt>Difference that is ignored, at most</dt><dd>NGN 0.00, UGX 0 → NGN 12.50, UGX 1,250</dd>",
    ]  # fmt: skip
    await decide(approver, await proposed(operator, reference))
    await decide(approver, await proposed(operator, other), "decline")
    assert (
        await operator.send(f"{at}/settings", at=at, why="agreed", **fields, hosts="", origins="")
    ).status_code == 303
    waiting = (await approver.get("/approvals")).text
    assert "<dd>accept them → return them</dd>" in waiting
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    page = (await approver.get("/approvals")).text
    assert "Nothing waits for a second person" in page
    for words in facts:
        assert words in page, words
    assert page.count("<dd>€4,800.00</dd>") == 2
    kept = await admin.fetchval("SELECT string_agg(facts::text, ' ') FROM approval")
    payer = await admin.fetchval("SELECT payer ->> 'name' FROM collection LIMIT 1")
    assert (payer in page, payer in kept, "Ada Obi" in kept) == (True, False, False)


async def test_an_approver_decides_on_the_page_of_the_inflow(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows
) -> None:
    reference = await held(inflows)
    at = f"/held/{reference}"
    page = (await approver.get(at)).text
    assert ("What a credit books" in page, 'name="what"' in page) == (True, False)
    approval = await proposed(operator, reference)
    assert "Approve" in (await approver.get(at)).text
    # The one who proposed it can take it back there, and is not offered a second proposal.
    page = (await operator.get(at)).text
    assert ("Take back" in page, 'name="what"' in page) == (True, False)
    fields = {**await approver.fields(at), "factor": "sandbox", "at": "subject"}
    done = await approver.post(f"/approvals/{approval}/approve", fields)
    assert done.headers["location"] == f"/console{at}?said=approved"
    page = (await operator.get(at)).text
    assert f"<dt>Proposed by</dt><dd>{operator.member.name}" in page
    assert f"<dt>Approved by</dt><dd>{approver.member.name}" in page
    assert "Returned by itself" not in page


async def test_after_a_proposal_comes_the_next_inflow(operator: SignedInStaff, inflows: Inflows) -> None:
    first, second = await held(inflows), await held(inflows)
    answer = await operator.send(f"/held/{first}", at=f"/held/{first}", what="credit", why="one letter")
    assert answer.headers["location"] == f"/console/held/{second}?said=proposed_before"
    assert "this is the next one" in (await operator.client.get(answer.headers["location"])).text
    answer = await operator.send(f"/held/{second}", at=f"/held/{second}", what="credit", why="one letter")
    assert answer.headers["location"] == "/console/held?said=proposed"


async def test_what_was_returned_is_listed_with_why(
    operator: SignedInStaff, inflows: Inflows, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = await inflows.number()
    returned = [await inflows.notified(credit(number, payeeName=DIFFERENT)) for _ in range(3)]
    monkeypatch.setattr(held_pages, "PAGE", 2)
    page = (await operator.get("/held?status=returned")).text
    assert "is not the account holder" in page
    assert [one["reference"] in page for one in returned] == [False, True, True]
    older = page.partition("?status=returned&amp;before=")[2].partition('"')[0]
    page = (await operator.get(f"/held?status=returned&before={older}")).text
    assert [one["reference"] in page for one in returned] == [True, False, False]


async def test_earlier_inflows_are_those_before_it(operator: SignedInStaff, inflows: Inflows) -> None:
    number = await inflows.number()
    made = [str((await inflows.notified(credit(number, 4_800_00, payeeName=CLOSE)))["reference"]) for _ in range(3)]
    pages = [(await operator.get(f"/held/{reference}")).text for reference in made]
    assert ["first inflow of this payer" in pages[0], "1 earlier" in pages[1], "2 earlier" in pages[2]] == [True] * 3


async def test_no_card_number_is_kept_as_a_reason(operator: SignedInStaff, inflows: Inflows, admin: Any) -> None:
    at = f"/held/{await held(inflows)}"
    answer = await operator.send(at, at=at, what="credit", why="card 4111 1111 1111 1111")
    assert (answer.status_code, "looks like a card number" in answer.text) == (422, True)
    assert await admin.fetchval("SELECT count(*) FROM approval") == 0


async def test_what_cannot_be_approved_is_not_proposed(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    reference = await held(inflows)
    another_tab = await operator.fields(f"/held/{reference}")
    await decide(approver, await proposed(operator, reference))
    version = str(await admin.fetchval("SELECT version FROM collection WHERE reference = $1", reference))
    fields = {**another_tab, "once": "late", "factor": "sandbox", "what": "credit", "why": "x", "version": version}
    late = await operator.post(f"/held/{reference}", fields)
    assert (late.status_code, "only a held one" in late.text) == (409, True)
    at = await in_suspense(inflows, admin)
    business_id = inflows.shop.business_id
    for to, status, why in (
        ({"business": business_id, "payment": "NO-SUCH"}, 409, "has no payment NO-SUCH"),
        ({"business": business_id, "account": "no-such"}, 409, "has no virtual account no-such"),
        ({"business": "0" * 24, "payment": "X"}, 422, "There is no such merchant"),
    ):
        answer = await operator.send(at, at=at, what="assign", why="x", **to)
        assert (answer.status_code, why in answer.text) == (status, True), answer.text
    assert await admin.fetchval("SELECT count(*) FROM approval WHERE status = 'open'") == 0


async def test_two_names_of_a_payment_are_one_subject(
    operator: SignedInStaff, approver: SignedInStaff, new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    assert (await checkout.charge(card())).status_code == 200
    paid = await admin.fetchrow("SELECT business_id, reference, pay_code FROM payment")
    by_reference, by_code = (f"/refunds/{paid['business_id']}/{paid[name]}" for name in ("reference", "pay_code"))
    another_tab = await operator.fields(by_code)
    assert (await operator.send(by_reference, at=by_reference, amount="10.5", why="broken")).status_code == 303
    assert await admin.fetchval("SELECT subject FROM approval") == paid["pay_code"]
    fields = {**another_tab, "once": "again", "factor": "sandbox", "amount": "1", "why": "again"}
    again = await operator.post(by_code, fields)
    assert (again.status_code, "proposed already" in again.text) == (409, True)
    assert "<dt>Amount</dt><dd>₦10.50</dd>" in (await approver.get("/approvals")).text


async def test_a_void_proposal_has_no_button_and_ends_by_itself(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    reference = await held(inflows)
    approval = await proposed(operator, reference)
    await review.send_back(inflows.runtime.deps, reference, note="by the bank", by=OPERATOR, now=inflows.now)
    page = (await approver.get("/approvals")).text
    assert ("Void: changed since" in page, f"{approval}/approve" in page) == (True, False)
    [ending] = [loop for loop in worker.OPERATOR_LOOPS if loop.name == "end_void_proposals"]
    assert (await ending.round(inflows.runtime.deps, inflows.runtime.clock)).done == 1
    assert tuple(await admin.fetchrow("SELECT status, outcome FROM approval")) == ("void", "changed")
    late = await decide(approver, approval)
    assert (late.status_code, "This request has been void since" in late.text) == (409, True)


async def test_what_is_gone_at_the_approval_is_said_on_the_page(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    at = await in_suspense(inflows, admin)
    assert (await operator.send(at, at=at, what="close", why="by hand")).status_code == 303
    approval = await open_approval(approver)
    gone = {"business_id": inflows.shop.business_id, "payment": "GONE"}
    await admin.execute(
        "UPDATE approval SET command = 'suspense.assign', arguments = $1::jsonb", msgspec.json.encode(gone).decode()
    )
    late = await decide(approver, approval)
    assert (late.status_code, "has no payment GONE" in late.text, "To approve" in late.text) == (409, True, True)


async def test_two_who_approve_at_once_book_once(
    staff: StaffPeople, operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows
) -> None:
    """And one who returns it by the command line at the same moment; the books are examined afterwards."""
    second = await staff.person(StaffRole.APPROVER)
    reference = await held(inflows)
    approval = await proposed(operator, reference)
    returning = review.send_back(inflows.runtime.deps, reference, note="no", by=OPERATOR, now=inflows.now)
    answers = await asyncio.gather(
        decide(approver, approval), decide(second, approval), returning, return_exceptions=True
    )
    statuses = [one.status_code for one in answers if isinstance(one, httpx.Response)]
    journals = await inflows.journals()
    assert len(statuses) == 2
    assert set(statuses) <= {303, 409}
    assert statuses.count(303) + (not isinstance(answers[2], BaseException)) == 1
    assert journals.get("held_settled", 0) + journals.get("held_returning", 0) == 1


async def test_of_money_that_is_held_nothing_is_booked_twice_after_its_account_was_suspended(
    staff: StaffPeople, operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    """Two approve at once what came before the suspension; the books are examined afterwards."""
    second = await staff.person(StaffRole.APPROVER)
    reference = await held(inflows)
    account_id = await admin.fetchval("SELECT id FROM virtual_account")
    approval = await proposed(operator, reference)
    await accounts.suspend(inflows.runtime.db, account_id, "a complaint", by=OPERATOR, now=inflows.now)
    answers = await asyncio.gather(decide(approver, approval), decide(second, approval))
    assert sorted(one.status_code for one in answers) in ([303, 409], [409, 409])
    journals = await inflows.journals()
    assert journals.get("held_settled", 0) == [one.status_code for one in answers].count(303)


@pytest.mark.one_server("on a cluster, a lock on another node is waited for until the statement's time is over")
async def test_who_approves_while_another_decides_for_long_reads_so(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    reference = await held(inflows)
    approval = await proposed(operator, reference)
    business_id, _, number = approval.partition("/")
    async with admin.transaction():
        await admin.execute(
            "SELECT FROM approval WHERE business_id = $1 AND id = $2 FOR UPDATE", business_id, int(number)
        )
        late = await decide(approver, approval)
    assert (late.status_code, "nother person is deciding on this request" in late.text) == (409, True)
    assert (await decide(approver, approval)).status_code == 303


@pytest.mark.one_server("on a cluster, the connection that waits is one between nodes")
async def test_an_approval_whose_connection_dies_happens_once_or_not_at_all(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    reference = await held(inflows)
    approval = await proposed(operator, reference)
    async with inflows.runtime.db.transaction() as tx:
        # The approval is decided in its transaction, and then waits for the inflow.
        await tx.execute(
            "SELECT FROM collection WHERE business_id = $1 AND reference = $2 FOR UPDATE",
            inflows.shop.business_id, reference,
        )  # fmt: skip
        deciding = asyncio.create_task(decide(approver, approval))
        await until_waiting(admin, unless=deciding)
        await admin.execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'
            """
        )
        assert (await deciding).status_code >= 500
    assert (await inflows.get(reference))["status"] == "pending"
    assert await admin.fetchval("SELECT status FROM approval") == "open"
    assert (await decide(approver, approval)).status_code == 303
    assert (await inflows.get(reference))["status"] == "successful"


async def test_an_approval_is_void_once_its_subject_has_changed_or_three_days_have_passed(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    reference = await held(inflows)
    another_tab = await operator.fields(f"/held/{reference}")
    approval = await proposed(operator, reference)
    for what in ("credit", "return"):
        fields = {**another_tab, "once": f"again-{what}", "factor": "sandbox", "what": what, "why": "again"}
        again = await operator.post(f"/held/{reference}", fields)
        words = f"proposed already: Credit a held inflow, by {operator.member.name} on"
        assert (again.status_code, words in again.text) == (409, True)
    await admin.execute("UPDATE approval SET subject_version = subject_version + 1")
    late = await decide(approver, approval)
    assert (late.status_code, "has changed since" in late.text) == (409, True)
    await admin.execute("UPDATE approval SET subject_version = subject_version - 1, expires_at = now()")
    late = await decide(approver, approval)
    assert (late.status_code, "three days" in late.text) == (409, True)
    # A lapsed one does not block a new one, which is for the page that was looked at.
    stale = await operator.send(
        f"/held/{reference}", at=f"/held/{reference}", what="credit", why="x", credit_version="99"
    )
    assert "changed since" in stale.text
    assert await proposed(operator, reference)
    assert (await inflows.get(reference))["status"] == "pending"


async def test_a_proposal_is_declined_or_taken_back(
    staff: StaffPeople, operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows
) -> None:
    reference = await held(inflows)
    owner = await staff.people.person(inflows.shop, Role.OWNER)
    approval = await proposed(operator, reference)
    other = await staff.person(StaffRole.OPERATOR)
    assert (await decide(other, approval, "withdraw")).status_code == 403
    taken = await decide(operator, approval, "withdraw")
    assert taken.headers["location"].endswith("?said=taken_back")
    page = (await approver.get("/approvals")).text
    assert f"taken back by {operator.member.name}" in page
    assert "declined" not in page
    assert "took back the proposal" in (await owner.get("/audit")).text
    late = await decide(approver, approval)
    assert (late.status_code, "took this back on" in late.text) == (409, True)
    approval = await proposed(operator, reference)
    assert (await decide(approver, approval, "decline")).headers["location"].endswith("declined")
    assert f"declined by {approver.member.name}" in (await operator.get("/approvals")).text
    assert (await inflows.get(reference))["status"] == "pending"


async def test_an_approver_takes_back_their_own_proposal(approver: SignedInStaff, staff: StaffPeople) -> None:
    fields = {"email": "new@example.com", "name": "New", "role": "auditor", "why": "joins the team"}
    assert (await approver.send("/staff", at="/staff", what="add", **fields)).status_code == 303
    page = (await approver.get("/approvals")).text
    assert ("Take back</button>" in page, "Decline</button>" in page, "Approve</button>" in page) == (
        True,
        False,
        False,
    )
    other = (await (await staff.person(StaffRole.APPROVER)).get("/approvals")).text
    assert ("Take back</button>" in other, "Decline</button>" in other) == (False, True)
    taken = await decide(approver, await open_approval(approver), "withdraw")
    assert taken.headers["location"].endswith("?said=taken_back")


async def test_an_account_is_approved_by_two_and_stopped_by_one(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    assert (await inflows.ask_for()).status_code == 201
    account_id = await admin.fetchval("SELECT id FROM virtual_account")
    at = f"/accounts/{account_id}"
    assert "Ada Obi" in (await operator.get("/accounts")).text
    assert (await operator.send(f"{at}/propose", at=at, what="approve", why="documents are fine")).status_code == 303
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert "Open" in (await operator.get(at)).text
    assert (await operator.send(f"{at}/suspend", at=at, what="suspend", reason="")).status_code == 422
    assert (await operator.send(f"{at}/suspend", at=at, what="suspend", reason="a complaint")).status_code == 303
    assert "Suspended" in (await operator.get(at)).text
    assert (await operator.send(f"{at}/propose", at=at, what="reinstate", why="it is settled")).status_code == 303
    assert "Suspended" in (await operator.get(at)).text
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert await admin.fetchval("SELECT status FROM virtual_account") == "approved"


async def test_lost_factors_are_removed_by_two_a_day_later(
    operator: SignedInStaff, approver: SignedInStaff, people: People, inflows: Inflows, admin: Any
) -> None:
    owner, at = await people.person(inflows.shop, Role.OWNER), f"/merchants/{inflows.shop.business_id}"
    given = {"email": owner.member.email, "why": "seen with the passport"}
    needless = await operator.send(f"{at}/reset", at=at, **given)
    assert (needless.status_code, "has no second factor" in needless.text) == (409, True)
    await admin.execute("UPDATE person SET totp_secret = 'sealed' WHERE id = $1", owner.member.id)
    assert (await operator.send(f"{at}/reset", at=at, **given)).status_code == 303
    ends_in = "SELECT round(extract(epoch FROM factors_end_at - now()) / 3600) FROM person WHERE id = $1"
    assert await admin.fetchval(ends_in, owner.member.id) is None
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert await admin.fetchval(ends_in, owner.member.id) == 24
    mailed = "SELECT subject FROM mail WHERE recipient = $1"
    assert await admin.fetchval(mailed, owner.member.email) == "Tidegate: your second factors will be removed"


async def test_prices_limits_and_a_suspension_of_a_merchant(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    at = f"/merchants/{inflows.shop.business_id}"
    assert inflows.shop.business_id in (await operator.get("/merchants?part=Test")).text
    assert (await operator.send(f"{at}/suspend", at=at, reason="unpaid")).status_code == 303
    assert await admin.fetchval("SELECT status FROM business WHERE id = $1", inflows.shop.business_id) == "suspended"
    assert "Suspended: unpaid" in (await operator.get(at)).text
    for fields in (
        {"what": "reinstate"},
        {"what": "price", "currency": "NGN", "method": "card", "percent": "1.25", "fixed": "5000", "cap": "200000"},
    ):
        answer = await operator.send(f"{at}/propose", at=at, why="agreed", **fields)
        assert answer.status_code == 303, answer.text
        assert (await decide(approver, await open_approval(approver))).status_code == 303
    fields = {"rate": "70", "burst": "150", "tolerance": "0", "variance": "return", "names": "hold"}
    answer = await operator.send(f"{at}/settings", at=at, why="agreed", **fields, hosts="shop.example.com", origins="")
    assert answer.status_code == 303, answer.text
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    row = await admin.fetchrow("SELECT * FROM business WHERE id = $1", inflows.shop.business_id)
    assert (row["status"], row["rate_per_second"], row["rate_burst"]) == ("active", 70, 150)
    assert (row["variance_policy"], row["redirect_hosts"], row["suspended_for"]) == (
        "return",
        ["shop.example.com"],
        None,
    )
    price = await admin.fetchrow("SELECT * FROM fee_rule WHERE business_id = $1", inflows.shop.business_id)
    assert (price["basis_points"], price["fixed_minor"], price["cap_minor"]) == (125, 5_000, 200_000)


async def test_an_inflow_that_was_converted_is_refunded_at_the_rate_that_was_chosen(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.10")
    arrived = await inflows.notified(credit(await inflows.number(Currency.EUR, Currency.USD)))
    business_id, reference = inflows.shop.business_id, arrived["reference"]
    found = await operator.client.get(f"/console/refunds/{business_id}?reference={reference}")
    at = f"/refunds/{business_id}/{reference}"
    assert found.headers["location"] == f"/console{at}"
    assert "Worth when credited" in (await operator.get(at)).text
    assert (await operator.send(at, at=at, amount="100.01", rate="today", why="x")).status_code == 409
    assert (await operator.send(at, at=at, amount="40", rate="credit", why="sold out")).status_code == 303
    before = await inflows.wallet("USD")
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert before - await inflows.wallet("USD") == 44_00
    assert await admin.fetchval("SELECT rate_chosen FROM refund") == "credit"
    page = (
        await operator.get(f"/stuck/refund/{business_id}/{await admin.fetchval('SELECT reference FROM refund')}")
    ).text
    assert "<dt>Asked for by</dt><dd>Ifeoma Nwosu</dd>" in page
    assert "<dt>Approved by</dt><dd>Kofi Mensah</dd>" in page


async def test_a_merchant_that_is_active_is_not_reinstated(operator: SignedInStaff, inflows: Inflows) -> None:
    at = f"/merchants/{inflows.shop.business_id}"
    answer = await operator.send(f"{at}/propose", at=at, what="reinstate", why="agreed")
    assert (answer.status_code, "is active already" in answer.text) == (409, True)


@pytest.mark.parametrize("field", ["version", "credit_version"])
async def test_a_form_without_the_version_that_was_looked_at_is_refused(
    operator: SignedInStaff, inflows: Inflows, admin: Any, field: str
) -> None:
    at = f"/held/{await held(inflows)}"
    what = "credit" if field == "credit_version" else "return"
    for wrong in ("", "zero", "1e3"):
        answer = await operator.send(at, at=at, what=what, why="one letter", **{field: wrong})
        assert (answer.status_code, "is incomplete" in answer.text) == (400, True), wrong
    assert await admin.fetchval("SELECT count(*) FROM approval") == 0


async def test_a_merchant_is_created_by_one_and_its_owner_invited_by_two(
    operator: SignedInStaff, approver: SignedInStaff, admin: Any
) -> None:
    wrong = await operator.send("/merchants", at="/merchants", name="", email="x")
    assert wrong.status_code == 422
    made = await operator.send("/merchants", at="/merchants", name="Lagos Bakery", email="ada@bakery.example")
    assert made.headers["location"].endswith("?said=created")
    mails = "SELECT count(*) FROM mail WHERE recipient = 'ada@bakery.example'"
    assert await admin.fetchval(mails) == 0
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert await admin.fetchval(mails) == 1


async def test_where_a_merchant_s_events_are_sent_is_changed_by_two_and_stopped_by_one(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    at = f"/merchants/{inflows.shop.business_id}"
    sent = "SELECT url, status FROM webhook_endpoint"
    refused = await operator.send(f"{at}/endpoints", at=at, url="http://169.254.169.254/", why="x")
    assert (refused.status_code, "private network" in refused.text) == (422, True)
    for url, endpoint in (("https://example.com/one", ""), ("https://example.com/two", "first")):
        before = await admin.fetch(sent)
        fields = {"url": url, "why": "they asked for it"}
        if endpoint:
            page = (await operator.get(at)).text
            fields["endpoint"] = await admin.fetchval("SELECT id FROM webhook_endpoint")
            head = page.partition(f'name="endpoint" value="{fields["endpoint"]}"')[0]
            fields["version"] = head.rpartition('name="version" value="')[2].partition('"')[0]
        answer = await operator.send(f"{at}/endpoints", at=at, **fields)
        assert answer.status_code == 303, answer.text
        assert await admin.fetch(sent) == before
        assert (await decide(approver, await open_approval(approver))).status_code == 303
        assert [tuple(row) for row in await admin.fetch(sent)] == [(url, "enabled")]
    for rate, status in (("0", 422), ("1001", 422), ("fast", 422), ("40", 303)):
        paced = await operator.send(f"{at}/endpoints/pace", at=at, endpoint=fields["endpoint"], rate=rate)
        assert paced.status_code == status
    assert await admin.fetchval("SELECT rate_per_second FROM webhook_endpoint") == 40
    refused = await operator.send(f"{at}/endpoints/stop", at=at, endpoint=fields["endpoint"])
    assert (refused.status_code, "must not be empty" in refused.text) == (422, True)
    given = {"endpoint": fields["endpoint"], "reason": "it leaks"}
    stopped = await operator.send(f"{at}/endpoints/stop", at=at, **given)
    assert stopped.status_code == 303
    assert await admin.fetchval("SELECT status FROM webhook_endpoint") == "disabled"


async def test_proposals_about_one_address_leave_those_about_another_alone(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    """Bound to that endpoint: what is approved about another one of the merchant makes none of them void."""
    at = f"/merchants/{inflows.shop.business_id}"
    for url in ("https://example.com/one", "https://example.com/two"):
        given = {"url": url, "why": "they asked for it"}
        assert (await operator.send(f"{at}/endpoints", at=at, **given)).status_code == 303
    for _ in range(2):
        assert (await decide(approver, await open_approval(approver))).status_code == 303
    rows = await admin.fetch("SELECT id, url FROM webhook_endpoint ORDER BY url")
    assert [row["url"] for row in rows] == ["https://example.com/one", "https://example.com/two"]
    for row in rows:
        page = (await operator.get(at)).text.partition(f'name="endpoint" value="{row["id"]}"')[0]
        version = page.rpartition('name="version" value="')[2].partition('"')[0]
        given = {"url": f"{row['url']}/in", "why": "they moved", "endpoint": row["id"], "version": version}
        assert (await operator.send(f"{at}/endpoints", at=at, **given)).status_code == 303
    for _ in range(2):
        assert (await decide(approver, await open_approval(approver))).status_code == 303


async def test_view_as_reads_and_changes_nothing(
    operator: SignedInStaff, inflows: Inflows, people: People, admin: Any
) -> None:
    shop = inflows.shop
    at = f"/merchants/{shop.business_id}"
    page = (await operator.send(f"{at}/view", at=at, reason="a call about a refund")).text
    url = page.partition("/dashboard/view/")[2].partition('"')[0]
    token = (await operator.client.get(f"/dashboard/view/{url}")).text.partition('name="token" value="')[2]
    entered = await operator.client.post(f"/dashboard/view/{url}", data={"token": token.partition('"')[0]})
    home = entered.headers["location"]
    seen = (await operator.client.get(home)).text
    assert ("Nothing can be changed" in seen, "Be someone else" in seen) == (True, False)
    # Not even what a viewer may do, and no other business.
    token = seen.partition('name="token" value="')[2].partition('"')[0]
    assert (await operator.client.post(f"{home}/sandbox/advance", data={"token": token, "by": "1h"})).status_code == 403
    # Nor how the person who looks signs in: the link would be a way to their other rights.
    assert "/dashboard/security" not in seen
    named = {"token": token, "what": "name", "name": "Somebody Else", "factor": "sandbox"}
    for path in ("security", "two-step", "confirm"):
        assert (await operator.client.get(f"/dashboard/{path}")).status_code == 403
        assert (await operator.client.post(f"/dashboard/{path}", data=named)).status_code == 403
    assert "Somebody Else" not in [row["name"] for row in await admin.fetch("SELECT name FROM person")]
    owner = await people.person(shop, Role.OWNER)
    audit = await admin.fetchrow("SELECT * FROM audit WHERE action = 'business.viewed'")
    assert (audit["business_id"], "a call about a refund" in audit["details"]) == (shop.business_id, True)
    assert "looked at this dashboard" in (await owner.get("/audit")).text
    # Who leaves the staff sees no more of it.
    assert (await operator.client.get(home)).status_code == 200
    await admin.execute("UPDATE staff SET ended_at = now() WHERE person_id = $1", operator.member.id)
    assert (await operator.client.get(home)).status_code == 404


async def test_the_staff_is_changed_by_two_approvers(staff: StaffPeople, approver: SignedInStaff, admin: Any) -> None:
    second = await staff.person(StaffRole.APPROVER)
    answer = await approver.send(
        "/staff", at="/staff", what="add", email="new@example.com", name="Nneka Obi", role="auditor", why="hired",
    )  # fmt: skip
    assert answer.status_code == 303, answer.text
    approval = await open_approval(second)
    assert approval.startswith(PLATFORM_BUSINESS_ID)
    assert (await decide(approver, approval)).status_code == 403
    assert (await decide(second, approval)).status_code == 303
    assert await admin.fetchval("SELECT count(*) FROM mail WHERE recipient = 'new@example.com'") == 1
    assert "Nneka Obi" in (await approver.get("/staff")).text


async def test_money_in_suspense_has_candidates_of_its_own_rail_and_is_assigned_by_choosing_one(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, new_checkout: MakeCheckout, admin: Any
) -> None:
    waiting, named = await new_checkout(), await new_checkout(amount=777)
    for checkout in (waiting, named):
        assert (await checkout.charge({"type": "bank_transfer"})).status_code == 200
    first, second = await admin.fetch("SELECT * FROM payment ORDER BY id")
    narration = f"for {second['reference']}, thanks"
    sent = credit("DE99", first["expected_minor"], currency="NGN", remittance=narration)
    assert (await inflows.notify(sent)).status_code == 200
    at = f"/suspense/{await admin.fetchval(IN_SUSPENSE)}"
    page = (await operator.get(at)).text
    assert [first["reference"] in page, "waited for this amount" in page, "named in the narration" in page] == [
        True
    ] * 3
    assert "Choose" not in (await approver.get(at)).text
    # What the rail sent, as text.
    assert f"&#34;{sent['transactionId']}&#34;" in page
    link = page.partition(f"&amp;payment={first['pay_code']}")[0].rpartition('href="/console')[2]
    chosen = f"{link.replace('&amp;', '&')}&payment={first['pay_code']}"
    page = (await operator.get(chosen)).text
    assert f'value="{first["pay_code"]}"' in page
    assert 'value="assign" required checked' in page
    fields = {"business": first["business_id"], "payment": first["pay_code"], "what": "assign", "why": "same amount"}
    assert (await operator.send(at, at=chosen, **fields)).status_code == 303
    page = (await approver.get(at)).text
    assert f"{first['reference']}, pending" in page
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert await admin.fetchval("SELECT status FROM payment WHERE id = $1", first["id"]) == "success"
    page = (await operator.get(at)).text
    for words in (
        f"<dt>Payer</dt><dd>{sent['payer']['name']}", f"<dt>Proposed by</dt><dd>{operator.member.name}",
        f"<dt>Approved by</dt><dd>{approver.member.name}", f"&#34;{sent['transactionId']}&#34;",
    ):  # fmt: skip
        assert words in page, words


async def test_decided_suspense_keeps_payer_and_narration(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    at = await in_suspense(inflows, admin)
    before = (await operator.get(at)).text
    assert (await operator.send(at, at=at, what="close", why="paid by hand")).status_code == 303
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    page = (await operator.get(at)).text
    for label in ("Payer", "Narration"):
        fact = f"<dt>{label}</dt><dd>{before.partition(f'<dt>{label}</dt><dd>')[2].partition('<')[0]}</dd>"
        assert "–" not in fact
        assert fact in page
    assert f"<dt>Approved by</dt><dd>{approver.member.name}" in page


async def test_a_proposal_is_shown_alike_on_the_pages_of_its_thing(
    operator: SignedInStaff, approver: SignedInStaff, new_checkout: MakeCheckout
) -> None:
    """Who proposed what, until when, and the buttons of whoever looks."""
    paid = await new_checkout(amount=10_000)
    assert (await paid.charge(card())).status_code == 200
    business, refund = paid.shop.business_id, f"/refunds/{paid.shop.business_id}/{paid.pay_code}"
    assert (await operator.send(refund, at=refund, amount="5", why="asked by phone")).status_code == 303
    for below in (refund, f"/merchants/{business}", f"/payments/{business}/{paid.pay_code}"):
        for person, button in ((operator, "Take back:"), (approver, "Approve:")):
            page = (await person.get(below)).text
            for words in ("asked by phone", f"Proposed by {operator.member.name}", "until", button):
                assert words in page, (below, words)
    assert (await decide(approver, await open_approval(approver), "decline")).status_code == 303
    assert "asked by phone" not in (await operator.get(refund)).text
