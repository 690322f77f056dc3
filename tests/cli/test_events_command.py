"""`tidegate events` and `tidegate webhook`: did you send it, what did I say, send it again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from process import ENCRYPTION_KEY
from receiver import Receiver, answer, receiving
from tidegate.audit.model import OPERATOR
from tidegate.cli import main
from tidegate.core.clock import SystemClock
from tidegate.infra.db import Database
from tidegate.sandbox import store as sandbox_store
from tidegate.webhook import commands
from tidegate.webhook.explain import explain
from webhook.world import PAYLOAD, World, make_world

Run = Callable[..., Awaitable[tuple[int, str]]]


@pytest.fixture
async def world(db: Database) -> AsyncIterator[World]:
    """Two hours ago."""
    async with make_world(db) as made:
        catch_up(made)
        made.later(hours=-2)
        yield made


def catch_up(world: World) -> None:
    """With the time of the commands."""
    world.clock.advance(wall() - world.clock.now())


def wall() -> datetime:
    return SystemClock().now()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as made:
        yield made


@pytest.fixture
def tg(database_url: str, world: World, tmp_path: Path) -> Run:
    """In this process, since there are many; in a thread, since the command has an event loop of its own."""
    (tmp_path / "sandbox.json").write_text(json.dumps({"businessId": world.business_id}))

    async def run(*arguments: str, **environment: str) -> tuple[int, str]:
        variables = {
            "DATABASE_URL": database_url,
            "TIDEGATE_HOME": str(tmp_path),
            "TIDEGATE_ENCRYPTION_KEY": ENCRYPTION_KEY,
            "COLUMNS": "240",
            **environment,
        }
        done = await asyncio.to_thread(CliRunner().invoke, main, arguments, env=variables)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output

    return run


@pytest.fixture
def tg_json(tg: Run) -> Callable[..., Awaitable[Any]]:
    async def run(*arguments: str) -> Any:
        code, said = await tg(*arguments, "--json")
        assert code == 0, said
        return json.loads(said)

    return run


async def test_what_was_sent_is_listed_and_shown(world: World, receiver: Receiver, tg: Run) -> None:
    receiver.script = [answer(500, b"try [bold]again[/] \x1b[2J\x00"), answer(200, b"thank you")]
    await world.endpoint(receiver.url())
    await world.event(reference="ORD-77")
    await world.deliver()
    code, said = await tg("events", "list")
    assert code == 0, said
    for words in ("charge.successful", "ORD-77", receiver.url(), "pending", "500", "dlv_"):
        assert words in said
    delivery = await world.delivery()
    code, said = await tg("events", "show", f"dlv_{delivery.id}")
    assert code == 0, said
    assert "Attempt 1" in said
    assert "try [bold]again[/] \\u001b[2J" in said
    assert "\x1b" not in said
    assert '"amount": 100.50' in said
    world.later(minutes=1)
    await world.deliver()
    _, said = await tg("events", "show", f"dlv_{delivery.id}")
    assert "delivered" in said
    assert "thank you" in said


async def test_a_script_gets_the_records_of_the_api(world: World, receiver: Receiver, tg_json: Any) -> None:
    await world.endpoint(receiver.url())
    event_id = await world.event()
    await world.deliver()
    [listed] = await tg_json("events", "list")
    shown = await tg_json("events", "show", listed["id"])
    headers = shown.pop("headers")
    assert shown == listed
    assert (shown["eventId"], shown["status"], shown["attempts"][0]["responseBody"]) == (
        event_id,
        "delivered",
        "thank you",
    )
    assert shown["payload"] == json.loads(PAYLOAD)
    assert headers["webhook-id"] == event_id


async def test_the_headers_shown_would_be_accepted_now(world: World, receiver: Receiver, tg_json: Any) -> None:
    made = await world.endpoint(receiver.url())
    await world.event()
    await world.deliver()
    [listed] = await tg_json("events", "list")
    headers = (await tg_json("events", "show", listed["id"]))["headers"]
    assert headers["signature"] == receiver.received[0].headers["signature"]
    assert headers["user-agent"] == receiver.received[0].headers["user-agent"]
    found = explain(headers, PAYLOAD, [made.secret], now=wall())
    assert found.is_well, found
    async with world.db.connection() as tx:
        await tx.execute("DELETE FROM webhook_secret")
    headers = (await tg_json("events", "show", listed["id"]))["headers"]
    assert "signature" not in headers


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ["ORD-3", "ORD-2", "ORD-1"]),
        (["--status", "delivered"], ["ORD-3", "ORD-1"]),
        (["--status", "exhausted"], []),
        (["--event", "refund.failed"], ["ORD-2"]),
        (["--reference", "ORD-1"], ["ORD-1"]),
        (["--since", "90m"], ["ORD-3"]),
        (["--until", "90m"], ["ORD-2", "ORD-1"]),
        (["--since", "3h", "--until", "2199-12-31"], ["ORD-3", "ORD-2", "ORD-1"]),
        (["--since", "10m"], []),
        (["--limit", "1"], ["ORD-3"]),
    ],
)
async def test_filters_narrow(
    world: World, receiver: Receiver, tg_json: Any, options: list[str], expected: list[str]
) -> None:
    await world.endpoint(receiver.url(), events=("charge.successful", "refund.failed"))
    receiver.script = [answer(200), answer(500)]
    await world.event(reference="ORD-1")
    await world.deliver()
    # Of one moment, either may be listed first.
    world.later(seconds=1)
    await world.event(reference="ORD-2", type="refund.failed")
    await world.deliver()
    world.later(hours=1)
    await world.event(reference="ORD-3")
    await world.sender.fan_out()
    for delivery in await world.sender.take():
        if delivery.failures == 0:
            await world.sender.finish([await world.sender.send(delivery)])
    assert [record["reference"] for record in await tg_json("events", "list", *options)] == expected


async def test_the_next_page_is_named(world: World, receiver: Receiver, tg: Run) -> None:
    await world.endpoint(receiver.url())
    for number in (1, 2, 3):
        await world.event(reference=f"PAGE-{number}")
        await world.deliver()
        world.later(seconds=1)
    _, said = await tg("events", "list", "--limit", "2")
    assert "PAGE-2" in said
    assert "PAGE-1" not in said
    _, said = await tg("events", "list", *said.split("There are more: ")[1].split())
    assert ("PAGE-1" in said, "PAGE-2" in said, "There are more" in said) == (True, False, False)


async def test_a_delivery_is_sent_again_and_the_operator_is_written_down(
    world: World, receiver: Receiver, tg: Run, admin: Any
) -> None:
    await world.endpoint(receiver.url())
    await world.event()
    await world.deliver()
    delivery = await world.delivery()
    code, said = await tg("events", "resend", f"dlv_{delivery.id}")
    assert (code, "is queued for" in said) == (0, True)
    catch_up(world)
    await world.deliver()
    first, second = receiver.received
    assert (first.event_id, first.body) == (second.event_id, second.body)
    row = await admin.fetchrow("SELECT actor, subject FROM audit WHERE action = 'webhook.resent'")
    assert dict(row) == {"actor": "operator", "subject": str(delivery.id)}


async def test_a_time_is_counted_first_and_then_sent_again(
    world: World, receiver: Receiver, tg: Run, tg_json: Any
) -> None:
    await world.event(reference="BEFORE-1")
    await world.sender.fan_out()
    await world.endpoint(receiver.url())
    window = ("events", "replay", "--from", "3h", "--to", "0s")
    code, said = await tg(*window)
    assert (code, said.strip()) == (0, "1 delivery would be sent; add --confirm to send.")
    assert await tg_json(*window) == {"count": 1, "sent": False, "erased": 0}
    assert await tg_json(*window, "--event", "refund.failed") == {"count": 0, "sent": False, "erased": 0}
    assert await world.deliveries() == []
    assert await tg_json(*window, "--confirm") == {"count": 1, "sent": True, "erased": 0}
    catch_up(world)
    await world.deliver()
    assert len(receiver.received) == 1
    assert await tg_json(*window, "--undelivered") == {"count": 0, "sent": False, "erased": 0}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["events", "show", "7"], "is not a delivery's id"),
        (["events", "show", "dlv_7"], "no webhook delivery with this id"),
        (["events", "resend", "dlv_7"], "no webhook delivery with this id"),
        (["events", "list", "--business", "0" * 24], "there is no business"),
        (["events", "list", "--since", "yesterday"], "--since must be a date such as"),
        (["events", "list", "--since", "2026-02-30"], "--since is a day or a time that does not exist"),
        (["events", "list", "--since", "2026-03-14", "--until", "2026-03-13"], "--until must be after --since"),
        (["events", "list", "--reference", "a b"], "reference"),
        (["events", "replay", "--from", "2h", "--to", "3h"], "--to must be after --from"),
        (["webhook", "add", "ftp://example.com"], "URL must be an absolute http or https address"),
        (["webhook", "add", "http://10.0.0.1/hook"], "URL must not lead into a private network"),
        (["webhook", "add", "http://169.254.169.254/"], "URL must not lead into a private network"),
        (["webhook", "add", "https://example.com", "--event", "charge.failed"], "--event must be one of"),
        (["webhook", "set", "we_none", "--status", "disabled"], "no webhook endpoint with this id"),
        (["webhook", "set", "we_none"], "Nothing to change"),
        (["webhook", "set", "we_none", "--event", "refund.failed", "--no-events"], "contradict each other"),
        (["webhook", "rotate", "we_none"], "no webhook endpoint with this id"),
        (["webhook", "test", "we_none"], "no webhook endpoint with this id"),
        (["webhook", "remove", "we_none"], "no webhook endpoint with this id"),
    ],
)
async def test_a_mistake_is_said_in_a_sentence(tg: Run, arguments: list[str], expected: str) -> None:
    code, said = await tg(*arguments)
    assert (code, expected in said, "Traceback" in said) == (1, True, False), said


async def test_without_a_seeded_business_one_must_be_named(tg: Run, world: World, tmp_path: Path) -> None:
    (tmp_path / "sandbox.json").unlink()
    code, said = await tg("events", "list")
    assert (code, "--business" in said) == (1, True)
    code, said = await tg("events", "list", "--business", world.business_id)
    assert (code, "tidegate events replay" in said) == (0, True)


async def test_an_endpoint_is_added_changed_rotated_tested_and_removed(
    world: World, receiver: Receiver, tg: Run, tg_json: Any, admin: Any
) -> None:
    made = await tg_json("webhook", "add", receiver.url(), "--event", "refund.failed", "--description", "[b]Orders")
    assert made["events"] == ["charge.successful", "collection.successful", "refund.failed"]
    assert made["secret"].startswith("whsec_")
    code, said = await tg("webhook", "list")
    assert code == 0, said
    for words in (made["id"], receiver.url(), "[b]Orders", "enabled"):
        assert words in said
    assert made["secret"] not in said

    changed = await tg_json("webhook", "set", made["id"], "--no-events", "--description", "", "--rate-per-second", "7")
    assert (changed["events"], changed["description"], changed["ratePerSecond"]) == (made["events"][:2], None, 7)
    disabled = await tg_json("webhook", "set", made["id"], "--status", "disabled")
    assert (disabled["status"], disabled["events"], disabled["ratePerSecond"]) == ("disabled", made["events"][:2], 7)
    assert "merchant" in (await tg("webhook", "list"))[1]
    await tg_json("webhook", "set", made["id"], "--status", "enabled")

    rotated = await tg_json("webhook", "rotate", made["id"])
    sent = await tg_json("webhook", "test", made["id"])
    catch_up(world)
    await world.deliver()
    [got] = receiver.received
    assert got.event_id == sent["eventId"]
    for secret in (made["secret"], rotated["secret"]):
        assert explain(got.headers, got.body, [secret], now=wall()).is_proven_by("webhook-signature")

    code, said = await tg("webhook", "remove", made["id"])
    assert (code, "is deleted" in said) == (0, True)
    assert await tg_json("webhook", "list") == []
    assert "No endpoint yet" in (await tg("webhook", "list"))[1]
    actors = await admin.fetch("SELECT DISTINCT actor FROM audit WHERE action LIKE 'webhook.endpoint.%'")
    assert [row["actor"] for row in actors] == ["operator"]


@pytest.mark.parametrize(
    ("served_at", "environment", "own", "foreign"),
    [
        ("http://localhost:9099", {}, 9099, 8080),
        ("https://shop.example.com", {}, 8080, 9099),
        ("http://localhost:9099", {"PORT": "9098"}, 9098, 8080),
        ("no address", {}, 8080, 9099),
    ],
)
async def test_the_sandbox_s_own_address_is_no_endpoint(
    world: World, tg: Run, tmp_path: Path, *, served_at: str, environment: dict[str, str], own: int, foreign: int
) -> None:
    sandbox = json.dumps({"businessId": world.business_id, "baseUrl": served_at})
    (tmp_path / "sandbox.json").write_text(sandbox)
    for host in ("localhost", "127.0.0.1"):
        code, said = await tg("webhook", "add", f"http://{host}:{own}/hook", **environment)
        assert (code, "must not be this service itself" in said) == (1, True), said
    code, said = await tg("webhook", "add", f"http://localhost:{foreign}/hook", **environment)
    assert code == 0, said


async def test_the_webhook_url_is_the_first_endpoint_s(world: World, tg_json: Any, tg: Run) -> None:
    set_ = ("merchant", "set", world.business_id, "--webhook-url")
    first = await tg_json(*set_, "http://127.0.0.1:3000/hook")
    assert first["webhookUrl"] == "http://127.0.0.1:3000/hook"
    [endpoint] = await commands.list_all(world.db, world.business_id)
    assert endpoint.url == first["webhookUrl"]
    await tg_json("webhook", "set", endpoint.id, "--status", "disabled", "--business", world.business_id)
    again = await tg_json(*set_, "http://127.0.0.1:4000/hook")
    assert (again["webhookUrl"], "webhookSecret" in again) == ("http://127.0.0.1:4000/hook", False)
    [after] = await commands.list_all(world.db, world.business_id)
    assert (after.id, after.url, after.status) == (endpoint.id, "http://127.0.0.1:4000/hook", "enabled")
    code, said = await tg(*set_, "http://192.168.1.1/hook", "--name", "Other")
    assert (code, "must not lead into a private network" in said) == (1, True)
    assert (await tg_json("merchant", "set", world.business_id, "--rate-burst", "7"))["name"] == "Shop"
    code, said = await tg(*set_, "nowhere")
    assert (code, "--webhook-url must be an absolute http or https address" in said) == (1, True)


async def test_the_secret_of_the_webhook_url_is_shown_once_and_signs(world: World, receiver: Receiver, tg: Run) -> None:
    code, said = await tg("merchant", "set", world.business_id, "--webhook-url", receiver.url())
    assert (code, "cannot be shown again" in said) == (0, True)
    [secret] = [word for word in said.split() if word.startswith("whsec_")]
    catch_up(world)
    await world.event()
    await world.deliver()
    [got] = receiver.received
    assert explain(got.headers, got.body, [secret], now=wall()).is_well


async def test_a_command_makes_no_key_for_a_database_that_others_serve(tg: Run, tmp_path: Path) -> None:
    code, said = await tg("webhook", "add", "https://example.com/hook", TIDEGATE_ENCRYPTION_KEY="")
    assert (code, "TIDEGATE_ENCRYPTION_KEY must be set" in said) == (1, True)
    assert not (tmp_path / "encryption-key").exists()
    assert (await tg("events", "list", TIDEGATE_ENCRYPTION_KEY=""))[0] == 0


async def test_the_sandbox_s_own_time_counts(world: World, receiver: Receiver, tg_json: Any) -> None:
    made = await world.endpoint(receiver.url())
    await world.event()
    await world.deliver()
    delivery = await world.delivery()
    async with world.db.transaction() as tx:
        await commands.rotate(
            tx, world.webhook_deps.vault, world.business_id, made.endpoint.id, by=OPERATOR, now=world.clock.now()
        )
    show = ("events", "show", f"dlv_{delivery.id}")
    assert len((await tg_json(*show))["headers"]["webhook-signature"].split()) == 2
    async with world.db.connection() as tx:
        await sandbox_store.advance(tx, world.business_id, timedelta(hours=23), ahead_max=timedelta(days=20_000))
    # A day after the rotation only the new secret signs.
    assert len((await tg_json(*show))["headers"]["webhook-signature"].split()) == 1


@pytest.mark.parametrize("command", [["events"], ["events", "replay"], ["webhook"], ["listen"], ["verify-signature"]])
async def test_every_command_of_webhooks_helps(tg: Run, command: list[str]) -> None:
    code, said = await tg(*command, "--help")
    assert (code, "Usage:" in said) == (0, True)
