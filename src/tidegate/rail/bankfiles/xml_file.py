"""XML from outside: no document type, no entities, the schema of its own version, and a bound on memory."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from tidegate.infra.lazy_module import LazyModule
from tidegate.rail.bankfiles.model import TRANSACTIONS_PER_ENTRY_MAX, FileRefused

if TYPE_CHECKING:
    from lxml import etree
else:
    etree = LazyModule("lxml.etree")  # 4 MB, for banks' files only

# A tree takes about ten times the bytes of its text.
TREE_BYTES_MAX = 4 * 1024 * 1024
# What is read between the ends of two entries.
ENTRY_BYTES_MAX = 16 * 1024 * 1024
# Such as urn:iso:std:iso:20022:tech:xsd:camt.053.001.08; banks of the SEPA countries have urns of their own, which
# are refused by their name.
_MESSAGE = re.compile(r"urn:iso:std:iso:20022:tech:xsd:((?:camt|pain)\.\d{3}\.\d{3}\.\d{2})")
_SCHEMAS = files("tidegate.rail.bankfiles") / "schema"
_WHY_CHARS_MAX = 300
_of_thread = threading.local()
SAFE: dict[str, Any] = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "dtd_validation": False,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
}


class Message(NamedTuple):
    """The kind and version of a document, such as camt.053.001.08."""

    name: str
    namespace: str

    @property
    def version(self) -> int:
        return int(self.name.rpartition(".")[2])

    def tag(self, name: str) -> str:
        return f"{{{self.namespace}}}{name}"


def message_of(source: IO[bytes]) -> Message:
    """Raises FileRefused for what is no message of ours."""
    source.seek(0)
    for root in _elements(source, events=("start",)):
        if root.getroottree().docinfo.doctype:
            raise FileRefused("it declares a document type, which a bank's file never needs")
        name = etree.QName(root)
        found = _MESSAGE.fullmatch(name.namespace or "")
        if found is None or name.localname != "Document":
            raise FileRefused(f"its root is {name.localname!r} of {name.namespace or 'no namespace'!r}, not a message")
        if _schema_text(found[1]) is None:
            raise FileRefused(f"messages {found[1]} are not read by this version")
        return Message(found[1], name.namespace)
    raise FileRefused("it is empty")


def validate(source: IO[bytes], message: Message, record: str, part: str) -> None:
    """Against its schema, from beginning to end, before anything of it is used. `record` and `part` are the elements
    that repeat, and are forgotten as soon as they have been seen.
    """
    source.seek(0)
    parts = 0
    for element in _elements(
        source, schema=schema_of(message.name), tag=(message.tag(record), message.tag(part)), events=("end",)
    ):
        if element.tag == message.tag(record):
            parts = 0
        else:
            parts += 1
        if parts > TRANSACTIONS_PER_ENTRY_MAX:
            raise FileRefused(
                f"line {element.sourceline}: an entry has more than {TRANSACTIONS_PER_ENTRY_MAX} transactions"
            )
        forget(element)


def read(source: IO[bytes], tags: Sequence[str]) -> Iterator[Any]:
    """The elements with these tags, each at its end. The caller forgets what it has used."""
    source.seek(0)
    yield from _elements(source, tag=tags, events=("end",))


def forget(element: Any) -> None:
    """Its content, and its predecessor of the same kind: the element itself may not be removed while it is current."""
    element.clear()
    before = element.getprevious()
    if before is not None and before.tag == element.tag:
        element.getparent().remove(before)


def schema_of(message_name: str) -> Any:
    """Compiled once in each thread: libxml2's objects stay in the thread that made them."""
    schemas: dict[str, Any] = _of_thread.__dict__
    if message_name not in schemas:
        text = _schema_text(message_name)
        assert text is not None  # Its name was checked.
        schemas[message_name] = etree.XMLSchema(etree.fromstring(text))
    return schemas[message_name]


def _schema_text(message_name: str) -> bytes | None:
    path = _SCHEMAS / f"{message_name}.xsd"
    return path.read_bytes() if path.is_file() else None


class _Bounded:
    """A source that refuses to give more until the reader has got rid of what it holds."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._held = 0

    def read(self, size: int) -> bytes:
        self._held += size
        if self._held > ENTRY_BYTES_MAX:
            raise FileRefused(f"one entry, or what is around the entries, takes more than {ENTRY_BYTES_MAX} bytes")
        return self._source.read(size)

    def mark(self) -> None:
        self._held = 0


def _elements(source: IO[bytes], **options: Any) -> Iterator[Any]:
    bounded = _Bounded(source)
    line = 0
    elements = etree.iterparse(bounded, **options, **SAFE)
    try:
        for _, element in elements:
            line = element.sourceline or line
            bounded.mark()
            yield element
    except etree.XMLSyntaxError as error:
        # The log has the cause; the exception may have a consequence only.
        found = elements.error_log[0] if len(elements.error_log) else None
        if found is None or not found.line:
            found = _placed(source, options.get("schema")) or found
        why = found.message if found is not None else str(error.msg)
        place = f"line {found.line}: " if found is not None and found.line else f"after line {line}: " if line else ""
        why = re.sub(r"\{urn:[^}]*\}|, use XML_PARSE_HUGE option", "", why)
        raise FileRefused(place + why[:_WHY_CHARS_MAX].rstrip(".")) from None


def _placed(source: IO[bytes], schema: Any) -> Any:
    """The error with its line, which is known only of a whole tree: for files that are not large."""
    if source.seek(0, 2) > TREE_BYTES_MAX:
        return None
    source.seek(0)
    try:
        tree = etree.fromstring(source.read(), etree.XMLParser(**SAFE))
    except etree.XMLSyntaxError as error:
        return error.error_log.last_error
    return None if schema is None or schema.validate(tree) else schema.error_log[0]
