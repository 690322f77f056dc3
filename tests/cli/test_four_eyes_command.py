"""In live mode the command line proposes what lets money out or widens rights; another person approves it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from cli.live_staff import APPROVING, AUDITING, OPERATING, PASSWORD, add_staff
from cli.operating import Operator
from earlier import earlier
from live_database import live_database
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Mode
from tidegate.infra.db import Database
from tidegate.merchant import commands as merchants

LIVE = {
    "TIDEGATE_MODE": "live",
    "TIDEGATE_BASE_URL": "https://api.example.com",
    "TIDEGATE_CONSOLE_URL": "https://console.example.com",
    "TIDEGATE_RAILS": "paystack",
    "TIDEGATE_PAYSTACK_SECRET_KEY": "sk_live_0123456789abcdef0123456789abcdef01234567",
}


@pytest.fixture(scope="module")
async def live(server_url: str) -> AsyncIterator[str]:
    async with live_database(server_url, "tidegate_test_four_eyes") as url:
        yield url


@pytest.fixture
async def row(live: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(live)
    yield connection
    await connection.close()


@pytest.fixture
def operator(live: str, tmp_path: Path) -> Operator:
    return Operator(live, tmp_path, **LIVE)


@pytest.fixture(scope="module")
async def business_id(live: str) -> AsyncIterator[str]:
    """Of a merchant; beside it two approvers, an operator and an auditor."""
    db, now = Database(live), SystemClock().now()
    await db.open()
    await add_staff(db)
    new = await merchants.create(db, name="Shop", email="shop@example.com", mode=Mode.LIVE, now=now)
    async with db.connection() as tx:
        await tx.execute(
            """
            INSERT INTO webhook_endpoint (business_id, id, url, events, rate_per_second, created_at, updated_at)
            VALUES ($1, 'we_1', 'https://example.com/1', '{charge.successful}', 5, now(), now())
            """,
            new.business.id,
        )
        await tx.execute("UPDATE person SET has_passkey = true WHERE email = $1", AUDITING)
    yield new.business.id
    await db.close()


async def test_a_command_is_proposed_by_one_and_approved_by_another(
    operator: Operator, business_id: str, row: asyncpg.Connection
) -> None:
    fee = ("merchant", "fee", business_id, "NGN", "card", "--percent", "1.1")
    assert "Give the reason" in await operator.refused(*fee, "--by", OPERATING)
    assert "Say who you are" in await operator.refused(*fee, "--why", "agreed")
    by = ("--why", "agreed", "--by")
    assert "As auditor" in await operator.refused(*fee, *by, AUDITING)
    assert "neither your password" in await operator.refused(*fee, *by, OPERATING, typed="guessed")
    assert "proposed as" in await operator.said(*fee, *by, OPERATING, typed=PASSWORD)
    assert await row.fetchval("SELECT count(*) FROM fee_rule WHERE business_id = $1", business_id) == 0
    [waiting] = await operator.json("approval", "list")
    assert (waiting["command"], waiting["why"], waiting["proposedBy"]) == ("merchant.price", "agreed", "ops")
    assert waiting["facts"] == [
        {"label": "Card in NGN", "before": "1.40 %, VAT 7.50 %", "value": "1.10 %, VAT 7.50 %"},
    ]
    assert "1.40 %, VAT 7.50 % → 1.10 %, VAT 7.50 %" in " ".join((await operator.said("approval", "list")).split())
    number = str(waiting["number"])
    assert "As operator" in await operator.refused("approval", "approve", number, "--by", OPERATING)
    assert "neither your" in await operator.refused("approval", "approve", number, "--by", APPROVING, typed="x")
    assert "approved and done" in await operator.said("approval", "approve", number, "--by", APPROVING, typed=PASSWORD)
    assert await row.fetchval("SELECT basis_points FROM fee_rule WHERE business_id = $1", business_id) == 110
    assert "approved this on" in await operator.refused("approval", "approve", number, "--by", APPROVING)
    assert "no open proposal has the number" in await operator.refused(
        "approval", "approve", "999999", "--by", APPROVING
    )
    actors = await row.fetch("SELECT actor FROM audit WHERE subject = $1 ORDER BY id", business_id)
    assert len({one["actor"] for one in actors}) == 2


async def test_a_payer_is_erased_by_two(operator: Operator, business_id: str, row: asyncpg.Connection) -> None:
    who = ("erase", "--email", "zebedee@quuxwald.example", "--business", business_id)
    assert (await operator.json(*who))["erased"] is False
    by = ("--yes", "--by", OPERATING)
    assert "Give the reason" in await operator.refused(*who, *by)
    assert "As auditor" in await operator.refused(*who, "--yes", "--why", "a letter", "--by", AUDITING)
    assert "proposed as" in await operator.said(*who, *by, "--why", "a letter", typed=PASSWORD)
    [waiting] = await operator.json("approval", "list")
    assert (waiting["command"], {fact["label"]: fact["value"] for fact in waiting["facts"]}) == (
        "payer.erase",
        {
            "E-mail": "zebedee@quuxwald.example",
            "Of": "Shop",
            "Erases": "being counted; look again in a minute, while a worker runs",
        },
    )
    approve = ("approval", "approve", str(waiting["number"]), "--by", APPROVING)
    assert "still being counted" in await operator.refused(*approve, typed=PASSWORD)
    await row.execute("""UPDATE erasure SET found = '{"rows": {"payments": 2}, "left": {}}'""")
    assert "approved and done" in await operator.said(*approve, typed=PASSWORD)
    assert await row.fetchval("SELECT approved_by LIKE 'staff/%' AND ended_at IS NULL FROM erasure")


async def test_what_cannot_be_approved_is_not_proposed(
    operator: Operator, business_id: str, row: asyncpg.Connection
) -> None:
    by = ("--by", OPERATING)
    for words, why in (
        (("refund", "create", business_id, "NO-SUCH", "--note", "x"), "no payment or collection has this reference"),
        (("merchant", "keys", "roll", business_id, "--key", "987654", "--why", "x"), "has no key 987654"),
    ):
        assert why in await operator.refused(*words, *by, typed=PASSWORD)
    assert await row.fetchval("SELECT count(*) FROM approval WHERE status = 'open'") == 0


async def test_a_key_is_shown_when_it_is_proposed_and_works_once_it_is_approved(
    operator: Operator, business_id: str, row: asyncpg.Connection
) -> None:
    made = await operator.json(
        "merchant", "keys", "create", business_id, "Reports", "--scope", "read", "--why", "asked for", "--by",
        OPERATING, typed=PASSWORD,
    )  # fmt: skip
    assert made["secretKey"].startswith("sk_live_")
    kept = "SELECT count(*) FROM credential WHERE business_id = $1 AND last_four = $2 AND name = 'Reports'"
    assert await row.fetchval(kept, business_id, made["secretKey"][-4:]) == 0
    await operator.said("approval", "approve", str(made["proposed"]), "--by", APPROVING, typed=PASSWORD)
    assert await row.fetchval(kept, business_id, made["secretKey"][-4:]) == 1


@pytest.mark.parametrize("who", ["staff", "owner"])
async def test_without_mail_the_link_of_an_invitation_is_printed_on_the_server_alone(
    operator: Operator, business_id: str, row: asyncpg.Connection, who: str
) -> None:
    email, by = f"new-{who}@example.com", OPERATING if who == "owner" else "sade@example.com"
    asked: tuple[str, ...] = ("dashboard", "invite", business_id, email)
    if who == "staff":
        asked = ("staff", "add", email, "--name", "Bisi Ade", "--role", "operator")
    link = ("approval", "link", email)
    assert "no invitation of" in await operator.refused(*link)
    await operator.said(*asked, "--why", "starts on Monday", "--by", by, typed=PASSWORD)
    assert "no invitation of" in await operator.refused(*link)
    [waiting] = await operator.json("approval", "list")
    approved = ("approval", "approve", str(waiting["number"]), "--by", APPROVING)
    said = await operator.said(*approved, typed=PASSWORD)
    assert (f"tidegate approval link {email}" in said, "https://" in said) == (True, False)
    place = "https://console.example.com/console/reset/" if who == "staff" else "https://api.example.com/dashboard/inv"
    assert (await operator.said(*link)).startswith(place)
    printed = "SELECT actor FROM audit WHERE action = 'team.invitation_printed' AND subject = $1"
    assert await row.fetchval(printed, email) == "operator"
    await row.execute(f"UPDATE approval SET {earlier('decided_at', '3 days')} WHERE id = $1", waiting["number"])
    assert "more than three days ago" in await operator.refused(*link)
    await row.execute("UPDATE approval SET decided_at = now() WHERE id = $1", waiting["number"])
    await row.execute("UPDATE person SET password_hash = 'chosen' WHERE email = $1", email)
    if who == "staff":
        assert "has chosen a password already" in await operator.refused(*link)


async def test_what_stops_money_is_done_by_one_and_its_end_is_proposed(
    operator: Operator, business_id: str, row: asyncpg.Connection
) -> None:
    of = "SELECT status, rate_per_second FROM business WHERE id = $1"
    await operator.said(
        "merchant",
        "set",
        business_id,
        "--status",
        "suspended",
        "--reason",
        "unpaid",
        "--support-email",
        "help@example.com",
    )
    before = await row.fetchrow(of, business_id)
    assert before["status"] == "suspended"
    wanted = ("merchant", "set", business_id, "--status", "active", "--rate-per-second", "77", "--why", "paid")
    number = (await operator.json(*wanted, "--by", OPERATING, typed=PASSWORD))["proposed"]
    assert await row.fetchrow(of, business_id) == before
    assert "Only an approver" in await operator.refused(
        "approval", "decline", str(number), "--by", AUDITING, typed=PASSWORD
    )
    await operator.said("approval", "approve", str(number), "--by", APPROVING, typed=PASSWORD)
    assert tuple(await row.fetchrow(of, business_id)) == ("active", 77)
    again = ("merchant", "set", business_id, "--status", "active", "--why", "paid", "--by", OPERATING)
    assert "is active already" in await operator.refused(*again, typed=PASSWORD)


# Every other command whose subject is known: the words, and the table that has a row once it was done.
PROPOSED = {
    "rate.set": (("rate", "set", "USD", "NGN", "1500", "--source", "desk"), "exchange_rate"),
    "rate.import": (("rate", "import", "ecb.xml"), "exchange_rate"),
    "merchant.roll": (("merchant", "keys", "roll", "BUSINESS"), "credential"),
    "merchant.owner": (("dashboard", "invite", "BUSINESS", "ada@shop.example"), "invitation"),
    "webhook.add": (("webhook", "add", "https://example.com/hook", "--business", "BUSINESS"), "webhook_endpoint"),
    "webhook.change": (("merchant", "set", "BUSINESS", "--webhook-url", "https://example.com/2"), "webhook_endpoint"),
    "staff.add": (("staff", "add", "new@example.com", "--name", "New", "--role", "auditor"), "staff"),
    "staff.remove": (("staff", "remove", AUDITING), "staff"),
    "person.reset": (("dashboard", "reset-factors", AUDITING, "--yes"), "person"),
}
ECB = """\
<?xml version="1.0"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
<Cube><Cube time="2026-11-13"><Cube currency="USD" rate="1.1"/></Cube></Cube></gesmes:Envelope>"""


@pytest.mark.parametrize("command", PROPOSED)
async def test_it_is_proposed_and_changes_nothing(
    operator: Operator, business_id: str, row: asyncpg.Connection, tmp_path: Path, command: str
) -> None:
    words, table = PROPOSED[command]
    path = tmp_path / "ecb.xml"
    path.write_text(ECB)
    given = [{"BUSINESS": business_id, "ecb.xml": str(path)}.get(word, word) for word in words]
    before = await row.fetch(f"SELECT * FROM {table}")
    by = APPROVING if command.startswith("staff.") else OPERATING
    assert "proposed as" in await operator.said(*given, "--why", "asked for", "--by", by, typed=PASSWORD)
    assert await row.fetch(f"SELECT * FROM {table}") == before
    waiting = await operator.json("approval", "list")
    number = next(one["number"] for one in waiting if one["command"] == command)
    ended = await operator.said("approval", "decline", str(number), "--by", APPROVING, typed=PASSWORD)
    assert ("taken back" if by == APPROVING else "declined") in ended
