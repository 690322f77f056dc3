"""Held inflows: why each waits, what this payer sent before, and what either decision would book."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.account import store as account_store
from tidegate.approval import store as approval_store
from tidegate.collection import review, review_store
from tidegate.collection.list_store import CollectionFilter, list_page
from tidegate.collection.model import Collection, CollectionChange, CollectionStatus
from tidegate.collection.reason import InflowReason
from tidegate.console.proposing import propose
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, NotFound, Refusal
from tidegate.core.money import Money
from tidegate.dashboard.inflow_pages import INFLOW_WORDS
from tidegate.infra.page.response import Html
from tidegate.merchant import commands as merchants
from tidegate.rail.deps import PaymentDeps
from tidegate.staff.permission import StaffPermission

PAGE = 100
EARLIER = 20
COMMANDS = {"credit": "inflow.credit", "return": "inflow.return"}


@dataclass(frozen=True)
class HeldPages:
    shell: ConsoleShell
    deps: PaymentDeps

    async def show_list(self, visitor: ConsoleVisitor) -> Html:
        async with self.shell.db.connection() as tx:
            held = await review_store.list_held(tx, business_id=None, limit=PAGE)
        names = {one.business_id: (await merchants.get(self.shell.db, one.business_id)).name for one in held}
        return self.shell.page(
            visitor, "held_list.html", title="Held inflows", section="Held inflows", held=held, names=names
        )

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self._page(visitor, await self._inflow(visitor))

    async def _page(self, visitor: ConsoleVisitor, held: Collection, wrong: Refusal | None = None) -> Html:
        business = await merchants.get(self.shell.db, held.business_id)
        async with self.shell.db.connection() as tx:
            waiting = await review_store.list_held(tx, business_id=None, limit=PAGE)
            account = await account_store.find(tx, held.business_id, held.account_id)
            proposed = await approval_store.list_about(tx, held.business_id, held.reference)
            earlier = await list_page(
                tx, held.business_id, CollectionFilter(account_id=held.account_id), before_id=None, offset=0,
                limit=EARLIER,
            )  # fmt: skip
        assert account is not None
        references = [one.reference for one in waiting]
        at = references.index(held.reference) if held.reference in references else None
        credit = await self._credit(visitor, held)
        word, tint = INFLOW_WORDS[held.status]
        return self.shell.page(
            visitor, "held.html", title="Held inflow", section="Held inflows", status=_status(wrong), wrong=wrong,
            held=held, business=business, account=account, proposed=proposed, word=word, tint=tint,
            is_held=held.status is CollectionStatus.PENDING, check=held.name_check, typed_name=marked(held),
            earlier=[(one, *INFLOW_WORDS[one.status]) for one in earlier if _is_of_payer(one, held)],
            place=at, waiting=len(waiting),
            following=references[at + 1] if at is not None and at + 1 < len(references) else None, **credit,
        )  # fmt: skip

    async def _credit(self, visitor: ConsoleVisitor, held: Collection) -> dict[str, object]:
        """What crediting would book, or why it cannot be credited."""
        if held.status is not CollectionStatus.PENDING:
            return {"block_reason": "", "booked": [], "net": None}
        change = await review.preview(self.deps, held, now=self.shell.clock.now_of(held.business_id))
        if isinstance(change, InflowReason):
            return {"block_reason": change.sentence, "booked": [], "net": None}
        assert change.collection.credited is not None
        return {"block_reason": "", "booked": _booked(change), "net": change.collection.credited.net}

    async def decide(self, visitor: ConsoleVisitor) -> Html:
        held = await self._inflow(visitor)
        command = COMMANDS.get(visitor.form.get("what", ""))
        if command is None:
            raise NotFound(f"`what` is one of {', '.join(COMMANDS)}")
        try:
            return await propose(self.shell, visitor, command, held.business_id, held.reference)
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._page(visitor, await self._inflow(visitor), wrong)

    async def _inflow(self, visitor: ConsoleVisitor) -> Collection:
        return await review.get_unscoped(self.deps, visitor.request.path["inflow"])

    def routes(self) -> list[ConsoleRoute]:
        return [
            ConsoleRoute("GET", "/held", "showHeldInflows", StaffPermission.SEE, self.show_list),
            ConsoleRoute("GET", "/held/{inflow}", "showHeldInflow", StaffPermission.SEE, self.show),
            ConsoleRoute("POST", "/held/{inflow}", "decideHeldInflow", StaffPermission.PROPOSE, self.decide),
        ]


def _status(wrong: Refusal | None) -> int:
    if wrong is None:
        return 200
    return 422 if isinstance(wrong, Invalid) else 409


def _is_of_payer(one: Collection, held: Collection) -> bool:
    is_same = one.payer.account_number == held.payer.account_number if held.payer.account_number else False
    return one.reference != held.reference and (is_same or one.payer.name == held.payer.name)


def _booked(change: CollectionChange) -> list[tuple[str, Money]]:
    return [(entry.account.value.replace("_", " ").capitalize(), entry.amount) for entry in change.journal.entries]


def marked(held: Collection) -> list[tuple[str, bool]]:
    """The typed name in pieces: those that differ from the holder's are marked."""
    typed, holder = held.name_check.typed or "–", held.name_check.holder
    start = 0
    while start < min(len(typed), len(holder)) and typed[start].lower() == holder[start].lower():
        start += 1
    end = 0
    while end < min(len(typed), len(holder)) - start and typed[-1 - end].lower() == holder[-1 - end].lower():
        end += 1
    pieces = (typed[:start], False), (typed[start : len(typed) - end], True), (typed[len(typed) - end :], False)
    return [piece for piece in pieces if piece[0]]
