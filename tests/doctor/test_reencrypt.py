"""`tidegate reencrypt`: after it the old encryption key is not needed."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conftest import PAST_KEYS
from process import ENCRYPTION_KEY
from tidegate.cli import main
from tidegate.doctor import sealed_store
from tidegate.infra.db import Database
from tidegate.infra.vault import Vault
from webhook.world import make_world

LATER_KEY = "YW5vdGhlciBrZXksIGZvciB0aGVzZSB0ZXN0cyBvbmw="
BEFORE, AFTER = (Vault((base64.b64decode(key),)) for key in (ENCRYPTION_KEY, LATER_KEY))
PERSON, ACCOUNT = "0" * 24, "acc_1"


async def run(database_url: str, home: Path, keys: str, *arguments: str) -> Result:
    variables = {"DATABASE_URL": database_url, "TIDEGATE_HOME": str(home), "TIDEGATE_ENCRYPTION_KEY": keys}
    return await asyncio.to_thread(CliRunner().invoke, main, arguments, env=variables)


async def seal_one_of_each(business_id: str, admin: Any) -> dict[str, str]:
    """Whom each is encrypted for, by column."""
    await admin.execute(
        "INSERT INTO person (id, email, name, totp_secret, created_at) VALUES ($1, 'a@example.com', 'Ada', $2, now())",
        PERSON, BEFORE.seal("person.totp_secret", owner=PERSON),
    )  # fmt: skip
    await admin.execute(
        """
        INSERT INTO member_session (token_hash, person_id, pending_secret, browser, address, created_at, seen_at)
        VALUES (sha256('x'), $1, $2, 'browser', '127.0.0.1', now(), now())
        """,
        PERSON, BEFORE.seal("member_session.pending_secret", owner=PERSON),
    )  # fmt: skip
    await admin.execute("DELETE FROM webhook_secret")
    # Two that are needed, one of them current already; and an old one that no key opens, which is not.
    for vault, ends in ((BEFORE, None), (AFTER, None), (Vault((b"x" * 32,)), 1)):
        await admin.execute(
            """
            INSERT INTO webhook_secret (business_id, sealed, created_at, expires_at)
            VALUES ($1, $2, now(), now() + $3::integer * interval '1 hour')
            """,
            business_id, vault.seal("webhook_secret.sealed", owner=business_id), ends,
        )  # fmt: skip
    async with admin.transaction():
        # Without an account: what is examined is the document.
        await admin.execute(PAST_KEYS)
        await admin.execute(
            """
            INSERT INTO account_document (business_id, account_id, name, media_type, sealed, added_by, created_at)
            VALUES ($1, $2, 'passport.pdf', 'application/pdf', $3, 'ada', now())
            """,
            business_id, ACCOUNT, BEFORE.seal("account_document.sealed", owner=ACCOUNT),
        )  # fmt: skip
    return {
        "webhook_secret.sealed": business_id, "person.totp_secret": PERSON,
        "member_session.pending_secret": PERSON, "account_document.sealed": ACCOUNT,
    }  # fmt: skip


async def test_afterwards_the_old_key_is_not_needed_and_nothing_is_lost(
    database_url: str, db: Database, admin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed_store, "SECRETS_BATCH", 1)
    async with make_world(db) as world:
        owners = await seal_one_of_each(world.business_id, admin)

    refused = await run(database_url, tmp_path, LATER_KEY, "reencrypt")
    assert refused.exit_code == 1
    assert f"of account {ACCOUNT}: a secret was sealed with the key" in refused.output

    done = await run(database_url, tmp_path, f"{LATER_KEY} {ENCRYPTION_KEY}", "reencrypt", "--json")
    assert done.exit_code == 0, done.output
    found = {one["subject"]: (one["renewed"], one["current"]) for one in json.loads(done.output)}
    assert found == {
        "webhook secrets": (1, 1), "second factors": (1, 0), "unconfirmed second factors": (1, 0), "documents": (1, 0),
    }  # fmt: skip
    for column, owner in owners.items():
        table, name = column.split(".")
        rows = await admin.fetch(f"SELECT {name} AS sealed FROM {table}")
        assert {AFTER.open(row["sealed"], owner=owner) for row in rows if AFTER.is_current(row["sealed"])} == {column}

    again = json.loads((await run(database_url, tmp_path, LATER_KEY, "reencrypt", "--json")).output)
    assert sum(one["renewed"] + len(one["unreadable"]) for one in again) == 0


@pytest.mark.one_server("the catalogue has shards too")
async def test_every_encrypted_column_is_known(admin: Any) -> None:
    rows = await admin.fetch(
        """
        SELECT attrelid::regclass || '.' || attname AS name FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
         WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND NOT attisdropped
           AND (attname = 'sealed' OR col_description(attrelid, attnum) LIKE 'Encrypted%')
        """
    )
    assert {row["name"] for row in rows} == {kind.column for kind in sealed_store.KINDS}
