"""Where a period begins and ends: every entry is in exactly one of two periods that follow each other."""

from __future__ import annotations

import asyncio
import random
from datetime import datetime, timedelta
from typing import Any

import pytest

from build import Shop
from tidegate.infra.db import Database
from tidegate.wallet import commands
from wallet.merchant import MIDNIGHT, MINUTE, Merchant, sale

SECOND = timedelta(seconds=1)


@pytest.fixture
def merchant(db: Database, shop: Shop) -> Merchant:
    return Merchant(db, shop)


async def amounts(merchant: Merchant, start: datetime | None, end: datetime | None) -> list[int]:
    period = await commands.get_period(
        merchant.db, merchant.shop.business_id, "NGN", start=start, end=end, now=MIDNIGHT + 60 * MINUTE
    )
    lines = await commands.list_all(merchant.db, period, lines_max=1_000)
    assert period.closing.minor - period.opening.minor == sum(line.amount.minor for line in lines)
    return [line.amount.minor for line in lines]


async def test_a_journal_whose_writer_read_the_clock_early_is_in_one_of_two_periods(merchant: Merchant) -> None:
    """It read the clock first, and had the wallet second."""
    for number, second in enumerate((1, 5, 2), start=1):
        await merchant.book(sale(number), at=MIDNIGHT + second * SECOND)
    bound = MIDNIGHT + 3 * SECOND
    before = await amounts(merchant, None, bound)
    for number in (4, 5):
        await merchant.book(sale(number), at=MIDNIGHT + 6 * SECOND)
    assert before + await amounts(merchant, bound, None) == [1, 2, 3, 4, 5]


async def test_an_entry_that_is_booked_after_a_statement_was_read_is_in_the_next_one(merchant: Merchant) -> None:
    await merchant.book(sale(1), at=MIDNIGHT)
    bound = MIDNIGHT + MINUTE
    assert await amounts(merchant, None, bound) == [1]
    # Its writer read the clock before the end of the period, and waited for the wallet until after it.
    await merchant.book(sale(2), at=bound - SECOND)
    assert await amounts(merchant, None, bound) == [1]
    assert await amounts(merchant, bound, None) == [2]


async def test_a_period_that_is_not_over_stays_open(merchant: Merchant) -> None:
    await merchant.book(sale(1), at=MIDNIGHT)
    tomorrow = MIDNIGHT + timedelta(days=1)
    assert await amounts(merchant, None, tomorrow) == [1]
    await merchant.book(sale(2), at=MIDNIGHT + MINUTE)
    assert await amounts(merchant, None, tomorrow) == [1, 2]


async def test_times_rise_with_numbers_however_many_write_at_once(merchant: Merchant, admin: Any) -> None:
    moments = [MIDNIGHT + number * SECOND for number in range(40)]
    random.Random(7).shuffle(moments)
    await asyncio.gather(*(merchant.book(sale(1), at=moment) for moment in moments))
    rows = await admin.fetch("SELECT created_at FROM journal ORDER BY id")
    booked = [row["created_at"] for row in rows]
    assert booked == sorted(booked)
    for bound in moments:
        assert len(await amounts(merchant, None, bound)) + len(await amounts(merchant, bound, None)) == len(moments)
