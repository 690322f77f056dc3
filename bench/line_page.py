"""Page views per second, over a bare route with as many bytes; and how long an open page takes to show money.

The pages are of many businesses, in five languages and all states, as they come.
"""

from __future__ import annotations

import http.client
import json
import time
from typing import Any

from bench import bare, process, traffic
from bench.delay import Delay
from bench.line import BenchFailed, Line, Sample
from bench.line_create import ORDER, PATH
from bench.stage import Shop, Stage

# Payers are limited by address, so that many must be looking.
ADDRESSES = 4_000
# As many pages are weighed for the yardstick.
SAMPLE = 100
NOTICES = 30
NOTICE_WITHIN_S = 30.0
LANGUAGES = ("en-GB,en;q=0.9", "fr-FR,fr;q=0.9", "sw", "pt-PT,pt;q=0.8", "ar")

NAIRA: dict[str, Any] = {}
SHILLINGS: dict[str, Any] = {"currency": "KES"}
CARD: dict[str, Any] = {"expiryMonth": 12, "expiryYear": 2040, "cvv": "123"}
# The order, and what the payer has done since: a charge, a cancellation, or nothing. Most pages are new ones.
STATES: tuple[tuple[dict[str, Any], dict[str, Any] | str | None], ...] = (
    *[(NAIRA, None)] * 4,
    *[(SHILLINGS, None)] * 2,
    *[(NAIRA, {"type": "bank_transfer"})] * 4,
    *[(SHILLINGS, {"type": "mobile_money", "phone": "0712345678"})] * 2,
    (NAIRA, {"type": "payAttitude", "bank": "058"}),
    (NAIRA, {"type": "card", "card": {"number": "5366139833864633", **CARD}}),
    (NAIRA, {"type": "card", "card": {"number": "4084080000000409", **CARD}}),
    (NAIRA, {"type": "card", "card": {"number": "4960215093757593", **CARD}}),
    (SHILLINGS, {"type": "mobile_money", "phone": "0712340005"}),
    (NAIRA, {"type": "card", "card": {"number": "4084080000005408", **CARD}}),
    *[(NAIRA, {"type": "card", "card": {"number": "5319317801366660", **CARD}})] * 2,
    (NAIRA, "/cancel"),
)


def line(stage: Stage) -> Line:
    shops = stage.open_shops([_business(number) for number in range(stage.options.businesses)])
    pay_codes = [_payment(stage, shop, number) for number, shop in enumerate(shops)]
    requests = [
        traffic.request("GET", f"/pay/{pay_codes[number % len(pay_codes)]}", _browser(number))
        for number in range(ADDRESSES)
    ]
    sizes = [_page_bytes(stage, pay_code, number) for number, pay_code in enumerate(pay_codes[:SAMPLE])]
    body_bytes = sum(sizes) // len(sizes)
    server = stage.start_server(
        ["bench.bare"],
        ready_path=bare.PATH,
        env={"BENCH_BARE_BYTES": str(body_bytes), "BENCH_WORKERS": str(stage.options.workers)},
    )
    bare_requests = [traffic.request("GET", bare.PATH, _browser(number)) for number in range(ADDRESSES)]

    def ours(seconds: float) -> Sample:
        return stage.send(stage.api, requests, expected_status=200, seconds=seconds)

    def yardstick(seconds: float) -> Sample:
        return stage.send(server, bare_requests, expected_status=200, seconds=seconds)

    return Line(
        name="page",
        description=f"checkout pages of {len(shops)} businesses shown",
        yardstick=f"bare route, {body_bytes} bytes",
        run_ours=ours,
        run_yardstick=yardstick,
        target=0.05,
    )


def _business(number: int) -> dict[str, Any]:
    settings: dict[str, Any] = {"name": f"Lekki Coffee Roasters {number}"}
    if number % 3:
        settings["accent"] = f"#{number * 40_503 % 2**24:06x}"
    if number % 2:
        settings["support_email"] = f"hello{number}@shop.example"
    return settings


def _payment(stage: Stage, shop: Shop, number: int) -> str:
    order, done = STATES[number % len(STATES)]
    description = {"metadata": {"description": f"{number} × House blend, 1 kg"}} if number % 2 else {}
    pay_code = _create(stage, shop, f"page-{number}", **order, **description, amount=100 + number)
    if done is not None:
        path = f"{PATH}/{pay_code}{done if isinstance(done, str) else '/charge'}"
        body = json.dumps(done).encode() if isinstance(done, dict) else b"{}"
        _post(stage, path, _browser(number), body, expected=200)
    return pay_code


def notice(stage: Stage) -> Delay:
    def measure() -> list[float]:
        with stage.worker():
            return [_notice(stage, number) for number in range(NOTICES)]

    return Delay(
        name="notice",
        description="from a transfer to the open page that shows it",
        aim_s=1.0,
        measure=measure,
    )


def _browser(number: int) -> dict[str, str]:
    address = f"10.{number // 62_500}.{number // 250 % 250}.{number % 250 + 1}"
    language = LANGUAGES[number % len(LANGUAGES)]
    return {"accept-encoding": "gzip, br", "accept-language": language, "x-forwarded-for": address}


def _create(stage: Stage, shop: Shop, reference: str, **changes: Any) -> str:
    body = json.dumps({**ORDER, "reference": reference, **changes}).encode()
    headers = {**shop.create_headers, "content-type": "application/json"}
    status, answer = stage.api.ask("POST", PATH, headers=headers, body=body)
    if status != 201:
        raise BenchFailed(f"the API refused the order: {status} {answer.decode()}")
    return str(json.loads(answer)["data"]["payCode"])


def _page_bytes(stage: Stage, pay_code: str, number: int) -> int:
    status, answer = stage.api.get(f"/pay/{pay_code}", _browser(number))
    if status != 200:
        raise BenchFailed(f"the page answered {status} {answer.decode(errors='replace')[:500]}")
    return len(answer)


def _notice(stage: Stage, number: int) -> float:
    """What the page's script does: hears of a new version, fetches the page, shows it."""
    shop = stage.shops[0]
    pay_code = _create(stage, shop, f"notice-{number}")
    visitor = {"x-forwarded-for": _browser(number)["x-forwarded-for"]}
    account = _begin(stage, pay_code, visitor)
    stream = http.client.HTTPConnection(process.HOST, stage.api.port, timeout=NOTICE_WITHIN_S)
    try:
        stream.request("GET", f"{PATH}/{pay_code}/events", headers=visitor)
        events = stream.getresponse()
        _await_line(events, b'"status":"pending"')
        transfer = {"accountNumber": account, "amount": ORDER["amount"], "currency": ORDER["currency"]}
        body = json.dumps({**transfer, "payer": {"name": "Ada Obi"}}).encode()
        started = time.perf_counter()
        _post(stage, "/sandbox/transfers", {"api-key": shop.secret_key}, body, expected=201)
        _await_line(events, b'"status":"success"')
        _, page = stage.api.get(f"/pay/{pay_code}", visitor)
        ended = time.perf_counter()
    finally:
        stream.close()
    if b"paid</h1>" not in page:
        raise BenchFailed("the page does not show the money")
    return ended - started


def _begin(stage: Stage, pay_code: str, visitor: dict[str, str]) -> str:
    answer = _post(stage, f"{PATH}/{pay_code}/charge", visitor, b'{"type": "bank_transfer"}', expected=200)
    return str(json.loads(answer)["data"]["action"]["virtualAccount"]["accountNumber"])


def _post(stage: Stage, path: str, headers: dict[str, str], body: bytes, *, expected: int) -> bytes:
    status, answer = stage.api.ask("POST", path, headers={**headers, "content-type": "application/json"}, body=body)
    if status != expected:
        raise BenchFailed(f"{path} answered {status} {answer.decode(errors='replace')}")
    return answer


def _await_line(events: http.client.HTTPResponse, wanted: bytes) -> None:
    while line := events.readline():
        if wanted in line:
            return
    raise BenchFailed("the event stream ended before its news came")
