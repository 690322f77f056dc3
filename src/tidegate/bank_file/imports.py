"""Imports a file of a bank: kept once, refused as a whole or read as a whole, its entries sorted out.

A file is examined completely before anything of it is written. Reading may be interrupted at any point: the file is
then read again, and what is there already stays.
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, ParamSpec, TypeVar

import msgspec
import structlog

from tidegate.bank_file import reversal_store, status, store
from tidegate.bank_file.duplicate import AskingEntry, DuplicateCheck
from tidegate.bank_file.model import ImportedFile
from tidegate.bank_settings import BankFilesSettings
from tidegate.rail.bankfiles import reader
from tidegate.rail.bankfiles.model import (
    FILE_BYTES_MAX,
    BankEntry,
    BankStatement,
    FileKind,
    FilePart,
    FileRefused,
    TransferStatus,
)
from tidegate.rail.bankfiles.reader import OpenedFile
from tidegate.rail.deps import PaymentDeps

# Parts of the file's content, and of what it says, that are written at once.
CONTENT_BYTES = 1024 * 1024
BATCH = 500
NAME_CHARS_MAX = 200

log = structlog.get_logger("bank")
P = ParamSpec("P")
T = TypeVar("T")
# One thread for all files: libxml2's objects may not move to another.
_READER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="bank-files")


async def import_file(deps: PaymentDeps, settings: BankFilesSettings, path: Path, *, now: datetime) -> ImportedFile:
    """As it is afterwards. One that was read before is not read again."""
    with path.open("rb") as source:
        size = source.seek(0, 2)
        source.seek(0)
        if size > FILE_BYTES_MAX:
            raise FileRefused(f"{path.name} has {size} bytes; the limit is {FILE_BYTES_MAX}")
        file_id = await _in_thread(_digest, source)
        async with deps.db.connection() as tx:
            known = await store.find_file(tx, file_id)
        if known is not None and known.state == "read":
            return known
        one = ImportedFile(
            id=file_id, name=_name_of(path), kind=None, state="reading", reason=None, byte_count=size,
            entry_count=0, received_at=now,
        )  # fmt: skip
        return await _Import(deps, settings, source, one).run()


class _Import:
    def __init__(self, deps: PaymentDeps, settings: BankFilesSettings, source: IO[bytes], file: ImportedFile) -> None:
        self._deps = deps
        self._settings = settings
        self._source = source
        self._file = file
        self._id = file.id
        self._now = file.received_at
        # The last one that was written, of the pages of all files.
        self._page = 0

    async def run(self) -> ImportedFile:
        try:
            name = await _in_thread(self._examine)
        except FileRefused as refused:
            log.error("a bank's file is refused", file=self._file.name, why=str(refused))
            await self._keep("refused", kind=None, why=str(refused))
        else:
            await self._keep("reading", kind=name, why=None)
            await self._read()
        async with self._deps.db.connection() as tx:
            found = await store.find_file(tx, self._id)
        assert found is not None
        return found

    def _examine(self) -> str:
        """All of it, and whether its accounts are ours. Raises FileRefused."""
        opened = reader.opened(self._source, self._settings.named)
        for part in opened.parts:
            if isinstance(part, BankStatement) and self._settings.account_of(part.account) is None:
                raise FileRefused(
                    f"it is of the account {part.account}, which TIDEGATE_BANKFILES_ACCOUNTS does not name"
                )
        return opened.name

    async def _keep(self, state: str, *, kind: str | None, why: str | None) -> None:
        file = msgspec.structs.replace(self._file, state=state, kind=kind, reason=why)
        async with self._deps.db.connection() as tx:
            await store.put_file(tx, file)
        self._source.seek(0)
        number = 0
        while content := await _in_thread(self._next_content):
            async with self._deps.db.connection() as tx:
                await store.insert_part(tx, self._id, number, content)
            number += 1

    def _next_content(self) -> bytes:
        content = self._source.read(CONTENT_BYTES)
        return zlib.compress(content) if content else b""

    async def _read(self) -> None:
        opened = await _in_thread(reader.opened, self._source, self._settings.named)
        try:
            count = await self._read_parts(opened)
        finally:
            await _in_thread(opened.parts.close)
        async with self._deps.db.transaction() as tx:
            await store.mark_read(tx, self._id, entry_count=count)
            await reversal_store.judge_waiting(tx, self._id)

    async def _read_parts(self, opened: OpenedFile) -> int:
        count, day = 0, self._now.date()
        check = DuplicateCheck(self._settings, self._id, opened.kind)
        while batch := await _in_thread(_batch, opened.parts):
            entries = [part for part in batch if isinstance(part, BankEntry)]
            day = entries[-1].booked_on if entries else day
            await self._keep_entries(entries, check)
            await self._keep_statements(batch, opened.kind, day)
            for part in batch:
                if isinstance(part, TransferStatus):
                    await status.apply(self._deps, part, self._now)
            count += len(entries)
        return count

    async def _keep_entries(self, entries: list[BankEntry], check: DuplicateCheck) -> None:
        if not entries:
            return
        asking = [AskingEntry.of(one) for one in entries]
        async with self._deps.db.transaction() as tx:
            await store.lock_entries(tx)
            page = await store.next_page(tx)
            if page != self._page + 1:
                check.forget()
            self._page = page
            known = store.list_known(tx, self._id, entries, check.missing(asking))
            await store.insert_entries(tx, self._id, await check.learn(asking, known))

    async def _keep_statements(self, parts: Iterable[FilePart], kind: FileKind, day: date) -> None:
        async with self._deps.db.transaction() as tx:
            for part in parts:
                if isinstance(part, BankStatement):
                    made = part.created_at.date() if part.created_at else day
                    await store.insert_statement(
                        tx, self._id, part, is_binding=kind.is_statement, day=made, now=self._now
                    )


def _name_of(path: Path) -> str:
    """Of any bytes: a file system may have names that are no text."""
    return path.name.encode(errors="replace").decode()[:NAME_CHARS_MAX]


async def _in_thread(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    return await asyncio.get_running_loop().run_in_executor(_READER, partial(work, *given, **named))


def _digest(source: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while content := source.read(CONTENT_BYTES):
        digest.update(content)
    return digest.hexdigest()


def _batch(parts: Iterator[FilePart]) -> list[FilePart]:
    return list(islice(parts, BATCH))
