"""A new payment link in two steps: what is paid and how often, then the rest. Its rules are those of the API.

Between the steps the address has what was chosen; nothing is kept by the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from tidegate.core.errors import Invalid, Problem
from tidegate.core.method import Method, MethodNames
from tidegate.core.money import CHECKOUT_OFFERS, Currency, Money
from tidegate.dashboard import equivalent_command
from tidegate.dashboard.format import amount
from tidegate.dashboard.payment_page import METHOD_WORDS
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.payment.wire import MethodsTaken
from tidegate.payment_link import commands, wire
from tidegate.payment_link.model import FieldRule, LinkKind, LinkTerms

AT = "/links/new"
FIRST_STEP = ("name", "kind", "currency", "amount", "amountMin", "amountMax")
# Ways to pay are `method-card` and the like; none is all of them.
SECOND_STEP = (
    *(f"method-{method.value}" for method in Method), "askPhoneNumber", "askNote", "noteLabel", "paymentsMax",
    "endsAt", "successMessage", "redirectUrl",
)  # fmt: skip
_TEXTS = ("name", "currency", "askPhoneNumber", "askNote", "noteLabel", "endsAt", "successMessage", "redirectUrl")
_AMOUNTS = ("amount", "amountMin", "amountMax")
_NUMBERS = (*_AMOUNTS, "paymentsMax")
# Less than an address may have: the rest of it is ours.
_ADDRESS_BYTES_MAX = 7_000
# What is typed into the form, by name. Empty fields are left out.
LinkDraft = Mapping[str, str]


@dataclass(frozen=True)
class NewLinkPages:
    shell: DashboardShell
    names: MethodNames
    taken: MethodsTaken

    async def show(self, visitor: DashboardVisitor) -> Html:
        query = visitor.request.query
        draft = _draft_in(query)
        if query.get("step") != "2":
            return self._first(visitor, draft)
        try:
            self._terms(visitor, draft)
        except Invalid as wrong:
            if first := _of_first_step(wrong):
                return self._first(visitor, draft, first)
        return self._second(visitor, draft)

    async def create(self, visitor: DashboardVisitor) -> Html:
        draft = _draft_in(visitor.form)
        if "back" in visitor.form:
            return self.shell.to(visitor, f"{AT}?{_query_of(draft)}")
        try:
            terms = self._terms(visitor, draft)
        except Invalid as wrong:
            first = _of_first_step(wrong)
            return self._first(visitor, draft, first) if first else self._second(visitor, draft, wrong)

        async def act(tx: Tx) -> str:
            made = await commands.create(tx, visitor.business, terms, by=visitor.by, now=visitor.now)
            return f"/links/{made.link.id}"

        return await self.shell.once(visitor, act)

    def _terms(self, visitor: DashboardVisitor, draft: LinkDraft) -> LinkTerms:
        value = _value_of(draft, self.names)
        try:
            return wire.read_terms(
                value, business=visitor.business, names=self.names, mode=self.shell.mode, taken=self.taken,
                now=visitor.now,
            )  # fmt: skip
        except Invalid as wrong:
            raise Invalid(*(_as_here(problem, value) for problem in wrong.problems)) from None

    def _first(self, visitor: DashboardVisitor, draft: LinkDraft, wrong: Invalid | None = None) -> Html:
        return self._page(
            visitor, "link_new.html", draft, wrong,
            carried={name: draft[name] for name in draft if name in SECOND_STEP},
            currencies=[currency.value for currency in CHECKOUT_OFFERS if self.taken(currency)],
        )  # fmt: skip

    def _second(self, visitor: DashboardVisitor, draft: LinkDraft, wrong: Invalid | None = None) -> Html:
        """The first step has no problems."""
        value, currency = _value_of(draft, self.names), Currency(draft["currency"])
        asked = f"an amount of {currency} that the customer chooses"
        if "amount" in value:
            asked = amount(Money.of_major(value["amount"], currency))
        return self._page(
            visitor, "link_new_rest.html", draft, wrong, rules=list(FieldRule),
            carried={name: draft[name] for name in draft if name in FIRST_STEP},
            methods=[(method.value, METHOD_WORDS[method]) for method in self.taken(currency)], asked=asked,
            is_once=value["kind"] == LinkKind.ONE_OFF,
            code=equivalent_command.create_link(self.shell.site.base_url, value),
        )  # fmt: skip

    def _page(
        self, visitor: DashboardVisitor, template: str, draft: LinkDraft, wrong: Invalid | None, **facts: Any
    ) -> Html:
        return self.shell.page(
            visitor, template, title="New payment link", section="Payment links", wrong=wrong,
            status=422 if wrong else 200, draft=draft, **facts,
        )  # fmt: skip

    def routes(self) -> list[DashboardRoute]:
        wanted = Permission.MANAGE_PAYMENTS
        return [
            DashboardRoute("GET", AT, "showLinkForm", wanted, self.show),
            DashboardRoute("POST", AT, "makeLink", wanted, self.create),
        ]


def _draft_in(given: Mapping[str, str]) -> LinkDraft:
    return {name: text for name in (*FIRST_STEP, *SECOND_STEP) if (text := given.get(name, "").strip())}


def _query_of(draft: LinkDraft) -> str:
    """The first step's fields come first; of the second's, what no address has room for is left out."""
    kept = dict(draft)
    while len(query := urlencode(kept)) > _ADDRESS_BYTES_MAX:
        kept.popitem()
    return query


def _value_of(draft: LinkDraft, names: MethodNames) -> dict[str, Any]:
    """As the API takes it. A number that is none stays text, and is refused by its name."""
    value: dict[str, Any] = {"name": "", "currency": "", "kind": draft.get("kind", LinkKind.REUSABLE.value)}
    value |= {name: draft[name] for name in _TEXTS if name in draft}
    for name in _NUMBERS:
        if text := draft.get(name):
            value[name] = int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else text
    if chosen := [names.in_request(method) for method in Method if f"method-{method.value}" in draft]:
        value["paymentMethods"] = chosen
    return value


def _of_first_step(wrong: Invalid) -> Invalid | None:
    found = [problem for problem in wrong.problems if problem.field in FIRST_STEP]
    return Invalid(*found) if found else None


def _as_here(problem: Problem, value: Mapping[str, Any]) -> Problem:
    """By the name of its field here; of an amount, with what is accepted."""
    field = problem.field.partition("[")[0]
    given, currency = value.get(field), next((one for one in CHECKOUT_OFFERS if one == value["currency"]), None)
    most = CHECKOUT_OFFERS[currency].max_major if currency else None
    if field in _AMOUNTS and not (isinstance(given, int) and 1 <= given <= (most or given)):
        limits = f"from 1 to {most:,} {currency}" if most else "of at least 1"
        return Problem(field, f"Enter a whole amount {limits}, such as 2500, without decimals or commas.")
    return replace(problem, field=field)
