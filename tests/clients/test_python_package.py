"""The Python client as its users get it: a wheel, installed bare, and its README."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from flit_core import wheel as flit

from build import Shop
from tidegate.docs import client_package
from tidegate.webhook import sign

CLIENT = Path(__file__).parents[2] / "clients" / "python"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SANDBOX_URL = "http://localhost:8080"
BODY = b'{"event": "charge.later", "data": {}}'


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As a server hands it out."""
    path = tmp_path_factory.mktemp("wheel") / client_package.wheel_name(CLIENT)
    path.write_bytes(client_package.wheel(CLIENT))
    return path


def run(*arguments: str, **variables: str) -> str:
    return said_by([sys.executable, *arguments], **variables)


def shell(script: str, **variables: str) -> str:
    """As in an environment that is active."""
    return said_by(["sh", "-euc", script], PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}", **variables)


def said_by(command: list[str], **variables: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", ""), **variables}
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_is_as_its_public_builder_makes_it(wheel: Path, tmp_path: Path) -> None:
    theirs = flit.make_wheel_in(CLIENT / "pyproject.toml", tmp_path).file
    assert theirs.name == wheel.name
    ours, made = contents(wheel), contents(theirs)
    assert ours.keys() == made.keys()
    # But for the builder's name, and what is signed with it.
    assert [name for name in ours if ours[name] != made[name] and not name.endswith(("/WHEEL", "/RECORD"))] == []


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_has_types_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "tidegate_client/py.typed" in names
    assert all(name.startswith(("tidegate_client/", "tidegate_client-")) for name in names)
    metadata = next(name for name in names if name.endswith("METADATA"))
    asked = re.findall(r"^Requires-Dist: (\w+)", zipfile.ZipFile(wheel).read(metadata).decode(), re.MULTILINE)
    assert sorted(asked) == ["httpx2", "msgspec"]


async def test_the_readme_runs_with_the_wheel_that_it_installs(shop: Shop, base_url: str, tmp_path: Path) -> None:
    lib = str(tmp_path / "lib")
    readme = (CLIENT / "README.md").read_text()
    [install] = _SHELL.findall(readme)
    assert SANDBOX_URL in install
    # What the client needs is here already, so that no package index is asked.
    settings = {"PIP_TARGET": lib, "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1", "PIP_QUIET": "1"}
    await asyncio.to_thread(shell, install.replace(SANDBOX_URL, base_url), **settings)
    secret = sign.new_secret()
    headers = sign.headers("evt_1", BODY, [secret], timestamp_s=int(time.time()))
    blocks = _BLOCK.findall(readme)
    assert len(blocks) >= 4
    program = "\n".join(blocks) + f"\nprint(receive({BODY!r}, {headers!r}), receive(b'x', {headers!r}))\n"
    (tmp_path / "readme.py").write_text(program)
    said = await asyncio.to_thread(
        run,
        str(tmp_path / "readme.py"),
        PYTHONPATH=lib,
        TIDEGATE_URL=base_url,
        TIDEGATE_SECRET_KEY=shop.secret_key,
        TIDEGATE_PUBLIC_KEY=shop.public_key,
        WEBHOOK_SECRET=secret,
    )
    # The payment's link, its status, and what was answered to an event and to a forged one.
    assert f"{base_url}/pay/" in said
    assert said.split()[-4:] == ["initiated", "wrong_signature", "204", "401"]


MISTAKES = {
    'client.payments.create(amount=1, currency="NGN")': "customer",
    'client.payments.create(amount=0.1, currency="NGN", customer=ADA)': "float",
    'client.payments.verify("a").amonut': "amonut",
    'assert event.event != "refund.successful"; event.data.refund': "refund",
}
MISTAKEN_HEAD = (
    "from tidegate_client import Tidegate, webhooks",
    'client, event = Tidegate(), webhooks.verify(b"", {}, "")',
    'ADA = {"name": "Ada", "email": "a@example.com"}',
)

# What frameworks give as headers.
HANDLERS = """
from http.server import BaseHTTPRequestHandler
from typing import Mapping

from tidegate_client import webhooks


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        print(webhooks.verify(body, self.headers, "").id)


def receive(body: bytes, headers: Mapping[str, str]) -> str:
    return webhooks.verify(body, headers, "").id
"""


def test_the_readme_fits_the_types_and_mistakes_do_not(wheel: Path, tmp_path: Path) -> None:
    """With a public checker, at its strictest, on the wheel as it is installed."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "lib")
    (tmp_path / "readme.py").write_text("\n".join(_BLOCK.findall((CLIENT / "README.md").read_text())))
    (tmp_path / "handlers.py").write_text(HANDLERS)
    (tmp_path / "mistakes.py").write_text("\n".join([*MISTAKEN_HEAD, *MISTAKES]))
    checker = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-color-output"]
    done = subprocess.run(
        [*checker, "readme.py", "handlers.py", "mistakes.py"],
        cwd=tmp_path, check=False, capture_output=True, text=True, timeout=300,
        env={**os.environ, "MYPYPATH": "lib"},
    )  # fmt: skip
    said = done.stdout.splitlines()
    assert [line for line in said if not line.startswith(("mistakes.py:", "Found "))] == [], done.stderr
    first = len(MISTAKEN_HEAD) + 1
    missed = [
        wrong
        for number, (wrong, names) in enumerate(MISTAKES.items(), start=first)
        if not any(line.startswith(f"mistakes.py:{number}:") and names in line for line in said)
    ]
    assert missed == [], said


FIRST_USES = """
import sys, threading
import httpx2
from tidegate_client import TidegateError, Tidegate
sys.setswitchinterval(1e-6)
BODY = b'{"status": true, "message": "", "data": {}}'
answers = httpx2.MockTransport(lambda _: httpx2.Response(200, content=BODY))
client = Tidegate("sk_test_x", "pk_test_x", "b", base_url="http://x", http_client=httpx2.Client(transport=answers))
together = threading.Barrier(8)
def use():
    together.wait()
    try:
        client.payments.verify("x")
    except TidegateError as error:
        print(type(error).__name__)
threads = [threading.Thread(target=use) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_threads_may_use_it_for_the_first_time_at_once() -> None:
    """What reads an answer is prepared at its first use, which crashed when several threads did so together."""
    for _ in range(6):
        said = run("-c", FIRST_USES, PYTHONPATH=str(CLIENT / "src"))
        assert len(said.split()) == 8
