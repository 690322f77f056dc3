"""A statement to keep: pages of A4 with a table that a bookkeeper can add up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tidegate.core.colour import LIGHT, Colour, palette_for
from tidegate.infra.pdf.document import Document
from tidegate.infra.pdf.font import Weight
from tidegate.infra.pdf.page import A4_HEIGHT, A4_WIDTH, Side
from tidegate.infra.pdf.paragraph import Line, Paragraph, Style, set_paragraph
from tidegate.infra.pdf.picture import NotAPicture, Picture, read_picture
from tidegate.infra.pdf.shape import Glyph
from tidegate.infra.pdf.structure import Element
from tidegate.wallet.statement import StatementRow, Statement

TITLE = "Wallet statement"
LANGUAGE = "en"

INK = Colour.parse("#171a19")
MUTED = Colour.parse("#5d6663")
LINE = Colour.parse("#e1e5e2")
SHADE = Colour.parse("#f4f6f5")

# In points.
MARGIN = 44.0
WIDTH = A4_WIDTH - 2 * MARGIN
FOOTER_TOP = A4_HEIGHT - 52
BOTTOM = FOOTER_TOP - 10
LOGO_SIDE = 40.0
LOGO_WIDTH_MAX = 120.0
TITLE_WIDTH = 150.0
PAGE_NUMBER_WIDTH = 100.0
FACT_LABEL_WIDTH = 84.0
SUMS_WIDTH = 210.0
GAP = 12.0
COLUMN_GAP = 10.0
ROW_PADDING = 4.0
HAIRLINE = 0.6
# Of the room that dates and figures leave, so much is for references.
REFERENCE_SHARE = 0.44
# Figures that would need more than this, all three columns together, are set smaller.
FIGURES_WIDTH_MAX = 290.0

BUSINESS_LINES_MAX = 2
FACT_LINES_MAX = 2
# What is longer ends in an ellipsis; the CSV has all of it.
CELL_LINES_MAX = 3
DETAIL_LINES_MAX = 2

BUSINESS = Style(14, INK, Weight.BOLD, leading=1.3)
HEADING = Style(14, MUTED, leading=1.3)
FACT_LABEL = Style(9, MUTED, leading=1.5)
FACT = Style(9, INK, leading=1.5)
SUM = Style(9, INK, Weight.BOLD, leading=1.5)
COLUMN_HEAD = Style(8, MUTED, Weight.BOLD, leading=1.4)
CELL = Style(8, INK, leading=1.4)
CELL_BOLD = Style(8, INK, Weight.BOLD, leading=1.4)
SMALL = Style(8, MUTED)

_FIGURE_HEADS = ("Debit", "Credit", "Balance")
_FIGURES: tuple[Callable[[StatementRow], str], ...] = (lambda row: row.debit, lambda row: row.credit, lambda row: row.balance)
_WIDE_DAY = "30 Nov 2026"


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the columns are, from the left edge of the page. Figures end where the others begin."""

    description: float
    description_width: float
    reference: float
    reference_width: float
    figure_ends: tuple[float, float, float]
    # Of the size of the other cells.
    figure_scale: float


class StatementPdf:
    """Drawn page by page, so that whoever waits for it can do something else in between."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._document = Document(title=f"{TITLE} – {statement.business}", language=LANGUAGE, made_at=statement.made_at)
        self._page = self._document.add_page()
        self._top = MARGIN
        self._setter = _Setter()

    def draw(self) -> Iterator[None]:
        """Stops after each page."""
        self._add_header()
        self._add_facts()
        table = self._document.content.add("Table")
        self._add_column_heads(table.add("TR"))
        for row, style in self._rows():
            yield from self._add_row(row, style, table.add("TR"))
        self._bar(height=HAIRLINE, colour=LINE)
        self._add_footers()
        yield

    def file(self) -> bytes:
        return self._document.file()

    def _rows(self) -> Iterator[tuple[StatementRow, Style]]:
        statement = self._statement
        yield statement.opening, CELL_BOLD
        yield from ((row, CELL) for row in statement.rows)
        yield statement.closing, CELL_BOLD

    def _add_header(self) -> None:
        content = self._document.content
        heading = content.add("H1")
        offset = self._add_logo(_drawable(self._statement.logo))
        title = self._setter.text(TITLE, HEADING, width=TITLE_WIDTH)
        business = self._setter.text(
            self._statement.business, BUSINESS, width=WIDTH - TITLE_WIDTH - GAP - offset, lines_max=BUSINESS_LINES_MAX
        )
        height = max(LOGO_SIDE if offset else 0.0, business.height)
        top = self._top + (height - business.height) / 2
        self._write(title, x=MARGIN + WIDTH, top=top, side="right", part=heading)
        self._write(business, x=MARGIN + offset, top=top, part=content.add("P"))
        self._top += height + GAP
        self._bar(height=2, colour=palette_for(self._statement.accent, LIGHT).accent_edge)
        self._top += 2 + GAP
        if self._statement.note:
            note = self._setter.text(self._statement.note, SUM, width=WIDTH)
            self._top = self._write(note, x=MARGIN, top=self._top, part=content.add("P")) + GAP / 2

    def _add_logo(self, logo: Picture | None) -> float:
        """How much room it takes beside the name."""
        if logo is None:
            return 0
        scale = min(LOGO_SIDE / logo.height, LOGO_WIDTH_MAX / logo.width)
        width, height = logo.width * scale, logo.height * scale
        figure = self._document.content.add("Figure", alternative=self._statement.business)
        top = self._top + (LOGO_SIDE - height) / 2
        self._page.place(logo, x=MARGIN, top=top, width=width, height=height, part=figure)
        return width + GAP

    def _add_facts(self) -> None:
        """Which wallet and when on one side, what came of it on the other."""
        table = self._document.content.add("Table")
        top = self._top
        room = WIDTH - SUMS_WIDTH - FACT_LABEL_WIDTH - 2 * GAP
        for label, value in self._statement.facts:
            row = table.add("TR")
            self._write(
                self._setter.text(label, FACT_LABEL, width=FACT_LABEL_WIDTH), x=MARGIN, top=top, part=row.add("TH")
            )
            fact = self._setter.text(value, FACT, width=room, lines_max=FACT_LINES_MAX)
            top = self._write(fact, x=MARGIN + FACT_LABEL_WIDTH, top=top, part=row.add("TD"))
        bottom, top = top, self._top
        for label, value in self._statement.sums:
            row = table.add("TR")
            text = self._setter.text(label, FACT_LABEL, width=SUMS_WIDTH)
            self._write(text, x=MARGIN + WIDTH - SUMS_WIDTH, top=top, part=row.add("TH"))
            figure = self._setter.figure(value, SUM)
            top = self._write(figure, x=MARGIN + WIDTH, top=top, side="right", part=row.add("TD"))
        self._top = max(bottom, top) + 2 * GAP

    @cached_property
    def _places(self) -> _Places:
        rows = (self._statement.opening, *self._statement.rows, self._statement.closing)
        # All digits are of one width, so the longest figure is the widest.
        longest = [max((figure_in(row) for row in rows), key=len) for figure_in in _FIGURES]
        widths = [self._setter.figure(figure, CELL_BOLD).width for figure in longest]
        scale = min(1.0, FIGURES_WIDTH_MAX / max(sum(widths), 1.0))
        heads = [self._head(head).width for head in _FIGURE_HEADS]
        debit, credit, balance = (max(width * scale, head) for width, head in zip(widths, heads, strict=True))
        ends = (
            MARGIN + WIDTH - balance - credit - 2 * COLUMN_GAP,
            MARGIN + WIDTH - balance - COLUMN_GAP,
            MARGIN + WIDTH,
        )
        description = MARGIN + self._setter.text(_WIDE_DAY, CELL_BOLD, width=WIDTH).width + COLUMN_GAP
        room = ends[0] - debit - description - 2 * COLUMN_GAP
        reference_width = room * REFERENCE_SHARE
        return _Places(
            description=description,
            description_width=room - reference_width,
            reference=description + room - reference_width + COLUMN_GAP,
            reference_width=reference_width,
            figure_ends=ends,
            figure_scale=scale,
        )

    def _add_column_heads(self, row: Element | None) -> None:
        """The element holds the heads of the first page; on the others they only repeat what was said."""
        height = COLUMN_HEAD.size * COLUMN_HEAD.leading + 2 * ROW_PADDING
        self._page.rectangle(x=MARGIN - 4, top=self._top, width=WIDTH + 8, height=height, colour=SHADE)
        places, top = self._places, self._top + ROW_PADDING
        for text, x in (("Date", MARGIN), ("Description", places.description), ("Reference", places.reference)):
            self._write(self._head(text), x=x, top=top, part=row and row.add("TH"))
        for text, x in zip(_FIGURE_HEADS, places.figure_ends, strict=True):
            self._write(self._head(text), x=x, top=top, side="right", part=row and row.add("TH"))
        self._top += height

    def _head(self, text: str) -> Paragraph:
        return self._setter.text(text, COLUMN_HEAD, width=WIDTH)

    def _add_row(self, row: StatementRow, style: Style, element: Element) -> Iterator[None]:
        places = self._places
        texts = (
            (self._setter.text(row.date, style, width=WIDTH), MARGIN),
            (self._cell(row.description, style, width=places.description_width), places.description),
            (self._cell(row.reference, style, width=places.reference_width), places.reference),
        )
        detail = self._setter.text(row.detail, SMALL, width=places.description_width, lines_max=DETAIL_LINES_MAX)
        described = texts[1][0].height
        heights = (described + detail.height if row.detail else described, texts[2][0].height)
        height = max(heights) + 2 * ROW_PADDING
        if self._top + height > BOTTOM:
            self._turn_page()
            yield
        self._bar(height=HAIRLINE, colour=LINE)
        top = self._top + ROW_PADDING
        for text, x in texts:
            cell = element.add("TD")
            self._write(text, x=x, top=top, part=cell)
            if row.detail and x == places.description:
                self._write(detail, x=x, top=top + described, part=cell)
        figure_style = replace(style, size=style.size * places.figure_scale)
        for figure, x in zip((row.debit, row.credit, row.balance), places.figure_ends, strict=True):
            part = element.add("TD")
            if figure:
                self._write(self._setter.figure(figure, figure_style), x=x, top=top, side="right", part=part)
        self._top += height

    def _cell(self, text: str, style: Style, *, width: float) -> Paragraph:
        return self._setter.text(text, style, width=width, lines_max=CELL_LINES_MAX)

    def _turn_page(self) -> None:
        self._bar(height=HAIRLINE, colour=LINE)
        self._page, self._top = self._document.add_page(), MARGIN
        business = self._setter.text(self._statement.business, SMALL, width=WIDTH / 2)
        head = self._setter.text(self._statement.running_head, SMALL, width=WIDTH / 2 - GAP)
        self._write(business, x=MARGIN, top=self._top, part=None)
        self._write(head, x=MARGIN + WIDTH, top=self._top, side="right", part=None)
        self._top += business.line_height + GAP / 2
        self._add_column_heads(None)

    def _add_footers(self) -> None:
        pages = self._document.pages
        for number, page in enumerate(pages, start=1):
            self._page, self._top = page, FOOTER_TOP
            self._bar(height=HAIRLINE, colour=LINE)
            part = self._document.content.add("P") if number == 1 else None
            footer = self._setter.text(self._statement.footer, SMALL, width=WIDTH - PAGE_NUMBER_WIDTH)
            self._write(footer, x=MARGIN, top=FOOTER_TOP + 6, part=part)
            text = self._setter.text(f"Page {number} of {len(pages)}", SMALL, width=PAGE_NUMBER_WIDTH)
            self._write(text, x=MARGIN + WIDTH, top=FOOTER_TOP + 6, side="right", part=None)

    def _write(self, text: Paragraph, *, x: float, top: float, side: Side = "left", part: Element | None) -> float:
        return self._page.write(text, x=x, top=top, side=side, part=part)

    def _bar(self, *, height: float, colour: Colour) -> None:
        self._page.rectangle(x=MARGIN - 4, top=self._top, width=WIDTH + 8, height=height, colour=colour)


class _Setter:
    """Sets text once: days, sorts of lines and customers come again and again in a statement."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, Style, float, int], Paragraph] = {}
        self._signs: dict[tuple[str, Weight], Sequence[Glyph]] = {}

    def text(self, text: str, style: Style, *, width: float, lines_max: int = 1) -> Paragraph:
        key = (text, style, width, lines_max)
        if key not in self._texts:
            # Names go the way of their own letters.
            self._texts[key] = set_paragraph(
                text, style, width=width, direction="auto", language=LANGUAGE, lines_max=lines_max
            )
        return self._texts[key]

    def figure(self, text: str, style: Style) -> Paragraph:
        """Sign by sign, without what a font does between them: digits stand below each other, and it is much faster."""
        return Paragraph(style, (Line([glyph for sign in text for glyph in self._glyphs(sign, style)]),))

    def _glyphs(self, sign: str, style: Style) -> Sequence[Glyph]:
        key = (sign, style.weight)
        if key not in self._signs:
            self._signs[key] = self.text(sign, style, width=WIDTH).lines[0].glyphs
        return self._signs[key]


def _drawable(logo: bytes | None) -> Picture | None:
    try:
        return None if logo is None else read_picture(logo)
    except NotAPicture:
        return None
