"""Who may do what: every role at every address, by direct request, compared with the one table."""

from __future__ import annotations

from typing import Any

import pytest

from build import Shop
from dashboard.people import People, SignedInPerson
from tidegate.core.clock import ShiftedClock
from tidegate.dashboard.pages import Dashboard
from tidegate.dashboard.shell import DashboardRoute
from tidegate.infra.http.request_limit import Limiter
from tidegate.infra.rate_limit import RateLimit
from tidegate.member import permission
from tidegate.member.permission import Grant, Permission, Role
from tidegate.runtime import Runtime

pytestmark = pytest.mark.usefixtures("unlimited")

# As the design of the dashboard has it: owner, admin, developer, finance, support, viewer.
DESIGN = {
    "SEE": "yyyyyy", "SEE_PAYER": "yy-yy-", "EXPORT": "yy-y--", "EXPORT_MANY": "ss-s--", "SHARE_VIEWS": "yy-y--",
    "MANAGE_PAYMENTS": "yyyyy-", "SEND_RECEIPT": "yy-yy-",
    "REFUND": "ss-s2-", "REFUND_ABOVE": "22-22-", "APPROVE": "ss-s--", "REQUEST_ACCOUNT": "yy-y--",
    "DELIVERIES": "yyyyy-", "REPLAY": "yyy---", "REQUEST_LOG": "yyy---", "BRAND": "yyy---", "ENDPOINTS": "sss---",
    "KEYS": "sss---", "FULL_KEYS": "ss----", "SETTINGS": "ss-s--", "LIMITS": "s-----", "TEAM": "ss----",
    "AUDIT": "yy-y--", "OWNERSHIP": "s-----", "SANDBOX": "yyyyy-",
}  # fmt: skip


def table_of(runtime: Runtime) -> list[DashboardRoute]:
    limiter = Limiter(RateLimit(), b"test")
    return Dashboard(runtime.settings, runtime.webhook_deps, ShiftedClock(), limiter, lambda: b"x" * 32).table


def test_the_table_is_that_of_the_design() -> None:
    found = {one.name: "".join(permission.grant(role, one) for role in Role) for one in Permission}
    assert found == DESIGN


async def test_every_role_at_every_address(people: People, shop: Shop, runtime: Runtime, admin: Any) -> None:
    rows = table_of(runtime)
    for role in Role:
        person = await people.person(shop, role)
        token = (await person.fields("/team"))["token"]
        for row in rows:
            at = person.path(row.path.replace("{", "").replace("}", ""))
            answer = await person.client.request(
                row.method, at, data={"token": token} if row.method == "POST" else None
            )
            is_denied = answer.status_code == 403 and "you may not" in answer.text
            expected = permission.grant(role, row.permission) is Grant.NO
            assert is_denied == expected, (role, row.name, answer.status_code)
        denied = await admin.fetchval(
            "SELECT count(*) FROM audit WHERE action = 'access.denied' AND actor = $1", f"person/{person.member.id}"
        )
        assert denied == sum(permission.grant(role, row.permission) is Grant.NO for row in rows)


async def test_no_form_is_taken_without_its_token_or_from_elsewhere(
    people: People, owner: SignedInPerson, shop: Shop, runtime: Runtime, admin: Any
) -> None:
    other = await people.person(shop, Role.OWNER)
    foreign = (await other.fields())["token"]
    own = (await owner.fields())["token"]
    before = await admin.fetchval("SELECT count(*) FROM audit")
    for row in table_of(runtime):
        if row.method != "POST":
            continue
        at = owner.path(row.path.replace("{", "").replace("}", ""))
        for fields, headers in (
            ({"what": "all"}, {}),
            ({"token": foreign}, {}),
            ({"token": own}, {"origin": "https://evil.example"}),
            ({"token": own}, {"sec-fetch-site": "cross-site"}),
        ):
            answer = await owner.client.post(at, data=fields, headers=headers)
            assert answer.status_code == 403, (row.name, fields, headers)
    assert await admin.fetchval("SELECT count(*) FROM audit") == before


async def test_who_is_not_signed_in_is_asked_to(people: People, owner: SignedInPerson, runtime: Runtime) -> None:
    stranger = people.browser()
    for row in table_of(runtime):
        at = owner.path(row.path.replace("{", "").replace("}", ""))
        answer = await stranger.request(row.method, at, data={"x": "1"} if row.method == "POST" else None)
        assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/dashboard/sign-in")


async def test_a_field_that_nobody_asked_for_changes_nothing(owner: SignedInPerson, shop: Shop, admin: Any) -> None:
    extra = {
        "role": "owner",
        "business_id": "0" * 24,
        "status": "suspended",
        "approved_by": "x",
        "rate_per_second": "9",
    }
    done = await owner.send(
        "/settings", at="/settings", policy="return", zone="Africa/Lagos", session="60", bearer="business",
        **{name: value for name, value in extra.items() if name != "role"},
    )  # fmt: skip
    assert done.status_code == 303
    row = await admin.fetchrow("SELECT * FROM business WHERE id = $1", shop.business_id)
    names = ("variance_policy", "time_zone", "session_minutes", "status", "rate_per_second")
    assert [row[name] for name in names] == ["return", "Africa/Lagos", 60, "active", 100_000]


async def test_no_form_takes_a_role_a_state_or_another_business(
    people: People, owner: SignedInPerson, shop: Shop, runtime: Runtime, admin: Any
) -> None:
    viewer = await people.person(shop, Role.VIEWER)
    question = """
        SELECT (SELECT json_agg(membership ORDER BY person_id) FROM membership)::text,
               (SELECT status FROM business WHERE id = $1)
    """
    before = await admin.fetchrow(question, shop.business_id)
    extra = {
        "token": (await owner.fields("/team"))["token"], "factor": "sandbox", "role": "owner", "status": "suspended",
        "business_id": "0" * 24, "person_id": viewer.member.id, "approved_by": viewer.member.id, "is_viewed": "yes",
    }  # fmt: skip
    for row in table_of(runtime):
        # The two whose own field the role is.
        if row.method == "POST" and row.name not in ("invite", "changeMember"):
            at = owner.path(row.path.replace("{person}", viewer.member.id).replace("{", "").replace("}", ""))
            assert (await owner.client.post(at, data=extra)).status_code < 500, row.name
    assert await admin.fetchrow(question, shop.business_id) == before
    assert await admin.fetchval("SELECT count(*) FROM approval WHERE status <> 'open'") == 0
