"""Erasures: a payer's personal data that is to go. Proposed here, approved by another person, done by the worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tidegate.approval import store as approval_store
from tidegate.console.proposing import show_proposals
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, NotFound, Problem, Refusal
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.merchant import commands as merchants
from tidegate.retention import erasure, erasure_store
from tidegate.retention.erase import KINDS, LEFT, PayerIdentity
from tidegate.retention.erasure_store import Erasure
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import erasure_proposal, subject_store
from tidegate.staff_approval.erasing import counted_words

SHOWN = 50
# Of one field.
GIVEN_MAX = 10


class ErasureRow(NamedTuple):
    asked: Erasure
    merchant: str
    state: tuple[str, str]
    erased: str
    left: str


@dataclass(frozen=True)
class ErasurePages:
    shell: ConsoleShell

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self._page(visitor)

    async def _page(self, visitor: ConsoleVisitor, wrong: Refusal | None = None) -> Html:
        async with self.shell.db.connection() as tx:
            found = await approval_store.list_of_business(tx, PLATFORM_BUSINESS_ID)
            proposals = [one for one in found if one.command == erasure.COMMAND]
            proposed = await show_proposals(self.shell, visitor, tx, proposals)
            newest = await erasure_store.list_newest(tx, limit=SHOWN)
            names = await subject_store.names_of(tx, {one.only_of for one in newest if one.only_of})
        return self.shell.page(
            visitor, "erasures.html", title="Erasures", section="Erasures", proposed=proposed, wrong=wrong,
            rows=[row_of(one, names) for one in newest if one.approved_by],
            status=200 if wrong is None else 422 if isinstance(wrong, Invalid) else 409,
        )  # fmt: skip

    async def propose(self, visitor: ConsoleVisitor) -> Html:
        try:
            who, only_of = who_in(visitor), visitor.form.get("business", "").strip() or None
            await self._check(only_of)

            async def act(tx: Tx) -> str:
                await erasure_proposal.propose(
                    self.shell.approvals, tx, who, only_of, why=visitor.form.get("why", ""),
                    asked_by=visitor.staff.member.id, by=visitor.by, now=visitor.now,
                )  # fmt: skip
                return "/erasures?said=proposed"

            return await self.shell.once(visitor, act)
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._page(visitor, wrong)

    async def _check(self, only_of: str | None) -> None:
        if only_of is None:
            return
        try:
            await merchants.get(self.shell.db, only_of)
        except NotFound:
            raise Invalid(
                Problem("business", "There is no such merchant. Copy its id from its page, or leave this empty.")
            ) from None

    def routes(self) -> list[ConsoleRoute]:
        return [
            ConsoleRoute("GET", "/erasures", "showErasures", StaffPermission.SEE, self.show),
            ConsoleRoute("POST", "/erasures", "proposeErasure", StaffPermission.PROPOSE, self.propose),
        ]


def who_in(visitor: ConsoleVisitor) -> PayerIdentity:
    """Raises Invalid."""
    emails = visitor.form.get("emails", "").replace(",", " ").split()
    phones = [one.strip() for one in visitor.form.get("phones", "").split(",") if one.strip()]
    for field, given in (("emails", emails), ("phones", phones)):
        if len(given) > GIVEN_MAX:
            raise Invalid(Problem(field, f"At most {GIVEN_MAX} at once; propose the others by themselves."))
    try:
        return PayerIdentity.parse(emails, phones)
    except ValueError as error:
        field = "phones" if "phone number has" in str(error) else "emails"
        raise Invalid(Problem(field, f"{str(error)[:1].upper()}{str(error)[1:]}.")) from None


def row_of(asked: Erasure, names: Mapping[str, str]) -> ErasureRow:
    return ErasureRow(
        asked=asked,
        merchant=names.get(asked.only_of or "", "all merchants"),
        state=("Erased", "good") if asked.ended_at else ("Being erased", "warn"),
        erased=counted_words(asked.erased, KINDS) or "nothing was found",
        left=counted_words(asked.found.left, LEFT) if asked.found and asked.ended_at else "",
    )
