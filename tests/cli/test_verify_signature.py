"""`tidegate verify-signature`, as a developer uses it whose check says no."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tidegate.cli import main
from tidegate.core.clock import SystemClock
from tidegate.webhook import sign

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
BODY = '{"event":"charge.successful","data":{"name":"Ada Óbí","amount":100.5}}'.encode()

Verify = Callable[..., tuple[int, str]]


@pytest.fixture
def verify(tmp_path: Path) -> Verify:
    def run(*arguments: str, body: bytes = BODY, **environment: str | None) -> tuple[int, str]:
        variables = {"TIDEGATE_HOME": str(tmp_path), "WEBHOOK_SECRET": None, **environment}
        done = CliRunner().invoke(main, ["verify-signature", *arguments], input=body, env=variables)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output

    return run


def options(*, ago_s: int = 0, secret: str | None = SECRET) -> list[str]:
    timestamp_s = int(SystemClock().now().timestamp()) - ago_s
    headers = sign.headers("evt_1", BODY, [SECRET], timestamp_s=timestamp_s)
    given = [word for name, value in headers.items() for word in ("--header", f"{name}: {value}")]
    return [*given, "--secret", secret] if secret else given


def test_a_good_one_is_said_to_be_good(verify: Verify) -> None:
    code, said = verify(*options())
    assert code == 0, said
    assert [line.split()[:2] for line in said.splitlines()] == [
        ["✓", "webhook-timestamp"],
        ["✓", "webhook-signature"],
        ["✓", "signature"],
    ]


def test_the_body_may_be_a_file(verify: Verify, tmp_path: Path) -> None:
    file = tmp_path / "body.json"
    file.write_bytes(BODY)
    assert verify(*options(), "--body", str(file), body=b"something else")[0] == 0


def test_a_body_that_was_written_again_is_shown_byte_by_byte(verify: Verify) -> None:
    code, said = verify(*options(), body=json.dumps(json.loads(BODY)).encode())
    assert code == 1
    assert "✗ body              is not as it was sent: it was parsed and written again" in said
    assert "The first difference is at byte 9:" in said
    sent, given = (line.split(maxsplit=2)[2] for line in said.splitlines()[-2:])
    assert sent.startswith(" ".join(f"{byte:02x}" for byte in BODY[:25]))
    assert sent.endswith('{"event":"charge.successf')
    assert given.endswith('{"event": "charge.success')


def test_what_stands_behind_the_end_is_seen(verify: Verify) -> None:
    code, said = verify(*options(), body=BODY + b"\n")
    assert code == 1
    assert "a line break was added at its end" in said
    assert f"at byte {len(BODY)}:" in said
    assert "··" in said


def test_an_old_signature_is_reported_with_its_age(verify: Verify) -> None:
    code, said = verify(*options(ago_s=7_200))
    assert code == 1
    assert "s old, and 300 s are allowed" in said
    assert "✓ webhook-signature" in said


def test_a_script_reads_json(verify: Verify) -> None:
    code, said = verify(*options(), "--json", body=BODY + b"\n")
    shown: dict[str, Any] = json.loads(said)
    assert (code, shown["ok"]) == (1, False)
    assert shown["difference"]["offset"] == len(BODY)
    assert {check["subject"]: check["ok"] for check in shown["checks"]} == {
        "webhook-timestamp": True,
        "webhook-signature": False,
        "signature": False,
        "body": False,
    }
    assert json.loads(verify(*options(), "--json")[1])["difference"] is None


def test_the_secret_may_come_from_the_environment_or_from_the_sandbox(verify: Verify, tmp_path: Path) -> None:
    unsaid = options(secret=None)
    code, said = verify(*unsaid)
    assert (code, "✗ secret            is missing" in said) == (1, True)
    assert verify(*unsaid, WEBHOOK_SECRET=SECRET)[0] == 0
    (tmp_path / "sandbox.json").write_text(json.dumps({"webhookSecret": SECRET}))
    assert verify(*unsaid)[0] == 0


def test_no_secret_is_ever_printed(verify: Verify) -> None:
    for given in (SECRET, f" {SECRET}", SECRET[:-1], SECRET.removeprefix("whsec_")):
        _, said = verify(*options(secret=given))
        assert SECRET.removeprefix("whsec_").rstrip("=") not in said


@pytest.mark.parametrize("header", ["webhook-id", ": evt_1", ""])
def test_a_header_without_its_colon_is_said_in_a_sentence(verify: Verify, header: str) -> None:
    code, said = verify("--secret", SECRET, "--header", header)
    assert code == 1
    assert "must be a name, a colon and a value" in said


def test_a_request_cannot_speak_to_the_terminal(verify: Verify) -> None:
    code, said = verify("--secret", SECRET, "--header", "webhook-timestamp: \x1b[2J", "--header", "webhook-id: [red]x")
    assert code == 1
    assert "\x1b" not in said
