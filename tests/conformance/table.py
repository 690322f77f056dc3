"""docs/conformance.md as a table, and which of its tests have passed in this run."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

FILE = Path(__file__).parents[2] / "docs" / "conformance.md"
_ROW = re.compile(r"\| (\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|")
_TEST = re.compile(r"`(test_\w+)`")


class Requirement(NamedTuple):
    number: int
    words: str
    tests: tuple[str, ...]


def requirements() -> list[Requirement]:
    rows = map(_ROW.fullmatch, FILE.read_text(encoding="utf-8").splitlines())
    return [Requirement(int(row[1]), row[3], tuple(_TEST.findall(row[5]))) for row in rows if row]


class PassedTests:
    """A plugin: a run of the whole suite fails when a test that holds a requirement did not pass in it."""

    def __init__(self) -> None:
        self._passed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._passed.add(report.nodeid.partition("[")[0].rpartition("::")[2])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus != pytest.ExitCode.OK or not _is_whole(session.config):
            return
        not_run = sorted({test for row in requirements() for test in row.tests} - self._passed)
        if not_run:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            sys.stderr.write(f"\ndocs/conformance.md names tests that did not pass: {', '.join(not_run)}\n")


def _is_whole(config: pytest.Config) -> bool:
    """With xdist, the process that all reports come to; and nothing was left out on purpose."""
    chosen = config.option.keyword or config.option.markexpr or config.option.deselect
    return not hasattr(config, "workerinput") and not chosen and config.args == config.getini("testpaths")
