"""Pages of the dashboard of one business with many payments: asked over HTTP, one at a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from bench.environment import Environment, Shop, with_connection
from bench.report import Finding, Section, percentiles_ms
from tidegate.core import ids
from tidegate.core.clock import SystemClock
from tidegate.dashboard.paging import place_of
from tidegate.member import session_store, store, team_store
from tidegate.member.model import hash_of_token, new_token
from tidegate.member.permission import Role

WARM_UP_CALLS, CALLS = 3, 40
AIM_MS = 50.0
AIMS_MS = {"Home": 40.0, "detail": 40.0}
APART = timedelta(seconds=45)

# One a minute or less, so that a million is a year and a half; 7 of 10 are paid, one of 200 differs.
_PAYMENTS = """
    INSERT INTO payment (business_id, pay_code, reference, currency, asked_minor, expected_minor, received_minor,
                         fee_bearer, fee_rule_id, fee_minor, vat_minor, settled_minor, methods, default_method, method,
                         status, variance, customer_name, customer_email, request_hash, paid_at, expires_at, created_at,
                         updated_at)
    SELECT '{business_id}', 'tg_bench_' || number, 'ORDER-' || number, currency, minor, minor,
           CASE WHEN is_paid THEN minor + gap ELSE 0 END, 'business', 'rule',
           CASE WHEN is_paid THEN 0 END, CASE WHEN is_paid THEN 0 END, CASE WHEN is_paid THEN minor + gap END,
           '{{card,bank_transfer}}', method, CASE WHEN is_paid THEN method END,
           CASE WHEN is_paid THEN 'success' WHEN number % 10 = 8 THEN 'failed' ELSE 'expired' END,
           CASE WHEN is_paid AND gap > 0 THEN 'overpayment' END,
           (ARRAY['Ada','Bola','Chidi','Efua','Fatou','Grace','Hauwa','Ife'])[1 + number % 8] || ' '
               || (ARRAY['Obi','Ade','Eze','Mensah','Diop'])[1 + number % 5] || ' ' || number % 40000,
           'payer-' || number % 40000 || '@example.com', '', CASE WHEN is_paid THEN at END, at, at, at
      FROM generate_series(1, {rows}) AS number,
           LATERAL (SELECT number % 10 < 7 AS is_paid,
                           CASE WHEN number % 9 = 0 THEN 'KES' ELSE 'NGN' END AS currency,
                           CASE WHEN number % 3 = 0 OR number % 9 = 0 THEN 'bank_transfer' ELSE 'card' END AS method,
                           10000 + (number::bigint * 7919) % 5000000 AS minor,
                           CASE WHEN number % 200 = 0 THEN 2000 ELSE 0 END AS gap,
                           now() - ({rows} - number) * interval '{apart_s} seconds' AS at) AS given;
    INSERT INTO takings (business_id, hour, currency, method, payments, received_minor, fee_minor, settled_minor)
    SELECT business_id, date_trunc('hour', paid_at), currency, method, count(*), sum(received_minor), 0,
           sum(settled_minor)
      FROM payment WHERE business_id = '{business_id}' AND status = 'success' GROUP BY 1, 2, 3, 4
"""
PAGES = {
    "Home": "",
    "list": "/payments",
    "list, page 2": "/payments?before={middle}",
    "status failed": "/payments?status=failed",
    "paid, NGN, by card": "/payments?status=success&currency=NGN&method=card",
    "is:over": "/payments?q=is:over",
    "e-mail": "/payments?q=payer-7@example.com",
    "name": "/payments?q=name:Grace+Obi",
    "name, as it is typed": "/payments?q=Grace+Obi",
    "reference, few": "/payments?q=ORDER-7777",
    "reference, all": "/payments?q=ORDER-",
    "amount, few": "/payments?q=amount:50000",
    "amount, most": "/payments?q=%3E500",
    "nothing fits": "/payments?q=Nobody",
    "a day": "/payments?from={day}&to={day}",
    "detail": "/payments/tg_bench_{some}",
    "palette": "/find?q=ada",
}


def section(environment: Environment) -> Section:
    rows = environment.options.stored
    shop = environment.open_shops([{"name": "Bench"}])[0]
    environment.execute(_PAYMENTS.format(business_id=shop.business_id, rows=rows, apart_s=APART.seconds))
    environment.execute("VACUUM ANALYZE payment, takings")
    # Only now: a session that is not used ends after half an hour.
    headers, home = {"cookie": f"tidegate-session={_sign_in(environment, shop)}"}, f"/dashboard/{shop.code}"
    now = SystemClock().now()
    middle = place_of(now - (rows - rows // 2) * APART, rows // 2)
    findings = []
    for name, below in PAGES.items():
        path = home + below.format(middle=middle, some=rows // 3 * 3 - 3, day=f"{now:%Y-%m-%d}")
        took = [environment.api.timed(path, headers)[0] for _ in range(WARM_UP_CALLS + CALLS)][WARM_UP_CALLS:]
        ms, aim_ms = percentiles_ms(took), AIMS_MS.get(name, AIM_MS)
        findings.append(Finding(f"{name}: p50 {ms['p50']:.1f} ms, p95", ms["p95"], "ms", at_most=aim_ms, decimals=1))
    took_s, file = environment.api.timed(f"{home}/payments.csv?q=ORDER-7777", headers)
    findings.append(Finding(f"CSV of {len(file.splitlines()) - 1:,} payments", took_s, "s", decimals=2))
    return Section("dashboard", f"pages of a business with {rows:,} payments", findings)


def _sign_in(environment: Environment, shop: Shop) -> str:
    token, now = new_token(), SystemClock().now()
    token_hash = hash_of_token(token)
    assert token_hash is not None

    async def write(tx: Any) -> None:
        member = await store.insert_person(
            tx, person_id=ids.new_person_id(), email="owner@example.com", name="Ada", password_hash=None, now=now
        )
        assert member is not None
        await team_store.put(tx, shop.business_id, member.id, Role.OWNER, now=now)
        await session_store.insert(tx, token_hash, member, is_complete=True, browser="", address="127.0.0.1", now=now)

    with_connection(environment.url, write)
    return token
