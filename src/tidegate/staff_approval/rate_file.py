"""The daily file of the European Central Bank, as rates to be approved together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import IO

import msgspec

from tidegate.collection import rate_wire, set_rate
from tidegate.collection.rate import Rate
from tidegate.infra.db import Database
from tidegate.infra.http.read import read
from tidegate.infra.timestamp import to_iso
from tidegate.rail.bankfiles.ecb import ReferenceRate, rates_in
from tidegate.staff_approval.arguments import ImportArguments, RateArguments

SOURCE = "ecb"


def arguments_in(file: IO[bytes], *, spread_percent: Decimal | str | None, now: datetime) -> ImportArguments:
    """Raises FileRefused, and Invalid by the rules of any other rate: one of tomorrow is refused."""
    return ImportArguments(rates=[arguments_of(_checked(one, spread_percent, now)) for one in rates_in(file)])


async def with_last_spreads(db: Database, rates: Sequence[RateArguments]) -> list[RateArguments]:
    """Each with the spread of the last rate of its pair; 0 where there is none."""
    last = {(one.base, one.quote): one.spread_basis_points for one in await set_rate.list_rates(db)}
    return [msgspec.structs.replace(one, spread_basis_points=last.get((one.base, one.quote), 0)) for one in rates]


def arguments_of(rate: Rate) -> RateArguments:
    return RateArguments(
        base=rate.base, quote=rate.quote, rate=rate.rate, source=rate.source,
        spread_basis_points=rate.spread_basis_points, quoted_at=rate.quoted_at,
    )  # fmt: skip


def _checked(one: ReferenceRate, spread_percent: Decimal | str | None, now: datetime) -> Rate:
    asked = {
        "base": one.base,
        "quote": one.quote,
        "rate": one.rate,
        "source": SOURCE,
        "quotedAt": to_iso(one.quoted_at),
    }
    if spread_percent is not None:
        asked["spreadPercent"] = spread_percent
    return rate_wire.rate_from(read(asked, rate_wire.SetRate), source=SOURCE, now=now)
