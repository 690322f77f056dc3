"""The wheel, installed into an empty environment, is the whole product: nothing is read from the source tree."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import pytest

import wheel_backend
from conftest import postgres_bin
from process import START_TIMEOUT_S, free_port, status_of, stop
from tidegate.cli.main import COMMANDS
from tidegate.docs import downloads

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tidegate"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    with chdir(ROOT):
        return folder / wheel_backend.build_wheel(str(folder))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command in an environment of its own. Its dependencies are those of this environment: a test downloads
    nothing. Only folders are added, so that the link to the source tree that a developer has is not followed."""
    environment = tmp_path_factory.mktemp("empty") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    command = environment / "bin" / "tidegate"
    run(sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "install", "-q", "--no-index",
        "--no-deps", "--disable-pip-version-check", wheel)  # fmt: skip
    packages = next(environment.glob("lib/python*/site-packages"))
    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "dependencies.pth").write_text("\n".join(sorted(folders)) + "\n")
    return command


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=inherited | environment, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_carries_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        carried = {name.removeprefix("tidegate/") for name in archive.namelist() if name.startswith("tidegate/")}
    ours = {path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    clients = {f"docs/clients/{package.name}" for package in downloads.packages()}
    assert {path.relative_to(SOURCE).as_posix() for path in ours} | clients == carried
    kinds = {Path(name).suffix for name in carried}
    assert {".sql", ".html", ".css", ".js", ".typ", ".ttf", ".toml", ".md"} <= kinds


def test_every_command_shows_its_help_without_the_source_tree(installed: Path, tmp_path: Path) -> None:
    python = installed.parent / "python"
    place = run(python, "-c", "import tidegate; print(tidegate.__file__)", cwd=tmp_path)
    assert Path(place.strip()).is_relative_to(installed.parents[1])
    names = re.findall(r"^  ([a-z][a-z-]+)  ", run(installed, "--help", cwd=tmp_path), flags=re.MULTILINE)
    assert set(names) == set(COMMANDS)
    asked = (
        "import sys; from click.testing import CliRunner; from tidegate.cli import main; "
        "sys.exit(max(CliRunner().invoke(main, [name, '--help']).exit_code for name in sys.argv[1:]))"
    )
    run(python, "-c", asked, *names, cwd=tmp_path)


def test_a_database_is_migrated_and_pages_are_served_without_the_source_tree(installed: Path, tmp_path: Path) -> None:
    """Migrations come from the wheel, and so do the documentation's pages, styles and scripts, and the clients."""
    settings = {"TIDEGATE_HOME": str(tmp_path / "home"), "TIDEGATE_LOG_LEVEL": "error"}
    if (programs := postgres_bin()) is not None:
        settings["TIDEGATE_POSTGRES_BIN"] = str(programs)
    assert "✓ 0001_schema.sql" in run(installed, "migrate", cwd=tmp_path, **settings)
    with served(installed, tmp_path, settings) as base_url:
        assert status_of(f"{base_url}/healthz") == 200
        with urllib.request.urlopen(f"{base_url}/docs", timeout=30) as answer:
            page = answer.read().decode()
        files = set(re.findall(r'(?:href|src)="(/[^"#?]+\.(?:css|js|svg|ico))"', page))
        assert files
        assert {name: status_of(base_url + name) for name in files} == dict.fromkeys(files, 200)
        assert status_of(f"{base_url}/openapi.json") == 200
        for package in downloads.packages():
            with urllib.request.urlopen(base_url + package.path, timeout=30) as answer:
                assert answer.read() == package.body


@contextmanager
def served(command: Path, folder: Path, settings: dict[str, str]) -> Iterator[str]:
    port = free_port()
    process = subprocess.Popen(
        [command, "serve", "--port", str(port)],
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **settings},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True, cwd=folder,
    )  # fmt: skip
    try:
        base_url = f"http://127.0.0.1:{port}"
        ends_at = time.monotonic() + START_TIMEOUT_S
        while status_of(f"{base_url}/readyz") != 200:
            assert process.poll() is None, f"it ended with {process.returncode}"
            assert time.monotonic() < ends_at, "not ready in time"
            time.sleep(0.05)
        yield base_url
    finally:
        stop(process)
