"""The sandbox's start page: a first request to run, its keys, the latest payments, the state of its parts."""

from __future__ import annotations

import asyncio
import hmac
import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.types import Scope

from tidegate import __version__
from tidegate.core.clock import Clock
from tidegate.core.errors import AccessDenied, Invalid, Problem, Unavailable
from tidegate.core.ids import Mode
from tidegate.core.method import MethodNames
from tidegate.core.money import CHECKOUT_OFFERS
from tidegate.docs.markdown import CodeSample, Document
from tidegate.docs.renderer import KEYS_PATH
from tidegate.infra.db import Database
from tidegate.infra.http.client import client_of
from tidegate.infra.http.read import read
from tidegate.infra.http.request_limit import Allowance, Limiter
from tidegate.infra.http.routing import Route
from tidegate.infra.page.csrf import Csrf
from tidegate.infra.page.response import File, Html, see_other
from tidegate.infra.page.router import PageRequest, PageRoute
from tidegate.infra.site.pages import HomePage, SitePages, wants_page
from tidegate.infra.telemetry import Meter
from tidegate.member import sandbox_people
from tidegate.merchant import commands as merchants
from tidegate.merchant.model import Business
from tidegate.payment import commands, wire
from tidegate.payment import store as payments
from tidegate.payment.model import Payment
from tidegate.sandbox import demo_shop, store
from tidegate.sandbox.seed import FILE_NAME, VARIABLES
from tidegate.sandbox.service_state import PartState, receiver_state, worker_state

PACKAGE = "tidegate.sandbox"
LATEST_MAX = 8
# A page that says what is wrong instead of a browser that waits.
READ_TIMEOUT_S = 3.0
AMOUNT_DIGITS_MAX = 18
SCOPE = "start"
FORMS = Allowance("start page", per_second=2, burst=20)
_CUSTOMER = {"name": "Ada Obi", "email": "ada@example.com"}
_AMOUNT, _CURRENCY = "2500", "NGN"


@dataclass(frozen=True)
class Fact:
    name: str
    shown: str
    # Empty while masked.
    copied: str


@dataclass(frozen=True)
class Line:
    reference: str
    amount: str
    # Where another amount was received.
    expected: str | None
    state: str
    href: str


@dataclass(frozen=True)
class StartPage:
    # For programs, and for requests from other machines.
    home_page: HomePage
    # Available once the database is open.
    secret: Callable[[], bytes]
    db: Database
    clock: Clock
    names: MethodNames
    business_id: str
    home: Path
    has_mailbox: bool
    limiter: Limiter
    # Of the process, which has the worker too.
    meter: Meter

    @property
    def pages(self) -> SitePages:
        return self.home_page.pages

    @cached_property
    def csrf(self) -> Csrf:
        return Csrf(self.pages.site, key=hmac.digest(self.secret(), b"forms of the start page", "sha256"))

    async def show(self, request: PageRequest) -> Html | File:
        if not wants_page(request.headers) or not self._is_local(request):
            return await self.home_page.show(request)
        return await self._page(request)

    async def show_keys(self, request: PageRequest) -> Html:
        """Answers with the page itself: the keys have no address that a browser history would keep."""
        self._admit(request)
        return await self._page(request, is_shown=True)

    async def create(self, request: PageRequest) -> Html:
        self._admit(request)
        business = await merchants.get(self.db, self.business_id)
        try:
            pay_code = await self._create(business, request.form.get("amount", ""), request.form.get("currency", ""))
        except Invalid as wrong:
            return await self._page(request, wrong=wrong)
        return see_other(self.pages.site.url(f"/pay/{pay_code}"))

    async def open_dashboard(self, request: PageRequest) -> Html:
        """By a link that enters once, as `make run` prints it."""
        self._admit(request)
        link = await sandbox_people.new_link(self.db, self.pages.site.base_url)
        return see_other(urlsplit(link).path)

    def _refuse_flood(self, scope: Scope) -> None:
        self.limiter.check(FORMS.of_address(client_of(scope)), "too many requests; wait a little")

    def _admit(self, request: PageRequest) -> None:
        if not self._is_local(request):
            raise AccessDenied("the sandbox's keys are shown on its own machine only; open it as localhost")
        self.csrf.check(request.headers, request.form.get("token"), scope=SCOPE)

    def _is_local(self, request: PageRequest) -> bool:
        """Only by a local host name: otherwise a foreign site could read the keys by DNS rebinding."""
        host = urlsplit(f"//{request.headers.one(b'host') or ''}").hostname
        return host in ("localhost", "127.0.0.1", "::1", urlsplit(self.pages.site.base_url).hostname)

    async def _create(self, business: Business, amount: str, currency: str) -> str:
        text = amount.replace(",", "").replace(" ", "")
        is_whole = text.isascii() and text.isdigit() and len(text) <= AMOUNT_DIGITS_MAX
        value: dict[str, Any] = {"amount": int(text) if is_whole else text, "currency": currency}
        value["customer"] = _CUSTOMER
        if not business.redirect_hosts:
            value["redirectUrl"] = f"{self.pages.site.base_url}/"
        check = partial(wire.problems_between, value=None, business=business, names=self.names, mode=Mode.SANDBOX)
        order = wire.order_from(read(value, wire.CreatePayment, check), business, self.names)
        async with self.db.transaction() as tx:
            now = self.clock.now_of(business.id)
            created = await commands.create(partial(payments.insert, tx), business, order, now=now)
        return created.pay_code

    async def _page(self, request: PageRequest, *, is_shown: bool = False, wrong: Invalid | None = None) -> Html:
        business, latest, receivers = await self._read()
        visitor = self.csrf.visitor_of(request.cookies)
        return self.pages.html(
            "start.html",
            status=422 if wrong else 200,
            cookies=self.csrf.cookie(visitor),
            token=self.csrf.token(visitor, scope=SCOPE),
            business=business,
            facts=list(self._facts(is_shown=is_shown)),
            exports=list(self._exports()) if is_shown else [],
            is_shown=is_shown,
            file=self.home / FILE_NAME,
            payments=[self._line(payment) for payment in latest],
            currencies=tuple(CHECKOUT_OFFERS),
            amount=request.form.get("amount", _AMOUNT),
            currency=request.form.get("currency", _CURRENCY),
            wrong=" ".join(_sentence(problem, request.form) for problem in wrong.problems) if wrong else "",
            has_mailbox=self.has_mailbox,
            shop=await demo_shop.address_in(self.home),
            version=__version__,
            samples=_samples(),
            run=json.dumps({"amount": int(_AMOUNT), "currency": _CURRENCY, "customer": _CUSTOMER}),
            keys_path=self.pages.site.url(KEYS_PATH) if self.pages.has_docs else "",
            # Without the database there is no page, but an error that names it.
            parts=[
                PartState("Database ready"),
                worker_state(self.meter.worker_idle_s),
                receivers,
            ],
            clock=f"{self.clock.now_of(self.business_id):%a %d %b, %H:%M} UTC",
        )

    async def _read(self) -> tuple[Business, list[Payment], PartState]:
        try:
            async with asyncio.timeout(READ_TIMEOUT_S):
                business = await merchants.get(self.db, self.business_id)
                async with self.db.connection() as tx:
                    latest = await store.list_newest_payments(tx, self.business_id, limit=LATEST_MAX)
                    enabled, failing = await store.count_receivers(tx, self.business_id)
        except TimeoutError:
            raise Unavailable("the database does not answer; see the sandbox's terminal") from None
        return business, latest, receiver_state(enabled=enabled, failing=failing)

    def _line(self, payment: Payment) -> Line:
        href = self.pages.site.url(f"/pay/{payment.pay_code}")
        if payment.variance is None:
            return Line(payment.reference, str(payment.order.asked), None, payment.status.value, href)
        return Line(payment.reference, str(payment.received), str(payment.expected), payment.status.value, href)

    def _file(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.home / FILE_NAME).read_text())
        return found

    def _exports(self) -> Iterator[str]:
        sandbox = self._file()
        return (f"export {variable}={shlex.quote(sandbox[name])}" for variable, name in VARIABLES.items())

    def _facts(self, *, is_shown: bool) -> Iterator[Fact]:
        """From the file as it is now: a key may have been rolled since the start."""
        sandbox = self._file()
        for label, name, is_secret in (
            ("Secret key", "secretKey", True),
            ("Public key", "publicKey", False),
            ("Business id", "businessId", False),
            ("Webhook secret", "webhookSecret", True),
        ):
            value = sandbox[name]
            is_masked = is_secret and not is_shown
            yield Fact(label, _masked(value) if is_masked else value, "" if is_masked else value)
        for currency, account in sandbox["virtualAccounts"].items():
            yield Fact(f"{currency} account, {account['accountName']}", *[account["accountNumber"]] * 2)

    def routes(self) -> list[Route]:
        return self.pages.router.routes(
            [
                PageRoute("GET", "/", "showStart", self.show),
                PageRoute("POST", "/start/payment", "createTestPayment", self.create, self._refuse_flood),
                PageRoute("POST", "/start/keys", "showTestKeys", self.show_keys, self._refuse_flood),
                PageRoute("POST", "/start/dashboard", "openTestDashboard", self.open_dashboard, self._refuse_flood),
            ]
        )


@cache
def _samples() -> tuple[CodeSample, ...]:
    return Document((files(PACKAGE) / "templates" / "create.md").read_text(encoding="utf-8")).samples


def _sentence(problem: Problem, form: Mapping[str, str]) -> str:
    """Every problem of the amount is answered with what is accepted, the limits included."""
    if problem.field != "amount":
        return f"The {problem.text}."
    limits = next(
        (
            f"from 1 to {offer.max_major:,} {currency}"
            for currency, offer in CHECKOUT_OFFERS.items()
            if currency == form.get("currency")
        ),
        "of at least 1",
    )
    lead = "The amount must be" if form.get("amount", "").strip() else "Enter an amount:"
    return f"{lead} a whole number {limits}, without decimals."


def _masked(secret: str) -> str:
    """Enough to recognise it: `sk_test_` and the last characters."""
    prefix = secret[: secret.rindex("_") + 1]
    return f"{prefix}{'•' * 12}{secret[-4:]}"
