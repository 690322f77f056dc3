"""SQL of businesses and keys. Every change is counted, so that all processes drop what they remember."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from ipaddress import ip_network
from typing import Any

import msgspec

from tidegate.core.fee import FeeBearer, FeeOnRefund, FeeRule
from tidegate.core.method import Priced, priced_in
from tidegate.core.money import Currency
from tidegate.infra.db import Row, Tx
from tidegate.merchant.key_terms import ALL_RIGHTS, KeyTerms
from tidegate.merchant.logo import Logo
from tidegate.merchant.model import (
    ApiKey,
    Brand,
    Business,
    BusinessStatus,
    Caller,
    KeyKind,
    KeyScope,
    KeyUse,
    NamePolicy,
    Support,
)


async def insert_business(tx: Tx, *, business_id: str, code: str, name: str, email: str, now: datetime) -> Business:
    row = await tx.fetchrow(
        """
        WITH counted AS (UPDATE credential_epoch SET epoch = epoch + 1)
        INSERT INTO business (id, code, name, email, created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $5)
        RETURNING *
        """,
        business_id, code, name, email, now,
    )  # fmt: skip
    assert row is not None
    return business_of(row, [])


async def lock(tx: Tx, business_id: str) -> None:
    """Serialises transactions that count what a business has before they add to it. Others do not wait."""
    await tx.execute("SELECT FROM business WHERE id = $1 FOR NO KEY UPDATE", business_id)


async def find_business(tx: Tx, business_id: str) -> Business | None:
    row = await tx.fetchrow(
        """
        SELECT business, ARRAY(SELECT fee_rule FROM fee_rule WHERE business_id = $1 AND ended_at IS NULL) AS rules
          FROM business WHERE id = $1 AND id <> '000000000000000000000000'
        """,
        business_id,
    )
    return business_of(row["business"], row["rules"]) if row else None


async def find_business_by_code(tx: Tx, code: str) -> Business | None:
    business_id = await tx.fetchval("SELECT id FROM business WHERE code = $1", code)
    return await find_business(tx, business_id) if business_id else None


async def list_businesses(tx: Tx) -> list[Business]:
    rows = await tx.fetch(
        """
        SELECT business,
               ARRAY(SELECT fee_rule FROM fee_rule WHERE business_id = business.id AND ended_at IS NULL) AS rules
          FROM business WHERE id <> '000000000000000000000000' ORDER BY number  -- not the operator's own
        """
    )
    return [business_of(row["business"], row["rules"]) for row in rows]


async def update_business(tx: Tx, business_id: str, *, changes: dict[str, Any], now: datetime) -> Business | None:
    """Absent settings stay unchanged. An empty text clears an optional setting."""
    row = await tx.fetchrow(
        """
        WITH counted AS (UPDATE credential_epoch SET epoch = epoch + 1)
        UPDATE business
           SET name = coalesce($2, name), email = coalesce($3, email), status = coalesce($4, status),
               rate_per_second = coalesce($5, rate_per_second), rate_burst = coalesce($6, rate_burst),
               session_minutes = coalesce($7, session_minutes), redirect_hosts = coalesce($8, redirect_hosts),
               variance_policy = coalesce($9, variance_policy),
               variance_tolerance_minor = coalesce($10, variance_tolerance_minor), updated_at = $11,
               accent = nullif(coalesce($12, accent), ''),
               support_email = nullif(coalesce($13, support_email), ''),
               support_phone = nullif(coalesce($14, support_phone), ''),
               support_url = nullif(coalesce($15, support_url), ''),
               inflow_name_policy = coalesce($16, inflow_name_policy), time_zone = coalesce($17, time_zone),
               checkout_origins = coalesce($18, checkout_origins),
               receipts_by_mail = coalesce($19, receipts_by_mail), two_step_for_all = coalesce($20, two_step_for_all),
               suspended_for = CASE WHEN $4 IS NULL THEN suspended_for ELSE $21 END,
               fee_bearer = coalesce($22, fee_bearer)
         WHERE id = $1 AND id <> '000000000000000000000000'
        RETURNING business,
            ARRAY(SELECT fee_rule FROM fee_rule WHERE business_id = $1 AND ended_at IS NULL) AS rules
        """,
        business_id, changes.get("name"), changes.get("email"), changes.get("status"),
        changes.get("rate_per_second"), changes.get("rate_burst"), changes.get("session_minutes"),
        changes.get("redirect_hosts"), changes.get("variance_policy"), changes.get("variance_tolerance_minor"), now,
        changes.get("accent"), changes.get("support_email"), changes.get("support_phone"), changes.get("support_url"),
        changes.get("inflow_name_policy"), changes.get("time_zone"), changes.get("checkout_origins"),
        changes.get("receipts_by_mail"), changes.get("two_step_for_all"), changes.get("suspended_for"),
        changes.get("fee_bearer"),
    )  # fmt: skip
    return business_of(row["business"], row["rules"]) if row else None


async def put_logo(tx: Tx, business_id: str, logo: Logo, *, now: datetime) -> Business | None:
    """Replaces the previous logo, in a transaction."""
    row = await tx.fetchrow(
        """
        WITH counted AS (UPDATE credential_epoch SET epoch = epoch + 1)
        UPDATE business SET logo_hash = $2, updated_at = $3
         WHERE id = $1 AND id <> '000000000000000000000000'
        RETURNING business,
            ARRAY(SELECT fee_rule FROM fee_rule WHERE business_id = $1 AND ended_at IS NULL) AS rules
        """,
        business_id, logo.hash, now,
    )  # fmt: skip
    if row is None:
        return None
    await tx.execute(
        """
        INSERT INTO business_logo (business_id, media_type, width, height, hash, body, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT ON CONSTRAINT business_logo_pk DO UPDATE
           SET media_type = excluded.media_type, width = excluded.width, height = excluded.height,
               hash = excluded.hash, body = excluded.body, updated_at = excluded.updated_at
        """,
        business_id, logo.media_type, logo.width, logo.height, logo.hash, logo.body, now,
    )  # fmt: skip
    return business_of(row["business"], row["rules"])


async def delete_logo(tx: Tx, business_id: str, *, now: datetime) -> Business | None:
    row = await tx.fetchrow(
        """
        WITH counted AS (UPDATE credential_epoch SET epoch = epoch + 1),
        gone AS (DELETE FROM business_logo WHERE business_id = $1)
        UPDATE business SET logo_hash = NULL, updated_at = $2
         WHERE id = $1 AND id <> '000000000000000000000000'
        RETURNING business,
            ARRAY(SELECT fee_rule FROM fee_rule WHERE business_id = $1 AND ended_at IS NULL) AS rules
        """,
        business_id, now,
    )  # fmt: skip
    return business_of(row["business"], row["rules"]) if row else None


async def find_logo(tx: Tx, business_id: str, logo_hash: str) -> Logo | None:
    """None also for a replaced logo."""
    row = await tx.fetchrow(
        """
        SELECT media_type, width, height, hash, body FROM business_logo WHERE business_id = $1 AND hash = $2
        """,
        business_id, logo_hash,
    )  # fmt: skip
    return Logo(**row) if row else None


async def find_fee_rule(tx: Tx, business_id: str, rule_id: str) -> FeeRule | None:
    """A fee rule of the business, ended or not."""
    row = await tx.fetchrow("SELECT * FROM fee_rule WHERE business_id = $1 AND 'own-' || id = $2", business_id, rule_id)
    return _fee_rule(row) if row else None


async def insert_fee_rule(
    tx: Tx, business_id: str, *, currency: Currency, method: Priced, rule: FeeRule, now: datetime
) -> FeeRule:
    """Ends the previous rule. In a transaction: a cluster takes no statement that does all of it."""
    await tx.execute("UPDATE credential_epoch SET epoch = epoch + 1")
    await tx.execute(
        """
        UPDATE fee_rule SET ended_at = $4
         WHERE business_id = $1 AND currency = $2 AND method = $3 AND ended_at IS NULL
        """,
        business_id, currency, method, now,
    )  # fmt: skip
    row = await tx.fetchrow(
        """
        INSERT INTO fee_rule (business_id, currency, method, basis_points, vat_basis_points, fixed_minor, cap_minor,
                              created_at, on_refund)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        RETURNING *
        """,
        business_id, currency, method, rule.basis_points, rule.vat_basis_points, rule.fixed_minor, rule.cap_minor, now,
        rule.on_refund,
    )  # fmt: skip
    assert row is not None
    return _fee_rule(row)


async def insert_key(
    tx: Tx, *, business_id: str, kind: KeyKind, key_hash: bytes, public_key: str | None, last_four: str, now: datetime,
    terms: KeyTerms = ALL_RIGHTS,
) -> ApiKey:  # fmt: skip
    row = await tx.fetchrow(
        """
        WITH counted AS (UPDATE credential_epoch SET epoch = epoch + 1)
        INSERT INTO credential (business_id, kind, key_hash, public_key, last_four, created_at, name, scopes,
                                addresses, refund_max, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text::jsonb, $11)
        RETURNING *
        """,
        business_id, kind, key_hash, public_key, last_four, now, terms.name,
        None if terms.scopes is None else sorted(terms.scopes), [str(network) for network in terms.networks],
        None if terms.refund_max is None else msgspec.json.encode(terms.refund_max).decode(), terms.expires_at,
    )  # fmt: skip
    assert row is not None
    return _key(row)


async def find_key(tx: Tx, business_id: str, key_id: int) -> ApiKey | None:
    """Locked until the transaction ends."""
    row = await tx.fetchrow(
        "SELECT * FROM credential WHERE business_id = $1 AND id = $2 FOR UPDATE", business_id, key_id
    )
    return _key(row) if row else None


async def end_key(tx: Tx, business_id: str, key_id: int, *, at: datetime) -> None:
    """Or at its own end, if that is sooner."""
    await tx.execute(
        """
        WITH counted AS (UPDATE credential_epoch SET epoch = epoch + 1)
        UPDATE credential SET expires_at = least(coalesce(expires_at, $3), $3) WHERE business_id = $1 AND id = $2
        """,
        business_id, key_id, at,
    )  # fmt: skip


async def note_uses(tx: Tx, uses: Sequence[KeyUse]) -> None:
    """Not counted as a change: nothing that is remembered depends on it."""
    await tx.execute(
        """
        UPDATE credential SET used_at = used.at, used_from = used.address
          FROM json_to_recordset($1::json) AS used (business_id text, key_id bigint, address text, at timestamptz)
         WHERE credential.business_id = used.business_id AND credential.id = used.key_id
           AND (credential.used_at IS NULL OR credential.used_at < used.at)
        """,
        msgspec.json.encode(uses).decode(),
    )


async def list_keys(tx: Tx, business_id: str) -> list[ApiKey]:
    rows = await tx.fetch("SELECT * FROM credential WHERE business_id = $1 ORDER BY id", business_id)
    return [_key(row) for row in rows]


async def find_caller(tx: Tx, key_hash: bytes) -> Caller | None:
    row = await tx.fetchrow(
        """
        SELECT credential AS key, business,
               ARRAY(SELECT fee_rule FROM fee_rule WHERE business_id = business.id AND ended_at IS NULL) AS rules
          FROM credential JOIN business ON business.id = credential.business_id
         WHERE credential.key_hash = $1
        """,
        key_hash,
    )
    return Caller(business_of(row["business"], row["rules"]), _key(row["key"])) if row else None


async def end_older_keys(tx: Tx, business_id: str, *, kind: KeyKind, keep_id: int, at: datetime) -> None:
    await tx.execute(
        """
        WITH counted AS (UPDATE credential_epoch SET epoch = epoch + 1)
        UPDATE credential SET expires_at = least(coalesce(expires_at, $4), $4)
         WHERE business_id = $1 AND kind = $2 AND id <> $3 AND revoked_at IS NULL AND scopes IS NULL
        """,
        business_id, kind, keep_id, at,
    )  # fmt: skip


async def revoke_key(tx: Tx, business_id: str, key_id: int, *, now: datetime) -> bool:
    done = await tx.fetchval(
        """
        WITH counted AS (UPDATE credential_epoch SET epoch = epoch + 1)
        UPDATE credential SET revoked_at = coalesce(revoked_at, $3)
         WHERE business_id = $1 AND id = $2
        RETURNING true
        """,
        business_id, key_id, now,
    )  # fmt: skip
    return done is True


async def get_epoch(tx: Tx) -> int:
    return int(await tx.fetchval("SELECT epoch FROM credential_epoch"))


def business_of(row: Row, rules: list[Row]) -> Business:
    return Business(
        id=row["id"],
        number=row["number"],
        code=row["code"],
        name=row["name"],
        email=row["email"],
        status=BusinessStatus(row["status"]),
        rate_per_second=row["rate_per_second"],
        rate_burst=row["rate_burst"],
        session_minutes=row["session_minutes"],
        redirect_hosts=tuple(row["redirect_hosts"]),
        checkout_origins=tuple(row["checkout_origins"]),
        variance_policy=row["variance_policy"],
        variance_tolerance_minor=row["variance_tolerance_minor"],
        inflow_name_policy=NamePolicy(row["inflow_name_policy"]),
        own_fee_rules={(Currency(r["currency"]), priced_in(r["method"])): _fee_rule(r) for r in rules},
        brand=Brand(
            accent=row["accent"],
            logo_hash=row["logo_hash"],
            support=Support(email=row["support_email"], phone=row["support_phone"], url=row["support_url"]),
        ),
        time_zone=row["time_zone"],
        receipts_by_mail=row["receipts_by_mail"],
        two_step_for_all=row["two_step_for_all"],
        fee_bearer=FeeBearer(row["fee_bearer"]),
        takes_cards=row["takes_cards"],
        suspended_for=row["suspended_for"],
        created_at=row["created_at"],
    )


def _fee_rule(row: Row) -> FeeRule:
    return FeeRule(
        id="own-" + str(row["id"]),
        basis_points=row["basis_points"],
        vat_basis_points=row["vat_basis_points"],
        fixed_minor=row["fixed_minor"],
        cap_minor=row["cap_minor"],
        on_refund=FeeOnRefund(row["on_refund"]),
    )


def _key(row: Row) -> ApiKey:
    return ApiKey(
        id=row["id"],
        business_id=row["business_id"],
        kind=KeyKind(row["kind"]),
        key_hash=row["key_hash"],
        public_key=row["public_key"],
        last_four=row["last_four"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        name=row["name"],
        scopes=None if row["scopes"] is None else frozenset(KeyScope(scope) for scope in row["scopes"]),
        networks=tuple(ip_network(address) for address in row["addresses"]),
        refund_max=msgspec.json.decode(row["refund_max"], type=dict[Currency, int]) if row["refund_max"] else None,
        used_at=row["used_at"],
        used_from=row["used_from"],
    )
