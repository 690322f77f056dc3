"""A receipt to keep: a page of A4, made of strings that are ready to be read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from tidegate.core.colour import LIGHT, Colour, palette_for
from tidegate.infra.pdf.bidi import Direction
from tidegate.infra.pdf.document import Document
from tidegate.infra.pdf.font import Weight
from tidegate.infra.pdf.page import A4_HEIGHT, A4_WIDTH
from tidegate.infra.pdf.paragraph import Paragraph, Style, set_paragraph
from tidegate.infra.pdf.picture import NotAPicture, Picture, read_picture
from tidegate.infra.pdf.structure import Element

INK = Colour.parse("#171a19")
MUTED = Colour.parse("#5d6663")
LINE = Colour.parse("#e1e5e2")

# In points.
MARGIN = 64.0
WIDTH = A4_WIDTH - 2 * MARGIN
BOTTOM = A4_HEIGHT - 110
FOOTER_TOP = A4_HEIGHT - 78
LOGO_SIDE = 44.0
LOGO_WIDTH_MAX = 132.0
TITLE_WIDTH = 130.0
LABEL_WIDTH = 150.0
GAP = 14.0
ROW_PADDING = 8.0
HAIRLINE = 0.6

# What is longer ends in an ellipsis; ordinary receipts come nowhere near.
MERCHANT_LINES_MAX = 3
AMOUNT_LINES_MAX = 2
LABEL_LINES_MAX = 3
VALUE_LINES_MAX = 6
NOTE_LINES_MAX = 8

MERCHANT = Style(13, INK, Weight.BOLD, leading=1.3)
TITLE = Style(13, MUTED, leading=1.3)
AMOUNT = Style(38, INK, Weight.BOLD, leading=1.25)
AMOUNT_SIZE_MIN = 20.0
LABEL = Style(10.5, MUTED, leading=1.5)
VALUE = Style(10.5, INK, leading=1.5)
NOTE = Style(10.5, INK, leading=1.55)
FOOTER = Style(8.5, MUTED)


@dataclass(frozen=True, slots=True)
class Receipt:
    language: str
    direction: Literal["ltr", "rtl"]
    title: str
    merchant: str
    amount: str
    # Label and value.
    rows: tuple[tuple[str, str], ...]
    # Sentences below the list: what differs from the amount asked for, what went back, how to reach the merchant.
    notes: tuple[str, ...]
    footer: str
    # As #rrggbb.
    accent: str
    # PNG or JPEG. A receipt does without a logo that cannot be drawn.
    logo: bytes | None = field(repr=False)
    made_at: datetime


def receipt_pdf(receipt: Receipt) -> bytes:
    sheet = _Sheet(receipt)
    sheet.add_header()
    sheet.add_amount()
    sheet.add_rows()
    sheet.add_notes()
    sheet.add_footers()
    return sheet.document.file()


class _Sheet:
    """What has been set so far, and how far down it reaches. Offsets count from the side where reading starts."""

    def __init__(self, receipt: Receipt) -> None:
        self._receipt = receipt
        self._is_rtl = receipt.direction == "rtl"
        title = f"{receipt.title} – {receipt.merchant}"
        self.document = Document(title=title, language=receipt.language, made_at=receipt.made_at)
        self._page = self.document.add_page()
        self._top = MARGIN

    def add_header(self) -> None:
        title = self._set(self._receipt.title, TITLE, width=TITLE_WIDTH, direction=self._receipt.direction)
        heading = self.document.content.add("H1")
        offset = self._add_logo(_drawable(self._receipt.logo))
        merchant = self._set(
            self._receipt.merchant, MERCHANT, width=WIDTH - TITLE_WIDTH - GAP - offset, lines_max=MERCHANT_LINES_MAX
        )
        height = max(LOGO_SIDE if offset else 0.0, merchant.height)
        top = self._top + (height - merchant.height) / 2
        self._write(title, offset=WIDTH - title.width, top=top, part=heading)
        self._write(merchant, offset=offset, top=top, part=self.document.content.add("P"))
        self._top += height + GAP
        accent = palette_for(self._receipt.accent, LIGHT).accent_edge
        self._bar(height=2, colour=accent)

    def add_amount(self) -> None:
        wide = self._set(self._receipt.amount, AMOUNT, width=A4_WIDTH * 4)
        size = max(AMOUNT_SIZE_MIN, min(AMOUNT.size, AMOUNT.size * WIDTH / max(wide.width, 1)))
        amount = self._set(self._receipt.amount, replace(AMOUNT, size=size), width=WIDTH, lines_max=AMOUNT_LINES_MAX)
        self._top += 40
        self._top = self._write(amount, offset=0, top=self._top, part=self.document.content.add("P")) + 24

    def add_rows(self) -> None:
        table = self.document.content.add("Table")
        for label, value in self._receipt.rows:
            self._add_row(label, value, table.add("TR"))
        self._bar(height=HAIRLINE, colour=LINE)

    def _add_row(self, label: str, value: str, row: Element) -> None:
        left = self._set(
            label, LABEL, width=LABEL_WIDTH - GAP, direction=self._receipt.direction, lines_max=LABEL_LINES_MAX
        )
        right = self._set(value, VALUE, width=WIDTH - LABEL_WIDTH, lines_max=VALUE_LINES_MAX)
        height = max(left.height, right.height)
        self._turn_page_unless_fits(height + 2 * ROW_PADDING)
        self._bar(height=HAIRLINE, colour=LINE)
        self._write(left, offset=0, top=self._top + ROW_PADDING, part=row.add("TH"))
        self._write(right, offset=LABEL_WIDTH, top=self._top + ROW_PADDING, part=row.add("TD"))
        self._top += height + 2 * ROW_PADDING

    def add_notes(self) -> None:
        self._top += 2 * GAP
        for text in self._receipt.notes:
            note = self._set(text, NOTE, width=WIDTH, direction=self._receipt.direction, lines_max=NOTE_LINES_MAX)
            self._turn_page_unless_fits(note.height)
            self._top = self._write(note, offset=0, top=self._top, part=self.document.content.add("P")) + GAP / 2

    def add_footers(self) -> None:
        count = len(self.document.pages)
        for index, page in enumerate(self.document.pages, start=1):
            self._page, self._top = page, FOOTER_TOP
            self._bar(height=HAIRLINE, colour=LINE)
            footer = self._set(self._receipt.footer, FOOTER, width=WIDTH - 60)
            part = self.document.content.add("P") if index == 1 else None
            self._write(footer, offset=0, top=FOOTER_TOP + 10, part=part)
            if count > 1:
                number = self._set(f"{index} / {count}", FOOTER, width=60, direction="ltr")
                self._write(number, offset=WIDTH - number.width, top=FOOTER_TOP + 10, part=None)

    def _add_logo(self, logo: Picture | None) -> float:
        """How much room it takes beside the name."""
        if logo is None:
            return 0
        scale = min(LOGO_SIDE / logo.height, LOGO_WIDTH_MAX / logo.width)
        width, height = logo.width * scale, logo.height * scale
        figure = self.document.content.add("Figure", alternative=self._receipt.merchant)
        x = self._x(width if self._is_rtl else 0)
        self._page.place(logo, x=x, top=self._top + (LOGO_SIDE - height) / 2, width=width, height=height, part=figure)
        return width + GAP

    def _set(
        self, text: str, style: Style, *, width: float, direction: Direction = "auto", lines_max: int = 1
    ) -> Paragraph:
        # Names and values go the way of their own letters: a telephone number in an Arabic receipt stays whole.
        return set_paragraph(
            text, style, width=width, direction=direction, language=self._receipt.language, lines_max=lines_max
        )

    def _write(self, paragraph: Paragraph, *, offset: float, top: float, part: Element | None) -> float:
        side: Literal["left", "right"] = "right" if self._is_rtl else "left"
        return self._page.write(paragraph, x=self._x(offset), top=top, side=side, part=part)

    def _bar(self, *, height: float, colour: Colour) -> None:
        self._page.rectangle(x=MARGIN, top=self._top, width=WIDTH, height=height, colour=colour)

    def _x(self, offset: float) -> float:
        return A4_WIDTH - MARGIN - offset if self._is_rtl else MARGIN + offset

    def _turn_page_unless_fits(self, height: float) -> None:
        if self._top + height > BOTTOM:
            self._page = self.document.add_page()
            self._top = MARGIN


def _drawable(logo: bytes | None) -> Picture | None:
    try:
        return None if logo is None else read_picture(logo)
    except NotAPicture:
        return None
