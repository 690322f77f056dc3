"""A whole document: its pages, what they share, and what it says about itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from tidegate.infra.pdf.embed import EmbeddedFont
from tidegate.infra.pdf.font import Font
from tidegate.infra.pdf.page import A4_HEIGHT, A4_WIDTH, Page
from tidegate.infra.pdf.picture import Picture
from tidegate.infra.pdf.shape import clean
from tidegate.infra.pdf.structure import Element
from tidegate.infra.pdf.syntax import Name, Objects, Reference, Stream, Value

TITLE_CHARACTERS_MAX = 200


class Document:
    """Pages of A4. Nothing in it depends on when or where it is made: the same calls give the same bytes."""

    def __init__(self, *, title: str, language: str, made_at: datetime) -> None:
        self.content = Element("Document")
        self.pages: list[Page] = []
        self._title = clean(title[:TITLE_CHARACTERS_MAX])
        self._language = language
        self._made_at = made_at
        self._objects = Objects()
        self._tree = self._objects.reserve()
        self._fonts: dict[str, EmbeddedFont] = {}
        self._pictures: dict[Picture, Reference] = {}

    def add_page(self) -> Page:
        """Pages stay open until the file is made, so a footer can know how many there are."""
        page = Page(self._objects.reserve(), self._font, self._picture)
        self.pages.append(page)
        return page

    def _font(self, font: Font) -> tuple[str, EmbeddedFont]:
        if font.name not in self._fonts:
            self._fonts[font.name] = EmbeddedFont(font, self._objects.reserve())
        return font.name, self._fonts[font.name]

    def _picture(self, picture: Picture) -> str:
        if picture not in self._pictures:
            colours = picture.colours
            if picture.alpha is not None:
                colours = replace(colours, entries={**colours.entries, "SMask": self._objects.add(picture.alpha)})
            self._pictures[picture] = self._objects.add(colours)
        return _key(self._pictures[picture])

    def file(self) -> bytes:
        for font in self._fonts.values():
            font.add_to(self._objects)
        fonts: Value = {key: font.reference for key, font in self._fonts.items()}
        pictures: Value = {_key(reference): reference for reference in self._pictures.values()}
        resources = self._objects.add({"Font": fonts, "XObject": pictures})
        for index, page in enumerate(self.pages):
            self._add_page(page, index, resources)
        self._objects.add(
            {"Type": Name("Pages"), "Kids": [page.reference for page in self.pages], "Count": len(self.pages)},
            at=self._tree,
        )
        catalog: Value = {
            "Type": Name("Catalog"),
            "Pages": self._tree,
            "Lang": self._language,
            "MarkInfo": {"Marked": True},
            "StructTreeRoot": self._structure(),
            "ViewerPreferences": {"DisplayDocTitle": True},
        }
        info: Value = {"Title": self._title, "Producer": "Tidegate", "CreationDate": self._made_at}
        return self._objects.file(root=self._objects.add(catalog), info=self._objects.add(info))

    def _add_page(self, page: Page, index: int, resources: Reference) -> None:
        content = self._objects.add(Stream({}, "\n".join(page.operators).encode("ascii")))
        entries: Value = {
            "Type": Name("Page"),
            "Parent": self._tree,
            "MediaBox": [0, 0, A4_WIDTH, A4_HEIGHT],
            "Resources": resources,
            "Contents": content,
            "StructParents": index,
            # The order of the tab key is that of reading.
            "Tabs": Name("S"),
        }
        self._objects.add(entries, at=page.reference)

    def _structure(self) -> Reference:
        root = self._objects.reserve()
        document, holder_of = self.content.add_to(self._objects, root)
        numbers: list[Value] = []
        for index, page in enumerate(self.pages):
            numbers += [index, [holder_of[page.reference, mark] for mark in range(page.marks)]]
        tree: Value = {"Type": Name("StructTreeRoot"), "K": document, "ParentTree": {"Nums": numbers}}
        return self._objects.add(tree, at=root)


def _key(picture: Reference) -> str:
    return f"Picture{picture.number}"
