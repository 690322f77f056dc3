"""Payments that money in suspense may be for."""

from __future__ import annotations

import re
from datetime import timedelta

from tidegate.infra.db import Tx
from tidegate.intake import suspense_store
from tidegate.intake.model import SuspenseReceipt, TransferCandidate

# A payer transfers within this time after the account was shown.
LOOKS_BACK = timedelta(days=14)
CANDIDATES_MAX = 5
# Of one amount, however many were begun.
TRANSFERS_READ_MAX = 200
# Of a narration: what may be a reference.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{3,63}")
NAMES_MAX = 8


async def list_candidates(tx: Tx, receipt: SuspenseReceipt) -> list[TransferCandidate]:
    """Those that the narration names, then those that waited for a transfer of this amount by this rail."""
    names = list(dict.fromkeys(_NAME.findall(receipt.remittance or "")))[:NAMES_MAX]
    named = await suspense_store.list_named(tx, names, limit=CANDIDATES_MAX) if names else []
    waiting = await suspense_store.list_waiting(
        tx, receipt, since=receipt.received_at - LOOKS_BACK, read=TRANSFERS_READ_MAX, limit=CANDIDATES_MAX
    )
    known = {(one.business_id, one.pay_code) for one in named}
    return [*named, *(one for one in waiting if (one.business_id, one.pay_code) not in known)]
