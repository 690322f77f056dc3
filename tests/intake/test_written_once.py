"""A notification is written once: with what it changed, or alone when it changed nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from conftest import MakeCheckout
from settable_clock import SettableClock
from tidegate.runtime import Runtime
from tidegate.sandbox import notifier

# Counts what is tried, also when the row is there already and nothing is written.
_COUNT = """
    CREATE TABLE tried (id text);
    GRANT INSERT ON tried TO PUBLIC;
    CREATE FUNCTION count_tries() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO tried VALUES (NEW.id); RETURN NEW; END $$;
    CREATE TRIGGER count_tries BEFORE INSERT ON notification FOR EACH ROW EXECUTE FUNCTION count_tries();
"""
_COUNT_NO_MORE = "DROP TRIGGER count_tries ON notification; DROP FUNCTION count_tries; DROP TABLE tried"


@pytest.fixture
async def tried(admin: Any) -> AsyncIterator[Any]:
    await admin.execute(_COUNT)
    yield admin
    await admin.execute(_COUNT_NO_MORE)


@pytest.mark.one_server("no triggers on distributed tables")
async def test_an_outcome_is_written_once_with_its_notification(
    new_checkout: MakeCheckout, runtime: Runtime, tried: Any
) -> None:
    checkout = await new_checkout(currency="KES")
    await checkout.charge({"type": "mobile_money", "phone": "+254712340001"})
    # Notified before it is polled.
    later = SettableClock(runtime.clock.now() + timedelta(minutes=1))
    assert (await notifier.send_notifications(runtime.deps, later)).done == 1
    assert (await checkout.record())["status"] == "success"
    assert await tried.fetchval("SELECT count(*) FROM notification") == 1
    assert await tried.fetchval("SELECT count(*) FROM tried") == 1
