"""Served as ours is: one process, the fast loop, the fast parser, no access log."""

from __future__ import annotations

import os

import uvicorn

from bench.customary.app import app

if __name__ == "__main__":
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(os.environ["PORT"]),
        loop="uvloop",
        http="httptools",
        ws="none",
        access_log=False,
        log_level="warning",
    )
