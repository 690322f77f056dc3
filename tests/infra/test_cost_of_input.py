"""What a request costs grows no faster than the request: for every operation, form and raw address.

Processor time in this process is measured, so that a busy machine is no failure.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from bench.hostile_input import TEXTS, VALUES, MakeText

from build import Shop, order
from conftest import ENCRYPTION_KEY
from console.people import StaffPeople
from dashboard.people import People
from tidegate import app
from tidegate.app import operations_of
from tidegate.checkout.page.form_data import FIELDS
from tidegate.core.clock import SystemClock, monotonic_s
from tidegate.docs.routes import SandboxKeys
from tidegate.infra import rate_limit
from tidegate.infra.http.application import Application
from tidegate.infra.http.body import BODY_BYTES_MAX
from tidegate.infra.http.csp_reports import REPORTS_PATH
from tidegate.infra.http.operation import Operation
from tidegate.infra.http.request_head import HEADER_BYTES_MAX, URL_BYTES_MAX
from tidegate.member import sign_in_limit
from tidegate.member.permission import Role
from tidegate.rail.sandbox import signed_notification
from tidegate.runtime import Runtime
from tidegate.sandbox.seed import FILE_NAME, SECRET_FIELD, VARIABLES
from tidegate.settings import Settings
from tidegate.staff.permission import StaffRole

# Below this nothing is compared: it is little, and a small time is mostly chance.
FLOOR_S = 0.15
# Twice the size costs twice the time, or four times when it grows with the square.
GROWTH_MAX = 3.0
# What is slow once may have been disturbed; what is slow each time is slow.
TRIES = 5
Headers = dict[str, str]
# A text of about so many bytes, as part of a request that is otherwise right.
MakeBody = Callable[[int], bytes]
CostOf = Callable[[int], Awaitable[float]]

# Where a rule of a field's own may be slow; numbers of cards are looked for in any text alike.
HARD_TO_CHECK = ("letters", "spaces", "combining marks", "dots and at signs", "labels of other letters")
# The fields of each form of the dashboard; `owner` sends those of a business.
DASHBOARD_FORMS = {
    "/sign-in": ("email", "password", "next", "passkey"),
    "/second-factor": ("code", "passkey", "next"),
    "/confirm": ("factor", "passkey", "next"),
    "/sign-out": ("unknown",),
    "/two-step": ("code", "passkey", "passkey_name", "next"),
    "/forgot": ("email",),
    "/reset/{link}": ("password",),
    "/invitation/{link}": ("name", "password"),
    "/view/{link}": ("unknown",),
    "/enter/{link}": ("unknown",),
    "/security": ("name", "old", "password", "session", "id"),
    "/{business}/payments/new": ("amount", "name", "email", "description", "reference", "once"),
    "/{business}/payments/{payment}/receipt": ("once",),
    "/{business}/payments/{payment}/refund": ("amount", "reason", "note", "what", "version", "once", "factor"),
    "/{business}/inflows/{inflow}/refund": ("amount", "reason", "note", "what", "version", "once", "factor"),
    "/{business}/payments/{payment}/disable": ("disabled",),
    "/{business}/payments/{payment}/case": ("days", "once"),
    "/{business}/payments/{payment}/case/revoke": ("case",),
    "/{business}/payments.csv": ("q", "from"),
    "/{business}/views": ("name", "q", "once"),
    "/{business}/views/{view}": ("what", "name"),
    "/{business}/approvals/{approval}/approve": ("once",),
    "/{business}/approvals/{approval}/decline": ("unknown",),
    "/{business}/webhooks/endpoints": ("url", "event-refund.failed", "once"),
    "/{business}/webhooks/replay": ("since", "endpoint", "which", "once"),
    "/{business}/webhooks/endpoints/{endpoint}": ("what",),
    "/{business}/webhooks/endpoints/{endpoint}/test": ("once",),
    "/{business}/webhooks/deliveries/{delivery}/resend": ("once",),
    "/{business}/team/invitations": ("email", "role"),
    "/{business}/team/invitations/{invitation}/withdraw": ("unknown",),
    "/{business}/team/{person}": ("what", "role"),
    "/{business}/team/{person}/reset": ("unknown",),
    "/{business}/settings": ("policy", "zone", "session", "bearer"),
    "/{business}/settings/hosts": ("hosts",),
    "/{business}/settings/two-step": ("two_step_for_all",),
    "/{business}/accounts/new": ("first_name", "last_name", "business_name", "flow", "reference", "document1_url"),
    "/{business}/accounts/{account}/documents": ("name",),
    "/{business}/accounts/{account}/answer": ("answer", "question"),
    "/{business}/settings/limits": ("limit-NGN",),
    "/{business}/keys": ("name", "addresses", "days", "limit-NGN", "once"),
    "/{business}/keys/{key}": ("what", "overlap"),
    "/{business}/links/new": ("name", "amount", "noteLabel", "endsAt", "successMessage", "redirectUrl"),
    "/{business}/links/{link}": ("what",),
    "/{business}/branding": ("name", "accent", "support_email", "support_phone"),
    "/{business}/sandbox/advance": ("by",),
    "/{business}/sandbox/next": ("unknown",),
    "/{business}/sandbox/trade": ("once",),
    "/{business}/sandbox/people": ("person",),
}
# The same handlers as the dashboard's: held there.
SHARED_FORMS = ("/sign-in", "/second-factor", "/sign-out", "/two-step", "/forgot", "/reset/{link}", "/enter/{link}",
                "/security", "/confirm")  # fmt: skip
CONSOLE_FORMS = {
    "/sandbox/people": ("person",),
    "/approvals/{business}/{approval}/approve": ("unknown",),
    "/approvals/{business}/{approval}/decline": ("unknown",),
    "/approvals/{business}/{approval}/withdraw": ("unknown",),
    "/held/{inflow}": ("why", "version"),
    "/accounts/{account}/ask": ("question",),
    "/accounts/{account}/ask/take-back": ("asked",),
    "/accounts/{account}/propose": ("why", "expires_at"),
    "/accounts/{account}/suspend": ("reason",),
    "/accounts/{account}/documents": ("name",),
    "/accounts/{account}/documents/{document}": ("reason",),
    "/merchants": ("name", "email"),
    "/merchants/{business}/suspend": ("reason",),
    "/merchants/{business}/contact": ("name", "contact"),
    "/merchants/{business}/cards": ("reason",),
    "/merchants/{business}/propose": ("why", "rate", "percent"),
    "/merchants/{business}/view": ("reason",),
    "/merchants/{business}/settings": ("hosts", "origins"),
    "/merchants/{business}/endpoints": ("url", "why"),
    "/merchants/{business}/endpoints/stop": ("endpoint",),
    "/merchants/{business}/endpoints/pace": ("endpoint", "rate"),
    "/merchants/{business}/owner": ("email",),
    "/merchants/{business}/reset": ("email",),
    "/merchants/{business}/keys": ("name", "addresses", "limit-NGN", "why"),
    "/merchants/{business}/keys/roll": ("key", "overlap", "why"),
    "/merchants/{business}/keys/revoke": ("key",),
    "/refunds/{business}/{reference}": ("reason", "amount"),
    "/staff": ("email", "name", "why"),
    "/suspense/{receipt}": ("why", "business"),
    "/quarantine": ("subject", "why"),
    "/bank/decide": ("decision", "subject", "why"),
    "/bank/{business}/{reference}/pay": ("why",),
    "/bank/{business}/{reference}/amend": ("name", "account"),
    "/bank/{business}/{reference}/refuse": ("reason",),
    "/stuck/return/{business}/{reference}/end": ("outcome", "sent_as", "why"),
    "/stuck/refund/{business}/{reference}/end": ("outcome", "sent_as", "why"),
    "/disputes/{business}/sandbox/{dispute}/end": ("outcome", "why"),
    "/rails/sandbox/pause": ("why",),
    "/rails/sandbox/resume": ("why",),
    "/rates/import": ("why", "spread"),
    "/stuck/{kind}/{business}/{reference}/ask": ("rail",),
    "/rates": ("rate", "source", "quoted_at", "why"),
    "/reconcile": ("rail", "from", "slack"),
    "/reconcile/list": ("rail", "first", "slack"),
    "/reconcile/explain": ("note", "break-1", "comparison"),
    "/books/prove": ("unknown",),
    "/books/examine": ("unknown",),
    "/books/export": ("unknown",),
    "/jobs/retry": ("kind", "id"),
    "/jobs/run": ("job",),
    "/webhooks/{business}/deliveries/{delivery}/resend": ("unknown",),
    "/erasures": ("emails", "phones", "business", "why"),
    "/audit/verify": ("unknown",),
    "/audit/export": ("unknown",),
}
# Of the sandbox's own page; each with a field that it reads, or one that it does not know.
START_FORMS = {"/start/payment": ("amount", "currency"), "/start/keys": ("unknown",), "/start/dashboard": ("unknown",)}
# Whole forms, which one reader takes apart for every page.
SHAPES = ("a=&", "&", "=", "%41=%41&", "%", "+=+&", "a=b;", "token=x&")
FORMS = tuple(f"/pay/{{}}/{name}" for name in ("charge", "authorize", "extend", "cancel", "simulate", "again", "sent"))

_operations = operations_of(Runtime.of(Settings()))
_addresses = itertools.count()


@dataclass
class Caller:
    """Calls the application without a server between, each time from another address."""

    application: Application
    shop: Shop
    pay_code: str = ""
    cookie: str = ""
    token: str = ""
    slow: list[str] = field(default_factory=list)

    async def call(
        self, method: str, path: str, body: bytes = b"", headers: Headers | None = None, query: str = ""
    ) -> tuple[int, bytes, list[tuple[bytes, bytes]]]:
        number = next(_addresses)
        sent: list[Any] = []
        to_come = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if not to_come:
                # The client stays until it is answered.
                await asyncio.Event().wait()
            return to_come.pop()

        async def send(message: Any) -> None:
            sent.append(message)

        all_headers = {"host": "localhost", "content-length": str(len(body)), **(headers or {})}
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "http_version": "1.1",
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in all_headers.items()],
            "client": (f"2001:db8:{number // 65_536:x}:{number % 65_536:x}::1", 1),
            "scheme": "http",
        }
        await self.application(scope, receive, send)
        whole = b"".join(message.get("body", b"") for message in sent[1:])
        return sent[0]["status"], whole, sent[0]["headers"]

    async def cost_s(self, method: str, path: str, **request: Any) -> float:
        began = time.thread_time()
        status, answer, _ = await self.call(method, path, **request)
        took = time.thread_time() - began
        # Neither a limit nor a mistake of ours has spared it the work.
        assert status not in (429, 500, 503), (method, path, status, answer[:500])
        return took

    async def hold(self, what: str, cost_of: CostOf, size: int) -> None:
        """Notes it as slow when the whole size costs too much more than half of it, in every try."""
        for _ in range(TRIES):
            whole = await cost_of(size)
            if whole < FLOOR_S:
                return
            half = await cost_of(size // 2)
            if whole <= GROWTH_MAX * half:
                return
        self.slow.append(f"{what}: {half * 1000:.0f} ms for half, {whole * 1000:.0f} ms for the whole")


@pytest.fixture
async def caller(
    shop: Shop, database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> AsyncIterator[Caller]:
    created = (await shop.create(order())).json()["data"]
    # Between any two looks at it an hour passes, so that no limit is ever reached.
    started_at, hours = monotonic_s(), itertools.count(1)
    monkeypatch.setattr(rate_limit, "monotonic_s", lambda: started_at + 3_600.0 * next(hours))
    monkeypatch.setattr(sign_in_limit, "PAUSE_MAX_S", 0)
    # As `tidegate dev` serves it: with the start page, which has forms of its own.
    keys = SandboxKeys(shop.secret_key, shop.public_key, shop.business_id)
    file = {**dict.fromkeys((*VARIABLES.values(), SECRET_FIELD), "x_test"), "virtualAccounts": {}}
    (tmp_path / FILE_NAME).write_text(json.dumps(file))
    settings = Settings(database_url=database_url, encryption_keys=(ENCRYPTION_KEY,), home=tmp_path)
    application = app.build(settings, sandbox_keys=keys)
    async with _living(application):
        caller = Caller(application, shop, created["payCode"])
        _, page, headers = await caller.call("GET", f"/pay/{caller.pay_code}")
        caller.cookie = next(value for name, value in headers if name == b"set-cookie").decode().partition(";")[0]
        caller.token = re.findall(r'name="token" value="([^"]+)"', page.decode())[0]
        gc.collect()
        gc.disable()
        yield caller
        gc.enable()
    assert caller.slow == []


@asynccontextmanager
async def _living(application: Application) -> AsyncIterator[None]:
    async with application._lifespan():
        yield


def _path(path: str, caller: Caller, name: str = "0" * 24) -> str:
    return re.sub(r"\{[^}]+\}", name, path.replace("{payCode}", caller.pay_code))


def _headers(caller: Caller) -> Headers:
    return {"content-type": "application/json", **caller.shop.create_headers, **caller.shop.verify_headers}


def _bodies(operation: Operation) -> Iterator[tuple[str, MakeBody]]:
    """A value beside a right request, and each field of a right request replaced by texts that are hard to check."""
    example = json.loads(json.dumps(dict(operation.request_example or {}), default=str))
    head = json.dumps(example)[:-1] + (", " if example else "")
    for name, make in VALUES.items():
        yield name, _with(f'{head}"unknown":', make, "}")
    for name, make in TEXTS.items():
        yield name, _with(f'{head}"unknown":"', make, '"}')
    for where, before, after in _places_in(example):
        for name in HARD_TO_CHECK:
            yield f"{name} in {where}", _with(before, TEXTS[name], after)


def _with(before: str, make: MakeText, after: str) -> MakeBody:
    framing = len(before.encode()) + len(after.encode())
    return lambda size: f"{before}{make(size - framing)}{after}".encode()


def _places_in(example: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The name of each field, and what stands before and after its text in the body."""
    mark = "the text stands here"
    for name, value in example.items():
        for key in [*value] if isinstance(value, dict) else [None]:
            changed = {**example, name: mark if key is None else {**value, key: mark}}
            before, _, after = json.dumps(changed).partition(mark)
            yield f"{name}.{key}" if key else name, before, after


async def test_a_body_of_twice_the_size_costs_no_more_than_twice(caller: Caller) -> None:
    for operation in _operations:
        if not operation.takes_body:
            continue
        path = _path(operation.path, caller)
        for what, make in _bodies(operation):

            async def cost_of(size: int, *, at: str = path, by: str = operation.method, make: MakeBody = make) -> float:
                return await caller.cost_s(by, at, body=make(size), headers=_headers(caller))

            await caller.hold(f"{operation.name}, {what}", cost_of, BODY_BYTES_MAX)


async def test_a_form_of_twice_the_size_costs_no_more_than_twice(caller: Caller) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded", "cookie": caller.cookie}
    for path in FORMS:
        for name in (*FIELDS, "unknown"):
            for what in HARD_TO_CHECK:
                before = f"token={caller.token}&type=card&{name}="

                async def cost_of(size: int, *, at: str = path, before: str = before, what: str = what) -> float:
                    body = before + TEXTS[what](size - len(before))
                    return await caller.cost_s("POST", at.format(caller.pay_code), body=body.encode(), headers=headers)

                await caller.hold(f"{path}, {what} in {name}", cost_of, BODY_BYTES_MAX)


async def test_a_form_of_many_fields_costs_no_more_than_twice(caller: Caller) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded", "cookie": caller.cookie}
    for path, piece in itertools.product((FORMS[0].format(caller.pay_code), "/start/payment"), SHAPES):

        async def cost_of(size: int, *, at: str = path, piece: str = piece) -> float:
            body = piece * (size // len(piece))
            return await caller.cost_s("POST", at, body=body.encode(), headers=headers)

        await caller.hold(f"{path}, {piece}", cost_of, BODY_BYTES_MAX)


async def test_a_form_of_the_start_page_costs_no_more_than_twice(caller: Caller) -> None:
    browser = {"accept": "text/html", "cookie": caller.cookie}
    _, page, _ = await caller.call("GET", "/", headers=browser)
    token = re.findall(r'name="token" value="([^"]+)"', page.decode())[0]
    headers = {"content-type": "application/x-www-form-urlencoded", "cookie": caller.cookie}
    for path, names in START_FORMS.items():
        for name, what in itertools.product(names, (*HARD_TO_CHECK, "digits")):
            before = f"token={token}&{name}="

            async def cost_of(size: int, *, at: str = path, before: str = before, what: str = what) -> float:
                body = before + TEXTS[what](size - len(before))
                return await caller.cost_s("POST", at, body=body.encode(), headers=headers)

            await caller.hold(f"{path}, {what} in {name}", cost_of, BODY_BYTES_MAX)


async def test_the_form_of_a_payment_link_costs_no_more_than_twice(caller: Caller) -> None:
    order = {"name": "Ticket", "currency": "NGN", "amountMin": 1, "askPhoneNumber": "optional", "askNote": "optional"}
    made = await caller.shop.client.post("/checkout/payment-links", json=order, headers=caller.shop.create_headers)
    path = f"/link/{made.json()['data']['id']}"
    _, page, _ = await caller.call("GET", path, headers={"cookie": caller.cookie})
    token = re.findall(r'name="token" value="([^"]+)"', page.decode())[0]
    headers = {"content-type": "application/x-www-form-urlencoded", "cookie": caller.cookie}
    for name in ("name", "email", "amount", "phone", "note", "once", "unknown"):
        for what in HARD_TO_CHECK:
            before = f"token={token}&{name}="

            async def cost_of(size: int, *, before: str = before, what: str = what) -> float:
                body = before + TEXTS[what](size - len(before))
                return await caller.cost_s("POST", path, body=body.encode(), headers=headers)

            await caller.hold(f"{path}, {what} in {name}", cost_of, BODY_BYTES_MAX)


async def test_a_form_of_the_dashboard_of_twice_the_size_costs_no_more_than_twice(
    caller: Caller, people: People
) -> None:
    owner = await people.person(caller.shop, Role.OWNER)
    session = f"tidegate-session={owner.client.cookies['tidegate-session']}"
    _, page, headers = await caller.call("GET", owner.path(), headers={"cookie": session})
    guest = next(value for name, value in headers if name == b"set-cookie").decode().partition(";")[0]
    token = re.findall(r'name="token" value="([^"]+)"', page.decode())[0]
    _, gate, _ = await caller.call("GET", "/dashboard/sign-in", headers={"cookie": guest})
    gate_token = re.findall(r'name="token" value="([^"]+)"', gate.decode())[0]
    headers_of_form = {
        "content-type": "application/x-www-form-urlencoded", "cookie": f"{guest}; {session}",
    }  # fmt: skip
    for path, names in DASHBOARD_FORMS.items():
        at = f"/dashboard{_path(path.replace('{business}', owner.code).replace('{payment}', caller.pay_code), caller)}"
        is_open = path.startswith(("/sign-in", "/forgot", "/reset", "/invitation", "/enter", "/view"))
        for name, what in itertools.product(names, HARD_TO_CHECK):
            # Signing out would end the test.
            before = f"token={'x' if path == '/sign-out' else gate_token if is_open else token}&{name}="

            async def cost_of(size: int, *, at: str = at, before: str = before, what: str = what) -> float:
                body = before + TEXTS[what](size - len(before))
                return await caller.cost_s("POST", at, body=body.encode(), headers=headers_of_form)

            await caller.hold(f"{path}, {what} in {name}", cost_of, BODY_BYTES_MAX)


async def test_a_form_of_the_console_of_twice_the_size_costs_no_more_than_twice(caller: Caller, people: People) -> None:
    operator = await StaffPeople(people).person(StaffRole.OPERATOR)
    session = f"tidegate-console={operator.client.cookies['tidegate-console']}"
    _, page, headers = await caller.call("GET", "/console", headers={"cookie": session})
    guest = next(value for name, value in headers if name == b"set-cookie").decode().partition(";")[0]
    token = re.findall(r'name="token" value="([^"]+)"', page.decode())[0]
    headers_of_form = {"content-type": "application/x-www-form-urlencoded", "cookie": f"{guest}; {session}"}
    for path, names in CONSOLE_FORMS.items():
        for name, what in itertools.product(names, ("letters", "combining marks")):
            at, before = f"/console{_path(path, caller)}", f"token={token}&factor=x&{name}="

            async def cost_of(size: int, *, at: str = at, before: str = before, what: str = what) -> float:
                body = before + TEXTS[what](size - len(before))
                return await caller.cost_s("POST", at, body=body.encode(), headers=headers_of_form)

            await caller.hold(f"{path}, {what} in {name}", cost_of, BODY_BYTES_MAX)


async def test_a_report_or_notification_of_twice_the_size_costs_no_more_than_twice(
    caller: Caller, runtime: Runtime
) -> None:
    now = SystemClock().now()
    for what, make in VALUES.items():

        async def report(size: int, *, make: MakeText = make) -> float:
            body = _with('{"csp-report":', make, "}")(size)
            return await caller.cost_s("POST", REPORTS_PATH, body=body, headers={"content-type": "application/json"})

        await caller.hold(f"report, {what}", report, BODY_BYTES_MAX)

        async def notify(size: int, *, make: MakeText = make) -> float:
            raw = signed_notification.sign(make(size).encode(), runtime.secret, now=now)
            return await caller.cost_s("POST", "/intake/sandbox", body=raw.body, headers=dict(raw.headers))

        await caller.hold(f"notification, {what}", notify, BODY_BYTES_MAX)


async def test_headers_and_a_query_of_twice_the_size_cost_no_more_than_twice(caller: Caller) -> None:
    for path in {*(_path(one.path, caller) for one in _operations if one.method == "GET"), f"/pay/{caller.pay_code}"}:
        for piece in ("4", ";", "a=b&", "%41", "text/csv;q=0.1,", "a=b;"):

            async def query(size: int, *, at: str = path, piece: str = piece) -> float:
                return await caller.cost_s("GET", at, headers=_headers(caller), query=piece * (size // len(piece)))

            await caller.hold(f"{path}?{piece}", query, URL_BYTES_MAX)
            for name in ("accept", "accept-language", "cookie", "authorization", "idempotency-key", "if-none-match"):

                async def header(size: int, *, at: str = path, name: str = name, piece: str = piece) -> float:
                    headers = {**_headers(caller), name: piece * (size // len(piece))}
                    return await caller.cost_s("GET", at, headers=headers)

                await caller.hold(f"{path}, {name}: {piece}", header, HEADER_BYTES_MAX)


async def test_every_address_that_takes_a_body_is_held_to_it(caller: Caller) -> None:
    paths = {route.path.replace("{rail}", "sandbox") for route in caller.application.routing.routes}
    # What is nothing else is nothing for every method; its address as it stands would be one of the others.
    others = {path for path in paths if "{rest:path}" not in path} - {one.path for one in _operations}
    taking = {path for path in others if (await caller.call("POST", path))[0] not in (404, 405)}
    pages = {f"/dashboard{path}" for path in DASHBOARD_FORMS}
    pages |= {f"/console{path}" for path in (*SHARED_FORMS, *CONSOLE_FORMS)}
    forms = {path.format("{payCode}") for path in FORMS}
    # The same handlers, in a frame of a shop's page; the simulator is not shown there.
    framed = {f"/embed/{{frame}}{path}" for path in forms if not path.endswith("/simulate")}
    assert taking == forms | framed | pages | set(START_FORMS) | {
        REPORTS_PATH, "/intake/sandbox", "/link/{linkId}",
    }  # fmt: skip
