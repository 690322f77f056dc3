"""A statement as CSV and as a PDF says what it says as JSON."""

from __future__ import annotations

import io
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pypdf
import pytest

from build import Shop
from payment.refusal import assert_says_no
from pictures import png
from tidegate.core.ids import Mode
from tidegate.core.money import Currency
from tidegate.infra.db import Database
from tidegate.merchant import commands as merchants
from tidegate.wallet import commands, wire
from wallet.merchant import MIDNIGHT, Merchant, refund, sale


@pytest.fixture
def merchant(db: Database, shop: Shop) -> Merchant:
    return Merchant(db, shop)


def said(reader: pypdf.PdfReader) -> str:
    """On the first page, whatever the viewer takes for a line."""
    return " ".join(reader.pages[0].extract_text().split())


async def a_few(merchant: Merchant) -> None:
    await merchant.book(sale(1_000_50, fee=14_00, vat=1_05))
    await merchant.book(refund(100_00), at=MIDNIGHT + timedelta(hours=23))
    await merchant.book(sale(99_50), at=MIDNIGHT + timedelta(days=1))
    await merchant.book(refund(1_000_00), at=MIDNIGHT + timedelta(days=2))


async def test_every_cell_of_a_csv(merchant: Merchant) -> None:
    await a_few(merchant)
    rows = await merchant.csv()
    assert [row.pop("bookedAt") for row in rows][:2] == ["2026-11-02T00:00:00.000Z", "2026-11-02T23:00:00.000Z"]
    assert all(int(row.pop("id")) > 0 for row in rows)
    assert [tuple(row.values()) for row in rows] == [
        ("2026-11-02", "2026-11-01", "", "Checkout payment", "", "1000.50", "1000.50", "NGN", "14.00", "1.05"),
        ("2026-11-02", "2026-11-01", "", "Refund", "100.00", "", "900.50", "NGN", "0.00", "0.00"),
        ("2026-11-03", "2026-11-01", "", "Checkout payment", "", "99.50", "1000.00", "NGN", "0.00", "0.00"),
        ("2026-11-04", "2026-11-01", "", "Refund", "1000.00", "", "0.00", "NGN", "0.00", "0.00"),
    ]


async def test_a_file_has_all_of_the_period_whatever_page_is_named(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "BATCH", 2)
    await merchant.book(*(sale(minor, Currency.UGX) for minor in range(1, 6)))
    answer = await merchant.ask(
        "/wallets/UGX/statement", accept="text/csv", perPage=1, dateFrom="2026-11-02", dateTo="2026-11-03"
    )
    assert answer.headers["content-disposition"] == 'attachment; filename="statement-UGX-2026-11-02-2026-11-03.csv"'
    head, *rows = answer.text.splitlines()
    assert head == ",".join(wire.CSV_COLUMNS)
    assert [row.split(",")[5:7] for row in rows] == [["1", "1"], ["2", "3"], ["3", "6"], ["4", "10"], ["5", "15"]]


async def test_files_and_pages_add_up_alike(merchant: Merchant) -> None:
    await a_few(merchant)
    dates = {"dateFrom": "2026-11-02", "dateTo": "2026-11-03"}
    page = await merchant.statement(**dates)
    amounts = [line["amount"] for line in page["results"]]
    taken_in, paid_out = sum(a for a in amounts if a > 0), -sum(a for a in amounts if a < 0)
    rows = await merchant.csv(**dates)
    assert sum(Decimal(row["credit"] or 0) for row in rows) == taken_in
    assert sum(Decimal(row["debit"] or 0) for row in rows) == paid_out
    assert Decimal(rows[-1]["balance"]) == page["closingBalance"]
    text = said(await merchant.pdf(**dates))
    for label, amount in (
        ("Opening balance", page["openingBalance"]),
        ("Money in", taken_in),
        ("Money out", paid_out),
        ("Fees", sum(line["fee"] for line in page["results"])),
        ("VAT on fees", sum(line["vat"] for line in page["results"])),
        ("Closing balance", page["closingBalance"]),
    ):
        assert f"{label} {amount:,.2f}" in text
    assert page["openingBalance"] + taken_in - paid_out == page["closingBalance"]


async def test_a_pdf_says_what_each_amount_was_before_the_fee(merchant: Merchant) -> None:
    await a_few(merchant)
    lines = [line for line in (await merchant.statement())["results"] if line["fee"]]
    assert lines
    text = said(await merchant.pdf())
    for line in lines:
        gross = line["amount"] + line["fee"] + line["vat"]
        figures = (gross, line["fee"], line["vat"], line["amount"], line["balance"])
        assert " ".join(f"{figure:,.2f}" for figure in figures) in text
    assert "Time zone UTC" in text


async def test_a_file_ends_where_it_was_to_end_when_it_was_asked_for(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "BATCH", 2)
    there = await merchant.book(*(sale(1) for _ in range(5)))
    period = await commands.get_period(
        merchant.db, merchant.shop.business_id, "NGN", start=None, end=None, now=MIDNIGHT
    )
    seen = []
    async for lines in commands.batches(merchant.db, period):
        seen += lines
        await merchant.book(sale(1))
    assert [line.id for line in seen] == there
    assert seen[-1].balance == period.closing


async def test_an_empty_period_is_a_file_too(merchant: Merchant) -> None:
    await a_few(merchant)
    assert await merchant.csv(dateTo="2026-10-01") == []
    text = said(await merchant.pdf(dateFrom="2026-11-03T12:00:00Z", dateTo="2026-11-03T13:00:00Z"))
    assert text.count("1,000.00") == 4
    assert "Period 3 Nov 2026, 12:00 – 3 Nov 2026, 13:00" in text


async def test_a_pdf_is_a_document_of_the_business(merchant: Merchant) -> None:
    await a_few(merchant)
    answer = await merchant.ask("/wallets/NGN/statement", accept="application/pdf", dateFrom="2026-11-02")
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.headers["content-disposition"] == 'attachment; filename="statement-NGN-2026-11-02.pdf"'
    text = said(await merchant.pdf())
    [wallet] = await merchant.wallets()
    for part in ("Test Shop", "Wallet statement", wallet["walletNumber"], "NGN", "Issued by Tidegate", "Page 1 of 1"):
        assert part in text
    assert "Test mode" in text


async def test_a_pdf_that_would_be_too_long_is_refused(merchant: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "PRINTED_LINES_MAX", 3)
    await a_few(merchant)
    answer = await merchant.ask("/wallets/NGN/statement", accept="application/pdf")
    assert_says_no(answer, 422, "VALIDATION_FAILED", field="dateFrom")
    assert "3 lines, the limit of a PDF; shorten it or request CSV" in answer.json()["message"]
    assert len((await merchant.pdf(dateTo="2026-11-03")).pages) == 1


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("", "application/json; charset=utf-8"),
        ("*/*", "application/json; charset=utf-8"),
        ("application/json, application/pdf", "application/json; charset=utf-8"),
        ("application/pdf, */*;q=0.1", "application/pdf"),
        ("text/csv;q=0.5, application/pdf", "application/pdf"),
        ("text/csv, application/pdf;q=0.9", "text/csv; charset=utf-8"),
    ],
)
async def test_a_client_gets_what_it_would_rather_have(merchant: Merchant, accept: str, media: str) -> None:
    await merchant.book(sale(1))
    answer = await merchant.ask("/wallets/NGN/statement", accept=accept)
    assert (answer.status_code, answer.headers["content-type"], answer.headers["vary"]) == (200, media, "accept")


async def test_a_statement_has_the_logo_and_is_no_test_in_live_mode(merchant: Merchant) -> None:
    await a_few(merchant)
    business = await merchants.set_logo(merchant.db, merchant.shop.business_id, png(), now=MIDNIGHT)
    period = await commands.get_period(merchant.db, business.id, "NGN", start=None, end=None, now=MIDNIGHT)
    file = await commands.print_statement(merchant.db, business, period, mode=Mode.LIVE, now=MIDNIGHT)
    page = pypdf.PdfReader(io.BytesIO(file), strict=True).pages[0]
    resources: Any = page["/Resources"]
    assert len(resources["/XObject"]) == 1
    assert "Test mode" not in page.extract_text()
