"""The tables of the product, and each statement that its Python has."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

from migrations import texts
from migrations.routing import Schema
from tidegate.deployment import cluster
from tidegate.infra import migrate

SOURCE = Path(migrate.__file__).parents[1]
MIGRATIONS = "\n".join(migration.sql for migration in migrate.migrations())
ON_NO_SHARD = {*cluster.ON_EVERY_NODE, *cluster.ON_THE_COORDINATOR}
# A directory is asked by its key, which is no business.
SCHEMA = Schema(MIGRATIONS, {*ON_NO_SHARD, *cluster.DIRECTORIES})


@cache
def trees() -> dict[str, ast.Module]:
    return {
        path.relative_to(SOURCE).with_suffix("").as_posix(): ast.parse(path.read_text())
        for path in sorted(SOURCE.rglob("*.py"))
    }


@cache
def statements() -> list[tuple[str, str, Any]]:
    """Where each is, its text, and what the parser makes of it."""
    return [
        (f"{module}:{_name_of(node)}", text, statement)
        for module, tree in trees().items()
        for node in tree.body
        for text in texts.texts(node)
        for statement in texts.statements_in(text)
    ]


def _name_of(node: ast.stmt) -> str:
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return getattr(node, "name", "")
