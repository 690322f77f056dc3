"""The clients' packages, handed out by the program that they fit. `make clients` writes them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from tidegate.infra.http.routing import Route, answering

FOLDER = "/clients"
_MEDIA_TYPES = {".whl": "application/zip", ".tgz": "application/gzip"}


@dataclass(frozen=True)
class Download:
    name: str
    body: bytes

    @property
    def path(self) -> str:
        return f"{FOLDER}/{self.name}"

    @property
    def ending(self) -> str:
        return self.name[self.name.rindex(".") :]


def packages() -> list[Download]:
    found = (entry for entry in files("tidegate.docs").joinpath("clients").iterdir())
    return [Download(entry.name, entry.read_bytes()) for entry in sorted(found, key=lambda entry: entry.name)]


def routes() -> list[Route]:
    return [_route(package) for package in packages()]


def _route(package: Download) -> Route:
    async def download(_: Request) -> Response:
        return Response(package.body, media_type=_MEDIA_TYPES[package.ending])

    return answering(package.path, download)
