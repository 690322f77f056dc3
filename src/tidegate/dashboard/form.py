"""Forms of signed-in people: each is done once, and some only after a factor was shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

from tidegate.core.errors import AccessDenied, StillRunning
from tidegate.core.ids import Mode
from tidegate.idempotency import store as kept_answers
from tidegate.infra.db import Database, Tx
from tidegate.infra.page.form import Form
from tidegate.member.model import MemberSession
from tidegate.member.passkey import Passkeys
from tidegate.member.sign_in import SignIn

ONCE_CHARS_MAX = 64
# Does the work in the transaction and returns where to go.
OnceAct = Callable[[Tx], Awaitable[str]]


async def do_once(db: Database, business_id: str, form: Form, act: OnceAct, *, now: datetime) -> str:
    """A double click, Back and a reload do it once: the form's key is kept with where it led."""
    given = form.get("once", "")
    # A key of the API has no space, so the two never meet.
    key = f"form {given}"
    if not 0 < len(given) <= ONCE_CHARS_MAX:
        raise AccessDenied("this form is incomplete; reload the page and try again")
    async with db.transaction() as tx:
        if not await kept_answers.lock(tx, business_id, key):
            raise StillRunning("this form is being sent already; look at the page again", retry_after_s=1)
        kept = await kept_answers.find(tx, business_id, key)
        if kept is not None and kept["body"] is not None:
            return bytes(kept["body"]).decode()
        below = await act(tx)
        await kept_answers.insert(tx, business_id, key, request_hash=b"", status=200, body=below.encode(), now=now)
    return below


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
