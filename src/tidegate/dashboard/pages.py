"""All pages of the dashboard, put together."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.core.clock import Clock, ShiftedClock
from tidegate.core.method import MethodNames
from tidegate.core.public_id import PublicIds
from tidegate.dashboard.account_pages import AccountRequestPages
from tidegate.dashboard.audit import AuditPages
from tidegate.dashboard.branding import BrandingPages
from tidegate.dashboard.cases import CasePages
from tidegate.dashboard.deliveries import DeliveryPages
from tidegate.dashboard.developer_pages import DeveloperPages
from tidegate.dashboard.find import FindPages
from tidegate.dashboard.home import Home
from tidegate.dashboard.inflow_pages import InflowPages
from tidegate.dashboard.links import LinkDashboard
from tidegate.dashboard.member_sign_in_pages import MemberSignInPages
from tidegate.dashboard.new_link import NewLinkPages
from tidegate.dashboard.new_payment import NewPaymentPages
from tidegate.dashboard.payments import PaymentPages
from tidegate.dashboard.proof_pages import ProofPages
from tidegate.dashboard.receipts import ReceiptPages
from tidegate.dashboard.refunds import RefundPages
from tidegate.dashboard.renderer import Renderer
from tidegate.dashboard.replay import ReplayPages
from tidegate.dashboard.sandbox_pages import TimePages
from tidegate.dashboard.security_pages import SecurityPages
from tidegate.dashboard.settings_pages import SandboxPages, SettingsPages
from tidegate.dashboard.shell import PATH, DashboardRoute, DashboardShell
from tidegate.dashboard.takings import TakingsPages
from tidegate.dashboard.team_pages import TeamPages
from tidegate.dashboard.views import ViewPages
from tidegate.dashboard.waiting import WaitingPages
from tidegate.dashboard.wallet_pages import WalletPages
from tidegate.dashboard.webhooks import WebhookPages
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.http.request_limit import Limiter
from tidegate.infra.http.routing import Route
from tidegate.infra.page import static
from tidegate.member.passkey import Passkeys
from tidegate.member.sign_in import SignIn
from tidegate.member.sign_in_limit import SignInLimit
from tidegate.member.team import Team
from tidegate.payment.wire import MethodsTaken, all_methods
from tidegate.sandbox.seed import FILE_NAME
from tidegate.settings import Settings
from tidegate.webhook.commands import WebhookDeps


class Dashboard:
    def __init__(
        self, settings: Settings, deps: WebhookDeps, clock: Clock, limiter: Limiter, secret: Callable[[], bytes],
        *, taken: MethodsTaken = all_methods,
    ) -> None:  # fmt: skip
        """`taken` says which methods can be paid by in a currency."""
        names, public_ids = MethodNames(ussd=settings.ussd_method), PublicIds(secret)
        site, limit = PublicUrl(settings.base_url), SignInLimit(limiter)
        sign_in = SignIn(deps.db, deps.vault, settings.base_url)
        passkeys = Passkeys(sign_in, site, secret)
        self.shell = DashboardShell(
            deps.db, clock, settings.mode, site, sign_in, passkeys, limit, Renderer(site), secret
        )
        team = Team(deps.db, sign_in)
        self.sign_in_pages = MemberSignInPages(self.shell, team)
        sends_mail = settings.mail is not None or self.shell.is_sandbox
        payment_pages = PaymentPages(self.shell, names, public_ids, settings.checkout_url, sends_mail)
        self.cases = CasePages(self.shell, payment_pages)
        self.table: list[DashboardRoute] = [
            *Home(self.shell).routes(),
            *TakingsPages(self.shell).routes(),
            *NewPaymentPages(self.shell, names, taken).routes(),
            *payment_pages.routes(),
            *ReceiptPages(self.shell, payment_pages).routes(),
            *self.cases.table(),
            *FindPages(self.shell, payment_pages).routes(),
            *WaitingPages(self.shell).routes(),
            *ViewPages(self.shell, payment_pages.list_page).routes(),
            *NewLinkPages(self.shell, names, taken).routes(),
            *LinkDashboard(self.shell, names, settings.links_url).routes(),
            *RefundPages(self.shell).routes(),
            *ProofPages(self.shell).routes(),
            *WalletPages(self.shell, public_ids).routes(),
            *InflowPages(self.shell).routes(),
            *AccountRequestPages(self.shell).routes(),
            *WebhookPages(self.shell, deps).routes(),
            *DeliveryPages(self.shell).routes(),
            *ReplayPages(self.shell).routes(),
            *TeamPages(self.shell, team, sends_mail=settings.mail is not None).routes(),
            *AuditPages(self.shell).routes(),
            *SettingsPages(self.shell).routes(),
            *BrandingPages(self.shell, names).routes(),
            *DeveloperPages(self.shell, settings.home / FILE_NAME).routes(),
        ]
        if isinstance(clock, ShiftedClock):
            self.table += SandboxPages(self.shell, self.sign_in_pages, clock).routes()
            self.table += TimePages(self.shell, clock, deps.vault).routes()

    def routes(self) -> list[Route]:
        return [
            *static.routes(self.shell.renderer.static_files),
            *self.sign_in_pages.routes(),
            *self.cases.routes(),
            *SecurityPages(self.sign_in_pages).routes(),
            *self.shell.routes(self.table),
            self.shell.router.nothing_else(f"{PATH}/{{rest:path}}"),
        ]
