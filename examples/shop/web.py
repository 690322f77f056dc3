"""The shop's pages."""

from __future__ import annotations

from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from examples.shop.cases import BY_NAME, CASES
from examples.shop.shop import HOOK_PATH, PLAYED, THINGS, Shop
from examples.shop.store import Purchase
from jinja2 import Environment, FileSystemLoader, select_autoescape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from tidegate_client import PaymentRecord

HERE = Path(__file__).parent
BODY_BYTES_MAX = 100_000
SIGNS = {"NGN": "₦", "KES": "KSh "}
# By the order's state: the heading, and what the shop does.
TITLES = {
    "waiting": ("is waiting for its payment", "Wait"),
    "delivered": ("is paid", "Deliver"),
    "not paid": ("was not paid", "Do not deliver"),
    "taken back": ("was taken back by the bank", "Ask the customer"),
    "refunded": ("was refunded", "Do not deliver"),
    "refunded in part": ("was refunded in part", "Deliver the rest"),
}


def money(amount: Decimal | int, currency: str) -> str:
    return f"{SIGNS[currency]}{amount:,.2f}"


def title(payment: PaymentRecord, state: str) -> tuple[str, str]:
    if state != "held":
        return TITLES[state]
    difference = payment.amount_received - payment.amount_expected
    words = "short" if difference < 0 else "too much"
    return f"is paid, {money(abs(difference), payment.currency)} {words}", "Hold, ask the customer"


def tone(words: str) -> str:
    """Of a line of what the shop saw: good, odd, or nothing special."""
    if "fits" in words or "is delivered" in words:
        return "good"
    odd = ("refused", "500", "is held", "is not paid", "taken back", "again", "could not")
    return "odd" if any(part in words for part in odd) else "plain"


_templates = Environment(loader=FileSystemLoader(HERE), autoescape=select_autoescape(("html",)), trim_blocks=True)
_templates.filters.update(money=money, tone=tone)


class ShopPages:
    """The client waits for its answers, so its calls are made in threads."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    def _page(self, kind: str, **facts: Any) -> HTMLResponse:
        groups = [(name, list(cases)) for name, cases in groupby(CASES, lambda case: case.group)]
        base = self._shop.client.base_url
        shown = {"kind": kind, "things": THINGS, "groups": groups, "base": base, "case": None, **facts}
        return HTMLResponse(_templates.get_template("shop.html").render(shown))

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
        if self._shop.store.find(reference) is None:
            return Response("there is no such order", 404)
        # The customer may be faster than the webhook.
        payment = await run_in_threadpool(self._shop.verify, reference)
        found = self._shop.store.find(reference)
        assert found is not None
        return self._order(found, payment)

    def _order(self, purchase: Purchase, payment: PaymentRecord) -> Response:
        notes = self._shop.store.notes(purchase.reference)
        case = BY_NAME.get(purchase.played or "")
        is_played = any(words == PLAYED for _, words in notes)
        heading, advice = title(payment, purchase.state)
        return self._page(
            "order", order=purchase, payment=payment, heading=heading, advice=advice, notes=notes, case=case,
            is_as_expected=is_played and case is not None and purchase.state == case.expected,
        )  # fmt: skip

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
            Route(HOOK_PATH, pages.hook, methods=["POST"]),
            Route("/shop.css", pages.style),
        ]
    )
