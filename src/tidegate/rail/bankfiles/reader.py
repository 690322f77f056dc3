"""Any file of a bank: what kind it is, and its parts."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import IO, NamedTuple

from tidegate.bank_settings import StatementAccount
from tidegate.rail.bankfiles import camt, mt, pain002, xml_file
from tidegate.rail.bankfiles.model import FILE_BYTES_MAX, FileKind, FilePart, FileRefused

_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_PACKED = {b"\x1f\x8b": "gzip", b"PK": "zip"}


class OpenedFile(NamedTuple):
    kind: FileKind
    # Such as camt.053.001.08.
    name: str
    # Used by one thread from beginning to end, and closed there.
    parts: Generator[FilePart, None, None]


def as_written(number: str) -> StatementAccount:
    return StatementAccount(number, number)


def opened(source: IO[bytes], named: Callable[[str], StatementAccount] = as_written) -> OpenedFile:
    """`named` gives the account at the bank that the file names in another form, or by a virtual number.

    Raises FileRefused for what cannot be read. The whole file is validated first, so that a file is used as a whole
    or not at all; memory is bounded, however long it is.
    """
    size = source.seek(0, 2)
    source.seek(0)
    if size == 0:
        raise FileRefused("it is empty")
    if size > FILE_BYTES_MAX:
        raise FileRefused(f"it has {size} bytes; the limit is {FILE_BYTES_MAX}")
    head = source.read(64)
    for mark, name in _PACKED.items():
        if head.startswith(mark):
            raise FileRefused(f"it is packed by {name}: unpack it first")
    if _looks_like_xml(head):
        message = xml_file.message_of(source)
        if message.name.startswith("pain.002"):
            return OpenedFile(FileKind.PAIN_002, message.name, pain002.read(source, message))
        if not message.name.startswith("camt."):
            raise FileRefused(f"messages {message.name} go to a bank, and do not come from one")
        return OpenedFile(camt.kind_of(message), message.name, camt.read(source, message, named))
    kind = mt.kind_of(source)
    return OpenedFile(kind, kind.value, mt.read(source, named))


def _looks_like_xml(head: bytes) -> bool:
    for mark in _BYTE_ORDER_MARKS:
        head = head.removeprefix(mark)
    return head.replace(b"\0", b"").lstrip().startswith(b"<")
