"""SQL of the versions that proposals are bound to.

A thing that changes gets another number. One that is decided once is 0 until then; None is for what does not exist, or
needs no decision any more.
"""

from __future__ import annotations

from tidegate.infra.db import Tx


async def version_of_inflow(tx: Tx, business_id: str, reference: str) -> int | None:
    found: int | None = await tx.fetchval(
        "SELECT version FROM collection WHERE business_id = $1 AND reference = $2", business_id, reference
    )
    return found


async def version_of_credit(tx: Tx, business_id: str, reference: str) -> int | None:
    """With the rate and the price, on which the credited amount depends."""
    found: int | None = await tx.fetchval(
        """
        SELECT version + 1000000 * worth_version(business_id, source_currency, destination_currency)
          FROM collection WHERE business_id = $1 AND reference = $2
        """,
        business_id, reference,
    )  # fmt: skip
    return found


async def version_of_account(tx: Tx, business_id: str, account_id: str) -> int | None:
    """With its documents, and the questions about it."""
    found: int | None = await tx.fetchval(
        """
        SELECT version + (SELECT count(*) FROM account_document WHERE business_id = $1 AND account_id = $2)
                       + (SELECT count(*) + count(answer) + count(taken_back_at) FROM account_question
                           WHERE business_id = $1 AND account_id = $2)
          FROM virtual_account WHERE business_id = $1 AND id = $2
        """,
        business_id, account_id,
    )  # fmt: skip
    return found


async def version_of_business(tx: Tx, business_id: str, _subject: str) -> int | None:
    """With its prices."""
    found: int | None = await tx.fetchval(
        """
        SELECT (extract(epoch FROM greatest(updated_at, (SELECT max(created_at) FROM fee_rule WHERE business_id = $1)))
                * 1000000)::bigint FROM business WHERE id = $1
        """,
        business_id,
    )
    return found


async def version_of_rate(tx: Tx, business_id: str, pair: str) -> int | None:
    found: int = await tx.fetchval(
        "SELECT coalesce(max(id), 0) FROM exchange_rate WHERE business_id = $1 AND base || '/' || quote = $2",
        business_id, pair,
    )  # fmt: skip
    return found


async def version_of_rates(tx: Tx, business_id: str, _source: str) -> int | None:
    """Of all pairs."""
    found: int = await tx.fetchval("SELECT coalesce(max(id), 0) FROM exchange_rate WHERE business_id = $1", business_id)
    return found


async def version_of_refundable(tx: Tx, business_id: str, reference: str) -> int | None:
    """Of a payment or an inflow; of one that was converted, with the rate of today."""
    found: int | None = await tx.fetchval(
        """
        SELECT version FROM payment WHERE business_id = $1 AND (reference = $2 OR pay_code = $2)
         UNION ALL
        SELECT version + CASE WHEN source_currency <> destination_currency
                              THEN 1000000 * worth_version(business_id, source_currency, destination_currency)
                              ELSE 0 END
          FROM collection WHERE business_id = $1 AND reference = $2
         LIMIT 1
        """,
        business_id, reference,
    )  # fmt: skip
    return found


async def version_of_keys(tx: Tx, business_id: str, _subject: str) -> int | None:
    """Each key that is made, and each that ends."""
    found: int | None = await tx.fetchval(
        """
        SELECT (SELECT count(*) + count(expires_at) + count(revoked_at) FROM credential WHERE business_id = $1)
          FROM business WHERE id = $1
        """,
        business_id,
    )
    return found


async def version_of_address(tx: Tx, business_id: str, url: str) -> int | None:
    """Of this address: what another endpoint became meanwhile changes nothing about a new one."""
    found: int | None = await tx.fetchval(
        """
        SELECT (SELECT count(*) + count(deleted_at) FROM webhook_endpoint WHERE business_id = $1 AND url = $2)
          FROM business WHERE id = $1
        """,
        business_id, url,
    )  # fmt: skip
    return found


async def version_of_endpoint(tx: Tx, business_id: str, endpoint_id: str) -> int | None:
    found: int | None = await tx.fetchval(
        """
        SELECT (extract(epoch FROM updated_at) * 1000000)::bigint FROM webhook_endpoint
         WHERE business_id = $1 AND id = $2 AND deleted_at IS NULL
        """,
        business_id, endpoint_id,
    )  # fmt: skip
    return found


async def version_of_owners(tx: Tx, business_id: str, _email: str) -> int | None:
    found: int | None = await tx.fetchval(
        """
        SELECT (SELECT count(*) FROM membership WHERE business_id = $1 AND role = 'owner') FROM business WHERE id = $1
        """,
        business_id,
    )
    return found


async def version_of_person(tx: Tx, _business_id: str, email: str) -> int | None:
    """A person who enrols a factor meanwhile needs no reset."""
    found: int | None = await tx.fetchval(
        "SELECT has_passkey::integer + 2 * (totp_step + 1) FROM person WHERE email = $1", email
    )
    return found


async def version_of_quarantined(tx: Tx, _business_id: str, subject: str) -> int | None:
    found: int | None = await tx.fetchval(
        """
        SELECT 0 FROM notification
         WHERE rail = split_part($1, '/', 1) AND id = substr($1, position('/' IN $1) + 1) AND state = 'quarantined'
        """,
        subject,
    )
    return found


async def version_of_return(tx: Tx, business_id: str, reference: str) -> int | None:
    found: int | None = await tx.fetchval(
        "SELECT 0 FROM money_return WHERE business_id = $1 AND reference = $2 AND status <> 'confirmed'",
        business_id, reference,
    )  # fmt: skip
    return found


async def version_of_refund_leg(tx: Tx, business_id: str, reference: str) -> int | None:
    found: int | None = await tx.fetchval(
        "SELECT 0 FROM refund_leg WHERE business_id = $1 AND reference = $2 AND status = 'processing'",
        business_id, reference,
    )  # fmt: skip
    return found


async def version_of_dispute(tx: Tx, business_id: str, subject: str) -> int | None:
    """Of `rail/id`."""
    found: int | None = await tx.fetchval(
        """
        SELECT 0 FROM dispute
         WHERE business_id = $1 AND rail = split_part($2, '/', 1)
           AND id = substr($2, strpos($2, '/') + 1) AND status = 'open'
        """,
        business_id, subject,
    )  # fmt: skip
    return found


async def version_of_payout(tx: Tx, business_id: str, reference: str) -> int | None:
    """Of its state and of where it goes."""
    found: int | None = await tx.fetchval(
        """
        SELECT hashtextextended(concat_ws('/', status, payee_name, payee_account, payee_bank, proposed_by), 0)
               & 576460752303423487
          FROM bank_payout WHERE business_id = $1 AND reference = $2
        """,
        business_id, reference,
    )  # fmt: skip
    return found


async def version_of_bank_entry(tx: Tx, _business_id: str, subject: str) -> int | None:
    found: int | None = await tx.fetchval(
        """
        SELECT 0 FROM bank_entry
         WHERE file_id = split_part($1, '/', 1) AND number::text = split_part($1, '/', 2) AND state = 'problem'
        """,
        subject,
    )
    return found


async def version_of_pause(tx: Tx, business_id: str, rail: str) -> int | None:
    found: int | None = await tx.fetchval(
        "SELECT id FROM rail_pause WHERE business_id = $1 AND rail = $2 AND lifted_at IS NULL", business_id, rail
    )
    return found


async def version_of_suspense(tx: Tx, business_id: str, receipt_id: str) -> int | None:
    found: int | None = await tx.fetchval(
        "SELECT 0 FROM receipt WHERE business_id = $1 AND id::text = $2 AND outcome = 'suspense'",
        business_id, receipt_id,
    )  # fmt: skip
    return found


async def version_of_staff(tx: Tx, _business_id: str, email: str) -> int | None:
    """0 for an address that is not of the staff."""
    found: int | None = await tx.fetchval(
        """
        SELECT (extract(epoch FROM coalesce(ended_at, staff.created_at)) * 1000000)::bigint + length(role)
          FROM staff JOIN person ON person.id = staff.person_id WHERE person.email = $1
        """,
        email,
    )
    return found or 0


async def count_approvers(tx: Tx) -> int:
    return int(await tx.fetchval("SELECT count(*) FROM staff WHERE role = 'approver' AND ended_at IS NULL"))
