"""The clients as packages, made of their sources: a wheel, and a tarball as npm packs it. The same sources make the
same bytes. Only the standard library: the build of our own wheel uses it too."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import re
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

# Inside the archives every file has the same time: 1 January 2020.
_EPOCH_S, _EPOCH = 1_577_836_800, (2020, 1, 1, 0, 0, 0)
_VERSION = re.compile(r'__version__ = "([0-9.]+)"')
_WHEEL = b"Wheel-Version: 1.0\nGenerator: tidegate\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def wheel_name(folder: Path) -> str:
    return f"tidegate_client-{_version(folder)}-py3-none-any.whl"


def wheel(folder: Path) -> bytes:
    """Of `clients/python`."""
    info = f"tidegate_client-{_version(folder)}.dist-info"
    source = folder / "src"
    files = {
        path.relative_to(source).as_posix(): path.read_bytes()
        for path in sorted(source.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    files |= {f"{info}/WHEEL": _WHEEL, f"{info}/METADATA": _metadata(folder)}
    return _zip(files | {f"{info}/RECORD": _record(files, f"{info}/RECORD")})


def tarball_name(folder: Path) -> str:
    facts = json.loads((folder / "package.json").read_bytes())
    return f"{facts['name']}-{facts['version']}.tgz"


def tarball(folder: Path) -> bytes:
    """Of `clients/typescript`."""
    names = ["package.json", "README.md", *sorted(f"src/{path.name}" for path in (folder / "src").iterdir())]
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in names:
            body = (folder / name).read_bytes()
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mtime, entry.mode = len(body), _EPOCH_S, 0o644
            archive.addfile(entry, io.BytesIO(body))
    return gzip.compress(plain.getvalue(), mtime=_EPOCH_S)


def _version(folder: Path) -> str:
    found = _VERSION.search((folder / "src" / "tidegate_client" / "_version.py").read_text())
    assert found is not None
    return found[1]


def _metadata(folder: Path) -> bytes:
    facts = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {facts['name']}",
        f"Version: {_version(folder)}",
        f"Summary: {facts['description']}",
        f"Requires-Python: {facts['requires-python']}",
        "Description-Content-Type: text/markdown",
        f"License-Expression: {facts['license']}",
        *(f"Requires-Dist: {needed}" for needed in facts["dependencies"]),
    ]
    return "\n".join([*lines, "", (folder / facts["readme"]).read_text(), ""]).encode()


def _record(files: Mapping[str, bytes], own_name: str) -> bytes:
    lines = []
    for name, body in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(body)}\n")
    return "".join([*lines, f"{own_name},,\n"]).encode()


def _zip(files: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            entry = zipfile.ZipInfo(name, date_time=_EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
            archive.writestr(entry, body)
    return made.getvalue()
