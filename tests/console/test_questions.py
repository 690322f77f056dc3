"""What the operator asks before deciding on an account, and the merchant's answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.operating import Operator
from console.people import SignedInStaff
from console.test_staff_approvals import decide, open_approval
from dashboard.people import People
from inflow import Inflows
from tidegate.member.permission import Role

pytestmark = pytest.mark.usefixtures("unlimited")


async def pending(inflows: Inflows, admin: Any) -> str:
    assert (await inflows.ask_for()).status_code == 201
    account_id: str = await admin.fetchval("SELECT id FROM virtual_account")
    return account_id


async def test_a_question_is_mailed_shown_and_answered_once(
    operator: SignedInStaff, people: People, inflows: Inflows, admin: Any
) -> None:
    at = f"/accounts/{await pending(inflows, admin)}"
    owner = await people.person(inflows.shop, Role.OWNER)
    viewer = await people.person(inflows.shop, Role.VIEWER)
    for bad in ("", "x" * 501, "4111 1111 1111 1111"):
        assert (await operator.send(f"{at}/ask", at=at, question=bad)).status_code == 422, bad
    assert (await operator.send(f"{at}/ask", at=at, question="Who owns <b>it</b>?")).status_code == 303
    # One at a time.
    assert (await operator.send(f"{at}/ask", at=at, question="And the address?")).status_code == 409
    letter = await admin.fetchrow("SELECT recipient, text_body FROM mail WHERE subject LIKE 'A question%'")
    assert letter["recipient"] == owner.member.email
    assert "Who owns <b>it</b>?" in letter["text_body"]
    assert f"{owner.path(at)}" in letter["text_body"]
    assert "Asked, not answered" in (await operator.get("/accounts")).text
    assert "waiting for your answer" in (await owner.get()).text
    assert "waiting for your answer" not in (await viewer.get()).text
    assert "Who owns &lt;b&gt;it&lt;/b&gt;?" in (await owner.get(at)).text
    assert (await viewer.send(f"{at}/answer", at="", answer="Me")).status_code == 403
    assert (await owner.send(f"{at}/answer", at=at, answer=" ")).status_code == 422
    assert (await owner.send(f"{at}/answer", at=at, answer="Ada Obi, alone")).status_code == 303
    assert (await owner.send(f"{at}/answer", at=at, answer="Somebody else")).status_code == 409
    page = (await operator.get(at)).text
    assert "Ada Obi, alone" in page
    assert "Ifeoma Nwosu" in page
    assert "waiting for your answer" not in (await owner.get()).text
    assert (await operator.send(f"{at}/ask", at=at, question="And the address?")).status_code == 303
    rows = await admin.fetch("SELECT action FROM audit WHERE subject = $1 ORDER BY id", at.rpartition("/")[2])
    assert [row["action"] for row in rows[1:]] == ["account.asked", "account.answered", "account.asked"]


async def test_a_proposal_is_void_once_something_was_asked_or_answered(
    operator: SignedInStaff, approver: SignedInStaff, people: People, inflows: Inflows, admin: Any
) -> None:
    at = f"/accounts/{await pending(inflows, admin)}"
    await people.person(inflows.shop, Role.OWNER)
    assert (await operator.send(f"{at}/propose", at=at, what="approve", why="all is there")).status_code == 303
    approval = await open_approval(approver)
    assert (await operator.send(f"{at}/ask", at=at, question="Who owns it?")).status_code == 303
    assert "Who owns it?" in (await approver.get("/approvals")).text
    assert (await decide(approver, approval)).status_code == 409
    assert await admin.fetchval("SELECT status FROM virtual_account") == "pending"


async def test_nobody_is_asked_where_nobody_can_answer(operator: SignedInStaff, inflows: Inflows, admin: Any) -> None:
    at = f"/accounts/{await pending(inflows, admin)}"
    answer = await operator.send(f"{at}/ask", at=at, question="Who owns it?")
    assert (answer.status_code, "invite its owner first" in answer.text) == (409, True)
    assert await admin.fetchval("SELECT count(*) FROM account_question") == 0


async def test_nothing_is_asked_or_answered_after_the_decision(
    operator: SignedInStaff, people: People, inflows: Inflows, admin: Any
) -> None:
    at = f"/accounts/{await pending(inflows, admin)}"
    owner = await people.person(inflows.shop, Role.OWNER)
    assert (await operator.send(f"{at}/ask", at=at, question="Who owns it?")).status_code == 303
    assert (await operator.send(f"{at}/suspend", at=at, what="decline", reason="Too late")).status_code == 303
    assert (await owner.send(f"{at}/answer", at=at, answer="Me")).status_code == 409
    assert (await operator.send(f"{at}/ask", at=at, question="Who owns it?")).status_code == 409
    assert "waiting for your answer" not in (await owner.get()).text


async def test_the_command_line_asks_and_shows_the_answer(
    people: People, inflows: Inflows, admin: Any, database_url: str, tmp_path: Path
) -> None:
    account_id, cli = await pending(inflows, admin), Operator(database_url, tmp_path)
    owner = await people.person(inflows.shop, Role.OWNER)
    await cli.said("account", "ask", account_id, "Who owns it?")
    assert (await cli.run("account", "ask", account_id, "Again?"))[0] == 1
    assert "not yet" in await cli.said("account", "show", account_id)
    at = f"/accounts/{account_id}"
    assert (await owner.send(f"{at}/answer", at=at, answer="Ada Obi")).status_code == 303
    assert "Ada Obi" in await cli.said("account", "show", account_id)
    await cli.said("account", "ask", account_id, "Where does she live?")
    await cli.said("account", "take-back", account_id)
    refused = await cli.refused("account", "take-back", account_id)
    assert "no question about this account waits for an answer" in refused
    assert await cli.refused("account", "ask", account_id, " ") == "✗ question must not be empty\n"
    shown = json.loads(await cli.said("account", "show", account_id, "--json"))
    assert shown["_id"] == account_id
    told = [(one["question"], one["answer"], one["takenBackBy"]) for one in shown["questions"]]
    assert told == [("Who owns it?", "Ada Obi", None), ("Where does she live?", None, "operator")]


async def test_a_question_is_taken_back_while_it_is_not_answered(
    operator: SignedInStaff, approver: SignedInStaff, people: People, inflows: Inflows, admin: Any
) -> None:
    at = f"/accounts/{await pending(inflows, admin)}"
    owner = await people.person(inflows.shop, Role.OWNER)
    assert (await operator.send(f"{at}/ask", at=at, question="Who owns it?")).status_code == 303
    first = str(await admin.fetchval("SELECT id FROM account_question"))
    back = f"{at}/ask/take-back"
    assert (await operator.send(f"{at}/propose", at=at, what="approve", why="all is there")).status_code == 303
    approval = await open_approval(approver)
    for other in ("", "x", "0", f"{first}0"):
        assert (await operator.send(back, at=at, asked=other)).status_code == 409, other
    assert (await operator.send(back, at=at, asked=first)).status_code == 303
    assert (await operator.send(back, at=at, asked=first)).status_code == 409
    letter = await admin.fetchrow("SELECT recipient, text_body FROM mail WHERE subject LIKE 'No answer is needed%'")
    assert letter["recipient"] == owner.member.email
    assert "was taken back; you need not answer it" in letter["text_body"]
    # What was proposed while it waited is to be looked at again.
    assert (await decide(approver, approval)).status_code == 409
    assert "taken back by Ifeoma Nwosu" in (await operator.get(at)).text
    assert "needs no answer" in (await owner.get(at)).text
    assert "waiting for your answer" not in (await owner.get()).text
    assert (await owner.send(f"{at}/answer", at=at, answer="Me")).status_code == 409
    # The next one can be asked. The form of the first does not answer it, and its button does not take it back.
    assert (await operator.send(f"{at}/ask", at=at, question="And the address?")).status_code == 303
    assert (await operator.send(back, at=at, asked=first)).status_code == 409
    assert (await owner.send(f"{at}/answer", at=at, answer="Ada Obi", question=first)).status_code == 409
    assert (await owner.send(f"{at}/answer", at=at, answer="Lagos")).status_code == 303
    said = await admin.fetch("SELECT action FROM audit WHERE action LIKE 'account.question%'")
    assert [row["action"] for row in said] == ["account.question_taken_back"]
    assert "took back a question about the account" in (await owner.get("/audit")).text


async def test_the_second_of_two_questions_at_once_keeps_its_text(
    operator: SignedInStaff, people: People, inflows: Inflows, admin: Any
) -> None:
    at = f"/accounts/{await pending(inflows, admin)}"
    await people.person(inflows.shop, Role.OWNER)
    assert (await operator.send(f"{at}/ask", at=at, question="Who owns it?")).status_code == 303
    late = await operator.send(f"{at}/ask", at=at, question="And the address?")
    assert (late.status_code, 'value="And the address?"' in late.text) == (409, True)


async def test_an_account_is_approved_until_a_day(
    operator: SignedInStaff, approver: SignedInStaff, inflows: Inflows, admin: Any
) -> None:
    at = f"/accounts/{await pending(inflows, admin)}"
    for bad in ("tomorrow", "2020-01-01", "9999-12-31"):
        said = {"what": "approve", "why": "all is there", "expires_at": bad}
        wrong = await operator.send(f"{at}/propose", at=at, **said)
        assert (wrong.status_code, f'value="{bad}"' in wrong.text) == (422, True), bad
    said = {"what": "approve", "why": "all is there", "expires_at": "2099-12-30"}
    assert (await operator.send(f"{at}/propose", at=at, **said)).status_code == 303
    assert "until 31 Dec 2099, 00:00 UTC" in (await approver.get("/approvals")).text
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert str(await admin.fetchval("SELECT expires_at FROM virtual_account")) == "2099-12-31 00:00:00+00:00"
    page = (await operator.get(at)).text
    assert f"<dt>Proposed by</dt><dd>{operator.member.name}" in page
    assert f"<dt>Approved by</dt><dd>{approver.member.name}" in page
