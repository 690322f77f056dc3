"""What a connection of the service works with, whatever the server's own settings are."""

from __future__ import annotations

from tidegate.infra.db import Database


async def test_statements_are_not_compiled(database_url: str) -> None:
    """On a server that compiles them (Debian's does) the plain ones of a service take longer."""
    db = Database(f"{database_url}{'&' if '?' in database_url else '?'}jit=on")
    await db.open()
    async with db.connection() as tx:
        assert await tx.fetchval("SELECT current_setting('jit')") == "off"
    await db.close()
