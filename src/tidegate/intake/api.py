"""The notification endpoints: one address per rail, recorded before the acknowledgement."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import Receive, Scope

from tidegate.core.clock import Clock
from tidegate.core.errors import Invalid, MethodNotAllowed, NotFound, Unauthenticated
from tidegate.infra.http.body import read_body
from tidegate.infra.http.operation import Headers, encode
from tidegate.infra.http.reply import Reply
from tidegate.infra.http.routing import Route
from tidegate.intake import commands
from tidegate.intake.refused import RefusedNotifications
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.interface import RawNotification


@dataclass(frozen=True)
class IntakeApi:
    deps: PaymentDeps
    clock: Clock
    refused: RefusedNotifications

    async def receive(self, scope: Scope, receive: Receive, reply: Reply) -> None:
        if scope["method"] != "POST":
            raise MethodNotAllowed(["POST"])
        scope["tidegate.operation"] = "receiveNotification"
        self.refused.check(scope)
        body = await read_body(Headers(scope["headers"]), scope, receive)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        rail = scope["path_params"]["rail"]
        try:
            count = await commands.receive(self.deps, rail, RawNotification(body, headers), self.clock)
        except (Unauthenticated, Invalid, NotFound) as refusal:
            self.refused.count(refusal.error_type, str(refusal.__cause__ or refusal.message), scope)
            raise
        await reply.whole(200, encode({"success": True, "message": f"{count} recorded"}))

    def routes(self) -> list[Route]:
        return [Route("/intake/{rail}", self.receive)]
