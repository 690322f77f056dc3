"""Programs that examine files of deploy/, where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def examined(program: str, *arguments: str | Path, package: str, cwd: Path = ROOT) -> str:
    beside = Path(sys.executable).parent
    found = shutil.which(program, path=f"{beside}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        pytest.skip(f"{program} is not installed: {package}")
    done = subprocess.run([found, *arguments], capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    # systemd-analyze verify exits with 0 on an unknown key, and says so.
    assert program != "systemd-analyze" or not done.stderr, done.stderr
    return done.stdout
