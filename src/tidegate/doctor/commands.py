"""The checks: each finding has its subject, and advice for a failure."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from datetime import UTC, datetime, timedelta

from tidegate.audit import chain as audit_chain
from tidegate.core.finding import Finding
from tidegate.core.ids import Mode
from tidegate.core.money import Currency
from tidegate.dashboard import home_store
from tidegate.deployment import commands as deployment
from tidegate.dispute import store as dispute_store
from tidegate.dispute.store import Dispute
from tidegate.doctor import inflow_store, money_store, rail_store, refund_store, sealed_store, store
from tidegate.doctor.rail_store import RailActivity
from tidegate.doctor.sealed_store import SealedKind
from tidegate.infra import lease_store, migrate
from tidegate.infra.db import APP_ROLE, Database, Tx
from tidegate.infra.timestamp import to_iso
from tidegate.infra.vault import NoKey, Vault
from tidegate.intake import suspense_store
from tidegate.ledger import books
from tidegate.mail import store as mail_store
from tidegate.rail import registry
from tidegate.rail.interface import Rail
from tidegate.settings import Settings

VERSION_MIN = 150_000
CLOCK_SKEW_MAX_S = 2.0
# Money that came so long after the last notification was found by asking: notifications do not arrive.
NOTIFICATION_MISSED_AFTER = timedelta(hours=1)
# Nothing of a rail takes longer by itself.
UNANSWERED_MAX = timedelta(days=1)
FIRST = datetime(1970, 1, 1, tzinfo=UTC)
FORGOTTEN_AFTER = timedelta(minutes=15)
# So far clocks of machines may differ.
BOOKED_AHEAD_MAX = timedelta(minutes=15)
MAIL_FAILED_FOR = timedelta(days=7)
ADD_THE_KEY = "add the key they were encrypted with to TIDEGATE_ENCRYPTION_KEY, after the current one"
SEALED_ADVICE = {
    sealed_store.WEBHOOK_SECRETS: f"{ADD_THE_KEY}; if it is lost, replace each with "
    "`tidegate webhook rotate ENDPOINT --business BUSINESS` and give the merchant the new secret"
}
_DURABLE = ("fsync", "synchronous_commit", "full_page_writes")


async def examine(db: Database, settings: Settings, vault: Vault, *, now: datetime) -> AsyncIterator[Finding]:
    yield Finding("settings", True, f"{settings.mode.value} mode at {settings.base_url}")
    yield _security_contact(settings)
    yield _mail_server(settings)
    async with db.connection() as tx:
        server = await store.get_server(tx)
        yield _version(server)
        for setting in _DURABLE:
            yield _durability(setting, server[setting])
        yield _checksums(server, settings.mode)
        yield _role(server)
        yield await _clock(tx, now)
    async for finding in examine_data(db, vault, now=now):
        yield finding


async def examine_data(db: Database, vault: Vault, *, now: datetime) -> AsyncIterator[Finding]:
    """What is in the database, wherever it runs."""
    async with db.connection() as tx:
        yield await _migrations(tx)
        for kind in sealed_store.KINDS:
            yield await _sealed(tx, vault, kind, SEALED_ADVICE.get(kind, ADD_THE_KEY))
        async for finding in _invariants(tx, now):
            yield finding


async def examine_rails(db: Database, settings: Settings, *, now: datetime) -> list[Finding]:
    """In live mode: each rail by itself, and which methods none of them takes."""
    if settings.mode is Mode.SANDBOX:
        return []
    rails = registry.rails_of(settings, db, (await deployment.check(db, settings.mode)).secret)
    async with registry.opened(rails.values()):
        found = [finding for rail in rails.values() for finding in await rail.check(now=now)]
    async with db.connection() as tx:
        for name in rails:
            found += rail_findings(name, await rail_store.get_activity(tx, name), settings.base_url, now)
    return [*found, _untaken(rails.values())]


def rail_findings(rail: str, activity: RailActivity, base_url: str, now: datetime) -> list[Finding]:
    last = (
        f"the last notification came at {to_iso(activity.notified_at)}"
        if activity.notified_at
        else "no notification yet"
    )
    misses_notifications = (
        activity.received_at is not None
        and activity.received_at - (activity.notified_at or FIRST) > NOTIFICATION_MISSED_AFTER
    )
    if misses_notifications and activity.received_at is not None:
        last += f", but money at {to_iso(activity.received_at)}, which we had to ask for"
    since = activity.unanswered_since
    waits = f"{activity.unanswered} unanswered, the oldest since {to_iso(since)}" if since else "nothing is unanswered"
    return [
        Finding(f"rail {rail}", not misses_notifications, last, f"let it notify {base_url}/intake/{rail}"),
        Finding(f"rail {rail}", since is None or now - since < UNANSWERED_MAX, waits, f"ask the support of {rail}"),
    ]


def _untaken(rails: Collection[Rail]) -> Finding:
    """No failure: it is a choice which rails to have."""
    missing = [
        f"{method} in {currency}"
        for currency in Currency
        for method in currency.spec.methods
        if all(rail.capabilities.terms_for(method, currency) is None for rail in rails)
    ]
    what = f"no rail takes {', '.join(missing)}: not offered" if missing else "some rail takes every method"
    return Finding("methods", True, what)


async def examine_books(db: Database, *, now: datetime) -> tuple[list[Finding], list[books.BooksSum]]:
    """The ledger's invariants, and the balance of every account."""
    examined = await books.examine(db, now=now)
    advice = "stop payouts and find out what wrote this; no command of Tidegate does"
    findings = [_nothing(answer.subject, answer.found, answer.when_well, advice) for answer in examined.answers]
    async with books.snapshot(db) as tx:
        findings += [finding async for finding in _money(tx, now)]
    return findings, examined.trial_balance


async def examine_audit_trail(db: Database, *, now: datetime) -> Finding:
    tampered = await audit_chain.verify_all(db, now=now)
    return _nothing(
        "audit trail", tampered, "unchanged since it was linked",
        "stop payouts and find out what wrote this; no command of Tidegate does",
    )  # fmt: skip


async def _money(tx: Tx, now: datetime) -> AsyncIterator[Finding]:
    report = "this is a bug in Tidegate; leave the database unchanged and report it"
    for subject, found, when_well in (*await _payments(tx), *await _inflows(tx), *await _refunds(tx)):
        yield _nothing(subject, found, when_well, report)
    ahead = await money_store.list_booked_ahead(tx, now + BOOKED_AHEAD_MAX)
    yield _nothing("times", ahead, "no wallet is booked into the future", "compare the clocks of your machines")
    wrong_takings = await home_store.list_wrong_takings(tx)
    yield _nothing("takings", wrong_takings, "the dashboard's roll-up equals a fresh count", report)
    forgotten = await money_store.list_forgotten(tx, now - FORGOTTEN_AFTER)
    yield _nothing("sessions", forgotten, "no payment outlives its session", "is `tidegate worker` running?")
    quarantined = await money_store.list_quarantined(tx)
    yield _nothing(
        "quarantine",
        quarantined,
        "no rail contradicts itself",
        "ask the rail which is right, then `tidegate quarantine close`, or `refund end` where it is a refund's",
    )
    failed = await rail_store.list_failed_returns(tx)
    yield _nothing(
        "failed returns",
        failed,
        "every return is under way or done",
        "pay it back by another way, then `tidegate return end`",
    )
    disputes = [_dispute(one.dispute) for one in await dispute_store.list_open(tx, limit=store.FINDINGS_MAX)]
    # The answer is given at the rail.
    yield Finding("disputes", True, "; ".join(disputes) or "no payment is disputed")
    unclaimed = await suspense_store.list_open(tx, limit=store.FINDINGS_MAX)
    suspense = [f"{one.amount} by {one.rail}/{one.transaction_id}: {one.reason}" for one in unclaimed]
    # The books are right, so this is no failure; an operator must find the owner.
    yield Finding("suspense", True, "; ".join(suspense) or "all money has an owner")
    held = await inflow_store.list_held(tx)
    yield Finding("held inflows", True, "; ".join(held) or "no inflow waits for a decision")
    reversals = await inflow_store.list_reversals_to_settle(tx)
    yield Finding("reversals", True, "; ".join(reversals) or "none waits for its credit, and none is owed")


def _dispute(one: Dispute) -> str:
    due = f", to be answered by {to_iso(one.due_at)}" if one.due_at else ""
    return f"{one.rail}/{one.id} of {one.amount}{due}"


async def _payments(tx: Tx) -> list[tuple[str, list[str], str]]:
    return [
        (
            "settlements",
            await money_store.list_wrongly_posted(tx),
            "every successful payment is settled once, no other is",
        ),
        ("events", await money_store.list_wrong_events(tx), "every successful payment has one event, no other has"),
        ("deliveries", await money_store.list_wrongly_delivered(tx), "every delivered webhook was answered with a 2xx"),
        ("amounts", await money_store.list_wrongly_settled(tx), "received is settled plus fee plus tax, as booked"),
        ("receipts", await money_store.list_lost_money(tx), "every receipt was kept, is held, or was returned"),
        ("bookings", await money_store.list_unbooked_receipts(tx), "every receipt has its journal"),
    ]


async def _inflows(tx: Tx) -> list[tuple[str, list[str], str]]:
    return [
        ("credits", await inflow_store.list_wrongly_credited(tx), "every inflow was credited as it was booked, once"),
        ("inflow events", await inflow_store.list_wrong_events(tx), "every credit and every return has one event"),
        ("holds", await inflow_store.list_wrongly_held(tx), "held inflows are in suspense, outgoing ones in returns"),
        ("returns", await inflow_store.list_wrongly_reversed(tx), "what was not kept has a return or a reversal"),
        ("totals", await inflow_store.list_wrong_tallies(tx), "every tally of inflows equals a fresh count"),
    ]


async def _refunds(tx: Tx) -> list[tuple[str, list[str], str]]:
    return [
        ("refunds", await refund_store.list_wrongly_counted(tx), "every refunded amount is the sum of its refunds"),
        ("locks", await refund_store.list_wrongly_locked(tx), "every wallet locks its running refunds and disputes"),
        (
            "exchange",
            await refund_store.list_wrongly_exchanged(tx),
            "every refund at another rate than that of its day has its difference booked",
        ),
        (
            "checkout reversals",
            await refund_store.list_wrongly_reversed(tx),
            "every reversal is booked and has an event",
        ),
        ("dispute bookings", await rail_store.list_wrongly_held(tx), "what disputes hold is as booked"),
        (
            "refund bookings",
            await refund_store.list_wrongly_ended(tx),
            "every refund has its debit and its outcome booked",
        ),
    ]


def _security_contact(settings: Settings) -> Finding:
    contact = settings.security_contact
    advice = "set TIDEGATE_SECURITY_CONTACT, so that a vulnerability can be reported"
    return Finding("security.txt", bool(contact) or settings.mode is Mode.SANDBOX, contact or "no contact", advice)


def _mail_server(settings: Settings) -> Finding:
    if settings.mail is not None:
        return Finding("mail server", True, f"{settings.mail.host}:{settings.mail.port}")
    is_sandbox = settings.mode is Mode.SANDBOX
    what = f"none; {settings.base_url}/mail shows what would be sent" if is_sandbox else "none: no mail is sent"
    advice = "set TIDEGATE_SMTP_URL and TIDEGATE_MAIL_FROM; until then invitations give a link to copy"
    return Finding("mail server", is_sandbox, what, advice)


def _version(server: dict[str, str]) -> Finding:
    is_well = int(server["version"]) >= VERSION_MIN
    return Finding("database", is_well, f"PostgreSQL {server['version_text']}", "use PostgreSQL 15 or later")


def _durability(setting: str, value: str) -> Finding:
    is_well = value not in ("off", "local") if setting == "synchronous_commit" else value == "on"
    return Finding(setting, is_well, value, f"set {setting} = on, or a crash can lose acknowledged payments")


def _checksums(server: dict[str, str], mode: Mode) -> Finding:
    value = server["data_checksums"]
    return Finding(
        "data_checksums", value == "on" or mode is Mode.SANDBOX, value, "enable them with pg_checksums --enable"
    )


def _role(server: dict[str, str]) -> Finding:
    advice = f"run `tidegate migrate` and grant {APP_ROLE} to the user of DATABASE_URL"
    return Finding("role", server["role"] == APP_ROLE, f"works as {server['role']}", advice)


async def _migrations(tx: Tx) -> Finding:
    version, wanted = await migrate.applied_version(tx), migrate.latest_version()
    return Finding("migrations", version >= wanted, f"at {version} of {wanted}", "run `tidegate migrate`")


async def _clock(tx: Tx, now: datetime) -> Finding:
    skew_s = abs((await store.get_time(tx) - now).total_seconds())
    advice = "synchronise both clocks with a time server; signatures and expiry depend on them"
    return Finding("clock", skew_s <= CLOCK_SKEW_MAX_S, f"{skew_s:.1f} s off the database's", advice)


async def _sealed(tx: Tx, vault: Vault, kind: SealedKind, advice: str) -> Finding:
    """Opens everything of one kind: with a lost or replaced key no webhook can be signed, and people cannot sign in."""
    count, broken = 0, []
    async for rows in sealed_store.batches(tx, kind):
        for row in rows:
            if not row.is_needed:
                continue
            count += 1
            try:
                vault.open(row.sealed, owner=row.owner)
            except NoKey as why:
                broken.append(f"{row.label}: {why}")
    return _decrypted(kind.subject, count, broken, advice)


def _decrypted(subject: str, count: int, broken: list[str], advice: str) -> Finding:
    if not broken:
        return Finding(subject, True, f"{count} can be decrypted")
    more = f"; and {len(broken) - store.FINDINGS_MAX} more" if len(broken) > store.FINDINGS_MAX else ""
    shown = "; ".join(broken[: store.FINDINGS_MAX])
    return Finding(subject, False, f"{len(broken)} of {count} cannot be decrypted: {shown}{more}", advice)


async def _invariants(tx: Tx, now: datetime) -> AsyncIterator[Finding]:
    foreign = await store.list_payments_with_foreign_pay_code(tx)
    yield _nothing("references", foreign, "no reference has the form of another payment's pay code", "rename them")
    wrong = await store.list_payments_with_wrong_expectation(tx)
    yield _nothing("expectations", wrong, "no customer pays a fee that the business bears", "report a bug")
    keyless = await store.list_businesses_without_key(tx, now)
    advice = "make one with `tidegate merchant keys roll BUSINESS`"
    yield _nothing("keys", keyless, "every active business has a valid secret key", advice)
    mistaken = await store.list_businesses_with_wrong_cards(tx)
    advice = "pause its cards and lift that: `tidegate merchant cards pause`, then `lift`"
    yield _nothing("cards", mistaken, "every business takes cards unless they are paused", advice)
    parked = await lease_store.list_failed(tx, only_parked=True, limit=store.FINDINGS_MAX)
    refused = await mail_store.list_failed(tx, since=now - MAIL_FAILED_FOR, limit=store.FINDINGS_MAX)
    # A recipient's address may be wrong; the service is not.
    yield Finding("refused mail", True, "; ".join(refused) or "the mail server took every message of the last week")
    advice = "fix the cause, then `tidegate job retry KIND BUSINESS ID`; `tidegate job list` shows all"
    yield _nothing("parked work", [_parked(one) for one in parked], "no background work has failed too often", advice)


def _parked(one: lease_store.FailedWork) -> str:
    return f"{one.kind} {one.business_id} {one.id}: {one.last_error} ({one.failures} failures)"


def _nothing(subject: str, found: list[str], when_well: str, advice: str) -> Finding:
    return Finding(subject, not found, ", ".join(found) or when_well, advice)
