"""Payments: the list, one payment with its timeline, and the refund form."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass

import msgspec

from tidegate.approval import commands as approvals
from tidegate.core.errors import (
    Invalid,
    NotFound,
    Problem,
    Refusal,
)
from tidegate.core.method import MethodNames
from tidegate.core.money import CHECKOUT_OFFERS, Money
from tidegate.core.public_id import PublicIds
from tidegate.dashboard import equivalent_command, payment_store, refund_form, search_box, view_store
from tidegate.dashboard.format import amount
from tidegate.dashboard.paging import place_in, place_of
from tidegate.dashboard.payer_mask import payer_of
from tidegate.dashboard.payment_page import (
    EXCESS_REFUNDED,
    JOURNAL_WORDS,
    METHOD_WORDS,
    STATUS_WORDS,
    difference_of,
    difference_tint,
    metadata_of,
    note_of,
    sentence_of,
    status_of,
    timeline_of,
    waiting_of,
)
from tidegate.dashboard.payment_store import PaymentHistory
from tidegate.dashboard.refund_form import REFUSED, status_of_refusal
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.dashboard.views import VIEWS_MAX, tabs
from tidegate.infra.http import csv_text
from tidegate.infra.http.operation import Csv, Stream
from tidegate.infra.http.status import STATUS_OF
from tidegate.infra.page.response import Html, StreamedFile
from tidegate.member.permission import Permission
from tidegate.payment import commands as payment_commands
from tidegate.payment import list_wire, search
from tidegate.payment import store as payments
from tidegate.payment.list_store import ListPosition, PaymentFilter
from tidegate.payment.model import Payment, PaymentStatus
from tidegate.payment.row import PaymentRow
from tidegate.payment.search import PaymentCount, PaymentPage
from tidegate.payment.store import PaymentKey
from tidegate.payment.variance import Variance
from tidegate.refund import subject_store
from tidegate.refund.model import Subject
from tidegate.refund.subject_store import SubjectKey

PAGE = 50
CASE_DAYS = (1, 7, 30)
CASE_PARTS = {
    "payer": "The payer’s name and e-mail address",
    "attempts": "How it was tried to pay, and why it failed",
    "webhooks": "Webhooks and their tries",
}
NOTHING_HERE = "there is nothing at this address"
# How pay codes begin; references of merchants seldom do.
PAY_CODE = "tg_"


@dataclass(frozen=True)
class PaymentPages:
    shell: DashboardShell
    names: MethodNames
    public_ids: PublicIds
    checkout_url: str
    sends_mail: bool

    async def show_list(self, visitor: DashboardVisitor) -> Html:
        """A pay code leads to its payment."""
        query = visitor.request.query
        if (code := query.get("q", "").strip()).startswith(PAY_CODE) and await self.find(visitor, code) is not None:
            return self.shell.to(visitor, f"/payments/{code}")
        return await self.list_page(visitor, query)

    async def list_page(
        self, visitor: DashboardVisitor, query: Mapping[str, str], view_refused: Refusal | None = None
    ) -> Html:
        """`view_refused` says why a view of it was not saved."""
        business_id, before, wrong = visitor.business.id, place_in(query.get("before", "")), None
        page, count, wanted = PaymentPage([], False), PaymentCount(0, True), PaymentFilter()
        try:
            wanted = wanted_in(visitor, query)
            page, count = await search.list_counted(
                self.shell.db, business_id, wanted, before=ListPosition(*before) if before else None, limit=PAGE
            )
        except Invalid as problem:
            wrong = _in_words(problem)
        async with self.shell.db.connection() as tx:
            views = await view_store.list_seen(tx, business_id, visitor.session.member.id, limit=VIEWS_MAX * 2)
        last, refused = page.rows[-1] if page.has_more else None, wrong or view_refused
        older = search_box.address_of(query, before=place_of(last.created_at, last.id)) if last else None
        return self.shell.page(
            visitor, "payments.html", title="Payments", section="Payments", wrong=refused,
            status=STATUS_OF[type(refused)] if refused else 200, is_filter_wrong=wrong is not None,
            rows=[row_of(visitor, row) for row in page.rows], count=count, query=query,
            kept=search_box.address_of(query), filters=search_box.kept_in(query), tabs=tabs(views, query),
            drops=search_box.drops(query), works=search_box.WORKS,
            older=self.shell.site.url(f"{visitor.path('/payments')}?{older}") if older else None,
            is_first=before is None, methods=METHOD_WORDS, currencies=[(one, one) for one in CHECKOUT_OFFERS],
            variances=search_box.VARIANCE_WORDS, others=search_box.other_searches(query.get("q", "").strip()),
            unknown_operator=search_box.unknown_operator_in(query),
            statuses=[(status.value, word) for status, (word, _) in STATUS_WORDS.items()],
            code=equivalent_command.list_payments(self.shell.site.base_url, wanted, self.names),
            create_code=equivalent_command.create_payment(self.shell.site.base_url, next(iter(CHECKOUT_OFFERS))),
        )  # fmt: skip

    async def export(self, visitor: DashboardVisitor) -> Html | StreamedFile:
        """The whole filtered set. Very many are sent only after a fresh proof, from the form."""
        wanted = wanted_in(visitor, visitor.request.query)
        if not (await search.count(self.shell.db, visitor.business.id, wanted)).is_exact:
            return self.shell.to(visitor, f"/payments?{search_box.address_of(visitor.request.query)}")
        return self._file(visitor, wanted)

    async def check_export(self, visitor: DashboardVisitor) -> None:
        wanted_in(visitor, visitor.form)

    async def export_many(self, visitor: DashboardVisitor) -> StreamedFile:
        return self._file(visitor, wanted_in(visitor, visitor.form))

    def _file(self, visitor: DashboardVisitor, wanted: PaymentFilter) -> StreamedFile:
        stream = Stream(self._rows(visitor.business.id, wanted), "payments.csv")
        return StreamedFile(stream, Csv.content_type, csv_text.row(list_wire.CSV_COLUMNS), visitor.caller)

    async def _rows(self, business_id: str, wanted: PaymentFilter) -> AsyncGenerator[bytes, None]:
        async for rows in search.batches(self.shell.db, business_id, wanted):
            yield b"".join(csv_text.row(list_wire.csv_row(row, self.names, self.public_ids)) for row in rows)

    async def find(self, visitor: DashboardVisitor, reference: str) -> Payment | None:
        async with self.shell.db.connection() as tx:
            return await payments.find(tx, PaymentKey(visitor.business.id, reference))

    async def get(self, visitor: DashboardVisitor) -> Payment:
        found = await self.find(visitor, visitor.request.path["payment"])
        if found is None:
            raise NotFound(NOTHING_HERE)
        return found

    async def show(self, visitor: DashboardVisitor) -> Html:
        return await self.page(visitor)

    async def page(self, visitor: DashboardVisitor, wrong: Refusal | None = None, *, case_address: str = "") -> Html:
        """`case_address` is shown in this answer alone."""
        business_id = visitor.business.id
        async with self.shell.db.connection() as tx:
            found = await payment_store.find(tx, PaymentKey(business_id, visitor.request.path["payment"]))
            if found is None:
                raise NotFound(NOTHING_HERE)
            payment, subject, history = found
            terms = await approvals.terms(tx, business_id, payment.expected.currency, visitor.session.member.id)
        form = refund_form.form_of(
            self.shell, visitor, subject, terms, refunds=history.refunds, wallet_minor=history.wallet_minor
        )
        word, tint = status_of(payment)
        is_masked = not visitor.may(Permission.SEE_PAYER)
        return self.shell.page(
            visitor, "payment.html", title=sentence_of(payment), section="Payments", wrong=wrong,
            status=status_of_refusal(wrong), payment=payment, word=word, tint=tint, difference=difference_of(payment),
            method=METHOD_WORDS.get(str(payment.method_chosen), ""),
            steps=timeline_of(payment, history, visitor.business, is_masked=is_masked),
            journals=history.journals, journal_words=JOURNAL_WORDS, money=Money, form=form,
            waiting=waiting_of(history, now=visitor.now),
            disputes=[f"{one.sentence[:1].upper()}{one.sentence[1:]}." for one in subject.disputes],
            customer_name=payer_of(visitor, payment.order.customer.name),
            customer_email=payer_of(visitor, payment.order.customer.email),
            customer_phone="" if is_masked else payment.order.customer.phone,
            note="" if is_masked else note_of(payment), metadata=metadata_of(payment, is_masked=is_masked),
            is_open=payment.status in (PaymentStatus.INITIATED, PaymentStatus.PENDING),
            sends_receipt=self.sends_mail and payment.status is PaymentStatus.SUCCESS,
            address=f"{self.checkout_url}/{payment.pay_code}",
            settled_in=_journal_of(history, "checkout_settled"), refunded_in=_journal_of(history, "refund_started"),
            cases=history.cases, case_address=case_address, case_parts=CASE_PARTS, case_days=CASE_DAYS,
            real_now=self.shell.sign_in.clock.now(),
            code=equivalent_command.verify(self.shell.site.base_url, payment.reference),
        )  # fmt: skip

    async def _subject(self, visitor: DashboardVisitor) -> Subject:
        payment = await self.get(visitor)
        async with self.shell.db.connection() as tx:
            return await subject_store.get(tx, SubjectKey(visitor.business.id, payment.id, None))

    async def check_refund(self, visitor: DashboardVisitor) -> Html | None:
        wrong = await refund_form.problem(self.shell, visitor, await self._subject(visitor))
        return await self.page(visitor, wrong) if wrong else None

    async def confirms_refund(self, visitor: DashboardVisitor) -> str:
        payer = payer_of(visitor, (await self.get(visitor)).order.customer.name)
        return await refund_form.confirms(self.shell, visitor, await self._subject(visitor), payer)

    async def refund(self, visitor: DashboardVisitor) -> Html:
        subject = await self._subject(visitor)
        try:
            return await refund_form.send(self.shell, visitor, subject)
        except REFUSED as wrong:
            return await self.page(visitor, wrong)

    async def disable(self, visitor: DashboardVisitor) -> Html:
        payment = await self.get(visitor)
        is_disabled = visitor.form.get("disabled") == "yes"
        await payment_commands.set_disabled(
            self.shell.db, visitor.business, payment.pay_code, is_disabled=is_disabled, now=visitor.now, by=visitor.by
        )
        return self.shell.to(visitor, f"/payments/{payment.pay_code}")

    def routes(self) -> list[DashboardRoute]:
        return [
            DashboardRoute("GET", "/payments", "showPayments", Permission.SEE, self.show_list),
            DashboardRoute("GET", "/payments.csv", "exportPayments", Permission.EXPORT, self.export),
            DashboardRoute(
                "POST", "/payments.csv", "exportManyPayments", Permission.EXPORT_MANY, self.export_many,
                check=self.check_export, page="/payments",
                confirms=f"Export more than {search.COUNTED_MAX:,} payments",
            ),
            DashboardRoute("GET", "/payments/{payment}", "showPaymentDetail", Permission.SEE, self.show),
            DashboardRoute(
                "POST", "/payments/{payment}/refund", "refundOnDashboard", Permission.REFUND, self.refund,
                check=self.check_refund, confirms=self.confirms_refund,
            ),
            DashboardRoute(
                "POST", "/payments/{payment}/disable", "disableOnDashboard", Permission.MANAGE_PAYMENTS, self.disable
            ),
        ]  # fmt: skip


def wanted_in(visitor: DashboardVisitor, given: Mapping[str, str]) -> PaymentFilter:
    wanted = search_box.filter_in(given, visitor.times)
    if visitor.may(Permission.SEE_PAYER):
        return wanted
    if wanted.email is not None or wanted.name_prefix is not None:
        raise Invalid(Problem("q", "Your role does not see payers, so it does not search by e-mail address or name."))
    return msgspec.structs.replace(
        wanted, reference_prefix=wanted.reference_prefix or wanted.either_prefix, either_prefix=None
    )


def _in_words(wrong: Invalid) -> Invalid:
    """The one refusal of the search itself, with the names of the form."""
    if [problem.field for problem in wrong.problems] == ["dateFrom"]:
        return Invalid(Problem("from", "The search took too long. Narrow the dates, or add a filter."))
    return wrong


def row_of(visitor: DashboardVisitor, row: PaymentRow) -> dict[str, object]:
    """A line of the list."""
    is_paid = row.status is PaymentStatus.SUCCESS
    word, tint = STATUS_WORDS[row.status]
    if is_paid and row.refunded_minor == row.received_minor:
        word, tint = "Refunded", ""
    gap = amount(Money(abs(row.received_minor - row.expected_minor), row.currency))
    is_excess_refunded = row.refunded_minor >= row.received_minor - row.expected_minor
    over = EXCESS_REFUNDED if is_excess_refunded else f"{gap} over"
    sides = {Variance.OVERPAYMENT: over, Variance.UNDERPAYMENT: f"{gap} short"}
    difference = sides.get(row.variance, "") if row.variance else ""
    return {
        "at": row.created_at,
        "pay_code": row.pay_code,
        "reference": row.reference,
        "payer": payer_of(visitor, row.customer_email),
        "name": payer_of(visitor, row.customer_name),
        "method": METHOD_WORDS[row.method] if row.method else "",
        "word": word,
        "tint": tint,
        "difference": difference,
        "tint_of_difference": difference_tint(difference),
        "expected": Money(row.expected_minor, row.currency),
        "received": Money(row.received_minor, row.currency) if is_paid else None,
        "settled": None if row.settled_minor is None else Money(row.settled_minor, row.currency),
    }


def _journal_of(history: PaymentHistory, kind: str) -> int | None:
    """Where a figure of the payment was booked, when it was by one journal."""
    found = [journal.id for journal in history.journals if journal.kind == kind]
    return found[0] if len(found) == 1 else None
