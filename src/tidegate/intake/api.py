"""Where rails call us: one address per rail, raw bytes in, recorded before it is acknowledged."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from tidegate.core.clock import Clock
from tidegate.infra.http.body import read_body
from tidegate.infra.http.operation import Headers, encode
from tidegate.infra.http.routing import Route, answering
from tidegate.intake import commands
from tidegate.rail.interface import RawNotification
from tidegate.rail.till import Till


@dataclass(frozen=True)
class IntakeApi:
    till: Till
    clock: Clock

    async def receive(self, request: Request) -> Response:
        request.scope["tidegate.operation"] = "receiveNotification"
        body = await read_body(Headers(request.scope["headers"]), request.scope, request.receive)
        raw = RawNotification(body, {name.lower(): value for name, value in request.headers.items()})
        count = await commands.receive(self.till, request.path_params["rail"], raw, now=self.clock.now())
        return Response(encode({"success": True, "message": f"{count} recorded"}), media_type="application/json")

    def routes(self) -> list[Route]:
        return [answering("/intake/{rail}", self.receive, methods=["POST"])]
