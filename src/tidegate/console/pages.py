"""All pages of the console, put together."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from tidegate.console.access import ConsoleAccess, restricted
from tidegate.console.accounts import AccountPages
from tidegate.console.approvals import ApprovalPages
from tidegate.console.bank_pages import BankPages
from tidegate.console.book_pages import BookPages
from tidegate.console.delivery_pages import MerchantDeliveryPages
from tidegate.console.dispute_pages import DisputePages
from tidegate.console.document_pages import DocumentPages
from tidegate.console.endpoint_pages import EndpointPages
from tidegate.console.erasure_pages import ErasurePages
from tidegate.console.find import ConsoleSearch
from tidegate.console.held import HeldPages
from tidegate.console.job_pages import JobPages
from tidegate.console.key_pages import MerchantKeyPages
from tidegate.console.merchant_rights import MerchantRightPages
from tidegate.console.merchants import MerchantPages
from tidegate.console.overview import Overview
from tidegate.console.payment_pages import MerchantPaymentPages
from tidegate.console.people_pages import SandboxStaffPages, StaffPages
from tidegate.console.quarantine_pages import QuarantinePages
from tidegate.console.rail_pages import RailPages
from tidegate.console.rate_pages import RatePages
from tidegate.console.reconcile_pages import ReconcilePages
from tidegate.console.refund_detail import RefundDetailPages
from tidegate.console.refund_pages import RefundForMerchantPages
from tidegate.console.shell import PATH, ConsoleRoute, ConsoleShell
from tidegate.console.staff_sign_in_pages import StaffSignInPages
from tidegate.console.suspense_pages import SuspensePages
from tidegate.core.clock import Clock
from tidegate.core.ids import Mode
from tidegate.dashboard.renderer import Renderer
from tidegate.dashboard.security_pages import SecurityPages
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.http.request_limit import Limiter
from tidegate.infra.http.routing import Route
from tidegate.member.passkey import Passkeys
from tidegate.member.realm import CONSOLE
from tidegate.member.sign_in import SignIn
from tidegate.member.sign_in_limit import SignInLimit
from tidegate.rail.deps import PaymentDeps
from tidegate.sandbox.seed import FILE_NAME
from tidegate.settings import Settings
from tidegate.staff.commands import may_enter
from tidegate.staff_approval.model import StaffApprovalDeps
from tidegate.webhook.commands import WebhookDeps


class Console:
    def __init__(
        self, settings: Settings, deps: WebhookDeps, payment_deps: PaymentDeps, clock: Clock, *,
        limiter: Limiter, secret: Callable[[], bytes],
    ) -> None:  # fmt: skip
        url = settings.console_address
        site, limit = PublicUrl(url), SignInLimit(limiter)
        sign_in = SignIn(deps.db, deps.vault, url, realm=CONSOLE, may_enter=may_enter)
        passkeys = Passkeys(sign_in, site, secret)
        renderer = Renderer(site, package="tidegate.console")
        approvals = StaffApprovalDeps(
            payment_deps, clock, settings.mode, settings.base_url, url, webhooks=lambda: deps,
            sandbox_file=settings.home / FILE_NAME,
        )  # fmt: skip
        self.shell = ConsoleShell(
            deps.db, clock, settings.mode, site, sign_in, passkeys, limit, renderer, secret, approvals
        )
        self.sign_in_pages = StaffSignInPages(self.shell)
        self.access = ConsoleAccess(urlsplit(settings.console_url).hostname, settings.console_networks)
        accounts, merchants = AccountPages(self.shell, settings.base_url), MerchantPages(self.shell, settings.base_url)
        refunds = RefundDetailPages(self.shell)
        self.table: list[ConsoleRoute] = [
            *Overview(self.shell, payment_deps).routes(),
            *ConsoleSearch(self.shell, payment_deps).routes(),
            *merchants.routes(),
            *MerchantRightPages(self.shell, merchants).routes(),
            *MerchantKeyPages(self.shell).routes(),
            *EndpointPages(self.shell, merchants, deps).routes(),
            *ApprovalPages(self.shell).routes(),
            *accounts.routes(),
            *DocumentPages(self.shell, accounts).routes(),
            *HeldPages(self.shell, payment_deps).routes(),
            *SuspensePages(self.shell).routes(),
            *QuarantinePages(self.shell, payment_deps).routes(),
            *MerchantPaymentPages(self.shell).routes(),
            *RefundForMerchantPages(self.shell, payment_deps, merchants).routes(),
            *DisputePages(self.shell).routes(),
            *BankPages(self.shell, payment_deps).routes(),
            *refunds.routes(),
            *RailPages(self.shell, payment_deps, refunds).routes(),
            *RatePages(self.shell, payment_deps).routes(),
            *ReconcilePages(self.shell, payment_deps).routes(),
            *BookPages(self.shell, settings).routes(),
            *JobPages(self.shell).routes(),
            *MerchantDeliveryPages(self.shell).routes(),
            *ErasurePages(self.shell).routes(),
            *StaffPages(self.shell).routes(),
        ]
        if settings.mode is Mode.SANDBOX:
            self.table += SandboxStaffPages(self.shell, self.sign_in_pages).routes()

    def routes(self) -> list[Route]:
        nothing = self.shell.router.nothing_else(f"{PATH}/{{rest:path}}")
        pages = [
            *self.sign_in_pages.routes(),
            *SecurityPages(self.sign_in_pages).routes(),
            *self.shell.routes(self.table),
        ]
        return [*(restricted(page, self.access, nothing) for page in pages), nothing]
