"""Returns and refunds: proposed here, approved and exported by operators, ended by what the bank's files say."""

from __future__ import annotations

from datetime import datetime

from tidegate.bank_settings import BankFilesSettings
from tidegate.core.errors import NotFound
from tidegate.infra.db import Database
from tidegate.rail.action import FailureReason
from tidegate.rail.bankfiles import store
from tidegate.rail.bankfiles.store import BankPayout, CreditOrigin
from tidegate.rail.interface import RailRefused, RefundMoney, ReturnMoney
from tidegate.rail.state import Failed, PayoutState, Running, Succeeded

REMITTANCE_CHARS_MAX = 140


class BankPayouts:
    def __init__(self, settings: BankFilesSettings, db: Database) -> None:
        self._settings = settings
        self._db = db

    async def request(self, kind: str, money: RefundMoney | ReturnMoney, *, now: datetime) -> PayoutState:
        """Proposed once; a repeat answers how it stands."""
        async with self._db.connection() as tx:
            origin = await store.find_origin(tx, money.transaction_id)
            await store.insert_payout(
                tx, kind, money, self._from(origin, money), end_to_end_id=end_to_end_id_of(money.reference),
                remittance=_remittance(money), now=now,
            )  # fmt: skip
            return _state(await store.find_payout(tx, money.business_id, money.reference), money)

    async def poll(self, money: RefundMoney | ReturnMoney) -> PayoutState:
        async with self._db.connection() as tx:
            found = await store.find_payout(tx, money.business_id, money.reference)
        if found is None:
            raise NotFound("no refund with this reference was proposed to the bank")
        return _state(found, money)

    def _from(self, origin: CreditOrigin | None, money: RefundMoney | ReturnMoney) -> CreditOrigin:
        """The account that the money came to pays it back. Where the credit is not known, an operator says to whom."""
        found = self._settings.account_of(origin.account) if origin else None
        account = found or next((one for one in self._settings.accounts if one.currency is money.amount.currency), None)
        if account is None:
            raise RailRefused(f"no account at the bank is in {money.amount.currency}")
        return origin._replace(account=account.number) if origin else CreditOrigin(account.number, None, None, None)


def end_to_end_id_of(reference: str) -> str:
    """Ours, in the characters that every bank takes: no underscore, at most 35."""
    return reference.replace("_", "-")[:35]


def _remittance(money: RefundMoney | ReturnMoney) -> str:
    why = money.reason if isinstance(money, ReturnMoney) else "refund"
    return f"Return of {money.transaction_id.rpartition('/')[2]}: {why}"[:REMITTANCE_CHARS_MAX]


def _state(found: BankPayout | None, money: RefundMoney | ReturnMoney) -> PayoutState:
    if found is not None and found.status == "done":
        return Succeeded(found.sent_as or money.reference, money.amount)
    if found is not None and found.status == "rejected":
        return Failed(FailureReason.DECLINED)
    return Running()
