"""Who may do what: one table, from which come the routes' checks, the buttons and the test of every role."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """From the highest: a member cannot give a role above their own."""

    OWNER = "owner"
    ADMIN = "admin"
    DEVELOPER = "developer"
    FINANCE = "finance"
    SUPPORT = "support"
    VIEWER = "viewer"


class Grant(StrEnum):
    YES = "y"
    # With a factor shown in the last ten minutes.
    STEP_UP = "s"
    # Asks for it; another person allows it.
    PROPOSES = "2"
    NO = "-"


class Permission(StrEnum):
    SEE = "see payments, inflows, refunds and wallets"
    SEE_PAYER = "see payers' data in full"
    EXPORT = "export lists"
    EXPORT_MANY = "export more than 10,000 rows"
    SHARE_VIEWS = "share views with the team"
    MANAGE_PAYMENTS = "create and disable payments"
    SEND_RECEIPT = "send receipts and share cases"
    REFUND = "refund up to the limit"
    REFUND_ABOVE = "refund above the limit"
    APPROVE = "approve refunds"
    REQUEST_ACCOUNT = "request accounts"
    DELIVERIES = "see and resend deliveries"
    REPLAY = "replay deliveries, send test events"
    REQUEST_LOG = "see the request log"
    BRAND = "change the branding"
    ENDPOINTS = "change endpoints and redirect hosts"
    KEYS = "see and change API keys"
    FULL_KEYS = "make keys with all rights"
    SETTINGS = "change variance, session and time zone"
    LIMITS = "change refund limits, demand two-step sign-in, reset a member's factors"
    TEAM = "change the team"
    AUDIT = "read the audit log"
    OWNERSHIP = "hand over ownership"
    SANDBOX = "move the sandbox's clock"


#                                  owner, admin, developer, finance, support, viewer
_TABLE = {
    Permission.SEE:                "yyyyyy",
    Permission.SEE_PAYER:          "yy-yy-",
    Permission.EXPORT:             "yy-y--",
    Permission.EXPORT_MANY:        "ss-s--",
    Permission.SHARE_VIEWS:        "yy-y--",
    Permission.MANAGE_PAYMENTS:    "yyyyy-",
    Permission.SEND_RECEIPT:       "yy-yy-",
    Permission.REFUND:             "ss-s2-",
    Permission.REFUND_ABOVE:       "22-22-",
    Permission.APPROVE:            "ss-s--",
    Permission.REQUEST_ACCOUNT:    "yy-y--",
    Permission.DELIVERIES:         "yyyyy-",
    Permission.REPLAY:             "yyy---",
    Permission.REQUEST_LOG:        "yyy---",
    Permission.BRAND:              "yyy---",
    Permission.ENDPOINTS:          "sss---",
    Permission.KEYS:               "sss---",
    Permission.FULL_KEYS:          "ss----",
    Permission.SETTINGS:           "ss-s--",
    Permission.LIMITS:             "s-----",
    Permission.TEAM:               "ss----",
    Permission.AUDIT:              "yy-y--",
    Permission.OWNERSHIP:          "s-----",
    Permission.SANDBOX:            "yyyyy-",
}  # fmt: skip
_RANK = {role: number for number, role in enumerate(Role)}
# Roles that open nothing before a second factor is enrolled.
NEEDS_SECOND_FACTOR = frozenset({Role.OWNER, Role.ADMIN, Role.DEVELOPER, Role.FINANCE})


def grant(role: Role, permission: Permission) -> Grant:
    return Grant(_TABLE[permission][_RANK[role]])


def may(role: Role, permission: Permission) -> bool:
    return grant(role, permission) is not Grant.NO


def roles_given_by(role: Role) -> tuple[Role, ...]:
    """The roles that a member may give, change or take: at most their own. An owner is made by another owner only."""
    return tuple(other for other in Role if _RANK[other] >= _RANK[role]) if may(role, Permission.TEAM) else ()


def approvers(roles: list[Role]) -> int:
    """How many of a team could approve a refund."""
    return sum(may(role, Permission.APPROVE) for role in roles)
