"""Runs a command once per key. A repeated request gets the first answer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable
from datetime import datetime

from tidegate.core.errors import Conflict, Invalid, Problem, StillRunning
from tidegate.idempotency import store
from tidegate.infra.db import Database, Tx
from tidegate.infra.http.operation import Answer, Call

RETRY_AFTER_S = 1
HEADER = b"idempotency-key"
_KEY = re.compile(r"[\x21-\x7e]{1,255}")

IdempotentAct = Callable[[Tx], Awaitable[Answer]]


def is_asked_for_once(call: Call) -> bool:
    """Whether the answer is kept. A command whose answer is not kept may be batched."""
    return bool(call.headers.all(HEADER))


async def once(db: Database, call: Call, act: IdempotentAct, *, now: datetime, is_one_statement: bool = True) -> Answer:
    """The command and its kept answer commit in one transaction.

    Only successes are kept: a refused request writes nothing and is checked again. A command of one statement needs
    no transaction around it.
    """
    given = call.headers.all(HEADER)
    if not given:
        async with db.connection() if is_one_statement else db.transaction() as tx:
            return await act(tx)
    key = _parse(given)
    business_id = call.caller.business.id
    request_hash = _hash_of(call)
    async with db.transaction() as tx:
        if not await store.lock(tx, business_id, key):
            raise StillRunning(
                "the first request with this Idempotency-Key is still running; wait as long as Retry-After says",
                retry_after_s=RETRY_AFTER_S,
            )
        kept = await store.find(tx, business_id, key)
        if kept is not None:
            if kept["request_hash"] != request_hash:
                raise Invalid(Problem("Idempotency-Key", "was used before with another request; use a new key"))
            if kept["body"] is None:
                raise Conflict("the answer to this Idempotency-Key was erased at the payer's request; its effect stays")
            return Answer(kept["status"], kept["body"], [(b"idempotent-replayed", b"true")])
        answer = await act(tx)
        body = answer.body if answer.kept_body is None else answer.kept_body
        await store.insert(tx, business_id, key, request_hash=request_hash, status=answer.status, body=body, now=now)
        return answer


def _parse(given: list[bytes]) -> str:
    key = given[0].decode("latin-1")
    if len(given) > 1 or not _KEY.fullmatch(key):
        raise Invalid(Problem("Idempotency-Key", "must be sent once, with 1 to 255 visible ASCII characters"))
    return key


def _hash_of(call: Call) -> bytes:
    path = "&".join(f"{name}={value}" for name, value in sorted(call.path.items()))
    return hashlib.sha256(f"{call.operation.name}?{path}\n".encode() + call.body).digest()
