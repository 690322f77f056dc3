"""Where and on what a run was made: without it, no number means anything to anybody else."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from bench import steadiness
from bench.process import REPOSITORY
from bench.stage import Stage
from bench.steadiness import Steadiness

PACKAGES = (
    "asyncpg", "uvicorn", "uvloop", "httptools", "starlette", "msgspec", "aiohttp", "fastapi", "pydantic", "sqlalchemy",
)  # fmt: skip
COMMIT_LENGTH = 12


@dataclass(frozen=True)
class Machine:
    at: str
    commit: str | None
    cpu: str
    cores: int
    memory_mb: int
    kernel: str
    python: str
    postgresql: str
    fsync: str
    synchronous_commit: str
    filesystem: str
    packages: dict[str, str]
    steadiness: Steadiness

    @property
    def sentences(self) -> list[str]:
        packages = ", ".join(f"{name} {version}" for name, version in self.packages.items())
        return [
            f"{self.at[:10]}, commit {self.commit or 'unknown'}",
            f"{self.cpu}, {self.cores} cores, {self.memory_mb / 1024:.0f} GB, {self.kernel}",
            f"PostgreSQL {self.postgresql}, fsync {self.fsync}, synchronous_commit {self.synchronous_commit},"
            f" data on {self.filesystem}",
            f"Python {self.python}, {packages}",
            self.steadiness.sentence,
        ]


def describe(stage: Stage) -> Machine:
    settings = stage.fetchrow(
        "SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,"
        " current_setting('synchronous_commit') AS synchronous_commit, current_setting('data_directory') AS data"
    )
    return Machine(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=_commit(),
        cpu=_cpu_model(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_mb=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1024 * 1024),
        kernel=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        postgresql=settings["version"],
        fsync=settings["fsync"],
        synchronous_commit=settings["synchronous_commit"],
        filesystem=_filesystem_of(settings["data"]),
        packages=dict(_versions()),
        steadiness=steadiness.measure(),
    )


def _versions() -> list[tuple[str, str]]:
    installed = {one.name.lower(): one.version for one in metadata.distributions()}
    return [(name, installed[name]) for name in PACKAGES if name in installed]


def _commit() -> str | None:
    """With a plus when there are changes that no commit has."""
    try:
        head = _git("rev-parse", f"--short={COMMIT_LENGTH}", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown CPU"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown CPU")


def _filesystem_of(folder: str) -> str:
    """The type of the innermost mount that the folder lies in."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
    except OSError:
        return "unknown"
    inside = [(point, kind) for _, point, kind, *_ in mounts if Path(folder).is_relative_to(point)]
    return max(inside, key=lambda mount: len(mount[0]), default=("", "unknown"))[1]
