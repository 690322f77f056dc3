"""The pages of the side, in groups, and who sees them."""

from __future__ import annotations

from typing import NamedTuple

from tidegate.member import permission
from tidegate.member.permission import Permission, Role


class NavigationItem(NamedTuple):
    name: str
    below: str
    permission: Permission


GROUPS = (
    (
        NavigationItem("Home", "", Permission.SEE),
        NavigationItem("Payments", "/payments", Permission.SEE),
        NavigationItem("Payment links", "/links", Permission.SEE),
        NavigationItem("Inflows & accounts", "/inflows", Permission.SEE),
        NavigationItem("Wallets", "/wallets", Permission.SEE),
        NavigationItem("Refunds", "/refunds", Permission.SEE),
    ),
    (
        NavigationItem("Webhooks", "/webhooks", Permission.DELIVERIES),
        NavigationItem("API keys", "/keys", Permission.KEYS),
        NavigationItem("Developers", "/developers", Permission.REQUEST_LOG),
    ),
    (
        NavigationItem("Branding", "/branding", Permission.BRAND),
        NavigationItem("Team", "/team", Permission.SEE),
        NavigationItem("Audit log", "/audit", Permission.SEE),
        NavigationItem("Settings", "/settings", Permission.SEE),
    ),
)


def seen_by(role: Role) -> list[list[NavigationItem]]:
    shown = [[item for item in group if permission.may(role, item.permission)] for group in GROUPS]
    return [group for group in shown if group]
