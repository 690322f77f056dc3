"""Payments to the bank, and entries of its files that need a decision."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.approval import store as approval_store
from tidegate.bank_file import payout as payouts
from tidegate.bank_file import payout_store
from tidegate.bank_file import store as file_store
from tidegate.bank_file.payout_store import ProposedPayout
from tidegate.console.accounts import reason_in
from tidegate.console.proposing import propose, show_proposals
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, NotFound, Problem, Refusal
from tidegate.dashboard.format import amount
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.merchant.field import Remark
from tidegate.rail.bankfiles import store as rail_store
from tidegate.rail.bankfiles.continuity import gaps_in
from tidegate.rail.deps import PaymentDeps
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import bank as bank_approval
from tidegate.staff_approval import commands as staff_approvals
from tidegate.staff_approval import subject_store
from tidegate.staff_approval.arguments import TakeBackArguments
from tidegate.staff_approval.bank import Payee

PAGE = 100
FIELD_CHARS_MAX = 100
DECISIONS = {"record": "bank.record", "settle": "bank.settle", "take_back": "bank.take_back"}
CREDIT_CHARS_MAX = 500
TINTS = {"proposed": "warn", "approved": "good", "exported": "good", "rejected": "bad", "done": ""}


@dataclass(frozen=True)
class BankPages:
    shell: ConsoleShell
    deps: PaymentDeps

    async def show_list(self, visitor: ConsoleVisitor) -> Html:
        return await self._list(visitor)

    async def _list(self, visitor: ConsoleVisitor, wrong: Refusal | None = None) -> Html:
        async with self.shell.db.connection() as tx:
            found = await payout_store.list_payouts(tx, is_open=True, limit=PAGE)
            problems = await file_store.list_problems(tx, limit=PAGE)
            gaps = gaps_in(await rail_store.list_statements(tx))
            proposed = {one.subject for one in await approval_store.list_of_staff(tx, is_open=True, limit=PAGE)}
        return self.shell.page(
            visitor, "bank.html", title="Bank payments", section="Bank payments", found=found, entries=problems,
            gaps=gaps, proposed=proposed, tints=TINTS, wrong=wrong, status=_status_of(wrong),
        )  # fmt: skip

    async def decide(self, visitor: ConsoleVisitor) -> Html:
        try:
            subject = visitor.form.get("subject", "")[:FIELD_CHARS_MAX]
            decision, _, credit = visitor.form.get("decision", "").partition(" ")
            command = DECISIONS.get(decision)
            if command is None or bool(credit) is not (decision == "take_back"):
                raise Invalid(Problem("decision", "Choose one of the decisions."))
            arguments = TakeBackArguments(credit=credit[:CREDIT_CHARS_MAX]) if credit else staff_approvals.NOTHING
            return await propose(self.shell, visitor, command, "", subject, arguments=arguments)
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._list(visitor, wrong)

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self._page(visitor)

    async def _found(self, tx: Tx, visitor: ConsoleVisitor) -> ProposedPayout:
        path = visitor.request.path
        found = await payout_store.find(tx, path["business"], path["reference"])
        if found is None:
            raise NotFound("there is nothing at this address")
        return found

    async def _page(self, visitor: ConsoleVisitor, wrong: Refusal | None = None) -> Html:
        async with self.shell.db.connection() as tx:
            payout = await self._found(tx, visitor)
            version = await staff_approvals.version_of(tx, bank_approval.COMMAND, payout.business_id, payout.reference)
            found = await approval_store.list_about(tx, payout.business_id, payout.reference)
            proposed = await show_proposals(self.shell, visitor, tx, found)
            names = await subject_store.names_of(tx, [payout.business_id])
        return self.shell.page(
            visitor, "bank_payment.html", title=f"Payment {payout.reference}", section="Bank payments", payout=payout,
            version=version, proposed=proposed, is_decidable=all(one.is_void for one in proposed),
            tints=TINTS, wrong=wrong, status=_status_of(wrong),
            merchant=names.get(payout.business_id, payout.business_id),
        )  # fmt: skip

    async def pay(self, visitor: ConsoleVisitor) -> Html:
        """As it stands."""
        async with self.shell.db.connection() as tx:
            payout = await self._found(tx, visitor)
        try:
            return await propose(
                self.shell, visitor, bank_approval.COMMAND, payout.business_id, payout.reference,
                arguments=bank_approval.arguments_of(payout),
            )  # fmt: skip
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._page(visitor, wrong)

    async def amend(self, visitor: ConsoleVisitor) -> Html:
        """Says where it goes, and proposes to pay it."""
        async with self.shell.db.connection() as tx:
            payout = await self._found(tx, visitor)

        async def act(tx: Tx) -> str:
            await bank_approval.amend_and_propose(
                tx, payout.reference, payee, why=" ".join(visitor.form.get("why", "").split()),
                asked_by=visitor.staff.member.id, by=visitor.by, now=visitor.now,
            )  # fmt: skip
            return "/approvals?said=proposed"

        try:
            payee = payee_in(visitor)
            return await self.shell.once(visitor, act)
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._page(visitor, wrong)

    async def refuse(self, visitor: ConsoleVisitor) -> Html:
        """Stops money, so one person does it."""
        async with self.shell.db.connection() as tx:
            payout = await self._found(tx, visitor)
        try:
            why = reason_in(visitor)
            await payouts.refuse(self.deps, payout.reference, why=why, by=visitor.by, now=visitor.now)
        except (Invalid, Conflict) as wrong:
            return await self._page(visitor, wrong)
        return self.shell.to(f"/bank/{payout.business_id}/{payout.reference}?said=done")

    async def confirms_refusal(self, visitor: ConsoleVisitor) -> str:
        async with self.shell.db.connection() as tx:
            payout = await self._found(tx, visitor)
        return f"Refuse the payment of {amount(payout.amount)}, {payout.reference}"

    def routes(self) -> list[ConsoleRoute]:
        at = "/bank/{business}/{reference}"
        return [
            ConsoleRoute("GET", "/bank", "showBankPayments", StaffPermission.SEE, self.show_list),
            ConsoleRoute("POST", "/bank/decide", "decideBankEntry", StaffPermission.PROPOSE, self.decide),
            ConsoleRoute("GET", at, "showBankPayment", StaffPermission.SEE, self.show),
            ConsoleRoute("POST", f"{at}/pay", "proposeBankPayment", StaffPermission.PROPOSE, self.pay),
            ConsoleRoute("POST", f"{at}/amend", "amendBankPayment", StaffPermission.PROPOSE, self.amend),
            ConsoleRoute(
                "POST",
                f"{at}/refuse",
                "refuseBankPayment",
                StaffPermission.SUSPEND,
                self.refuse,
                confirms=self.confirms_refusal,
            ),
        ]


def payee_in(visitor: ConsoleVisitor) -> Payee:
    name, account, bank = (visitor.form.get(field, "").strip() for field in ("name", "account", "bank"))
    for field, text in (("name", name), ("account", account), ("bank", bank)):
        if len(text) > FIELD_CHARS_MAX or not text.isprintable() or (not text and field != "bank"):
            raise Invalid(Problem(field, f"One line of at most {FIELD_CHARS_MAX} characters."))
    try:
        return Payee(name=str(Remark.parse(name)), account=account, bank=bank or None)
    except ValueError as error:
        raise Invalid(Problem("name", f"The name {error}.")) from None


def _status_of(wrong: Refusal | None) -> int:
    return 200 if wrong is None else 422 if isinstance(wrong, Invalid) else 409
