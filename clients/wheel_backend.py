"""The build of our own wheel: flit's, with the clients' packages in it. A server without sources hands them out too."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flit_core import buildapi

ROOT = Path(__file__).parents[1]
CARRIED = ROOT / "src" / "tidegate" / "docs" / "clients"

build_editable = buildapi.build_editable
prepare_metadata_for_build_wheel = buildapi.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = buildapi.prepare_metadata_for_build_editable


def build_wheel(folder: str, settings: dict[str, Any] | None = None, metadata: str | None = None) -> str:
    with clients_carried():
        name: str = buildapi.build_wheel(folder, settings, metadata)
        return name


@contextmanager
def clients_carried() -> Iterator[None]:
    """While the wheel is built, its package has them as files."""
    sys.path.insert(0, str(ROOT / "src"))
    try:
        from tidegate.docs import client_package as made  # noqa: PLC0415  the package that is being built
    finally:
        sys.path.pop(0)
    python, typescript = ROOT / "clients" / "python", ROOT / "clients" / "typescript"
    CARRIED.mkdir(exist_ok=True)
    try:
        (CARRIED / made.wheel_name(python)).write_bytes(made.wheel(python))
        (CARRIED / made.tarball_name(typescript)).write_bytes(made.tarball(typescript))
        shutil.copy(ROOT / "clients" / "php" / "tidegate.php", CARRIED)
        yield
    finally:
        shutil.rmtree(CARRIED)
