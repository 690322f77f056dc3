"""One look at one payment: everything that a page is drawn from, or filled from when it was drawn before."""

from __future__ import annotations

from datetime import datetime, timezone

import msgspec
from markupsafe import Markup

from tidegate.checkout.model import Movements
from tidegate.checkout.page.cost import Cost, costs_of
from tidegate.checkout.page.scene import Scene, scene_of, selected_method
from tidegate.checkout.page.time_format import offset_minutes, zone_of
from tidegate.checkout.page.words import Words
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.infra.timestamp import to_iso
from tidegate.payment.change import Situation
from tidegate.rail import phone as phones

DESCRIPTION_LENGTH_MAX = 140
# Money that comes now goes back.
_UNPAID = frozenset({Scene.EXPIRED, Scene.CANCELLED, Scene.USED_UP})
_TIME = Markup('<time datetime="{}" data-offset="{}" data-style="{}">{}</time>')


class Look(msgspec.Struct, frozen=True, kw_only=True):
    situation: Situation
    movements: Movements
    words: Words
    now: datetime
    scene: Scene
    # The selected one; and those that the page shows, each with what it costs.
    chosen: Method
    methods: tuple[Method, ...]
    costs: tuple[Cost, ...]
    # What is being paid, in the merchant's words; empty where they say nothing.
    description: str
    # For the forms of the page, and for its script and style.
    token: str
    nonce: str
    # What the query says.
    asked: Method | None
    goes_back: bool
    stays: bool
    # What the rail can do.
    can_resend: bool

    @classmethod
    def of(
        cls,
        situation: Situation,
        *,
        movements: Movements,
        words: Words,
        now: datetime,
        token: str,
        nonce: str,
        asked: Method | None,
        goes_back: bool,
        stays: bool,
        can_resend: bool = False,
    ) -> Look:
        scene = scene_of(situation, now=now, goes_back=goes_back)
        chosen = selected_method(situation, asked)
        methods = situation.payment.order.methods if scene is Scene.CHOOSE else (chosen,)
        return cls(
            situation=situation,
            movements=movements,
            words=words,
            now=now,
            scene=scene,
            chosen=chosen,
            methods=methods,
            costs=costs_of(situation, methods),
            description=_description(situation.payment.order.metadata),
            token=token,
            nonce=nonce,
            asked=asked,
            goes_back=goes_back,
            stays=stays,
            can_resend=can_resend,
        )

    @property
    def phone(self) -> str | None:
        """The customer's, as the form of mobile money takes it; None where it is no number for this currency."""
        number = self.situation.payment.order.customer.phone
        return phones.national(number, self.currency) if number and self.scene is Scene.CHOOSE else None

    @property
    def may_get_money(self) -> bool:
        """The payment has ended unpaid, and an account was shown that somebody may have sent money to."""
        payment = self.situation.payment
        return self.scene in _UNPAID and payment.attempts_by_method.get(Method.BANK_TRANSFER, 0) > 0

    @property
    def shop_name(self) -> str:
        return self.situation.business.name

    @property
    def currency(self) -> Currency:
        return self.situation.payment.order.asked.currency

    @property
    def zone(self) -> timezone:
        return zone_of(self.currency)

    def money(self, amount: Money) -> str:
        return self.words.money_format.text(amount)

    def time(self, moment: datetime) -> Markup:
        return time_element(to_iso(moment), self.words.time(moment, self.zone), self.zone, "time")

    def moment(self, moment: datetime) -> Markup:
        """With the zone's name: on paper and without script nothing else says which it is."""
        text = f"{self.words.moment(moment, self.zone)} {self.zone.tzname(None)}"
        return time_element(to_iso(moment), text, self.zone, "moment")

    def seconds_until(self, moment: datetime) -> int:
        return max(0, int((moment - self.now).total_seconds()))


def _description(metadata: str | None) -> str:
    """A text under `description` in the metadata."""
    if metadata is None:
        return ""
    text = msgspec.json.decode(metadata).get("description")
    return text[:DESCRIPTION_LENGTH_MAX] if isinstance(text, str) and text.strip() else ""


def time_element(iso: str, text: str, zone: timezone, style: str) -> Markup:
    """The page's script shows it in the device's own zone, where that is another one."""
    return _TIME.format(iso, offset_minutes(zone), style, text)
