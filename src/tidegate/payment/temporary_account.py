"""The account of one transfer attempt, in the same form as a permanent account."""

from __future__ import annotations

from tidegate.account.model import Account, AccountStatus, AccountType
from tidegate.infra.db import Tx
from tidegate.payment import attempt_store
from tidegate.payment.attempt import Attempt, AttemptStatus
from tidegate.payment.change import PaymentSnapshot
from tidegate.rail.action import TransferAction
from tidegate.rail.interface import AccountDetails


async def find(tx: Tx, business_id: str, account_id: str) -> Account | None:
    snapshot = await attempt_store.find_by_account_id(tx, business_id, account_id)
    if snapshot is None or snapshot.attempt is None or not isinstance(snapshot.attempt.action, TransferAction):
        return None
    return _account(snapshot, snapshot.attempt, snapshot.attempt.action)


_STATUS_OF: dict[AttemptStatus, AccountStatus] = {
    AttemptStatus.STARTING: AccountStatus.APPROVED,
    AttemptStatus.WAITING: AccountStatus.APPROVED,
    AttemptStatus.RUNNING: AccountStatus.APPROVED,
    AttemptStatus.SUCCEEDED: AccountStatus.CLOSED,
    AttemptStatus.FAILED: AccountStatus.CLOSED,
    AttemptStatus.REPLACED: AccountStatus.CLOSED,
    AttemptStatus.EXPIRED: AccountStatus.EXPIRED,
}


def _account(snapshot: PaymentSnapshot, attempt: Attempt, transfer: TransferAction) -> Account:
    payment = snapshot.payment
    currency = payment.expected.currency
    assert attempt.account_id is not None  # It was found by this id.
    return Account(
        business_id=attempt.business_id,
        id=attempt.account_id,
        status=_STATUS_OF[attempt.status],
        currency=currency,
        settlement_currency=currency,
        account_type=AccountType.CORPORATE,
        holder=transfer.account_name,
        merchant_reference=payment.reference,
        rail=attempt.rail,
        details=AccountDetails(
            account_number=transfer.account_number,
            local_number=transfer.account_number,
            bank_code=transfer.bank_code,
            bank_name=transfer.bank_name,
            country_code=currency.spec.country,
            reference=attempt.reference,
        ),
        expires_at=attempt.expires_at,
        is_temporary=True,
        created_at=attempt.created_at,
        updated_at=payment.updated_at,
    )
