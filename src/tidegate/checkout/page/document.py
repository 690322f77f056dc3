"""What payers get as a PDF, in their language and the merchant's colour: a receipt, the poster of a link."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Literal

import structlog

from tidegate.infra.pdf.compile import compile_pdf

log = structlog.get_logger("document")


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfDocument:
    """Texts of the PDF; its design, a file in `templates`, has them as `data`."""

    language: str
    direction: Literal["ltr", "rtl"]
    title: str
    merchant: str
    amount: str
    # Sentences below all the rest.
    notes: tuple[str, ...]
    # As #rrggbb.
    accent: str
    # PNG, JPEG or WebP.
    logo: bytes | None = field(repr=False)
    made_at: datetime


def pdf_by(template: str, document: PdfDocument) -> bytes:
    """Some milliseconds: use a thread."""
    try:
        return compile_pdf(_template(template), document, made_at=document.made_at)
    except RuntimeError as error:
        if document.logo is None:
            raise
        log.error("made without logo: the image is broken", merchant=document.merchant, why=str(error))
        return pdf_by(template, replace(document, logo=None))


@cache
def _template(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text("utf-8")
