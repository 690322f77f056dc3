"""Overview: what must be looked at now."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.infra.page.response import Html
from tidegate.staff.permission import StaffPermission


@dataclass(frozen=True)
class Overview:
    shell: ConsoleShell

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return self.shell.page(visitor, "overview.html", title="Overview", section="Overview")

    def routes(self) -> list[ConsoleRoute]:
        return [ConsoleRoute("GET", "", "showConsole", StaffPermission.SEE, self.show)]
