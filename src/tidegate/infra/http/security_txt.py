"""/.well-known/security.txt: whom to tell about a weakness (RFC 9116)."""

from __future__ import annotations

from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response

from tidegate.core.clock import Clock
from tidegate.infra.http.routing import Route, answering

PATH = "/.well-known/security.txt"
# Counted from each request: it is as fresh as the deployment that answers.
LASTS = timedelta(days=180)


def routes(contact: str, base_url: str, clock: Clock) -> list[Route]:
    """None without a contact."""

    async def show(_: Request) -> Response:
        expires = (clock.now() + LASTS).replace(microsecond=0)
        lines = (
            f"Contact: {contact}",
            f"Expires: {expires.isoformat().replace('+00:00', 'Z')}",
            "Preferred-Languages: en",
            f"Canonical: {base_url}{PATH}",
        )
        return Response("".join(f"{line}\n" for line in lines), media_type="text/plain")

    return [answering(PATH, show)] if contact else []
