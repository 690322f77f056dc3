"""The staff, signed in to the console without a browser."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dashboard.people import People, SignedInPerson
from tidegate.core import ids
from tidegate.core.clock import SystemClock
from tidegate.member import session_store
from tidegate.member import store as member_store
from tidegate.member.model import hash_of_token, new_token
from tidegate.member.permission import Role
from tidegate.member.realm import CONSOLE
from tidegate.staff import store
from tidegate.staff.permission import StaffRole


async def let_refunds_wait(admin: Any) -> None:
    """For so long that they are stuck."""
    begun_at = await admin.fetchval("SELECT max(initiated_at) FROM refund")
    await admin.execute("UPDATE refund SET initiated_at = $1", begun_at - timedelta(hours=1))


@dataclass
class SignedInStaff(SignedInPerson):
    def path(self, below: str = "") -> str:
        return f"/console{below}"


@dataclass
class StaffPeople:
    people: People

    async def person(self, role: StaffRole, *, name: str = "") -> SignedInStaff:
        now, token = SystemClock().now(), new_token()
        token_hash = hash_of_token(token)
        assert token_hash is not None
        async with self.people.db.transaction() as tx:
            member = await member_store.insert_person(
                tx, person_id=ids.new_person_id(), email=f"{role}-{ids.new_business_code().lower()}@example.com",
                name=name or role.value.capitalize(), password_hash=None, now=now,
            )  # fmt: skip
            assert member is not None
            await store.put(tx, member.id, role, by="operator", now=now)
            await session_store.insert(
                tx, token_hash, member, is_complete=True, browser="test", address="127.0.0.1", now=now, realm=CONSOLE
            )
        client = self.people.browser()
        client.cookies.set(CONSOLE.cookie, token)
        return SignedInStaff(client, member, Role.VIEWER, "")
