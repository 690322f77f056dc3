"""What strangers write runs nowhere, what nobody asked for has no effect, and what is secret is in no log."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from build import Shop
from checkout.paying import card
from conftest import MakeCheckout
from dashboard.one_of_each import path_of
from dashboard.people import People, SignedInPerson
from dashboard.test_crawl import GATES
from dashboard.test_lists import XSS
from dashboard.test_other_business import all_ids
from dashboard.test_roles import table_of
from inflow import CLOSE, Inflows, credit
from member.test_sign_in import mailed_link

pytestmark = pytest.mark.usefixtures("unlimited")

# What runs, or opens an element that does.
RUNS = ("<script>alert", "<img src=x", "onerror=alert(2)>", "javascript:alert")


def runs_in(text: str) -> list[str]:
    return [one for one in RUNS if one in text]


async def hostile_world(
    people: People, owner: SignedInPerson, new_checkout: MakeCheckout, inflows: Inflows
) -> dict[str, str]:
    """The corpus in everything that somebody else can write, by which way soever it came."""
    admin, name = inflows.admin, XSS[:60]
    paid = await new_checkout(
        inflows.shop, customer={"name": name, "email": "c@example.com"}, metadata={"note": XSS, XSS[:30]: [XSS]}
    )
    assert (await paid.charge(card())).status_code == 200
    ids = await all_ids(owner, people, paid, inflows)
    at = f"/payments/{paid.pay_code}"
    # Before the business is called so: the receipt is sent with it.
    await admin.execute("UPDATE business SET name = $1", name)
    await admin.execute("UPDATE person SET name = $1", name)
    assert (await owner.send(f"{at}/receipt", at=at)).status_code == 303
    held = await inflows.notified(credit(await inflows.number(), payeeName=CLOSE, remittance=XSS[:100]))
    assert (await owner.send("/team/invitations", at="/team", email="x@new.example", role="viewer")).status_code == 200
    for change in (
        "UPDATE payment SET success_message = $1, customer_phone = $1, reference = $1 || reference",
        "UPDATE payment_link SET name = $1, success_message = $1",
        "UPDATE member_session SET browser = $1",
        "UPDATE webhook_attempt SET body = $1, error = $1, answer_headers = 'x: ' || $1",
        "UPDATE event SET reference = $1",
        "UPDATE credential SET name = $1",
        "UPDATE saved_view SET name = $1",
        "UPDATE collection SET payer = jsonb_build_object('name', $1::text, 'bankName', $1::text), remittance = $1",
        "UPDATE virtual_account SET holder = $1",
        "UPDATE refund SET reason = $1, note = $1",
        "UPDATE approval SET reason = $1",
        "UPDATE request_log SET status = 422, message = $1, body = $1, path = $1",
        "UPDATE audit SET origin = $1, details = details || jsonb_build_object('note', $1::text)",
    ):
        await admin.execute(change.replace("$1", "'" + name.replace("'", "''") + "'"))
    return ids | {"held": held["reference"], "currency": "EUR", "figure": "locked"}


async def test_nothing_that_strangers_write_runs_on_any_page_in_mail_or_in_a_file(
    people: People, owner: SignedInPerson, new_checkout: MakeCheckout, inflows: Inflows, admin: Any
) -> None:
    ids = await hostile_world(people, owner, new_checkout, inflows)
    rows = [row.path for row in table_of(inflows.runtime) if row.method == "GET"]
    shown = []
    for path in (*rows, "/inflows/{held}", "/payments?q=%3Cscript%3Ealert(1)%3C/script%3E", "/find?q=%3Cimg+src=x%3E"):
        answer = await owner.client.get(owner.path(path_of(path, ids)))
        assert answer.status_code in (200, 303, 422) or path == "/takings", path
        if "html" in answer.headers.get("content-type", ""):
            assert runs_in(answer.text) == [], path
            shown += [path] if "&lt;script&gt;" in answer.text else []
        elif "pdf" in answer.headers["content-type"]:
            assert (answer.content[:5], b"/JavaScript" in answer.content) == (b"%PDF-", False), path
    # Otherwise nothing would have been tried.
    assert len(shown) > 20, shown
    for path in (*GATES, "/mail"):
        assert runs_in((await owner.client.get(path)).text) == [], path
    mails = await admin.fetch("SELECT subject, html_body FROM mail")
    assert [one["subject"] for one in mails if runs_in(one["html_body"] or "")] == []
    assert any("&lt;script&gt;" in (one["html_body"] or "") for one in mails)
    assert b"/JavaScript" not in bytes(await admin.fetchval("SELECT body FROM mail_attachment"))


async def test_the_name_of_a_file_that_is_refused_runs_nowhere(owner: SignedInPerson) -> None:
    files = {"logo": (XSS, b"<svg onload=alert(1)>", "image/svg+xml")}
    sent = {**await owner.fields("/branding"), "what": "logo"}
    answer = await owner.client.post(owner.path("/branding"), data=sent, files=files)
    assert (answer.status_code, runs_in(answer.text), "onload" in answer.text) == (422, [], False)


# In a form of ours no field is called so, but for the role of an invitation and of a member.
EXTRA = {
    "business_id": "0" * 24, "status": "suspended", "approved_by": "x", "person_id": "x", "is_viewed": "yes",
    "created_by": "x", "rate_per_second": "1",
}  # fmt: skip
# Numbers, names and times of what is made differ from one making to the next; what it may do does not.
SAME = (
    "SELECT status, rate_per_second, variance_policy FROM business WHERE id <> repeat('0', 24)",
    "SELECT role FROM membership ORDER BY role",
    "SELECT scopes, revoked_at IS NULL FROM credential ORDER BY scopes, name",
    "SELECT status, decided_by FROM approval ORDER BY 1",
    "SELECT status, amount_minor FROM refund ORDER BY 1, 2",
    "SELECT status FROM payment ORDER BY 1",
    "SELECT role FROM invitation ORDER BY 1",
    "SELECT status FROM webhook_endpoint",
    "SELECT shows FROM case_link",
)


@dataclass
class OneWhoAddsFields(SignedInPerson):
    async def post(self, below: str, fields: dict[str, str]) -> httpx.Response:
        extra = EXTRA if below.startswith("/team") else {**EXTRA, "role": "owner"}
        return await super().post(below, {**extra, **fields})


async def test_fields_that_a_form_does_not_have_change_nothing_where_it_is_taken(
    people: People, owner: SignedInPerson, new_checkout: MakeCheckout, inflows: Inflows, admin: Any
) -> None:
    """Everything that can be made is made by forms with more in them: it is what it is without."""
    adding = OneWhoAddsFields(owner.client, owner.member, owner.role, owner.code)
    paid = await new_checkout(inflows.shop)
    assert (await paid.charge(card())).status_code == 200
    await all_ids(adding, people, paid, inflows)
    found = [[tuple(row) for row in await admin.fetch(query)] for query in SAME]
    assert found == [
        [("active", 100_000, "accept")],
        [("owner",), ("support",)],
        [(["read"], True), (None, True), (None, True)],
        [("open", None)],
        [("processing", 100)],
        [("success",)],
        [("viewer",)],
        [("enabled",)],
        [([],)],
    ]


async def test_no_log_has_a_session_a_key_or_a_link(
    people: People, owner: SignedInPerson, shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    made = await owner.send("/keys", at="/keys", name="Reader", **{"scope-read": "yes"})
    [secret] = set(re.findall(r"sk_test_\w+", made.text))
    await owner.send("/team/invitations", at="/team", email="x@new.example", role="viewer")
    link = await mailed_link(people.admin, "invitation")
    await people.browser().get(link)
    await owner.get("/payments?q=ada@example.com")
    said = capsys.readouterr()
    assert "operation=makeKey" in said.out
    for hidden in (secret, link.rpartition("/")[2], owner.client.cookies["tidegate-session"], "ada@example.com"):
        assert hidden not in said.out + said.err
    again = await owner.get("/keys")
    assert (secret in again.text, again.headers["cache-control"]) == (False, "no-store")
