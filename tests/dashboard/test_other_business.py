"""Every address with an id, generated from the table of routes: that of another business is as one that nobody has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from build import Checkout
from checkout.paying import card
from conftest import MakeCheckout, MakeShop
from dashboard.one_of_each import make_one_of_each
from dashboard.people import People, SignedInPerson
from dashboard.test_crawl import rows_of
from dashboard.test_roles import table_of
from inflow import Inflows
from tidegate.dashboard.shell import DashboardRoute
from tidegate.member.model import new_token
from tidegate.member.permission import Role

pytestmark = pytest.mark.usefixtures("unlimited")

# In the path of a wallet's pages; of no business.
NO_IDS = {"currency", "figure"}
# Of all forms: what is done with the thing.
ACTS = (
    "all", "part", "remove", "role", "revoke", "roll", "rename", "delete", "end", "reopen", "duplicate", "change",
    "disable", "enable", "rotate",
)  # fmt: skip
# Addresses that have an id elsewhere than in their path.
QUERIES = (
    "/payments?q={payment}", "/payments?link={link}", "/find?q={payment}", "/find?q={refund}", "/find?q={inflow}",
    "/inflows?account={account}", "/webhooks?endpoint={endpoint}", "/webhooks/replay?endpoint={endpoint}",
    "/audit?who=person/{person}",
)  # fmt: skip
# What differs between two answers to the same request.
DIFFERS = re.compile(r'name="(?:token|once)" value="[^"]*"|nonce="[^"]*"|req_[0-9a-f]+|\b\d\d:\d\d:\d\d\b')


async def all_ids(owner: SignedInPerson, people: People, paid: Checkout, inflows: Inflows) -> dict[str, str]:
    """By the name that paths have for it, and some that forms have."""
    known, admin, at = await make_one_of_each(owner, paid, inflows), inflows.admin, f"/payments/{paid.pay_code}"
    support = await people.person(inflows.shop, Role.SUPPORT)
    assert (await support.send(f"{at}/refund", at=at, what="part", amount="2")).status_code == 303
    view = {"name": "Mine", "status": "success", "shared": "yes"}
    assert (await owner.send("/views", at="/payments", **view)).status_code == 303
    assert (await owner.send("/team/invitations", at="/team", email="g@new.example", role="viewer")).status_code == 200
    assert (await owner.send("/keys", at="/keys", name="Reader", **{"scope-read": "yes"})).status_code == 200
    assert (await owner.send(f"{at}/case", at=at, days="7")).status_code == 200
    return {
        **{name: id_ for name, id_ in known.items() if name not in NO_IDS},
        "approval": str(await admin.fetchval("SELECT id FROM approval")),
        "view": str(await admin.fetchval("SELECT id FROM saved_view")),
        "invitation": str(await admin.fetchval("SELECT id FROM invitation")),
        "key": str(await admin.fetchval("SELECT id FROM credential WHERE name = 'Reader'")),
        "person": support.member.id,
        "case": (await admin.fetchval("SELECT token_hash FROM case_link")).hex(),
    }


def nobodys(id_: str) -> str:
    """Of the same form."""
    if id_.isdigit():
        return "9" * 12
    return id_[:-2] + "".join("1" if letter == "0" else "0" for letter in id_[-2:])


def forms(row: DashboardRoute, ids: dict[str, str]) -> Iterator[dict[str, str]]:
    if row.method == "GET":
        yield {}
        return
    for act in ACTS:
        yield {
            "what": act, "amount": "1", "role": "viewer", "name": "Theirs", "days": "7", "overlap": "7", "version": "1",
            "credit_version": "1", "case": ids["case"], "question": "1", "answer": "Yes", "url": "https://b.example/",
            "email": "b@new.example", "factor": "sandbox",
            "once": new_token(),
        }  # fmt: skip


async def answer_of(person: SignedInPerson, method: str, path: str, fields: dict[str, str]) -> httpx.Response:
    return await person.client.request(method, person.path(path), data=fields or None)


def seen(answer: httpx.Response, ids: dict[str, str]) -> tuple[int, str, str]:
    """But for the id itself, in any letter case."""
    text, location = DIFFERS.sub("", answer.text), answer.headers.get("location", "")
    for name, id_ in ids.items():
        if len(id_) > 6:
            text, location = (re.sub(re.escape(id_), name, one, flags=re.IGNORECASE) for one in (text, location))
    return answer.status_code, location, re.sub(r"\d+", "0", text)


@pytest.fixture
async def ids(owner: SignedInPerson, people: People, new_checkout: MakeCheckout, inflows: Inflows) -> dict[str, str]:
    paid = await new_checkout(inflows.shop)
    assert (await paid.charge(card())).status_code == 200
    await paid.tick()
    return await all_ids(owner, people, paid, inflows)


async def test_an_id_of_another_business_is_as_one_that_nobody_has_and_nothing_is_written(
    ids: dict[str, str], people: People, inflows: Inflows, new_shop: MakeShop, admin: Any
) -> None:
    other = await people.person(await new_shop(rate_per_second=100_000, rate_burst=100_000), Role.OWNER)
    unknown = {name: nobodys(id_) for name, id_ in ids.items()}
    rows = [row for row in table_of(inflows.runtime) if "{" in row.path]
    named = {name for row in rows for name in re.findall(r"\{(\w+)\}", row.path)}
    assert named - NO_IDS <= ids.keys()
    # A factor that is shown once is asked for no more, and the session keeps its token.
    assert (await other.send("/keys", at="/keys", name="One", **{"scope-read": "yes"})).status_code == 200
    token = (await other.fields("/team"))["token"]
    before, differing = await rows_of(admin), []
    for row in rows:
        if set(re.findall(r"\{(\w+)\}", row.path)) <= NO_IDS:
            continue
        for theirs, none in zip(forms(row, ids), forms(row, unknown), strict=True):
            extra = {"token": token} if theirs else {}
            a = await answer_of(other, row.method, row.path.format(**ids), theirs | extra)
            b = await answer_of(other, row.method, row.path.format(**unknown), none | extra)
            # Some forms are refused for what they say before the thing is looked for.
            assert a.status_code in (404, 422), (row.name, a.status_code)
            if seen(a, ids) != seen(b, unknown):
                differing.append((row.name, theirs.get("what"), a.status_code, b.status_code))
    for path in QUERIES:
        a, b = [await answer_of(other, "GET", path.format(**known), {}) for known in (ids, unknown)]
        if seen(a, ids) != seen(b, unknown):
            differing.append((path, None, a.status_code, b.status_code))
    assert differing == []
    assert await rows_of(admin) == before


async def test_what_the_business_itself_asks_for_is_there(
    ids: dict[str, str], owner: SignedInPerson, inflows: Inflows
) -> None:
    """Otherwise the test above would compare addresses of nothing."""
    for row in table_of(inflows.runtime):
        names = set(re.findall(r"\{(\w+)\}", row.path))
        if row.method == "GET" and names and not names & NO_IDS:
            await owner.get(row.path.format(**ids))
    for path in QUERIES:
        assert (await owner.client.get(owner.path(path.format(**ids)))).status_code in (200, 303), path
