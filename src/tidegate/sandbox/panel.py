"""The simulator on the hosted page: actions of payers and banks; and the page of a card's issuer.

For developers, so in English only, whatever the language of the page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import NamedTuple

import msgspec

from tidegate.checkout.page.model import PageModel, plain_digits
from tidegate.checkout.page.pages import PATH, CheckoutPages
from tidegate.checkout.page.state import PageState
from tidegate.core.errors import Conflict, Invalid, Problem
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.infra.http.routing import Route
from tidegate.infra.page.response import Html
from tidegate.infra.page.router import PageRequest, PageRoute
from tidegate.payment.change import PaymentSnapshot
from tidegate.payment.transition import is_under_way
from tidegate.rail.mobile_money import MOBILE_MONEY
from tidegate.rail.sandbox.model import TEST_OTP, TEST_PIN
from tidegate.rail.state import Party
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
_ANSWERS: dict[PageState, tuple[tuple[dict[str, str], str, str], ...]] = {
    PageState.PIN: (({"pin": TEST_PIN}, TEST_PIN, "right PIN"), ({"pin": "9999"}, "9999", "wrong PIN")),
    PageState.OTP: (({"otp": TEST_OTP}, TEST_OTP, "right code"), ({"otp": "000000"}, "000000", "wrong code")),
    PageState.ADDRESS: (({"line": "1 Marina", "city": "Lagos"}, "1 Marina, Lagos", "any address will do"),),
}


class TestValue(NamedTuple):
    shown: str
    does: str
    # For the page's script: the tab, and the value of each field.
    fill: str


class SimulatorView(msgspec.Struct, frozen=True):
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

    def panel(self, page: PageModel) -> SimulatorView | None:
        """None where nothing can be simulated."""
        view = _view(page)
        return None if view.is_empty else view

    def routes(self, pages: CheckoutPages) -> Sequence[Route]:
        async def simulate(request: PageRequest) -> Html:
            payer = pages.admit(request)
            snapshot = await pages.commands.look(payer)
            try:
                await self._act(request.form, snapshot, pages)
            except Conflict:
                return pages.back_to(request, "?changed=1")
            return pages.back_to(request)

        async def issuer(request: PageRequest) -> Html:
            return await pages.show_as(request, "sandbox_issuer.html", PageState.ISSUER)

        return pages.page_routes(
            [
                PageRoute("POST", f"{PATH}/simulate", "simulateOnPage", simulate, pages.commands.limit.write),
                PageRoute("GET", f"{PATH}/3ds", "showTestIssuer", issuer, pages.commands.limit.read),
            ]
        )

    async def _act(self, form: Mapping[str, str], snapshot: PaymentSnapshot, pages: CheckoutPages) -> None:
        now = pages.commands.clock.now_of(snapshot.payment.business_id)
        key = (snapshot.payment.business_id, snapshot.payment.pay_code)
        simulator = self.simulator
        actions: dict[str, Callable[[], Awaitable[object]]] = {
            "transfer": lambda: simulator.send_transfer(*key, _amount(form, snapshot), payer=_PAYER, now=now),
            "approve": lambda: simulator.approve(*key, now=now),
            "decline": lambda: simulator.decline(*key, now=now),
            "expire": lambda: simulator.expire(*key, now=now),
        }
        act = actions.get(form.get("action", ""))
        if act is None:
            raise Invalid(Problem("action", f"must be one of {', '.join(sorted(actions))}"))
        await act()


def _view(page: PageModel) -> SimulatorView:
    has_account = page.attempt is not None and page.attempt.account_number is not None
    is_choosing = page.state is PageState.CHOOSE and not page.is_answered_by_phone
    return SimulatorView(
        transfers=tuple(_transfers(page.rest)) if has_account else (),
        takes_transfer=has_account,
        takes_answer=page.is_answered_by_phone,
        takes_expiry=is_under_way(page.payment, now=page.now),
        cards=_cards() if is_choosing and Method.CARD in page.methods else (),
        phones=_phones(page.currency) if is_choosing and Method.MOBILE_MONEY in page.methods else (),
        answers=tuple(
            TestValue(shown, does, _fill(Method.CARD, **fields)) for fields, shown, does in _ANSWERS.get(page.state, ())
        ),
    )


def _transfers(rest: Money) -> Iterator[tuple[str, str]]:
    yield "exactly", plain_digits(rest)
    yield "too little", plain_digits(Money(max(rest.minor * 2 // 5, 1), rest.currency))
    yield "too much", plain_digits(rest + Money.of_major(10, rest.currency))


def _amount(form: Mapping[str, str], snapshot: PaymentSnapshot) -> Money:
    currency = snapshot.payment.order.asked.currency
    text = form.get("amount", "").replace(",", "").replace(" ", "")
    try:
        minor = Decimal(text if len(text) <= AMOUNT_LENGTH_MAX else "").scaleb(currency.exponent)
    except InvalidOperation:
        minor = Decimal(0)
    if not minor.is_finite() or minor != int(minor) or not 0 < minor <= MINOR_MAX:
        raise Invalid(Problem("amount", "must be an amount such as 4000 or 4000.50"))
    return Money(int(minor), currency)


@cache
def _cards() -> tuple[TestValue, ...]:
    return tuple(
        TestValue(
            " ".join(number[at : at + 4] for at in range(0, 16, 4)),
            does,
            _fill(Method.CARD, number=number, expiry="12 / 40", cvv="123", holder="Ada Obi"),
        )
        for number, does in _CARDS
    )


@cache
def _phones(currency: Currency) -> tuple[TestValue, ...]:
    """Without the country code, which is shown before the field."""
    stem = MOBILE_MONEY[currency].test_stem
    return tuple(
        TestValue(f"{stem} {end}", does, _fill(Method.MOBILE_MONEY, phone=f"{stem}{end}")) for end, does in _PHONES
    )


def _fill(method: Method, **fields: str) -> str:
    return msgspec.json.encode({"tab": method.value, "fields": fields}).decode()
