"""Pages of statements and balances per second, of a wallet with a million entries over one with a thousand.

Growth, not speed: the same question to the same API, and how much slower it is where there is more.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

from bench import traffic
from bench.line import BenchFailed, Line, Sample
from bench.stage import Shop, Stage

FEW, MANY = 1_000, 1_000_000
CURRENCY = "NGN"
# At most 1.3 times the time is at least this share of the rate.
TARGET = 1 / 1.3
# A credit of one naira every 30 seconds, up to now; as journals and wallets have them.
_FILL = """
    SET session_replication_role = replica;
    INSERT INTO journal (business_id, kind, cause, event_at, created_at)
    SELECT '{business_id}', 'checkout_settled', 'bench/' || number, at, at
      FROM generate_series(1, {entries}) AS number, LATERAL (
          SELECT now() - ({entries} - number) * interval '30 seconds' AS at) AS moment
     ORDER BY number;
    INSERT INTO entry (business_id, journal_id, line, account, currency, amount_minor, balance_after_minor)
    SELECT business_id, id, line.number, line.account, '{currency}', line.minor,
           CASE line.account WHEN 'wallet' THEN 100 * row_number() OVER (PARTITION BY line.number ORDER BY id) END
      FROM journal, (VALUES (1, 'rail', -100), (2, 'wallet', 100)) AS line (number, account, minor)
     WHERE business_id = '{business_id}' AND cause LIKE 'bench/%';
    INSERT INTO wallet (business_id, currency, balance_minor, created_at, updated_at)
    VALUES ('{business_id}', '{currency}', 100 * {entries}, now(), now());
    SET session_replication_role = origin;
    ANALYZE journal, entry, wallet;
"""


def page(stage: Stage) -> Line:
    return _line(
        stage, "statement", "newest page of a statement", f"/wallets/{CURRENCY}/statement?perPage=10", _has_page
    )


def balance(stage: Stage) -> Line:
    return _line(stage, "balance", "balances of a business", "/wallets", _has_balance)


def _line(stage: Stage, name: str, description: str, path: str, refuse: Callable[[bytes, int], None]) -> Line:
    runs = []
    for shop, entries in zip(stage.shops[-2:], (MANY, FEW), strict=True):
        _fill(stage, shop, entries)
        headers = {"api-key": shop.secret_key}
        status, answer = stage.api.get(path, headers)
        if status != 200:
            raise BenchFailed(f"{path} answered {status} {answer.decode()}")
        refuse(answer, entries)
        runs.append(partial(_run, stage, traffic.request("GET", path, headers)))
    return Line(
        name=name,
        description=f"{description}, {MANY:,} entries",
        yardstick=f"the same, {FEW:,} entries",
        run_ours=runs[0],
        run_yardstick=runs[1],
        target=TARGET,
    )


def _run(stage: Stage, request: str, seconds: float) -> Sample:
    return stage.send(stage.api, [request], expected_status=200, seconds=seconds)


def _fill(stage: Stage, shop: Shop, entries: int) -> None:
    found = stage.fetchrow("SELECT count(*) FROM wallet WHERE business_id = $1", shop.business_id)
    if not found["count"]:
        stage.execute(_FILL.format(business_id=shop.business_id, entries=entries, currency=CURRENCY))


def _has_page(answer: bytes, entries: int) -> None:
    found = json.loads(answer)["data"]
    if len(found["results"]) != 10 or found["closingBalance"] != entries:
        raise BenchFailed(f"a statement of {entries:,} entries says {answer.decode()[:500]}")


def _has_balance(answer: bytes, entries: int) -> None:
    [wallet] = json.loads(answer)["data"]
    if wallet["availableBalance"] != entries:
        raise BenchFailed(f"a wallet of {entries:,} entries says {answer.decode()[:500]}")
