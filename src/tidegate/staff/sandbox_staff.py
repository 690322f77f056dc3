"""The staff of a sandbox, who enter the console by a link that works once."""

from __future__ import annotations

from datetime import datetime

from tidegate.audit.model import OURSELVES
from tidegate.core import ids
from tidegate.infra.db import Database
from tidegate.member import sandbox_people
from tidegate.member import store as people
from tidegate.member.realm import CONSOLE
from tidegate.staff import store
from tidegate.staff.permission import StaffRole

# Enough to try four eyes on everything, the staff included.
STAFF = {
    "Ifeoma Nwosu": StaffRole.OPERATOR,
    "Emeka Okafor": StaffRole.OPERATOR,
    "Kofi Mensah": StaffRole.APPROVER,
    "Sade Cole": StaffRole.APPROVER,
    "Grace Wanjiku": StaffRole.AUDITOR,
}


def address_of(name: str) -> str:
    return f"{name.partition(' ')[0].lower()}@console.tidegate.invalid"


async def seed(db: Database, *, now: datetime) -> None:
    """The same on every start."""
    async with db.transaction() as tx:
        for name, role in STAFF.items():
            await people.insert_person(
                tx, person_id=ids.new_person_id(), email=address_of(name), name=name, password_hash=None, now=now
            )
            found = await people.find_by_email(tx, address_of(name))
            assert found is not None
            await store.put(tx, found[0].id, role, by=OURSELVES.actor, now=now)


async def new_link(db: Database, console_url: str, role: StaffRole = StaffRole.OPERATOR) -> str:
    name = next(name for name, one in STAFF.items() if one is role)
    return await sandbox_people.link_for(db, console_url, address_of(name), CONSOLE)
