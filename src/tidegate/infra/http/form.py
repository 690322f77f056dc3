"""Names and values as browsers send them: forms strictly, since they change something, addresses gently."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from urllib.parse import unquote_to_bytes

from starlette.types import Receive, Scope

from tidegate.core.errors import Malformed
from tidegate.infra.http.body import read_body, refuse_other_media
from tidegate.infra.http.operation import Headers
from tidegate.infra.http.strict_json import shown

MEDIA_TYPE = "application/x-www-form-urlencoded"
FIELDS_MAX = 50

_BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Form(Mapping[str, str]):
    """A submitted form. It shows its names and never its values, wherever it may be printed."""

    __slots__ = ("_fields", "files")

    def __init__(self, fields: Mapping[str, str] | None = None, files: Mapping[str, bytes] | None = None) -> None:
        self._fields = dict(fields or {})
        # By the name of the field; their own names are not kept.
        self.files = dict(files or {})

    def __getitem__(self, name: str) -> str:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"Form({', '.join(map(shown, self._fields))})"


NOTHING_SENT = Form()


class Query(Mapping[str, str]):
    """What stands after the question mark. It knows what it left out, for pages that must not ignore it."""

    __slots__ = ("_fields", "others", "unreadable")

    def __init__(
        self, fields: Mapping[str, str], unreadable: Set[str] = frozenset(), others: Mapping[str, str] | None = None
    ) -> None:
        self._fields = fields
        # Names whose value is no text.
        self.unreadable = unreadable
        # By name: what it says besides, where it is given again and says something else.
        self.others = others or {}

    def __getitem__(self, name: str) -> str:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


# As an empty address would be read: one pair without a name.
_NO_QUERY = Query({"": ""})


async def read_form(headers: Headers, scope: Scope, receive: Receive) -> Form:
    refuse_other_media(headers, MEDIA_TYPE)
    return parse(await read_body(headers, scope, receive))


def parse(body: bytes) -> Form:
    """Raises Malformed, without repeating a value."""
    if not body:
        return Form()
    if body.count(b"&") >= FIELDS_MAX:
        raise Malformed(f"the form has more than {FIELDS_MAX} fields; send fewer")
    fields: dict[str, str] = {}
    for pair in body.split(b"&"):
        name, equals, value = pair.partition(b"=")
        if not name or not equals:
            raise Malformed("the form is not name=value pairs joined by &")
        text = _text(name)
        if text in fields:
            raise Malformed(f"the field {shown(text)!r} is given twice")
        fields[text] = _text(value)
    return Form(fields)


def parse_query(query: bytes) -> Query:
    """People share links and programs add to them: of two with one name the first that is not empty counts, junk is
    left out."""
    if not query:
        return _NO_QUERY
    found: dict[str, str] = {}
    unreadable: set[str] = set()
    others: dict[str, str] = {}
    for pair in query.split(b"&", FIELDS_MAX)[:FIELDS_MAX]:
        name, _, value = pair.partition(b"=")
        if (key := _text_or_none(name)) is None:
            continue
        if (text := _text_or_none(value)) is None:
            unreadable.add(key)
        elif not found.get(key):
            found[key] = text
        elif text and text != found[key]:
            others.setdefault(key, text)
    return Query(found, unreadable, others)


def _text_or_none(raw: bytes) -> str | None:
    try:
        return _text(raw)
    except Malformed:
        return None


def _text(raw: bytes) -> str:
    if _BROKEN_ESCAPE.search(raw):
        raise Malformed("the form has a % that is not followed by two hexadecimal digits")
    try:
        text = unquote_to_bytes(raw.replace(b"+", b" ")).decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("the form is not valid UTF-8") from None
    return checked(text)


def checked(text: str) -> str:
    """One line of text. Raises Malformed."""
    # What is pasted from a table brings its tab along; a field has one line, so there it is a space.
    text = text.replace("\t", " ")
    if _CONTROL.search(text):
        raise Malformed("the form has a character that is not text, such as a line break or U+0000")
    return text
