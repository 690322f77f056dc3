"""The notification endpoints: one address per rail, recorded before the acknowledgement."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import Receive, Scope

from tidegate.core.clock import Clock
from tidegate.core.errors import MethodNotAllowed, NotFound, Unauthenticated
from tidegate.infra.http.body import read_body
from tidegate.infra.http.client import client_of
from tidegate.infra.http.operation import Headers, encode
from tidegate.infra.http.reply import Reply
from tidegate.infra.http.routing import Route
from tidegate.intake import commands
from tidegate.intake.refused import RefusedNotifications
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.event import RawNotification


@dataclass(frozen=True)
class IntakeApi:
    deps: PaymentDeps
    clock: Clock
    refused: RefusedNotifications
    base_url: str

    async def receive(self, scope: Scope, receive: Receive, reply: Reply) -> None:
        if scope["method"] != "POST":
            raise MethodNotAllowed(["POST"])
        scope["tidegate.operation"] = "receiveNotification"
        self.refused.check(scope)
        body = await read_body(Headers(scope["headers"]), scope, receive)
        rail = scope["path_params"]["rail"]
        base = urlsplit(self.base_url)
        raw = RawNotification(
            body,
            _headers(scope),
            authority=base.netloc,
            path=f"{base.path}/intake/{rail}",
            peer=client_of(scope),
        )
        try:
            count = await commands.receive(self.deps, rail, raw, self.clock)
        except (Unauthenticated, NotFound) as refusal:
            self.refused.count(refusal.error_type, str(refusal.__cause__ or refusal.message), scope)
            raise
        await reply.whole(200, encode({"success": True, "message": f"{count} recorded"}))

    def routes(self) -> list[Route]:
        return [Route("/intake/{rail}", self.receive)]


def _headers(scope: Scope) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
