"""Who of the staff may do what: every role at every address, by direct request, compared with the one table."""

from __future__ import annotations

import re
from typing import Any

import pytest

from build import Shop
from console.people import SignedInStaff, StaffPeople
from dashboard.people import People
from tidegate.console.pages import Console
from tidegate.console.shell import ConsoleRoute
from tidegate.core.clock import ShiftedClock
from tidegate.infra.http.request_limit import Limiter
from tidegate.infra.rate_limit import RateLimit
from tidegate.member.permission import Grant, Role
from tidegate.runtime import Runtime
from tidegate.staff.permission import StaffPermission, StaffRole, grant_of

pytestmark = pytest.mark.usefixtures("unlimited")

# As the design of the console has it: operator, approver, auditor.
DESIGN = {
    "SEE": "yyy", "DOCUMENT": "yyy", "SUSPEND": "ss-", "CREATE": "s--", "PROPOSE": "2--", "APPROVE": "-s-",
    "ASK": "y--", "CHECK": "yyy", "EXPORT": "sss", "STAFF": "-2-", "SANDBOX": "yyy",
}  # fmt: skip


def table_of(runtime: Runtime) -> list[ConsoleRoute]:
    limiter = Limiter(RateLimit(), b"test")
    deps = runtime.webhook_deps, runtime.deps
    return Console(runtime.settings, *deps, ShiftedClock(), limiter=limiter, secret=lambda: b"x" * 32).table


def path_of(row: ConsoleRoute) -> str:
    return f"/console{row.path.replace('{', '').replace('}', '')}"


def test_the_table_is_that_of_the_design() -> None:
    found = {one.name: "".join(grant_of(role, one) for role in StaffRole) for one in StaffPermission}
    assert found == DESIGN


async def test_every_role_at_every_address(staff: StaffPeople, runtime: Runtime, admin: Any) -> None:
    rows = [row for row in table_of(runtime) if not row.path.startswith("/sandbox")]
    for role in StaffRole:
        person = await staff.person(role)
        token = (await person.fields())["token"]
        for row in rows:
            data = {"token": token} if row.method == "POST" else None
            answer = await person.client.request(row.method, path_of(row), data=data)
            is_denied = answer.status_code == 403 and "you may not" in answer.text
            assert is_denied == (grant_of(role, row.permission) is Grant.NO), (role, row.name, answer.status_code)
        denied = await admin.fetchval(
            "SELECT count(*) FROM audit WHERE action = 'access.denied' AND actor = $1", f"staff/{person.member.id}"
        )
        assert denied == sum(grant_of(role, row.permission) is Grant.NO for row in rows)


async def test_no_form_is_taken_without_its_token_or_from_elsewhere(
    staff: StaffPeople, operator: SignedInStaff, runtime: Runtime
) -> None:
    other = await staff.person(StaffRole.OPERATOR)
    foreign, own = (await other.fields())["token"], (await operator.fields())["token"]
    for row in table_of(runtime):
        if row.method != "POST" or grant_of(StaffRole.OPERATOR, row.permission) is Grant.NO:
            continue
        for fields, headers in (
            ({"what": "all"}, {}),
            ({"token": foreign}, {}),
            ({"token": own}, {"origin": "https://evil.example"}),
        ):
            answer = await operator.client.post(path_of(row), data=fields, headers=headers)
            assert answer.status_code == 403, (row.name, fields, headers)


async def test_a_stranger_and_a_merchant_are_asked_to_sign_in(people: People, shop: Shop, runtime: Runtime) -> None:
    """The cookie of the dashboard opens nothing here, not even under the console's own name."""
    owner = await people.person(shop, Role.OWNER)
    owner.client.cookies.set("tidegate-console", owner.client.cookies["tidegate-session"])
    stranger = people.browser()
    for row in table_of(runtime):
        for client in (stranger, owner.client):
            data = {"x": "1"} if row.method == "POST" else None
            answer = await client.request(row.method, path_of(row), data=data)
            asked = answer.headers.get("location", "").partition("?")[0]
            assert (answer.status_code, asked) == (303, "/console/sign-in"), row.name


async def test_who_leaves_the_staff_is_out_at_once(operator: SignedInStaff, people: People, admin: Any) -> None:
    await operator.get()
    await admin.execute("UPDATE staff SET ended_at = now() WHERE person_id = $1", operator.member.id)
    assert (await operator.client.get("/console")).headers["location"] == "/console/sign-in"


@pytest.mark.parametrize("id_", ["x", "0", "0" * 24, "9" * 30, "-1", "%00", "%F0%9F%92%A9", "..%2F..", "'--", "col_x"])
async def test_ids_that_do_not_exist_are_refused_at_every_address(
    staff: StaffPeople, runtime: Runtime, admin: Any, id_: str
) -> None:
    people = [await staff.person(StaffRole.OPERATOR), await staff.person(StaffRole.APPROVER)]
    for person in people:
        token = (await person.fields())["token"]
        for row in table_of(runtime):
            if "{" not in row.path:
                continue
            path = f"/console{re.sub(r'{[a-z]+}', id_, row.path)}"
            data = {"token": token, "factor": "sandbox", "once": f"{row.name}-{person.member.id}", "version": "1",
                    "why": "a reason", "reason": "a reason", "what": "credit"}  # fmt: skip
            answer = await person.client.request(row.method, path, data=data if row.method == "POST" else None)
            assert answer.status_code in {400, 403, 404, 409, 422}, (row.name, answer.status_code, answer.text[-300:])
    assert await admin.fetchval("SELECT count(*) FROM approval") == 0
