"""Erasing a payer's personal data: it cannot be undone, so one of the staff proposes it and another one approves."""

from __future__ import annotations

from tidegate.retention import erasure
from tidegate.retention import erasure_store as store
from tidegate.retention.erase import KINDS, LEFT
from tidegate.staff_approval import subject_store
from tidegate.staff_approval.arguments import NoArguments
from tidegate.staff_approval.model import ProposalContext, ProposalFact, StaffCommandRun

COUNTED_SOON = "being counted; look again in a minute, while a worker runs"


async def run(run: StaffCommandRun, _: NoArguments) -> object:
    """The worker erases; until it has, the request knows whom it is about."""
    async with run.deps.db.transaction() as tx:
        await run.also(tx)
        await erasure.approve(tx, run.subject, by=run.by)
    return run.subject


async def facts(context: ProposalContext, _: NoArguments) -> list[ProposalFact]:
    """All but the merchant is read where it is kept, and forgotten there."""
    asked = await store.find(context.tx, context.subject)
    if asked is None or asked.emails is None or asked.phones is None:
        return []
    names = await subject_store.names_of(context.tx, [asked.only_of]) if asked.only_of else {}
    whom = [("E-mail", ", ".join(asked.emails)), ("Phone", ", ".join(asked.phones))]
    counts = counted_words(asked.found.rows if asked.found else {}, KINDS)
    left = counted_words(asked.found.left if asked.found else {}, LEFT)
    return [
        *(ProposalFact(label, text, is_personal=True) for label, text in whom if text),
        ProposalFact("Of", names.get(asked.only_of or "", "all merchants")),
        ProposalFact("Erases", (counts or "nothing") if asked.found else COUNTED_SOON, is_personal=True),
        *([ProposalFact("Stays for now", left, is_personal=True)] if left else []),
    ]


def counted_words(counts: dict[str, int], words: dict[str, str]) -> str:
    """Empty where there is nothing."""
    return "; ".join(f"{counts[one]:,} {words[one]}" for one in words if counts.get(one))
