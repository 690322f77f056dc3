"""Forms of signed-in people: each is done once, and some only after a factor was shown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from hashlib import sha256

import msgspec

from tidegate.core.errors import AccessDenied, Conflict, StillRunning
from tidegate.core.ids import Mode
from tidegate.idempotency import store as kept_answers
from tidegate.infra.db import Database, Tx
from tidegate.infra.http.form import Form
from tidegate.infra.page.router import PageRequest
from tidegate.member.model import MemberSession
from tidegate.member.passkey import Passkeys
from tidegate.member.sign_in import SignIn

NO_ACTION = "there is no such action; open the page again and choose one of its buttons"
ONCE_CHARS_MAX = 64
FIRST_LOOKED_FOR_EVERY_S = 0.1
FIRST_LOOKED_FOR_MAX = 80
# Does the work in the transaction and returns where to go.
OnceAct = Callable[[Tx], Awaitable[str]]


# Not what a form asks for: not carried to the page that asks for a factor, and never drawn again.
OF_THE_SHELL = frozenset({"token", "factor", "passkey", "sandbox"})


async def do_once(db: Database, business_id: str, request: PageRequest, act: OnceAct, *, now: datetime) -> str:
    """A double click, Back and a reload do it once: the form's key is kept with where it led. Raises Conflict where
    the same key comes with something else."""
    key = _key_of(request)
    if key is None:
        raise AccessDenied("this form is incomplete; reload the page and try again")
    # A browser shows the answer to its last click: while the first one runs, that waits for where the first leads.
    for _ in range(FIRST_LOOKED_FOR_MAX):
        below = await _do_or_find(db, business_id, key, request, act, now=now)
        if below is not None:
            return below
        # Without a connection.
        await asyncio.sleep(FIRST_LOOKED_FOR_EVERY_S)
    raise StillRunning("this form is being sent already; look at the page again", retry_after_s=1)


async def _do_or_find(
    db: Database, business_id: str, key: str, request: PageRequest, act: OnceAct, *, now: datetime
) -> str | None:
    """None while another request does it."""
    async with db.transaction() as tx:
        if not await kept_answers.lock(tx, business_id, key):
            return None
        kept = await kept_answers.find(tx, business_id, key)
        asked = _hash_of(request)
        if kept is not None and kept["body"] is not None:
            if bytes(kept["request_hash"]) != asked:
                raise Conflict(
                    "this form was sent before with something else in it, and that was done; look at the page again,"
                    " and send it anew if you still want to"
                )
            return bytes(kept["body"]).decode()
        below = await act(tx)
        await kept_answers.insert(tx, business_id, key, request_hash=asked, status=200, body=below.encode(), now=now)
    return below


async def was_done(db: Database, business_id: str, request: PageRequest) -> bool:
    """Whether the form's key is kept already."""
    key = _key_of(request)
    async with db.connection() as tx:
        return key is not None and await kept_answers.find(tx, business_id, key) is not None


def _key_of(request: PageRequest) -> str | None:
    """A key of the API has no space, so the two never meet."""
    given = request.form.get("once", "")
    return f"form {given}" if 0 < len(given) <= ONCE_CHARS_MAX else None


def _hash_of(request: PageRequest) -> bytes:
    """Of what a form is about and asks for."""
    fields = [(name, text) for name, text in request.form.items() if name not in OF_THE_SHELL]
    files = [(name, sha256(body).hexdigest()) for name, body in request.form.files.items()]
    return sha256(msgspec.json.encode([sorted(request.path.items()), sorted(fields), sorted(files)])).digest()


async def show_factor(sign_in: SignIn, passkeys: Passkeys, session: MemberSession, mode: Mode, form: Form) -> str:
    """The new session id. Raises Invalid."""
    if "passkey" in form:
        return await passkeys.show(session, form["passkey"], scope_of(session))
    if session.member.is_of_sandbox and mode is Mode.SANDBOX:
        return await sign_in.step_up_in_sandbox(session)
    return await sign_in.step_up(session, form.get("factor", ""))


def shows_factor(form: Form) -> bool:
    return "factor" in form or "passkey" in form


def scope_of(session: MemberSession) -> str:
    """A form belongs to the session that it was drawn for."""
    return f"session/{session.id}"
