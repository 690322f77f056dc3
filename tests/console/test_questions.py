"""What the operator asks before deciding on an account, and the merchant's answer."""

from __future__ import annotations

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
