"""Held inflows: why each waits, what this payer sent before, and what either decision would book."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegate.account import store as account_store
from tidegate.approval import store as approval_store
from tidegate.collection import review, review_store
from tidegate.collection.decider import decider_words
from tidegate.collection.list_store import CollectionFilter, list_page
from tidegate.collection.model import Collection, CollectionChange, CollectionStatus
from tidegate.collection.reason import RETURN_CHOICES, InflowReason
from tidegate.collection.rule import needs_rate, rule_of
from tidegate.console.proposing import clock_ahead, decided_by, propose, show_proposals, version_in
from tidegate.console.refund_detail import people_of
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, NotFound, Refusal
from tidegate.core.money import Money
from tidegate.dashboard import refund_store
from tidegate.dashboard.form import NO_ACTION
from tidegate.dashboard.inflow_pages import INFLOW_WORDS, VERDICT_WORDS, given_back
from tidegate.dashboard.paging import place_in, place_of
from tidegate.dashboard.refund_store import ListedRefund
from tidegate.dashboard.refunds import STATUS_WORDS as REFUND_WORDS
from tidegate.infra.page.response import Html
from tidegate.merchant import commands as merchants
from tidegate.rail import pause_store
from tidegate.rail.deps import PaymentDeps
from tidegate.refund.model import RefundStatus
from tidegate.staff import store as staff_store
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import commands as staff_approvals
from tidegate.staff_approval import subject_store
from tidegate.staff_approval.arguments import ReturnArguments
from tidegate.staff_approval.commands import NOTHING

PAGE = 100
EARLIER = 20
REFUNDS = 50
CREDIT = "inflow.credit"
COMMANDS = {"credit": CREDIT, "return": "inflow.return"}
TOPIC = "inflow"


@dataclass(frozen=True)
class HeldPages:
    shell: ConsoleShell
    deps: PaymentDeps

    async def show_list(self, visitor: ConsoleVisitor) -> Html:
        if visitor.request.query.get("status") == "returned":
            return await self._returned(visitor)
        merchant = visitor.request.query.get("merchant") or None
        async with self.shell.db.connection() as tx:
            held = await review_store.list_held(tx, business_id=merchant, limit=PAGE)
            names = await subject_store.names_of(tx, {one.business_id for one in held})
        return self.shell.page(
            visitor, "held_list.html", title="Held inflows", section="Held inflows", held=held, names=names, most=PAGE,
            merchant=merchant,
        )  # fmt: skip

    async def _returned(self, visitor: ConsoleVisitor) -> Html:
        """Why each was returned; the newest first."""
        before = place_in(visitor.request.query.get("before", ""))
        async with self.shell.db.connection() as tx:
            found = await review_store.list_returned(tx, before=before, limit=PAGE + 1)
            names = await subject_store.names_of(tx, {one.business_id for one in found})
            decisions, staff = await review_store.list_decisions(tx, found), await staff_store.list_names(tx)
        older = _place_of(found[PAGE - 1]) if len(found) > PAGE else ""
        return self.shell.page(
            visitor, "returned_list.html", title="Returned inflows", section="Held inflows",
            returned=[(one, decider_words(decisions.get(one.reference), staff)) for one in found[:PAGE]],
            names=names, older=f"?status=returned&before={older}" if older else None,
        )  # fmt: skip

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self._page(visitor, await self._inflow(visitor))

    async def _page(self, visitor: ConsoleVisitor, held: Collection, wrong: Refusal | None = None) -> Html:
        business = await merchants.get(self.shell.db, held.business_id)
        async with self.shell.db.connection() as tx:
            waiting = await review_store.list_held(tx, business_id=None, limit=PAGE)
            account = await account_store.find(tx, held.business_id, held.account_id)
            found = await approval_store.list_about(tx, held.business_id, held.reference)
            proposed = await show_proposals(self.shell, visitor, tx, found)
            by = await decided_by(tx, held.business_id, TOPIC, held.reference)
            credit_version = await staff_approvals.version_of(tx, CREDIT, held.business_id, held.reference)
            decision = (await review_store.list_decisions(tx, [held])).get(held.reference)
            refunds = await refund_store.list_of_inflow(tx, held.business_id, held.id, limit=REFUNDS)
            paused = await pause_store.list_of_rails(tx, [held.rail])
            names = await staff_store.list_names(tx) if refunds or paused or decision else {}
            earlier = await list_page(
                tx, held.business_id, CollectionFilter(account_id=held.account_id), before_id=held.id, offset=0,
                limit=EARLIER,
            )  # fmt: skip
        assert account is not None
        references = [one.reference for one in waiting]
        at = references.index(held.reference) if held.reference in references else None
        credit = await self._credit(visitor, held)
        word, tint = INFLOW_WORDS[held.status]
        return self.shell.page(
            visitor, "held.html", title="Held inflow", section="Held inflows",
            ahead=clock_ahead(self.shell, held.business_id), status=_status(wrong), wrong=wrong,
            held=held, business=business, account=account, proposed=proposed, by=by, word=word, tint=tint,
            is_held=held.status is CollectionStatus.PENDING, check=held.name_check, typed_name=marked(held),
            verdict=VERDICT_WORDS[held.name_check.verdict],
            held_for=[(reason.meaning, rule_of(reason, self.deps.inflow_terms)) for reason in held.held_for],
            return_choices=RETURN_CHOICES, is_decidable=not any(not one.is_void for one in proposed),
            decider="" if by else decider_words(decision, names),
            earlier=[(one, *INFLOW_WORDS[one.status]) for one in earlier if _is_of_payer(one, held)],
            place=at, waiting=len(waiting), credit_version=credit_version,
            following=_following(references, held.reference), names=names,
            paused=paused if _may_go_back(held, refunds) else [], **_given_back(held, refunds, names), **credit,
        )  # fmt: skip

    async def _credit(self, visitor: ConsoleVisitor, held: Collection) -> dict[str, object]:
        """What crediting would book, or why it cannot be credited."""
        if held.status is not CollectionStatus.PENDING:
            return {"block_reason": "", "booked": [], "net": None, "rate": None}
        async with self.shell.db.connection() as tx:
            change = await review.preview(tx, self.deps, held, now=self.shell.clock.now_of(held.business_id))
        if isinstance(change, InflowReason):
            pair = f"/rates?base={held.amount.currency}&quote={held.destination_currency}#set"
            page = pair if needs_rate(change) else ""
            return {"block_reason": change.sentence, "rate_page": page, "booked": [], "net": None, "rate": None}
        credited = change.collection.credited
        assert credited is not None
        return {"block_reason": "", "booked": _booked(change), "net": credited.net, "rate": credited.applied_rate}

    async def decide(self, visitor: ConsoleVisitor) -> Html:
        held = await self._inflow(visitor)
        command = COMMANDS.get(visitor.form.get("what", ""))
        if command is None:
            raise NotFound(NO_ACTION)
        try:
            # Of a credit, the number that was shown is bound to the rate and the price too.
            version = version_in(visitor, "credit_version") if command == CREDIT else None
            reason = visitor.form.get("reason", RETURN_CHOICES[0])
            return await propose(
                self.shell, visitor, command, held.business_id, held.reference, version=version,
                arguments=NOTHING if command == CREDIT else ReturnArguments.of(reason), then=await self._next(held),
            )  # fmt: skip
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._page(visitor, await self._inflow(visitor), wrong)

    async def _next(self, held: Collection) -> str:
        """The page after a proposal: the next inflow that waits."""
        async with self.shell.db.connection() as tx:
            waiting = await review_store.list_held(tx, business_id=None, limit=PAGE)
        following = _following([one.reference for one in waiting], held.reference)
        return f"/held/{following}?said=proposed_before" if following else "/held?said=proposed"

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


def _following(references: list[str], reference: str) -> str | None:
    at = references.index(reference) + 1 if reference in references else len(references)
    return references[at] if at < len(references) else None


def _place_of(returned: Collection) -> str:
    assert returned.sent_back is not None
    return place_of(returned.sent_back.asked_at, returned.id)


def _is_going_back(held: Collection, refunds: Sequence[ListedRefund]) -> bool:
    """Something of it is on its way back by its rail."""
    is_returning = held.sent_back is not None and held.sent_back.confirmed_at is None
    return is_returning or any(one.view.refund.status is RefundStatus.PROCESSING for one in refunds)


def _may_go_back(held: Collection, refunds: Sequence[ListedRefund]) -> bool:
    return held.status is CollectionStatus.PENDING or _is_going_back(held, refunds)


def _given_back(held: Collection, refunds: Sequence[ListedRefund], names: Mapping[str, str]) -> dict[str, object]:
    """What was refunded of it, by whom, and what is left to refund."""
    left = held.amount - (held.refunded or Money.zero(held.amount.currency))
    return {
        "given_back": given_back(held, _is_going_back(held, refunds)),
        "refunds": [
            (one.view.refund, *REFUND_WORDS[one.view.refund.status], *people_of(one.origin, names)) for one in refunds
        ],
        "left": left if held.status is CollectionStatus.SUCCESSFUL and left.minor else None,
    }


def _is_of_payer(one: Collection, held: Collection) -> bool:
    """And before it."""
    is_same = one.payer.account_number == held.payer.account_number if held.payer.account_number else False
    return one.id < held.id and (is_same or one.payer.name == held.payer.name)


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
