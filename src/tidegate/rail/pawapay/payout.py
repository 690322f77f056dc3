"""Refunds and returns: pawaPay knows one kind. Their ids are ours, kept before the call: a repeat pays nothing."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog

from tidegate.core.errors import NotFound
from tidegate.infra.db import Database
from tidegate.rail.action import FailureReason
from tidegate.rail.interface import RailBusy, RailTimeout, RefundMoney, ReturnMoney
from tidegate.rail.pawapay import state, store, wire
from tidegate.rail.pawapay.client import PawapayClient
from tidegate.rail.pawapay.ids import id_of
from tidegate.rail.pawapay.store import PawapayPayout
from tidegate.rail.pawapay.wire import Accepted, Found, PawapayTransaction, PawapayUnreadable
from tidegate.rail.state import Failed, PayoutState, Running

# As long as a call may take; before, its absence proves nothing.
ARRIVES_WITHIN = timedelta(seconds=60)
IN_PROGRESS_S = 60
NO_FUNDS_S = 3600
_NO_FUNDS = "PAWAPAY_WALLET_OUT_OF_FUNDS"
# Of pawaPay at the moment, not of the refund.
_LATER = {"REFUND_IN_PROGRESS": IN_PROGRESS_S, "PROVIDER_TEMPORARILY_UNAVAILABLE": IN_PROGRESS_S, _NO_FUNDS: NO_FUNDS_S}

log = structlog.get_logger("pawapay")


class PawapayPayouts:
    def __init__(self, client: PawapayClient, db: Database) -> None:
        self._client = client
        self._db = db

    async def request(self, kind: str, money: RefundMoney | ReturnMoney, *, now: datetime) -> PayoutState:
        refund_id = id_of(money.business_id, money.reference)
        async with self._db.connection() as tx:
            payout = await store.insert_payout(tx, kind, money, refund_id, now=now)
        body = {
            "refundId": payout.refund_id,
            "depositId": money.transaction_id,
            "amount": wire.amount_text(money.amount),
            "currency": money.amount.currency,
            "metadata": [{"tidegateReference": money.reference}],
        }
        answer = await self._client.post("/v2/refunds", body, Accepted)
        match answer.status:
            case "REJECTED":
                return self._rejected(money, answer)
            case "DUPLICATE_IGNORED":
                return await self.poll(money, now=now)
        return Running()

    def _rejected(self, money: RefundMoney | ReturnMoney, answer: Accepted) -> PayoutState:
        if answer.code in _LATER:
            raise RailBusy(f"pawaPay takes the refund later: {answer.why}", retry_after_s=_LATER[answer.code])
        log.error("pawaPay rejects a refund", reference=money.reference, why=answer.why)
        return Failed(FailureReason.DECLINED)

    async def poll(self, money: RefundMoney | ReturnMoney, *, now: datetime) -> PayoutState:
        async with self._db.connection() as tx:
            payout = await store.find_payout(tx, money.business_id, money.reference)
        if payout is None:
            raise NotFound("no refund with this reference was requested from pawaPay")
        found = await self.find(payout)
        if found is None:
            if now < payout.tried_at + ARRIVES_WITHIN:
                raise RailTimeout("the refund may be on its way to pawaPay")
            raise NotFound("pawaPay has no refund with this reference")
        try:
            ended = state.of_refund(found)
        except PawapayUnreadable as error:
            raise RailTimeout(f"pawaPay's answer is not understood: {error}") from error
        if isinstance(ended, Failed):
            await self._failed(payout, found, now)
        return ended

    async def _failed(self, payout: PawapayPayout, found: PawapayTransaction, now: datetime) -> None:
        log.error("pawaPay did not pay a refund", reference=payout.reference, why=found.code)
        if found.code != _NO_FUNDS:
            return
        again = id_of(payout.business_id, f"{payout.reference}/{payout.number + 1}")
        async with self._db.connection() as tx:
            await store.begin_again(tx, payout, again, now=now)
        raise RailBusy("the wallet at pawaPay does not cover the refund", retry_after_s=NO_FUNDS_S)

    async def find(self, payout: PawapayPayout) -> PawapayTransaction | None:
        found = await self._client.get(f"/v2/refunds/{payout.refund_id}", Found)
        return found.data if found.status == "FOUND" else None
