"""Identifiers as merchants' machines make them, by the million."""

from __future__ import annotations

import random
from collections.abc import Iterator
from uuid import UUID


def merchant_ids(chance: random.Random) -> Iterator[str]:
    """As shops make them: by a time stamp, a counter, chance, or all of these."""

    def digits(many: int) -> int:
        return chance.randrange(10 ** (many - 1), 10**many)

    day = 1_790_000_000
    while True:
        now = chance.randrange(day, day + 10**8)
        yield str(UUID(int=chance.getrandbits(128), version=4))
        yield f"{chance.getrandbits(128):032x}"
        yield f"w{digits(9)}-{digits(2)}-{now}"
        yield f"{digits(9)}-{digits(2)}-{now}"
        yield f"ORD-{digits(4)}-{digits(4)}-{digits(4)}-{digits(4)}"
        yield f"{digits(3)}-{digits(7)}-{digits(7)}"
        yield f"{now}{chance.randrange(1000):03d}"
        yield f"{now}{chance.randrange(10**6):06d}"
        yield f"{now}{chance.randrange(10**9):09d}"
        yield f"2026{chance.randrange(1, 13):02d}{chance.randrange(1, 29):02d}{digits(6)}"
        yield f"2026{chance.randrange(1, 13):02d}{chance.randrange(1, 29):02d}-{digits(8)}"
        yield f"2026-11-{chance.randrange(1, 29):02d}T09:{chance.randrange(10, 60)}:00.{digits(6)}Z"
        yield f"order_{digits(16)}"
        yield f"{digits(16)}_{digits(3)}"
        yield f"shop.{digits(16)}"
        yield f"INV{digits(16)}"
        yield f"{digits(5)} {digits(5)} {digits(6)}"
        yield f"+{digits(13)}"
        yield f"#{digits(12)}"
        yield f"{digits(20)}"
