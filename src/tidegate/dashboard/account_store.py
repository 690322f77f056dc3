"""SQL of an account with what the operator asked about it."""

from __future__ import annotations

from tidegate.account.model import Account
from tidegate.account.question_store import AccountQuestion
from tidegate.account.store import account_of
from tidegate.infra.db import Tx


async def find(tx: Tx, business_id: str, account_id: str) -> tuple[Account, list[AccountQuestion]] | None:
    row = await tx.fetchrow(
        """
        SELECT virtual_account,
               ARRAY(SELECT asked FROM account_question AS asked
                      WHERE business_id = $1 AND account_id = $2 ORDER BY asked.id) AS questions
          FROM virtual_account WHERE business_id = $1 AND id = $2
        """,
        business_id, account_id,
    )  # fmt: skip
    if row is None:
        return None
    asked = [AccountQuestion(**{name: one[name] for name in AccountQuestion._fields}) for one in row["questions"]]
    return account_of(row["virtual_account"]), asked
