"""The yardstick of reading: our own server around one route that answers with a constant."""

from __future__ import annotations

import os
import socket

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tidegate.infra.http.server import bind, serve
from tidegate.infra.supervisor import Supervisor

PATH = "/bare"


def serve_constant(listening: socket.socket) -> None:
    """What each process runs."""
    constant = b"x" * int(os.environ["BENCH_BARE_BYTES"])

    async def answer(_: Request) -> Response:
        return Response(constant, media_type="application/json")

    serve(Starlette(routes=[Route(PATH, answer)]), listening)


def main() -> None:
    listening = bind("127.0.0.1", int(os.environ["PORT"]))
    Supervisor("bench.bare:serve_constant", listening, count=int(os.environ["BENCH_WORKERS"])).run()


if __name__ == "__main__":
    main()
