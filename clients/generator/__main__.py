"""`make clients`: the generated files of the clients, as the API is now."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from generator.document import Document
from generator.python import PythonWriter
from generator.typescript import TypeScriptWriter
from tidegate import app
from tidegate.core.money import Currency
from tidegate.infra.http.operation import encode
from tidegate.runtime import Runtime
from tidegate.settings import Settings

CLIENTS = Path(__file__).parents[1]
TYPESCRIPT = CLIENTS / "typescript" / "src"
PYTHON = CLIENTS / "python" / "src" / "tidegate_client"


def document() -> Document:
    operations = app.operations_of(Runtime.of(Settings()))
    raw: dict[str, Any] = msgspec.json.decode(encode(app.document_of(operations, Settings().base_url)))
    return Document(raw)


def generated() -> dict[Path, str]:
    """Every generated file and what it should hold."""
    found = document()
    typescript = TypeScriptWriter(found, {str(currency): currency.exponent for currency in Currency})
    return {
        **{PYTHON / name: text for name, text in _formatted(PythonWriter(found).files()).items()},
        **{TYPESCRIPT / name: text for name, text in typescript.files().items()},
    }


def _formatted(files: dict[str, str]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text)
        ruff = Path(sys.executable).with_name("ruff")
        options = ["--config", str(CLIENTS.parent / "pyproject.toml"), "-q"]
        subprocess.run([ruff, "check", *options, "--select", "I,F401,RUF022", "--fix", folder], check=True)
        subprocess.run([ruff, "format", *options, folder], check=True)
        return {name: (Path(folder) / name).read_text() for name in files}


def main() -> None:
    for path, text in generated().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
