"""Times and dates as each language writes them, in the time of the currency's country.

The clock has 24 hours in every language: "Expires at 2:32" must not leave anybody wondering which half of the day is
meant, and it is what the banks' own receipts show. Digits are Latin, as in amounts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, timezone
from functools import lru_cache
from typing import Self

from babel import Locale
from babel.dates import format_datetime, format_time

from tidegate.core.money import Currency

_WEST_AFRICA = timezone(timedelta(hours=1), "WAT")
_EAST_AFRICA = timezone(timedelta(hours=3), "EAT")
_GREENWICH = timezone(timedelta(0), "GMT")
_SOUTH_AFRICA = timezone(timedelta(hours=2), "SAST")
_CENTRAL_AFRICA = timezone(timedelta(hours=2), "CAT")

# None of these countries changes its clocks, so no database of time zones is needed. Dollars and euros have many.
_ZONES: Mapping[Currency, timezone] = {
    Currency.NGN: _WEST_AFRICA,
    Currency.GHS: _GREENWICH,
    Currency.KES: _EAST_AFRICA,
    Currency.UGX: _EAST_AFRICA,
    Currency.TZS: _EAST_AFRICA,
    Currency.ZAR: _SOUTH_AFRICA,
    Currency.ZMW: _CENTRAL_AFRICA,
    Currency.USD: UTC,
    Currency.EUR: UTC,
}

# The day before the month, as in all of these countries; babel would write Sun, Nov 15, 2026.
_OWN_DATE_PATTERNS: Mapping[str, str] = {"en": "E d MMM y"}

# Every minute of a day in every language: babel takes 50 µs for one.
_MINUTES_REMEMBERED_MAX = 24 * 60 * 5


def zone_of(currency: Currency) -> timezone:
    """The zone's short name is `zone.tzname(None)`."""
    return _ZONES[currency]


def offset_minutes(zone: timezone) -> int:
    """How far its clocks are ahead of Greenwich's."""
    return int(zone.utcoffset(None).total_seconds()) // 60


@lru_cache(maxsize=_MINUTES_REMEMBERED_MAX)
def _time_of_day(hour: int, minute: int, pattern: str, locale: Locale) -> str:
    return format_time(time(hour, minute), pattern, locale=locale)


@dataclass(frozen=True, slots=True)
class TimeFormat:
    locale: Locale
    time_pattern: str
    moment_pattern: str

    @classmethod
    def of(cls, locale: Locale) -> Self:
        skeletons = locale.datetime_skeletons
        time_pattern = skeletons["Hm"].pattern
        date_pattern = _OWN_DATE_PATTERNS.get(locale.language) or skeletons["yMMMEd"].pattern
        return cls(locale, time_pattern, locale.datetime_formats["medium"].format(time_pattern, date_pattern))

    def time(self, moment: datetime, zone: timezone) -> str:
        there = moment.astimezone(zone)
        return _time_of_day(there.hour, there.minute, self.time_pattern, self.locale)

    def moment(self, moment: datetime, zone: timezone) -> str:
        return format_datetime(moment, self.moment_pattern, tzinfo=zone, locale=self.locale)
