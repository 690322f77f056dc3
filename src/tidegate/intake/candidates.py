"""Payments that money in suspense may be for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

from tidegate.core.ids import looks_like_pay_code
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
    references = [name for name in _names_in(receipt) if not looks_like_pay_code(name)]
    named = await suspense_store.list_of_references(tx, references, limit=CANDIDATES_MAX) if references else []
    return _each_once([*named, *await list_likely(tx, receipt)])


async def list_likely(tx: Tx, receipt: SuspenseReceipt) -> list[TransferCandidate]:
    """For lists: without those that the narration names by a merchant's reference, for which each business is
    searched."""
    pay_codes = [name for name in _names_in(receipt) if looks_like_pay_code(name)]
    named = await suspense_store.list_of_pay_codes(tx, pay_codes, limit=CANDIDATES_MAX) if pay_codes else []
    waiting = await suspense_store.list_waiting(
        tx, receipt, since=receipt.received_at - LOOKS_BACK, read=TRANSFERS_READ_MAX, limit=CANDIDATES_MAX
    )
    return _each_once([*named, *waiting])


def _names_in(receipt: SuspenseReceipt) -> list[str]:
    return list(dict.fromkeys(_NAME.findall(receipt.remittance or "")))[:NAMES_MAX]


def _each_once(found: Sequence[TransferCandidate]) -> list[TransferCandidate]:
    """By the first way it was found."""
    return list({(one.business_id, one.pay_code): one for one in reversed(found)}.values())[::-1]
