"""Something else in the transaction of a command: both are written, or neither."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tidegate.infra.db import Tx

InSameTransaction = Callable[[Tx], Awaitable[None]]


async def nothing_else(_tx: Tx) -> None:
    return
