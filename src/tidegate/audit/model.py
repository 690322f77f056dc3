"""The actor of a change."""

from __future__ import annotations

import msgspec


class Actor(msgspec.Struct, frozen=True):
    """`actor` as the audit table stores it; `origin` is the client's IP address, if there is one."""

    actor: str
    origin: str | None = None


OPERATOR = Actor("operator")
OURSELVES = Actor("tidegate")


def person(person_id: str, origin: str) -> Actor:
    return Actor(f"person/{person_id}", origin)


def staff(person_id: str, origin: str) -> Actor:
    return Actor(f"staff/{person_id}", origin)


def key(key_id: int, origin: str) -> Actor:
    return Actor("key/" + str(key_id), origin)
