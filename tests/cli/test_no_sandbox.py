"""A command in a folder without a sandbox says so, and makes nothing there."""

from __future__ import annotations

from pathlib import Path

import pytest

from process import run_apart, run_here

ID = "0" * 24
COMMANDS = [
    ["doctor"],
    ["serve", "--port", "0"],
    ["worker"],
    ["merchant", "list"],
    ["merchant", "create", "Ada", "--email", "ada@example.com"],
    ["account", "list"],
    ["inflow", "list"],
    ["rate", "list"],
    ["refund", "list", ID],
    ["payment", "list", ID],
    ["link", "list", ID],
    ["sandbox", "trade", ID],
    ["wallet", "list", ID],
    ["statement", ID, "NGN"],
    ["events", "list", "--business", ID],
    ["webhook", "list", "--business", ID],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_in_a_folder_without_a_sandbox_makes_none(command: list[str], tmp_path: Path) -> None:
    # These two change what signals do in their process.
    run = run_apart if command[0] in ("serve", "worker") else run_here
    code, said = run(*command, TIDEGATE_HOME=str(tmp_path / "home"))
    assert code == 1, said
    words = " ".join(said.split())
    assert "There is no sandbox here" in words
    for way_out in ("make run", "TIDEGATE_HOME", "DATABASE_URL"):
        assert way_out in words
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_migrate_makes_one(tmp_path: Path) -> None:
    code, said = run_apart("migrate", TIDEGATE_HOME=str(tmp_path / "home"))
    assert code == 0, said
    code, said = run_apart("merchant", "list", TIDEGATE_HOME=str(tmp_path / "home"))
    assert code == 0, said
    assert "No business yet" in said
