"""One of the staff."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.core.errors import Invalid, Problem
from tidegate.member.model import Member
from tidegate.staff.permission import StaffRole


class StaffMember(msgspec.Struct, frozen=True, kw_only=True):
    member: Member
    role: StaffRole
    created_at: datetime
    seen_at: datetime | None = None


def staff_role_in(text: str) -> StaffRole:
    try:
        return StaffRole(text)
    except ValueError:
        raise Invalid(Problem("role", f"Choose one of {', '.join(StaffRole)}.")) from None
