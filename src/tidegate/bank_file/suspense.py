"""Payments that a transfer without an owner may be for."""

from __future__ import annotations

from datetime import timedelta

from tidegate.bank_file import suspense_store
from tidegate.bank_file.suspense_store import TransferCandidate
from tidegate.infra.db import Tx
from tidegate.intake.model import SuspenseReceipt
from tidegate.rail.bankfiles.rail import NAME

# A payer transfers within this time after the reference was shown.
LOOKS_BACK = timedelta(days=14)


async def list_candidates(tx: Tx, receipt: SuspenseReceipt) -> list[TransferCandidate]:
    """Each asks for the same amount in the same currency, and began before the money came."""
    if receipt.rail != NAME:
        return []
    return await suspense_store.list_candidates(
        tx, receipt.amount, since=receipt.received_at - LOOKS_BACK, until=receipt.received_at
    )
