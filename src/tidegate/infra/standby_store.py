"""SQL about the synchronous standby."""

from __future__ import annotations

from tidegate.infra.db import Tx


async def is_synchronous(tx: Tx) -> bool:
    """Patroni names the standby while it follows, and none while the primary is alone."""
    return bool(await tx.fetchval("SELECT current_setting('synchronous_standby_names') <> ''"))


async def await_all(tx: Tx) -> None:
    """The commit of this statement waits for all that was written before."""
    await tx.execute("SELECT await_standby()")
