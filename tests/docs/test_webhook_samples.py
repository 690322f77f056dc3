"""The samples that verify webhooks by hand, with headers that no honest sender writes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import tidegate

GUIDE = Path(tidegate.__file__).parent / "docs" / "pages" / "guides" / "receive-webhooks.md"
KEY = b"k" * 32
SECRET = "whsec_" + base64.b64encode(KEY).decode()
PHP = """require 'is_authentic.php';
$headers = ['webhook-id' => $argv[1], 'webhook-timestamp' => $argv[2], 'webhook-signature' => $argv[3]];
exit(isAuthentic($headers, file_get_contents('body')) ? 0 : 1);"""
SHELLS = {
    "sh": ["sh", "-c", '. ./is_authentic.sh; is_authentic "$1" "$2" "$3" body', "sh"],
    "bash": ["bash", "-c", '. ./is_authentic.sh; is_authentic "$1" "$2" "$3" body', "bash"],
    "php": ["php", "-r", PHP, "--"],
}


def signed(at: str, key: bytes = KEY) -> str:
    return "v1," + base64.b64encode(hmac.digest(key, f"evt_1.{at}.".encode() + b"{}", hashlib.sha256)).decode()


@pytest.fixture(params=sorted(SHELLS))
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    for program in (request.param, *(() if request.param == "php" else ("openssl", "base64", "od"))):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    text = GUIDE.read_text()
    for name in ("is_authentic.sh", "is_authentic.php"):
        found = re.search(rf"^```\w+ file={name}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        assert found is not None
        (tmp_path / name).write_text(found[1])
    (tmp_path / "body").write_text("{}")
    return SHELLS[request.param]


def is_taken(sample: list[str], folder: Path, at: str, signature: str, secret: str | None = SECRET) -> bool:
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin"} | ({"WEBHOOK_SECRET": secret} if secret is not None else {})
    done = subprocess.run(
        [*sample, "evt_1", at, signature], cwd=folder, env=environment, capture_output=True, timeout=120, check=False
    )
    return done.returncode == 0


def test_an_honest_one_is_taken(sample: list[str], tmp_path: Path) -> None:
    now = str(int(time.time()))
    assert is_taken(sample, tmp_path, now, signed(now))
    assert not is_taken(sample, tmp_path, now, signed(now, b"x" * 32))


@pytest.mark.parametrize("at", ["x[$(touch ran)]", "$(touch ran)", "`touch ran`", "", "-1", "08", "1e9", "now"])
def test_a_time_is_digits_and_nothing_is_run(sample: list[str], tmp_path: Path, at: str) -> None:
    assert not is_taken(sample, tmp_path, at, signed(at))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_another_time_is_refused(sample: list[str], tmp_path: Path, seconds: int) -> None:
    at = str(int(time.time()) + seconds)
    assert not is_taken(sample, tmp_path, at, signed(at))


@pytest.mark.parametrize("secret", [None, ""])
def test_without_a_secret_nothing_is_taken(sample: list[str], tmp_path: Path, secret: str | None) -> None:
    now = str(int(time.time()))
    for signature in ("v1,", signed(now, b"")):
        assert not is_taken(sample, tmp_path, now, signature, secret)
