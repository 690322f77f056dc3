"""The receipt of a payment, sent to its payer by e-mail."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.checkout import receipt_mail, receipt_store
from tidegate.checkout.language.catalog import DEFAULT_LANGUAGE
from tidegate.checkout.receipt_mail import ReceiptIssuer
from tidegate.core.errors import Conflict
from tidegate.dashboard.payments import PaymentPages
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.payment import pay
from tidegate.payment.model import PaymentStatus


@dataclass(frozen=True)
class ReceiptPages:
    shell: DashboardShell
    payments: PaymentPages

    async def send(self, visitor: DashboardVisitor) -> Html:
        payment = await self.payments.get(visitor)
        try:
            if payment.status is not PaymentStatus.SUCCESS or not self.payments.sends_mail:
                raise Conflict("receipts are sent only for paid payments, and only if mail is configured")
            snapshot = await pay.view(self.shell.db, visitor.business.id, payment.pay_code)
            async with self.shell.db.connection() as tx:
                language = await receipt_store.find_language(tx, payment) or DEFAULT_LANGUAGE
            issuer = ReceiptIssuer(self.shell.site.base_url, self.payments.names, self.shell.mode)
            mail = await receipt_mail.compose(self.shell.db, snapshot, language, issuer=issuer, now=visitor.now)

            async def act(tx: Tx) -> str:
                await receipt_mail.send(tx, payment, mail, by=visitor.by, now=visitor.now)
                return f"/payments/{payment.pay_code}"

            return await self.shell.once(visitor, act)
        except Conflict as wrong:
            return await self.payments.page(visitor, wrong)

    def routes(self) -> list[DashboardRoute]:
        return [
            DashboardRoute("POST", "/payments/{payment}/receipt", "sendReceipt", Permission.SEND_RECEIPT, self.send)
        ]
