"""Where a browser at an address without a page may have wanted to go. Pure."""

from __future__ import annotations

import re

from tidegate.docs.page import ROOT, PageHead
from tidegate.docs.reference import FOLDER, slug_of
from tidegate.docs.site import DocsSite
from tidegate.infra.site.pages import Suggestion

NEAREST = 3
# More of an address says nothing about where it should have led.
PATH_LENGTH_MAX = 100


class Suggestions:
    def __init__(self, docs: DocsSite) -> None:
        self._heads = [head for head in docs.heads if head.path != ROOT]
        self._operations = [
            (re.compile(re.sub(r"\{\w+\}", "[^/]+", operation.path)), operation) for operation in docs.operations
        ]

    def __call__(self, path: str) -> Suggestion | None:
        if path.startswith(f"{ROOT}/"):
            return Suggestion("The nearest pages:", [(head.path, head.title) for head in self._nearest(path)])
        at_path = [operation for pattern, operation in self._operations if pattern.fullmatch(path.rstrip("/"))]
        links = [
            (f"{FOLDER}/{slug_of(operation.name)}", f"{operation.method} {operation.path}: {operation.summary}")
            for operation in at_path
        ]
        return Suggestion("This address is for programs. What they can send here:", links) if links else None

    def _nearest(self, path: str) -> list[PageHead]:
        wanted = path[:PATH_LENGTH_MAX].lower().removesuffix(".md")
        return sorted(self._heads, key=lambda head: -_likeness(wanted, head.path))[:NEAREST]


def _likeness(wanted: str, path: str) -> float:
    """How much of the last part is there, which says most; then how alike the addresses are (Dice)."""
    last, theirs = _pairs(wanted.rpartition("/")[2]), _pairs(path.rpartition("/")[2])
    whole, other = _pairs(wanted.removeprefix(ROOT)), _pairs(path.removeprefix(ROOT))
    return len(last & theirs) / max(1, len(last)) + 2 * len(whole & other) / (len(whole) + len(other))


def _pairs(text: str) -> set[str]:
    """Of neighbouring letters."""
    return {text[at : at + 2] for at in range(len(text) - 1)}
