"""Amounts and times as the dashboard writes them. Times in the business's zone, with UTC beside them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tidegate.core.money import Currency, Money

NOTHING = "–"


def amount(money: Money | None) -> str:
    """₦412,300.00, KSh 3,450.00."""
    if money is None:
        return NOTHING
    sign = money.currency.spec.sign
    gap = " " if sign[-1].isalpha() else ""
    minus = "−" if money.minor < 0 else ""
    return f"{minus}{sign}{gap}{digits(abs(money.minor), money.currency)}"


def audited_amount(text: str) -> str:
    """As `amount` writes it, of what the audit trail has."""
    code, _, number = text.partition(" ")
    if code not in Currency.__members__:
        return text
    currency = Currency(code)
    return amount(Money(int(Decimal(number.replace(",", "")).scaleb(currency.exponent)), currency))


def digits(minor: int, currency: Currency) -> str:
    whole, rest = divmod(minor, currency.minor_per_major)
    return f"{whole:,}.{rest:0{currency.exponent}d}" if currency.exponent else f"{whole:,}"


def typed(money: Money) -> str:
    """As a form's field has it."""
    return digits(money.minor, money.currency).replace(",", "")


def many(number: int, one: str, more: str = "") -> str:
    """1 row, 2 rows; 1 try, 2 tries."""
    return f"{number:,} {one if number == 1 else more or f'{one}s'}"


def up_to(number: int, most: int) -> str:
    """12, or 99+ of what is counted no further than 100."""
    return str(number) if number < most else f"{most - 1}+"


def many_up_to(number: int, one: str, most: int) -> str:
    return many(number, one) if number < most else f"{up_to(number, most)} {one}s"


def ahead_words(now: datetime, real_now: datetime) -> str:
    """By how much the clock of a sandbox's business is ahead, in words; empty where it is not."""
    ahead = max(0, round((now - real_now).total_seconds()))
    units = ((ahead // 86_400, "day"), (ahead % 86_400 // 3_600, "hour"), (ahead % 3_600 // 60, "minute"))
    return " and ".join([many(number, word) for number, word in units if number][:2])


def percent(part: int, whole: int) -> str:
    """One decimal, cut: 99.99 % is not all."""
    thousandths = part * 1_000 // whole if whole else 0
    return f"{thousandths // 10}.{thousandths % 10}%" if whole else NOTHING


@lru_cache(maxsize=500)
def zone_of(name: str) -> tzinfo:
    """UTC where this machine has no table of the zone."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


@dataclass(frozen=True)
class Times:
    """Of one business, at one moment."""

    zone_name: str
    now: datetime

    @property
    def zone(self) -> tzinfo:
        return zone_of(self.zone_name)

    @property
    def place(self) -> str:
        return self.zone_name.rpartition("/")[2].replace("_", " ")

    @property
    def today(self) -> date:
        return self.now.astimezone(self.zone).date()

    def start_of(self, day: date) -> datetime:
        return datetime.combine(day, time(), self.zone).astimezone(UTC)

    def days(self, count: int) -> list[date]:
        """The last so many, today included."""
        return [self.today - timedelta(days=back) for back in range(count - 1, -1, -1)]

    def short(self, moment: datetime | None) -> str:
        """The time today; otherwise the day too."""
        if moment is None:
            return NOTHING
        local = moment.astimezone(self.zone)
        if local.date() == self.today:
            return f"{local:%H:%M}"
        if local.year == self.now.astimezone(self.zone).year:
            return f"{local.day} {local:%b}, {local:%H:%M}"
        return self.date(moment)

    def long(self, moment: datetime | None) -> str:
        if moment is None:
            return NOTHING
        local = moment.astimezone(self.zone)
        return f"{local:%a} {local.day} {local:%b %Y}, {local:%H:%M:%S}"

    def second(self, moment: datetime) -> str:
        return f"{moment.astimezone(self.zone):%H:%M:%S}"

    def field(self, moment: datetime) -> str:
        """As a browser's field for a day and a time has it."""
        return f"{moment.astimezone(self.zone):%Y-%m-%dT%H:%M}"

    def day(self, moment: datetime) -> str:
        local = moment.astimezone(self.zone)
        return f"{local.day} {local:%b}"

    def date(self, moment: datetime) -> str:
        local = moment.astimezone(self.zone)
        return f"{local.day} {local:%b %Y}"

    def utc(self, moment: datetime | None) -> str:
        return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if moment else ""


def weekday(day: date) -> str:
    return f"{day:%A}, {day.day} {day:%B}"
