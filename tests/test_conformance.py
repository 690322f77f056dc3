"""docs/conformance.md: every requirement of the specification is held by tests that exist. That they passed, and were
not left out, is seen at the end of a whole run (`conformance/table.py`)."""

from __future__ import annotations

import re
from pathlib import Path

from conformance.table import requirements

TESTS = Path(__file__).parent
REQUIREMENTS = 316


def test_every_requirement_is_listed_once_in_order() -> None:
    assert [row.number for row in requirements()] == list(range(1, REQUIREMENTS + 1))


def test_every_requirement_is_held_by_tests_that_exist() -> None:
    written = "\n".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    known = set(re.findall(r"^(?:async )?def (test_\w+)", written, flags=re.MULTILINE))
    assert [row for row in requirements() if not row.tests or set(row.tests) - known] == []
