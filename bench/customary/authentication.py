"""Whose keys these are: a dependency that asks the database each time, as people do."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, Header, HTTPException, status
from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import joinedload

from bench.customary.database import Business, Credential, session

Session = Annotated[AsyncSession, Depends(session)]


async def business_of(
    opened: Session, api_key: Annotated[str, Header()], x_pub_key: Annotated[str, Header()]
) -> Business:
    """Both keys in one question, with their business."""
    wanted = {"secret": _hash_of(api_key), "public": _hash_of(x_pub_key)}
    found = await opened.scalars(
        select(Credential)
        .options(joinedload(Credential.business))
        .where(
            Credential.key_hash.in_(wanted.values()),
            Credential.revoked_at.is_(None),
            or_(Credential.expires_at.is_(None), Credential.expires_at > datetime.now(UTC)),
        )
    )
    keys = {key.kind: key for key in found if wanted.get(key.kind) == key.key_hash}
    secret, public = keys.get("secret"), keys.get("public")
    if secret is None or public is None or secret.business_id != public.business_id:
        raise HTTPException(status.HTTP_401_UNAUTHORIZED, "send valid keys")
    if secret.business.status != "active":
        raise HTTPException(status.HTTP_403_FORBIDDEN, "this business is suspended")
    return secret.business


def _hash_of(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


Caller = Annotated[Business, Depends(business_of)]
