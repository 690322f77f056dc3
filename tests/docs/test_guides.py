"""Every sample of every guide, in every language, runs against a sandbox as a reader would run it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from process import free_port, stop, tidegate, wait_until_ready
from tidegate.docs.markdown import front_matter

CLIENTS = Path(__file__).parents[2] / "clients"
PAGES = Path(__file__).parents[2] / "src" / "tidegate" / "docs" / "pages"
WITHIN_S = 120
_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = {"sh": ["bash", "-eo", "pipefail"], "python": [sys.executable], "js": ["node"]}
ENDINGS = {"sh": "sh", "python": "py", "js": "mjs"}


@dataclass(frozen=True)
class Guide:
    name: str
    language: str
    blocks: tuple[str, ...]
    # Programs that wait for requests, each in a terminal of its own.
    servers: tuple[str, ...]
    # Commands for a shell, before the program.
    installs: tuple[str, ...]
    prints: str


def guides() -> Iterator[Guide]:
    for path in sorted(PAGES.rglob("*.md")):
        if path.is_symlink():
            continue
        facts, text = front_matter(path.read_text())
        found = _FENCE.findall(text)
        for language in COMMANDS:
            blocks = [(info.split(), body) for name, info, body in found if name == language]
            if blocks:
                yield Guide(
                    str(path.relative_to(PAGES)).removesuffix(".md"),
                    language,
                    tuple(body for info, body in blocks if not {"serve", "install"} & {*info}),
                    tuple(body for info, body in blocks if "serve" in info),
                    tuple(body for info, body in blocks if "install" in info),
                    facts["prints"],
                )


ALL = list(guides())


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    home = tmp_path_factory.mktemp("sandbox")
    port = free_port()
    process = tidegate("dev", TIDEGATE_HOME=str(home), PORT=str(port))
    try:
        wait_until_ready(f"http://localhost:{port}", process)
        yield json.loads((home / "sandbox.json").read_text())
    finally:
        stop(process)


def environment(sandbox: dict[str, Any]) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {
        **kept,
        "TIDEGATE_URL": sandbox["baseUrl"],
        "TIDEGATE_SECRET_KEY": sandbox["secretKey"],
        "TIDEGATE_PUBLIC_KEY": sandbox["publicKey"],
        "TIDEGATE_BUSINESS_ID": sandbox["businessId"],
        "WEBHOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=",
    }


def project(language: str, folder: Path) -> dict[str, str]:
    """A reader's folder, with our client installed before; what a guide installs itself replaces it."""
    if language == "js" and shutil.which("npm"):
        (folder / "package.json").write_text("{}")
        (folder / "node_modules").mkdir()
        (folder / "node_modules" / "tidegate-client").symlink_to(CLIENTS / "typescript")
    if language != "python":
        return {}
    # `pip` of the reader's own environment: without what is installed for these tests.
    (folder / "bin").mkdir()
    pip = folder / "bin" / "pip"
    pip.write_text(f'#!/bin/sh\n{sys.executable} -m pip "$@" --no-deps -q --target {folder}/installed\n')
    pip.chmod(0o755)
    path = f"{folder}/installed:{CLIENTS / 'python' / 'src'}"
    return {"PATH": f"{folder}/bin:{os.environ['PATH']}", "PYTHONPATH": path}


def as_a_reader_types_it(text: str, guide: Guide, port: int, variables: dict[str, str]) -> str:
    """With an order and a port of its own, and with the keys that the page shows in a sandbox."""
    for name in ("TIDEGATE_SECRET_KEY", "TIDEGATE_PUBLIC_KEY", "TIDEGATE_BUSINESS_ID"):
        text = text.replace(f"your-{name.lower().replace('_', '-')}", variables[name])
    text = text.replace("{{ base_url }}", variables["TIDEGATE_URL"]).replace("3000", str(port))
    return text.replace("ORDER-1001", f"{guide.name.rpartition('/')[2]}-{guide.language}")


@pytest.mark.parametrize("guide", ALL, ids=lambda guide: f"{guide.name}-{guide.language}")
def test_the_samples_of_a_guide_run(guide: Guide, sandbox: dict[str, Any], tmp_path: Path) -> None:
    command = COMMANDS[guide.language]
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]} here")
    variables, port = environment(sandbox) | project(guide.language, tmp_path), free_port()
    for text in guide.installs:
        command_line = as_a_reader_types_it(text, guide, port, variables)
        subprocess.run(["bash", "-ec", command_line], cwd=tmp_path, env=variables, check=True, timeout=WITHIN_S)
    with ExitStack() as servers:
        said = tmp_path / "said"
        for number, text in enumerate(guide.servers):
            file = tmp_path / f"server{number}.{ENDINGS[guide.language]}"
            file.write_text(as_a_reader_types_it(text, guide, port, variables))
            servers.enter_context(running([*command, str(file)], variables, said))
        script = tmp_path / f"script.{ENDINGS[guide.language]}"
        script.write_text(as_a_reader_types_it("\n".join(guide.blocks), guide, port, variables))
        done = subprocess.run(
            [*command, str(script)], env=variables, capture_output=True, text=True, timeout=WITHIN_S, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        wanted = guide.prints.replace("ORDER-1001", f"{guide.name.rpartition('/')[2]}-{guide.language}")
        if guide.servers:
            wait_for(said, wanted)
        else:
            assert wanted in done.stdout


@contextmanager
def running(command: list[str], variables: dict[str, str], said: Path) -> Iterator[None]:
    """A program until the end of the block, what it prints in a file."""
    with said.open("wb") as file:
        process = subprocess.Popen(command, env=variables, stdout=file, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            process.terminate()
            process.wait(WITHIN_S)


def wait_for(said: Path, wanted: str) -> None:
    ends_at = time.monotonic() + WITHIN_S
    while wanted not in said.read_text():
        assert time.monotonic() < ends_at, said.read_text()
        time.sleep(0.1)


def test_every_guide_with_a_sample_has_it_in_every_language() -> None:
    """Except those that are about the shell, or about walking a list."""
    by_guide: dict[str, set[str]] = {}
    for guide in ALL:
        by_guide.setdefault(guide.name, set()).add(guide.language)
    assert {name: found for name, found in by_guide.items() if found != {*COMMANDS}} == {
        "guides/the-name-rule": {"sh"},
        "guides/lists-and-cursors": {"python", "js"},
        "libraries/python": {"python"},
        "libraries/typescript": {"js"},
    }
