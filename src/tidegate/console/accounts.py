"""Accounts: what the merchant asked for, and the operator's decisions on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from tidegate.account import commands, document_store, model, question, question_store, store
from tidegate.account.field import end_in
from tidegate.account.model import Account, AccountAction, AccountStatus, DocumentType
from tidegate.account.wire import checklist_of
from tidegate.approval import store as approval_store
from tidegate.console.proposing import decided_by, propose, show_proposals
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import ChangedElsewhere, Conflict, IllegalTransition, Invalid, NotFound, Problem, Refusal
from tidegate.dashboard.form import NO_ACTION
from tidegate.dashboard.paging import number_in
from tidegate.infra.page.response import Html
from tidegate.merchant import commands as merchants
from tidegate.merchant.field import remark_in
from tidegate.staff import store as staff_store
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import commands as staff_approvals
from tidegate.staff_approval import subject_store
from tidegate.staff_approval.arguments import ApprovalArguments

PAGE = 100
_HUMP = re.compile("(?<=[a-z])(?=[A-Z])")
_STATES = {
    AccountStatus.PENDING: ("To approve", "warn"),
    AccountStatus.APPROVED: ("Open", "good"),
    AccountStatus.DECLINED: ("Declined", ""),
    AccountStatus.EXPIRED: ("Expired", ""),
    AccountStatus.CLOSED: ("Closed", ""),
}
_DOCUMENTS = {
    DocumentType.MEANS_OF_ID: "Proof of identity",
    DocumentType.BANK_STATEMENT: "Bank statement",
    DocumentType.UTILITY_BILL: "Utility bill",
    DocumentType.ATTACHMENT: "Other document",
}
_STOPS = {"decline": commands.decline, "suspend": commands.suspend, "close": commands.close}
PROPOSALS = {"approve": "account.approve", "reinstate": "account.reinstate"}


def _stop_in(visitor: ConsoleVisitor) -> str:
    what = visitor.form.get("what", "")
    if what not in _STOPS:
        raise NotFound(NO_ACTION)
    return what


@dataclass(frozen=True)
class AccountPages:
    shell: ConsoleShell
    # Where merchants' people sign in.
    base_url: str

    async def show_list(self, visitor: ConsoleVisitor) -> Html:
        is_all = visitor.request.query.get("status") == "all"
        async with self.shell.db.connection() as tx:
            found = await store.list_all(
                tx, business_id=None, status=None if is_all else AccountStatus.PENDING, limit=PAGE
            )
            owners = {one.business_id for one in found}
            names, waiting = await subject_store.names_of(tx, owners), await question_store.list_waiting(tx, owners)
        return self.shell.page(
            visitor, "account_list.html", title="Accounts to approve", section="Accounts to approve",
            accounts=[(one, *state_words(one, is_asked=one.id in waiting)) for one in found], names=names,
            is_all=is_all, most=PAGE,
        )  # fmt: skip

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self.page(visitor)

    async def page(self, visitor: ConsoleVisitor, wrong: Refusal | None = None) -> Html:
        account = await commands.get_unscoped(self.shell.db, visitor.request.path["account"])
        business = await merchants.get(self.shell.db, account.business_id)
        async with self.shell.db.connection() as tx:
            found = await approval_store.list_about(tx, account.business_id, account.id)
            proposed = await show_proposals(self.shell, visitor, tx, found)
            version = await staff_approvals.version_of(tx, "account.approve", account.business_id, account.id)
            stored = await document_store.list_of(tx, account.business_id, account.id)
            asked = await question_store.list_of(tx, account.business_id, account.id)
            staff = await staff_store.list_names(tx)
            opened_by = await decided_by(tx, account.business_id, "account.approve", account.id)
        is_asked = any(one.is_open for one in asked)
        word, tint = state_words(account, is_asked=is_asked)
        return self.shell.page(
            visitor, "account.html", title=f"Account of {account.holder}", section="Accounts to approve", wrong=wrong,
            status=422 if isinstance(wrong, Invalid) else 409 if wrong else 200, account=account, business=business,
            proposed=proposed, stored=stored, asked=asked, staff=staff, is_asked=is_asked, word=word, tint=tint,
            version=version, opened_by=opened_by, facts=kyc_facts(account), checklist=_checklist(account),
            documents=[(one, _DOCUMENTS[one.type]) for one in account.documents],
            is_decidable=not any(not one.is_void for one in proposed),
            allowed={action.value for action in model.allowed(account)},
        )  # fmt: skip

    async def decide(self, visitor: ConsoleVisitor) -> Html:
        account = await commands.get_unscoped(self.shell.db, visitor.request.path["account"])
        command = PROPOSALS.get(visitor.form.get("what", ""))
        if command is None:
            raise NotFound(NO_ACTION)
        try:
            model.refuse_unless_allowed(account, AccountAction(visitor.form["what"]))
            arguments = self._approval_in(visitor, account) if command == "account.approve" else staff_approvals.NOTHING
            return await propose(self.shell, visitor, command, account.business_id, account.id, arguments=arguments)
        except (Invalid, ChangedElsewhere, Conflict, IllegalTransition) as wrong:
            return await self.page(visitor, wrong)

    def _approval_in(self, visitor: ConsoleVisitor, account: Account) -> ApprovalArguments:
        text = visitor.form.get("expires_at", "").strip()
        try:
            end = end_in(text, self.shell.clock.now_of(account.business_id)) if text else None
        except ValueError as error:
            raise Invalid(Problem("expires_at", f"The last day {error}.")) from None
        return ApprovalArguments(expires_at=end)

    async def suspend(self, visitor: ConsoleVisitor) -> Html:
        """Stops money, so one person does it."""
        act, account_id = _STOPS[_stop_in(visitor)], visitor.request.path["account"]
        account = await commands.get_unscoped(self.shell.db, account_id)
        try:
            reason = reason_in(visitor)
            now = self.shell.clock.now_of(account.business_id)
            await act(self.shell.db, account_id, reason, by=visitor.by, now=now)
        except (Invalid, Conflict, IllegalTransition) as wrong:
            return await self.page(visitor, wrong)
        return self.shell.to(f"/accounts/{account_id}?said=done")

    async def confirms_suspension(self, visitor: ConsoleVisitor) -> str:
        account = await commands.get_unscoped(self.shell.db, visitor.request.path["account"])
        return f"{_stop_in(visitor).capitalize()} the {account.currency} account of {account.holder}"

    async def ask(self, visitor: ConsoleVisitor) -> Html:
        account = await commands.get_unscoped(self.shell.db, visitor.request.path["account"])
        now = self.shell.clock.now_of(account.business_id)
        try:
            await question.ask(
                self.shell.db, self.base_url, account.id, visitor.form.get("question", ""),
                by=visitor.by, now=now,
            )  # fmt: skip
        except (Invalid, Conflict) as wrong:
            return await self.page(visitor, wrong)
        return self.shell.to(f"/accounts/{account.id}?said=asked")

    async def take_back(self, visitor: ConsoleVisitor) -> Html:
        account = await commands.get_unscoped(self.shell.db, visitor.request.path["account"])
        try:
            await question.take_back(
                self.shell.db, self.base_url, account.id, question_id=number_in(visitor.form.get("asked", "")) or 0,
                by=visitor.by, now=self.shell.clock.now_of(account.business_id),
            )  # fmt: skip
        except Conflict as wrong:
            return await self.page(visitor, wrong)
        return self.shell.to(f"/accounts/{account.id}?said=question_taken_back")

    def routes(self) -> list[ConsoleRoute]:
        at = "/accounts/{account}"
        return [
            ConsoleRoute("GET", "/accounts", "showAccountsToApprove", StaffPermission.SEE, self.show_list),
            ConsoleRoute("GET", at, "showAccountToApprove", StaffPermission.SEE, self.show),
            ConsoleRoute("POST", f"{at}/ask", "askMerchant", StaffPermission.ASK, self.ask),
            ConsoleRoute("POST", f"{at}/ask/take-back", "takeBackQuestion", StaffPermission.ASK, self.take_back),
            ConsoleRoute("POST", f"{at}/propose", "proposeOnAccount", StaffPermission.PROPOSE, self.decide),
            ConsoleRoute(
                "POST",
                f"{at}/suspend",
                "suspendAccount",
                StaffPermission.SUSPEND,
                self.suspend,
                confirms=self.confirms_suspension,
            ),
        ]


def reason_in(visitor: ConsoleVisitor) -> str:
    """Shown to the merchant."""
    return remark_in("reason", visitor.form.get("reason", ""))


def state_words(account: Account, *, is_asked: bool = False) -> tuple[str, str]:
    if is_asked and account.status is AccountStatus.PENDING:
        return "Asked, not answered", ""
    return ("Suspended", "bad") if account.is_suspended else _STATES[account.status]


def _checklist(account: Account) -> list[tuple[str, bool]]:
    """The usual documents, and whether an address of each was given."""
    return [(_DOCUMENTS[DocumentType(name)], is_given) for name, is_given in checklist_of(account).items()]


def kyc_facts(account: Account) -> list[tuple[str, str]]:
    """As the merchant sent them, one line each: an address has one for each of its parts."""
    return list(_facts(msgspec.json.decode(account.kyc), ""))


def _facts(value: object, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for part, below in value.items():
            yield from _facts(below, f"{name}, {_words(part)}" if name else _words(part).capitalize())
    elif isinstance(value, list) and value:
        for number, below in enumerate(value, 1):
            yield from _facts(below, f"{name} {number}" if len(value) > 1 else name)
    else:
        yield name, value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _words(name: str) -> str:
    """`firstName` is read as first name; a merchant's own names may be any."""
    return _HUMP.sub(" ", name).replace("_", " ").strip().lower() or name
