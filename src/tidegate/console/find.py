"""The search of the console: merchants, payments, inflows, accounts and money in suspense, by what one is told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from tidegate.collection.model import CollectionStatus
from tidegate.console import find_store
from tidegate.console.find_store import SearchResult, Sought
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.money import Currency, Money
from tidegate.core.visible import visible
from tidegate.dashboard.inflow_pages import INFLOW_WORDS
from tidegate.dashboard.paging import number_in
from tidegate.dashboard.payment_page import STATUS_WORDS
from tidegate.dashboard.refunds import STATUS_WORDS as REFUND_WORDS
from tidegate.infra.page.response import Html
from tidegate.payment.model import PaymentStatus
from tidegate.rail.deps import PaymentDeps
from tidegate.refund.model import RefundStatus
from tidegate.staff.permission import StaffPermission

TEXT_CHARS_MAX = 100
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}")
_AMOUNT = re.compile(r"(\D{0,4}?)\s?([0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{1,12})(\.[0-9]{1,2})?")
_PLACES = {"merchant": "/merchants/{key}", "inflow": "/held/{key}", "account": "/accounts/{key}",
           "suspense": "/suspense/{key}", "payment": "/payments/{business_id}/{key}",
           "refund": "/stuck/refund/{business_id}/{key}"}  # fmt: skip


@dataclass(frozen=True)
class ConsoleSearch:
    shell: ConsoleShell
    deps: PaymentDeps

    async def show(self, visitor: ConsoleVisitor) -> Html:
        """The one thing that is called so is opened at once."""
        sought = sought_in(visitor.request.query.get("q", ""))
        found = await self._find(sought) if sought.text else []
        opened = the_one(found, sought.text)
        if opened is not None:
            return self.shell.to(page_of_result(opened))
        return self.shell.page(
            visitor, "find.html", title="Find", sought=sought.text, money=Money, currency=Currency,
            found=[(one, page_of_result(one), *state_of(one)) for one in found],
            is_cut=len(found) >= find_store.FOUND_MAX,
        )  # fmt: skip

    async def _find(self, sought: Sought) -> list[SearchResult]:
        rails = list(self.deps.rails)
        async with self.shell.db.connection() as tx:
            found = await find_store.find_merchants(tx, sought)
            found += await find_store.find_of_merchants(tx, sought, rails=rails)
            if sought.email is None:
                found += await find_store.find_by_account(tx, sought, rails=rails)
                found += await find_store.find_by_transaction(tx, sought, rails=rails)
                found += await find_store.find_by_dispute(tx, sought)
                found += await find_store.find_by_sender(tx, sought)
                found += await find_store.find_by_transfer(tx, sought)
                found += await find_store.find_by_amount(tx, sought)
                found += await find_store.find_waiting(tx, sought)
        # A thing that is found in two ways is listed once, by the first.
        once = {(one.kind, one.business_id, one.key): one for one in reversed(found)}
        return list(reversed(once.values()))[: find_store.FOUND_MAX]

    def routes(self) -> list[ConsoleRoute]:
        return [ConsoleRoute("GET", "/find", "findInConsole", StaffPermission.SEE, self.show)]


def sought_in(typed: str) -> Sought:
    text = visible(typed).strip()[:TEXT_CHARS_MAX]
    return Sought(
        text=text,
        email=text.lower() if _EMAIL.fullmatch(text) else None,
        amounts=amounts_in(text),
        number=number_in(text),
        account_number="".join(text.split()).upper(),
    )


def amounts_in(text: str) -> list[Money]:
    """19000, ₦19,000 or NGN 19000.00; without a currency, in each that has so many decimals."""
    found = _AMOUNT.fullmatch(text)
    if found is None:
        return []
    sign, major = found[1].strip().upper(), Decimal(found[2].replace(",", "") + (found[3] or ""))
    minors = [(one, major * one.minor_per_major) for one in Currency if sign in ("", one.value, one.spec.sign.upper())]
    return [Money(int(minor), one) for one, minor in minors if minor == int(minor) and minor > 0]


def the_one(found: Sequence[SearchResult], text: str) -> SearchResult | None:
    """What alone was found, or alone has this name."""
    called = [one for one in found if text.lower() in (one.name.lower(), one.key.lower())]
    return found[0] if len(found) == 1 else called[0] if len(called) == 1 else None


def state_of(one: SearchResult) -> tuple[str, str]:
    if one.kind == "payment":
        return STATUS_WORDS[PaymentStatus(one.state)]
    if one.kind == "inflow":
        return INFLOW_WORDS[CollectionStatus(one.state)]
    if one.kind == "refund":
        return REFUND_WORDS[RefundStatus(one.state)]
    return ("In suspense", "warn") if one.state == "suspense" else (one.state.capitalize(), "")


def page_of_result(one: SearchResult) -> str:
    """Below the console."""
    return _PLACES[one.kind].format(business_id=one.business_id, key=one.key)
