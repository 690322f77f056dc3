"""Files as no bank should send them, and as some do."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from enum import StrEnum

_DOCUMENT = b"<Document "
_LEVELS = 300
_ZEROS = 64 * 1024 * 1024


class BadFile(StrEnum):
    EMPTY = "empty"
    CUT = "cut"
    UTF_16 = "utf_16"  # readable
    BYTE_ORDER_MARK = "byte_order_mark"  # readable
    WRONG_ENCODING = "wrong_encoding"
    PACKED = "packed"
    EXTERNAL_ENTITY = "external_entity"
    ENTITY_BOMB = "entity_bomb"
    DEEP = "deep"
    UNKNOWN_VERSION = "unknown_version"
    STRANGE_ACCOUNT = "strange_account"


def spoilt(what: BadFile, camt: bytes, account: str) -> bytes:
    """Made of a good file of this account."""
    return _SPOILERS[what](camt, account)


def _with_document_type(camt: bytes, entities: bytes, text: bytes) -> bytes:
    start = camt.replace(_DOCUMENT, b"<!DOCTYPE Document [" + entities + b"]>" + _DOCUMENT, 1)
    return start.replace(b"<MsgId>", b"<MsgId>" + text, 1)


def _bomb(camt: bytes, _: str) -> bytes:
    entities = [b'<!ENTITY a0 "aaaaaaaaaa">']
    entities += [b'<!ENTITY a%d "%s">' % (level, b"&a%d;" % (level - 1) * 10) for level in range(1, 10)]
    return _with_document_type(camt, b"".join(entities), b"&a9;")


def _utf_16(camt: bytes, _: str) -> bytes:
    return camt.decode().replace('encoding="UTF-8"', 'encoding="UTF-16"', 1).encode("utf-16")


_SPOILERS: dict[BadFile, Callable[[bytes, str], bytes]] = {
    BadFile.EMPTY: lambda camt, _: b"",
    BadFile.CUT: lambda camt, _: camt[: len(camt) // 2],
    BadFile.UTF_16: _utf_16,
    BadFile.BYTE_ORDER_MARK: lambda camt, _: b"\xef\xbb\xbf" + camt,
    BadFile.WRONG_ENCODING: lambda camt, _: camt.replace(b"<MsgId>", b"<MsgId>\xeb", 1),
    BadFile.PACKED: lambda camt, _: gzip.compress(bytes(_ZEROS)),
    BadFile.EXTERNAL_ENTITY: lambda camt, _: _with_document_type(
        camt, b'<!ENTITY x SYSTEM "file:///etc/hostname">', b"&x;"
    ),
    BadFile.ENTITY_BOMB: _bomb,
    BadFile.DEEP: lambda camt, _: camt.replace(b"<MsgId>", b"<MsgId>" + b"<a>" * _LEVELS, 1),
    BadFile.UNKNOWN_VERSION: lambda camt, _: camt.replace(b":camt.053.001.0", b":camt.053.001.9", 1),
    BadFile.STRANGE_ACCOUNT: lambda camt, account: camt.replace(account.encode(), b"NL26VAYB8060476890"),
}
