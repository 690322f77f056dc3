"""Two public linters read the OpenAPI document, by the rules in docs/openapi; neither may warn."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tidegate.app import document_of, operations_of
from tidegate.infra.http.operation import encode
from tidegate.runtime import Runtime
from tidegate.settings import Settings

RULES = Path(__file__).parents[2] / "docs" / "openapi"
INSTALLED = Path(sys.prefix) / "published" / "node_modules" / ".bin"
WITHIN_S = 600
LINTERS = {
    "redocly": ["lint", "--config", str(RULES / "redocly.yaml")],
    "spectral": ["lint", "--ruleset", str(RULES / "spectral.yaml"), "--fail-severity=hint"],
}
# Nothing is told to its maker.
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}


def lint(name: str, document: Any, folder: Path) -> tuple[int, str]:
    if shutil.which("node") is None:
        pytest.skip("there is no node here: install Node 20 or newer to lint the OpenAPI document")
    if not (INSTALLED / name).exists():
        pytest.skip(f"{name} is not installed: `make published` installs it with npm")
    (folder / "openapi.json").write_bytes(encode(document))
    done = subprocess.run(
        [str(INSTALLED / name), *LINTERS[name], "openapi.json"],
        cwd=folder, env={"PATH": os.environ["PATH"], "HOME": str(folder), **QUIET}, check=False, capture_output=True,
        text=True, timeout=WITHIN_S,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def document() -> Any:
    return document_of(operations_of(Runtime.of(Settings())), "http://localhost:8080")


@pytest.mark.parametrize("name", LINTERS)
def test_a_public_linter_finds_nothing(name: str, tmp_path: Path) -> None:
    code, said = lint(name, document(), tmp_path)
    assert code == 0, said
    # Redocly counts warnings without failing.
    assert "You have" not in said, said


def test_a_public_linter_finds_what_is_missing(tmp_path: Path) -> None:
    broken = msgspec.json.decode(encode(document()))
    del broken["paths"]["/checkout/payments"]["post"]["summary"]
    code, said = lint("redocly", broken, tmp_path)
    assert code != 0
    assert "operation-summary" in said
