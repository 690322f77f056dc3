"""A receipt to keep, as a PDF; `templates/receipt.typ` is its design."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Literal

from tidegate.infra.pdf.compile import compile_pdf


@dataclass(frozen=True, slots=True)
class ReceiptDocument:
    """Strings that are ready to be read; the template has them as `data`."""

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
    # PNG, JPEG or WebP.
    logo: bytes | None = field(repr=False)
    made_at: datetime


def receipt_pdf(receipt: ReceiptDocument) -> bytes:
    return compile_pdf(_template(), receipt, made_at=receipt.made_at)


@cache
def _template() -> str:
    return (resources.files(__package__) / "templates" / "receipt.typ").read_text("utf-8")
