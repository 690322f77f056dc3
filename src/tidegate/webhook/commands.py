"""The merchant's commands on webhooks: endpoints, secrets, test events, resends and replays."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core import ids
from tidegate.core.errors import Conflict, Invalid, NotFound, Problem
from tidegate.infra.address import WebUrl
from tidegate.infra.db import Database, Tx
from tidegate.infra.guard import Guard
from tidegate.infra.http.operation import encode
from tidegate.infra.same_transaction import InSameTransaction, nothing_else
from tidegate.infra.timestamp import to_iso
from tidegate.infra.vault import NoKey, Vault
from tidegate.merchant import store as merchant_store
from tidegate.webhook import log_store, sign, store, wire
from tidegate.webhook.log_store import ReplayCount, Window
from tidegate.webhook.model import (
    ENDPOINTS_MAX,
    EVENT_CHANNEL,
    ROTATION_OVERLAP,
    SECRETS_MAX,
    TEST_EVENT,
    Delivery,
    Endpoint,
    EndpointStatus,
    NewEndpoint,
    WithSecret,
)

REPLAY_MAX = 20_000
NO_ENDPOINT = "this business has no webhook endpoint with this id"
NO_DELIVERY = "this business has no webhook delivery with this id"
RESEND_AFTER_S = 1
IN_FLIGHT = "in_flight"
# Why a delivery cannot be sent again.
_BLOCK_REASONS = {
    "deleted": "its endpoint was deleted; create it again and replay the period",
    "disabled": "its endpoint is disabled; enable it first",
    IN_FLIGHT: "it is being sent now; get the delivery again for the outcome",
    "erased": "its payload was erased at the payer's request, so it cannot be sent again",
}


@dataclass(frozen=True)
class WebhookDeps:
    """Dependencies of the webhook commands."""

    db: Database
    vault: Vault
    guard: Guard


async def refuse_forbidden(guard: Guard, url: WebUrl) -> None:
    """Before any transaction: a DNS lookup may be slow."""
    problem = await guard.problem_at(url)
    if problem:
        raise Invalid(Problem("url", problem))


async def create(tx: Tx, vault: Vault, business_id: str, new: NewEndpoint, *, by: Actor, now: datetime) -> WithSecret:
    endpoint = Endpoint(
        business_id=business_id,
        id=ids.new_endpoint_id(),
        url=new.url,
        events=new.events,
        description=new.description,
        status=EndpointStatus.ENABLED,
        disabled_reason=None,
        rate_per_second=new.rate_per_second,
        created_at=now,
        updated_at=now,
    )
    await merchant_store.lock(tx, business_id)
    others = await store.list_all(tx, business_id)
    if len(others) >= ENDPOINTS_MAX:
        raise Conflict(f"a business has at most {ENDPOINTS_MAX} webhook endpoints; delete one first")
    waiting = None if others else await store.find_waiting(tx, business_id)
    secret = new.secret or (vault.open(waiting, owner=business_id) if waiting else sign.new_secret())
    await store.insert(tx, endpoint)
    await store.insert_secret(tx, business_id, endpoint.id, vault.seal(secret, owner=business_id), now=now)
    await _note(tx, endpoint, by, "created", {"url": endpoint.url, "events": endpoint.events}, now=now)
    return WithSecret(endpoint, secret)


async def list_all(db: Database, business_id: str) -> list[Endpoint]:
    async with db.connection() as tx:
        return await store.list_all(tx, business_id)


async def get(db: Database, business_id: str, endpoint_id: str) -> Endpoint:
    async with db.connection() as tx:
        return await store.find(tx, business_id, endpoint_id) or _not_found()


async def change(
    db: Database, business_id: str, endpoint_id: str, changes: Mapping[str, Any], *, by: Actor, now: datetime,
    also: InSameTransaction = nothing_else, why: str | None = None,
) -> Endpoint:  # fmt: skip
    """Also resets the circuit of a failing endpoint."""
    async with db.transaction() as tx:
        await also(tx)
        before = await store.lock(tx, business_id, endpoint_id) or _not_found()
        after = await store.update(tx, business_id, endpoint_id, changes, now=now) or _not_found()
        kept: dict[str, Any] = {name: [getattr(before, name), getattr(after, name)] for name in changes}
        await _note(tx, after, by, "changed", {**kept, "why": why} if why else kept, now=now)
    db.notify(EVENT_CHANNEL)
    return after


async def delete(db: Database, business_id: str, endpoint_id: str, *, by: Actor, now: datetime) -> Endpoint:
    async with db.transaction() as tx:
        endpoint = await store.lock(tx, business_id, endpoint_id) or _not_found()
        await store.delete(tx, business_id, endpoint_id, now=now)
        await _note(tx, endpoint, by, "deleted", {"url": endpoint.url}, now=now)
    return endpoint


async def rotate(tx: Tx, vault: Vault, business_id: str, endpoint_id: str, *, by: Actor, now: datetime) -> WithSecret:
    """Every secret of the last day still signs, so that a rotation whose answer was lost does no harm."""
    secret = sign.new_secret()
    endpoint = await store.lock(tx, business_id, endpoint_id) or _not_found()
    ending = await store.end_secrets(tx, business_id, endpoint_id, now=now, at=now + ROTATION_OVERLAP)
    if ending >= SECRETS_MAX:
        raise Conflict(f"this endpoint has {SECRETS_MAX} valid secrets, the limit; wait until one expires")
    await store.insert_secret(tx, business_id, endpoint_id, vault.seal(secret, owner=business_id), now=now)
    # A rotation ends the old secret; it must not come back with the next endpoint.
    await store.delete_waiting(tx, business_id)
    await _note(tx, endpoint, by, "rotated", {}, now=now)
    return WithSecret(endpoint, secret)


async def send_test(tx: Tx, business_id: str, endpoint_id: str, *, by: Actor, now: datetime) -> Delivery:
    endpoint = await store.lock(tx, business_id, endpoint_id) or _not_found()
    if endpoint.status is not EndpointStatus.ENABLED:
        raise Conflict("this endpoint is disabled; enable it first")
    event_id = ids.new_event_id()
    delivery_id = await log_store.insert_test(
        tx,
        business_id,
        endpoint_id,
        event_id=event_id,
        event_type=TEST_EVENT,
        payload=_test_payload(endpoint, now),
        now=now,
    )
    await _note(tx, endpoint, by, "tested", {"event": event_id}, now=now)
    delivery = await log_store.find(tx, business_id, delivery_id)
    assert delivery is not None
    return delivery


async def resend(tx: Tx, business_id: str, delivery_id: int, *, by: Actor, now: datetime) -> Delivery:
    block_reason = await log_store.resend(tx, business_id, delivery_id, now=now)
    if block_reason:
        raise Conflict(
            _BLOCK_REASONS[block_reason], retry_after_s=RESEND_AFTER_S if block_reason == IN_FLIGHT else None
        )
    delivery = await log_store.find(tx, business_id, delivery_id) if block_reason is not None else None
    if delivery is None:
        raise NotFound(NO_DELIVERY)
    await audit.insert(
        tx, business_id, by, action="webhook.resent", subject=str(delivery_id), details={"event": delivery.event_id},
        now=now,
    )  # fmt: skip
    return delivery


async def get_delivery(db: Database, business_id: str, delivery_id: int) -> Delivery:
    async with db.connection() as tx:
        delivery = await log_store.find(tx, business_id, delivery_id)
    if delivery is None:
        raise NotFound(NO_DELIVERY)
    return delivery


async def count_replay(tx: Tx, business_id: str, window: Window) -> ReplayCount:
    count = await log_store.count_replay(tx, business_id, window, limit=REPLAY_MAX + 1) or _not_found()
    if count.sent > REPLAY_MAX:
        raise Invalid(
            Problem("dateTo", f"makes more than {REPLAY_MAX} deliveries, the limit of a replay; use a shorter period")
        )
    return count


async def replay(tx: Tx, business_id: str, window: Window, *, by: Actor, now: datetime) -> ReplayCount:
    counted = await count_replay(tx, business_id, window)
    sent = await log_store.replay(tx, business_id, window, now=now, limit=REPLAY_MAX)
    details = {"from": to_iso(window.start), "to": to_iso(window.end), "count": sent}
    subject = window.endpoint_id or "all"
    await audit.insert(tx, business_id, by, action="webhook.replayed", subject=subject, details=details, now=now)
    return ReplayCount(sent, counted.erased)


async def keep_for_first(webhook_deps: WebhookDeps, business_id: str, known: str | None, *, now: datetime) -> str:
    """The secret reserved for the first endpoint; the known one while it is still usable. When none is known,
    the one that was reserved before."""
    async with webhook_deps.db.transaction() as tx:
        sealed = await store.list_sealed(tx, business_id)
        if known is not None and known in [_opened(webhook_deps.vault, one, business_id) for one in sealed]:
            return known
        waiting = await store.find_waiting(tx, business_id) if known is None else None
        if waiting and (reserved := _opened(webhook_deps.vault, waiting, business_id)):
            return reserved
        secret = sign.new_secret()
        await store.delete_waiting(tx, business_id)
        await store.insert_secret(tx, business_id, None, webhook_deps.vault.seal(secret, owner=business_id), now=now)
    return secret


def _opened(vault: Vault, sealed: str, business_id: str) -> str | None:
    """None when its encryption key is gone."""
    with suppress(NoKey):
        return vault.open(sealed, owner=business_id)
    return None


async def _note(tx: Tx, endpoint: Endpoint, by: Actor, what: str, details: Mapping[str, Any], *, now: datetime) -> None:
    await audit.insert(
        tx, endpoint.business_id, by, action=f"webhook.endpoint.{what}", subject=endpoint.id, details=details, now=now
    )


def _test_payload(endpoint: Endpoint, now: datetime) -> bytes:
    return encode(wire.TestEvent(data=wire.TestData(endpoint_id=endpoint.id, created_at=to_iso(now))))


def _not_found() -> NoReturn:
    raise NotFound(NO_ENDPOINT)
