"""The actor of a change."""

from __future__ import annotations

import msgspec


class By(msgspec.Struct, frozen=True):
    """`actor` as the audit table stores it; `origin` is the client's IP address, if there is one."""

    actor: str
    origin: str | None = None


OPERATOR = By("operator")
OURSELVES = By("tidegate")


def key(key_id: int, origin: str) -> By:
    return By("key/" + str(key_id), origin)
