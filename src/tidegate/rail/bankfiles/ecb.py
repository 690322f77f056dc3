"""The daily file of reference rates of the European Central Bank."""

from __future__ import annotations

from datetime import UTC, datetime, time
from decimal import Decimal, InvalidOperation, localcontext
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from tidegate.core.money import ACCOUNT_OFFERS, Currency
from tidegate.infra.lazy_module import LazyModule
from tidegate.rail.bankfiles.model import FileRefused
from tidegate.rail.bankfiles.xml_file import SAFE

if TYPE_CHECKING:
    from lxml import etree
else:
    etree = LazyModule("lxml.etree")  # 4 MB, for banks' files only

FILE_BYTES_MAX = 1024 * 1024
NAMESPACE = "http://www.ecb.int/vocabulary/2002-08-01/eurofxref"
# At about 16:00 in Frankfurt.
PUBLISHED_AT = time(15, 0, tzinfo=UTC)
DIGITS = 8


class ReferenceRate(NamedTuple):
    """The value of one unit of `base` in `quote`."""

    base: Currency
    quote: Currency
    rate: Decimal
    quoted_at: datetime


def rates_in(source: IO[bytes]) -> list[ReferenceRate]:
    """From each currency of an account into every other that the file has. Raises FileRefused."""
    content = source.read(FILE_BYTES_MAX + 1)
    if len(content) > FILE_BYTES_MAX:
        raise FileRefused(f"it has more than {FILE_BYTES_MAX} bytes")
    try:
        root = etree.fromstring(content, etree.XMLParser(**SAFE))
    except etree.XMLSyntaxError as error:
        raise FileRefused(f"line {error.lineno}: {error.msg}") from None
    if root.getroottree().docinfo.doctype:
        raise FileRefused("it declares a document type, which this file never has")
    days = root.findall(f".//{{{NAMESPACE}}}Cube[@time]")
    if len(days) != 1:
        raise FileRefused("it is not the daily file of the European Central Bank: it has not exactly one day")
    quoted_at = _quoted_at(days[0])
    per_euro = {Currency.EUR: Decimal(1), **_per_euro(days[0])}
    with localcontext() as context:
        context.prec = DIGITS
        return [
            ReferenceRate(base, quote, per_euro[quote] / per_euro[base], quoted_at)
            for base in ACCOUNT_OFFERS
            for quote in per_euro
            if base in per_euro and base is not quote
        ]


def _quoted_at(day: Any) -> datetime:
    try:
        return datetime.combine(datetime.strptime(day.get("time"), "%Y-%m-%d").replace(tzinfo=UTC), PUBLISHED_AT)
    except ValueError:
        raise FileRefused(f"line {day.sourceline}: {day.get('time')!r} is no date") from None


def _per_euro(day: Any) -> dict[Currency, Decimal]:
    found: dict[Currency, Decimal] = {}
    for one in day:
        code, text = one.get("currency"), one.get("rate")
        if code not in list(Currency):
            continue
        try:
            rate = Decimal(text or "")
        except InvalidOperation:
            raise FileRefused(f"line {one.sourceline}: {text!r} is no rate") from None
        if not rate.is_finite() or rate <= 0:
            raise FileRefused(f"line {one.sourceline}: {text!r} is no rate")
        found[Currency(code)] = rate
    return found
