"""How many creates a second the API can do at most, with many payments stored: what fixed rates are shares of."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import cache
from statistics import median

from bench import line_create
from bench.stage import Stage

RUNS = 3
RUN_S = 3.0
WARM_UP_S = 1.0
AGAIN_S = 2.0
# Rows that look like a year of trade, each in its place in every index; ended, so that no worker wants them.
_STORE = """
    INSERT INTO payment (business_id, pay_code, reference, status, currency, asked_minor, expected_minor, fee_bearer,
                         fee_rule_id, methods, default_method, customer_name, customer_email, redirect_url,
                         request_hash, expires_at, created_at, updated_at)
    SELECT business.id, 'tg_' || business.code || '_' || left(md5(number::text), 22), 'stored-' || number, 'expired',
           'NGN', 250000, 250000, 'business', 'default-ngn-bank_transfer', '{{bank_transfer,card,ussd}}',
           'bank_transfer', 'Ada Obi', 'ada@example.com', 'https://shop.example.com/thanks',
           decode(md5(number::text), 'hex'), at + interval '2 hours', at, at
      FROM generate_series(1, {rows}) AS number
      JOIN (SELECT id, code, row_number() OVER (ORDER BY number) - 1 AS place, count(*) OVER () AS places
              FROM business WHERE id = ANY ('{{{businesses}}}')) AS business ON place = number % places,
           LATERAL (SELECT now() - ({rows} - number) * interval '1 year' / {rows} AS at) AS moment
"""


@dataclass(frozen=True)
class Capacity:
    per_second: float
    stored: int
    storing_took_s: float


@cache
def measure(stage: Stage) -> Capacity:
    """Once in a run, in the closed model, as the create line does."""
    began = time.monotonic()
    store(stage, stage.options.stored)
    took_s = time.monotonic() - began
    line_create.create(stage, stage.api, WARM_UP_S)
    rates = [line_create.create(stage, stage.api, RUN_S).per_second for _ in range(RUNS)]
    return Capacity(median(rates), line_create.count_rows(stage), took_s)


def again_per_s(stage: Stage) -> float:
    """As it is now, for what is divided by it: where cores are lent, a minute can halve it or double it."""
    return line_create.create(stage, stage.api, AGAIN_S).per_second


def store(stage: Stage, rows: int) -> None:
    businesses = ",".join(shop.business_id for shop in stage.shops)
    if rows:
        stage.execute(_STORE.format(rows=rows, businesses=businesses))
    stage.execute("VACUUM ANALYZE payment")
    # What is stored is on the disk: writing it back must not stand in the way of what is measured.
    stage.execute("CHECKPOINT")
    os.sync()
