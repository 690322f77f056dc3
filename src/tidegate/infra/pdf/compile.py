"""Compiles a typst template with data into a PDF: tagged, and the same bytes for the same content.

Run as a module it does so for a parent: one job on standard input, the file on standard output.
"""

from __future__ import annotations

import asyncio
import re
import sys
import unicodedata
from datetime import datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

TEXT_CHARACTERS_MAX = 1_000
# No language stacks more marks on one letter; more would climb over the lines above.
MARKS_MAX = 4

_FOLDER = Path(__file__).parent
# The only folder that a template can read from.
_LIBRARY = _FOLDER / "library"

_SPACES = re.compile(r"[ \t-\r\x1c-\x1f\x85\u2028\u2029]+")
# Format characters with a purpose: isolates and marks of direction, joiners. Embeddings and overrides are not among
# them: they let a document read otherwise than its characters say.
_KEPT_FORMATS = frozenset("\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u200c\u200d")


class _Job(msgspec.Struct):
    template: str
    # JSON.
    data: str
    # Unix seconds.
    made_at_s: int


def compile_pdf(template: str, data: object, *, made_at: datetime) -> bytes:
    """`data` is what msgspec can turn into JSON; the template has it as `data`. Some milliseconds: use a thread.

    Raises RuntimeError for data that cannot be drawn, such as an image that is none.
    """
    return _compile(_job(template, data, made_at))


async def compile_in_child(template: str, data: object, *, made_at: datetime) -> bytes:
    """For long documents: typst keeps what it has laid out, 130 kB for each row of a table, and a child gives it back.

    The child is killed when the request for the document ends.
    """
    job = msgspec.json.encode(await asyncio.to_thread(_job, template, data, made_at))
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(sys.executable, "-m", __name__, stdin=pipe, stdout=pipe, stderr=pipe)
    try:
        file, complaint = await child.communicate(job)
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        raise RuntimeError(f"typst ended with {child.returncode}: {complaint.decode(errors='replace')}")
    return file


def _job(template: str, data: object, made_at: datetime) -> _Job:
    values = _cleaned(msgspec.to_builtins(data, builtin_types=(bytes,)))
    return _Job(template, msgspec.json.encode(values).decode(), int(made_at.timestamp()))


def _compile(job: _Job) -> bytes:
    typst = _typst()

    def compiled(*standards: str) -> bytes:
        # Its own for each document, since a compiler serves one thread; all it needs time for is the fonts.
        compiler = typst.Compiler(root=_LIBRARY, font_paths=_fonts())
        file: bytes = compiler.compile(
            job.template.encode(), sys_inputs={"data": job.data}, pdf_standards=list(standards), timestamp=job.made_at_s
        )
        return file

    try:
        return compiled("ua-1")
    except typst.TypstError:
        # PDF/UA-1 forbids characters that the fonts lack. Such a document shows boxes, and does not claim the standard.
        return compiled()


@cache
def _typst() -> Any:
    """Loaded with the first document: most processes never make one."""
    return import_module("typst")


@cache
def _fonts() -> Any:
    """None of the system's, so that a document has the same bytes on every machine."""
    return _typst().Fonts(include_system_fonts=False, include_embedded_fonts=False, font_paths=[_FOLDER / "fonts"])


def clean(text: str) -> str:
    """One line of characters that can be shown."""
    whole = text[:TEXT_CHARACTERS_MAX].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    kept: list[str] = []
    marks = 0
    for character in _SPACES.sub(" ", unicodedata.normalize("NFC", whole)).strip(" "):
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if marks <= MARKS_MAX and (category not in ("Cc", "Cf", "Cn") or character in _KEPT_FORMATS):
            kept.append(character)
    return "".join(kept)


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case bytes():
            # typst reads no base64, but makes a picture of a list of numbers.
            return list(value)
        case dict():
            return {key: _cleaned(each) for key, each in value.items()}
        case list() | tuple():
            return [_cleaned(each) for each in value]
    return value


if __name__ == "__main__":
    sys.stdout.buffer.write(_compile(msgspec.json.decode(sys.stdin.buffer.read(), type=_Job)))
