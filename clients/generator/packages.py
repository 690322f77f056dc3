"""The clients as packages, as the documentation hands them out: a wheel, and a tarball as npm packs it."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

Contents = dict[str, bytes]
# Inside the archives every file has the same time: packages of the same files are the same.
_EPOCH_S = 1_577_836_800


def wheel(folder: Path) -> tuple[str, bytes]:
    """Its file name and its bytes."""
    with tempfile.TemporaryDirectory() as made:
        program = f"import flit_core.buildapi as build; print(build.build_wheel({made!r}))"
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
            env={"SOURCE_DATE_EPOCH": str(_EPOCH_S)},
        )
        name = done.stdout.split()[-1]
        return name, (Path(made) / name).read_bytes()


def tarball(folder: Path) -> tuple[str, bytes]:
    facts = json.loads((folder / "package.json").read_text())
    names = ["package.json", "README.md", *sorted(f"src/{path.name}" for path in (folder / "src").iterdir())]
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in names:
            body = (folder / name).read_bytes()
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mtime, entry.mode = len(body), _EPOCH_S, 0o644
            archive.addfile(entry, io.BytesIO(body))
    return f"{facts['name']}-{facts['version']}.tgz", gzip.compress(plain.getvalue(), mtime=_EPOCH_S)


def contents(name: str, body: bytes) -> Contents:
    """Compared by this: how archives are compressed differs from one machine to the next."""
    if name.endswith(".whl"):
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            return {each: archive.read(each) for each in archive.namelist()}
    with tarfile.open(fileobj=io.BytesIO(body)) as tar:
        found = [(member.name, tar.extractfile(member)) for member in tar.getmembers()]
        return {each: file.read() for each, file in found if file}
