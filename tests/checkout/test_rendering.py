"""Every state in every language, drawn from what a payment is; nothing that a merchant or a bank wrote is markup."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, get_args

import msgspec
import pytest
from markupsafe import escape

from build import Checkout
from checkout.paying import WANTS_PIN, WANTS_PIN_AND_OTP, card
from conftest import MakeCheckout
from pages.kinds import CHARGES, KENYAN
from tidegate.checkout import store
from tidegate.checkout.language.catalog import LANGUAGES, catalog_for
from tidegate.checkout.model import NO_MOVEMENTS, Movements
from tidegate.checkout.page.model import FormState, PageModel
from tidegate.checkout.page.renderer import PageRenderer
from tidegate.checkout.page.state import QUESTIONS, STEPS, PageState
from tidegate.core.fee import FeeRule
from tidegate.core.ids import business_code_of
from tidegate.core.method import Method, MethodNames, Priced
from tidegate.core.money import Currency
from tidegate.infra.http.cookie import NOTHING_SET
from tidegate.infra.http.public_url import PublicUrl
from tidegate.merchant import store as merchants
from tidegate.merchant.model import Brand, Support
from tidegate.payment import pay
from tidegate.payment.change import PaymentSnapshot
from tidegate.rail.action import Action, DialAction, RedirectAction, TransferAction
from tidegate.rail.sandbox.model import RESENDS
from tidegate.runtime import Runtime
from tidegate.sandbox.panel import SimulatorPanel
from tidegate.sandbox.simulator import Simulator

SITE = PublicUrl("https://pay.example/folder")
HOSTILE = """<img src=x onerror=alert(1)> "quoted" 'too' & &amp; \u0645\u062a\u062c\u0631 {{ 7*7 }} ₦"""
ESCAPED = "&lt;img src=x onerror=alert(1)&gt;"
ORDERS: dict[str, dict[str, Any]] = {
    "plain": {"metadata": {"description": HOSTILE}},
    "fee of the customer": {"feeBearer": "customer"},
    "mobile form": KENYAN,
}
QUERIES: tuple[dict[str, Any], ...] = ({}, {"goes_back": True}, *({"asked": method} for method in Method))


def test_every_action_is_a_state_of_the_page_or_a_step_of_a_panel() -> None:
    assert {*QUESTIONS, *STEPS} == set(get_args(Action))
    assert not QUESTIONS.keys() & STEPS.keys()


@pytest.fixture
def renderer(runtime: Runtime) -> PageRenderer:
    return PageRenderer(SITE, SimulatorPanel(Simulator(runtime.deps)))


@pytest.fixture
async def snapshots(new_checkout: MakeCheckout, runtime: Runtime) -> dict[str, PaymentSnapshot]:
    made: dict[str, Checkout] = {name: await new_checkout(**fields) for name, fields in ORDERS.items()}
    for name, (body, fields) in CHARGES.items():
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
    return {name: await seen(runtime, checkout.pay_code) for name, checkout in made.items()}


async def seen(runtime: Runtime, pay_code: str) -> PaymentSnapshot:
    async with runtime.db.connection() as tx:
        business = await merchants.find_business_by_code(tx, business_code_of(pay_code) or "")
    assert business is not None
    return await pay.view(runtime.db, business.id, pay_code)


def page_of(
    snapshot: PaymentSnapshot,
    language: str = "en",
    movements: Movements = NO_MOVEMENTS,
    *,
    asked: Method | None = None,
    goes_back: bool = False,
) -> PageModel:
    return PageModel(
        snapshot=snapshot,
        movements=movements,
        words=catalog_for(language),
        # By the clock of the server, which another test may have moved ahead.
        now=snapshot.payment.updated_at,
        site=SITE,
        names=MethodNames(),
        is_test=True,
        token="a" * 64,
        nonce="a" * 22,
        asked=asked,
        goes_back=goes_back,
        can_resend=snapshot.attempt is not None and type(snapshot.attempt.action) in RESENDS,
    )


def text_of(renderer: PageRenderer, page: PageModel) -> str:
    return renderer.page(page, cookies=NOTHING_SET).body.decode()


def hostile(snapshot: PaymentSnapshot) -> PaymentSnapshot:
    """The same, with hostile text wherever a merchant or a bank may write."""
    business, attempt = snapshot.business, snapshot.attempt
    brand = Brand(business.brand.accent, support=Support(email=f"{HOSTILE}@example.com"))
    return PaymentSnapshot(
        replace(business, name=HOSTILE, brand=brand),
        msgspec.structs.replace(snapshot.payment, reference=HOSTILE),
        attempt
        and msgspec.structs.replace(
            attempt,
            action=_hostile_action(attempt.action),
            details={
                **attempt.details,
                **{name: HOSTILE for name in ("phone", "bank", "last4") if name in attempt.details},
            },
        ),
    )


def _hostile_action(action: Any) -> Any:
    if isinstance(action, TransferAction):
        return TransferAction("9990001112", HOSTILE, "999", HOSTILE)
    if isinstance(action, DialAction):
        return DialAction(HOSTILE)
    return RedirectAction(f"https://bank.example/?a={HOSTILE}") if isinstance(action, RedirectAction) else action


@pytest.mark.parametrize("language", LANGUAGES)
async def test_every_state_is_drawn_and_no_text_becomes_markup(
    snapshots: dict[str, PaymentSnapshot], runtime: Runtime, renderer: PageRenderer, language: str
) -> None:
    states = {page_of(snapshot).state for snapshot in snapshots.values()}
    assert states >= frozenset(PageState) - {
        PageState.USED_UP, PageState.EXPIRED, PageState.DISABLED, PageState.CLOSED
    }  # fmt: skip
    for snapshot in snapshots.values():
        async with runtime.db.connection() as tx:
            movements = await store.list_movements(tx, snapshot.payment.business_id, snapshot.payment.id)
        for query in QUERIES:
            text = text_of(renderer, page_of(hostile(snapshot), language, movements, **query))
            assert ESCAPED in text
            assert "<img src=x" not in text
            assert f'<html lang="{language}"' in text
            assert snapshot.business.name not in text


async def test_no_text_takes_the_place_of_the_style_sheet(
    snapshots: dict[str, PaymentSnapshot], renderer: PageRenderer
) -> None:
    snapshot, name = snapshots["plain"], '"></style>'
    text = text_of(renderer, page_of(msgspec.structs.replace(snapshot, business=replace(snapshot.business, name=name))))
    assert f"to {escape(name)}</title>" in text
    colours, rules = re.findall(r"<style nonce=\"a+\">(.*?)</style>", text, re.DOTALL)
    assert colours.startswith(":root{--accent:")
    assert ".summary" in rules
    assert name not in text


async def test_fields_show_what_was_typed_escaped_and_in_no_other_page(
    snapshots: dict[str, PaymentSnapshot], renderer: PageRenderer
) -> None:
    """Those in which nothing was typed are drawn once."""
    fields = {
        ("plain", Method.CARD): ("number", "expiry", "holder"),
        ("plain", Method.USSD): ("bank",),
        ("mobile form", Method.MOBILE_MONEY): ("phone", "operator"),
        ("address", None): ("country", "line", "city", "postalCode"),
    }
    for (snapshot, asked), names in fields.items():
        typed = FormState(dict.fromkeys(names, HOSTILE), dict.fromkeys(names, HOSTILE))
        page = page_of(snapshots[snapshot], asked=asked)
        before = text_of(renderer, page)
        text = text_of(renderer, msgspec.structs.replace(page, form=typed))
        wrong = re.findall(r'<p class="wrong" id="(\w+)-wrong">(.*)</p>', text)
        assert wrong == [(name, escape(HOSTILE)) for name in names]
        assert "<img src=x" not in text
        assert text_of(renderer, page) == before


async def test_what_a_payer_is_asked_for_is_what_the_page_says(
    snapshots: dict[str, PaymentSnapshot], renderer: PageRenderer
) -> None:
    text = text_of(renderer, page_of(snapshots["fee of the customer"]))
    # 1.4 % of ₦100, and 7.5 % of that, each rounded.
    assert "<title>Pay ₦101.51 to Test Shop</title>" in text
    assert re.findall(r"<dd>(₦[^<]+)</dd>", text) == ["₦100.00", "₦1.40", "₦0.11", "₦101.51"]
    assert set(re.findall(r"<button>[^<]*(₦[\d.,]+)", text)) == {"₦101.51"}


async def test_a_price_for_each_method_where_they_differ(
    snapshots: dict[str, PaymentSnapshot], renderer: PageRenderer
) -> None:
    snapshot = snapshots["fee of the customer"]
    free: dict[tuple[Currency, Priced], FeeRule] = {
        (snapshot.payment.expected.currency, Method.CARD): FeeRule("own", 0)
    }
    page = page_of(msgspec.structs.replace(snapshot, business=replace(snapshot.business, own_fee_rules=free)))
    text = text_of(renderer, page)
    assert re.findall(r'<div data-panel="(\w+)"( hidden)?>\n<p class="amount">.*?(₦[\d.,]+)', text) == [
        ("bank_transfer", "", "₦101.51"),
        ("card", " hidden", "₦100.00"),
        ("ussd", " hidden", "₦101.51"),
    ]
