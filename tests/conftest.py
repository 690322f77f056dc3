"""A real PostgreSQL and a real server for every test that asks. Each test begins with empty tables."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import httpx
import hypothesis
import pytest
import structlog
from local_cluster.nodes import HOW_TO_GET, Nodes, find_bin
from playwright.async_api import Browser

import event_schema
from browser import chromium
from build import Checkout, Shop, make_shop, order
from conformance.table import PassedTests
from console.people import SignedInStaff, StaffPeople
from dashboard.people import People, SignedInPerson
from inflow import Inflows
from infra.stopwatch import Stopwatch
from serving import serving
from tidegate import app, worker
from tidegate.core.clock import ShiftedClock, SystemClock, monotonic_s
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment
from tidegate.doctor.commands import examine_books
from tidegate.infra import batcher, keyed_batcher, rate_limit
from tidegate.infra import db as infra_db
from tidegate.infra.db import Database
from tidegate.infra.embedded import EmbeddedPostgres
from tidegate.infra.embedded.os_account import DATA_LINK, SHARED_STATE
from tidegate.ledger import chain
from tidegate.ledger.model import PLATFORM_BUSINESS_ID
from tidegate.member.permission import Role
from tidegate.retention.commands import Sweep
from tidegate.runtime import Runtime
from tidegate.sandbox import clock as sandbox_clock
from tidegate.settings import Settings
from tidegate.staff.permission import StaffRole

# Set for every process of tests that run side by side; our console would take it for the width of a terminal.
os.environ.pop("COLUMNS", None)

# Nobody whom a machine trusts is called here: to read all of them costs more than a page, for each client that opens.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("authority.pem"))

# A request is refused after a second or two; a test on a busy machine waits.
batcher.WAIT_S = keyed_batcher.SLOT_WAIT_S = infra_db.POOL_WAIT_S = 60.0
infra_db.LOCK_WAIT_MS = 30_000
infra_db.CONNECT_TIMEOUT_S = 60.0
infra_db.STATEMENT_TIMEOUT_MS = infra_db.IDLE_IN_TRANSACTION_MS = app.DASHBOARD_STATEMENT_MS = 60_000


def log_plainly() -> None:
    """Plain tracebacks: those with every local variable take seconds, in which nothing else goes on."""
    structlog.reset_defaults()
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[structlog.contextvars.merge_contextvars, structlog.processors.add_log_level, plain])


log_plainly()

MakeShop = Callable[..., Awaitable[Shop]]

# Thousands of tests stay in memory to the end: to look through them again and again costs a test more than itself.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


TEMPLATE = "tidegate_test_template"
ON_CLUSTER = bool(os.environ.get("TIDEGATE_TEST_CLUSTER"))
# Whoever waits for a lock that a broken test has left says so, instead of waiting for ever.
LOCK_TIMEOUT_MS = "20000"
ENCRYPTION_KEY = b"only for tests, and for no other"
# Children before parents.
TABLES = (
    "retention", "takings", "takings_watermark", "saved_view", "case_link", "approval", "refund_limit", "invitation",
    "membership", "comparison", "staff", "one_time_link", "member_session", "known_device", "recovery_code", "passkey",
    "used_challenge", "sign_in_try", "person", "erasure", "mail_attachment", "mail",
    "leased_work", "paystack_attempt", "paystack_payout", "pawapay_deposit", "pawapay_payout", "dispute",
    "bank_payout", "bank_export", "bank_attempt", "bank_number", "bank_entry", "bank_statement",
    "bank_file_part", "bank_file",
    "sandbox_trade", "sandbox_notification", "sandbox_payout", "sandbox_attempt", "sandbox_account",
    "webhook_attempt", "webhook_delivery", "endpoint_state", "webhook_secret", "webhook_endpoint", "audit_to_link",
    "audit_link", "audit", "proof", "alarm", "card_pause", "rail_pause", "break_note",
    "job_round", "event", "money_return", "refund_leg", "refund", "collection", "collection_tally", "credit_reversal",
    "account_document", "account_question", "virtual_account", "account_number", "exchange_rate",
    "suspense_decision", "receipt", "notification",
    "receipt_mail", "attempt",
    "idempotency_key", "payment", "payment_link", "fee_rule",
    "credential", "business_logo", "business_clock", "business",
)  # fmt: skip

# With foreign keys among themselves.
LEDGER_TABLES = ("journal_link", "journal_to_link", "entry", "journal", "wallet")
# Written beside the requests, also of those that were refused.
LOG_TABLES = ("request_log",)
# DELETE, not TRUNCATE: a fifteenth of the time on tables this small.
EMPTY_LEDGER = "; ".join(f"DELETE FROM {table}" for table in LEDGER_TABLES)
EMPTY_OTHERS = "; ".join(
    [
        *(f"DELETE FROM {table}" for table in (*LOG_TABLES, *TABLES) if table != "business"),
        f"DELETE FROM business WHERE id <> '{PLATFORM_BUSINESS_ID}'",
    ]
)
# Its plans are made once for a connection.
EMPTY_ALL = f"""
    CREATE FUNCTION pg_temp.empty_all() RETURNS void LANGUAGE plpgsql
    AS $$ BEGIN {EMPTY_LEDGER}; {EMPTY_OTHERS}; END $$
"""


# Rows past their foreign keys, until the transaction ends; on all nodes of a cluster.
PAST_KEYS = "SET LOCAL citus.propagate_set_commands = 'local'; SET LOCAL session_replication_role = replica"
# On a cluster, where tables of several kinds are written in one transaction. One text is one transaction.
EMPTY_NODES = f"""
    SET LOCAL citus.multi_shard_modify_mode = 'sequential';
    SET LOCAL session_replication_role = replica; {EMPTY_LEDGER};
    SET LOCAL session_replication_role = origin; {EMPTY_OTHERS}
"""


def with_database_name(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def postgres_bin() -> Path | None:
    path = os.environ.get("TIDEGATE_POSTGRES_BIN")
    return Path(path) if path else None


# Files that take longest begin first, so that no process works alone at the end.
LONGEST_FIRST = (
    "test_schema_fuzz", "test_kills", "test_webhook_story", "test_engine_stateful", "test_browser",
    "test_typescript_client", "test_readme", "test_link_browser", "test_cost_of_input", "test_wheel", "test_waiting",
    "test_scenes", "test_reference", "test_dev", "test_commands", "test_demo_shop", "test_telemetry", "test_pgbouncer",
    "test_live_browser", "test_upgrade", "test_trigger", "test_backup", "test_duplicate_creates", "test_guides",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(PassedTests())
    # How long an example takes says how busy the machine is, and nothing about the code.
    hypothesis.settings.register_profile("any machine", deadline=None)
    hypothesis.settings.load_profile("any machine")


def pytest_runtest_setup(item: pytest.Item) -> None:
    marker = item.get_closest_marker("one_server")
    if marker is not None and ON_CLUSTER:
        pytest.skip(marker.args[0])


@pytest.fixture
def stopwatch(monkeypatch: pytest.MonkeyPatch) -> Stopwatch:
    """The clock of rate limits."""
    watch = Stopwatch()
    monkeypatch.setattr(rate_limit, "monotonic_s", watch)
    return watch


@pytest.fixture(scope="session")
def nodes() -> Iterator[Nodes | None]:
    """A cluster of three, where `make test-cluster` asks for one."""
    if not ON_CLUSTER:
        yield None
        return
    home = Path(tempfile.mkdtemp(prefix="tidegate-cluster-"))
    started = Nodes(home, find_bin(), shards=2, durable=False)
    try:
        started.start()
        yield started
    finally:
        started.stop()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def cluster(nodes: Nodes | None) -> Nodes:
    if nodes is None:
        pytest.skip(f"make test-cluster runs it, on three nodes with Citus. {HOW_TO_GET}")
    return nodes


@pytest.fixture(scope="session")
async def shared_browser() -> AsyncIterator[Browser]:
    """One for all tests of a process: each start takes a second of a core."""
    async with chromium() as opened:
        yield opened


@pytest.fixture
async def browser(shared_browser: Browser) -> AsyncIterator[Browser]:
    """Windows that the test has left open are closed, with their cookies."""
    before = {*shared_browser.contexts}
    yield shared_browser
    for context in {*shared_browser.contexts} - before:
        await context.close()


@pytest.fixture(scope="session", autouse=True)
def _sandboxes_of_root_end(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What root's sandboxes below pytest's closed folder keep elsewhere goes with them."""
    yield
    for link in tmp_path_factory.getbasetemp().rglob(DATA_LINK):
        if link.is_symlink() and link.readlink().parent == SHARED_STATE:
            shutil.rmtree(link.readlink(), ignore_errors=True)


@pytest.fixture(scope="session")
def server_url(nodes: Nodes | None) -> Iterator[str]:
    """DATABASE_URL when it is set, otherwise a server of our own without the cost of durability."""
    if nodes is not None:
        yield nodes.url("postgres")
        return
    if url := os.environ.get("DATABASE_URL"):
        yield url
        return
    # Directly below the system's temporary folder: PostgreSQL's account cannot enter pytest's own.
    home = Path(tempfile.mkdtemp(prefix="tidegate-test-"))
    postgres = EmbeddedPostgres(home, bin_dir=postgres_bin(), durable=False)
    try:
        postgres.start()
        yield postgres.url()
    finally:
        postgres.stop()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
async def make_database(server_url: str, nodes: Nodes | None) -> AsyncIterator[Callable[[str], Awaitable[str]]]:
    """Gives a fresh copy of the migrated template; all copies go at the end."""
    if nodes is not None:
        yield partial(_on_every_node, nodes)
        return
    admin = await asyncpg.connect(server_url)
    made = [TEMPLATE]

    async def make(name: str) -> str:
        await admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        await admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{TEMPLATE}"')
        made.append(name)
        return with_database_name(server_url, name)

    await admin.execute(f'DROP DATABASE IF EXISTS "{TEMPLATE}" WITH (FORCE)')
    await admin.execute(f'CREATE DATABASE "{TEMPLATE}"')
    await deployment.prepare(with_database_name(server_url, TEMPLATE), Mode.SANDBOX)
    yield make
    for name in made:
        await admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
    await admin.close()


async def _on_every_node(nodes: Nodes, name: str) -> str:
    """Shards cannot be copied with their database."""
    url = await nodes.make_database(name)
    await deployment.prepare(url, Mode.SANDBOX)
    return url


@pytest.fixture(scope="session")
async def database_url(make_database: Callable[[str], Awaitable[str]]) -> str:
    return await make_database("tidegate_test")


@pytest.fixture(scope="session")
async def admin(database_url: str) -> AsyncIterator[Any]:
    """A connection with every right, to look behind the scenes and to clean up."""
    connection = await asyncpg.connect(database_url, server_settings={"lock_timeout": LOCK_TIMEOUT_MS})
    yield connection
    await connection.close()


@pytest.fixture(scope="session")
async def open_db(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url)
    await database.open()
    yield database
    await database.close()


@pytest.fixture(scope="session")
async def emptier(database_url: str) -> AsyncIterator[Any]:
    connection = await open_emptier(database_url)
    yield connection
    await connection.close()


async def open_emptier(url: str) -> Any:
    """A connection for `empty`.

    Without foreign keys: one business that goes would be looked for in every table, and all of them are emptied. That
    is said of the whole connection, since each change of it throws all plans away.
    """
    past_keys = {} if ON_CLUSTER else {"session_replication_role": "replica"}
    connection = await asyncpg.connect(url, server_settings={"lock_timeout": LOCK_TIMEOUT_MS, **past_keys})
    if not ON_CLUSTER:
        await connection.execute(EMPTY_ALL)
    return connection


async def empty(emptier: Any) -> None:
    await emptier.execute(EMPTY_NODES if ON_CLUSTER else "SELECT pg_temp.empty_all()")


@pytest.fixture
async def db(open_db: Database, emptier: Any) -> AsyncIterator[Database]:
    yield open_db
    await empty(emptier)


@pytest.fixture(scope="session")
async def base_url(database_url: str) -> AsyncIterator[str]:
    """The API itself, listening on a port of its own."""
    async with serving(Settings(database_url=database_url, encryption_keys=(ENCRYPTION_KEY,))) as (url, _):
        yield url


@pytest.fixture(scope="session")
async def client(base_url: str) -> AsyncIterator[httpx.AsyncClient]:
    limits = httpx.Limits(max_connections=64)
    async with httpx.AsyncClient(base_url=base_url, limits=limits, timeout=60) as opened:
        yield opened


@pytest.fixture
def new_shop(db: Database, client: httpx.AsyncClient) -> MakeShop:
    async def make(**settings: Any) -> Shop:
        return await make_shop(db, client, **settings)

    return make


@pytest.fixture
async def shop(new_shop: MakeShop) -> Shop:
    return await new_shop(rate_per_second=100_000, rate_burst=100_000)


@pytest.fixture(scope="session")
async def runtime(database_url: str, base_url: str) -> AsyncIterator[Runtime]:
    """What a worker has."""
    settings = Settings(database_url=database_url, base_url=base_url, encryption_keys=(ENCRYPTION_KEY,))
    opened = Runtime.of(settings, pool_wait_s=worker.POOL_WAIT_S)
    async with opened.open():
        yield opened


@pytest.fixture
def tick(runtime: Runtime, db: Database) -> Callable[[], Awaitable[None]]:
    """One round of every loop of the worker, again while there is something to do. Not the sweeps of what is too old:
    tests of those call them, and others have nothing that old."""
    loops = [loop for loop in worker.SANDBOX_LOOPS if not isinstance(loop.round, Sweep)]

    async def run_rounds() -> None:
        assert isinstance(runtime.clock, ShiftedClock)
        await sandbox_clock.catch_up(runtime.db, runtime.clock)
        for _ in range(10):
            tallies = [await loop.round(runtime.deps, runtime.clock) for loop in loops]
            if not any(tally.done for tally in tallies):
                return

    return run_rounds


@pytest.fixture
async def payer_client(base_url: str) -> AsyncIterator[httpx.AsyncClient]:
    """Payers are limited by their address, so each test calls from one of its own."""
    number = next(_addresses)
    address = f"127.7.{number // 250}.{number % 250 + 1}" if sys.platform == "linux" else None
    transport = httpx.AsyncHTTPTransport(verify=False, local_address=address)
    async with httpx.AsyncClient(base_url=base_url, transport=transport, timeout=60) as opened:
        yield opened


_addresses = itertools.count()

MakeCheckout = Callable[..., Awaitable[Checkout]]


@pytest.fixture
async def new_checkout(
    request: pytest.FixtureRequest,
    runtime: Runtime,
    new_shop: MakeShop,
    payer_client: httpx.AsyncClient,
    tick: Callable[[], Awaitable[None]],
) -> AsyncIterator[MakeCheckout]:
    """A payment of a business with the settings given; fields of the order by their names on the wire.

    Whatever the test has done, the books must be in order afterwards.
    """

    async def make(shop: Shop | None = None, *, settings: dict[str, Any] | None = None, **fields: Any) -> Checkout:
        shop = shop or await new_shop(rate_per_second=100_000, rate_burst=100_000, **(settings or {}))
        answer = await shop.create(order(**fields))
        assert answer.status_code == 201, answer.text
        data = answer.json()["data"]
        return Checkout(replace(shop, client=payer_client), data["payCode"], data["reference"], tick)

    yield make
    if request.node.get_closest_marker("breaks_the_books") is None:
        await check_books(runtime)


@pytest.fixture
async def inflows(
    request: pytest.FixtureRequest, shop: Shop, runtime: Runtime, admin: Any, tick: Callable[[], Awaitable[None]]
) -> AsyncIterator[Inflows]:
    """A merchant that receives money on virtual accounts; the books are examined afterwards."""
    yield Inflows(shop, runtime, admin, tick)
    if request.node.get_closest_marker("breaks_the_books") is None:
        await check_books(runtime)


@pytest.fixture
async def people(db: Database, base_url: str, admin: Any, new_checkout: MakeCheckout) -> AsyncIterator[People]:
    """Makes people of a business who are signed in to its dashboard."""
    made = People(db, base_url, admin, [])
    yield made
    for opened in made.opened:
        await opened.aclose()


@pytest.fixture
async def owner(people: People, shop: Shop) -> SignedInPerson:
    return await people.person(shop, Role.OWNER, name="Ada Obi")


@pytest.fixture
def staff(people: People) -> StaffPeople:
    """Makes staff who are signed in to the console."""
    return StaffPeople(people)


@pytest.fixture
async def operator(staff: StaffPeople) -> SignedInStaff:
    return await staff.person(StaffRole.OPERATOR, name="Ifeoma Nwosu")


@pytest.fixture
async def approver(staff: StaffPeople) -> SignedInStaff:
    return await staff.person(StaffRole.APPROVER, name="Kofi Mensah")


@pytest.fixture
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between any two looks at a limit an hour passes."""
    started_at, hours = monotonic_s(), itertools.count(1)
    monkeypatch.setattr(rate_limit, "monotonic_s", lambda: started_at + 3_600.0 * next(hours))


async def check_books(runtime: Runtime) -> None:
    now = SystemClock().now()
    while (await chain.extend(runtime.db, SystemClock())).done:
        pass
    findings, _ = await examine_books(runtime.db, now=now)
    # Sessions end when a worker comes by; contradictions of a rail, and days to come, are what some tests are about.
    assert [f for f in findings if not f.is_well and f.subject not in ("sessions", "quarantine", "times")] == []
    async with runtime.db.connection() as tx:
        payloads = [row["payload"] for row in await tx.fetch("SELECT payload FROM event WHERE payload IS NOT NULL")]
    assert event_schema.problems_of(payloads) == []
