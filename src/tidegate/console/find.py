"""The search of the console: merchants by name, everything else by its reference."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from tidegate.console import find_store
from tidegate.console.find_store import SearchResult
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.visible import visible
from tidegate.infra.page.response import Html
from tidegate.staff.permission import StaffPermission

TEXT_CHARS_MAX = 100


@dataclass(frozen=True)
class ConsoleSearch:
    shell: ConsoleShell

    async def show(self, visitor: ConsoleVisitor) -> Html:
        """One thing that is found by its whole reference is opened at once."""
        text = visible(visitor.request.query.get("q", "")).strip()[:TEXT_CHARS_MAX]
        found: list[SearchResult] = []
        if text:
            async with self.shell.db.connection() as tx:
                found = await find_store.find(tx, text)
        if len(found) == 1:
            return self.shell.to(page_of_result(found[0]))
        pages = [(one, page_of_result(one)) for one in found]
        return self.shell.page(visitor, "find.html", title="Find", sought=text, found=pages)

    def routes(self) -> list[ConsoleRoute]:
        return [ConsoleRoute("GET", "/find", "findInConsole", StaffPermission.SEE, self.show)]


def page_of_result(one: SearchResult) -> str:
    """Below the console."""
    match one.kind:
        case "merchant":
            return f"/merchants/{one.business_id}"
        case "inflow":
            return f"/held/{one.reference}"
        case "account":
            return f"/accounts/{one.reference}"
        case _:
            return f"/refunds/{one.business_id}/{quote(one.reference, safe='')}"
