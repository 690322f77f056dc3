"""How often one address, and one payment, may be called: guessing and card testing end here, paying goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest

from build import Checkout, Shop
from checkout.paying import SUCCEEDS, WANTS_PIN, WITHOUT_MONEY, card
from checkout.plain_browser import open_page
from conftest import MakeCheckout, MakeShop
from payment.raw_http import ask, head
from payment.refusal import assert_refused, assert_says_no
from serving import serving
from tidegate import app
from tidegate.audit.model import OPERATOR, OURSELVES
from tidegate.checkout.payer_limit import PayerAllowances, PayerLimit
from tidegate.core.clock import SystemClock, monotonic_s
from tidegate.core.errors import RateLimited
from tidegate.docs.routes import SandboxKeys
from tidegate.infra import rate_limit
from tidegate.infra.http.request_limit import Allowance, Limiter, networks_of
from tidegate.infra.http.routing import Answering
from tidegate.infra.page.router import _PageEndpoint
from tidegate.infra.rate_limit import RateLimit
from tidegate.merchant import card_pause
from tidegate.merchant.authentication import NO_CREDENTIALS
from tidegate.runtime import Runtime
from tidegate.settings import Settings

LetPass = Callable[[float], None]


@pytest.fixture
def let_pass(monkeypatch: pytest.MonkeyPatch) -> LetPass:
    """Stops the clock of the limits, and moves it on by so many seconds."""
    now = float(round(monotonic_s()))  # Whole seconds add up without rounding.

    def move(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(rate_limit, "monotonic_s", lambda: now)
    return move


async def answers_until_refused(send: Callable[[int], Any], *, at_most: int) -> list[httpx.Response]:
    answers: list[httpx.Response] = []
    while len(answers) < at_most and (not answers or answers[-1].status_code != 429):
        answers.append(await send(len(answers)))
    return answers


def check_refused_for_haste(answer: httpx.Response, *, seconds: int) -> None:
    assert_says_no(answer, 429, "RATE_LIMITED")
    assert int(answer.headers["retry-after"]) == seconds


def check_count_of_looks(answers: list[httpx.Response]) -> None:
    """Sixty; the limit counts in fractions of a second, and the last of them may be lost in rounding."""
    assert answers[-1].status_code == 429
    assert len(answers) - 1 in (59, 60)


async def test_the_sixth_attempt_on_a_payment_is_refused(
    new_checkout: MakeCheckout, admin: Any, let_pass: LetPass
) -> None:
    checkout = await new_checkout()
    for _ in range(5):
        assert (await checkout.charge(card(WITHOUT_MONEY))).status_code == 200
    await assert_refused(admin, checkout.charge(card()), 409, "CONFLICT")
    view = await checkout.view()
    assert (view["status"], view["attemptsLeft"]) == ("pending", 0)
    assert view["openPaymentMethods"], "other methods have tries of their own"
    assert "card" not in view["openPaymentMethods"]


async def test_attempts_are_used_up_by_changing_ones_mind_too(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    for bank in ("058", "044", "058", "044", "058"):
        assert (await checkout.charge({"type": "payAttitude", "bank": bank})).status_code == 200
    refused = await assert_refused(admin, checkout.charge({"type": "payAttitude", "bank": "044"}), 409, "CONFLICT")
    message = "all 5 attempts by payAttitude have been used; other methods are open: bank_transfer, card"
    assert refused.json()["message"] == message


Payers = Callable[..., AbstractAsyncContextManager[Callable[..., httpx.AsyncClient]]]


@pytest.fixture
def payers(database_url: str) -> Payers:
    """A server with settings of its own, behind a proxy that says where each payer calls from."""

    @asynccontextmanager
    async def serve(**settings: Any) -> AsyncIterator[Callable[..., httpx.AsyncClient]]:
        async with AsyncExitStack() as stack:
            opened = serving(Settings(database_url=database_url, trusted_proxies=1, **settings))
            url, _ = await stack.enter_async_context(opened)

            def payer_at(address: str) -> httpx.AsyncClient:
                client = httpx.AsyncClient(base_url=url, headers={"x-forwarded-for": address}, timeout=60, verify=False)
                stack.push_async_callback(client.aclose)
                return client

            yield payer_at

    return serve


def at(checkout: Checkout, client: httpx.AsyncClient) -> Checkout:
    """The same payment, called from elsewhere."""
    return replace(checkout, shop=replace(checkout.shop, client=client))


GATEWAY, ELSEWHERE = "203.0.113.1", "198.51.100.1"
# A sixth of an hour's may come at once.
TWO_AT_ONCE = 12


async def test_forty_payers_behind_one_address_have_their_cards_declined_and_none_is_slowed(
    new_checkout: MakeCheckout, let_pass: LetPass
) -> None:
    for _ in range(40):
        checkout = await new_checkout()
        assert (await checkout.charge(card(WITHOUT_MONEY))).status_code == 200
    assert (await (await new_checkout()).charge(card())).status_code == 200


async def test_an_address_whose_cards_are_declined_is_slowed_and_others_go_on(
    new_checkout: MakeCheckout, admin: Any, payers: Payers, let_pass: LetPass
) -> None:
    async with payers(address_declines_per_hour=TWO_AT_ONCE) as payer_at:
        for _ in range(2):
            assert (await at(await new_checkout(), payer_at(GATEWAY)).charge(card(WITHOUT_MONEY))).status_code == 200
        checkout = at(await new_checkout(), payer_at(GATEWAY))
        await assert_refused(admin, checkout.charge(card()), 429, "RATE_LIMITED")
        check_refused_for_haste(await checkout.charge(card()), seconds=300)
        assert (await checkout.charge({"type": "bank_transfer"})).status_code == 200, "other methods test no cards"
        assert (await at(await new_checkout(), payer_at(ELSEWHERE)).charge(card())).status_code == 200
        let_pass(299)
        assert (await checkout.charge(card())).status_code == 429
        let_pass(2)
        assert (await checkout.charge(card())).status_code == 200


async def test_a_payer_whose_card_is_slowed_sees_the_payment_and_pays_otherwise(
    new_checkout: MakeCheckout, payers: Payers, let_pass: LetPass
) -> None:
    async with payers(address_declines_per_hour=TWO_AT_ONCE) as payer_at:
        for _ in range(2):
            await at(await new_checkout(), payer_at(GATEWAY)).charge(card(WITHOUT_MONEY))
        checkout, client = await new_checkout(), payer_at(GATEWAY)
        sheet = await open_page(client, f"/pay/{checkout.pay_code}?method=card")
        fields = {"number": SUCCEEDS, "expiry": "12 / 40", "cvv": "123", "holder": "Ada Obi"}
        slowed = await sheet.send("/charge", {"type": "card"}, **fields)
        assert (slowed.status, slowed.answer.headers["retry-after"]) == (429, "300")
        assert checkout.reference in slowed.text
        html = slowed.answer.text
        assert 'You can go on in <b role="timer" data-countdown="300">5:00</b>.' in html
        assert 'aria-controls="panel-card" aria-selected="true"' in html
        assert 'value="Ada Obi"' in html
        assert f'value="{SUCCEEDS}"' not in html
        paying = await slowed.send("/charge", {"type": "bank_transfer"})
        assert paying.status == 200


async def test_cards_that_pay_are_not_counted(new_checkout: MakeCheckout, payers: Payers, let_pass: LetPass) -> None:
    async with payers(address_declines_per_hour=TWO_AT_ONCE, business_declines_per_hour=TWO_AT_ONCE) as payer_at:
        for _ in range(5):
            assert (await at(await new_checkout(), payer_at(GATEWAY)).charge(card())).status_code == 200


async def test_a_decline_after_the_pin_counts_too(
    new_checkout: MakeCheckout, payers: Payers, let_pass: LetPass
) -> None:
    async with payers(address_declines_per_hour=TWO_AT_ONCE) as payer_at:
        for _ in range(2):
            checkout = at(await new_checkout(), payer_at(GATEWAY))
            assert (await checkout.charge(card(WANTS_PIN))).status_code == 200
            while (await checkout.view())["attempt"]["status"] != "failed":
                assert (await checkout.authorize({"pin": "9999"})).status_code == 200
        assert (await at(await new_checkout(), payer_at(GATEWAY)).charge(card())).status_code == 429


async def test_a_business_at_which_cards_are_tested_from_many_addresses_is_slowed_and_others_go_on(
    new_checkout: MakeCheckout, new_shop: MakeShop, payers: Payers, let_pass: LetPass
) -> None:
    tested = await new_shop()
    async with payers(business_declines_per_hour=TWO_AT_ONCE) as payer_at:
        for number in range(2):
            checkout = at(await new_checkout(tested), payer_at(f"192.0.2.{number}"))
            assert (await checkout.charge(card(WITHOUT_MONEY))).status_code == 200
        check_refused_for_haste(await at(await new_checkout(tested), payer_at("192.0.2.9")).charge(card()), seconds=300)
        assert (await at(await new_checkout(), payer_at("192.0.2.9")).charge(card())).status_code == 200


async def test_a_card_that_is_declined_at_many_businesses_is_slowed_and_other_cards_go_on(
    new_checkout: MakeCheckout, payers: Payers, let_pass: LetPass
) -> None:
    async with payers(card_declines_per_hour=TWO_AT_ONCE) as payer_at:
        for number in range(2):
            tried = at(await new_checkout(), payer_at(f"192.0.2.{number}"))
            assert (await tried.charge(card(WITHOUT_MONEY))).status_code == 200
        checkout = at(await new_checkout(), payer_at("192.0.2.9"))
        check_refused_for_haste(await checkout.charge(card(WITHOUT_MONEY)), seconds=300)
        assert (await checkout.charge(card())).status_code == 200


async def test_cards_of_a_business_are_paused_and_go_on_once_the_pause_is_lifted(
    new_checkout: MakeCheckout, shop: Shop, runtime: Runtime, admin: Any
) -> None:
    now = SystemClock().now()
    async with runtime.db.transaction() as tx:
        assert await card_pause.pause(tx, shop.business_id, "cards are tried out", by=OURSELVES, now=now)
        assert not await card_pause.pause(tx, shop.business_id, "again", by=OURSELVES, now=now)
    checkout = await new_checkout(shop)
    assert "card" not in (await checkout.view())["openPaymentMethods"]
    refused = await checkout.charge(card())
    assert (refused.status_code, "choose another one" in refused.text) == (409, True)
    by_card_only = await new_checkout(shop, paymentMethods=["card"])
    for one, is_said in ((checkout, False), (by_card_only, True)):
        page = (await shop.client.get(f"/pay/{one.pay_code}")).text
        assert ('name="number"' in page, "Card: not available at the moment" in page) == (False, is_said)
    assert (await checkout.charge({"type": "bank_transfer"})).status_code == 200
    checkout = await new_checkout(shop)
    assert (await (await new_checkout()).charge(card())).status_code == 200
    async with runtime.db.transaction() as tx:
        await card_pause.lift(tx, shop.business_id, by=OPERATOR, now=now)
    assert (await checkout.charge(card())).status_code == 200
    actions = await admin.fetch("SELECT action FROM audit WHERE action LIKE 'cards.%' ORDER BY id")
    assert [row["action"] for row in actions] == ["cards.paused", "cards.resumed"]


@pytest.mark.parametrize("path", ["charge", "charge/authorize"])
async def test_a_body_that_cannot_be_read_counts_like_any_other(
    payer_client: httpx.AsyncClient, let_pass: LetPass, path: str
) -> None:
    url = f"/checkout/payments/tg_00000_{path.count('/'):022d}/{path}"
    headers = {"content-type": "application/json"}
    answers = await answers_until_refused(lambda _: payer_client.post(url, content=b"{", headers=headers), at_most=80)
    assert [answer.status_code for answer in answers] == [400] * 20 + [429]


@pytest.mark.parametrize("path", ["/checkout/payments/{}/charge", "/pay/{}/charge", "/pay/{}/simulate"])
async def test_who_is_refused_is_answered_before_the_body_has_come(
    new_checkout: MakeCheckout, base_url: str, let_pass: LetPass, path: str
) -> None:
    checkout = await new_checkout()
    line = f"POST {path.format(checkout.pay_code)} HTTP/1.1".encode()
    for _ in range(20):
        assert (await ask(base_url, head(None, length=1, line=line) + b"x")).status_code != 429
    assert (await ask(base_url, head(None, length=1, line=line))).status_code == 429


def test_every_operation_without_a_key_that_reads_a_body_declares_a_limit(database_url: str) -> None:
    runtime = Runtime.of(Settings(database_url=database_url))
    unlimited = [
        one.name for one in app.operations_of(runtime) if one.credentials is NO_CREDENTIALS and one.limit is None
    ]
    keys = SandboxKeys("sk_test_x", "pk_test_x", "0" * 24)  # With them there is a start page, which has forms too.
    routes = app.build(Settings(database_url=database_url), sandbox_keys=keys).routing.routes
    for route in routes:
        if isinstance(route.app, _PageEndpoint):
            unlimited += [
                page.name for page in route.app._by_method.values() if page.method == "POST" and not page.limit
            ]
        if isinstance(route.app, Answering) and "POST" in route.app.methods and route.app.limit is None:
            unlimited.append(route.path)
    assert unlimited == []


async def test_a_payer_who_is_slowed_sees_the_payment_and_when_to_go_on(
    new_checkout: MakeCheckout, let_pass: LetPass
) -> None:
    checkout = await new_checkout()
    client, path = checkout.shop.client, f"/pay/{checkout.pay_code}"
    sheet = await open_page(client, path)
    for _ in range(20):
        await client.post(f"{path}/charge")
    slowed = await sheet.send("/charge", {"type": "bank_transfer"})
    assert (slowed.status, slowed.answer.headers["retry-after"]) == (429, "1")
    assert checkout.reference in slowed.text
    assert "You can go on in 0:01" in slowed.text
    let_pass(1)
    paying = await slowed.send("/charge", {"type": "bank_transfer"})
    assert paying.status == 200
    assert "You can go on in" not in paying.text


async def test_a_payer_who_looks_too_often_sees_the_payment_a_few_times_more(
    new_checkout: MakeCheckout, let_pass: LetPass
) -> None:
    checkout = await new_checkout()
    client, path = checkout.shop.client, f"/pay/{checkout.pay_code}"
    answers = [await open_page(client, path) for _ in range(64)]
    assert [sheet.status for sheet in answers] == [200] * 60 + [429] * 4
    assert [checkout.reference in sheet.text for sheet in answers] == [True] * 63 + [False]
    assert "retry-after" in answers[-1].answer.headers
    assert "Nothing was charged." in answers[-1].text


async def test_a_card_typed_wrongly_is_no_attempt(new_checkout: MakeCheckout, let_pass: LetPass) -> None:
    checkout = await new_checkout()
    for _ in range(12):
        assert (await checkout.charge(card("5319317801366661"))).status_code == 422
    assert (await checkout.charge(card())).status_code == 200


async def test_a_hundred_quick_views_are_too_many_and_a_moment_later_they_are_not(
    new_checkout: MakeCheckout, let_pass: LetPass
) -> None:
    checkout = await new_checkout()
    path = f"/checkout/payments/{checkout.pay_code}"
    answers = await answers_until_refused(lambda _: checkout.shop.client.get(path), at_most=100)
    check_count_of_looks(answers)
    check_refused_for_haste(answers[-1], seconds=1)
    assert (await checkout.charge({"type": "bank_transfer"})).status_code == 200, "paying goes on"
    let_pass(0.1)
    assert (await checkout.view())["status"] == "pending"


async def test_guessing_pay_codes_is_limited_by_address_and_payers_beside_it_go_on(
    new_checkout: MakeCheckout, payer_client: httpx.AsyncClient, let_pass: LetPass
) -> None:
    answers = await answers_until_refused(
        lambda number: payer_client.get(f"/checkout/payments/tg_00000_{number:022d}"), at_most=100
    )
    assert [answer.status_code for answer in answers] == [404] * 20 + [429]
    check_refused_for_haste(answers[-1], seconds=10)
    for path in ("charge", "charge/authorize", "cancel", "charge/extend"):
        body = {"type": "bank_transfer", "pin": "1234"}
        guess = f"/checkout/payments/tg_00000_{'1' * 22}/{path}"
        assert (await payer_client.post(guess, json=body)).status_code == 429
    assert (await payer_client.get(f"/pay/tg_00000_{'1' * 22}")).status_code == 429
    checkout = await new_checkout()
    assert (await checkout.view())["status"] == "initiated"
    assert (await checkout.charge({"type": "bank_transfer"})).status_code == 200


async def test_opening_streams_is_limited_as_looking_is(
    new_checkout: MakeCheckout, payer_client: httpx.AsyncClient, let_pass: LetPass
) -> None:
    path = f"/checkout/payments/{(await new_checkout()).pay_code}/events"
    answers = await answers_until_refused(lambda _: payer_client.head(path), at_most=100)
    check_count_of_looks(answers)


async def test_all_looks_of_an_address_together_are_limited(
    new_checkout: MakeCheckout, payers: Payers, let_pass: LetPass
) -> None:
    checkouts = [await new_checkout() for _ in range(2)]
    async with payers(address_reads_per_second=1) as payer_at:
        gateway = payer_at(f"{GATEWAY}:51234")
        for number in range(3):
            await at(checkouts[number % 2], gateway).view()
        for port in (1, 2):
            answer = await payer_at(f"{GATEWAY}:{port}").get(f"/checkout/payments/{checkouts[0].pay_code}")
            check_refused_for_haste(answer, seconds=1)
        await at(checkouts[0], payer_at(ELSEWHERE)).view()


@pytest.mark.parametrize("path", ["charge", "charge/authorize", "charge/extend", "cancel"])
async def test_acting_is_limited(new_checkout: MakeCheckout, admin: Any, let_pass: LetPass, path: str) -> None:
    checkout = await new_checkout()
    url = f"/checkout/payments/{checkout.pay_code}/{path}"
    assert (await checkout.cancel()).status_code == 200
    body = {"type": "bank_transfer", "pin": "1234"}
    answers = await answers_until_refused(lambda _: checkout.post(url, body), at_most=40)
    assert [answer.status_code for answer in answers] == [409] * 19 + [429]
    let_pass(1)
    assert (await checkout.post(url, body)).status_code == 409


async def test_a_claimed_address_changes_no_limit(payer_client: httpx.AsyncClient, let_pass: LetPass) -> None:
    names = ("x-forwarded-for", "x-real-ip", "true-client-ip", "cf-connecting-ip", "x-forwarded-host")

    def look(number: int) -> Any:
        claimed = dict.fromkeys(names, f"10.0.0.{number}") | {"forwarded": f"for=10.0.0.{number}"}
        return payer_client.get(f"/checkout/payments/tg_00000_{'0' * 22}", headers=claimed)

    answers = await answers_until_refused(look, at_most=100)
    assert [answer.status_code for answer in answers] == [404] * 20 + [429]


TEN = Allowance("ten", per_second=1, burst=10)


@pytest.fixture
def limiter() -> Limiter:
    return Limiter(RateLimit(), b"test")


def uses_up(limiter: Limiter, address: str) -> None:
    for _ in range(TEN.burst):
        limiter.check(TEN.of_address(address), "too many")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", id="one household"),
        pytest.param("2001:db8:1:2::1", "2001:0DB8:0001:0002::2", id="written otherwise"),
        pytest.param("::ffff:192.0.2.1", "192.0.2.1", id="IPv4 inside IPv6"),
    ],
)
def test_addresses_of_one_household_share_a_limit(limiter: Limiter, let_pass: LetPass, one: str, other: str) -> None:
    uses_up(limiter, one)
    with pytest.raises(RateLimited):
        limiter.check(TEN.of_address(other), "too many")


@pytest.mark.parametrize(
    ("one", "other"), [("2001:db8:1:2::1", "2001:db8:1:3::1"), ("192.0.2.1", "192.0.2.2"), ("192.0.2.1", "")]
)
def test_other_households_have_limits_of_their_own(limiter: Limiter, let_pass: LetPass, one: str, other: str) -> None:
    uses_up(limiter, one)
    limiter.check(TEN.of_address(other), "too many")


def test_what_is_no_address_is_counted_as_one() -> None:
    assert {networks_of(text) for text in ("garbage0", "garbage1", '"203.0.113.14:1"', "")} == {(("", 1),)}


def test_who_rotates_through_the_networks_of_one_household_gains_four_times_as_much(
    limiter: Limiter, let_pass: LetPass
) -> None:
    for number in range(4):
        uses_up(limiter, f"2001:db8:1:2{number:02x}::1")
    with pytest.raises(RateLimited):
        limiter.check(TEN.of_address("2001:db8:1:2ff::1"), "too many")
    limiter.check(TEN.of_address("2001:db8:1:300::1"), "too many")


def test_a_refused_request_costs_nothing(limiter: Limiter, let_pass: LetPass) -> None:
    uses_up(limiter, "192.0.2.1")
    for _ in range(5):
        with pytest.raises(RateLimited):
            limiter.check((*TEN.of_address("192.0.2.1"), *TEN.of_address("192.0.2.2")), "too many")
    uses_up(limiter, "192.0.2.2")


def test_failures_do_not_limit_views(let_pass: LetPass) -> None:
    """Not even where all of them share the slot of everybody else."""
    allowances = PayerAllowances(
        address_reads_per_second=20,
        address_writes_per_second=2,
        address_declines_per_hour=TWO_AT_ONCE,
        business_declines_per_hour=TWO_AT_ONCE,
        card_declines_per_hour=TWO_AT_ONCE,
    )
    one_slot = [Limiter(RateLimit(slots=1), b"test") for _ in range(2)]
    limit = PayerLimit(one_slot[0], one_slot[1], allowances)
    for _ in range(10):
        limit.count_decline("192.0.2.1", "business", None)
    with pytest.raises(RateLimited):
        limit.refuse_cards("192.0.2.2", "other", None)
    limit.read(
        {"path_params": {"payCode": "x"}, "client": ("192.0.2.2", 1), "headers": [], "tidegate.trusted_proxies": 0}
    )
