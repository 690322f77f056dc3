"""Page views per second, over a bare route with as many bytes; and how long an open page takes to show money."""

from __future__ import annotations

import http.client
import json
import time

from bench import bare, process, traffic
from bench.delay import Delay
from bench.line import BenchFailed, Line, Sample
from bench.line_create import ORDER, PATH
from bench.stage import Shop, Stage

PAYMENTS = 400
# Payers are limited by address, so that many must be looking.
ADDRESSES = 4_000
NOTICES = 30
NOTICE_WITHIN_S = 30.0


def line(stage: Stage) -> Line:
    pay_codes = [_create(stage, stage.shops[number % len(stage.shops)], f"page-{number}") for number in range(PAYMENTS)]
    requests = [
        traffic.request("GET", f"/pay/{pay_codes[number % PAYMENTS]}", _browser(number)) for number in range(ADDRESSES)
    ]
    body_bytes = _page_bytes(stage, pay_codes[0])
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
        description="checkout pages shown",
        yardstick=f"bare route, {body_bytes} bytes",
        run_ours=ours,
        run_yardstick=yardstick,
        target=0.4,
    )


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
    return {"accept-encoding": "gzip, br", "accept-language": "en-GB,en;q=0.9", "x-forwarded-for": address}


def _create(stage: Stage, shop: Shop, reference: str) -> str:
    body = json.dumps({**ORDER, "reference": reference}).encode()
    headers = {**shop.create_headers, "content-type": "application/json"}
    status, answer = stage.api.ask("POST", PATH, headers=headers, body=body)
    if status != 201:
        raise BenchFailed(f"the API refused the order: {status} {answer.decode()}")
    return str(json.loads(answer)["data"]["payCode"])


def _page_bytes(stage: Stage, pay_code: str) -> int:
    status, answer = stage.api.get(f"/pay/{pay_code}", _browser(0))
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
