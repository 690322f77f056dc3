"""One asks, another one allows: what is the same for a merchant's people and for the operator's staff."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from tidegate.approval import store
from tidegate.approval.model import LASTS, ApprovalRequest
from tidegate.core.errors import AccessDenied, Conflict, NotFound
from tidegate.infra.db import Tx
from tidegate.member.realm import Realm

When = Callable[[datetime], str]
NO_APPROVAL = "nothing with this number waits for approval"


def in_utc(moment: datetime) -> str:
    return f"{moment:%-d %b %Y, %H:%M} UTC"


async def undecided(
    tx: Tx, business_id: str, approval_id: int, realm: Realm, *, when: When = in_utc
) -> ApprovalRequest:
    """Locked. Of two who decide at once, the second reads who was first. `when` words a moment."""
    try:
        found = await store.lock(tx, business_id, approval_id, realm)
    except store.BeingDecided:
        raise Conflict("another person is deciding on this request; look again to see the decision") from None
    if found is None:
        raise NotFound(NO_APPROVAL)
    refuse_decided(found, when)
    return found


def refuse_decided(found: ApprovalRequest, when: When = in_utc) -> None:
    if found.status != "open":
        raise Conflict(decided_words(found, when))


def decided_words(found: ApprovalRequest, when: When = in_utc) -> str:
    at = when(found.decided_at) if found.decided_at else ""
    if found.decided_by_name is None:
        return (
            f"this request has been void since {at}: its subject changed, or it was not decided in {LASTS.days} days; "
            "ask again"
        )
    if found.is_taken_back:
        return f"{found.decided_by_name} took this back on {at}"
    return f"{found.decided_by_name} {found.status} this on {at}"


async def open_request(
    tx: Tx, business_id: str, approval_id: int, realm: Realm, *, by: str, now: datetime
) -> ApprovalRequest:
    """Locked, and another person's."""
    found = await undecided(tx, business_id, approval_id, realm)
    refuse_approval(found, by=by, now=now)
    return found


def refuse_approval(found: ApprovalRequest, *, by: str, now: datetime, when: When = in_utc) -> None:
    """Where it was decided or has lapsed, or is this person's own."""
    refuse_decided(found, when)
    if not found.is_open(now):
        raise Conflict(f"this request is more than {LASTS.days} days old; ask again")
    if found.asked_by == by:
        raise AccessDenied("a request cannot be approved by the person who made it; ask another approver")
