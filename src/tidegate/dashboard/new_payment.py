"""A payment made by hand: the form, by the rules of the API; then its page, with the link for the payer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tidegate.audit import store as audit
from tidegate.core.errors import DuplicateReference, Invalid, Problem, Refusal
from tidegate.core.fee import FeeBearer
from tidegate.core.method import MethodNames
from tidegate.core.money import CHECKOUT_OFFERS
from tidegate.dashboard import equivalent_command
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.db import Tx
from tidegate.infra.http.form import Form
from tidegate.infra.http.read import read
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.payment import commands, store, wire
from tidegate.payment.commands import ReferenceTaken

DESCRIPTION_CHARS_MAX = 200
_FIELD_OF = {"customer.name": "name", "customer.email": "email", "metadata.description": "description"}
_TEXTS = ("currency", "feeBearer", "reference")


@dataclass(frozen=True)
class NewPaymentPages:
    shell: DashboardShell
    names: MethodNames
    taken: wire.MethodsTaken

    async def show(self, visitor: DashboardVisitor) -> Html:
        return self._page(visitor)

    def _page(self, visitor: DashboardVisitor, wrong: Refusal | None = None) -> Html:
        currencies = [currency for currency in CHECKOUT_OFFERS if self.taken(currency)]
        return self.shell.page(
            visitor, "payment_new.html", title="New payment", section="Payments", wrong=wrong,
            status=200 if wrong is None else 409 if isinstance(wrong, DuplicateReference) else 422,
            currencies=[currency.value for currency in currencies], bearers=list(FeeBearer),
            bearer=visitor.business.fee_bearer,
            description_chars_max=DESCRIPTION_CHARS_MAX,
            code=equivalent_command.create_payment(self.shell.site.base_url, next(iter(CHECKOUT_OFFERS))),
        )  # fmt: skip

    async def create(self, visitor: DashboardVisitor) -> Html:
        value = value_in(visitor.form)
        check = partial(
            wire.problems_between, value=value, business=visitor.business, names=self.names, mode=self.shell.mode,
            taken=self.taken,
        )  # fmt: skip
        try:
            refuse_long(visitor.form.get("description", ""))
            request = read(value, wire.CreatePayment, check)
            order = wire.order_from(request, visitor.business, self.names, self.taken)
        except Invalid as wrong:
            return self._page(visitor, Invalid(*(_named_as_here(one) for one in wrong.problems)))

        async def act(tx: Tx) -> str:
            made = await commands.create(partial(store.insert, tx), visitor.business, order, now=visitor.now)
            await audit.insert(
                tx, visitor.business.id, visitor.by, action="payment.created", subject=made.pay_code,
                details={"amount": str(order.asked)}, now=visitor.now,
            )  # fmt: skip
            return f"/payments/{made.pay_code}"

        try:
            return await self.shell.once(visitor, act)
        except ReferenceTaken:
            return self._page(visitor, DuplicateReference("a payment has this reference already; enter another one"))

    def routes(self) -> list[DashboardRoute]:
        at, wanted = "/payments/new", Permission.MANAGE_PAYMENTS
        return [
            DashboardRoute("GET", at, "showPaymentForm", wanted, self.show),
            DashboardRoute("POST", at, "createPaymentOnDashboard", wanted, self.create),
        ]


def value_in(form: Form) -> dict[str, Any]:
    """As the API takes it. An empty field is left out; an amount that is no number stays text, and is refused."""
    value: dict[str, Any] = {name: text for name in _TEXTS if (text := form.get(name, "").strip())}
    if text := form.get("amount", "").strip():
        value["amount"] = int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else text
    value["customer"] = {name: text for name in ("name", "email") if (text := form.get(name, "").strip())}
    if text := form.get("description", "").strip():
        value["metadata"] = {"description": text}
    return value


def refuse_long(description: str) -> None:
    if len(description) > DESCRIPTION_CHARS_MAX:
        raise Invalid(Problem("description", f"Enter at most {DESCRIPTION_CHARS_MAX} characters."))


def _named_as_here(problem: Problem) -> Problem:
    return replace(problem, field=_FIELD_OF.get(problem.field, problem.field))
