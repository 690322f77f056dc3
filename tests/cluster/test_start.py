"""What `make cluster` says where a server does not start, and `tidegate doctor` where a node is down."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.operating import Operator
from tidegate.cli import doctor
from tidegate.core.finding import Finding
from tidegate.infra.db import Database

SAID = 'could not load library "/lib/citus.so": /lib/citus.so: undefined symbol: heap_datum_check'
SCRIPTS = {
    "pg_config": 'echo "$(dirname "$0")"',
    "initdb": 'mkdir "$2"',
    "postgres": f"""
        if [ "$1" = --version ]; then echo 'postgres (PostgreSQL) 15.18'; exit; fi
        echo '2026-11-19 20:40:19 UTC [1] LOG:  starting'
        echo '2026-11-19 20:40:19 UTC [1] FATAL:  {SAID}'
        echo '2026-11-19 20:40:19 UTC [1] LOG:  database system is shut down'
        exit 1
    """,
    "pg_isready": "exit 2",
}


@pytest.fixture
def misfit() -> Iterator[Path]:
    """A PostgreSQL whose Citus was built for another one; the account of the servers may enter it."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o755)
        (folder / "extension").mkdir()
        (folder / "extension" / "citus.control").touch()
        for name, script in SCRIPTS.items():
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (folder / name).chmod(0o755)
        yield folder


def test_a_citus_that_does_not_fit_its_postgresql_is_one_clear_line(misfit: Path) -> None:
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-m", "local_cluster.nodes", f"{home}/cluster"], check=False, capture_output=True,
            text=True, timeout=60, cwd=Path(__file__).parents[2],
            env={**os.environ, "TIDEGATE_CITUS_BIN": str(misfit)},
        )  # fmt: skip
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first == SAID
    assert second.startswith("This build of Citus does not fit PostgreSQL 15.18: ")


async def test_the_doctor_says_that_the_books_could_not_be_read(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(_: Database) -> list[Finding]:
        return [Finding("cluster nodes", False, "node2:5432", "start it")]

    monkeypatch.setattr(doctor, "_unreachable_nodes", down)
    operator = Operator(database_url, tmp_path)
    code, said = await operator.run("doctor", "--books")
    assert (code, "node2:5432" in said, "Nothing is booked" in said) == (1, True, False)
    assert "The books could not be read" in said
    code, said = await operator.run("doctor", "--books", "--json")
    assert (code, '"trialBalance": null' in said) == (1, True)
