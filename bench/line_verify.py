"""Verifies per second, over a bare route of the same server that answers with as many bytes."""

from __future__ import annotations

import json

from bench import bare, traffic
from bench.line import BenchFailed, Line, Sample
from bench.line_create import ORDER, PATH
from bench.stage import Shop, Stage

PAYMENTS_PER_SHOP = 50


def line(stage: Stage) -> Line:
    asked = [(shop, reference) for shop in stage.shops for reference in _create_payments(stage, shop)]
    requests = [traffic.request("GET", _path(reference), shop.verify_headers) for shop, reference in asked]
    body_bytes = _answer_bytes(stage, *asked[0])
    server = stage.start_server(
        ["bench.bare"],
        ready_path=bare.PATH,
        env={"BENCH_BARE_BYTES": str(body_bytes), "BENCH_WORKERS": str(stage.options.workers)},
    )
    # The same headers, so that reading the request costs the same.
    bare_requests = [traffic.request("GET", bare.PATH, shop.verify_headers) for shop in stage.shops]

    def ours(seconds: float) -> Sample:
        return stage.send(stage.api, requests, expected_status=200, seconds=seconds)

    def yardstick(seconds: float) -> Sample:
        return stage.send(server, bare_requests, expected_status=200, seconds=seconds)

    return Line(
        name="verify",
        description="payments verified",
        yardstick=f"bare route, {body_bytes} bytes",
        run_ours=ours,
        run_yardstick=yardstick,
        target=0.6,
    )


def _path(reference: str) -> str:
    return f"{PATH}/merchant-reference/{reference}"


def _create_payments(stage: Stage, shop: Shop) -> list[str]:
    references = [f"verify-{shop.code}-{number}" for number in range(PAYMENTS_PER_SHOP)]
    headers = {**shop.create_headers, "content-type": "application/json"}
    for reference in references:
        body = json.dumps({**ORDER, "reference": reference}).encode()
        status, answer = stage.api.ask("POST", PATH, headers=headers, body=body)
        if status != 201:
            raise BenchFailed(f"the API refused the order: {status} {answer.decode()}")
    return references


def _answer_bytes(stage: Stage, shop: Shop, reference: str) -> int:
    status, answer = stage.api.get(_path(reference), shop.verify_headers)
    if status != 200 or json.loads(answer)["data"]["merchantReference"] != reference:
        raise BenchFailed(f"verify answered {status} {answer.decode()}")
    return len(answer)
