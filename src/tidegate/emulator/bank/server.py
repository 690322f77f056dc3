"""The emulated bank as a running program: a page to make transfers on, and a control port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from decimal import Decimal, InvalidOperation
from html import escape
from typing import Any, NamedTuple

from aiohttp import web

from tidegate.emulator.bank.service import BankService
from tidegate.emulator.http import beside, listening, page

TICK_S = 0.5


class RunningBank(NamedTuple):
    service: BankService
    page_url: str
    control_url: str

    @property
    def api_url(self) -> str:
        """A bank of files has none but its folder."""
        return str(self.service.folder)


@asynccontextmanager
async def running(
    service: BankService, *, host: str = "127.0.0.1", page_port: int = 0, control_port: int = 0
) -> AsyncIterator[RunningBank]:
    page_app, control_app = web.Application(), web.Application()
    page_app.add_routes(_Page(service).routes())
    control_app.add_routes(_Control(service).routes())
    apps, ports = (page_app, control_app), (page_port, control_port)
    async with listening(apps, host=host, ports=ports) as urls, beside(lambda: _tick(service)):
        yield RunningBank(service, *urls)


async def _tick(service: BankService) -> None:
    while True:
        service.take_orders()
        await asyncio.sleep(TICK_S)


class _Page:
    def __init__(self, service: BankService) -> None:
        self._service = service

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/", self._show), web.post("/", self._act)]

    async def _show(self, request: web.Request) -> web.Response:
        accounts = "".join(
            f'<option value="{escape(number)}">{escape(number)} {currency}</option>'
            for number, currency in self._service.accounts.items()
        )
        entries = "".join(
            f"<li>{escape(number)}: {'+' if one.is_credit else '-'}{one.amount} {one.currency} "
            f"{escape(one.name or '')} {escape(one.remittance or '')}</li>"
            for number, of_account in self._service.entries.items()
            for one in of_account
        )
        form = (
            f'<form method="post"><select name="account">{accounts}</select>'
            '<input name="amount" placeholder="Amount" required><input name="remittance" placeholder="Narration">'
            '<input name="destination" placeholder="Virtual number"><input name="payee_name" placeholder="Recipient">'
            '<button name="do" value="transfer">Transfer</button></form>'
            f'<form method="post"><select name="account">{accounts}</select>'
            '<button name="do" value="statement">End the day: write the statement</button></form>'
        )
        return page("Emulated bank", f"{form}<h2>Booked today</h2><ul>{entries}</ul>")

    async def _act(self, request: web.Request) -> web.StreamResponse:
        form = {name: str(value) for name, value in (await request.post()).items()}
        _do(self._service, form.get("do", ""), form)
        raise web.HTTPSeeOther("/")


class _Control:
    def __init__(self, service: BankService) -> None:
        self._service = service

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/state", self._state), web.post("/{do}", self._act)]

    async def _state(self, request: web.Request) -> web.Response:
        service = self._service
        return web.json_response(
            {
                "balances": {number: str(one) for number, one in service.balances.items()},
                "entries": {number: [one.reference for one in booked] for number, booked in service.entries.items()},
                "paid": sorted(service.paid),
            }
        )

    async def _act(self, request: web.Request) -> web.Response:
        """transfer, statement, reverse, close, answers (the statuses of pain.002 in turn), write (any file)."""
        done = _do(self._service, request.match_info["do"], await request.json())
        return web.json_response({"done": done})


def _do(service: BankService, what: str, given: dict[str, Any]) -> str:
    if what not in _ACTIONS:
        raise web.HTTPNotFound
    if what in ("transfer", "statement", "reverse") and given.get("account") not in service.accounts:
        raise web.HTTPBadRequest(text=f"no account {given.get('account')!r}")
    return _ACTIONS[what](service, given)


def _transfer(service: BankService, given: dict[str, Any]) -> str:
    try:
        amount = Decimal(str(given.get("amount")))
    except InvalidOperation:
        raise web.HTTPBadRequest(text="amount must be a number") from None
    booked = service.transfer(
        given["account"],
        amount,
        payee_name=given.get("payee_name") or None,
        destination=given.get("destination") or None,
        remittance=given.get("remittance") or None,
    )
    return booked.reference or ""


def _statement(service: BankService, given: dict[str, Any]) -> str:
    return service.statement(given["account"], kind=given.get("kind", "camt")).name


def _reverse(service: BankService, given: dict[str, Any]) -> str:
    return service.take_back(given["account"], given["reference"]).reference or ""


def _close(service: BankService, given: dict[str, Any]) -> str:
    service.closed.add(given["number"])
    return str(given["number"])


def _answers(service: BankService, given: dict[str, Any]) -> str:
    service.answers = tuple(given["statuses"])
    return " ".join(service.answers)


def _write(service: BankService, given: dict[str, Any]) -> str:
    return service.write(given["name"], given["content"].encode(given.get("encoding", "utf-8"))).name


_ACTIONS: dict[str, Callable[[BankService, dict[str, Any]], str]] = {
    "transfer": _transfer,
    "statement": _statement,
    "reverse": _reverse,
    "close": _close,
    "answers": _answers,
    "write": _write,
}
