"""The poster of a payment link, read back with another program."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
import segno

from build import Shop
from payment_link.link_calls import call, make, path_in
from pdf_file import claims_accessibility, read, squeezed, text_of
from pictures import png
from tidegate.checkout.link_page.poster import PosterDocument, poster_pdf

POSTER = PosterDocument(
    language="en",
    direction="ltr",
    title="Workshop ticket",
    merchant="Lekki Coffee Roasters",
    amount="₦2,500.00",
    scan="Scan to pay",
    how="Open the camera",
    way="or go to",
    address="https://pay.example.com/link/pl_k3PzQ_5TqBn0yJ3mX8aVdWcR2sKe",
    notes=(),
    accent="#0f7b6c",
    qr=segno.make("x", micro=False).svg_inline().encode(),
    logo=None,
    made_at=datetime(2026, 11, 15, tzinfo=UTC),
)
LONGEST = {"title": "W" * 200, "merchant": "Wide name " * 20, "amount": "₦100,000,000.00", "notes": ("Test mode",) * 2}


@pytest.mark.parametrize(
    "changes",
    [{}, {"logo": png()}, {**LONGEST, "logo": png()}, {"title": "#panic() *x* $ @y", "direction": "rtl"}],
    ids=["plain", "with a logo", "everything at its longest", "text that looks like code"],
)
def test_a_poster_is_one_accessible_sheet(changes: dict[str, Any]) -> None:
    file = poster_pdf(replace(POSTER, **changes))
    assert len(read(file).pages) == 1
    assert claims_accessibility(file)
    assert len(file) < 60_000
    assert squeezed(changes.get("title", POSTER.title)[:30]) in squeezed(text_of(file))


async def test_the_poster_of_a_link_says_who_is_paid_what_for_and_where(
    shop: Shop, payer_client: httpx.AsyncClient
) -> None:
    link = await make(shop)
    answer = await payer_client.get(f"{path_in(link)}/poster.pdf")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/pdf")
    text = squeezed(text_of(answer.content))
    for words in ("Workshop ticket", "₦2,500.00", "Scan to pay", link["link"], "Test mode"):
        assert squeezed(words) in text, words
    assert link["poster"].endswith(f"{path_in(link)}/poster.pdf")


@pytest.mark.parametrize(
    ("language", "words"), [("fr", "Vous choisissez le montant"), ("sw", "Skani ili kulipa"), ("ar", "امسح")]
)
async def test_a_poster_speaks_the_language_that_is_asked_for(
    shop: Shop, payer_client: httpx.AsyncClient, language: str, words: str
) -> None:
    link = await make(shop, amount=..., amountMin=10)
    answer = await payer_client.get(f"{path_in(link)}/poster.pdf?lang={language}")
    assert squeezed(words) in squeezed(text_of(answer.content))


async def test_an_ended_link_still_has_its_poster_and_an_unknown_one_none(
    shop: Shop, payer_client: httpx.AsyncClient
) -> None:
    link = await make(shop)
    await call(shop, "POST", f"/{link['id']}/end")
    assert (await payer_client.get(f"{path_in(link)}/poster.pdf")).status_code == 200
    assert (await payer_client.get("/link/pl_AAAAA_" + "0" * 22 + "/poster.pdf")).status_code == 404


@pytest.mark.parametrize("language", ["x", "english", "zz-ZZ", "e" * 300])
async def test_a_poster_in_a_language_that_is_none_is_refused(
    shop: Shop, payer_client: httpx.AsyncClient, language: str
) -> None:
    answer = await payer_client.get(f"{path_in(await make(shop))}/poster.pdf?lang={language}")
    assert (answer.status_code, answer.headers["content-type"]) == (422, "text/plain; charset=utf-8")
    assert "Let `lang` be one of en, " in answer.text
