"""The poster of a payment link, as a PDF to print: who is paid, for what, how much, and the QR code."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import BytesIO

import segno

from tidegate.checkout.language.catalog import Catalog
from tidegate.checkout.page.document import PdfDocument, pdf_by
from tidegate.core.colour import LIGHT, palette_for
from tidegate.merchant.model import Business
from tidegate.payment_link.model import PaymentLink


@dataclass(frozen=True, slots=True, kw_only=True)
class PosterDocument(PdfDocument):
    scan: str
    how: str
    # Before the address, for those who cannot scan.
    way: str
    address: str
    # SVG.
    qr: bytes = field(repr=False)


def poster_of(
    business: Business, link: PaymentLink, words: Catalog, *, address: str, logo: bytes | None, is_test: bool
) -> PosterDocument:
    asked, svg = link.terms.asked, BytesIO()
    # A higher level than on a screen: paper gets dirty.
    segno.make(address, error="q", micro=False).save(svg, kind="svg", border=0)
    return PosterDocument(
        language=words.language,
        direction="rtl" if words.direction == "rtl" else "ltr",
        title=link.terms.name,
        merchant=business.name,
        amount=words.money(asked) if asked else words("poster.chosen"),
        scan=words("poster.scan"),
        how=words("poster.how"),
        way=words("poster.or"),
        address=address,
        notes=(words("layout.test_mode"),) if is_test else (),
        accent=str(palette_for(business.brand.accent, LIGHT).accent_text),
        qr=svg.getvalue(),
        logo=logo,
        made_at=link.created_at,
    )


def poster_pdf(poster: PosterDocument) -> bytes:
    return pdf_by("poster.typ", poster)
