"""Money without an owner: where it may belong, and what is done with it."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.approval import store as approval_store
from tidegate.console.proposing import decided_by, propose, show_proposals
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, NotFound, Problem, Refusal
from tidegate.dashboard.form import NO_ACTION
from tidegate.dashboard.paging import number_in
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.intake import store as intake_store
from tidegate.intake import suspense_store
from tidegate.intake.candidates import list_candidates
from tidegate.intake.model import SuspenseDecision, SuspenseReceipt
from tidegate.merchant import commands as merchants
from tidegate.rail import pause_store
from tidegate.staff import store as staff_store
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import subject_store
from tidegate.staff_approval.arguments import AssignArguments

PAGE = 100
FIELD_CHARS_MAX = 100
BODY_BYTES_SHOWN_MAX = 16 * 1024
TOPIC = "suspense"


@dataclass(frozen=True)
class SuspensePages:
    shell: ConsoleShell

    async def show_list(self, visitor: ConsoleVisitor) -> Html:
        async with self.shell.db.connection() as tx:
            found = await suspense_store.list_open(tx, limit=PAGE)
            quarantined = await intake_store.list_quarantined(tx, limit=PAGE)
            proposed = {one.subject for one in await approval_store.list_of_staff(tx, is_open=True, limit=PAGE)}
        return self.shell.page(
            visitor, "suspense_list.html", title="Suspense & quarantine", section="Suspense & quarantine", found=found,
            quarantined=quarantined, proposed=proposed, most=PAGE,
        )  # fmt: skip

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self._page(visitor)

    async def _page(self, visitor: ConsoleVisitor, wrong: Refusal | None = None) -> Html:
        receipt_id = number_in(visitor.request.path["receipt"])
        async with self.shell.db.connection() as tx:
            receipt = await suspense_store.find_open(tx, receipt_id) if receipt_id else None
            decided = await suspense_store.find_decision(tx, receipt_id) if receipt_id and not receipt else None
            if decided is not None:
                return await self._decided(visitor, tx, decided)
            if receipt is None:
                raise NotFound("there is nothing at this address")
            candidates = await list_candidates(tx, receipt)
            found = await approval_store.list_about(tx, receipt.business_id, str(receipt.id))
            proposed = await show_proposals(self.shell, visitor, tx, found)
            body = await _body_of(tx, receipt.rail, receipt.notification_id)
            paused = await pause_store.list_of_rails(tx, [receipt.rail])
            names = await staff_store.list_names(tx) if paused else {}
        return self.shell.page(
            visitor, "suspense.html", title="Money in suspense", section="Suspense & quarantine", receipt=receipt,
            candidates=candidates, proposed=proposed, body=body, wrong=wrong, chosen=_chosen_in(visitor),
            paused=paused, names=names,
            is_decidable=not any(not one.is_void for one in proposed),
            status=200 if wrong is None else 422 if isinstance(wrong, Invalid) else 409,
        )  # fmt: skip

    async def _decided(self, visitor: ConsoleVisitor, tx: Tx, decided: SuspenseDecision) -> Html:
        by = await decided_by(tx, decided.business_id, TOPIC, str(decided.receipt_id))
        names = await subject_store.names_of(tx, [decided.given_to or ""])
        return self.shell.page(
            visitor, "suspense_decided.html", title="Money that was in suspense", section="Suspense & quarantine",
            decided=decided, by=by, transfer=await suspense_store.find_decided(tx, decided),
            owner=names.get(decided.given_to or "", ""),
            body=await _body_of(tx, decided.rail, decided.notification_id),
        )  # fmt: skip

    async def decide(self, visitor: ConsoleVisitor) -> Html:
        receipt_id = number_in(visitor.request.path["receipt"])
        async with self.shell.db.connection() as tx:
            receipt = await suspense_store.find_open(tx, receipt_id) if receipt_id else None
        if receipt is None:
            raise NotFound("this money is not in suspense any more")
        try:
            return await self._propose(visitor, receipt)
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._page(visitor, wrong)

    async def _propose(self, visitor: ConsoleVisitor, receipt: SuspenseReceipt) -> Html:
        what, subject = visitor.form.get("what", ""), str(receipt.id)
        if what == "assign":
            to = assigned_in(visitor)
            await self._refuse_unknown(to.business_id)
            return await propose(self.shell, visitor, "suspense.assign", receipt.business_id, subject, arguments=to)
        if what in ("return", "close"):
            return await propose(self.shell, visitor, f"suspense.{what}", receipt.business_id, subject)
        raise NotFound(NO_ACTION)

    async def _refuse_unknown(self, business_id: str) -> None:
        try:
            await merchants.get(self.shell.db, business_id)
        except NotFound:
            raise Invalid(Problem("business", "There is no such merchant. Copy its id from its page.")) from None

    def routes(self) -> list[ConsoleRoute]:
        at = "/suspense/{receipt}"
        return [
            ConsoleRoute("GET", "/suspense", "showSuspense", StaffPermission.SEE, self.show_list),
            ConsoleRoute("GET", at, "showSuspenseReceipt", StaffPermission.SEE, self.show),
            ConsoleRoute("POST", at, "decideSuspense", StaffPermission.PROPOSE, self.decide),
        ]


async def _body_of(tx: Tx, rail: str, notification_id: str | None) -> str:
    """What the rail sent, as text. Empty where it was erased, or where no notification brought the money."""
    body = await intake_store.find_body(tx, rail, notification_id) if notification_id else None
    text = (body or b"")[:BODY_BYTES_SHOWN_MAX].decode("utf-8", "replace")
    return f"{text} …" if body and len(body) > BODY_BYTES_SHOWN_MAX else text


def _chosen_in(visitor: ConsoleVisitor) -> dict[str, str]:
    """The candidate that was chosen: it stands in the form."""
    query = visitor.request.query
    chosen = {name: query.get(name, "")[:FIELD_CHARS_MAX] for name in ("business", "payment")}
    return {"what": "assign", **chosen} if all(chosen.values()) else {}


def assigned_in(visitor: ConsoleVisitor) -> AssignArguments:
    business_id, payment, account_id = (
        visitor.form.get(name, "").strip() for name in ("business", "payment", "account")
    )
    if not business_id or bool(payment) == bool(account_id):
        raise Invalid(Problem("business", "Name the merchant, and either its payment or its account."))
    if max(map(len, (business_id, payment, account_id))) > FIELD_CHARS_MAX:
        raise Invalid(Problem("business", f"Enter at most {FIELD_CHARS_MAX} characters in each field."))
    return AssignArguments(business_id=business_id, payment=payment or None, account_id=account_id or None)
