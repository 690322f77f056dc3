"""The staff: who is added, who leaves."""

from __future__ import annotations

from datetime import datetime

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core import ids
from tidegate.core.errors import NotFound
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Tx
from tidegate.mail import store as mail
from tidegate.mail.model import Mail
from tidegate.member import session_store
from tidegate.member import store as people
from tidegate.member.model import INVITATION_LASTS, Member, email_in, hash_of_token, name_in, new_token
from tidegate.member.realm import CONSOLE
from tidegate.member.sign_in import RESET
from tidegate.staff import store
from tidegate.staff.model import StaffMember
from tidegate.staff.permission import StaffRole


async def may_enter(tx: Tx, member: Member) -> bool:
    return await store.find(tx, member.id) is not None


async def get(tx: Tx, email: str) -> StaffMember:
    found = await store.find_by_email(tx, email)
    if found is None:
        raise NotFound(f"no member of the staff has the address {email}; `tidegate staff list` shows them")
    return found


async def add(tx: Tx, *, email: str, name: str, role: StaffRole, by: Actor, now: datetime) -> Member:
    """A person who has this address already keeps name and factors."""
    email, name = email_in(email), name_in(name)
    member = await people.insert_person(
        tx, person_id=ids.new_person_id(), email=email, name=name, password_hash=None, now=now
    )
    if member is None:
        found = await people.find_by_email(tx, email)
        assert found is not None
        member = found[0]
    await store.put(tx, member.id, role, by=by.actor, now=now)
    await _note(tx, by, "staff.added", member.id, now, email=email, role=role)
    return member


async def remove(tx: Tx, person_id: str, *, by: Actor, now: datetime) -> None:
    """Signed out at once."""
    if not await store.end(tx, person_id, now=now):
        raise NotFound("no member of the staff has this id")
    await session_store.delete_realm(tx, person_id, CONSOLE)
    await _note(tx, by, "staff.removed", person_id, now)


async def invite(tx: Tx, member: Member, console_url: str, *, now: datetime) -> str:
    """The link by which they choose a password, mailed too. A second factor is asked for at the first sign-in."""
    token = new_token()
    token_hash = hash_of_token(token)
    assert token_hash is not None
    await people.insert_link(
        tx, member.email, purpose=RESET, token_hash=token_hash, expires_at=now + INVITATION_LASTS, now=now
    )
    url = f"{console_url}{CONSOLE.path}/reset/{token}"
    letter = Mail(
        recipient=member.email,
        subject="Your access to the Tidegate console",
        paragraphs=(
            "You can sign in to the operator's console. Choose a password first, then set up codes of an app.",
            "The link works once, for three days.",
        ),
        link=("Choose a password", url),
        closing="If you do not know why you got this, ignore it.",
    )
    await mail.insert(tx, PLATFORM_BUSINESS_ID, letter, now=now)
    return url


async def _note(tx: Tx, by: Actor, action: str, person_id: str, now: datetime, **details: str) -> None:
    await audit.insert(
        tx, PLATFORM_BUSINESS_ID, by, action=action, subject=f"staff/{person_id}", details=details, now=now
    )
