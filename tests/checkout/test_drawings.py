"""A page that was drawn for somebody else and filled for this payer is the page that is drawn for this payer alone."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from build import Checkout
from checkout.paying import WANTS_PIN, WANTS_PIN_AND_OTP, WITHOUT_MONEY, card, phone
from conftest import MakeCheckout
from pages.kinds import CHARGES, KENYAN
from tidegate.checkout import store
from tidegate.checkout.model import NO_MOVEMENTS, Movements
from tidegate.checkout.page import easel as easels
from tidegate.checkout.page import values
from tidegate.checkout.page.easel import Easel, Pose
from tidegate.checkout.page.look import Look
from tidegate.checkout.page.scene import ENDINGS, Scene
from tidegate.checkout.page.shape import shape_of
from tidegate.checkout.page.view import is_special
from tidegate.checkout.page.words import LANGUAGES, words_for
from tidegate.core.fee import FeeRule
from tidegate.core.ids import business_code_of
from tidegate.core.method import Method, MethodNames, Priced
from tidegate.core.money import Currency, Money
from tidegate.house import House
from tidegate.infra.page.compress import plain_of
from tidegate.infra.page.cookie import NOTHING_SET
from tidegate.infra.page.drawing import Filled
from tidegate.infra.page.site import Site
from tidegate.merchant import store as merchants
from tidegate.merchant.model import Brand, Support
from tidegate.payment import pay
from tidegate.payment.change import Situation
from tidegate.payment.model import Customer
from tidegate.rail.interface import DialAction, RedirectAction, TransferAction
from tidegate.rail.sandbox.model import RESENDS
from tidegate.sandbox.panel import SimulatorPanel
from tidegate.sandbox.simulator import Simulator

SITE = Site("https://pay.example/folder")
HOSTILE = """<img src=x onerror=alert(1)> "quoted" 'too' & &amp; \u0645\u062a\u062c\u0631 {{ 7*7 }} ₦"""
MONEY_OF_OTHERS = 1_234
CUSTOMER_OF_OTHERS = Customer("Eve", "eve@example.com", "+254722345679")

# What was asked for, how it was dressed, and what the payer has done.
ORDERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "described": {"metadata": {"description": "2 × House blend"}},
    "fee of the customer": {"feeBearer": "customer"},
    "long amount": {"amount": 12_345_678},
    "kenyan": KENYAN,
    "kenyan, fee of the customer": {**KENYAN, "feeBearer": "customer"},
    "one method": {"paymentMethods": ["card"]},
    "with a phone": {**KENYAN, "customer": {"name": "Ada", "email": "ada@example.com", "phoneNumber": "+254712345678"}},
}
SHOPS: dict[str, dict[str, Any]] = {
    "dressed": {"accent": "#0a6c5c", "support_phone": "+2348012345678", "variance_policy": "top_up"},
    "with a website": {"support_url": "https://shop.example/help?a=1&b=2"},
}
FAILED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "declined": (card(WITHOUT_MONEY), {}),
    "wallet": (phone("0712340004"), KENYAN),
}
# Of these a page is drawn once for many.
REMEMBERED = frozenset(Scene) - ENDINGS - {Scene.SHORT}
# Of the means of an attempt.
SHOWN = ("phone", "bank", "last4")
QUERIES: tuple[dict[str, Any], ...] = ({}, {"goes_back": True}, *({"asked": method} for method in Method))


@pytest.fixture
def easel(house: House) -> Easel:
    return Easel(SITE, MethodNames(), SimulatorPanel(Simulator(house.till)))


@pytest.fixture
async def situations(new_checkout: MakeCheckout, house: House) -> dict[str, Situation]:
    made: dict[str, Checkout] = {name: await new_checkout(**fields) for name, fields in ORDERS.items()}
    made |= {name: await new_checkout(settings=settings) for name, settings in SHOPS.items()}
    for name, (body, fields) in {**CHARGES, **FAILED}.items():
        made[name] = await new_checkout(**fields)
        charged = await made[name].charge(body)
        assert charged.is_success, charged.text
    made["wrong pin"] = await new_checkout()
    await made["wrong pin"].charge(card(WANTS_PIN))
    await made["wrong pin"].authorize({"pin": "9999"})
    made["otp"] = await new_checkout()
    await made["otp"].charge(card(WANTS_PIN_AND_OTP))
    await made["otp"].authorize({"pin": "1234"})
    made["short"] = await new_checkout(settings={"variance_policy": "top_up"})
    await made["short"].transfer(await made["short"].account(), "40")
    made["cancelled"] = await new_checkout()
    await made["cancelled"].cancel()
    return {name: await seen(house, checkout.pay_code) for name, checkout in made.items()}


async def seen(house: House, pay_code: str) -> Situation:
    async with house.db.connection() as tx:
        business = await merchants.find_business_by_code(tx, business_code_of(pay_code) or "")
    assert business is not None
    return await pay.view(house.db, business.id, pay_code)


def look_at(
    situation: Situation,
    language: str,
    movements: Movements = NO_MOVEMENTS,
    *,
    later: timedelta = timedelta(0),
    asked: Method | None = None,
    goes_back: bool = False,
    sign: str = "a",
) -> Look:
    return Look.of(
        situation,
        movements=movements,
        words=words_for(language),
        # By the clock of the server, which another test may have moved ahead.
        now=situation.payment.updated_at + later,
        token=sign * 64,
        nonce=sign * 22,
        asked=asked,
        goes_back=goes_back,
        stays=False,
        can_resend=situation.attempt is not None and type(situation.attempt.action) in RESENDS,
    )


def of_somebody_else(situation: Situation) -> Situation:
    """Of the same shape, and otherwise different in everything that a page shows."""
    business, payment, attempt = situation.business, situation.payment, situation.attempt
    more = Money(MONEY_OF_OTHERS, payment.expected.currency)
    support = business.brand.support
    other_support = Support(*(value and f"+99{value}" for value in (support.email, support.phone, support.url)))
    accent = business.brand.accent and "#b00020"
    order = msgspec.structs.replace(
        payment.order,
        asked=payment.order.asked + more,
        customer=CUSTOMER_OF_OTHERS if payment.order.customer.phone else payment.order.customer,
        metadata=payment.order.metadata and msgspec.json.encode({"description": HOSTILE}).decode(),
    )
    return Situation(
        replace(business, name=HOSTILE, email="a&b@example.com", brand=Brand(accent, support=other_support)),
        msgspec.structs.replace(
            payment,
            pay_code=f"{payment.pay_code[:-6]}others",
            reference=f"{payment.reference}-other",
            version=payment.version + 10,
            expected=payment.expected + more,
            order=order,
        ),
        attempt
        and msgspec.structs.replace(
            attempt,
            expected=attempt.expected + more,
            action=_other_action(attempt.action),
            details={
                **attempt.details,
                **{name: f"{attempt.details[name]}<9>" for name in SHOWN if name in attempt.details},
            },
            expires_at=attempt.expires_at and attempt.expires_at + timedelta(minutes=7),
            created_at=attempt.created_at - timedelta(minutes=3),
            resend_from=attempt.resend_from and attempt.resend_from + timedelta(seconds=7),
        ),
    )


def _other_action(action: Any) -> Any:
    if isinstance(action, TransferAction):
        return TransferAction("9990001112", f"Bank {HOSTILE}", "999", HOSTILE)
    if isinstance(action, DialAction):
        return DialAction("*999*<1>#")
    return RedirectAction("https://bank.example/?a=1&b=<2>") if isinstance(action, RedirectAction) else action


def assert_same(easel: Easel, look: Look, **how: Any) -> None:
    """The content that goes out, plain and compressed, against the page that Jinja draws."""
    content = easel.page(look, cookies=NOTHING_SET, **how).content
    alone = easel.renderer.html(easel.drawn_for(look, Pose(shape_of(look), **how))).content
    assert not isinstance(alone, Filled)
    expected = plain_of(alone)
    assert isinstance(content, Filled) is not is_special(look)
    if isinstance(content, Filled):
        assert content.plain() == expected
        assert gzip.decompress(content.gzip()) == expected
    else:
        assert plain_of(content) == expected


@pytest.mark.parametrize("language", LANGUAGES)
async def test_every_page_is_the_same_whether_drawn_or_filled(
    situations: dict[str, Situation], house: House, easel: Easel, language: str
) -> None:
    assert {look_at(situation, language).scene for situation in situations.values()} >= REMEMBERED
    for situation in situations.values():
        async with house.db.connection() as tx:
            movements = await store.list_movements(tx, situation.payment.business_id, situation.payment.id)
        for query in QUERIES:
            look = look_at(situation, language, movements, **query)
            other = look_at(of_somebody_else(situation), language, movements, sign="b", **query)
            assert shape_of(look) == shape_of(other)
            # Whoever comes first, the drawing is made for both.
            for each in (other, look, other):
                assert_same(easel, each)


async def test_what_a_query_adds_is_the_same_too(situations: dict[str, Situation], easel: Easel) -> None:
    for situation in (situations["plain"], situations["account"], situations["issuer"]):
        look, other = look_at(situation, "en"), look_at(of_somebody_else(situation), "en")
        for each in (look, other):
            assert_same(easel, each, notice="notice.changed")
            assert_same(easel, each, notice="notice.extended")
            assert_same(easel, each)
    for each in (look, other):
        assert_same(easel, each, template="sandbox_issuer.html")


async def test_an_account_that_closes_meanwhile_is_another_page(situations: dict[str, Situation], easel: Easel) -> None:
    open_one = look_at(situations["account"], "en")
    closed = look_at(situations["account"], "en", later=timedelta(minutes=45))
    assert shape_of(open_one) != shape_of(closed)
    assert_same(easel, open_one)
    assert_same(easel, closed)


async def test_without_the_simulator_it_is_the_same(situations: dict[str, Situation]) -> None:
    easel = Easel(SITE, MethodNames(), None)
    for name in ("plain", "account", "code", "prompt"):
        assert_same(easel, look_at(of_somebody_else(situations[name]), "fr", sign="b"))
        assert_same(easel, look_at(situations[name], "fr"))


async def test_one_drawing_serves_payments_of_every_shop(situations: dict[str, Situation], easel: Easel) -> None:
    for situation in (situations["plain"], of_somebody_else(situations["plain"])):
        easel.page(look_at(situation, "en"), cookies=NOTHING_SET)
    assert len(easel.renderer._drawings) == 1


async def test_what_is_remembered_has_an_end(
    situations: dict[str, Situation], easel: Easel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidegate.checkout.page.render.DRAWINGS_MAX", 2)
    monkeypatch.setattr("tidegate.infra.page.drawing.MOULDS_MAX", 2)
    for language in LANGUAGES:
        for digits in range(5):
            payment = msgspec.structs.replace(situations["plain"].payment, version=10**digits)
            look = look_at(msgspec.structs.replace(situations["plain"], payment=payment), language)
            assert_same(easel, look)
    assert len(easel.renderer._drawings) == 2
    assert all(len(drawing._moulds) <= 2 for drawing in easel.renderer._drawings.values())


async def test_a_page_that_asks_about_a_value_is_not_drawn(
    situations: dict[str, Situation], easel: Easel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Had it been, the first payer's answer would stand in everybody's page."""

    def page_of(sketch: Any, *_: Any, **__: Any) -> Any:
        return "long" if len(sketch.own(values.shop_name)) > 10 else "short"

    monkeypatch.setattr(easels, "page_of", page_of)
    with pytest.raises(TypeError, match="a slot is only written"):
        easel.page(look_at(situations["plain"], "en"), cookies=NOTHING_SET)


async def test_what_a_payer_is_asked_for_is_what_the_page_says(situations: dict[str, Situation], easel: Easel) -> None:
    look = look_at(situations["fee of the customer"], "en")
    text = easel.drawn_for(look, Pose(shape_of(look)))
    # 1.4 % of ₦100, and 7.5 % of that, each rounded.
    assert "<title>Pay ₦101.51 to Test Shop</title>" in text
    assert re.findall(r"<dd>(₦[^<]+)</dd>", text) == ["₦100.00", "₦1.40", "₦0.11", "₦101.51"]
    assert set(re.findall(r"<button>[^<]*(₦[\d.,]+)", text)) == {"₦101.51"}


async def test_a_price_for_each_method_where_they_differ(situations: dict[str, Situation], easel: Easel) -> None:
    situation = situations["fee of the customer"]
    free: dict[tuple[Currency, Priced], FeeRule] = {
        (situation.payment.expected.currency, Method.CARD): FeeRule("own", 0)
    }
    look = look_at(msgspec.structs.replace(situation, business=replace(situation.business, own_fee_rules=free)), "en")
    text = easel.drawn_for(look, Pose(shape_of(look)))
    assert re.findall(r'<div data-panel="(\w+)"( hidden)?>\n<p class="amount">.*?(₦[\d.,]+)', text) == [
        ("bank_transfer", "", "₦101.51"),
        ("card", " hidden", "₦100.00"),
        ("ussd", " hidden", "₦101.51"),
    ]
    assert_same(easel, look)
