"""What each of the staff may do: one table makes the checks of the routes, the buttons and the test of every role."""

from __future__ import annotations

from enum import StrEnum

from tidegate.member.permission import Grant


class StaffRole(StrEnum):
    OPERATOR = "operator"
    APPROVER = "approver"
    AUDITOR = "auditor"


class StaffPermission(StrEnum):
    SEE = "see merchants, money and queues"
    DOCUMENT = "open documents after saying why"
    SUSPEND = "suspend merchants and accounts, pause cards and rails"
    CREATE = "create merchants and propose their owners"
    PROPOSE = "propose what lets money out or widens rights"
    APPROVE = "approve what another person proposed"
    ASK = "ask a rail again, resend, run jobs, ask merchants, explain differences"
    CHECK = "reconcile, prove the books, verify the audit trail"
    EXPORT = "export the books and the audit trail"
    STAFF = "propose changes of the staff"
    SANDBOX = "be another person in the sandbox"


#                               operator, approver, auditor
_TABLE = {
    StaffPermission.SEE:        "yyy",
    StaffPermission.DOCUMENT:   "yyy",
    StaffPermission.SUSPEND:    "ss-",
    StaffPermission.CREATE:     "s--",
    StaffPermission.PROPOSE:    "2--",
    StaffPermission.APPROVE:    "-s-",
    StaffPermission.ASK:        "y--",
    StaffPermission.CHECK:      "yyy",
    StaffPermission.EXPORT:     "sss",
    StaffPermission.STAFF:      "-2-",
    StaffPermission.SANDBOX:    "yyy",
}  # fmt: skip
_COLUMN = {role: number for number, role in enumerate(StaffRole)}


def grant_of(role: StaffRole, permission: StaffPermission) -> Grant:
    return Grant(_TABLE[permission][_COLUMN[role]])


def is_granted(role: StaffRole, permission: StaffPermission) -> bool:
    return grant_of(role, permission) is not Grant.NO
