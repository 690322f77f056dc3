"""A merchant's keys in the console: proposed by one, approved by another, shown once; revoked by one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from build import Shop
from console.people import SignedInStaff, StaffPeople
from console.test_staff_approvals import decide, open_approval
from tidegate.staff.permission import StaffRole
from waiting import until

KEY = re.compile(r'<p class="secret"><code>(sk_[^<]+)</code>')
TERMS = {"name": "Shop & till", "scope-read": "yes", "scope-refund": "yes", "addresses": "203.0.113.0/24, 127.0.0.1",
         "days": "30", "limit-NGN": "5000", "why": "they cannot sign in"}  # fmt: skip

pytestmark = pytest.mark.usefixtures("unlimited")


def keys_of(shop: Shop) -> str:
    return f"/merchants/{shop.business_id}/keys"


async def works(shop: Shop, secret: str) -> bool:
    headers = {"api-key": secret, "x-business-id": shop.business_id}
    answer = await shop.client.get("/collections", headers=headers)
    return answer.status_code != 401


async def begins_to_work(shop: Shop, secret: str) -> None:
    """A process that has seen it refused asks again once it learns of the change."""
    await until(lambda: works(shop, secret))


async def made(operator: SignedInStaff, shop: Shop, **changes: str) -> tuple[httpx.Response, str]:
    answer = await operator.send(keys_of(shop), at=keys_of(shop), **{**TERMS, **changes})
    found = KEY.search(answer.text)
    return answer, found[1] if found else ""


async def test_a_key_is_made_by_two_and_shown_once(
    operator: SignedInStaff, approver: SignedInStaff, shop: Shop, admin: Any
) -> None:
    at = keys_of(shop)
    fields = {**await operator.fields(at), **TERMS}
    answer = await operator.post(at, fields)
    [secret] = KEY.findall(answer.text)
    assert (answer.status_code, await works(shop, secret)) == (200, False)
    again = await operator.post(at, fields)
    assert (again.status_code, secret in (await operator.get(at)).text) == (303, False)
    assert await admin.fetchval("SELECT count(*) FROM approval") == 1
    page = (await approver.get("/approvals")).text
    for words in (
        "Make the key Shop &amp; till with the rights read, refund", f"<dt>Ends in</dt><dd>{secret[-4:]}",
        "<dt>Only from</dt><dd>203.0.113.0/24, 127.0.0.1", "<dt>One refund up to</dt><dd>NGN 5,000.00",
        "<dt>Until</dt>",
    ):  # fmt: skip
        assert words in page, words
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    await begins_to_work(shop, secret)
    assert (
        "read, refund · one refund up to ₦5,000.00 · from 203.0.113.0/24, 127.0.0.1/32" in (await operator.get(at)).text
    )
    for table in ("approval", "audit", "idempotency_key"):
        rows = await admin.fetch(f"SELECT * FROM {table}")
        assert secret not in str(rows), table


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": ""}, "Name"),
        ({"scope-read": "", "scope-refund": "", "limit-NGN": ""}, "must be one or more of"),
        ({"addresses": "there"}, "must be addresses or networks"),
        ({"days": "0"}, "Enter after how many days it ends"),
        ({"scope-refund": ""}, "Tick “refund” too"),
        ({"limit-NGN": "5.5"}, "Enter a whole amount in NGN"),
        ({"why": " "}, "Say why"),
    ],
)
async def test_a_key_that_cannot_be_is_refused_and_what_was_typed_stays(
    operator: SignedInStaff, shop: Shop, admin: Any, changes: dict[str, str], words: str
) -> None:
    answer, secret = await made(operator, shop, **changes)
    assert (answer.status_code, secret, words in answer.text) == (422, "", True)
    assert f'value="{changes.get("addresses", TERMS["addresses"])}"' in answer.text
    assert await admin.fetchval("SELECT count(*) FROM approval") == 0


@pytest.mark.parametrize("overlap", ["0", "7"])
async def test_a_key_is_rolled_by_two(
    operator: SignedInStaff, approver: SignedInStaff, shop: Shop, admin: Any, overlap: str
) -> None:
    """The key with all rights; the old one works for as long as was chosen."""
    old = await admin.fetchval("SELECT id FROM credential WHERE kind = 'secret'")
    roll = f"{keys_of(shop)}/roll"
    answer = await operator.send(roll, at=keys_of(shop), key=str(old), overlap=overlap, why="it was on a forum")
    [secret] = KEY.findall(answer.text)
    assert not await works(shop, secret)
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    await begins_to_work(shop, secret)
    assert await works(shop, shop.secret_key) == (overlap == "7")


@pytest.fixture
def sandbox_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shop: Shop) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / ".tidegate/sandbox.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"businessId": shop.business_id, "secretKey": shop.secret_key}))
    return file


def fields_of(file: Path) -> Any:
    return json.loads(file.read_text())


async def test_the_file_of_a_sandbox_has_the_new_key_once_its_roll_is_approved(
    operator: SignedInStaff, approver: SignedInStaff, shop: Shop, admin: Any, sandbox_file: Path
) -> None:
    old = await admin.fetchval("SELECT id FROM credential WHERE kind = 'secret'")
    answer = await operator.send(f"{keys_of(shop)}/roll", at=keys_of(shop), key=str(old), overlap="0", why="it leaked")
    [secret] = KEY.findall(answer.text)
    assert fields_of(sandbox_file)["secretKey"] == shop.secret_key
    await decide(approver, await open_approval(approver))
    assert fields_of(sandbox_file) == {"businessId": shop.business_id, "secretKey": secret}


async def test_a_restricted_key_keeps_its_terms_when_it_is_rolled(
    operator: SignedInStaff, approver: SignedInStaff, shop: Shop, admin: Any
) -> None:
    await made(operator, shop)
    await decide(approver, await open_approval(approver))
    first = await admin.fetchval("SELECT max(id) FROM credential")
    wanted = {"key": str(first), "overlap": "0", "why": "a laptop was lost"}
    answer = await operator.send(f"{keys_of(shop)}/roll", at=keys_of(shop), **wanted)
    [secret] = KEY.findall(answer.text)
    assert "Shop &amp; till, ends in" in (await approver.get("/approvals")).text
    await decide(approver, await open_approval(approver))
    await begins_to_work(shop, secret)
    scopes = await admin.fetch("SELECT scopes::text FROM credential WHERE id >= $1 ORDER BY id", first)
    assert scopes[0] == scopes[1]
    # It has ended.
    ended = await operator.send(f"{keys_of(shop)}/roll", at=keys_of(shop), **wanted)
    assert (ended.status_code, "key has ended; make a new one" in ended.text) == (409, True)


@pytest.mark.parametrize(
    ("fields", "status"), [({"key": "999999"}, 404), ({"key": "x"}, 404), ({"overlap": "30"}, 422), ({"why": ""}, 422)]
)
async def test_what_cannot_be_rolled_is_refused(
    operator: SignedInStaff, shop: Shop, admin: Any, fields: dict[str, str], status: int
) -> None:
    key = await admin.fetchval("SELECT id FROM credential WHERE kind = 'secret'")
    wanted = {"key": str(key), "overlap": "1", "why": "asked for", **fields}
    assert (await operator.send(f"{keys_of(shop)}/roll", at=keys_of(shop), **wanted)).status_code == status
    assert await admin.fetchval("SELECT count(*) FROM approval") == 0


async def test_nobody_but_an_operator_sees_the_forms(staff: StaffPeople, approver: SignedInStaff, shop: Shop) -> None:
    """An approver may revoke."""
    auditor = await staff.person(StaffRole.AUDITOR)
    assert ["keys/revoke" in (await one.get(keys_of(shop))).text for one in (approver, auditor)] == [True, False]
    assert ["keys/roll" in (await one.get(keys_of(shop))).text for one in (approver, auditor)] == [False, False]
