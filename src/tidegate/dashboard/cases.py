"""Case links: one payment, shown without a sign-in until the link lapses or is revoked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

import msgspec

from tidegate.audit import store as audit
from tidegate.core.errors import Invalid, NotFound, Problem
from tidegate.dashboard import case_store, payment_store
from tidegate.dashboard.case_store import NewCaseLink
from tidegate.dashboard.format import Times, ahead_words
from tidegate.dashboard.payment_page import (
    METHOD_WORDS,
    difference_of,
    difference_tint,
    sentence_of,
    status_of,
    timeline_of,
)
from tidegate.dashboard.payment_store import PaymentHistory
from tidegate.dashboard.payments import CASE_DAYS, CASE_PARTS, PaymentPages
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.db import Tx
from tidegate.infra.http.routing import Route
from tidegate.infra.page.response import Html
from tidegate.infra.page.router import PageRequest, PageRoute
from tidegate.member.model import hash_of_token, new_token
from tidegate.member.permission import Permission
from tidegate.merchant import store as merchants
from tidegate.payment.store import PaymentKey

PATH = "/case"
NOWHERE = "this link has lapsed or was revoked; ask the shop for a new one"


@dataclass(frozen=True)
class CasePages:
    shell: DashboardShell
    payment_pages: PaymentPages

    async def share(self, visitor: DashboardVisitor) -> Html:
        payment = await self.payment_pages.get(visitor)
        form, now, token = visitor.form, self.shell.sign_in.clock.now(), new_token()
        days, token_hash = form.get("days", ""), hash_of_token(token)
        if days not in map(str, CASE_DAYS):
            wrong = Invalid(Problem("days", f"Choose after how many days it lapses: {', '.join(map(str, CASE_DAYS))}."))
            return await self.payment_pages.page(visitor, wrong)
        assert token_hash is not None
        shows = [part for part in CASE_PARTS if f"show-{part}" in form]

        async def act(tx: Tx) -> str:
            new = NewCaseLink(
                visitor.business.id, token_hash, payment.id, shows, visitor.session.member.id, now,
                now + timedelta(days=int(days)),
            )  # fmt: skip
            await case_store.insert(tx, new)
            await audit.insert(
                tx, visitor.business.id, visitor.by, action="case.shared", subject=payment.pay_code,
                details={"days": int(days), "shows": shows}, now=visitor.now,
            )  # fmt: skip
            return f"{self.shell.site.base_url}{PATH}/{visitor.membership.business_code}/{token}"

        address = await self.shell.first_time(visitor, f"/payments/{payment.pay_code}", act)
        if address is None:
            return self.shell.to(visitor, f"/payments/{payment.pay_code}")
        return await self.payment_pages.page(visitor, case_address=address)

    async def revoke(self, visitor: DashboardVisitor) -> Html:
        payment = await self.payment_pages.get(visitor)
        try:
            token_hash = bytes.fromhex(visitor.form.get("case", ""))
        except ValueError:
            raise NotFound("there is no such link") from None
        async with self.shell.db.transaction() as tx:
            now = self.shell.sign_in.clock.now()
            if not await case_store.revoke(tx, visitor.business.id, payment.id, token_hash, now=now):
                raise NotFound("there is no such link")
            await audit.insert(
                tx, visitor.business.id, visitor.by, action="case.revoked", subject=payment.pay_code, details={},
                now=visitor.now,
            )  # fmt: skip
        return self.shell.to(visitor, f"/payments/{payment.pay_code}")

    async def show(self, request: PageRequest) -> Html:
        """No session is needed, only the link. Links of another business, wrong ones and lapsed ones look the same."""
        token_hash = hash_of_token(request.path["token"])
        now = self.shell.sign_in.clock.now()
        if token_hash is None or not request.path["business"].isalnum():
            raise NotFound(NOWHERE)
        async with self.shell.db.connection() as tx:
            found = await case_store.open_once(tx, request.path["business"], token_hash, now=now)
            if found is None:
                raise NotFound(NOWHERE)
            business_id, payment_id, shows = found
            business = await merchants.find_business(tx, business_id)
            code = await case_store.find_pay_code(tx, business_id, payment_id)
            facts = await payment_store.find(tx, PaymentKey(business_id, code))
        assert business is not None
        assert facts is not None
        payment, _, history = facts
        (word, tint), difference = status_of(payment), difference_of(payment)
        is_masked = "payer" not in shows
        business_now = self.shell.clock.now_of(business_id)
        steps = timeline_of(payment, _shown(history, shows), business, is_masked=is_masked)
        body = self.shell.renderer.render(
            "case.html", nonce=request.nonce, title=sentence_of(payment), business=business, payment=payment, word=word,
            tint=tint, difference=difference, tint_of_difference=difference_tint(difference),
            method=METHOD_WORDS.get(str(payment.method_chosen), ""),
            steps=[replace(step, why="", link=None) for step in steps], shows_payer=not is_masked,
            times=Times(business.time_zone, business_now), ahead=ahead_words(business_now, self.shell.clock.now()),
            is_sandbox=self.shell.is_sandbox,
        )  # fmt: skip
        return Html(body, 200, [(b"cache-control", b"no-store")])

    def table(self) -> list[DashboardRoute]:
        at = "/payments/{payment}/case"
        return [
            DashboardRoute("POST", at, "shareCase", Permission.SEND_RECEIPT, self.share),
            DashboardRoute("POST", f"{at}/revoke", "revokeCase", Permission.SEND_RECEIPT, self.revoke),
        ]

    def routes(self) -> list[Route]:
        limit = self.shell.limit.form
        return self.shell.router.routes(
            [PageRoute("GET", f"{PATH}/{{business}}/{{token}}", "showCase", self.show, limit)]
        )


def _shown(history: PaymentHistory, shows: list[str]) -> PaymentHistory:
    """People of the business, and entries of its books, are in no case."""
    return msgspec.structs.replace(
        history,
        attempts=history.attempts if "attempts" in shows else [],
        deliveries=history.deliveries if "webhooks" in shows else [],
        journals=[],
        acts=[],
    )
