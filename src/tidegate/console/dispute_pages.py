"""Open disputes: what is held, when the answer is due, and the end by hand of one that its rail does not end."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.approval import store as approval_store
from tidegate.console.proposing import propose
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, Problem, Refusal
from tidegate.dispute import store
from tidegate.infra.page.response import Html
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import subject_store
from tidegate.staff_approval.arguments import DisputeEndArguments

PAGE = 100


@dataclass(frozen=True)
class DisputePages:
    shell: ConsoleShell

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self._page(visitor)

    async def _page(self, visitor: ConsoleVisitor, wrong: Refusal | None = None) -> Html:
        async with self.shell.db.connection() as tx:
            found = await store.list_open(tx, limit=PAGE)
            proposed = {one.subject for one in await approval_store.list_of_staff(tx, is_open=True, limit=PAGE)}
            names = await subject_store.names_of(tx, {one.dispute.business_id for one in found})
        return self.shell.page(
            visitor, "disputes.html", title="Disputes", section="Disputes", found=found, proposed=proposed, wrong=wrong,
            names=names, most=PAGE, status=200 if wrong is None else 422 if isinstance(wrong, Invalid) else 409,
        )  # fmt: skip

    async def end(self, visitor: ConsoleVisitor) -> Html:
        path = visitor.request.path
        try:
            return await propose(
                self.shell, visitor, "dispute.end", path["business"], f"{path['rail']}/{path['dispute']}",
                arguments=_outcome_in(visitor),
            )  # fmt: skip
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._page(visitor, wrong)

    def routes(self) -> list[ConsoleRoute]:
        return [
            ConsoleRoute("GET", "/disputes", "showDisputes", StaffPermission.SEE, self.show),
            ConsoleRoute(
                "POST", "/disputes/{business}/{rail}/{dispute}/end", "endDispute", StaffPermission.PROPOSE, self.end
            ),
        ]


def _outcome_in(visitor: ConsoleVisitor) -> DisputeEndArguments:
    outcome = visitor.form.get("outcome", "")
    if outcome not in ("won", "lost"):
        raise Invalid(Problem("outcome", "Choose how the dispute ended."))
    return DisputeEndArguments(is_won=outcome == "won")
