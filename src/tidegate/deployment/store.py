"""SQL of the single row that holds the mode and the secret of this database."""

from __future__ import annotations

from typing import NamedTuple

from tidegate.core.ids import Mode
from tidegate.infra.db import Tx


class Deployment(NamedTuple):
    mode: Mode
    # Shared by all processes; signs the notifications of the sandbox rail.
    secret: bytes


class Session(NamedTuple):
    role: str
    statement_timeout: str
    isolation: str
    jit: str


async def get_session(tx: Tx) -> Session:
    """What a connection works with."""
    row = await tx.fetchrow(
        """
        SELECT current_user AS role, current_setting('statement_timeout') AS statement_timeout,
               current_setting('default_transaction_isolation') AS isolation, current_setting('jit') AS jit
        """
    )
    assert row is not None
    return Session(**row)


async def claim(tx: Tx, mode: Mode) -> None:
    """The first call decides. Needs the owner's rights."""
    await tx.execute("INSERT INTO deployment (mode) VALUES ($1) ON CONFLICT DO NOTHING", mode)


async def find(tx: Tx) -> Deployment | None:
    row = await tx.fetchrow("SELECT mode, secret FROM deployment")
    return Deployment(Mode(row["mode"]), row["secret"]) if row else None
