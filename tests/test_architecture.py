"""The picture in ARCHITECTURE.md is the picture of the code."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tidegate.core import errors
from tidegate.infra.http.status import STATUS_OF

ROOT = Path(__file__).parent.parent


def leaves(tree: type[errors.Refusal]) -> list[type[errors.Refusal]]:
    below = tree.__subclasses__()
    return [leaf for child in below for leaf in leaves(child)] or [tree]


def test_imports_point_one_way() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-logo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_refusal_has_a_status() -> None:
    # Named outside core/errors.py, a refusal could not be found by a reader of the tree.
    named = [c for c in leaves(errors.Refusal) if c.__module__ == errors.__name__]
    assert [c.__name__ for c in named if c not in STATUS_OF] == []


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = set(re.findall(r"[├└]─ (\w+)", errors.__doc__ or ""))
    defined = {
        name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, errors.Refusal)
    }
    assert drawn == defined - {"Refusal"}


def test_every_dependency_has_a_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["dev"]]
    names = [re.split(r"[><=;\[ ]", requirement)[0] for requirement in wanted]
    reasons = (ROOT / "docs" / "decisions" / "dependencies.md").read_text()
    assert [name for name in names if f"`{name}`" not in reasons] == []
