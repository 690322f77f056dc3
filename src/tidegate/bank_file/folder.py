"""The folder of a bank's files: what comes into `in/` is imported and moved to `done/`, or with its fault to `bad/`."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import structlog

from tidegate.bank_file import imports
from tidegate.bank_file.record import rail_in
from tidegate.bank_settings import BankFilesSettings
from tidegate.core.clock import Clock
from tidegate.infra.leased_work import RoundResult, text_of
from tidegate.rail.bankfiles.model import FileRefused
from tidegate.rail.bankfiles.rail import FOLDERS
from tidegate.rail.deps import PaymentDeps

# Of programs that are still writing.
_UNFINISHED = (".tmp", ".part", ".filepart", ".done", ".ok")
FILES_MAX = 1_000

log = structlog.get_logger("bank")
# A file's size and time, which stay the same between two rounds once it is complete.
FileStamp = tuple[int, int]


class FolderWatch:
    """One round of the worker looks once; a file is taken when it has not changed since the round before."""

    def __init__(self) -> None:
        self._stamps: dict[str, FileStamp] = {}

    async def __call__(self, deps: PaymentDeps, clock: Clock) -> RoundResult:
        rail = rail_in(deps)
        if rail is None:
            return RoundResult()
        stamps = await asyncio.to_thread(_stamps_in, rail.settings.folder)
        ready = sorted(name for name, stamp in stamps.items() if self._stamps.get(name) == stamp)
        self._stamps = stamps
        failed = 0
        for name in ready:
            self._stamps.pop(name, None)
            try:
                await _take(deps, rail.settings, name, now=clock.now())
            except FileNotFoundError:
                continue  # Another worker was faster.
            except Exception as error:
                # One file must not hold up those after it.
                failed += 1
                log.error("a bank's file could not be imported", file=name, why=text_of(error), exc_info=error)
        return RoundResult(done=0, failed=failed)


def _stamps_in(folder: Path) -> dict[str, FileStamp]:
    for name in FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    found: dict[str, FileStamp] = {}
    with os.scandir(folder / "in") as entries:
        for entry in entries:
            is_ready = not entry.name.startswith(".") and not entry.name.endswith(_UNFINISHED)
            if is_ready and len(found) < FILES_MAX:
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if entry.is_file(follow_symlinks=False):
                        found[entry.name] = (status.st_size, status.st_mtime_ns)
    return found


async def _take(deps: PaymentDeps, settings: BankFilesSettings, name: str, *, now: datetime) -> None:
    path = settings.folder / "in" / name
    why: str | None
    try:
        why = (await imports.import_file(deps, settings, path, now=now)).reason
    except FileRefused as refused:
        why = str(refused)
    if why is None:
        await asyncio.to_thread(_move, path, settings.folder / "done" / f"{now:%Y-%m}")
        return
    moved = await asyncio.to_thread(_move, path, settings.folder / "bad")
    moved.with_name(f"{moved.name}.why").write_text(f"{why}\n")


def _move(path: Path, folder: Path) -> Path:
    """Never over another file: a second one of the same name gets a number."""
    folder.mkdir(parents=True, exist_ok=True)
    target, number = folder / path.name, 1
    while target.exists():
        number += 1
        target = folder / f"{path.name}.{number}"
    path.rename(target)
    return target
