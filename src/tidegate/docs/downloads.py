"""The clients' packages, for the program that hands them out: carried by its wheel, or made of a checkout's sources."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from tidegate.docs import client_package
from tidegate.infra.http.routing import Route, answering

FOLDER = "/clients"
PHP_FILE = "tidegate.php"
_CHECKOUT = Path(__file__).parents[3] / "clients"
_MEDIA_TYPES = {".whl": "application/zip", ".tgz": "application/gzip", ".php": "text/plain"}


@dataclass(frozen=True)
class Download:
    name: str
    make: Callable[[], bytes]

    @property
    def path(self) -> str:
        return f"{FOLDER}/{self.name}"

    @cached_property
    def body(self) -> bytes:
        return self.make()

    @property
    def ending(self) -> str:
        return self.name[self.name.rindex(".") :]


def packages(checkout: Path = _CHECKOUT) -> list[Download]:
    python, typescript = checkout / "python", checkout / "typescript"
    if python.exists():
        return [
            Download(client_package.tarball_name(typescript), lambda: client_package.tarball(typescript)),
            Download(PHP_FILE, (checkout / "php" / PHP_FILE).read_bytes),
            Download(client_package.wheel_name(python), lambda: client_package.wheel(python)),
        ]
    found = files("tidegate.docs").joinpath("clients").iterdir()
    return [Download(entry.name, entry.read_bytes) for entry in sorted(found, key=lambda entry: entry.name)]


def routes() -> list[Route]:
    return [_route(package) for package in packages()]


def _route(package: Download) -> Route:
    async def download(_: Request) -> Response:
        """Made when it is first asked for, in a thread, and kept."""
        body = await to_thread(lambda: package.body)
        return Response(body, media_type=_MEDIA_TYPES[package.ending])

    return answering(package.path, download)
