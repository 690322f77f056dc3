"""The staff of a database in live mode, who show a password on the command line."""

from __future__ import annotations

from tidegate.audit.model import OPERATOR
from tidegate.core.clock import SystemClock
from tidegate.infra.db import Database
from tidegate.member import store as people
from tidegate.member.password import PasswordHashing
from tidegate.staff import commands as staff
from tidegate.staff.permission import StaffRole

PASSWORD = "correct horse battery staple"
OPERATING, APPROVING, AUDITING = "ops@example.com", "kofi@example.com", "grace@example.com"
ROLES = {
    OPERATING: StaffRole.OPERATOR,
    AUDITING: StaffRole.AUDITOR,
    APPROVING: StaffRole.APPROVER,
    "sade@example.com": StaffRole.APPROVER,
}


async def add_staff(db: Database) -> None:
    """Two approvers, an operator and an auditor."""
    now, hashed = SystemClock().now(), await PasswordHashing().hash(PASSWORD)
    async with db.transaction() as tx:
        for email, role in ROLES.items():
            member = await staff.add(tx, email=email, name=email.partition("@")[0], role=role, by=OPERATOR, now=now)
            await people.set_password(tx, member.id, hashed)
