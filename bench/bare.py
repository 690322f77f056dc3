"""The yardstick of reading: our own server around one route that answers with a constant."""

from __future__ import annotations

import os

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tidegate.infra.http.server import GentleServer, GentleSupervisor, bind, configure, stop_on_terminate

PATH = "/bare"


def from_environment() -> Starlette:
    """What each process loads, in the way `tidegate serve` loads the API."""
    constant = b"x" * int(os.environ["BENCH_BARE_BYTES"])

    async def answer(_: Request) -> Response:
        return Response(constant, media_type="application/json")

    return Starlette(routes=[Route(PATH, answer)])


def main() -> None:
    listening = bind("127.0.0.1", int(os.environ["PORT"]))
    workers = int(os.environ["BENCH_WORKERS"])
    config = configure("bench.bare:from_environment", factory=True, workers=workers)
    stop_on_terminate()
    if workers > 1:
        GentleSupervisor(config, [listening], drain_s=0).run()
    else:
        GentleServer(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
