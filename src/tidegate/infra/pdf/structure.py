"""What the parts of a document are, for those who have it read to them: headings, paragraphs, rows of a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from tidegate.infra.pdf.syntax import Name, Objects, Reference, Value

# The element to which the content with a mark on a page belongs.
Holders: TypeAlias = dict[tuple[Reference, int], Reference]


@dataclass
class Element:
    """A part and, in the order of reading, the parts and pieces of content it is made of."""

    tag: str
    # What a picture shows.
    alternative: str | None = None
    _kids: list[Element | _Content] = field(default_factory=list)

    def add(self, tag: str, *, alternative: str | None = None) -> Element:
        child = Element(tag, alternative)
        self._kids.append(child)
        return child

    def hold(self, page: Reference, mark: int) -> None:
        """Content on a page that carries this mark belongs here."""
        self._kids.append(_Content(page, mark))

    def add_to(self, objects: Objects, parent: Reference) -> tuple[Reference, Holders]:
        """Its reference, and who holds what."""
        own = objects.reserve()
        holders: Holders = {}
        kids: list[Value] = []
        for kid in self._kids:
            if isinstance(kid, _Content):
                holders[kid.page, kid.mark] = own
                kids.append({"Type": Name("MCR"), "Pg": kid.page, "MCID": kid.mark})
                continue
            reference, below = kid.add_to(objects, own)
            holders |= below
            kids.append(reference)
        entries: dict[str, Value] = {"S": Name(self.tag), "P": parent, "K": kids}
        if self.alternative is not None:
            entries["Alt"] = self.alternative
        objects.add(entries, at=own)
        return own, holders


@dataclass(frozen=True, slots=True)
class _Content:
    page: Reference
    mark: int
