"""Payment links as tests ask for them: by the API, and by their page."""

from __future__ import annotations

from typing import Any

import httpx

from build import Shop
from checkout.plain_browser import Sheet, open_page

PATH = "/checkout/payment-links"
TICKET: dict[str, Any] = {"name": "Workshop ticket", "currency": "NGN", "amount": 2500}
PAYER = {"name": "Bola Ade", "email": "bola@example.com"}


async def call(shop: Shop, method: str, path: str = "", body: Any = None, **query: Any) -> httpx.Response:
    headers = {"api-key": shop.secret_key}
    return await shop.client.request(method, PATH + path, json=body, params=query, headers=headers)


async def make(shop: Shop, **changes: Any) -> dict[str, Any]:
    fields = {name: value for name, value in {**TICKET, **changes}.items() if value is not ...}
    answer = await call(shop, "POST", body=fields)
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def get(shop: Shop, link: dict[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = (await call(shop, "GET", f"/{link['id']}")).json()["data"]
    return data


async def submit(client: httpx.AsyncClient, link: dict[str, Any], **fields: str) -> Sheet:
    return await send(await look(client, link), **fields)


async def send(page: Sheet, **fields: str) -> Sheet:
    return await page.send("", {"once": page.forms[0].fields["once"]}, **{**PAYER, **fields})


async def look(client: httpx.AsyncClient, link: dict[str, Any]) -> Sheet:
    return await open_page(client, path_in(link), follow_redirects=True)


def path_in(link: dict[str, Any]) -> str:
    return f"/link/{link['id']}"


def pay_code_of(sheet: Sheet) -> str:
    assert sheet.path.startswith("/pay/"), sheet.text
    return sheet.path.removeprefix("/pay/")
