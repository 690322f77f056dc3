"""What a body may have been before it was changed on the way to the signature check. Pure.

Tidegate writes compact JSON. Some frameworks hand out only a parsed body; written again, its bytes differ from library
to library. The signature is over the bytes, so it no longer matches.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

import msgspec

from tidegate.infra.http.operation import encode

CONTEXT_BYTES = 16
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UNREADABLE = (ValueError, RecursionError)
# The beginning of a value, for which the parser reports a position before the end.
_BEGUN = re.compile(r"-|[.eE][-+]?|t(ru?)?|f(a(ls?)?)?|n(ul?)?")


class BodyForm(msgspec.Struct, frozen=True):
    """A possible original body, and the change it must have gone through."""

    body: bytes
    happened: str


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The first difference between two bodies, with the text around it in each."""

    offset: int
    begins_at: int
    sent: bytes
    given: bytes


def forms_of(given: bytes) -> Iterator[BodyForm]:
    """The simplest explanation first. Forms equal to the given body are left out."""
    for form in _all_forms_of(given):
        if form.body != given:
            yield form


def _all_forms_of(given: bytes) -> Iterator[BodyForm]:
    yield BodyForm(given.removeprefix(_BYTE_ORDER_MARK), "a byte order mark was put before it")
    yield BodyForm(given.rstrip(b"\r\n"), "a line break was added at its end")
    yield BodyForm(given.strip(), "spaces or line breaks were added around it")
    yield BodyForm(given.replace(b"\r\n", b"\n"), "its line breaks were rewritten")
    yield from _misread(given)
    with suppress(binascii.Error):
        yield BodyForm(base64.b64decode(given.strip(), validate=True), "it was encoded as base64")
    with suppress(*_UNREADABLE):
        yield from _rewritten(read(given))


def _misread(given: bytes) -> Iterator[BodyForm]:
    for encoding in ("latin-1", "cp1252"):
        with suppress(UnicodeError):
            yield BodyForm(given.decode().encode(encoding), "it was read as Latin-1 and written again as UTF-8")


def _rewritten(value: Any) -> Iterator[BodyForm]:
    if isinstance(value, str):
        yield BodyForm(value.encode(), "it was encoded as JSON once more")
        value = read(value.encode())
    written = encode(value)
    yield BodyForm(written, "it was parsed and written again")
    yield BodyForm(
        encode(_with_whole_numbers(value)), "it was parsed and written again, with decimals at whole numbers"
    )
    for form in ("NFC", "NFD"):
        other = unicodedata.normalize(form, written.decode()).encode()
        yield BodyForm(other, "it was parsed and written again, with its accented letters composed differently")


def read(body: bytes) -> Any:
    """Exact: numbers keep their digits, objects their order. Raises ValueError for what is not JSON."""
    return json.loads(body.decode("utf-8-sig"), parse_float=Decimal)


def as_we_write(body: bytes) -> bytes | None:
    """None for what is not JSON."""
    with suppress(*_UNREADABLE):
        return encode(read(body))
    return None


def _with_whole_numbers(value: Any) -> Any:
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    if isinstance(value, dict):
        return {name: _with_whole_numbers(inner) for name, inner in value.items()}
    return [_with_whole_numbers(inner) for inner in value] if isinstance(value, list) else value


def is_cut_off(body: bytes) -> bool:
    """Whether it is the beginning of JSON, with the end missing."""
    try:
        text = body.decode()
        json.loads(text)
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    except json.JSONDecodeError as error:
        rest = text[error.pos :].rstrip()
        return not rest or error.msg.startswith(("Unterminated", "Invalid \\")) or _BEGUN.fullmatch(rest) is not None
    except RecursionError:
        return False
    return False


def difference_between(*, sent: bytes, given: bytes) -> Difference | None:
    """The first difference."""
    shorter = min(len(sent), len(given))
    offset = next((place for place in range(shorter) if sent[place] != given[place]), shorter)
    if offset == len(sent) == len(given):
        return None
    begins_at = max(offset - CONTEXT_BYTES, 0)
    around = slice(begins_at, offset + CONTEXT_BYTES)
    return Difference(offset=offset, begins_at=begins_at, sent=sent[around], given=given[around])
