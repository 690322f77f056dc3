"""Everything that is stored encrypted: one row of `KINDS` for each column. A test compares them with the schema."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

from tidegate.infra.db import Tx

SECRETS_BATCH = 1_000
# Each may have 10 MB.
DOCUMENTS_BATCH = 4


class SealedRow(NamedTuple):
    # The row's place, by which the next batch goes on.
    key: str
    number: int
    # Whom it was encrypted for: it opens for the same one only.
    owner: str
    label: str
    # Whether the service needs to open it; a webhook secret that was rotated only signs beside the new one.
    is_needed: bool
    sealed: str


class SealedKind(NamedTuple):
    column: str
    subject: str
    select: str
    update: str


WEBHOOK_SECRETS = SealedKind(
    "webhook_secret.sealed",
    "webhook secrets",
    """
    SELECT business_id AS key, id AS number, business_id AS owner,
           coalesce(endpoint_id, 'the first endpoint') || ' of ' || business_id AS label,
           expires_at IS NULL AS is_needed, sealed
      FROM webhook_secret WHERE (business_id, id) > ($1, $2) ORDER BY business_id, id LIMIT $3
    """,
    "UPDATE webhook_secret SET sealed = $4 WHERE business_id = $1 AND id = $2 AND sealed = $3",
)
SECOND_FACTORS = SealedKind(
    "person.totp_secret",
    "second factors",
    """
    SELECT id AS key, 0 AS number, id AS owner, 'person ' || id AS label, true AS is_needed, totp_secret AS sealed
      FROM person WHERE (id, 0) > ($1, $2::bigint) AND totp_secret IS NOT NULL ORDER BY id LIMIT $3
    """,
    "UPDATE person SET totp_secret = $4 WHERE id = $1 AND $2::bigint = 0 AND totp_secret = $3",
)
ENROLMENTS = SealedKind(
    "member_session.pending_secret",
    "unconfirmed second factors",
    """
    SELECT person_id AS key, id AS number, person_id AS owner, 'session of person ' || person_id AS label,
           true AS is_needed, pending_secret AS sealed
      FROM member_session WHERE (person_id, id) > ($1, $2) AND pending_secret IS NOT NULL
     ORDER BY person_id, id LIMIT $3
    """,
    "UPDATE member_session SET pending_secret = $4 WHERE person_id = $1 AND id = $2 AND pending_secret = $3",
)
DOCUMENTS = SealedKind(
    "account_document.sealed",
    "documents",
    """
    SELECT business_id AS key, id AS number, account_id AS owner,
           'document ' || id || ' of account ' || account_id AS label, true AS is_needed, sealed
      FROM account_document WHERE (business_id, id) > ($1, $2) ORDER BY business_id, id LIMIT $3
    """,
    "UPDATE account_document SET sealed = $4 WHERE business_id = $1 AND id = $2 AND sealed = $3",
)
KINDS = (WEBHOOK_SECRETS, SECOND_FACTORS, ENROLMENTS, DOCUMENTS)


async def batches(tx: Tx, kind: SealedKind) -> AsyncIterator[list[SealedRow]]:
    after: tuple[str, int] = ("", 0)
    limit = DOCUMENTS_BATCH if kind is DOCUMENTS else SECRETS_BATCH
    while True:
        rows = [SealedRow(**row) for row in await tx.fetch(kind.select, *after, limit)]
        if rows:
            yield rows
        if len(rows) < limit:
            return
        after = rows[-1].key, rows[-1].number


async def replace(tx: Tx, kind: SealedKind, row: SealedRow, sealed: str) -> bool:
    """False when it was changed meanwhile."""
    done: str = await tx.execute(kind.update, row.key, row.number, row.sealed, sealed)
    return done.endswith(" 1")
