"""After a rotation of the encryption key: everything that is stored encrypted, encrypted with the current one."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.doctor import sealed_store
from tidegate.doctor.sealed_store import SealedKind, SealedRow
from tidegate.infra.db import Database
from tidegate.infra.vault import NoKey, Vault


@dataclass
class Reencrypted:
    subject: str
    renewed: int = 0
    # Encrypted with the current key before.
    current: int = 0
    # Whose key is not known.
    unreadable: list[str] = field(default_factory=list)


async def reencrypt(db: Database, vault: Vault) -> list[Reencrypted]:
    """Beside running services, and again after it was cut off: a batch is one transaction, a current secret is left."""
    done = []
    for kind in sealed_store.KINDS:
        count = Reencrypted(kind.subject)
        async with db.connection() as reading:
            async for rows in sealed_store.batches(reading, kind):
                await _renew(db, vault, kind, rows, count)
        done.append(count)
    return done


async def _renew(db: Database, vault: Vault, kind: SealedKind, rows: list[SealedRow], count: Reencrypted) -> None:
    old = [row for row in rows if not vault.is_current(row.sealed)]
    count.current += len(rows) - len(old)
    if not old:
        return
    async with db.transaction() as tx:
        for row in old:
            try:
                opened = vault.open(row.sealed, owner=row.owner)
            except NoKey as why:
                if row.is_needed:
                    count.unreadable.append(f"{row.label}: {why}")
                continue
            # One that was changed meanwhile was encrypted with the current key then.
            count.renewed += await sealed_store.replace(tx, kind, row, vault.seal(opened, owner=row.owner))
