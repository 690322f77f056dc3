"""Pages of a statement per second, of a wallet with a million entries over one with a thousand: growth, not speed."""

from __future__ import annotations

import json
from functools import partial

from bench import traffic
from bench.environment import Environment
from bench.report import BenchFailed, Line

FEW, MANY = 1_000, 1_000_000
CURRENCY = "NGN"
PER_PAGE = 10
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


def line(environment: Environment) -> Line:
    path = f"/wallets/{CURRENCY}/statement?perPage={PER_PAGE}"
    runs = []
    for shop, entries in zip(environment.shops[-2:], (MANY, FEW), strict=True):
        environment.execute(_FILL.format(business_id=shop.business_id, entries=entries, currency=CURRENCY))
        headers = {"api-key": shop.secret_key}
        found = json.loads(environment.api.ask(path, headers))["data"]
        if len(found["results"]) != PER_PAGE or found["closingBalance"] != entries:
            raise BenchFailed(f"a statement of {entries:,} entries says {found}")
        request = traffic.request("GET", path, headers)
        runs.append(partial(traffic.send, environment, environment.api, [request], 200))
    return Line("statement", f"{FEW:,} entries instead of {MANY:,}", runs[0], runs[1], TARGET)
