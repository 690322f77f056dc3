"""Payment links on the dashboard."""

from __future__ import annotations

from typing import Any

import pytest

from build import Shop
from conftest import MakeShop
from dashboard.people import People, SignedInPerson
from tidegate.member.permission import Role

pytestmark = pytest.mark.usefixtures("unlimited")

FORM = {"name": "Workshop ticket", "kind": "reusable", "currency": "NGN", "amount": "2500"}


async def made(person: SignedInPerson, **changes: str) -> str:
    """Its path below the business's."""
    done = await person.send("/links", at="/links", **{**FORM, **changes})
    assert done.status_code == 303, done.text[-2000:]
    return done.headers["location"].partition(person.path())[2]


async def test_a_link_is_made_shown_ended_reopened_and_duplicated(owner: SignedInPerson, admin: Any) -> None:
    at = await made(owner, paymentsMax="40", successMessage="Thanks")
    page = (await owner.get(at)).text
    for words in ("Workshop ticket", "₦2,500.00", "40 times at most", "Thanks", "/qr.svg", "/qr.png", "Open"):
        assert words in page, words
    assert "Workshop ticket" in (await owner.get("/links")).text
    for what, state in (("end", "Ended"), ("reopen", "Open")):
        assert (await owner.send(at, at=at, what=what)).status_code == 303
        assert state in (await owner.get(at)).text
    copy = await owner.send(at, at=at, what="duplicate")
    assert copy.headers["location"] != owner.path(at)
    assert await admin.fetchval("SELECT count(*) FROM payment_link") == 2
    actions = await admin.fetch("SELECT actor, action FROM audit WHERE action LIKE 'payment_link.%' ORDER BY id")
    assert [row["action"].partition(".")[2] for row in actions] == ["created", "ended", "reopened", "created"]
    assert {row["actor"] for row in actions} == {f"person/{owner.member.id}"}


async def test_the_form_sent_twice_makes_one_link(owner: SignedInPerson, admin: Any) -> None:
    fields = {**await owner.fields("/links"), **FORM}
    answers = [await owner.post("/links", fields) for _ in range(2)]
    assert answers[0].headers["location"] == answers[1].headers["location"]
    assert await admin.fetchval("SELECT count(*) FROM payment_link") == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""), ("name", "x" * 201), ("amount", "1,000"), ("amount", "-1"), ("amount", "0"), ("amount", "1e3"),
        ("amountMin", "5"), ("paymentsMax", "10001"), ("endsAt", "2020-01-01"), ("redirectUrl", "javascript:x"),
        ("currency", "EUR"), ("kind", "twice"),
    ],
)  # fmt: skip
async def test_a_wrong_field_is_named_and_what_was_typed_stays(
    owner: SignedInPerson, admin: Any, field: str, value: str
) -> None:
    answer = await owner.send("/links", at="/links", **{**FORM, field: value})
    assert answer.status_code == 422
    assert f"#f-{field}" in answer.text
    assert 'value="2500"' in answer.text or field == "amount"
    assert await admin.fetchval("SELECT count(*) FROM payment_link") == 0


async def test_a_text_is_no_markup(owner: SignedInPerson) -> None:
    at = await made(owner, name="<script>alert(1)</script>", successMessage='"><img src=x onerror=alert(1)>')
    for below in (at, "/links"):
        page = (await owner.get(below)).text
        assert "<script>alert" not in page
        assert "<img src=x" not in page


async def test_a_viewer_sees_links_and_changes_none(people: People, owner: SignedInPerson, shop: Shop) -> None:
    at = await made(owner)
    viewer = await people.person(shop, Role.VIEWER)
    assert "Make the link" not in (await viewer.get("/links")).text
    assert "Duplicate" not in (await viewer.get(at)).text


async def test_a_link_of_another_business_is_not_there(
    people: People, owner: SignedInPerson, new_shop: MakeShop
) -> None:
    at = await made(owner)
    stranger = await people.person(await new_shop(), Role.OWNER)
    await stranger.get(at, status=404)
    await stranger.get(f"/links?before={at.rpartition('/')[2]}", status=404)
    fields = {**await stranger.fields("/links"), "what": "end"}
    assert (await stranger.post(at, fields)).status_code == 404


async def test_a_link_that_is_over_cannot_be_reopened(owner: SignedInPerson, admin: Any) -> None:
    at = await made(owner, endsAt="2199-01-01")
    await owner.send(at, at=at, what="end")
    await admin.execute("UPDATE payment_link SET ends_at = created_at")
    answer = await owner.send(at, at=at, what="reopen")
    assert answer.status_code == 409
    assert "duplicate it instead" in answer.text
