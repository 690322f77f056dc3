"""The audit trail as the staff read it: every action has words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import tidegate
from tidegate.account.model import AccountAction
from tidegate.console.audit_words import WORDS
from tidegate.staff_approval.table import STAFF_COMMANDS

ACTION = re.compile(r"[a-z_]+(?:\.[a-z_]+)+")
# Functions that write a row, whatever they are called in their module.
WRITERS = ("insert", "note", "_note", "_audit", "noted")


def written() -> Iterator[str]:
    for file in Path(tidegate.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in WRITERS:
                given = [*node.args, *(one.value for one in node.keywords if one.arg == "action")]
                texts = [str(one.value) for one in given if isinstance(one, ast.Constant)]
                yield from filter(ACTION.fullmatch, texts)


def test_every_action_has_words() -> None:
    actions = {*written(), *(f"account.{one.value}" for one in AccountAction)}
    actions |= {f"payout.{one}" for one in ("amended", "approved", "refused", "exported")}
    actions |= {f"{kind}.asked" for kind in ("refund", "return")}
    actions |= {f"suspense.{one}" for one in ("assigned", "returned", "closed")}
    actions |= {
        f"{one}.{step}" for one in STAFF_COMMANDS for step in ("proposed", "approved", "declined", "taken_back")
    }
    assert {"rail.paused", "staff.added", "cards.paused", "team.joined", "break.explained"} <= actions
    assert actions - WORDS.keys() == set()
