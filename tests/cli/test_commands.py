"""The other commands, through the real command line."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import time
from typing import Any

import asyncpg
import pytest

from build import Shop
from process import START_TIMEOUT_S, api, free_port, run_apart, run_here, status_of, stop, tidegate
from tidegate.core.ids import Mode, is_secret_key
from tidegate.infra import telemetry


@pytest.fixture(autouse=True)
def logs_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that runs in this process must not take the logs of its other tests along."""
    monkeypatch.setattr(telemetry, "configure_logs", lambda **_: None)


@pytest.mark.parametrize("command", [[], ["dev"], ["serve"], ["worker"], ["migrate"], ["merchant"], ["doctor"]])
def test_every_command_helps(command: list[str]) -> None:
    code, said = run_here(*command, "--help")
    assert code == 0
    assert "Usage:" in said


def test_a_merchant_is_created_listed_changed_and_its_keys_rolled_and_revoked(database_url: str, db: Any) -> None:
    def tg(*arguments: str) -> Any:
        code, said = run_here(*arguments, "--json", DATABASE_URL=database_url)
        assert code == 0, said
        return json.loads(said)

    new = tg("merchant", "create", "Ada's Shop", "--email", "ada@example.com")
    assert is_secret_key(new["secretKey"], Mode.SANDBOX)
    business_id = new["businessId"]
    listed = next(b for b in tg("merchant", "list") if b["businessId"] == business_id)
    assert [key["kind"] for key in listed["keys"]] == ["secret", "public"]
    assert new["secretKey"] not in json.dumps(listed)

    rolled = tg("merchant", "keys", "roll", business_id, "--overlap-hours", "1")
    assert rolled["secretKey"] != new["secretKey"]
    code, said = run_here(
        "merchant", "keys", "revoke", business_id, str(listed["keys"][0]["id"]), DATABASE_URL=database_url
    )
    assert code == 0, said
    keys = next(b for b in tg("merchant", "list") if b["businessId"] == business_id)["keys"]
    assert keys[0]["revokedAt"] is not None
    assert keys[2]["expiresAt"] is None

    suspended = ("--status", "suspended", "--reason", "unpaid")
    changed = tg("merchant", "set", business_id, *suspended, "--redirect-host", "Shop.Example.com")
    assert (changed["status"], changed["redirectHosts"]) == ("suspended", ["shop.example.com"])


def test_a_table_for_people_says_the_same(database_url: str, shop: Shop) -> None:
    code, said = run_apart("merchant", "list", DATABASE_URL=database_url, COLUMNS="160")
    assert code == 0
    assert shop.business_id in said
    assert "valid" in said


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["merchant", "keys", "roll", "0" * 24], "there is no business"),
        (["merchant", "keys", "revoke", "0" * 24, "1"], "has no key"),
        (["merchant", "set", "0" * 24, "--name", "X"], "there is no business"),
        (["merchant", "set", "0" * 24], "Nothing to change"),
        (["merchant", "create", "   ", "--email", "a@example.com"], "NAME must not be empty"),
        (["merchant", "create", "Shop", "--email", "nobody"], "--email must be an e-mail address"),
        (["merchant", "fee", "0" * 24, "NGN", "card", "--percent", "abc"], "is not a percentage"),
    ],
)
def test_a_mistake_is_said_in_a_sentence(arguments: list[str], expected: str, database_url: str) -> None:
    code, said = run_here(*arguments, DATABASE_URL=database_url)
    assert code == 1
    assert expected in said
    assert "Traceback" not in said


# The tests' own server trades durability for speed, and the doctor notices.
NOT_DURABLE = {"fsync", "synchronous_commit", "full_page_writes"}


def test_the_doctor_finds_all_well(database_url: str, shop: Shop) -> None:
    code, said = run_apart("doctor", "--json", DATABASE_URL=database_url)
    findings = {finding["subject"]: finding for finding in json.loads(said)}
    ill = {name for name, finding in findings.items() if not finding["ok"]}
    assert ill <= NOT_DURABLE
    assert code == (1 if ill else 0)


async def test_the_doctor_names_what_is_wrong(database_url: str, shop: Shop, admin: Any) -> None:
    await shop.create()
    await admin.execute("UPDATE payment SET expected_minor = expected_minor + 1")
    await admin.execute("UPDATE credential SET revoked_at = now() WHERE kind = 'secret'")
    await admin.execute(
        "INSERT INTO card_pause (business_id, reason, paused_by, paused_at) VALUES ($1, 'x', 'x', now())",
        shop.business_id,
    )
    code, said = run_apart("doctor", "--json", DATABASE_URL=database_url)
    assert code == 1
    findings = {finding["subject"]: finding for finding in json.loads(said)}
    ill = {name for name, finding in findings.items() if not finding["ok"]}
    assert ill - NOT_DURABLE == {"expectations", "keys", "cards"}
    assert findings["cards"]["what"] == shop.business_id
    assert "merchant keys roll" in findings["keys"]["advice"]


def test_a_database_that_is_away_is_said_in_a_sentence() -> None:
    code, said = run_here("doctor", DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert code == 1
    assert "cannot be reached" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("command", [["doctor"], ["merchant", "list"], ["serve", "--port", "0"], ["worker"]])
def test_a_database_that_was_never_prepared_is_said_in_a_sentence(command: list[str], server_url: str) -> None:
    code, said = run_apart(*command, DATABASE_URL=server_url)
    assert code == 1
    assert "tidegate migrate" in said
    assert "Traceback" not in said


def test_an_address_that_is_no_database_is_said_in_a_sentence() -> None:
    code, said = run_here("migrate", DATABASE_URL="foo")
    assert (code, "DATABASE_URL must be" in said, "Traceback" in said) == (1, True, False)


def test_live_mode_refuses_what_is_not_safe() -> None:
    code, said = run_here("serve", TIDEGATE_MODE="live")
    assert code == 1
    assert "TIDEGATE_BASE_URL must begin with https://" in said
    assert "DATABASE_URL must be set" in said
    code, said = run_here(
        "serve",
        TIDEGATE_MODE="live",
        TIDEGATE_BASE_URL="https://api.example.com",
        DATABASE_URL="postgresql://tidegate:changeme@db/tidegate",
    )
    assert code == 1
    assert "example password" in said
    assert "changeme" not in said


def test_live_mode_without_a_rail_says_which_setting_is_missing() -> None:
    code, said = run_here(
        "serve",
        TIDEGATE_MODE="live",
        TIDEGATE_BASE_URL="https://api.example.com",
        DATABASE_URL="postgresql://u:long-and-real@db/tidegate",
    )
    assert code == 1
    assert "TIDEGATE_RAILS" in said


def test_a_price_of_a_business_s_own_is_set(database_url: str, shop: Shop) -> None:
    arguments = ("merchant", "fee", shop.business_id, "NGN", "card", "--percent", "1.25", "--json")
    code, said = run_here(*arguments, DATABASE_URL=database_url)
    assert code == 0, said
    assert json.loads(said)["feeRule"].startswith("own-")
    code, said = run_here(
        "merchant", "fee", shop.business_id, "KES", "card", "--percent", "1", DATABASE_URL=database_url
    )
    assert (code, "not offered" in said) == (1, True)


async def test_what_is_not_said_of_a_price_stays(database_url: str, shop: Shop, admin: Any) -> None:
    price = ("merchant", "fee", shop.business_id, "NGN", "card", "--percent")
    for given in (("1.5", "--vat-percent", "5", "--on-refund", "returned"), ("1.25",)):
        code, said = await asyncio.to_thread(run_here, *price, *given, DATABASE_URL=database_url)
        assert code == 0, said
    now = await admin.fetchrow("SELECT * FROM fee_rule WHERE business_id = $1 AND ended_at IS NULL", shop.business_id)
    assert (now["basis_points"], now["vat_basis_points"], now["on_refund"]) == (125, 500, "returned")


def test_the_books_are_examined_on_demand(database_url: str, shop: Shop) -> None:
    _, said = run_here("doctor", "--books", "--json", DATABASE_URL=database_url)
    findings = json.loads(said)["findings"]
    ill = {finding["subject"] for finding in findings if not finding["ok"]}
    assert ill <= NOT_DURABLE
    assert {"settlements", "events", "amounts", "receipts", "bookings", "suspense"} <= {f["subject"] for f in findings}


async def test_serve_and_worker_refuse_a_database_of_another_mode(make_database: Any, database_url: str) -> None:
    url = await make_database("tidegate_test_mode")
    connection = await asyncpg.connect(url)
    await connection.execute("UPDATE deployment SET mode = 'live'")
    await connection.close()
    for command in ("serve", "worker"):
        code, said = run_apart(command, DATABASE_URL=url, PORT="0")
        assert code == 1
        assert "belongs to live mode" in said
        assert "Traceback" not in said


def test_migrate_again_says_it_is_up_to_date(database_url: str) -> None:
    code, said = run_apart("migrate", DATABASE_URL=database_url)
    assert (code, said.strip()) == (0, "The database is up to date.")


def test_several_processes_stop_well(database_url: str) -> None:
    with api(database_url, workers=2, TIDEGATE_DRAIN_S="5") as (base_url, process):
        for _ in range(20):
            assert status_of(f"{base_url}/healthz") == 200
        assert_stops_gently(base_url, process)


def test_a_stop_turns_readiness_off_first_and_ends_well(database_url: str) -> None:
    with api(database_url, TIDEGATE_DRAIN_S="5") as (base_url, process):
        assert_stops_gently(base_url, process)


def assert_stops_gently(base_url: str, process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    ends_at = time.monotonic() + START_TIMEOUT_S
    while status_of(f"{base_url}/readyz") != 503:
        assert process.poll() is None, "it ended without saying that it is not ready any more"
        assert time.monotonic() < ends_at, "it was told to stop and goes on"
        time.sleep(0.02)
    assert stop(process) == 0


def test_a_worker_stops_on_a_signal(database_url: str) -> None:
    port = free_port()
    process = tidegate("worker", DATABASE_URL=database_url, TIDEGATE_METRICS_PORT=str(port))
    ends_at = time.monotonic() + START_TIMEOUT_S
    while status_of(f"http://127.0.0.1:{port}/metrics") is None and time.monotonic() < ends_at:
        assert process.poll() is None
        time.sleep(0.05)
    assert stop(process) == 0


def test_a_port_for_the_numbers_that_is_taken_is_said_in_a_sentence(database_url: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, said = run_apart("worker", DATABASE_URL=database_url, TIDEGATE_METRICS_PORT=port)
    assert (code, "TIDEGATE_METRICS_PORT" in said, "Traceback" in said) == (1, True, False)
