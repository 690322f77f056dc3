"""Second factors that end: removed by the owner of a business, or by the operator 24 hours after it was decided.

In these hours their person, who was mailed at once, keeps them by using one. They are removed by the next sign-in.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Tx
from tidegate.mail import store as mail
from tidegate.member import message, passkey_store, session_store, store
from tidegate.member.model import Member

WAIT = timedelta(hours=24)


async def drop(tx: Tx, person_id: str) -> Member:
    """The person as they were before."""
    await store.lock_factors(tx, person_id)
    member = await store.find(tx, person_id)
    assert member is not None
    await passkey_store.delete(tx, person_id, None)
    await store.set_totp(tx, person_id, None, step=0)
    await store.delete_recovery_codes(tx, person_id)
    await store.set_factors_end(tx, person_id, None)
    await session_store.delete_others(tx, person_id, None)
    return member


async def drop_due(tx: Tx, member: Member, *, now: datetime) -> Member:
    """The person as they are now."""
    if not await are_over(tx, member.id, now=now):
        return member
    await drop(tx, member.id)
    return await store.find(tx, member.id) or member


async def are_over(tx: Tx, person_id: str, *, now: datetime) -> bool:
    end = await store.find_factors_end(tx, person_id)
    return end is not None and end <= now


async def keep(tx: Tx, member: Member, *, now: datetime) -> None:
    """One of them was used or added in time."""
    if await store.set_factors_end(tx, member.id, None):
        await mail.insert(tx, PLATFORM_BUSINESS_ID, message.factors_kept(member.email), now=now)
