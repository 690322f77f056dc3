"""README.md as a newcomer reads it: every block is pasted, whole and in order, and prints what README says."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from process import free_port, stop, tidegate, wait_until_ready

ROOT = Path(__file__).parents[2]
WITHIN_S = 180.0
_BLOCK = re.compile(r"^```sh\n(.*?)^```\n(.*?)(?=^```|^#|\Z)", re.MULTILINE | re.DOTALL)
# What the text below a block says is printed: code that begins like a member of JSON.
_PRINTED = re.compile(r'`("[^`]+)`')


@dataclass(frozen=True)
class Block:
    text: str
    printed: tuple[str, ...]


def blocks() -> list[Block]:
    found = _BLOCK.findall((ROOT / "README.md").read_text())
    return [Block(text, tuple(_PRINTED.findall(below.split("\n\n|")[0]))) for text, below in found]


class Terminal:
    """A bash of its own. Whatever command fails in a block fails the block."""

    def __init__(self, folder: Path) -> None:
        self._output = folder / f"terminal-{time.monotonic_ns()}"
        self._file = self._output.open("wb")
        names = ("PATH", "HOME", "LANG", "TIDEGATE_POSTGRES_BIN")
        self.process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env={name: os.environ[name] for name in names if name in os.environ},
            stdin=subprocess.PIPE,
            stdout=self._file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._send("trap 'FAILED=yes' ERR; set -o pipefail")

    def _send(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n".encode())
        self.process.stdin.flush()

    def output(self) -> str:
        return self._output.read_text()

    def until(self, words: str, *, after: int = 0) -> str:
        ends_at = time.monotonic() + WITHIN_S
        while words not in self.output()[after:]:
            assert time.monotonic() < ends_at, self.output()
            time.sleep(0.05)
        return self.output()[after:]

    def paste(self, block: str) -> str:
        before = len(self.output())
        self._send(f"FAILED=no\n{block}\nprintf '\\n<end of block: %s>\\n' $FAILED")
        said = self.until("<end of block: ", after=before)
        said = self.until(">\n", after=before + said.index("<end of block: "))
        assert said.startswith("<end of block: no>"), self.output()[before:]
        return self.output()[before:].partition("<end of block: ")[0]

    def paste_and_leave(self, block: str) -> None:
        self._send(block)

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(WITHIN_S)
        assert self.process.stdin is not None
        self.process.stdin.close()
        self._file.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As a clone looks after `make run`: .venv/bin is there, and the files that README names."""
    commands = tmp_path / ".venv" / "bin"
    commands.mkdir(parents=True)
    for name, command in (("tidegate", f"{sys.executable} -m tidegate"), ("python", sys.executable)):
        (commands / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (commands / name).chmod(0o755)
    for name in ("examples", "Makefile"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@pytest.fixture
def terminals(folder: Path) -> Iterator[Callable[[], Terminal]]:
    opened: list[Terminal] = []

    def open_one() -> Terminal:
        opened.append(Terminal(folder))
        return opened[-1]

    yield open_one
    for terminal in reversed(opened):
        terminal.close()


# Blocks that run until Ctrl-C, each in a terminal of its own as README says, and how one sees that they have begun.
RUN_ON = {
    "make run": "Ctrl-C stops it",
    "examples/receiver.py": "listening on",
    "tidegate listen": "A test event has arrived",
}


def test_every_block_of_the_readme_works_when_pasted(folder: Path, terminals: Callable[[], Terminal]) -> None:
    port, receiver_port = free_port(), free_port()
    terminal, others = terminals(), dict[str, Terminal]()
    for block in blocks():
        assert "#" not in block.text, "zsh takes a comment in what is pasted for a command"
        runs_on = next((name for name in RUN_ON if name in block.text), None)
        if runs_on is None:
            said = terminal.paste(block.text)
            assert '"success":false' not in said, said
            for printed in block.printed:
                assert printed in said, said
            continue
        others[runs_on] = terminals()
        # The ports of this machine are not ours; and `make run` first installs what is installed here.
        text = block.text.replace("3000", str(receiver_port))
        text = text.replace("make run", f"PORT={port} .venv/bin/tidegate dev")
        others[runs_on].paste_and_leave(text)
        others[runs_on].until(RUN_ON[runs_on])
    assert set(others) == set(RUN_ON)
    event = others["tidegate listen"].until("charge.successful")
    assert "✓ webhook-signature  ✓ signature  → 204" in event
    assert "handled" in others["examples/receiver.py"].until("charge.successful")
    again = terminal.paste(blocks()[1].text)
    assert "DUPLICATE_REFERENCE" in again
    assert f'"link":"http://localhost:{port}/pay/' in again


def test_make_run_starts_the_sandbox_on_the_port_that_is_asked_for(folder: Path) -> None:
    """What `make` would do, without doing it: it would install first."""
    for stamp in (".run", ".dev"):
        (folder / ".venv" / stamp).touch()
    (folder / "requirements").symlink_to(ROOT / "requirements")
    (folder / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    done = subprocess.run(["make", "-n", "run", "PORT=9000"], cwd=folder, capture_output=True, text=True, check=True)
    assert "PORT=9000 .venv/bin/tidegate dev" in done.stdout


def test_the_real_port_is_shown_everywhere(folder: Path) -> None:
    """Port 0 is whichever the system gives."""
    home = str(folder / ".tidegate")
    sandbox = tidegate("dev", "--port", "0", TIDEGATE_HOME=home)
    try:
        assert sandbox.stdout is not None
        printed = ""
        for line in sandbox.stdout:
            printed += line
            if "Ctrl-C" in line:
                break
        found = re.search(r"http://localhost:(\d+)/checkout/payments ", printed)
        assert found, printed
        base_url = f"http://localhost:{found[1]}"
        wait_until_ready(base_url, sandbox)
        env, _ = tidegate("env", TIDEGATE_HOME=home).communicate(timeout=WITHIN_S)
        assert f"export TIDEGATE_URL={base_url}\n" in env
        examined, _ = tidegate("doctor", TIDEGATE_HOME=home).communicate(timeout=WITHIN_S)
        assert f"sandbox mode at {base_url}\n" in examined
        assert ":8080" not in printed + env + examined
    finally:
        stop(sandbox)


def test_without_a_sandbox_env_says_what_to_do(tmp_path: Path) -> None:
    process = tidegate("env", TIDEGATE_HOME=str(tmp_path / "none"))
    said, _ = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 1
    assert "make run" in " ".join(said.split())
