"""What a process does not load, since it would keep it in memory for as long as it runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

_LIST = "import {module}, sys; print(*sys.modules)"


def loaded_by(module: str) -> set[str]:
    command = [sys.executable, "-c", _LIST.format(module=module)]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.parametrize("module", ["tidegate.cli.worker", "tidegate.cli.run"])
def test_the_phone_numbers_of_the_whole_world_are_not_loaded(module: str) -> None:
    assert "phonenumbers.carrierdata" not in loaded_by(module)


def test_a_worker_draws_no_pages() -> None:
    """Of the hosted page it has what a receipt by e-mail says."""
    loaded = loaded_by("tidegate.cli.worker_process")
    assert "tidegate.worker" in loaded
    assert not {"tidegate.app", "tidegate.checkout.page.pages", "tidegate.checkout.page.renderer", "jinja2"} & loaded


@pytest.mark.parametrize("module", ["tidegate.cli.worker_process", "tidegate.app"])
def test_the_compiler_of_documents_is_loaded_with_the_first_document(module: str) -> None:
    assert "typst" not in loaded_by(module)
