"""Verifies and checkout pages per second, over a bare route of the same server that answers with as many bytes.

The pages are of many businesses, with brands and descriptions, in five languages and all states, as they come.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from bench import bare, traffic
from bench.create import ORDER, PAID_CARD, PATH, card
from bench.environment import Environment, Shop
from bench.report import BenchFailed, Line
from tidegate.core import ids

VERIFIED_PER_SHOP = 50
# Payers are limited by address, so there must be many.
ADDRESSES = 4_000
# So many pages are weighed for the yardstick.
SAMPLE = 100
LANGUAGES = ("en-GB,en;q=0.9", "fr-FR,fr;q=0.9", "sw", "pt-PT,pt;q=0.8", "ar")

NAIRA: dict[str, Any] = {}
SHILLINGS: dict[str, Any] = {"currency": "KES"}
# The order, and what the payer has done since: a charge, a cancellation, or nothing. Most pages are new ones.
STATES: tuple[tuple[dict[str, Any], dict[str, Any] | str | None], ...] = (
    *[(NAIRA, None)] * 4,
    *[(SHILLINGS, None)] * 2,
    *[(NAIRA, {"type": "bank_transfer"})] * 4,
    *[(SHILLINGS, {"type": "mobile_money", "phone": "0712345678"})] * 2,
    (NAIRA, {"type": "payAttitude", "bank": "058"}),
    (NAIRA, card("5366139833864633")),
    (NAIRA, card("4084080000000409")),
    (NAIRA, card("4960215093757593")),
    (SHILLINGS, {"type": "mobile_money", "phone": "0712340005"}),
    (NAIRA, card("4084080000005408")),
    *[(NAIRA, PAID_CARD)] * 2,
    (NAIRA, "/cancel"),
)


def verify(environment: Environment) -> Line:
    asked = make_verifiable(environment)
    answer = environment.api.ask(*asked[0])
    if json.loads(answer)["data"]["merchantReference"] not in asked[0][0]:
        raise BenchFailed(f"verify answered {answer.decode()}")
    return _over_bare(environment, "verify", asked, len(answer), target=0.6)


def make_verifiable(environment: Environment) -> list[tuple[str, dict[str, str]]]:
    """New payments; the path and the headers that verify each of them."""
    asked = []
    for shop in environment.shops * VERIFIED_PER_SHOP:
        reference = ids.new_event_id()
        environment.api.post(PATH, {**ORDER, "reference": reference}, shop.create_headers)
        asked.append((f"{PATH}/merchant-reference/{reference}", shop.verify_headers))
    return asked


def page(environment: Environment) -> Line:
    shops = environment.open_shops([_brand(number) for number in range(environment.options.businesses)])
    pages = [f"/pay/{_payment(environment, shop, number)}" for number, shop in enumerate(shops)]
    asked = [(pages[number % len(pages)], browser(number)) for number in range(ADDRESSES)]
    sizes = [len(environment.api.ask(path, headers)) for path, headers in asked[:SAMPLE]]
    return _over_bare(environment, "page", asked, sum(sizes) // len(sizes), target=0.05)


def _over_bare(
    environment: Environment, name: str, asked: Sequence[tuple[str, dict[str, str]]], body_bytes: int, *, target: float
) -> Line:
    server = environment.start_server(["bench.bare"], ready_path=bare.PATH, env={"BENCH_BARE_BYTES": str(body_bytes)})
    requests = [traffic.request("GET", path, headers) for path, headers in asked]
    # The same headers, so that reading the request costs the same.
    bare_requests = [traffic.request("GET", bare.PATH, headers) for _, headers in asked]
    ours = partial(traffic.send, environment, environment.api, requests, 200)
    yardstick = partial(traffic.send, environment, server, bare_requests, 200)
    return Line(name, f"bare route, {body_bytes:,} bytes", ours, yardstick, target)


def _brand(number: int) -> dict[str, Any]:
    settings: dict[str, Any] = {"name": f"Lekki Coffee Roasters {number}"}
    if number % 3:
        settings["accent"] = f"#{number * 40_503 % 2**24:06x}"
    if number % 2:
        settings["support_email"] = f"hello{number}@shop.example"
    return settings


def _payment(environment: Environment, shop: Shop, number: int) -> str:
    order, done = STATES[number % len(STATES)]
    description = {"metadata": {"description": f"{number} × House blend, 1 kg"}} if number % 2 else {}
    created = {**ORDER, "reference": f"page-{number}", **order, **description, "amount": 100 + number}
    pay_code = str(environment.api.post(PATH, created, shop.create_headers)["payCode"])
    if isinstance(done, dict):
        environment.api.post(f"{PATH}/{pay_code}/charge", done, browser(number))
    elif done:
        environment.api.post(f"{PATH}/{pay_code}{done}", {}, browser(number))
    return pay_code


def browser(number: int) -> dict[str, str]:
    address = f"10.{number // 62_500}.{number // 250 % 250}.{number % 250 + 1}"
    language = LANGUAGES[number % len(LANGUAGES)]
    return {"accept-encoding": "gzip, br", "accept-language": language, "x-forwarded-for": address}
