"""Looking at a merchant's dashboard as the operator: read-only, for one business, and noted in its audit log."""

from __future__ import annotations

from datetime import datetime

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.clock import SystemClock
from tidegate.infra.db import Tx
from tidegate.member import store
from tidegate.member.model import ENTER_LASTS, Member, hash_of_token, new_token
from tidegate.merchant.model import Business

VIEW = "view"


async def view_link(
    tx: Tx, base_url: str, business: Business, member: Member, *, reason: str, by: Actor, now: datetime
) -> str:
    real, token = SystemClock().now(), new_token()
    token_hash = hash_of_token(token)
    assert token_hash is not None
    await store.insert_link(
        tx, member.email, purpose=VIEW, token_hash=token_hash, expires_at=real + ENTER_LASTS, now=real,
        business_id=business.id,
    )  # fmt: skip
    await audit.insert(
        tx, business.id, by, action="business.viewed", subject=business.id, details={"reason": reason}, now=now
    )
    return f"{base_url}/dashboard/view/{token}"
