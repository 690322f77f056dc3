"""How often one address, and one payment, may be called: guessing and card testing end here, paying goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from build import Checkout
from checkout.paying import NOT_FOR_TESTS, WITHOUT_MONEY, card
from conftest import MakeCheckout
from payment.refusal import assert_refused, assert_says_no
from tidegate.checkout.limit import Limited, PayerLimit
from tidegate.core.clock import monotonic_s
from tidegate.core.errors import RateLimited
from tidegate.infra import rate_limit
from tidegate.infra.rate_limit import RateLimit

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


async def test_the_sixth_attempt_on_a_payment_is_refused_P9(
    new_checkout: MakeCheckout, admin: Any, let_pass: LetPass
) -> None:
    checkout = await new_checkout()
    for _ in range(5):
        assert (await checkout.charge(card(WITHOUT_MONEY))).status_code == 200
    await assert_refused(admin, checkout.charge(card()), 409, "CONFLICT")
    view = await checkout.view()
    assert (view["status"], view["ending"], view["attemptsLeft"]) == ("failed", "attempts_used_up", 0)


async def test_attempts_are_used_up_by_changing_ones_mind_too(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    accounts = [await checkout.account() for _ in range(5)]
    assert len(set(accounts)) == 5
    await assert_refused(admin, checkout.charge({"type": "bank_transfer"}), 409, "CONFLICT")
    await checkout.transfer(accounts[-1], "100")
    assert (await checkout.view())["status"] == "success", "the last account still takes the money"


async def card_tester(new_checkout: MakeCheckout) -> Callable[[int], Any]:
    """Tries cards on one payment after the other."""
    checkouts = [await new_checkout() for _ in range(3)]
    return lambda tried: checkouts[tried // 5].charge(card(NOT_FOR_TESTS))


async def test_the_eleventh_card_from_one_address_within_ten_minutes_is_refused_P9(
    new_checkout: MakeCheckout, admin: Any, client: httpx.AsyncClient, let_pass: LetPass
) -> None:
    answers = await answers_until_refused(await card_tester(new_checkout), at_most=15)
    assert [answer.status_code for answer in answers] == [200] * 10 + [429]
    check_refused_for_haste(answers[-1], seconds=60)
    checkout = await new_checkout()
    await assert_refused(admin, checkout.charge(card()), 429, "RATE_LIMITED")
    assert (await checkout.charge({"type": "bank_transfer"})).status_code == 200, "other methods are not card testing"
    elsewhere = Checkout(_calling_with(checkout, client), checkout.pay_code, checkout.reference, checkout.tick)
    assert (await elsewhere.charge(card(WITHOUT_MONEY))).status_code == 200, "another address is another payer"
    let_pass(59)
    assert (await checkout.charge(card())).status_code == 429
    let_pass(2)
    assert (await checkout.charge(card())).status_code == 200


def _calling_with(checkout: Checkout, client: httpx.AsyncClient) -> Any:
    shop = checkout.shop
    return type(shop)(client, shop.business_id, shop.secret_key, shop.public_key)


async def test_ten_minutes_later_ten_cards_more_may_be_tried(new_checkout: MakeCheckout, let_pass: LetPass) -> None:
    for _ in range(2):
        answers = await answers_until_refused(await card_tester(new_checkout), at_most=15)
        assert len(answers) == 11
        let_pass(600)


async def test_a_card_typed_wrongly_is_no_attempt(new_checkout: MakeCheckout, let_pass: LetPass) -> None:
    checkout = await new_checkout()
    for _ in range(12):
        assert (await checkout.charge(card("5319317801366661"))).status_code == 422
    assert (await checkout.charge(card())).status_code == 200


async def test_a_hundred_quick_looks_are_too_many_and_a_moment_later_all_is_well_P15(
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


async def test_guessing_pay_codes_is_limited_too(payer_client: httpx.AsyncClient, let_pass: LetPass) -> None:
    answers = await answers_until_refused(
        lambda number: payer_client.get(f"/checkout/payments/tg_00000_{number:022d}"), at_most=100
    )
    check_count_of_looks(answers)
    assert {answer.status_code for answer in answers[:-1]} == {404}


async def test_opening_streams_is_limited_as_looking_is(payer_client: httpx.AsyncClient, let_pass: LetPass) -> None:
    path = f"/checkout/payments/tg_00000_{'0' * 22}/events"
    answers = await answers_until_refused(lambda _: payer_client.get(path), at_most=100)
    check_count_of_looks(answers)
    check_refused_for_haste(answers[-1], seconds=1)


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


async def test_a_claimed_address_changes_no_limit_P17(payer_client: httpx.AsyncClient, let_pass: LetPass) -> None:
    names = ("x-forwarded-for", "x-real-ip", "true-client-ip", "cf-connecting-ip", "x-forwarded-host", "host")

    def look(number: int) -> Any:
        claimed = dict.fromkeys(names, f"10.0.0.{number}") | {"forwarded": f"for=10.0.0.{number}"}
        return payer_client.get(f"/checkout/payments/tg_00000_{'0' * 22}", headers=claimed)

    check_count_of_looks(await answers_until_refused(look, at_most=100))


@pytest.fixture
def limit() -> PayerLimit:
    return PayerLimit(RateLimit(), RateLimit(), b"test")


def uses_up(limit: PayerLimit, address: str) -> None:
    for _ in range(10):
        limit.check(Limited.CARD, address)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", id="one household"),
        pytest.param("2001:db8:1:2::1", "2001:0DB8:0001:0002::2", id="written otherwise"),
        pytest.param("::ffff:192.0.2.1", "192.0.2.1", id="IPv4 inside IPv6"),
    ],
)
def test_addresses_of_one_household_share_a_limit(limit: PayerLimit, let_pass: LetPass, one: str, other: str) -> None:
    uses_up(limit, one)
    with pytest.raises(RateLimited):
        limit.check(Limited.CARD, other)


@pytest.mark.parametrize(
    ("one", "other"), [("2001:db8:1:2::1", "2001:db8:1:3::1"), ("192.0.2.1", "192.0.2.2"), ("192.0.2.1", "")]
)
def test_other_households_have_limits_of_their_own(limit: PayerLimit, let_pass: LetPass, one: str, other: str) -> None:
    uses_up(limit, one)
    limit.check(Limited.CARD, other)
    limit.check(Limited.LOOK, one)


def test_card_attempts_keep_nobody_from_looking(let_pass: LetPass) -> None:
    """Not even where all of them share the slot of everybody else."""
    limit = PayerLimit(RateLimit(slots=1), RateLimit(slots=1), b"test")
    uses_up(limit, "192.0.2.1")
    limit.check(Limited.LOOK, "192.0.2.2")
