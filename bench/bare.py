"""The yardstick of reading: our own server around one route that answers with a constant."""

from __future__ import annotations

import os

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tidegate.infra.http.server import bind, serve

PATH = "/bare"


def main() -> None:
    constant = b"x" * int(os.environ["BENCH_BARE_BYTES"])

    async def answer(_: Request) -> Response:
        return Response(constant, media_type="application/json")

    serve(Starlette(routes=[Route(PATH, answer)]), bind("127.0.0.1", int(os.environ["PORT"])))


if __name__ == "__main__":
    main()
