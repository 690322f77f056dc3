"""What people wrote about a payer is erased with it: reasons and notes of refunds and disputes, saved views."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from build import Checkout, Shop
from checkout.paying import card
from cli.operating import Operator
from conftest import MakeCheckout, MakeShop
from console.people import SignedInStaff
from console.test_staff_approvals import decide, open_approval, proposed
from dashboard.people import People, SignedInPerson
from dispute.test_disputes import OPEN, DisputeWorld
from inflow import CLOSE, Inflows, credit
from refund.test_refund_effects import begin
from retention.test_erase import BANK_ACCOUNT, CUSTOMER, EMAIL, NAME, PAYER, PHONE, traces
from tidegate.audit import chain
from tidegate.core.clock import SystemClock
from tidegate.member.permission import Role
from tidegate.retention import erase, erase_store
from tidegate.retention.erase import PayerIdentity
from tidegate.runtime import Runtime

pytestmark = pytest.mark.usefixtures("unlimited")

WORDS = ("Zebedee", "Quuxwald", "8055512345", BANK_ACCOUNT, "frobnicated", "snarfled")
REASON, NOTE = f"the lamp of {NAME} was frobnicated", f"{NAME} snarfled, {PHONE}"


@dataclass(frozen=True)
class Erasing:
    """The command, and what it leaves."""

    admin: Any
    command_line: Operator
    runtime: Runtime

    async def erase(self, *options: str, disputed: int = 0) -> dict[str, Any]:
        """After what was written has joined the chain of the audit trail, which then is whole."""
        async with self.runtime.db.transaction() as tx:
            await tx.execute("UPDATE event SET is_fanned_out = true")
        await self._chained()
        found: dict[str, Any] = await self.command_line.json("erase", "--email", EMAIL, *options, "--yes")
        assert found["left"] == {"open": 0, "undelivered": 0, "disputed": disputed}
        await self._chained()
        assert await chain.verify_all(self.runtime.db, now=SystemClock().now()) == []
        return found

    async def traces(self, *words: str) -> set[str]:
        """Columns that hold one of the words. A node of a cluster has its copies of tables under their own names."""
        return {re.sub(r"_\d+\.", ".", column) for column in await traces(self.admin, words or WORDS)}

    async def _chained(self) -> None:
        while (await chain.extend(self.runtime.db, SystemClock())).done:
            pass


@pytest.fixture
def erasing(admin: Any, database_url: str, tmp_path: Path, runtime: Runtime) -> Erasing:
    return Erasing(admin, Operator(database_url, tmp_path), runtime)


@pytest.fixture
async def paid(new_checkout: MakeCheckout, shop: Shop) -> Checkout:
    """By the payer, in a wallet with more."""
    other = await new_checkout(shop)
    assert (await other.charge(card())).status_code == 200
    checkout = await new_checkout(shop, customer=CUSTOMER)
    assert (await checkout.charge(card())).status_code == 200
    return checkout


@pytest.mark.parametrize("end", ["approve", "decline", ""])
async def test_of_a_refund_that_needs_two(
    people: People, shop: Shop, paid: Checkout, erasing: Erasing, end: str
) -> None:
    """Approved, declined, or asked for and not decided."""
    support, finance = await people.person(shop, Role.SUPPORT), await people.person(shop, Role.FINANCE)
    at = f"/payments/{paid.pay_code}"
    asked = await support.send(f"{at}/refund", at=at, what="part", amount="10", reason=REASON, note=NOTE)
    assert asked.status_code == 303
    number = await erasing.admin.fetchval("SELECT id FROM approval")
    if end:
        assert (await finance.send(f"/approvals/{number}/{end}", at="/refunds?tab=approve")).status_code == 303
    await paid.tick()
    await paid.let_pass("5s")
    found = await erasing.traces("frobnicated", "snarfled")
    assert {"approval.arguments", "approval.reason"} <= found
    await erasing.erase()
    assert await erasing.traces() == set()
    for page in ("/refunds?tab=approve", at, "/settings/audit"):
        assert (await finance.client.get(finance.path(page))).status_code in (200, 404), page
    if not end:
        late = await finance.send(f"/approvals/{number}/approve", at="/refunds?tab=approve", once="x")
        assert (late.status_code, await erasing.admin.fetchval("SELECT count(*) FROM refund")) == (409, 0)


@pytest.mark.parametrize("outcome", ["paid", "not-paid"])
async def test_of_a_refund_that_was_ended_by_hand(paid: Checkout, erasing: Erasing, outcome: str) -> None:
    reference = await begin(paid, amount=10)
    end = ("refund", "end", paid.shop.business_id, f"{reference}-1", "--outcome", outcome, "--note", NOTE)
    await erasing.command_line.said(*end)
    assert await erasing.traces("snarfled") == {"audit.details"}
    await erasing.erase()
    assert await erasing.traces() == set()


async def test_of_a_refund_that_the_staff_proposed(
    operator: SignedInStaff, approver: SignedInStaff, paid: Checkout, erasing: Erasing,
) -> None:  # fmt: skip
    at = f"/refunds/{paid.shop.business_id}/{paid.pay_code}"
    asked = await operator.send(at, at=at, amount="10", reason=REASON, why=NOTE)
    assert asked.status_code == 303, asked.text
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    await paid.tick()
    await paid.let_pass("5s")
    assert {"approval.arguments", "approval.reason", "audit.details"} <= await erasing.traces()
    await erasing.erase()
    assert await erasing.traces() == set()
    assert (await approver.get("/approvals")).status_code == 200


async def test_of_a_dispute_that_two_have_ended(
    operator: SignedInStaff, approver: SignedInStaff, paid: Checkout, erasing: Erasing,
) -> None:  # fmt: skip
    transaction_id = await erasing.admin.fetchval("SELECT transaction_id FROM receipt ORDER BY id DESC LIMIT 1")
    world = DisputeWorld(paid, erasing.runtime, erasing.admin, transaction_id)
    await world.tell(world.dispute(OPEN))
    at = f"/disputes/{paid.shop.business_id}/sandbox/d1/end"
    assert (await operator.send(at, at="/disputes", why=NOTE, outcome="won")).status_code == 303
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    assert await erasing.traces("snarfled") == {"approval.reason", "audit.details"}
    await erasing.erase()
    assert await erasing.traces() == set()


async def test_of_money_in_suspense_that_two_have_assigned(
    inflows: Inflows, new_checkout: MakeCheckout, operator: SignedInStaff, approver: SignedInStaff, erasing: Erasing,
) -> None:  # fmt: skip
    checkout = await new_checkout(inflows.shop, customer=CUSTOMER)
    assert (await checkout.charge({"type": "bank_transfer"})).status_code == 200
    body = credit(
        "DE99", await erasing.admin.fetchval("SELECT expected_minor FROM payment"), currency="NGN", payer=PAYER
    )
    assert (await inflows.notify(body)).status_code == 200
    at = f"/suspense/{await erasing.admin.fetchval('SELECT id FROM receipt')}"
    wanted = {"business": inflows.shop.business_id, "to": "payment", "payment": checkout.pay_code}
    asked = await operator.send(at, at=at, what="assign", why=NOTE, **wanted)
    assert asked.status_code == 303, asked.text
    assert (await decide(approver, await open_approval(approver))).status_code == 303
    found = await erasing.traces("snarfled")
    assert found == {"approval.reason", "audit.details", "suspense_decision.note"}
    # The notification that was in suspense stays.
    await erasing.erase(disputed=1)
    assert await erasing.traces() == {"notification.body"}


async def test_of_a_held_inflow_that_two_have_credited(
    inflows: Inflows, operator: SignedInStaff, approver: SignedInStaff, erasing: Erasing
) -> None:
    body = credit(await inflows.number(), 4_800_00, payeeName=CLOSE, remittance=f"from {EMAIL}")
    reference = str((await inflows.notified(body))["reference"])
    assert (await decide(approver, await proposed(operator, reference, why=NOTE))).status_code == 303
    assert await erasing.traces("snarfled") == {"approval.reason", "audit.details", "collection.note"}
    await erasing.erase()
    assert await erasing.traces() == set()
    assert (await operator.get(f"/held/{reference}")).status_code == 200


async def test_of_saved_views(
    owner: SignedInPerson, paid: Checkout, erasing: Erasing,
    people: People, new_shop: MakeShop,
) -> None:  # fmt: skip
    """Those that search for the payer, or are called so; of everybody, and of no other business than was asked for."""
    at = "/payments?status=failed"
    other_shop = await new_shop()
    other = await people.person(other_shop, Role.OWNER)
    views = [
        {"name": "Late", "q": f"email:{EMAIL}", "shared": "yes"},
        {"name": "Later", "q": EMAIL.upper()},
        {"name": "In full", "q": NAME},
        {"name": f"Of {EMAIL}", "status": "failed"},
        {"name": NAME.lower(), "status": "failed"},
        {"name": "+234 805 551 2345", "status": "failed"},
    ]  # fmt: skip
    # A first name alone is that of many.
    others = [
        {"name": "Failed", "status": "failed"},
        {"name": "Ada", "q": "email:ada@example.com"},
        {"name": "Zebedee", "status": "failed"},
    ]
    for view in (*views, *others):
        assert (await owner.send("/views", at=at, **view)).status_code == 303
    assert (await other.send("/views", at=at, **views[0])).status_code == 303
    done = await erasing.erase("--business", paid.shop.business_id)
    assert done["views"] == len(views)
    rows = await erasing.admin.fetch(
        "SELECT name FROM saved_view WHERE business_id = $1 ORDER BY id", paid.shop.business_id
    )
    assert [row["name"] for row in rows] == ["Failed", "Ada", "Zebedee"]
    assert await erasing.traces("quuxwald") == {"saved_view.filters", "idempotency_key.body"}
    done = await erasing.erase()
    assert (done["views"], await erasing.traces("quuxwald")) == (1, set())


async def test_an_erasure_that_was_interrupted_finds_the_rest_by_the_view(
    owner: SignedInPerson, paid: Checkout, erasing: Erasing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to who saved the view is found by it alone."""

    async def interrupted(*_: object) -> int:
        raise RuntimeError

    who = PayerIdentity.parse([EMAIL], [])
    saved = await owner.send("/views", at="/payments", name="Late", q=f"email:{EMAIL}")
    assert saved.status_code == 303
    for step in ("erase_answers", "delete_views"):
        with monkeypatch.context() as broken:
            broken.setattr(erase_store, step, interrupted)
            found = await erase.find(erasing.runtime.db, who, None)
            with pytest.raises(RuntimeError):
                await erase.Eraser(erasing.runtime.db, erasing.runtime.clock, who).erase(found)
    await erasing.erase()
    assert await erasing.traces() == set()
