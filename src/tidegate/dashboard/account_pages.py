"""Virtual accounts: asked for with a form, one account with its state, and "Would this name pass?"."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from tidegate.account import commands, document, document_store, question, wire
from tidegate.account.model import ID, Account, AccountStatus, AccountType, DocumentType
from tidegate.account.name_rule import check_name
from tidegate.account.question_store import AccountQuestion
from tidegate.core.errors import Conflict, Invalid, NotFound, Problem, Refusal
from tidegate.core.money import ACCOUNT_OFFERS, CHECKOUT_OFFERS
from tidegate.dashboard import account_store
from tidegate.dashboard.inflow_pages import VERDICT_WORDS, marked, state_words
from tidegate.dashboard.paging import number_in
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.dashboard.signed_in import Upload
from tidegate.infra.db import Tx
from tidegate.infra.http.form import Form
from tidegate.infra.http.read import read
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission

DOCUMENTS = 3
NAME_CHARS_MAX = 200
# The API's names of fields, as the form calls them.
_FIELD_OF = {
    "KYCInformation": "first_name",
    "KYCInformation.firstName": "first_name",
    "KYCInformation.lastName": "last_name",
    "KYCInformation.businessName": "business_name",
    "accountType": "account_type",
    "settlementCurrency": "settlement_currency",
    "monthlyVolume": "monthly_volume",
    "paymentFlowDescription": "flow",
    "merchantReference": "reference",
}
# Fields whose label is not their name.
_LABELS = {
    "first_name": "The first name",
    "last_name": "The last name",
    "business_name": "The name of the company",
    "account_type": "Who holds it",
    "settlement_currency": "The currency of the wallet",
    "monthly_volume": "What you expect in a month",
    "flow": "Who pays into it, and for what,",
    "reference": "Your own reference",
}


@dataclass(frozen=True)
class AccountRequestPages:
    shell: DashboardShell

    async def show_form(self, visitor: DashboardVisitor) -> Html:
        return self._form_page(visitor)

    def _form_page(self, visitor: DashboardVisitor, wrong: Refusal | None = None) -> Html:
        return self.shell.page(
            visitor, "account_new.html", title="Ask for an account", section="Inflows & accounts", wrong=wrong,
            status=200 if wrong is None else 422, currencies=list(ACCOUNT_OFFERS), types=list(AccountType),
            wallets=list(dict.fromkeys([*ACCOUNT_OFFERS, *CHECKOUT_OFFERS])), documents=range(1, DOCUMENTS + 1),
            document_types=list(DocumentType),
        )  # fmt: skip

    async def request(self, visitor: DashboardVisitor) -> Html:
        """By the rules of the API."""
        value = request_in(visitor.form)
        try:
            asked = read(value, wire.RequestAccount, partial(wire.problems_between, value=value))
        except Invalid as wrong:
            return self._form_page(visitor, Invalid(*(_named_as_here(one) for one in wrong.problems)))
        account = wire.account_from(asked, visitor.business.id, now=visitor.now)

        async def act(tx: Tx) -> str:
            await commands.request_in(tx, account, by=visitor.by, now=visitor.now)
            return f"/accounts/{account.id}"

        try:
            return await self.shell.once(visitor, act)
        except Conflict as wrong:
            return self._form_page(visitor, wrong)

    async def show(self, visitor: DashboardVisitor) -> Html:
        return await self._page(visitor)

    async def _account(self, visitor: DashboardVisitor) -> tuple[Account, list[AccountQuestion]]:
        """With what was asked about it."""
        account_id = visitor.request.path["account"]
        if not ID.fullmatch(account_id):
            raise NotFound("there is nothing at this address")
        async with self.shell.db.connection() as tx:
            found = await account_store.find(tx, visitor.business.id, account_id)
        if found is None:
            raise NotFound("there is nothing at this address")
        return found

    async def _page(self, visitor: DashboardVisitor, wrong: Refusal | None = None) -> Html:
        account, asked = await self._account(visitor)
        async with self.shell.db.connection() as tx:
            stored = await document_store.list_of(tx, account.business_id, account.id)
        given = visitor.request.query.get("name", "")[:NAME_CHARS_MAX]
        is_company = account.account_type is AccountType.CORPORATE
        check = check_name(payee_name=given, holder=account.holder, is_company=is_company) if given else None
        return self.shell.page(
            visitor, "account.html", title=account.holder, section="Inflows & accounts", account=account,
            wrong=wrong, status=200 if wrong is None else 422 if isinstance(wrong, Invalid) else 409, stored=stored,
            takes_documents=account.status is AccountStatus.PENDING, asked=asked,
            state=state_words(account, now=visitor.now), steps=steps_of(account), details=details_of(account),
            given=given, check=check, verdict=VERDICT_WORDS[check.verdict] if check else None,
            names=marked(check.typed or "", check.holder) if check else None,
        )  # fmt: skip

    async def add_document(self, visitor: DashboardVisitor) -> Html:
        """Kept encrypted. The operator's staff open it after saying why; the audit log shows that."""
        account, _ = await self._account(visitor)
        body = visitor.form.files.get("file")
        try:
            if body is None:
                raise Invalid(Problem("file", "Choose a PDF, PNG or JPEG file."))
            if account.status is not AccountStatus.PENDING:
                raise Conflict("documents can be added only while the account is pending")

            async def act(tx: Tx) -> str:
                await document.add(
                    tx, self.shell.sign_in.vault, account, name=visitor.form.get("name", ""), body=body,
                    by=visitor.by, now=visitor.now,
                )  # fmt: skip
                return f"/accounts/{account.id}"

            return await self.shell.once(visitor, act)
        except (Invalid, Conflict) as wrong:
            return await self._page(visitor, wrong)

    async def answer(self, visitor: DashboardVisitor) -> Html:
        account, _ = await self._account(visitor)

        async def act(tx: Tx) -> str:
            question_id, text = number_in(visitor.form.get("question", "")), visitor.form.get("answer", "")
            await question.answer(tx, account, question_id, text, by=visitor.by, now=visitor.now)
            return f"/accounts/{account.id}"

        try:
            return await self.shell.once(visitor, act)
        except (Invalid, Conflict) as wrong:
            return await self._page(visitor, wrong)

    def routes(self) -> list[DashboardRoute]:
        ask = Permission.REQUEST_ACCOUNT
        return [
            DashboardRoute("GET", "/accounts/new", "showAccountForm", ask, self.show_form),
            DashboardRoute("POST", "/accounts/new", "requestAccountOnDashboard", ask, self.request),
            DashboardRoute("GET", "/accounts/{account}", "showAccount", Permission.SEE, self.show),
            DashboardRoute("POST", "/accounts/{account}/answer", "answerQuestion", ask, self.answer),
            DashboardRoute(
                "POST",
                "/accounts/{account}/documents",
                "addOwnDocument",
                ask,
                self.add_document,
                upload=Upload("file", document.BYTES_MAX),
                refused=self._page,
            ),
        ]


def steps_of(account: Account) -> list[tuple[str, bool]]:
    """What has happened, and what is next."""
    is_decided = account.status is not AccountStatus.PENDING
    if account.status is AccountStatus.DECLINED:
        return [("Asked for", True), (f"Declined: {account.reason or 'no reason was given'}", True)]
    return [
        ("Asked for", True),
        ("Identity and documents checked by the operator", is_decided),
        ("Opened at the bank: it has a number and takes money", is_decided),
    ]


def details_of(account: Account) -> list[tuple[str, str]]:
    """What a payer types, to be copied one by one."""
    found = account.details
    if found is None:
        return []
    rows = [
        ("Recipient", account.holder),
        ("IBAN" if found.iban else "Account number", found.iban or found.account_number),
        ("BIC", found.swift_code or ""),
        ("Bank code", found.bank_code),
        ("Bank", found.bank_name),
        ("Country of the bank", found.country_code),
    ]
    return [(name, value) for name, value in rows if value]


def request_in(form: Form) -> dict[str, Any]:
    """As the API would be sent it; what was left empty is absent."""
    names = {"firstName": "first_name", "lastName": "last_name", "businessName": "business_name"}
    is_company = form.get("account_type") == AccountType.CORPORATE.value
    wanted = ("businessName",) if is_company else ("firstName", "lastName")
    kyc = {name: form[names[name]].strip() for name in wanted if form.get(names[name], "").strip()}
    documents = [
        {
            "name": f"Document {number}",
            "url": form[f"document{number}_url"].strip(),
            "type": form.get(f"document{number}_type", DocumentType.ATTACHMENT.value),
        }
        for number in range(1, DOCUMENTS + 1)
        if form.get(f"document{number}_url", "").strip()
    ]
    given = {
        "currency": form.get("currency", ""),
        "accountType": form.get("account_type", ""),
        "KYCInformation": kyc,
        "documents": documents,
        "settlementCurrency": form.get("settlement_currency", ""),
        "monthlyVolume": form.get("monthly_volume", "").strip(),
        "paymentFlowDescription": form.get("flow", "").strip(),
        "merchantReference": form.get("reference", "").strip(),
    }
    return {name: value for name, value in given.items() if value != ""}


def _named_as_here(problem: Problem) -> Problem:
    if problem.field.startswith("documents["):
        number, _, name = problem.field.removeprefix("documents[").partition("]")
        field = f"document{int(number) + 1 if number.isdigit() else 1}_{name.lstrip('.') or 'url'}"
        return Problem(field, f"The document's {name.lstrip('.') or 'address'} {problem.message}.")
    field = _FIELD_OF.get(problem.field, problem.field)
    label = _LABELS.get(field, field.replace("_", " ").capitalize())
    message = "is needed" if problem.message.startswith("is required") else problem.message
    return Problem(field, f"{label} {message}.")
