"""SQL of the pages that wait for news."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.infra.db import Tx


async def list_versions(tx: Tx, watched: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """All payments that somebody looks at, in one question."""
    rows = await tx.fetch(
        """
        SELECT business_id, pay_code, version
          FROM unnest($1::text[], $2::text[]) AS watched (business_id, pay_code)
          JOIN payment USING (business_id, pay_code)
        """,
        [business_id for business_id, _ in watched],
        [pay_code for _, pay_code in watched],
    )
    return {(row["business_id"], row["pay_code"]): row["version"] for row in rows}
