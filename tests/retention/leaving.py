"""Rows of every kind that leaves, as old as a test wants them, and the worker's rounds that remove them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tidegate.core.clock import Clock
from tidegate.infra.db import Database
from tidegate.rail.deps import PaymentDeps
from tidegate.retention.commands import KINDS, LIVE_KINDS, SANDBOX_KINDS, Sweep
from tidegate.retention_settings import RetentionDays
from tidegate.runtime import Runtime

DAYS = 50
ALL_KINDS = {kind.name: kind for kind in (*KINDS, *LIVE_KINDS, *SANDBOX_KINDS)}
FIFTY_DAYS = RetentionDays(
    notifications=DAYS, bank_files=DAYS, webhook_attempts=DAYS, events=DAYS, idempotency_keys=DAYS, mails=DAYS,
    requests=DAYS, failed_requests=DAYS, sandbox=DAYS,
)  # fmt: skip

# $1 is the business, $2 when it was written, $3 a name of its own.
MAKE = {
    "notifications": """
        INSERT INTO notification (rail, id, state, body, received_at)
        SELECT 'sandbox', $3::text, 'done', '', $2::timestamptz WHERE $1::text <> ''
    """,
    "bank_files": """
        WITH made AS (
            INSERT INTO bank_file (id, name, kind, state, byte_count, received_at)
            SELECT $3::text, 'a.xml', 'camt.053.001.08', 'read', 1, $2::timestamptz WHERE $1::text <> '' RETURNING id)
        INSERT INTO bank_file_part (file_id, number, content) SELECT id, 0, 'x' FROM made
    """,
    "webhook_attempts": """
        WITH told AS (
            INSERT INTO event (business_id, id, type, cause, payload, created_at)
            VALUES ($1, $3, 'charge.successful', $3, '', $2)),
        made AS (
            INSERT INTO webhook_delivery (business_id, id, endpoint_id, event_id, event_type, status, priority,
                                          created_at)
            VALUES ($1, new_webhook_delivery_id($2), 'shop', $3, 'charge.successful', 'delivered', 0, $2)
            RETURNING id)
        INSERT INTO webhook_attempt (business_id, delivery_id, number, url, started_at, status_code, body)
        SELECT $1, id, 1, 'http://localhost/', $2, 200, 'thanks' FROM made
    """,
    "events": """
        WITH told AS (
            INSERT INTO event (business_id, id, type, cause, payload, created_at, is_fanned_out)
            VALUES ($1, $3, 'charge.successful', $3, '', $2, true)),
        made AS (
            INSERT INTO webhook_delivery (business_id, id, endpoint_id, event_id, event_type, status, priority,
                                          created_at)
            VALUES ($1, new_webhook_delivery_id($2), 'shop', $3, 'charge.successful', 'delivered', 0, $2)
            RETURNING id)
        -- Resent yesterday: this attempt leaves with its event.
        INSERT INTO webhook_attempt (business_id, delivery_id, number, url, started_at, status_code)
        SELECT $1, id, 2, 'http://localhost/', now(), 200 FROM made
    """,
    "idempotency_keys": """
        INSERT INTO idempotency_key (business_id, key, request_hash, status, body, created_at)
        VALUES ($1, $3, '', 200, '{}', $2)
    """,
    "mails": """
        INSERT INTO mail (business_id, recipient, subject, status, created_at, ended_at)
        VALUES ($1, 'ada@example.com', $3, 'sent', $2, $2)
    """,
    "requests": """
        INSERT INTO request_log (business_id, request_id, key_id, method, path, operation, status, duration_ms, address,
                                 created_at)
        VALUES ($1, $3, 1, 'GET', '/', 'kept', 399, 1, '', $2)
    """,
    "failed_requests": """
        INSERT INTO request_log (business_id, request_id, key_id, method, path, operation, status, duration_ms, address,
                                 created_at)
        VALUES ($1, $3, 1, 'GET', '/', 'kept', 400, 1, '', $2)
    """,
    "sandbox_notifications": """
        INSERT INTO sandbox_notification (business_id, notification_id, body, created_at, due_at, sent_at)
        VALUES ($1, $3, '', $2, $2, $2)
    """,
    "sandbox_attempts": """
        INSERT INTO sandbox_attempt (business_id, reference, method, amount_minor, currency, behaviour, transaction_id,
                                     ends_at, started_at, updated_at)
        VALUES ($1, $3, 'card', 100, 'NGN', 'approve', $3, $2, $2, $2)
    """,
    "sandbox_payouts": """
        INSERT INTO sandbox_payout (business_id, kind, reference, paid_transaction_id, transaction_id, amount_minor,
                                    currency, ends_at, created_at)
        VALUES ($1, 'refund', $3, 'in', 'out', 100, 'NGN', $2, $2)
    """,
}
COUNT = {
    "notifications": "SELECT count(*) FROM notification",
    "webhook_attempts": "SELECT count(*) FROM webhook_attempt",
    "bank_files": "SELECT count(*) FROM bank_file_part",
    "events": "SELECT count(*) FROM event",
    "idempotency_keys": "SELECT count(*) FROM idempotency_key",
    "mails": "SELECT count(*) FROM mail",
    # What the test itself asked is in the log, too.
    "requests": "SELECT count(*) FROM request_log WHERE operation = 'kept' AND status < 400",
    "failed_requests": "SELECT count(*) FROM request_log WHERE operation = 'kept' AND status >= 400",
    "sandbox_notifications": "SELECT count(*) FROM sandbox_notification",
    "sandbox_attempts": "SELECT count(*) FROM sandbox_attempt",
    "sandbox_payouts": "SELECT count(*) FROM sandbox_payout",
}


@dataclass(frozen=True)
class Leaving:
    """One business with an endpoint, and what the worker removes of its rows."""

    business_id: str
    db: Database
    admin: Any
    deps: PaymentDeps

    @classmethod
    async def of(cls, business_id: str, runtime: Runtime, admin: Any, days: RetentionDays = FIFTY_DAYS) -> Leaving:
        await admin.execute(
            """
            INSERT INTO webhook_endpoint (business_id, id, url, events, rate_per_second, created_at, updated_at)
            VALUES ($1, 'shop', 'http://localhost/', '{}', 1, now(), now()) ON CONFLICT DO NOTHING
            """,
            business_id,
        )
        return cls(business_id, runtime.db, admin, replace(runtime.deps, retention=days))

    async def make(self, kind: str, name: str, at: datetime) -> None:
        await self.admin.execute(MAKE[kind], self.business_id, at, name)

    async def count(self, kind: str) -> int:
        return int(await self.admin.fetchval(COUNT[kind]))

    async def sweep(self, kind: str, clock: Clock) -> int:
        """Rounds until there is nothing more to remove."""
        sweep, total = Sweep(ALL_KINDS[kind]), 0
        while removed := (await sweep(self.deps, clock)).done:
            total += removed
        return total
