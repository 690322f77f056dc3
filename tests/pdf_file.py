"""PDFs, read back with another program."""

from __future__ import annotations

import io
from typing import Any

import pypdf

A4_SIDES = (595.276, 841.890)


def read(file: bytes) -> pypdf.PdfReader:
    return pypdf.PdfReader(io.BytesIO(file), strict=True)


def text_of(file: bytes) -> str:
    return "\n".join(page.extract_text() for page in read(file).pages)


def squeezed(text: str) -> str:
    """pypdf takes some kerning for a space."""
    return "".join(text.split())


def places(page: pypdf.PageObject) -> list[tuple[str, float, float]]:
    """Each text, and where it begins, from the lower left corner."""
    found: list[tuple[str, float, float]] = []

    def note(text: str, cm: Any, tm: Any, *_: Any) -> None:
        if text.strip():
            x, y = tm[4] * cm[0] + tm[5] * cm[2] + cm[4], tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
            found.append((text.strip(), x, y))

    page.extract_text(visitor_text=note)
    return found


def tags(reader: pypdf.PdfReader, tag: str) -> int:
    """How many parts of this kind a screen reader meets."""

    def count(element: Any) -> int:
        element = element.get_object()
        if not isinstance(element, dict):
            return 0
        kids = element.get("/K", [])
        return (element.get("/S") == f"/{tag}") + sum(map(count, kids if isinstance(kids, list) else [kids]))

    root: Any = reader.root_object
    return count(root["/StructTreeRoot"])


def claims_accessibility(file: bytes) -> bool:
    return b"<pdfuaid:part>1</pdfuaid:part>" in file
