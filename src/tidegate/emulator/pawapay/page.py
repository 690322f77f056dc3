"""The phones of the payers of the emulated pawaPay: approve a prompt, or decline it."""

from __future__ import annotations

from html import escape

from aiohttp import web

from tidegate.emulator.http import page
from tidegate.emulator.pawapay.model import EmulatedTransaction
from tidegate.emulator.pawapay.service import PawapayService


class PawapayPage:
    def __init__(self, service: PawapayService) -> None:
        self._service = service

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/", self._list), web.post("/act", self._act)]

    async def _list(self, request: web.Request) -> web.Response:
        rows = "".join(_row(one) for one in reversed(self._service.memory.deposits.values()))
        return page("Phones of the emulated pawaPay", f"<ul>{rows}</ul>" if rows else "<p>No prompt yet.</p>")

    async def _act(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        made = self._service.memory.deposits.get(str(form.get("id", "")))
        if made is None:
            raise web.HTTPNotFound
        if form.get("do") == "approve":
            self._service.approve(made)
        else:
            self._service.fail(made)
        raise web.HTTPSeeOther("/")


def _row(made: EmulatedTransaction) -> str:
    text = f"+{made.phone}: {made.provider.currency} {made.amount:.2f} to {made.message}, {made.status}"
    if made.is_final:
        return f"<li>{escape(text)}</li>"
    return (
        f'<li>{escape(text)}<form method="post" action="/act"><input type="hidden" name="id" value="{escape(made.id)}">'
        '<button name="do" value="approve">Approve with PIN</button><button name="do" value="fail">Decline</button>'
        "</form></li>"
    )
