"""The console's own sign-in."""

from __future__ import annotations

from tidegate.dashboard.sign_in_pages import SignInPages
from tidegate.member.model import Member
from tidegate.staff import store


class StaffSignInPages(SignInPages):
    async def role_of(self, member: Member) -> str:
        async with self.shell.db.connection() as tx:
            found = await store.find(tx, member.id)
        return found.role.value if found else ""
