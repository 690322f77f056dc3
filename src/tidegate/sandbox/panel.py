"""The simulator on the hosted page: actions of payers and banks; and the page of a card's issuer.

For developers, so in English only, whatever the language of the page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import msgspec

from tidegate.checkout.page import values
from tidegate.checkout.page.look import Look
from tidegate.checkout.page.pages import PATH, CheckoutPages
from tidegate.checkout.page.scene import Scene
from tidegate.checkout.page.sketch import Sketch
from tidegate.checkout.page.values import Value
from tidegate.core.errors import Conflict, Invalid, Problem
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.infra.http.routing import Route
from tidegate.infra.page.answer import Html
from tidegate.infra.page.door import Drawn, Page, Visit
from tidegate.payment.change import Situation
from tidegate.rail import phone as phones
from tidegate.rail.interface import Party
from tidegate.rail.sandbox.model import TEST_OTP, TEST_PIN
from tidegate.sandbox.simulator import Simulator
from tidegate.sandbox.wire import MINOR_MAX

AMOUNT_LENGTH_MAX = 20
_PAYER = Party(name="Ada Obi", account_number="0123454471", bank_name="Sample Bank")
_CARDS = (
    ("5319317801366660", "pays at once"),
    ("5366139833864633", "asks for a PIN"),
    ("5333018248439266", "PIN, then a code"),
    ("4084080000000409", "3-D Secure"),
    ("4960215093757593", "asks for an address"),
    ("4084080000005408", "declined: no money"),
)
_PHONES = (
    ("0000", "approves at once"),
    ("0001", "approves after 5 s"),
    ("0002", "not enough money"),
    ("0003", "declines"),
    ("0004", "no such wallet"),
    ("0005", "never answers; we ask again"),
    ("5678", "waits for you below"),
)
# Possible answers to a card's issuer: the fields, their display, and the result.
_ANSWERS: dict[Scene, tuple[tuple[dict[str, str], str, str], ...]] = {
    Scene.PIN: (({"pin": TEST_PIN}, TEST_PIN, "right PIN"), ({"pin": "9999"}, "9999", "wrong PIN")),
    Scene.OTP: (({"otp": TEST_OTP}, TEST_OTP, "right code"), ({"otp": "000000"}, "000000", "wrong code")),
    Scene.ADDRESS: (({"line": "1 Marina", "city": "Lagos"}, "1 Marina, Lagos", "any address will do"),),
}


@dataclass(frozen=True)
class TestValue:
    shown: str
    does: str
    # For the page's script: the tab, and the value of each field.
    fill: str


@dataclass(frozen=True)
class SimulatorView:
    transfers: tuple[tuple[str, str], ...]
    takes_transfer: bool
    takes_answer: bool
    takes_expiry: bool
    cards: tuple[TestValue, ...]
    phones: tuple[TestValue, ...]
    answers: tuple[TestValue, ...]

    @property
    def is_empty(self) -> bool:
        offers = (self.takes_transfer, self.takes_answer, self.takes_expiry, self.cards, self.phones, self.answers)
        return not any(offers)


@dataclass(frozen=True)
class SimulatorPanel:
    simulator: Simulator

    def panel(self, sketch: Sketch) -> SimulatorView | None:
        """None where nothing can be simulated."""
        view = _view(sketch)
        return None if view.is_empty else view

    def routes(self, pages: CheckoutPages) -> Sequence[Route]:
        async def simulate(visit: Visit) -> Html:
            payer = pages.admit(visit)
            situation = await pages.desk.look(payer)
            try:
                await self._act(visit.form, situation, pages)
            except Conflict:
                return pages.back_to(visit, "?changed=1")
            return pages.back_to(visit)

        async def issuer(visit: Visit) -> Drawn:
            return await pages.show_as(visit, "sandbox_issuer.html", Scene.ISSUER)

        return pages.door.routes(
            [
                Page("POST", f"{PATH}/simulate", "simulateOnPage", simulate, pages.desk.limit.act),
                Page("GET", f"{PATH}/3ds", "showTestIssuer", issuer, pages.desk.limit.look),
            ]
        )

    async def _act(self, form: Mapping[str, str], situation: Situation, pages: CheckoutPages) -> None:
        now = pages.desk.clock.now_of(situation.payment.business_id)
        key = (situation.payment.business_id, situation.payment.pay_code)
        simulator = self.simulator
        actions: dict[str, Callable[[], Awaitable[object]]] = {
            "transfer": lambda: simulator.send_transfer(*key, _amount(form, situation), payer=_PAYER, now=now),
            "approve": lambda: simulator.approve(*key, now=now),
            "decline": lambda: simulator.decline(*key, now=now),
            "expire": lambda: simulator.expire(*key, now=now),
        }
        act = actions.get(form.get("action", ""))
        if act is None:
            raise Invalid(Problem("action", f"must be one of {', '.join(sorted(actions))}"))
        await act()


def _view(sketch: Sketch) -> SimulatorView:
    shape = sketch.shape
    has_account = shape.tried is not None and shape.tried.has_account
    takes_answer = shape.tried is not None and shape.tried.is_answered
    is_choosing = shape.scene is Scene.CHOOSE and not takes_answer
    return SimulatorView(
        transfers=tuple((name, sketch.own(value)) for name, value in _SUGGESTIONS.items()) if has_account else (),
        takes_transfer=has_account,
        takes_answer=takes_answer,
        takes_expiry=not shape.is_final,
        cards=_cards() if is_choosing and Method.CARD in shape.methods else (),
        phones=_phones(shape.currency) if is_choosing and Method.MOBILE_MONEY in shape.methods else (),
        answers=tuple(
            TestValue(shown, does, _fill(Method.CARD, **fields))
            for fields, shown, does in _ANSWERS.get(shape.scene, ())
        ),
    )


def _amount(form: Mapping[str, str], situation: Situation) -> Money:
    currency = situation.payment.order.asked.currency
    text = form.get("amount", "").replace(",", "").replace(" ", "")
    try:
        minor = Decimal(text if len(text) <= AMOUNT_LENGTH_MAX else "").scaleb(currency.exponent)
    except InvalidOperation:
        minor = Decimal(0)
    if not minor.is_finite() or minor != int(minor) or not 0 < minor <= MINOR_MAX:
        raise Invalid(Problem("amount", "must be an amount such as 4000 or 4000.50"))
    return Money(int(minor), currency)


def _exactly(look: Look) -> str:
    return values.plain_digits(values.rest(look))


def _too_little(look: Look) -> str:
    return values.plain_digits(Money(max(values.rest(look).minor * 2 // 5, 1), look.currency))


def _too_much(look: Look) -> str:
    return values.plain_digits(values.rest(look) + Money.of_major(10, look.currency))


_SUGGESTIONS: dict[str, Value] = {"exactly": _exactly, "too little": _too_little, "too much": _too_much}


def _cards() -> tuple[TestValue, ...]:
    return tuple(
        TestValue(
            " ".join(number[at : at + 4] for at in range(0, 16, 4)),
            does,
            _fill(Method.CARD, number=number, expiry="12 / 40", cvv="123", holder="Ada Obi"),
        )
        for number, does in _CARDS
    )


def _phones(currency: Currency) -> tuple[TestValue, ...]:
    """Without the country code, which is shown before the field."""
    code = f"+{phones.COUNTRIES[currency].calling_code}"
    stem = phones.EXAMPLES[currency]["0000"].removeprefix(code)[:-4]
    return tuple(
        TestValue(f"{stem} {end}", does, _fill(Method.MOBILE_MONEY, phone=f"{stem}{end}")) for end, does in _PHONES
    )


def _fill(method: Method, **fields: str) -> str:
    return msgspec.json.encode({"tab": method.value, "fields": fields}).decode()
