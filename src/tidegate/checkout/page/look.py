"""One look at one payment: everything that a page is drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property

from markupsafe import Markup

from tidegate.checkout.model import Movements
from tidegate.checkout.page.time_format import zone_of
from tidegate.checkout.page.words import Words
from tidegate.core.clock import to_iso
from tidegate.core.method import Method, MethodNames
from tidegate.core.money import Currency, Money
from tidegate.payment.change import Situation


@dataclass(frozen=True)
class Look:
    situation: Situation
    movements: Movements
    words: Words
    names: MethodNames
    now: datetime
    # The page's own address, without a query.
    here: str
    # What the query says.
    asked: Method | None = None
    goes_back: bool = False
    stays: bool = False

    @property
    def shop_name(self) -> str:
        return self.situation.business.name

    @property
    def currency(self) -> Currency:
        return self.situation.payment.order.asked.currency

    @cached_property
    def zone(self) -> timezone:
        return zone_of(self.currency)

    def money(self, amount: Money) -> str:
        return self.words.money(amount)

    def time(self, moment: datetime) -> Markup:
        return self._time(moment, self.words.time(moment, self.zone), "time")

    def moment(self, moment: datetime) -> Markup:
        return self._time(moment, self.words.moment(moment, self.zone), "moment")

    def _time(self, moment: datetime, text: str, style: str) -> Markup:
        """The page's script shows it in the device's own zone, where that is another one."""
        offset = self.zone.utcoffset(None)
        assert offset is not None  # A fixed zone has one.
        minutes = int(offset.total_seconds()) // 60
        element = Markup('<time datetime="{}" data-offset="{}" data-style="{}">{}</time>')
        return element.format(to_iso(moment), minutes, style, text)

    def seconds_until(self, moment: datetime) -> int:
        return max(0, int((moment - self.now).total_seconds()))

    def method_href(self, method: Method) -> str:
        return f"{self.here}?method={self.names.in_record(method)}"
