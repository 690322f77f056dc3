"""What the control port of every emulated API can do: move its clock, and let the next calls fail."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol

from aiohttp import web

from tidegate.emulator.faults import Fault, FaultKind, Faults
from tidegate.emulator.http import ApiHandler


class ControlledService(Protocol):
    faults: Faults

    def now(self) -> datetime: ...

    def advance(self, by: timedelta) -> None: ...


@web.middleware
async def plain_refusals(request: web.Request, handler: ApiHandler) -> web.StreamResponse:
    """What cannot be done is answered with 400 and why."""
    try:
        return await handler(request)
    except KeyError as missing:
        raise web.HTTPBadRequest(text=f"{missing.args[0]!r} is missing or not known") from None
    except (TypeError, ValueError, ArithmeticError) as error:
        raise web.HTTPBadRequest(text=f"this is not understood: {error}") from None


def common_routes(service: ControlledService) -> list[web.RouteDef]:
    async def advance(request: web.Request) -> web.Response:
        service.advance(timedelta(seconds=float((await request.json())["seconds"])))
        return web.json_response({"now": service.now().isoformat()})

    async def fault(request: web.Request) -> web.Response:
        """The next calls of a path fail; without a kind, none any more."""
        asked = await request.json()
        if "kind" in asked:
            times, method = int(asked.get("times", 1)), asked.get("method", "")
            service.faults.add(Fault(FaultKind(asked["kind"]), asked.get("path", ""), times, method))
        else:
            service.faults.clear()
        return web.json_response({})

    return [web.post("/advance", advance), web.post("/fault", fault)]
