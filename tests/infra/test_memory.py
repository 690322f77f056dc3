"""What a process does not load, since it would keep it in memory for as long as it runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

_LIST = "import {module}, sys; print(*sys.modules)"
_BUILD = """
import sys
from tidegate import app
from tidegate.settings import Settings

app.build(Settings())
print(*sys.modules)
"""
# Passkeys, banks' files, uploads, the documentation, rails that are asked over HTTP, new passwords, PDFs.
_RARELY_NEEDED = {"webauthn", "lxml.etree", "PIL.Image", "markdown_it", "aiohttp", "zxcvbn", "typst"}


def loaded_by(module: str) -> set[str]:
    return set(printed_by(_LIST.format(module=module)).split())


def printed_by(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("module", ["tidegate.cli.worker", "tidegate.cli.run"])
def test_the_phone_numbers_of_the_whole_world_are_not_loaded(module: str) -> None:
    assert "phonenumbers.carrierdata" not in loaded_by(module)


def test_a_worker_draws_no_pages() -> None:
    """Of the hosted page it has what a receipt by e-mail says."""
    loaded = loaded_by("tidegate.cli.worker_process")
    assert "tidegate.worker" in loaded
    assert not {"tidegate.app", "tidegate.checkout.page.pages", "tidegate.checkout.page.renderer", "jinja2"} & loaded


def test_an_api_loads_what_few_requests_need_with_the_first_of_them() -> None:
    loaded = set(printed_by(_BUILD).split())
    assert "tidegate.checkout.page.pages" in loaded
    assert not _RARELY_NEEDED & loaded


def test_the_compiler_of_documents_is_loaded_with_the_first_document() -> None:
    assert "typst" not in loaded_by("tidegate.cli.worker_process")
