"""Afterwards: the model is the database is the webhooks is the books."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from chaos.client import Caller, Shop
from chaos.model import Model
from chaos.receivers import WebhookLog
from chaos.service import Service

SETTLED_WITHIN_S = 900.0
# First what leases and rails need, then the webhooks' schedule.
ADVANCES = (*["20s"] * 6, *["10m"] * 6, *["6h"] * 12)
SHOWN_MAX = 5
OPEN_WORK = """
    SELECT 'attempts' AS what, count(*) FROM attempt WHERE status IN ('starting', 'running')
    UNION ALL SELECT 'refunds', count(*) FROM refund WHERE status = 'processing'
    UNION ALL SELECT 'returns', count(*) FROM money_return WHERE status IN ('asked', 'sent')
    UNION ALL SELECT 'notifications of the rail', count(*) FROM sandbox_notification WHERE sent_at IS NULL
    UNION ALL SELECT 'events', count(*) FROM event WHERE NOT is_fanned_out
    UNION ALL SELECT 'deliveries', count(*) FROM webhook_delivery WHERE status = 'pending'
    UNION ALL SELECT 'journals to link', count(*) FROM journal_to_link
    UNION ALL SELECT 'money that the rail has', count(*) FROM sandbox_attempt AS rail
     WHERE ends_at IS NOT NULL AND failure IS NULL AND account_number IS NULL
       AND NOT EXISTS (SELECT FROM receipt WHERE receipt.transaction_id = rail.transaction_id)
"""
PAYMENTS = "SELECT business_id, reference, pay_code, asked_minor, currency, status FROM payment"
MONEY = "SELECT business_id, transaction_id, amount_minor, currency FROM receipt WHERE transaction_id LIKE 'transfer-%'"
INFLOWS = "SELECT business_id, transaction_id, source_minor, source_currency FROM collection"
REFUNDS = "SELECT business_id, reference, amount_minor FROM refund"
RAIL_WITHOUT_US = """
    SELECT rail.transaction_id FROM sandbox_attempt AS rail
     WHERE ends_at IS NOT NULL AND failure IS NULL AND account_number IS NULL
       AND (SELECT count(*) FROM receipt WHERE receipt.transaction_id = rail.transaction_id) <> 1
"""
US_WITHOUT_RAIL = """
    SELECT transaction_id FROM receipt
     WHERE transaction_id NOT LIKE 'transfer-%'
       AND NOT EXISTS (SELECT FROM sandbox_attempt AS rail WHERE rail.transaction_id = receipt.transaction_id
                          AND rail.failure IS NULL AND rail.ends_at IS NOT NULL)
"""
REFUNDS_AT_RAIL = """
    SELECT reference FROM refund_leg AS leg
     WHERE (SELECT count(*) FROM sandbox_payout AS paid
             WHERE paid.kind = 'refund' AND paid.reference = leg.reference AND paid.amount_minor = leg.amount_minor
               AND (paid.failure IS NULL) = (leg.status = 'successful')) <> 1
"""
EVENTS = "SELECT id, payload FROM event"
DELIVERIES = "SELECT event_id, status FROM webhook_delivery"
SUCCESSES_NOT_TOLD = """
    SELECT reference FROM payment WHERE status = 'success' AND (
        SELECT count(*) FROM event WHERE event.business_id = payment.business_id AND type = 'charge.successful'
           AND event.reference = payment.reference) <> 1
"""


class Verdict:
    def __init__(self, service: Service, model: Model, log: WebhookLog) -> None:
        self._service = service
        self._model = model
        self._log = log

    async def settle(self, by: Caller, shops: list[Shop]) -> None:
        """Until the workers have nothing left to do; the sandbox's clock makes leases and pauses short."""
        rounds = iter(ADVANCES)
        try:
            async with asyncio.timeout(SETTLED_WITHIN_S):
                while await self._open_work():
                    advance = next(rounds, None)
                    if advance is not None:
                        for shop in shops:
                            await by.definite("POST", "/sandbox/clock", {"advance": advance}, **shop.headers)
                    await asyncio.sleep(2.0)
        except TimeoutError:
            self._model.find(
                f"after {SETTLED_WITHIN_S:.0f} s without faults this is still open: {await self._open_work()}"
            )

    async def _open_work(self) -> dict[str, int]:
        rows = await self._service.fetch(OPEN_WORK)
        return {row["what"]: row["count"] for row in rows if row["count"]}

    async def judge(self) -> None:
        model = self._model
        for ended in self._service.parents_that_ended():
            model.find(ended)
        await self._payments()
        await self._same("transfers", model.transfers.values(), MONEY)
        await self._same("inflows", model.inflows.values(), INFLOWS)
        await self._same("refunds", model.refunds.values(), REFUNDS)
        for what, query in (
            ("paid at the rail, and not recorded once", RAIL_WITHOUT_US),
            ("recorded, and not paid at the rail", US_WITHOUT_RAIL),
            ("refunds that the rail has not, or has otherwise", REFUNDS_AT_RAIL),
            ("successes without exactly one event", SUCCESSES_NOT_TOLD),
        ):
            self._none(what, [row[0] for row in await self._service.fetch(query)])
        await self._webhooks()
        for arguments in ((), ("--books",)):
            code, said = await self._service.run("doctor", *arguments)
            if code:
                model.find(f"tidegate doctor {' '.join(arguments)} says:\n{said}")

    async def _payments(self) -> None:
        rows = await self._service.fetch(PAYMENTS)
        found = {(row["business_id"], row["reference"]): row for row in rows}
        expected = {(one.shop, one.reference): one for one in self._model.payments.values()}
        self._none("payments in the database more than once", [key for key in found if len(found) < len(rows)])
        self._none("payments acknowledged and lost", expected.keys() - found.keys())
        self._none("payments that were not asked for", found.keys() - expected.keys())
        both = [(one, found[key]) for key, one in expected.items() if key in found]
        changed = [
            one.reference
            for one, row in both
            if (one.pay_code, one.minor, one.currency) != (row["pay_code"], row["asked_minor"], row["currency"])
        ]
        self._none("payments other than acknowledged", changed)
        unpaid = [one.reference for one, row in both if one.is_paid and row["status"] != "success"]
        self._none("payments acknowledged as paid, which are not", unpaid)

    async def _same(self, what: str, expected: Iterable[Any], query: str) -> None:
        """The same set on both sides, each once."""
        found = [tuple(row.values()) for row in await self._service.fetch(query)]
        known = {tuple(vars(one).values()) for one in expected}
        self._none(f"{what} acknowledged and lost", known - set(found))
        self._none(f"{what} that were not asked for", set(found) - known)
        self._none(f"{what} doubled", {one for one in known if found.count(one) > 1} if len(found) > len(known) else ())

    async def _webhooks(self) -> None:
        events = await self._service.fetch(EVENTS)
        stored: Mapping[str, bytes] = {row["id"]: hashlib.sha256(row["payload"]).digest() for row in events}
        deliveries = await self._service.fetch(DELIVERIES)
        self._none("events sent, and not in the database", self._log.digests.keys() - stored.keys())
        self._none("events with two bodies", self._log.changed)
        other = [one for one, digest in self._log.digests.items() if stored.get(one, digest) != digest]
        self._none("events sent with another body than stored", other)
        self._none("events never accepted", stored.keys() - self._log.accepted)
        undelivered = [row["event_id"] for row in deliveries if row["status"] != "delivered"]
        self._none("deliveries that are not delivered", undelivered)

    def _none(self, what: str, found: Iterable[Any]) -> None:
        listed = sorted(found)
        if listed:
            self._model.find(f"{len(listed)} {what}: {', '.join(str(one) for one in listed[:SHOWN_MAX])}")
