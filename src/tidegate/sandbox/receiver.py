"""Where the sample month's webhooks go: a receiver at an address of the sandbox itself. Absent in live mode.

It takes every event but some of the sample month's, which it refuses until they are sent again by hand.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from tidegate.audit.model import Actor
from tidegate.core.errors import NotFound
from tidegate.infra.db import Database, Tx
from tidegate.infra.http.body import read_body
from tidegate.infra.http.operation import Headers
from tidegate.infra.http.request_limit import Allowance, Limiter
from tidegate.infra.http.routing import Route, answering, path_of
from tidegate.infra.vault import Vault
from tidegate.sandbox import store
from tidegate.sandbox.sample import is_overpaid
from tidegate.webhook import commands as webhooks
from tidegate.webhook import store as webhook_store
from tidegate.webhook.model import EVENTS_ALWAYS, NewEndpoint

PATH = "/sandbox/receiver"
EVENTS = (*EVENTS_ALWAYS, "refund.successful")
ALL = Allowance("webhooks of the sandbox", per_second=200.0, burst=2_000)
EVENT_ID_CHARS_MAX = 100


def address_of(base_url: str, business_id: str) -> str:
    return f"{base_url}{PATH}/{business_id}"


async def place(tx: Tx, vault: Vault, business_id: str, base_url: str, *, by: Actor, now: datetime) -> None:
    """The endpoint of a business that has none, so that its sample month has deliveries."""
    if await webhook_store.list_all(tx, business_id):
        return
    new = NewEndpoint(url=address_of(base_url, business_id), events=EVENTS, description="The sandbox's own receiver")
    await webhooks.create(tx, vault, business_id, new, by=by, now=now)


class Receiver:
    def __init__(self, db: Database, limiter: Limiter) -> None:
        self._db = db
        self._limiter = limiter

    def routes(self) -> list[Route]:
        return [answering(f"{PATH}/{{business}}", self._receive, methods=["POST"], limit=self._refuse_flood)]

    async def _receive(self, request: Request) -> Response:
        headers = Headers(request.scope["headers"])
        await read_body(headers, request.scope, request.receive)
        event_id = (headers.one(b"webhook-id") or "")[:EVENT_ID_CHARS_MAX]
        async with self._db.connection() as tx:
            found = await store.find_sent_event(tx, path_of(request.scope)["business"], event_id)
        if found is None:
            raise NotFound("no event with this `webhook-id` was sent to this business")
        if is_overpaid(found.reference) and not found.is_resent:
            return _answer(500, "the sample shop could not write this order; send the event again")
        return _answer(200, "received")

    def _refuse_flood(self, scope: Scope) -> None:
        scope["tidegate.operation"] = "receiveWebhook"
        self._limiter.check((ALL.of(""),), "too many webhooks; wait a little")


def _answer(status: int, message: str) -> Response:
    return Response(msgspec.json.encode({"message": message}), status, media_type="application/json")
