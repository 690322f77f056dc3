"""The people of a sandbox: one for each role, who enter by a link that works once."""

from __future__ import annotations

from datetime import datetime

from tidegate.core import ids
from tidegate.core.clock import SystemClock
from tidegate.infra.db import Database
from tidegate.member import store, team_store
from tidegate.member.model import ENTER_LASTS, hash_of_token, new_token
from tidegate.member.permission import Role
from tidegate.member.realm import DASHBOARD, Realm

PEOPLE = {
    Role.OWNER: "Ada Obi",
    Role.ADMIN: "Bola Adewale",
    Role.DEVELOPER: "Chidi Eze",
    Role.FINANCE: "Tunde Bello",
    Role.SUPPORT: "Zainab Musa",
    Role.VIEWER: "Wanjiru Kamau",
}


def address_of(role: Role) -> str:
    return f"{role.value}@sandbox.tidegate.invalid"


async def seed(db: Database, business_id: str, *, now: datetime) -> None:
    """The same on every start; who was removed from the team by hand comes back with the next one."""
    async with db.transaction() as tx:
        for role, name in PEOPLE.items():
            await store.insert_person(
                tx, person_id=ids.new_person_id(), email=address_of(role), name=name, password_hash=None, now=now
            )
            found = await store.find_by_email(tx, address_of(role))
            assert found is not None
            await team_store.put(tx, business_id, found[0].id, role, now=now)


async def new_link(db: Database, base_url: str, role: Role = Role.OWNER) -> str:
    return await link_for(db, base_url, address_of(role), DASHBOARD)


async def link_for(db: Database, base_url: str, address: str, realm: Realm) -> str:
    now, token = SystemClock().now(), new_token()
    token_hash = hash_of_token(token)
    assert token_hash is not None
    async with db.connection() as tx:
        await store.insert_link(
            tx, address, purpose=realm.enter, token_hash=token_hash, expires_at=now + ENTER_LASTS, now=now
        )
    return f"{base_url}{realm.path}/enter/{token}"
