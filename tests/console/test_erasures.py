"""A payer is erased by two of the staff: counted, approved, done by the worker. A request forgets whom it is about."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from conftest import MakeCheckout, check_books
from console.people import SignedInStaff
from console.test_staff_approvals import decide, open_approval
from earlier import earlier
from retention.test_erase import EMAIL, PHONE, Story, story, traces  # noqa: F401
from tidegate.retention import erase_store, erasure, erasure_store
from tidegate.runtime import Runtime

AT = "/erasures"
FORGOTTEN = "SELECT ended_at IS NOT NULL AND emails IS NULL AND phones IS NULL FROM erasure"

pytestmark = pytest.mark.usefixtures("unlimited")


async def ask(operator: SignedInStaff, **changes: str) -> httpx.Response:
    given = {"emails": EMAIL, "phones": "", "business": "", "why": "asked for by letter of 3 May", **changes}
    return await operator.send(AT, at=AT, **given)


async def proposed(operator: SignedInStaff, **changes: str) -> str:
    """The address of the approval."""
    answer = await ask(operator, **changes)
    assert "said=proposed" in answer.headers.get("location", ""), answer.text
    return await open_approval(operator)


async def work(runtime: Runtime) -> int:
    return (await erasure.work_due(runtime.deps, runtime.clock)).done


async def test_nothing_of_the_payer_is_left_after_two_have_agreed(
    operator: SignedInStaff, approver: SignedInStaff, story: Story, runtime: Runtime, admin: Any  # noqa: F811
) -> None:  # fmt: skip
    sums = await story.sums()
    approval = await proposed(operator, phones=PHONE)
    page = (await approver.get("/approvals")).text
    assert (EMAIL.lower() in page, "being counted" in page) == (True, True)
    # Nobody approves what nobody has counted.
    early = await decide(approver, approval)
    assert (early.status_code, "still being counted" in early.text) == (409, True)
    assert await work(runtime) == 1
    page = (await approver.get("/approvals")).text
    assert "3 payments, with attempts" in page
    assert "1 virtual accounts that the payer holds" in page
    assert await admin.fetchval("SELECT count(*) FROM payment WHERE customer_name IS NULL") == 0
    assert (await decide(approver, approval)).status_code == 303
    assert "Being erased" in (await operator.get(AT)).text
    assert await work(runtime) == 1
    assert await traces(admin) == {}
    assert await admin.fetchval(FORGOTTEN)
    assert await work(runtime) == 0
    await check_books(runtime)
    assert await story.sums() == sums
    page = (await operator.get(AT)).text
    assert ("3 payments, with attempts" in page, "Stays for now" in page) == (True, False)
    rows = await admin.fetch("SELECT DISTINCT actor, action FROM audit WHERE subject LIKE 'erasure%' ORDER BY action")
    assert [(row["actor"], row["action"]) for row in rows] == [
        (f"staff/{approver.member.id}", "payer.erase.approved"),
        (f"staff/{operator.member.id}", "payer.erase.proposed"),
        (f"staff/{approver.member.id}", "payer.erased"),
    ]


async def test_a_worker_that_is_killed_amid_it_is_followed_by_another(
    *, operator: SignedInStaff, approver: SignedInStaff, story: Story, runtime: Runtime, admin: Any,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    approval = await proposed(operator)
    await work(runtime)
    await decide(approver, approval)

    async def killed(*_: Any) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(erase_store, "erase_payments", killed)
        with pytest.raises(KeyboardInterrupt):
            await work(runtime)
    assert await admin.fetchval("SELECT erased ->> 'inflows' = '1' AND ended_at IS NULL FROM erasure")
    # It may still be at it.
    assert await work(runtime) == 0
    await admin.execute(f"UPDATE erasure SET {earlier('worked_until', f'{erasure.LEASE.total_seconds()} s')}")
    assert await work(runtime) == 1
    assert await traces(admin) == {}
    assert await admin.fetchval("SELECT (erased ->> 'inflows') || (erased ->> 'payments') FROM erasure") == "13"


async def test_one_that_fails_holds_up_no_other(
    operator: SignedInStaff, runtime: Runtime, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await proposed(operator)
    await ask(operator, emails="other@example.com")

    async def failing(*_: Any, **_more: Any) -> Any:
        raise ValueError("a row that cannot be read")

    with monkeypatch.context() as patched:
        patched.setattr(erasure_store, "note_found", failing)
        with pytest.raises(ValueError, match="cannot be read"):
            await work(runtime)
    assert await work(runtime) == 1
    found = "SELECT emails[1] FROM erasure WHERE found IS NOT NULL"
    assert await admin.fetchval(found) == "other@example.com"


@pytest.mark.parametrize("how", ["decline", "withdraw", "lapse"])
async def test_what_nobody_approves_forgets_whom_it_was_about(
    *, operator: SignedInStaff, approver: SignedInStaff, new_checkout: MakeCheckout, runtime: Runtime, admin: Any,
    how: str,
) -> None:  # fmt: skip
    await new_checkout(customer={"name": "Zebedee Quuxwald", "email": EMAIL})
    approval = await proposed(operator)
    await work(runtime)
    if how == "lapse":
        await admin.execute("UPDATE approval SET expires_at = now()")
    else:
        assert (await decide(approver if how == "decline" else operator, approval, how)).status_code == 303
    await work(runtime)
    assert await admin.fetchval(FORGOTTEN)
    assert (await decide(approver, approval)).status_code == 409
    assert await work(runtime) == 0
    assert set(await traces(admin)) >= {"payment.customer_name"}
    assert not any(one.startswith(("erasure.", "approval.", "audit.")) for one in await traces(admin))


async def test_what_is_still_needed_stays_and_the_page_says_why(
    operator: SignedInStaff, approver: SignedInStaff, new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    checkout = await new_checkout(customer={"name": "Zebedee Quuxwald", "email": EMAIL})
    await new_checkout(customer={"name": "Zebedee Other", "email": "other@example.com"})
    approval = await proposed(operator, business=checkout.shop.business_id)
    await work(runtime)
    assert "1 still open: a session" in (await approver.get("/approvals")).text
    await decide(approver, approval)
    await work(runtime)
    page = (await operator.get(AT)).text
    assert ("nothing was found" in page, "Stays for now: 1 still open" in page) == (True, True)
    assert await admin.fetchval("SELECT count(*) FROM payment WHERE customer_name LIKE 'Zebedee%'") == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"emails": ""}, "Give an e-mail address or a phone number"),
        ({"emails": "nobody"}, "An e-mail address is like"),
        ({"emails": "a@b c"}, "An e-mail address is like"),
        ({"phones": "123"}, "A phone number has at least"),
        ({"emails": " ".join(f"{number}@x.y" for number in range(11))}, "At most 10 at once"),
        ({"business": "nosuch"}, "There is no such merchant"),
        ({"why": " "}, "Say why"),
    ],
)
async def test_what_is_not_a_payer_is_refused(
    operator: SignedInStaff, admin: Any, changes: dict[str, str], words: str
) -> None:
    answer = await ask(operator, **changes)
    assert (answer.status_code, words in answer.text) == (422, True), answer.text[-2000:]
    assert await admin.fetchval("SELECT count(*) FROM erasure") == 0


async def test_a_double_click_asks_once(operator: SignedInStaff, admin: Any) -> None:
    fields = {**await operator.fields(AT), "emails": EMAIL, "why": "asked for"}
    for _ in range(2):
        assert (await operator.post(AT, fields)).headers["location"].endswith("said=proposed")
    assert await admin.fetchval("SELECT count(*) FROM erasure") == 1
