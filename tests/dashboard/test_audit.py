"""The audit log in plain words: complete, filtered, and as CSV."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest

import tidegate
from build import Shop
from dashboard.people import People, SignedInPerson
from tidegate.account.model import AccountAction
from tidegate.dashboard.audit_words import ACTIONS, GROUPS, changes_of
from tidegate.member.permission import Role
from tidegate.staff_approval import table as staff_approval

# Written with `audit.insert`, or by a function of its own that has the action as an argument.
CONCEPTS = "access|account|business|case|collection|key|merchant|payer|payment_link|price|rate|refund|team|webhook"
LITERAL = re.compile(rf'"((?:{CONCEPTS})\.[a-z_.]+)", (?:(?:now|subject)\b|\{{)')
WRITTEN = re.compile(r'action="([a-z_.]+\.[a-z_.]+)"')
# Of Tidegate's own business, which has no dashboard.
OF_THE_PLATFORM = {
    "bank.settled",
    "bank.recorded",
    "bank.taken_back",
    "audit.exported",
    "books.exported",
    "break.explained",
    "job.run",
    "quarantine.closed",
}

pytestmark = pytest.mark.usefixtures("unlimited")


def test_every_action_has_words_and_a_filter() -> None:
    sources = [file.read_text() for file in Path(tidegate.__file__).parent.rglob("*.py")]
    written = {name for text in sources for pattern in (LITERAL, WRITTEN) for name in pattern.findall(text)}
    written |= {f"account.{action.value}" for action in AccountAction}
    proposed = {command for command, one in staff_approval.STAFF_COMMANDS.items() if not one.is_of_platform}
    written |= {
        f"{command}.{step}" for command in proposed for step in ("proposed", "approved", "declined", "taken_back")
    }
    assert len(written) > 25
    assert written - OF_THE_PLATFORM - set(ACTIONS) == set()
    beginnings = tuple(one for _, group in GROUPS.values() for one in group)
    assert [name for name in ACTIONS if not name.startswith((*beginnings, "payer."))] == []


def test_changes_are_told_by_name_and_what_stayed_is_left_out() -> None:
    details = (
        '{"variance_policy":["accept","return"],"time_zone":["UTC","UTC"],"two_step_for_all":[false,true],'
        '"redirect_hosts":[[],["a.example"]],"asked_by":"person/1","approval":7,"name":null}'
    )
    assert changes_of(details, {"person/1": "Ada Obi"}) == [
        "when the amount differs: accept → return",
        "two steps for everybody: no → yes",
        "redirect hosts: none → a.example",
        "asked by: Ada Obi",
    ]


def test_two_of_a_list_are_no_change() -> None:
    details = '{"events":["charge.successful","refund.failed"],"scopes":[["read"],["read","refund"]]}'
    assert changes_of(details, {}) == ["events: charge.successful, refund.failed", "scopes: read → read, refund"]


async def test_acts_are_filtered_and_exported(people: People, owner: SignedInPerson, shop: Shop, admin: Any) -> None:
    colleague = await people.person(shop, Role.DEVELOPER, name="=Chidi Eze")
    assert (await owner.send("/settings/two-step", at="/settings", two_step_for_all="yes")).status_code == 303
    assert (
        await owner.send(f"/team/{colleague.member.id}", at="/team", what="role", role="support")
    ).status_code == 303
    page = (await owner.get("/audit")).text
    assert "two steps for everybody: no → yes" in page
    assert "changed the role of" in page
    assert ">=Chidi Eze</a>" in page
    assert colleague.member.id not in re.sub(r'<option value="[^"]+"', "", page)
    assert "changed the role of" not in (await owner.get("/audit?what=settings")).text
    assert "changed the settings" not in (await owner.get(f"/audit?who=person/{colleague.member.id}")).text
    assert "Nothing was done" in (await owner.get("/audit?to=2020-01-01")).text
    exported = await owner.get("/audit.csv?what=team")
    rows = list(csv.reader(io.StringIO(exported.text)))
    assert [(row[1], row[2], row[4], row[5]) for row in rows[1:]] == [
        ("Ada Obi", "team.role", "'=Chidi Eze", "role: developer → support")
    ]


@pytest.mark.parametrize("query", ["who=nobody", "what=all", "from=yesterday", "to=2026-13-01"])
async def test_a_filter_that_is_wrong_is_refused_beside_its_field(owner: SignedInPerson, query: str) -> None:
    page = await owner.get(f"/audit?{query}", status=422)
    assert "This needs a change" in page.text


async def test_others_see_their_own_acts_alone(people: People, owner: SignedInPerson, shop: Shop) -> None:
    support = await people.person(shop, Role.SUPPORT, name="Zainab Musa")
    await owner.send("/settings/two-step", at="/settings", two_step_for_all="yes")
    await support.get("/keys", status=403)
    page = (await support.get(f"/audit?who=person/{owner.member.id}")).text
    assert "changed the settings" not in page
    assert "was refused" in page
