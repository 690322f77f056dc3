"""The child of `tidegate dev`: API and worker on one event loop."""

from __future__ import annotations

import socket
from functools import partial

import uvloop

from tidegate import app
from tidegate.cli.worker_process import work
from tidegate.docs.routes import SandboxKeys
from tidegate.infra import memory, telemetry
from tidegate.infra.http.server import GracefulServer, configure
from tidegate.infra.supervisor import stop_on_terminate
from tidegate.runtime import running
from tidegate.settings import Settings

# Ctrl-C must not wait for a receiver that hangs.
GRACE_S = 1.0


def run(settings: Settings, keys: SandboxKeys, listening: socket.socket) -> None:
    telemetry.configure_logs(as_json=False, level="warning")
    stop_on_terminate()
    uvloop.run(_serve_and_work(settings, keys, listening))


async def _serve_and_work(settings: Settings, keys: SandboxKeys, listening: socket.socket) -> None:
    meter = telemetry.Meter()
    server = GracefulServer(configure(app.build(settings, sandbox_keys=keys, meter=meter)))
    memory.tune_gc()
    async with running(partial(work, settings, meter, grace_s=GRACE_S)):
        await server.serve(sockets=[listening])
