"""The shop's pages."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from examples.shop.cases import BY_NAME, CASES
from examples.shop.shop import PLAYED, THINGS, Shop
from examples.shop.store import Purchase
from jinja2 import Environment, FileSystemLoader, select_autoescape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

HERE = Path(__file__).parent
BODY_BYTES_MAX = 100_000
_templates = Environment(loader=FileSystemLoader(HERE), autoescape=select_autoescape(("html",)), trim_blocks=True)


class ShopPages:
    """The client waits for its answers, so its calls are made in threads."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    def _page(self, kind: str, purchase: Purchase | None = None, **facts: Any) -> HTMLResponse:
        groups = [(name, list(cases)) for name, cases in groupby(CASES, lambda case: case.group)]
        base = self._shop.client.base_url
        template = _templates.get_template("shop.html")
        shown = template.render(kind=kind, things=THINGS, groups=groups, base=base, order=purchase, **facts)
        return HTMLResponse(shown)

    async def front(self, _: Request) -> Response:
        return self._page("shop")

    async def buy(self, request: Request) -> Response:
        body = (await request.body())[:BODY_BYTES_MAX].decode("utf-8", "replace")
        thing = parse_qs(body, max_num_fields=5).get("thing", [""])[0]
        if thing not in THINGS:
            return Response("there is no such thing", 404)
        purchase = await run_in_threadpool(self._shop.order, thing)
        return RedirectResponse(f"/orders/{purchase.reference}", 303)

    async def play(self, request: Request) -> Response:
        case = BY_NAME.get(request.path_params["name"])
        if case is None:
            return Response("there is no such case", 404)
        purchase = await run_in_threadpool(self._shop.play, case)
        return RedirectResponse(f"/orders/{purchase.reference}", 303)

    async def show_order(self, request: Request) -> Response:
        reference = request.path_params["reference"]
        found = self._shop.store.find(reference)
        if found is None:
            return Response("there is no such order", 404)
        # The webhook decides; an order that has heard nothing is asked about.
        await run_in_threadpool(self._shop.verify, reference)
        notes = self._shop.store.notes(reference)
        is_played = any(words == PLAYED for _, words in notes)
        return self._page("order", self._shop.store.find(reference), notes=notes, is_played=is_played)

    async def thanks(self, request: Request) -> Response:
        """Anybody can open this address: the order's page says what is true."""
        return RedirectResponse(f"/orders/{request.query_params.get('reference', '')}", 303)

    async def orders(self, _: Request) -> Response:
        return self._page("orders", orders=self._shop.store.newest())

    async def log(self, _: Request) -> Response:
        return self._page("log", events=self._shop.store.events())

    async def hook(self, request: Request) -> Response:
        body = await request.body()
        if len(body) > BODY_BYTES_MAX:
            return Response(status_code=413)
        status = await run_in_threadpool(self._shop.receive, body, dict(request.headers))
        return Response(status_code=status)

    async def style(self, _: Request) -> Response:
        return FileResponse(HERE / "shop.css")


def application(shop: Shop) -> Starlette:
    pages = ShopPages(shop)
    return Starlette(
        routes=[
            Route("/", pages.front),
            Route("/buy", pages.buy, methods=["POST"]),
            Route("/cases/{name}", pages.play, methods=["POST"]),
            Route("/orders", pages.orders),
            Route("/orders/{reference}", pages.show_order),
            Route("/thanks", pages.thanks),
            Route("/log", pages.log),
            Route("/hook", pages.hook, methods=["POST"]),
            Route("/shop.css", pages.style),
        ]
    )
