"""Each journal says in words what was moved, and leads to what it is about, however its cause is written."""

from __future__ import annotations

from typing import Any

import pytest

from build import Shop
from checkout.paying import card
from conftest import MakeCheckout
from dashboard.people import SignedInPerson
from dispute.test_disputes import OPEN, WON, DisputeWorld
from inflow import DIFFERENT, Inflows, credit, reversal_of
from refund.test_checkout_reversal import Bank
from tidegate.ledger.model import JournalKind
from tidegate.runtime import Runtime

pytestmark = pytest.mark.usefixtures("unlimited")


async def says_what_it_is_about(owner: SignedInPerson, admin: Any, kind: str, page: str, words: str) -> None:
    row = await admin.fetchrow("SELECT id, cause FROM journal WHERE kind = $1 ORDER BY id DESC", kind)
    text = (await owner.get(f"/ledger/{row['id']}")).text
    assert f'<a href="{owner.path(page)}">{words}</a>' in text, kind
    assert JournalKind(kind).meaning in text, kind
    assert (row["cause"] in text) == (row["cause"] in words), kind


async def test_those_of_a_dispute(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    checkout = await new_checkout(shop)
    assert (await checkout.charge(card())).status_code == 200
    world = DisputeWorld(checkout, runtime, admin, await admin.fetchval("SELECT transaction_id FROM receipt"))
    await world.tell(world.dispute(OPEN), world.dispute(WON))
    for kind in ("dispute_held", "dispute_released"):
        words = f"dispute d1 of payment {checkout.reference}"
        await says_what_it_is_about(owner, admin, kind, f"/payments/{checkout.pay_code}", words)


async def test_those_of_a_reversal_and_of_a_debt(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    bank, checkout = Bank(runtime, shop.client, admin), await new_checkout(shop)
    transfer = await bank.paid(checkout)
    await bank.spend(checkout, 90_00)
    await bank.notify(checkout, reversal_of(transfer))
    await bank.paid(await new_checkout(shop))
    for kind in ("credit_reversed", "debt_collected"):
        words = f"payment {checkout.reference}"
        await says_what_it_is_about(owner, admin, kind, f"/payments/{checkout.pay_code}", words)


async def test_that_of_a_return(owner: SignedInPerson, inflows: Inflows) -> None:
    number = await inflows.number()
    returned = await inflows.notified(credit(number, payeeName=DIFFERENT))
    # It leaves, and then has arrived.
    await inflows.let_pass("1h")
    await inflows.let_pass("5s")
    back = await inflows.admin.fetchval("SELECT reference FROM money_return")
    words = f"return {back} of inflow {returned['reference']}"
    await says_what_it_is_about(owner, inflows.admin, "return_done", f"/inflows/{returned['reference']}", words)


async def test_that_of_a_debt_after_an_inflow_was_taken_back(owner: SignedInPerson, inflows: Inflows) -> None:
    number = await inflows.number()
    transfer = credit(number)
    taken = await inflows.notified(transfer)
    await inflows.spend("EUR", 90_00)
    await inflows.notify(reversal_of(transfer))
    await inflows.notified(credit(number))
    await inflows.let_pass("1h")
    about = f"/inflows/{taken['reference']}"
    await says_what_it_is_about(owner, inflows.admin, "debt_collected", about, f"inflow {taken['reference']}")
