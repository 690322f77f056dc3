"""The search of the console: merchants, payments, inflows, accounts and money in suspense, by what is known of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from tidegate.collection.model import CollectionStatus
from tidegate.console import find_store
from tidegate.console.find_store import SearchResult, Sought
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import Invalid
from tidegate.core.ids import business_code_of
from tidegate.core.money import Currency, Money
from tidegate.core.visible import visible
from tidegate.dashboard.inflow_pages import INFLOW_WORDS
from tidegate.dashboard.list_filter import search_problems
from tidegate.dashboard.paging import number_in
from tidegate.dashboard.payment_page import STATUS_WORDS
from tidegate.dashboard.refunds import STATUS_WORDS as REFUND_WORDS
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.merchant.field import is_reference
from tidegate.payment.model import PaymentStatus
from tidegate.rail.deps import PaymentDeps
from tidegate.refund.model import RefundStatus
from tidegate.staff.permission import StaffPermission

TEXT_CHARS_MAX = 100
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}")
_AMOUNT = re.compile(r"(\D{0,4}?) ?([0-9]{1,3}(?:[, ][0-9]{3}){1,4}|[0-9]{1,12})(\.[0-9]{1,2})? ?(\D{0,4})")
_PLACES = {"merchant": "/merchants/{key}", "inflow": "/held/{key}", "account": "/accounts/{key}",
           "suspense": "/suspense/{key}", "payment": "/payments/{business_id}/{key}",
           "refund": "/stuck/refund/{business_id}/{key}"}  # fmt: skip
_OUR_NAMES = {"rf_": find_store.find_refunds, "at_": find_store.find_by_attempt, "col_": find_store.find_inflows,
              "rt_": find_store.find_by_return}  # fmt: skip


@dataclass(frozen=True)
class ConsoleSearch:
    shell: ConsoleShell
    deps: PaymentDeps

    async def show(self, visitor: ConsoleVisitor) -> Html:
        """The one thing that is called so is opened at once."""
        query = visitor.request.query
        text = text_in(query.get("q", ""))
        if problems := search_problems(query, text, chars_max=TEXT_CHARS_MAX):
            return self.shell.page(
                visitor, "find.html", title="Find", sought=text[:TEXT_CHARS_MAX], wrong=Invalid(*problems), status=422,
                found=[],
            )  # fmt: skip
        sought = sought_in(text)
        async with self.shell.db.transaction() as tx:
            found = await find(tx, sought, rails=list(self.deps.rails)) if sought.text else []
        opened = the_one(found, sought.text)
        if opened is not None:
            return self.shell.to(page_of_result(opened))
        return self.shell.page(
            visitor, "find.html", title="Find", sought=sought.text, money=Money, currency=Currency,
            found=[(one, page_of_result(one), *state_of(one)) for one in found],
            is_cut=len(found) >= find_store.FOUND_MAX,
        )  # fmt: skip

    def routes(self) -> list[ConsoleRoute]:
        return [ConsoleRoute("GET", "/find", "findInConsole", StaffPermission.SEE, self.show)]


async def find(tx: Tx, sought: Sought, *, rails: Sequence[str]) -> list[SearchResult]:
    await find_store.read_by_indexes(tx)
    found = await find_by_our_name(tx, sought.text)
    if found:
        return found
    found = await find_store.find_merchants(tx, sought.text)
    if sought.email is not None:
        found += await find_store.find_by_email(tx, sought.email)
    else:
        found += await _find_by_words(tx, sought)
        # 123 456 789 may also be an account.
        if sought.references or not sought.amounts or sought.account_number.isdigit():
            found += await _find_by_identifier(tx, sought, rails)
        found += await find_store.find_waiting(tx, sought)
    # A thing that is found in two ways is listed once, by the first.
    once = {(one.kind, one.business_id, one.key): one for one in reversed(found)}
    return list(reversed(once.values()))[: find_store.FOUND_MAX]


async def find_by_our_name(tx: Tx, text: str) -> list[SearchResult]:
    """What we name begins with what it is, and nothing else is called so; a pay code also names its business."""
    code = business_code_of(text)
    if code is not None:
        return await find_store.find_by_pay_code(tx, code, text)
    for beginning, find in _OUR_NAMES.items():
        if text.startswith(beginning):
            return await find(tx, text)
    return []


async def _find_by_words(tx: Tx, sought: Sought) -> list[SearchResult]:
    """By what people choose: references, names and amounts. An amount is no name."""
    found = await find_store.find_by_reference(tx, sought.references) if sought.references else []
    for spelling in sought.references:
        found += await find_store.find_by_beginning(tx, spelling)
    for minor in {one.minor for one in sought.amounts}:
        alike = [one.currency.value for one in sought.amounts if one.minor == minor]
        found += await find_store.find_by_amount(tx, minor, alike)
    if sought.amounts:
        return found
    found += await find_store.find_by_payer(tx, sought.text)
    return found + await find_store.find_by_sender(tx, sought.text)


async def _find_by_identifier(tx: Tx, sought: Sought, rails: Sequence[str]) -> list[SearchResult]:
    """By what banks and rails call it."""
    return [
        *await find_store.find_by_sent_as(tx, sought.text),
        *await find_store.find_by_account(tx, sought.text, sought.account_number, rails=rails),
        *await find_store.find_by_transaction(tx, sought.text, rails=rails),
        # Lists show a dispute behind the name of its rail.
        *await find_store.find_by_dispute(tx, sought.text.rpartition("/")[2]),
        *await find_store.find_by_sender_account(tx, sought.account_number),
    ]


def sought_in(text: str) -> Sought:
    return Sought(
        text=text,
        email=text.lower() if _EMAIL.fullmatch(text) else None,
        amounts=amounts_in(text),
        references=spellings_of(text) if is_reference(text) else [],
        number=number_in(text),
        account_number="".join(text.split()).upper(),
    )


def text_in(typed: str) -> str:
    """Of a pasted address its last part counts, and of #1234 the number."""
    text = " ".join(visible(typed).split()).lstrip("#")
    if text.lower().startswith(("http://", "https://")):
        text = re.split(r"[?#]", text, maxsplit=1)[0].rstrip("/").rpartition("/")[2]
    return text


def spellings_of(reference: str) -> list[str]:
    """No index is deaf to capitals: as it was typed, in capitals, in small letters, with capital initials."""
    ways = (reference, reference.upper(), reference.lower(), reference.capitalize(), reference.title())
    return list(dict.fromkeys(ways))


def amounts_in(text: str) -> list[Money]:
    """19000, 19 000, ₦19,000, NGN 19000.00 or 40 EUR; without a currency, in each that has so many decimals."""
    found = _AMOUNT.fullmatch(text)
    if found is None or (found[1].strip() and found[4].strip()):
        return []
    sign, major = (found[1] + found[4]).strip().upper(), Decimal(re.sub("[, ]", "", found[2]) + (found[3] or ""))
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
