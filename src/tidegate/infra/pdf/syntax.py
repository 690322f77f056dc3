"""How a PDF file is written (ISO 32000): values, numbered objects, and the table that finds them."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

_HEADER = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"


class Name(str):
    """A word of the format; an ordinary string is text for people."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Reference:
    number: int


Value: TypeAlias = "bool | int | float | str | bytes | datetime | Reference | Sequence[Value] | Mapping[str, Value]"


@dataclass(frozen=True, slots=True)
class Stream:
    entries: Mapping[str, Value]
    content: bytes
    # What is compressed already, such as a photograph, says how in its entries.
    is_compressed: bool = False


def number(value: float) -> str:
    """To a thousandth of a point, which is finer than any printer."""
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def text_string(text: str) -> str:
    return f"<FEFF{text.encode('utf-16-be').hex().upper()}>"


def written(value: Value) -> str:
    """A value as it stands in the file. All text is in hexadecimal, so that none of it can be taken for syntax."""
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    raise TypeError(f"nothing in a PDF is a {type(value).__name__}")


def _date(instant: datetime) -> str:
    return f"(D:{instant.astimezone(UTC):%Y%m%d%H%M%S}Z)"


def _mapping(entries: Mapping[str, Value]) -> str:
    return "<<" + " ".join(f"/{key} {written(value)}" for key, value in entries.items()) + ">>"


# The order counts: a name is also a string, and True is also a number.
_WRITERS: tuple[tuple[type | tuple[type, ...], Callable[..., str]], ...] = (
    (Name, lambda name: f"/{name}"),
    (str, text_string),
    (bool, lambda flag: str(flag).lower()),
    ((int, float), number),
    (bytes, lambda raw: f"<{raw.hex().upper()}>"),
    (Reference, lambda reference: f"{reference.number} 0 R"),
    (datetime, _date),
    (Mapping, _mapping),
    (Sequence, lambda items: "[" + " ".join(map(written, items)) + "]"),
)


class Objects:
    """The numbered objects of one file."""

    def __init__(self) -> None:
        self._bodies: list[bytes | None] = []

    def reserve(self) -> Reference:
        """A number for what is not known yet, so that others can point to it."""
        self._bodies.append(None)
        return Reference(len(self._bodies))

    def add(self, value: Value | Stream, at: Reference | None = None) -> Reference:
        reference = at or self.reserve()
        body = _stream(value) if isinstance(value, Stream) else written(value).encode("ascii")
        self._bodies[reference.number - 1] = body
        return reference

    def file(self, *, root: Reference, info: Reference) -> bytes:
        """The whole file. Its identifier is made of its content: the same document has the same bytes."""
        file = bytearray(_HEADER)
        places: list[int] = []
        for index, body in enumerate(self._bodies, start=1):
            if body is None:
                raise ValueError(f"object {index} was promised and never added")
            places.append(len(file))
            file += b"%d 0 obj\n%b\nendobj\n" % (index, body)
        identifier = hashlib.sha256(file).digest()[:16]
        trailer: Value = {"Size": len(places) + 1, "Root": root, "Info": info, "ID": [identifier, identifier]}
        start = len(file)
        file += b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1)
        file += b"".join(b"%010d 00000 n \n" % place for place in places)
        file += f"trailer\n{written(trailer)}\nstartxref\n{start}\n%%EOF\n".encode("ascii")
        return bytes(file)


def _stream(stream: Stream) -> bytes:
    content = stream.content
    entries = dict(stream.entries)
    if not stream.is_compressed:
        content = zlib.compress(content, level=9)
        entries["Filter"] = Name("FlateDecode")
    entries["Length"] = len(content)
    return written(entries).encode("ascii") + b"\nstream\n" + content + b"\nendstream"
