"""Payment links on the dashboard."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from build import Shop
from conftest import MakeShop
from dashboard.people import People, SignedInPerson
from payment_link.link_calls import make, pay_code_of, submit
from tidegate.member.permission import Role

pytestmark = pytest.mark.usefixtures("unlimited")

FIRST = {"name": "Workshop ticket", "kind": "reusable", "currency": "NGN", "amount": "2500"}


async def made(person: SignedInPerson, **changes: str) -> str:
    """Its path below the business's."""
    done = await person.make_link(**{**FIRST, **changes})
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
    fields = {**await owner.fields(second_step()), **FIRST}
    answers = [await owner.post("/links/new", fields) for _ in range(2)]
    assert answers[0].headers["location"] == answers[1].headers["location"]
    assert await admin.fetchval("SELECT count(*) FROM payment_link") == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""), ("name", "x" * 201), ("amount", "1,000"), ("amount", "-1"), ("amount", "0"), ("amount", "1e3"),
        ("amountMin", "5"), ("paymentsMax", "10001"), ("endsAt", "2020-01-01"), ("redirectUrl", "javascript:x"),
        ("currency", "EUR"), ("kind", "twice"), ("askPhoneNumber", "sometimes"), ("askNote", "yes"),
        ("noteLabel", "Size"), ("name", "4111 1111 1111 1111"),
    ],
)  # fmt: skip
async def test_a_wrong_field_is_named_and_what_was_typed_stays(
    owner: SignedInPerson, admin: Any, field: str, value: str
) -> None:
    answer = await owner.make_link(**{**FIRST, "successMessage": "Thanks", field: value})
    assert answer.status_code == 422
    is_first = field in ("name", "kind", "currency", "amount", "amountMin")
    assert f"Step {1 if is_first else 2} of 2" in answer.text
    assert 'name="successMessage" ' in answer.text
    assert 'value="Thanks"' in answer.text
    assert f"#f-{field}" in answer.text
    assert 'value="2500"' in answer.text or field == "amount"
    assert await admin.fetchval("SELECT count(*) FROM payment_link") == 0


def second_step(**changes: str) -> str:
    return f"/links/new?{urlencode({'step': '2', **FIRST, **changes})}"


async def test_the_first_step_leads_to_the_second_with_what_was_chosen(owner: SignedInPerson, admin: Any) -> None:
    first = (await owner.get("/links/new")).text
    assert "Step 1 of 2" in first
    assert 'name="successMessage"' not in first
    second = (await owner.get(second_step(name="Büro & <b>"))).text
    assert "Step 2 of 2" in second
    for name, value in {**FIRST, "name": "Büro &amp; &lt;b&gt;"}.items():
        assert f'<input type="hidden" name="{name}" value="{value}">' in second, name
    assert await admin.fetchval("SELECT count(*) FROM payment_link") == 0


@pytest.mark.parametrize(
    ("field", "value"), [("name", ""), ("amount", "1.5"), ("amountMin", "5"), ("currency", "EUR"), ("kind", "x")]
)
async def test_the_second_step_needs_the_first(owner: SignedInPerson, field: str, value: str) -> None:
    page = (await owner.get(second_step(**{field: value}, successMessage="Thanks"), status=422)).text
    assert "Step 1 of 2" in page
    assert f"#f-{field}" in page
    assert '<input type="hidden" name="successMessage" value="Thanks">' in page


async def test_back_keeps_what_both_steps_have(owner: SignedInPerson, admin: Any) -> None:
    chosen = {
        "method-card": "yes",
        "askNote": "required",
        "noteLabel": "Größe",
        "endsAt": "2199-01-01",
    }
    back = await owner.make_link(**FIRST, **chosen, back="1")
    assert back.status_code == 303
    address = back.headers["location"]
    assert "token" not in address
    first = (await owner.client.get(address)).text
    assert "Step 1 of 2" in first
    assert 'value="Workshop ticket"' in first
    for name, value in chosen.items():
        assert f'<input type="hidden" name="{name}" value="{value}">' in first, name
    again = (await owner.client.get(f"{address}&step=2")).text
    assert 'value="Größe"' in again
    assert 'name="method-card" value="yes" checked' in again
    assert await admin.fetchval("SELECT count(*) FROM payment_link") == 0


async def test_back_with_more_than_an_address_holds_keeps_the_first_step(owner: SignedInPerson) -> None:
    back = await owner.make_link(
        **FIRST, successMessage="🎉" * 500, redirectUrl="https://a.example/" + "x" * 1900, back="1"
    )
    page = await owner.client.get(back.headers["location"])
    assert page.status_code == 200
    assert 'value="Workshop ticket"' in page.text


async def test_methods_and_fields_are_chosen(owner: SignedInPerson, shop: Shop) -> None:
    at = await made(
        owner, **{"method-card": "yes", "method-bank_transfer": "yes"}, askPhoneNumber="required",
        askNote="optional", noteLabel="T-shirt size",
    )  # fmt: skip
    page = (await owner.get(at)).text
    for words in (
        "Bank transfer, Card",
        "phone number (required)",
        "T-shirt size</bdi> (optional)",
        "poster.pdf?lang=sw",
    ):
        assert words in page, words
    answer = await shop.client.get(
        f"/checkout/payment-links/{at.rpartition('/')[2]}", headers={"api-key": shop.secret_key}
    )
    assert answer.json()["data"]["paymentMethods"] == ["bank_transfer", "card"]


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"method-card": "yes", "method-mobile_money": "yes"}, "A way to pay is not offered in NGN"),
        ({"method-mobile_money": "yes"}, "A way to pay is not offered in NGN"),
    ],
)
async def test_a_wrong_choice_of_methods_is_named(
    owner: SignedInPerson, admin: Any, chosen: dict[str, str], says: str
) -> None:
    answer = await owner.make_link(**FIRST, **chosen)
    assert (answer.status_code, says in answer.text) == (422, True)
    assert "#f-paymentMethods" in answer.text
    assert await admin.fetchval("SELECT count(*) FROM payment_link") == 0


async def test_the_payer_s_phone_and_note_are_shown_to_those_who_see_payers(
    people: People, owner: SignedInPerson, shop: Shop, payer_client: httpx.AsyncClient
) -> None:
    link = await make(shop, askPhoneNumber="required", askNote="required", name="Ticket")
    sheet = await submit(payer_client, link, phone="+2348031234567", note="<b>largest size</b>")
    at = f"/payments/{pay_code_of(sheet)}"
    page = (await owner.get(at)).text
    assert "+2348031234567" in page
    assert "&lt;b&gt;largest size&lt;/b&gt;" in page
    masked = (await (await people.person(shop, Role.VIEWER)).get(at)).text
    assert "+2348031234567" not in masked
    assert "largest size" not in masked


async def test_a_text_is_no_markup(owner: SignedInPerson) -> None:
    at = await made(owner, name="<script>alert(1)</script>", successMessage='"><img src=x onerror=alert(1)>')
    for below in (at, "/links"):
        page = (await owner.get(below)).text
        assert "<script>alert" not in page
        assert "<img src=x" not in page


async def test_a_viewer_sees_links_and_changes_none(people: People, owner: SignedInPerson, shop: Shop) -> None:
    at = await made(owner)
    viewer = await people.person(shop, Role.VIEWER)
    assert "New payment link" not in (await viewer.get("/links")).text
    await viewer.get("/links/new", status=403)
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
