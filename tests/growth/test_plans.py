"""Questions that are asked all the time, among many rows: what is read stays as little as the answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, cast

import asyncpg
import pytest

from tidegate.account.name_verdict import NameVerdict
from tidegate.bank_file import reversal_store as bank_reversal_store
from tidegate.bank_file import store as bank_file_store
from tidegate.collection import list_store as inflow_list
from tidegate.collection import reversal_store
from tidegate.collection.model import CollectionStatus
from tidegate.console import find, find_store
from tidegate.core.ids import Mode
from tidegate.core.money import Currency
from tidegate.dashboard import proof_store
from tidegate.infra.db import Database, Tx
from tidegate.ledger.model import JournalKind
from tidegate.merchant import commands as merchants
from tidegate.payment import sweep_store
from tidegate.rail.bankfiles.model import BankEntry, Sheet
from tidegate.wallet import commands as wallet_commands
from tidegate.wallet import store as wallet_store
from tidegate.webhook import log_store
from tidegate.webhook.model import DeliveryStatus

ROWS = 20_000
# A few for each look into an index; any of these tables or its indexes has more than three times as many.
BLOCKS_MAX = 50
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)

# Of many businesses, so that no index that a business leads is a short way.
_BUSINESSES = """
    INSERT INTO business (id, code, name, email, status, created_at, updated_at)
    SELECT lpad(to_hex(number), 24, '0'), 'x' || lpad(to_hex(number), 4, '0'), 'Grown', 'grown@example.com', 'active',
           $1, $1
      FROM generate_series(1, $2::integer) AS number
"""
_RECEIPTS = """
    INSERT INTO receipt (business_id, rail, transaction_id, account_number, currency, amount_minor, outcome, created_at)
    SELECT lpad(to_hex(number), 24, '0'), 'sandbox', 'T-' || number, 'A-' || number % 1000, 'NGN', 100, 'suspense', $1
      FROM generate_series(1, $2::integer) AS number
"""
_REVERSALS = """
    INSERT INTO credit_reversal (rail, transaction_id, reversal_id, account_number, currency, amount_minor, reason,
                                 created_at)
    VALUES ('sandbox', 'T-7', 'R-7', 'A-7', 'NGN', 100, 'sent twice', $1),
           ('sandbox', 'unknown', 'R-8', 'A-7', 'NGN', 100, 'sent twice', $1)
"""
# All wait; two of them are due.
_PAYMENTS = """
    INSERT INTO payment (business_id, pay_code, reference, currency, asked_minor, expected_minor, fee_bearer,
                         fee_rule_id, methods, default_method, customer_name, customer_email, request_hash, expires_at,
                         created_at, updated_at)
    SELECT lpad(to_hex(number), 24, '0'), 'code-' || number, 'ref-' || number, 'NGN', 100 + number, 100 + number,
           'business', 'rule', '{card}', 'card', 'Ada ' || number, 'ada' || number || '@example.com', '',
           $1::timestamptz + (number - 2) * interval '1 minute', $1, $1
      FROM generate_series(1, $2::integer) AS number
"""
# Of one account and one day.
_BANK_FILE = """
    INSERT INTO bank_file (id, name, kind, state, byte_count, entry_count, received_at)
    VALUES ('f', 'big.xml', 'camt.053', 'read', 1, $2, $1)
"""
_BANK_ENTRIES = """
    INSERT INTO bank_entry (file_id, number, account, booked_on, is_credit, amount, currency, keys, state, destination,
                            details)
    SELECT 'f', number, 'DE89', '2026-11-15', true, 1, 'EUR', ARRAY['k-' || number], 'done', 'V-1',
           json_build_object('end_to_end_id', 'E-' || number,
                             'counterparty', json_build_object('account_number', 'NL91'))
      FROM generate_series(1, $1::integer) AS number
"""
_ENDPOINTS = """
    INSERT INTO webhook_endpoint (business_id, id, url, events, status, rate_per_second, created_at, updated_at)
    SELECT $1, id, 'https://shop.example.com', '{}', 'enabled', 25, $2, $2 FROM unnest('{busy,quiet}'::text[]) AS id
"""
_EVENTS = """
    INSERT INTO event (business_id, id, type, cause, payload, created_at, is_fanned_out)
    SELECT $1, 'event-' || number, CASE number WHEN 5 THEN 'refund.failed' ELSE 'charge.successful' END,
           'cause-' || number, '', $2, true
      FROM generate_series(1, $3::integer) AS number
"""
# One of the quiet endpoint, one of the rare event, two that were not taken at once, all among the oldest.
_DELIVERIES = """
    INSERT INTO webhook_delivery (business_id, id, endpoint_id, event_id, event_type, status, priority, created_at,
                                  attempts, answer)
    SELECT $1, number, CASE number WHEN 3 THEN 'quiet' ELSE 'busy' END, 'event-' || number,
           CASE number WHEN 5 THEN 'refund.failed' ELSE 'charge.successful' END, 'delivered', 0, $2,
           CASE number WHEN 7 THEN 2 WHEN 8 THEN 9 ELSE 1 END, CASE number WHEN 7 THEN 5 WHEN 8 THEN 0 ELSE 2 END
      FROM generate_series(1, $3::integer) AS number
"""


# Of sales, but for the oldest two, which are refunds; the newest of them is in another currency.
_JOURNALS = """
    INSERT INTO journal (business_id, id, kind, cause, event_at, created_at)
    SELECT $1, number, CASE WHEN number <= 2 THEN 'refund_started' ELSE 'checkout_settled' END, 'cause-' || number, $2,
           $2
      FROM generate_series(1, $3::integer) AS number
"""
_ENTRIES = """
    INSERT INTO entry (business_id, journal_id, line, account, currency, amount_minor, balance_after_minor)
    SELECT $1, number, line, CASE line WHEN 1 THEN 'wallet' ELSE 'rail' END,
           CASE number WHEN 2 THEN 'KES' ELSE 'NGN' END, CASE line WHEN 1 THEN 1 ELSE -1 END,
           CASE WHEN line = 1 THEN CASE number WHEN 1 THEN 1 WHEN 2 THEN 1 ELSE number - 1 END END
      FROM generate_series(1, $2::integer) AS number, generate_series(1, 2) AS line
"""
_WALLETS = """
    INSERT INTO wallet (business_id, currency, balance_minor, locked_minor, created_at, updated_at)
    VALUES ($1, 'NGN', $3, 0, $2, $2), ($1, 'KES', 1, 0, $2, $2)
"""
_ACCOUNTS = """
    INSERT INTO virtual_account (business_id, id, status, currency, settlement_currency, account_type, holder, kyc,
                                 created_at, updated_at)
    SELECT $1, id, 'pending', 'EUR', 'EUR', 'individual', 'Ada Obi', '{}', $2, $2
      FROM unnest(ARRAY[repeat('a', 24), repeat('b', 24)]) AS id
"""
# All of one account and credited, but for the two oldest with another name.
_INFLOWS = """
    INSERT INTO collection (business_id, id, reference, account_id, status, reason, source_currency, source_minor,
                            destination_currency, destination_minor, fee_minor, vat_minor, credited_minor, fee_rule_id,
                            rail, transaction_id, scheme, name_check, valued_at, created_at, updated_at)
    SELECT $1, number, 'col_' || number, repeat(CASE number WHEN 1 THEN 'b' ELSE 'a' END, 24),
           CASE WHEN number > 2 THEN 'successful' ELSE 'reversed' END, CASE WHEN number <= 2 THEN 'name_differs' END,
           'EUR', 100, 'EUR', 100, 0, 0, 100, 'rule', 'sandbox', 'I-' || number, 'sepa',
           json_build_object('verdict', CASE WHEN number > 2 THEN 'exact' ELSE 'different' END, 'reason', '',
                             'holder', 'Ada Obi', 'typed', 'Ada', 'compared', 'payee', 'steps', '[]'::json), $2, $2, $2
      FROM generate_series(1, $3::integer) AS number
"""


@pytest.fixture(scope="module")
async def grown(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[tuple[Any, Database, str]]:
    url = await make_database("tidegate_test_plans")
    database = Database(url)
    await database.open()
    new = await merchants.create(database, name="Grown", email="grown@example.com", mode=Mode.SANDBOX, now=NOW)
    admin = await asyncpg.connect(url)
    business_id = new.business.id
    await admin.execute(_BUSINESSES, NOW, ROWS)
    await admin.execute(_RECEIPTS, NOW, ROWS)
    await admin.execute(_REVERSALS, NOW)
    await admin.execute(_PAYMENTS, NOW, ROWS)
    await admin.execute(_BANK_FILE, NOW, ROWS)
    await admin.execute(_BANK_ENTRIES, ROWS)
    await admin.execute(_ENDPOINTS, business_id, NOW)
    await admin.execute(_EVENTS, business_id, NOW, ROWS)
    await admin.execute(_DELIVERIES, business_id, NOW, ROWS)
    await admin.execute(_JOURNALS, business_id, NOW, ROWS)
    await admin.execute(_ENTRIES, business_id, ROWS)
    await admin.execute(_WALLETS, business_id, NOW, ROWS - 1)
    await add_inflows(admin, business_id)
    await admin.execute("ANALYZE")
    yield admin, database, business_id
    await admin.close()
    await database.close()


async def add_inflows(admin: Any, business_id: str) -> None:
    await admin.execute(_ACCOUNTS, business_id, NOW)
    await admin.execute(_INFLOWS, business_id, NOW, ROWS)


async def blocks_read(admin: Any, statement: str, *arguments: Any) -> int:
    """By the plan that serves for all values, which is what a connection uses after a few calls."""
    async with admin.transaction():
        await admin.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        # The first run also reads the catalogue, for functions that it calls.
        for _ in range(2):
            text = await admin.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", *arguments)
    plan = json.loads(text)[0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


async def plan_of(admin: Any, statement: str, *arguments: Any) -> list[str]:
    return [row["QUERY PLAN"] for row in await admin.fetch(f"EXPLAIN {statement}", *arguments)]


async def test_reversals_of_money_that_no_inflow_was_made_of_do_not_read_all_receipts(
    grown: tuple[Any, Database, str],
) -> None:
    admin, database, _ = grown
    async with database.connection() as tx:
        found = await reversal_store.list_of_receipts(tx, NOW, is_in_suspense=True, limit=50)
    assert [one.id for one in found] == ["sandbox/A-7/T-7"]
    assert await blocks_read(admin, reversal_store._OF_RECEIPTS, 50, True, NOW, None) < BLOCKS_MAX


async def test_a_reversal_in_a_file_finds_its_credit_without_reading_the_account(
    grown: tuple[Any, Database, str],
) -> None:
    admin, _, _ = grown
    asked = ("DE89", "EUR", None, None, "E-7", date(2026, 11, 16), Decimal(1), "NL91", "g", 1)
    assert [row["key"] for row in await admin.fetch(bank_reversal_store.CREDITS_LIKE, *asked)] == ["k-7"]
    assert await blocks_read(admin, bank_reversal_store.CREDITS_LIKE, *asked) < BLOCKS_MAX
    assert await blocks_read(admin, bank_reversal_store.JUDGE_AGAIN, "DE89", ["E-7"]) < BLOCKS_MAX
    assert await blocks_read(admin, bank_reversal_store.JUDGE_WAITING, "f") < BLOCKS_MAX
    like = ("DE89", "EUR", Decimal(1), "E-7")
    assert await blocks_read(admin, bank_reversal_store.UNRECORDED_LIKE, *like) < BLOCKS_MAX


async def test_a_page_of_a_bank_file_is_compared_by_the_index_however_many_keys_it_asks_for(
    grown: tuple[Any, Database, str],
) -> None:
    _, database, _ = grown
    keys = [f"none-{number}" for number in range(15_000)]

    async def plan(tx: Tx) -> str:
        rows = await tx.fetch(f"EXPLAIN {bank_file_store.KNOWN}", keys, "f", 1, None)
        return "\n".join(row["QUERY PLAN"] for row in rows)

    async with database.transaction() as tx:
        assert "Seq Scan" in await plan(tx)
        one = BankEntry(
            family="camt", number=1, line=1, statement=1, is_credit=True, amount=Decimal(1), currency="EUR",
            booked_on=NOW.date(), valued_on=NOW.date(), account="DE89", sheet=Sheet(account="DE89", id="S-1"),
            is_stated=True,
        )  # fmt: skip
        assert [known async for known in bank_file_store.list_known(tx, "other", [one], keys)] == []
        assert "bank_entry_by_key" in await plan(tx)
    async with database.transaction() as tx:
        assert await tx.fetchval("SHOW enable_seqscan") == "on"


async def test_what_is_due_is_found_by_its_index(grown: tuple[Any, Database, str]) -> None:
    admin, database, _ = grown
    async with database.connection() as tx:
        found = await sweep_store.list_expiring(tx, NOW, limit=50)
    assert [one.id for one in found] == ["code-1", "code-2"]
    question = """
        SELECT pay_code FROM payment
         WHERE status IN ('initiated', 'pending') AND is_due(business_id, expires_at, $1)
           AND NOT is_held_back(business_id, 'expire_payments', pay_code, $1)
         ORDER BY expires_at LIMIT $2
    """
    assert await blocks_read(admin, question, NOW, 50) < BLOCKS_MAX


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"endpoint_id": "quiet"}, [3]),
        ({"event_type": "refund.failed"}, [5]),
        ({"endpoint_id": "busy", "event_type": "refund.failed"}, [5]),
        ({"endpoint_id": "quiet", "event_type": "refund.failed"}, []),
        ({"endpoint_id": "quiet", "status": DeliveryStatus.DELIVERED}, [3]),
        ({"endpoint_id": "nobody's"}, []),
        ({"answer": 5}, [7]),
        ({"answer": 0}, [8]),
        ({"answer": 4}, []),
        ({"answer": 5, "endpoint_id": "busy"}, [7]),
        ({"answer": 5, "endpoint_id": "quiet"}, []),
        ({"answer": 5, "attempts_min": 3}, []),
        ({"attempts_min": 2}, [8, 7]),
        ({"attempts_min": 3, "status": DeliveryStatus.DELIVERED}, [8]),
        ({"attempts_min": 10}, []),
        ({"attempts_min": 2, "event_type": "refund.failed"}, []),
        ({"from_id": 1, "before_id": 3}, [2, 1]),
        ({"from_id": 5, "before_id": 9, "attempts_min": 2, "answer": 5}, [7]),
    ],
)
async def test_a_log_of_one_endpoint_or_event_does_not_read_the_whole_log(
    grown: tuple[Any, Database, str], wanted: dict[str, Any], found: list[int]
) -> None:
    admin, database, business_id = grown
    asked = log_store.DeliveryFilter(**wanted)
    async with database.connection() as tx:
        assert [one.id for one in await log_store.list_deliveries(tx, business_id, asked, limit=20)] == found
    assert await blocks_read(admin, *log_store.question(business_id, asked, limit=20)) < BLOCKS_MAX


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"verdict": NameVerdict.DIFFERENT}, ["col_2", "col_1"]),
        ({"verdict": NameVerdict.CLOSE}, []),
        ({"verdict": NameVerdict.DIFFERENT, "account_id": "b" * 24}, ["col_1"]),
        ({"verdict": NameVerdict.DIFFERENT, "status": CollectionStatus.PENDING}, []),
        ({"verdict": NameVerdict.DIFFERENT, "destination_currency": Currency.USD}, []),
    ],
)
async def test_a_list_of_inflows_by_verdict_does_not_read_all_inflows(
    grown: tuple[Any, Database, str], wanted: dict[str, Any], found: list[str]
) -> None:
    admin, database, business_id = grown
    asked = inflow_list.CollectionFilter(**wanted)
    async with database.connection() as tx:
        rows = await inflow_list.list_page(tx, business_id, asked, before_id=None, offset=0, limit=51)
    assert [one.reference for one in rows] == found
    statement = inflow_list._STATEMENT_OF[inflow_list._way_to(asked)]
    values = (asked.account_id, asked.destination_currency, asked.status, None, 0, 2**62, 0, 51, asked.verdict)
    assert await blocks_read(admin, statement, business_id, *values) < BLOCKS_MAX


@pytest.mark.parametrize(
    ("currency", "kinds", "found"),
    [
        ("NGN", [JournalKind.REFUND_STARTED, JournalKind.REFUND_FAILED], [1]),
        ("NGN", [JournalKind.CREDIT_REVERSED], []),
        ("NGN", [JournalKind.CHECKOUT_SETTLED], [ROWS, ROWS - 1, ROWS - 2]),
        ("KES", [JournalKind.REFUND_STARTED], [2]),
    ],
)
async def test_a_statement_by_kind_does_not_read_all_lines(
    grown: tuple[Any, Database, str], currency: str, kinds: list[JournalKind], found: list[int]
) -> None:
    admin, database, business_id = grown
    period = await wallet_commands.get_period(database, business_id, currency, start=None, end=None, now=NOW)
    async with database.connection() as tx:
        lines = await wallet_store.list_lines(tx, period, order="desc", past_id=None, limit=3, kinds=kinds)
    assert [line.id for line in lines] == found
    asked = (business_id, currency, 0, 2**62, 3, False, kinds)
    # Each line looks up what it is about.
    assert await blocks_read(admin, wallet_store._LINES, *asked) < 2 * BLOCKS_MAX


async def test_a_proof_of_the_books_reads_as_much_as_it_checks(grown: tuple[Any, Database, str]) -> None:
    admin, database, business_id = grown
    async with database.connection() as tx:
        books = await proof_store.get_books(tx, business_id, lines_max=5)
    assert [(one.lines, one.booked == one.balance) for one in books.wallets] == [(1, True), (5, True)]
    assert await blocks_read(admin, proof_store._BOOKS, business_id, 5, 5) < 2 * BLOCKS_MAX


class Recorder:
    """Passes statements on, and keeps them."""

    def __init__(self, tx: Tx) -> None:
        self.tx, self.asked = tx, list[tuple[Any, ...]]()

    async def fetch(self, *asked: Any) -> Any:
        self.asked.append(asked)
        return await self.tx.fetch(*asked)

    async def execute(self, statement: str) -> Any:
        return await self.tx.execute(statement)


@pytest.mark.parametrize("text", ["ref-7", "REF-7", "nothing", "ada7@example.com", "NGN 1.07", "1.07", "Ada 7"])
async def test_the_search_of_the_console_reads_indexes_and_not_business_by_business(
    grown: tuple[Any, Database, str], text: str
) -> None:
    admin, database, _ = grown
    async with database.transaction() as tx:
        recorder = Recorder(tx)
        found = await find.find(cast("Tx", recorder), find.sought_in(text), rails=["sandbox"])
    assert ("code-7" in {one.key for one in found}) == (text != "nothing")
    async with admin.transaction():
        await find_store.read_by_indexes(admin)
        plans = ["\n".join(await plan_of(admin, *asked)) for asked in recorder.asked]
        assert [plan for plan in plans if "Seq Scan on payment" in plan] == []
        # For each business in turn it was more than forty times as many as there are businesses.
        assert sum([await blocks_read(admin, *asked) for asked in recorder.asked]) < 2 * ROWS
