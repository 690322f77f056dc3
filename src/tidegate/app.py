"""The composition root: settings become a database, rails, an authenticator, and the routes of the API."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tidegate.account import event_examples as account_events
from tidegate.account.api import AccountApi
from tidegate.checkout.api import CheckoutApi
from tidegate.checkout.commands import CheckoutCommands
from tidegate.checkout.link_page.pages import LinkPages
from tidegate.checkout.page.pages import CheckoutPages
from tidegate.checkout.payer_limit import REQUEST_SLOTS, PayerAllowances, PayerLimit
from tidegate.checkout.watch import Watch
from tidegate.collection import event_examples as collection_events
from tidegate.collection.api import CollectionApi
from tidegate.console.pages import Console
from tidegate.core.clock import ShiftedClock, SystemClock
from tidegate.core.ids import Mode
from tidegate.core.method import USUAL_NAMES, Method, MethodNames
from tidegate.dashboard.pages import Dashboard
from tidegate.docs import routes as docs
from tidegate.docs.site import DocsSite
from tidegate.docs.suggestion import Suggestions
from tidegate.embed.pages import EmbedPages
from tidegate.infra import memory, telemetry
from tidegate.infra.db import Database
from tidegate.infra.http import openapi, security_txt, server
from tidegate.infra.http.application import Application
from tidegate.infra.http.csp_reports import Reports
from tidegate.infra.http.endpoint import routes_of
from tidegate.infra.http.health import Health
from tidegate.infra.http.hosts import KnownHosts
from tidegate.infra.http.openapi_schema import respelled
from tidegate.infra.http.operation import Operation
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.http.request_limit import Limiter
from tidegate.infra.http.routing import Route
from tidegate.infra.limit_exchange import LimitExchange
from tidegate.infra.rate_limit import SLOTS, RateLimit
from tidegate.infra.site.pages import HomePage, SitePages
from tidegate.infra.standby import Standby
from tidegate.intake.api import IntakeApi
from tidegate.intake.refused import RefusedNotifications
from tidegate.member.realm import CONSOLE, DASHBOARD
from tidegate.merchant.api import MerchantApi
from tidegate.merchant.authentication import Authenticator
from tidegate.merchant.key_cache import KeyCache
from tidegate.merchant.key_use import KeyUses
from tidegate.payment import event_examples as payment_events
from tidegate.payment import temporary_account
from tidegate.payment.api import PaymentApi
from tidegate.payment.list_api import PaymentListApi
from tidegate.payment_link.api import PaymentLinkApi
from tidegate.payment_link.openings import LinkOpenings
from tidegate.rail.choice import methods_taken
from tidegate.refund import event_examples as refund_events
from tidegate.refund.api import RefundApi
from tidegate.request_log.api import RequestLogApi
from tidegate.request_log.recorder import RequestRecorder
from tidegate.runtime import Runtime, running
from tidegate.sandbox.api import SandboxApi
from tidegate.sandbox.mailbox import Mailbox
from tidegate.sandbox.operator_api import OperatorApi
from tidegate.sandbox.panel import SimulatorPanel
from tidegate.sandbox.receiver import Receiver
from tidegate.sandbox.simulator import Simulator
from tidegate.sandbox.start_page import PACKAGE as START_PACKAGE
from tidegate.sandbox.start_page import StartPage
from tidegate.settings import Settings
from tidegate.wallet.api import WalletApi
from tidegate.webhook import event_document as webhook_events
from tidegate.webhook.api import WebhookApi

TITLE = "Tidegate"
DESCRIPTION = (
    "Hosted checkout and foreign-currency inflows. JSON over HTTP; amounts are in major units and exact. "
    "Every failure has one shape: decide by `errorType`."
)
# Of each API process. A page that takes longer says so and asks for narrower dates.
DASHBOARD_CONNECTIONS = 3
DASHBOARD_STATEMENT_MS = 2_000
EVENTS = (
    *payment_events.EVENTS,
    *collection_events.EVENTS,
    *refund_events.EVENTS,
    *account_events.EVENTS,
    webhook_events.TEST,
)


def build(
    settings: Settings, *, sandbox_keys: docs.SandboxKeys | None = None, meter: telemetry.Meter | None = None
) -> Application:
    runtime = Runtime.of(settings)
    key_cache = KeyCache(runtime.db, runtime.clock, settings.mode)
    key_uses = KeyUses(runtime.db, runtime.clock)
    limit = RateLimit(settings.rate_limit_file)
    authenticator = Authenticator(key_cache, limit, _limiter(settings, "unknown-keys"), key_uses)
    meter = meter or telemetry.Meter()
    recorder = RequestRecorder(runtime.db, SystemClock(), meter)
    watch = _watch(runtime)
    checkout = _checkout(runtime, key_cache, watch)
    operations = operations_of(runtime, checkout)
    documentation = docs_of(operations, settings.base_url, runtime.deps.names) if settings.has_docs else None
    site = _site_pages(settings, documentation, is_sandbox=isinstance(runtime.clock, ShiftedClock))
    health = Health(runtime.db)
    dashboard = _dashboard(runtime)
    openings = LinkOpenings(runtime.db)
    standby = Standby([runtime.db, dashboard.shell.db])
    beside = [key_cache.watch, key_uses.keep_writing, recorder.keep_writing, openings.keep_writing, standby.follow]
    beside += [watch.run, dashboard.shell.db.keep_open, *_exchange(runtime, limit, checkout.commands.limit)]
    life = _Life(runtime, key_cache, beside)
    routes: list[Route] = [
        *routes_of(operations, authenticator.authenticate),
        *checkout.routes(),
        *_payer_pages(runtime, checkout, openings),
        *Reports(_limiter(settings, "reports")).routes(),
        *_intake(runtime, meter),
        *health.routes(),
        *site.routes(),
        *_front_page(runtime, site, sandbox_keys, meter),
        *dashboard.routes(),
        *_console(runtime),
        *security_txt.routes(settings.security_contact, settings.base_url, SystemClock()),
        *(docs.routes(documentation, sandbox_keys, site.router) if documentation else ()),
    ]
    application = Application(
        routes,
        lifespan=life.span,
        meter=meter,
        trusted_proxies=settings.trusted_proxies,
        answer_page=site.answer_page,
        hosts=KnownHosts(settings.base_url, (*settings.hosts, urlsplit(settings.console_url).hostname or "")),
        note=recorder.note,
        tracer=runtime.tracer("tidegate-api"),
        standby=standby,
    )
    life.application = application
    health.watch(application)
    return application


def docs_of(operations: Sequence[Operation], base_url: str, names: MethodNames) -> DocsSite:
    return DocsSite(lambda: document_of(operations, base_url, names), base_url, operations, EVENTS, names)


def _site_pages(settings: Settings, documentation: DocsSite | None, *, is_sandbox: bool) -> SitePages:
    return SitePages(
        PublicUrl(settings.base_url),
        is_sandbox=is_sandbox,
        has_docs=settings.has_docs,
        operator_name=settings.operator_name,
        operator_contact=settings.operator_contact,
        packages=[START_PACKAGE] if is_sandbox else [],
        suggest=Suggestions(documentation) if documentation else lambda _: None,
        for_people=(f"{DASHBOARD.path}/", f"{CONSOLE.path}/"),
    )


def _panel(runtime: Runtime) -> SimulatorPanel | None:
    return SimulatorPanel(Simulator(runtime.deps)) if isinstance(runtime.clock, ShiftedClock) else None


def _exchange(runtime: Runtime, limit: RateLimit, payers: PayerLimit) -> list[Callable[[], Coroutine[Any, Any, None]]]:
    """With other machines, of the limits that a client could multiply by spreading over them."""
    file = _beside(runtime.settings.rate_limit_file, "lock")
    if file is None:
        return []
    machine = hashlib.sha256(f"{socket.gethostname()}/{file}".encode()).digest()
    limits = (limit, payers.requests.slots, payers.failures.slots)
    exchange = LimitExchange(runtime.db, limits, machine, file)
    return [exchange.keep_sending, exchange.keep_listening]


def _payer_pages(runtime: Runtime, checkout: CheckoutApi, openings: LinkOpenings) -> list[Route]:
    """By themselves, in a frame, and by a payment link."""
    settings, taken = runtime.settings, partial(methods_taken, runtime.deps.rails)
    pages = CheckoutPages(checkout.commands, PublicUrl(settings.base_url), lambda: runtime.secret, _panel(runtime))
    embedded = EmbedPages(pages, settings.mode).routes(checkout.routes())
    return [*pages.routes(), *embedded, *LinkPages(pages, taken, openings).routes()]


def _intake(runtime: Runtime, meter: telemetry.Meter) -> list[Route]:
    refused = RefusedNotifications(_limiter(runtime.settings, "notifications"), meter)
    return IntakeApi(runtime.deps, runtime.clock, refused, runtime.settings.base_url).routes()


def _front_page(
    runtime: Runtime, site: SitePages, keys: docs.SandboxKeys | None, meter: telemetry.Meter
) -> list[Route]:
    settings = runtime.settings
    home = HomePage(site, settings.mode)
    # With a mail server, messages are for their recipients alone.
    has_mailbox = settings.mode is Mode.SANDBOX and settings.mail is None
    own = Mailbox(site, runtime.db).routes() if has_mailbox else []
    if settings.mode is Mode.SANDBOX:
        own += Receiver(runtime.db, _limiter(settings, "receiver")).routes()
    if keys is None:
        return [*home.routes(), *own]
    start = StartPage(
        home, lambda: runtime.secret, runtime.db, runtime.clock, runtime.deps.names, keys.business_id, settings.home,
        has_mailbox, _limiter(settings, "start"), meter,
    )  # fmt: skip
    return [*start.routes(), *own]


def _dashboard(runtime: Runtime) -> Dashboard:
    """On connections of its own: long lists of merchants never take one from payers."""
    settings = runtime.settings
    db = Database(
        settings.database_url or "",
        connections_max=DASHBOARD_CONNECTIONS,
        statement_timeout_ms=DASHBOARD_STATEMENT_MS,
        is_pooled=settings.is_pooled,
        direct_url=settings.direct_url,
    )
    limiter = _limiter(settings, "dashboard")
    taken = partial(methods_taken, runtime.deps.rails)
    deps = replace(runtime.webhook_deps, db=db)
    return Dashboard(settings, deps, runtime.clock, limiter, lambda: runtime.secret, taken=taken)


def _console(runtime: Runtime) -> list[Route]:
    if not runtime.settings.console_address:
        return []
    limiter = _limiter(runtime.settings, "console")
    return Console(
        runtime.settings, runtime.webhook_deps, runtime.deps, runtime.clock, limiter=limiter,
        secret=lambda: runtime.secret,
    ).routes()  # fmt: skip


class _Life:
    """Tasks beside the requests, which are refused until the database is available and ours."""

    def __init__(
        self, runtime: Runtime, key_cache: KeyCache, tasks: Sequence[Callable[[], Coroutine[Any, Any, None]]]
    ) -> None:
        self._runtime, self._key_cache, self._tasks = runtime, key_cache, tasks
        self._has_looked = asyncio.Event()
        self.application: Application | None = None

    @asynccontextmanager
    async def span(self) -> AsyncIterator[None]:
        """Ready at once when the database is there; one that is away keeps no process from starting."""
        async with running(self._work):
            await self._has_looked.wait()
            yield

    async def _work(self) -> None:
        async with self._runtime.open(waiting=self._wait_for):
            await self._key_cache.refresh()
            async with AsyncExitStack() as stack:
                for task in (*self._tasks, *self._tracing()):
                    await stack.enter_async_context(running(task))
                self._wait_for(None)
                await asyncio.Event().wait()

    def _tracing(self) -> list[Callable[[], Coroutine[Any, Any, None]]]:
        tracer = self.application.tracer if self.application else None
        return [tracer.run] if tracer else []

    def _wait_for(self, reason: str | None) -> None:
        assert self.application is not None
        self.application.waiting_for = reason
        self._has_looked.set()


def operations_of(runtime: Runtime, checkout: CheckoutApi | None = None) -> list[Operation]:
    settings, deps, clock = runtime.settings, runtime.deps, runtime.clock
    checkout = checkout or _checkout(runtime, KeyCache(runtime.db, clock, settings.mode), _watch(runtime))
    sandbox = (
        [*SandboxApi(deps, clock).operations(), *OperatorApi(deps, clock).operations()]
        if isinstance(clock, ShiftedClock)
        else []
    )
    taken = partial(methods_taken, deps.rails)
    return [
        *PaymentApi(
            runtime.db, clock, deps.names, deps.public_ids, settings.mode, settings.checkout_url, taken
        ).operations(),
        *PaymentListApi(runtime.db, deps.names, deps.public_ids).operations(),
        *PaymentLinkApi(
            runtime.db, clock, deps.names, deps.public_ids, settings.mode, settings.links_url, taken
        ).operations(),
        *checkout.operations(),
        *RequestLogApi(runtime.db, deps.public_ids).operations(),
        *MerchantApi(settings.mode, settings.checkout_url).operations(),
        *AccountApi(runtime.db, clock, temporary_account.find).operations(),
        *RefundApi(runtime.db, clock, deps.public_ids).operations(),
        *CollectionApi(runtime.db).operations(),
        *WalletApi(runtime.db, clock, settings.mode, deps.public_ids).operations(),
        *WebhookApi(runtime.webhook_deps, clock, RateLimit(_beside(settings.rate_limit_file, "resends"))).operations(),
        *sandbox,
    ]


def document_of(operations: Sequence[Operation], base_url: str, names: MethodNames = USUAL_NAMES) -> dict[str, Any]:
    """The whole OpenAPI document, with the operator's name of USSD."""
    made = openapi.document(operations, title=TITLE, server_url=base_url, description=DESCRIPTION, events=EVENTS)
    if names == USUAL_NAMES:
        return made
    spellings = {USUAL_NAMES.in_request(method): names.in_request(method) for method in Method}
    spellings |= {USUAL_NAMES.in_record(method): names.in_record(method) for method in Method}
    return {key: respelled(part, spellings) for key, part in made.items()}


def _checkout(runtime: Runtime, key_cache: KeyCache, watch: Watch) -> CheckoutApi:
    settings = runtime.settings
    limit = PayerLimit(
        _limiter(settings, "payers", slots=REQUEST_SLOTS),
        _limiter(settings, "cards"),
        PayerAllowances(
            address_reads_per_second=settings.address_reads_per_second,
            address_writes_per_second=settings.address_writes_per_second,
            address_declines_per_hour=settings.address_declines_per_hour,
            business_declines_per_hour=settings.business_declines_per_hour,
            card_declines_per_hour=settings.card_declines_per_hour,
        ),
    )
    commands = CheckoutCommands(
        runtime.deps, key_cache, runtime.clock, limit, settings.checkout_url, card_key=lambda: runtime.secret
    )
    return CheckoutApi(commands, watch)


def _watch(runtime: Runtime) -> Watch:
    return Watch(runtime.db, per_address_max=runtime.settings.address_streams)


def _limiter(settings: Settings, name: str, *, slots: int = SLOTS) -> Limiter:
    # The same on all machines, so that they can tell each other, and not known outside.
    secret = settings.encryption_keys[0] if settings.encryption_keys else os.urandom(32)
    slots_of = RateLimit(_beside(settings.rate_limit_file, name), slots=slots)
    return Limiter(slots_of, hmac.digest(secret, b"rate limits", "sha256"))


def _beside(file: Path | None, name: str) -> Path | None:
    return file.with_name(f"{file.name}-{name}") if file else None


def serve(settings: Settings, listening: socket.socket) -> None:
    """The main function of each API process of `tidegate serve`."""
    telemetry.configure_logs(as_json=settings.log_as_json, level=settings.log_level)
    application = build(settings)
    memory.tune_gc()
    server.serve(application, listening)
