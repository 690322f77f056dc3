"""The emulated bank as a running program: a page to make transfers on, and a control port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import date
from decimal import Decimal
from html import escape
from typing import Any, NamedTuple

from aiohttp import web

from tidegate.emulator.bank.service import NOTICES, BankService
from tidegate.emulator.bank.spoil import BadFile, spoilt
from tidegate.emulator.control import plain_refusals
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
    page_app, control_app = (web.Application(middlewares=[plain_refusals]) for _ in range(2))
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
        """Answers with what was done: a reference, a number, or the names of files."""
        done = _do(self._service, request.match_info["do"], await request.json())
        return web.json_response({"done": done})


def _do(service: BankService, what: str, given: dict[str, Any]) -> str:
    if what not in ACTIONS:
        raise web.HTTPNotFound
    if "account" in given and given["account"] not in service.accounts:
        raise web.HTTPBadRequest(text=f"no account {given['account']!r}")
    return ACTIONS[what](service, given)


def _transfer(service: BankService, given: dict[str, Any]) -> str:
    """`changes` are of the entry (`emulator/bank/model.py`); None takes a field away."""
    changes = dict(given.get("changes", {}))
    if "day" in changes:
        changes["day"] = date.fromisoformat(changes["day"])
    if "parts" in changes:
        changes["parts"] = tuple(changes["parts"])
    notice = given.get("notice", NOTICES[0])
    if notice not in NOTICES:
        raise ValueError(f"notice must be one of {', '.join(NOTICES)}")
    booked = service.transfer(
        given["account"],
        _amount(given["amount"]),
        payee_name=given.get("payee_name") or None,
        destination=given.get("destination") or None,
        remittance=given.get("remittance") or None,
        notice=notice,
        changes=changes,
    )
    return booked.reference or ""


def _amount(given: Any) -> Decimal:
    amount = Decimal(str(given))
    if not amount.is_finite() or amount < 0:
        raise ValueError("amount must be a number")
    return amount


def _statement(service: BankService, given: dict[str, Any]) -> str:
    written = service.statement(
        given["account"],
        kind=given.get("kind", "camt"),
        pages=int(given.get("pages", 1)),
        without_page=int(given.get("without_page", 0)),
        closing=Decimal(str(given["closing"])) if "closing" in given else None,
    )
    return " ".join(path.name for path in written)


def _repeat(service: BankService, given: dict[str, Any]) -> str:
    return service.repeat(given["account"], given["how"]).name


def _skip(service: BankService, given: dict[str, Any]) -> str:
    return str(service.skip(given["account"]))


def _reverse(service: BankService, given: dict[str, Any]) -> str:
    amount = _amount(given["amount"]) if "amount" in given else None
    is_named = bool(given.get("is_named", True))
    return service.take_back(given["account"], given["reference"], amount=amount, is_named=is_named).reference or ""


def _bounce(service: BankService, given: dict[str, Any]) -> str:
    return service.bounce(given["account"], given["end_to_end_id"]).reference or ""


def _close(service: BankService, given: dict[str, Any]) -> str:
    service.closed.add(given["number"])
    return str(given["number"])


def _answers(service: BankService, given: dict[str, Any]) -> str:
    service.answers = tuple(given["statuses"])
    return " ".join(service.answers)


def _away(service: BankService, given: dict[str, Any]) -> str:
    service.go_away()
    return "away"


def _back(service: BankService, given: dict[str, Any]) -> str:
    service.come_back()
    return "back"


def _version(service: BankService, given: dict[str, Any]) -> str:
    service.version = int(given["version"])
    return str(service.version)


def _spoil(service: BankService, given: dict[str, Any]) -> str:
    what = BadFile(given["what"])
    return service.write(f"{what}.xml", spoilt(what, service.sample(given["account"]), given["account"])).name


def _write(service: BankService, given: dict[str, Any]) -> str:
    return service.write(given["name"], given["content"].encode(given.get("encoding", "utf-8"))).name


ACTIONS: dict[str, Callable[[BankService, dict[str, Any]], str]] = {
    # A credit: by which notice, and how its entry differs.
    "transfer": _transfer,
    # The end of a day, in pages of which one may be missing; `closing` is a lie.
    "statement": _statement,
    # The last statement again: same, copy or corrected.
    "repeat": _repeat,
    # A statement that never comes.
    "skip": _skip,
    # A credit is taken back, or a part of it.
    "reverse": _reverse,
    # A payment of ours comes back after its debit.
    "bounce": _bounce,
    # Payments to this number are rejected.
    "close": _close,
    # The statuses of pain.002 in turn; none at all: the bank pays, and says so in its statement only.
    "answers": _answers,
    # No file comes and none is taken, until it is back.
    "away": _away,
    "back": _back,
    # Of the camt files from now on: 2, 3, 4 or 8.
    "version": _version,
    # A file as no bank should send it.
    "spoil": _spoil,
    # Any file, such as one that is still being written.
    "write": _write,
}
