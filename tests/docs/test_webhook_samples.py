"""The samples that verify webhooks by hand, with headers that no honest sender writes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tidegate

GUIDE = Path(tidegate.__file__).parent / "docs" / "pages" / "guides" / "receive-webhooks.md"
KEY = b"k" * 32
SECRET = "whsec_" + base64.b64encode(KEY).decode()
# An uncaught error of Python, Node or PHP ends with another status.
TAKEN, REFUSED = 0, 3
# Each gets id, time and signature; an empty one is a header that is missing.
SHELL = f'. ./is_authentic.sh; is_authentic "$1" "$2" "$3" body || exit {REFUSED}'
PYTHON = f"""import sys
exec(open("is_authentic.py").read())
names = ("webhook-id", "webhook-timestamp", "webhook-signature")
headers = {{name: value for name, value in zip(names, sys.argv[1:]) if value}}
sys.exit({TAKEN} if is_authentic(headers, open("body", "rb").read()) else {REFUSED})"""
JS = f"""
import {{ readFileSync }} from "node:fs";
const names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
const given = names.map((name, index) => [name, process.argv[index + 2]]).filter(([, value]) => value);
process.exit(isAuthentic(Object.fromEntries(given), readFileSync("body")) ? {TAKEN} : {REFUSED});"""
PHP = f"""require 'is_authentic.php';
$headers = ['webhook-id' => $argv[1], 'webhook-timestamp' => $argv[2], 'webhook-signature' => $argv[3]];
exit(isAuthentic(array_filter($headers, strlen(...)), file_get_contents('body')) ? {TAKEN} : {REFUSED});"""
COMMANDS = {
    "sh": ["sh", "-c", SHELL, "sh"],
    "bash": ["bash", "-c", SHELL, "bash"],
    "python": [sys.executable, "-c", PYTHON],
    "js": ["node", "is_authentic.mjs"],
    "php": ["php", "-r", PHP, "--"],
}
FUNCTION = re.compile("(def |function |^)(is_authentic|isAuthentic)[(]", re.MULTILINE)
ENDINGS = {"sh": "sh", "python": "py", "js": "mjs", "php": "php"}


def signed(at: str, key: bytes = KEY) -> str:
    return "v1," + base64.b64encode(hmac.digest(key, f"evt_1.{at}.".encode() + b"{}", hashlib.sha256)).decode()


@pytest.fixture(params=sorted(COMMANDS))
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    command = COMMANDS[request.param]
    for program in (command[0], *(("openssl", "base64", "od") if request.param in ("sh", "bash") else ())):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    blocks = re.findall(r"^```(\w+)[^\n]*\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    for language, ending in ENDINGS.items():
        [text] = [text for name, text in blocks if name == language and FUNCTION.search(text)]
        (tmp_path / f"is_authentic.{ending}").write_text(text + JS if language == "js" else text)
    (tmp_path / "body").write_text("{}")
    return command


def outcome(
    sample: list[str], folder: Path, at: str, signature: str, secret: str | None = SECRET, *, event_id: str = "evt_1"
) -> int:
    environment = {"PATH": os.environ["PATH"]} | ({"WEBHOOK_SECRET": secret} if secret is not None else {})
    done = subprocess.run(
        [*sample, event_id, at, signature], cwd=folder, env=environment, capture_output=True, timeout=120, check=False
    )
    return done.returncode


def test_an_honest_one_is_taken(sample: list[str], tmp_path: Path) -> None:
    now = str(int(time.time()))
    assert outcome(sample, tmp_path, now, signed(now)) == TAKEN
    assert outcome(sample, tmp_path, now, f"v1,other {signed(now)}") == TAKEN
    assert outcome(sample, tmp_path, now, signed(now, b"x" * 32)) == REFUSED


@pytest.mark.parametrize(
    "at", ["x[$(touch ran)]", "$(touch ran)", "`touch ran`", "", "-1", "08", "1e9", "now", "9" * 5000]
)
def test_a_time_is_digits_and_nothing_is_run(sample: list[str], tmp_path: Path, at: str) -> None:
    assert outcome(sample, tmp_path, at, signed(at)) == REFUSED
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_another_time_is_refused(sample: list[str], tmp_path: Path, seconds: int) -> None:
    at = str(int(time.time()) + seconds)
    assert outcome(sample, tmp_path, at, signed(at)) == REFUSED


def test_a_missing_or_foreign_header_is_refused(sample: list[str], tmp_path: Path) -> None:
    now = str(int(time.time()))
    assert outcome(sample, tmp_path, "", signed("")) == REFUSED
    assert outcome(sample, tmp_path, now, signed(now), event_id="") == REFUSED
    for signature in ("", "v1,", "v1,\u00e9", signed(now).removeprefix("v1,")):
        assert outcome(sample, tmp_path, now, signature) == REFUSED


@pytest.mark.parametrize("secret", [None, "", "whsec_"])
def test_without_a_secret_nothing_is_taken(sample: list[str], tmp_path: Path, secret: str | None) -> None:
    now = str(int(time.time()))
    for signature in ("v1,", signed(now, b"")):
        assert outcome(sample, tmp_path, now, signature, secret) != TAKEN
