"""The doctor's questions about inflows: nothing when all is well, and each finds what somebody tampered with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from inflow import CLOSE, DIFFERENT, Inflows, credit, reversal_of
from tidegate.audit.model import OPERATOR
from tidegate.collection import review
from tidegate.core.finding import Finding
from tidegate.core.money import Currency
from tidegate.doctor import inflow_store
from tidegate.doctor.commands import examine_books
from tidegate.infra.db import Tx
from tidegate.ledger import chain

Ask = Callable[[Tx], Awaitable[list[str]]]
QUESTIONS: tuple[Ask, ...] = (
    inflow_store.list_wrongly_credited,
    inflow_store.list_wrong_events,
    inflow_store.list_wrongly_held,
    inflow_store.list_wrongly_reversed,
    inflow_store.list_wrong_tallies,
)


async def findings(inflows: Inflows) -> dict[str, Finding]:
    while (await chain.extend(inflows.runtime.db, inflows.runtime.clock)).done:
        pass
    found, _ = await examine_books(inflows.runtime.db, now=inflows.now)
    return {finding.subject: finding for finding in found}


async def one_of_each(inflows: Inflows) -> None:
    """Credited, converted, held, decided on both ways, returned, taken back in every way, and owed."""
    deps, now = inflows.runtime.deps, inflows.now
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.1", spread=30)
    number, abroad = await inflows.number(), await inflows.number(Currency.EUR, Currency.USD)
    for body in (credit(number), credit(abroad), credit(number, payeeName=DIFFERENT), credit(number, 1)):
        await inflows.notified(body)
    held = [
        (await inflows.notified(credit(where, payeeName=CLOSE)))["reference"]
        for where in (number, abroad, number, number)
    ]
    await review.credit(deps, held[0], note=None, by=OPERATOR, now=now)
    await review.credit(deps, held[1], note=None, by=OPERATOR, now=now)
    await review.send_back(deps, held[2], note=None, by=OPERATOR, now=now)
    await inflows.tick()
    await inflows.let_pass("1m")
    await inflows.notified(credit(number, payeeName=DIFFERENT))
    for body in (credit(number), credit(abroad), credit(number, payeeName=CLOSE)):
        await inflows.notified(body)
        await inflows.notify(reversal_of(body))


async def owe(inflows: Inflows) -> str:
    body = credit(await inflows.number(Currency.USD), 70_00, currency="USD")
    reference: str = (await inflows.notified(body))["reference"]
    await inflows.spend("USD", await inflows.wallet("USD"))
    await inflows.notify(reversal_of(body))
    return reference


async def test_every_kind_of_inflow_leaves_nothing_to_find(inflows: Inflows) -> None:
    await one_of_each(inflows)
    owed = await owe(inflows)
    waiting = reversal_of(credit("DE00", transactionId="T-9"))
    await inflows.notify(waiting)
    found = await findings(inflows)
    assert [finding for finding in found.values() if not finding.is_well] == []
    assert "EUR 100.00" in found["held inflows"].what
    assert "name_is_close" in found["held inflows"].what
    assert f"{owed}: the merchant owes it" in found["reversals"].what
    assert "sandbox/T-9: waits for its credit" in found["reversals"].what


async def test_with_nothing_to_decide_the_list_says_so(inflows: Inflows) -> None:
    found = await findings(inflows)
    assert found["held inflows"].what == "no inflow waits for a decision"
    assert "none is owed" in found["reversals"].what


TAMPERED = {
    "credits": [
        "UPDATE collection SET credited_minor = credited_minor - 1, fee_minor = fee_minor + 1 WHERE rate IS NOT NULL",
        "UPDATE collection SET source_minor = source_minor + 1 WHERE status = 'successful'",
        "UPDATE collection SET spread_minor = spread_minor + 1 WHERE rate IS NOT NULL",
        "UPDATE journal SET cause = 'x' || cause WHERE kind = 'inflow_credited'",
        "UPDATE journal SET cause = 'x' || cause WHERE kind = 'held_converted'",
        """
        UPDATE collection SET destination_minor = NULL, credited_minor = NULL, rate = NULL, status = 'pending',
               reason = 'name_is_close' WHERE status = 'successful'
        """,
    ],
    "inflow events": [
        "DELETE FROM event WHERE type = 'collection.successful'",
        "DELETE FROM event WHERE type = 'collection.returned'",
        "UPDATE event SET type = 'collection.successful' WHERE type = 'collection.returned'",
    ],
    "holds": [
        "UPDATE collection SET status = 'pending', reason = 'name_is_close' WHERE status = 'failed'",
        "UPDATE entry SET amount_minor = amount_minor + 1 WHERE account = 'suspense' AND amount_minor > 0",
        "UPDATE collection SET return_confirmed_at = now() WHERE return_reference IS NOT NULL",
        "UPDATE journal SET cause = 'x' || cause WHERE kind = 'return_done'",
    ],
    "returns": [
        "UPDATE collection SET status = 'reversed', reason = 'taken_back' WHERE status = 'pending'",
        "UPDATE money_return SET collection_id = NULL",
        "UPDATE money_return SET amount_minor = amount_minor + 1",
        "UPDATE money_return SET status = 'asked' WHERE status = 'confirmed'",
        "UPDATE journal SET cause = 'x' || cause WHERE kind = 'credit_reversed'",
        "UPDATE journal SET cause = 'x' || cause WHERE kind = 'receipt_returning'",
        "UPDATE collection SET return_reference = NULL WHERE return_reference IS NOT NULL",
    ],
    "totals": [
        "UPDATE collection_tally SET successful = successful + 1",
        "UPDATE collection_tally SET pending = pending + 1 WHERE span = '6 hours' AND account_id <> ''",
        "UPDATE collection_tally SET starts_at = date_bin('6 hours', starts_at, '2020-01-01 01:00+00')",
        "DELETE FROM collection_tally WHERE account_id = ''",
        "DELETE FROM collection_tally WHERE span = '2 weeks'",
        "UPDATE collection SET status = 'failed' WHERE status = 'pending'",
    ],
}  # fmt: skip


@pytest.mark.breaks_the_books
async def test_each_check_finds_what_was_tampered_with(inflows: Inflows) -> None:
    """Each in a transaction of its own that is undone again, by the table's owner, with all triggers off."""
    await one_of_each(inflows)
    asked = dict(zip(("credits", "inflow events", "holds", "returns", "totals"), QUESTIONS, strict=True))
    for subject, statements in TAMPERED.items():
        for statement in statements:
            undone = inflows.admin.transaction()
            await undone.start()
            try:
                await tamper(inflows, asked[subject], statement)
            finally:
                await undone.rollback()


async def tamper(inflows: Inflows, ask: Ask, statement: str) -> None:
    await inflows.admin.execute("SET LOCAL session_replication_role = replica")
    await inflows.admin.execute("ALTER TABLE event DROP CONSTRAINT event_one_per_cause")
    assert await ask(inflows.admin) == []
    changed = await inflows.admin.execute(statement)
    assert not changed.endswith(" 0"), statement
    assert await ask(inflows.admin) != [], statement
