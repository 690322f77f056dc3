"""Programs for Node that use our client, as a project with it installed runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CLIENT = Path(__file__).parents[2] / "clients" / "typescript"
WITHIN_S = 120


def needs(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program} here: install Node 20 or newer to test the TypeScript client")


def project(folder: Path) -> Path:
    """With the client in node_modules."""
    modules = folder / "node_modules"
    modules.mkdir(parents=True)
    (modules / "tidegate-client").symlink_to(CLIENT)
    return folder


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in os.environ if name in ("PATH", "HOME") or name.startswith("npm_config")}
    return subprocess.run(
        command,
        cwd=folder,
        env={**kept, **variables},
        check=False,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
    )


def said(text: str, folder: Path, **variables: str) -> list[str]:
    """The lines that a program prints."""
    needs("node")
    (folder / "program.mjs").write_text(text)
    done = run(["node", "program.mjs"], folder, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
