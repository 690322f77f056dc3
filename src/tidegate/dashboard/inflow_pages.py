"""Inflows: the list with its filters, and one inflow with the check of its name step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from functools import partial
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from tidegate.account import store as account_store
from tidegate.account.model import ID as ACCOUNT_ID
from tidegate.account.model import Account, AccountStatus, BlockReason
from tidegate.account.name_verdict import NameVerdict
from tidegate.approval import commands as approvals
from tidegate.collection import list_store as inflow_list
from tidegate.collection.list_store import CollectionFilter, ReturnPosition
from tidegate.collection.model import REFERENCE, Collection, CollectionStatus
from tidegate.core.errors import Invalid, NotFound, Problem, Refusal
from tidegate.core.money import Currency, Money
from tidegate.dashboard import inflow_store, refund_form
from tidegate.dashboard.audit_store import AuditLogRow
from tidegate.dashboard.audit_words import line_of, who_of
from tidegate.dashboard.format import amount
from tidegate.dashboard.inflow_store import InflowFacts
from tidegate.dashboard.list_filter import CHOOSE, checked_period
from tidegate.dashboard.paging import number_in, place_in, place_of
from tidegate.dashboard.payer_mask import payer_of
from tidegate.dashboard.payments import NOTHING_HERE
from tidegate.dashboard.refund_form import REFUSED, status_of_refusal
from tidegate.dashboard.refunds import STATUS_WORDS as REFUND_WORDS
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.refund.model import RefundStatus

PAGE = 50
ACCOUNTS_MAX = 100
INFLOW_WORDS = {
    CollectionStatus.PENDING: ("Held", "warn"),
    CollectionStatus.SUCCESSFUL: ("Credited", "good"),
    CollectionStatus.REVERSED: ("Sent back", ""),
    CollectionStatus.FAILED: ("Failed", "bad"),
}
VERDICT_WORDS = {
    NameVerdict.EXACT: ("Same name", "good"),
    NameVerdict.CLOSE: ("Close", "warn"),
    NameVerdict.DIFFERENT: ("Another name", "bad"),
    NameVerdict.MISSING: ("No name", "warn"),
}
ACCOUNT_WORDS = {
    AccountStatus.PENDING: ("Asked for", "warn"),
    AccountStatus.APPROVED: ("Open", "good"),
    AccountStatus.DECLINED: ("Declined", "bad"),
    AccountStatus.EXPIRED: ("Expired", ""),
    AccountStatus.CLOSED: ("Closed", ""),
}
FILTERS = ("status", "account", "currency", "verdict", "days", "from", "to")
# The list has the days of arrival, unless those of sending back are asked for.
RETURNED = "returned"


class MarkedText(NamedTuple):
    text: str
    is_different: bool


def marked(typed: str, holder: str) -> tuple[list[MarkedText], list[MarkedText]]:
    """Both names, with the letters that are in one of them only. Capitals do not matter."""
    left: list[MarkedText] = []
    right: list[MarkedText] = []
    for what, a, b, c, d in SequenceMatcher(None, typed.casefold(), holder.casefold(), autojunk=False).get_opcodes():
        if a < b:
            left.append(MarkedText(typed[a:b], what != "equal"))
        if c < d:
            right.append(MarkedText(holder[c:d], what != "equal"))
    return left, right


@dataclass(frozen=True)
class InflowPages:
    shell: DashboardShell

    async def show_list(self, visitor: DashboardVisitor) -> Html:
        query, business_id, wrong = visitor.request.query, visitor.business.id, None
        try:
            wanted = filter_in(visitor)
        except Invalid as problem:
            wanted, wrong = CollectionFilter(), problem
        limit = 0 if wrong else PAGE + 1
        is_returned, before = query.get("days") == RETURNED and wrong is None, query.get("before", "")
        async with self.shell.db.connection() as tx:
            if is_returned:
                place = place_in(before)
                found = await inflow_list.list_returned(
                    tx, business_id, wanted, before=ReturnPosition(*place) if place else None, limit=limit
                )
            else:
                found = await inflow_list.list_page(
                    tx, business_id, wanted, before_id=number_in(before), offset=0, limit=limit
                )
            accounts = await account_store.list_all(tx, business_id=business_id, status=None, limit=ACCOUNTS_MAX)
        holders = {account.id: account.holder for account in accounts}
        kept = {name: query[name] for name in FILTERS if query.get(name)}
        return self.shell.page(
            visitor, "inflows.html", title="Inflows & accounts", section="Inflows & accounts",
            rows=[
                (one, *INFLOW_WORDS[one.status], *VERDICT_WORDS[one.name_check.verdict],
                 payer_of(visitor, one.payer.name or ""), holders.get(one.account_id, "–"))
                for one in found[:PAGE]
            ],
            accounts=accounts, is_returned=is_returned,
            older=urlencode({**kept, "before": _place_of(found[PAGE - 1], is_returned)}) if len(found) > PAGE else None,
            account_words=partial(state_words, now=visitor.now), asked=query,
            kept=urlencode(kept), wrong=wrong, status=422 if wrong else 200,
            is_first=not before, choices={
                "status": [(one.value, words) for one, (words, _) in INFLOW_WORDS.items()],
                "account": [(one.id, f"{one.holder}, {one.currency}") for one in accounts],
                "currency": [(one, one) for one in sorted({one.settlement_currency.value for one in accounts})],
                "verdict": [(one.value, words) for one, (words, _) in VERDICT_WORDS.items()],
                "days": [(RETURNED, "Sent back")],
            },
        )  # fmt: skip

    async def show(self, visitor: DashboardVisitor) -> Html:
        return await self._page(visitor)

    async def _page(self, visitor: DashboardVisitor, wrong: Refusal | None = None) -> Html:
        reference, business_id = visitor.request.path["inflow"], visitor.business.id
        if not REFERENCE.fullmatch(reference):
            raise NotFound(NOTHING_HERE)
        async with self.shell.db.connection() as tx:
            facts = await inflow_store.find(tx, business_id, reference)
            if facts is None:
                raise NotFound(NOTHING_HERE)
            terms = await approvals.terms(tx, business_id, facts.inflow.amount.currency, visitor.session.member.id)
        found = facts.inflow
        word, tint = INFLOW_WORDS[found.status]
        may_see = visitor.may(Permission.SEE_PAYER)
        typed, holder = marked(found.name_check.typed or "", found.name_check.holder)
        return self.shell.page(
            visitor, "inflow.html", title=f"Inflow {reference}", section="Inflows & accounts", inflow=found, word=word,
            tint=tint, payer=payer_of(visitor, found.payer.name or ""), check=found.name_check,
            verdict=VERDICT_WORDS[found.name_check.verdict], typed_name=typed if may_see else [],
            holder_name=holder if may_see else [MarkedText(found.name_check.holder, False)],
            steps=found.name_check.steps if may_see else (),
            reason=found.name_check.reason if may_see else "", why=why_of(found), account=facts.account,
            journals=facts.journals, decisions=[line_of(row, facts.people) for row in facts.decisions],
            refunds=[(one, Money(one.amount_minor, found.amount.currency), *REFUND_WORDS[RefundStatus(one.status)],
                      begun_by(one.reference, facts.refund_rows, facts.people))
                     for one in facts.refunds],
            given_back=given_back(found, any(one.status == RefundStatus.PROCESSING for one in facts.refunds)),
            form=refund_form.form_of(
                self.shell, visitor, facts.subject, terms, refunds=facts.refunds, wallet_minor=facts.wallet_minor
            ),
            is_for_operator=facts.subject.conversion is not None and facts.subject.left.minor > 0
            and visitor.may(Permission.REFUND),
            wrong=wrong, status=status_of_refusal(wrong),
        )  # fmt: skip

    async def _facts(self, visitor: DashboardVisitor) -> InflowFacts:
        async with self.shell.db.connection() as tx:
            facts = await inflow_store.find(tx, visitor.business.id, visitor.request.path["inflow"])
        if facts is None:
            raise NotFound(NOTHING_HERE)
        return facts

    async def check_refund(self, visitor: DashboardVisitor) -> Html | None:
        wrong = await refund_form.problem(self.shell, visitor, (await self._facts(visitor)).subject)
        return await self._page(visitor, wrong) if wrong else None

    async def confirms_refund(self, visitor: DashboardVisitor) -> str:
        facts = await self._facts(visitor)
        payer = payer_of(visitor, facts.inflow.payer.name or "")
        return await refund_form.confirms(self.shell, visitor, facts.subject, payer)

    async def refund(self, visitor: DashboardVisitor) -> Html:
        facts = await self._facts(visitor)
        try:
            return await refund_form.send(self.shell, visitor, facts.subject)
        except REFUSED as wrong:
            return await self._page(visitor, wrong)

    def routes(self) -> list[DashboardRoute]:
        see = Permission.SEE
        return [
            DashboardRoute("GET", "/inflows", "showInflows", see, self.show_list),
            DashboardRoute("GET", "/inflows/{inflow}", "showInflow", see, self.show),
            DashboardRoute(
                "POST", "/inflows/{inflow}/refund", "refundInflow", Permission.REFUND, self.refund,
                check=self.check_refund, confirms=self.confirms_refund,
            ),
        ]  # fmt: skip


def state_words(account: Account, *, now: datetime) -> tuple[str, str]:
    block_reason = account.block_reason(now)
    if block_reason is BlockReason.SUSPENDED:
        return "Suspended", "bad"
    return ACCOUNT_WORDS[AccountStatus.EXPIRED if block_reason is BlockReason.EXPIRED else account.status]


def why_of(inflow: Collection) -> str:
    """The decision with its reason, in one sentence."""
    reason = inflow.reason.sentence if inflow.reason else ""
    if inflow.status is CollectionStatus.SUCCESSFUL:
        if not inflow.held_for:
            return "Credited, since the name is the account holder's."
        return f"Credited after a hold: {_held_for(inflow)}."
    if inflow.status is CollectionStatus.PENDING:
        return f"Held for a decision of the operator: {_held_for(inflow)}. Undecided, it goes back to the payer."
    if inflow.sent_back is None:
        return f"Not credited: {reason}."
    is_back = inflow.sent_back.confirmed_at is not None
    held = f" It was held before: {_held_for(inflow)}." if inflow.held_for else ""
    return f"{'Sent back' if is_back else 'On its way back'} to the payer: {reason}.{held}"


def given_back(inflow: Collection, is_on_its_way: bool) -> str:
    """How much of it was refunded, in one sentence."""
    if inflow.refunded is None or not inflow.refunded.minor:
        return ""
    how_much = "All" if inflow.refunded == inflow.amount else amount(inflow.refunded)
    more = " Some of that is still on its way." if is_on_its_way else ""
    return f"{how_much} of it was refunded.{more}"


def begun_by(refund: str, rows: Sequence[AuditLogRow], people: Mapping[str, str]) -> str:
    """Who asked for a refund, and who approved it, as the audit trail has it."""
    found = {row.action: row for row in rows if row.subject == refund}
    started, approved = found.get("refund.started"), found.get("refund.approved")
    if approved is not None:
        asked_by = str(msgspec.json.decode(approved.details).get("asked_by", ""))
        return f"{_who(asked_by, people)}, approved by {_who(approved.actor, people)}"
    return _who(started.actor, people) if started else ""


def _who(actor: str, people: Mapping[str, str]) -> str:
    return who_of(actor, name=people.get(actor), key_name=None)


def _held_for(inflow: Collection) -> str:
    return "; ".join(reason.sentence for reason in inflow.held_for)


def _place_of(inflow: Collection, is_returned: bool) -> str:
    """Where the page that ends with it ends."""
    if is_returned and inflow.sent_back is not None:
        return place_of(inflow.sent_back.asked_at, inflow.id)
    return str(inflow.id)


def filter_in(visitor: DashboardVisitor) -> CollectionFilter:
    query = visitor.request.query
    status, account, currency = query.get("status", ""), query.get("account", ""), query.get("currency", "")
    verdict = query.get("verdict", "")
    choices = {
        "status": {one.value for one in CollectionStatus},
        "currency": Currency.__members__,
        "verdict": {one.value for one in NameVerdict},
        "days": {RETURNED},
    }
    # There may be more accounts than the list shows.
    wrong = [Problem("account", CHOOSE)] if account and not ACCOUNT_ID.fullmatch(account) else []
    days = checked_period(query, visitor.times, FILTERS, choices, wrong)
    return CollectionFilter(
        account_id=account or None,
        destination_currency=Currency(currency) if currency else None,
        status=CollectionStatus(status) if status else None,
        verdict=NameVerdict(verdict) if verdict else None,
        start=days.start,
        end=days.end,
    )
