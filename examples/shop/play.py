"""What payers, banks and the shop's own staff do in the cases, as calls of the sandbox."""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import httpx2

from tidegate_client import CardFields, Conflict, DuplicateReference

if TYPE_CHECKING:
    from examples.shop.shop import Shop
    from examples.shop.store import Purchase

Play = Callable[["Shop", "Purchase"], None]
WITHIN_S = 30
GOOD_CARD, CARD_WITHOUT_MONEY = "5319317801366660", "4084080000005408"


def card(number: str) -> CardFields:
    return {"number": number, "expiry_month": 12, "expiry_year": 2040, "cvv": "123"}


def by_card(number: str, *, pin: str | None = None, otp: str | None = None, has_address: bool = False) -> Play:
    def play(shop: Shop, order: Purchase) -> None:
        payer = shop.client.checkouts
        payer.charge(order.pay_code, type="card", card=card(number))
        if pin:
            payer.authorize(order.pay_code, pin=pin)
        if otp:
            payer.authorize(order.pay_code, otp=otp)
        if has_address:
            payer.authorize(order.pay_code, address={"line": "1 Marina", "city": "Lagos", "country": "NG"})

    return play


def five_declines(shop: Shop, order: Purchase) -> None:
    for _ in range(5):
        by_card(CARD_WITHOUT_MONEY)(shop, order)
    try:
        by_card(GOOD_CARD)(shop, order)
    except Conflict as refusal:
        shop.store.note(order.reference, f"A sixth card was refused: {refusal.message}")


def by_phone(last_digits: str, *, seconds: int = 0) -> Play:
    """Where an answer takes its time, the sandbox's clock is moved ahead."""

    def play(shop: Shop, order: Purchase) -> None:
        shop.client.checkouts.charge(order.pay_code, type="mobile_money", phone=f"+25471234{last_digits}")
        if seconds:
            shop.client.sandbox.clock.advance(advance=f"{seconds}s")

    return play


def by_ussd(*, is_approved: bool) -> Play:
    def play(shop: Shop, order: Purchase) -> None:
        bank = shop.client.checkouts.get(order.pay_code).banks[0]
        shop.client.checkouts.charge(order.pay_code, type="payAttitude", bank=bank.code)
        charges = shop.client.sandbox.charges
        charges.approve(order.pay_code) if is_approved else charges.decline(order.pay_code)

    return play


def by_transfer(*shares: str, late: bool = False, reversed_: bool = False) -> Play:
    """Each share of the amount as a transfer of its own."""

    def play(shop: Shop, order: Purchase) -> None:
        account = begun_transfer(shop, order)
        if late:
            shop.client.sandbox.charges.expire(order.pay_code)
        sent = [send(shop, order, account, Decimal(share)) for share in shares]
        if reversed_:
            wait_until_paid(shop, order)
            shop.client.sandbox.transfers.reverse(sent[0])

    return play


def begun_transfer(shop: Shop, order: Purchase) -> str:
    """The account number that the page shows."""
    action = shop.client.checkouts.charge(order.pay_code, type="bank_transfer").action
    assert action.virtual_account is not None
    return action.virtual_account.account_number


def send(shop: Shop, order: Purchase, account_number: str, share: Decimal) -> str:
    """The transfer's id."""
    sent = shop.client.sandbox.transfers.send(
        account_number=account_number, amount=order.amount * share, currency="NGN", payer={"name": "Ada Obi"}
    )
    return sent.transaction_id


def to_a_closed_account(shop: Shop, order: Purchase) -> None:
    account = begun_transfer(shop, order)
    by_card(GOOD_CARD)(shop, order)
    wait_until_paid(shop, order)
    send(shop, order, account, Decimal(1))


def wait_until_paid(shop: Shop, order: Purchase) -> None:
    ends_at = time.monotonic() + WITHIN_S
    while shop.client.payments.verify(order.reference).status != "success" and time.monotonic() < ends_at:
        time.sleep(0.2)


def close_the_tab(shop: Shop, order: Purchase) -> None:
    shop.store.note(order.reference, "The customer has closed the tab")


def open_the_return(shop: Shop, order: Purchase) -> None:
    address = f"{shop.own_url}/thanks?{urlencode({'reference': order.reference})}"
    answer = httpx2.get(address, follow_redirects=True)
    shop.store.note(order.reference, f"The return address was opened by hand: {answer.status_code}")


def cancel(shop: Shop, order: Purchase) -> None:
    shop.client.checkouts.cancel(order.pay_code)


def expire(shop: Shop, order: Purchase) -> None:
    shop.client.sandbox.charges.expire(order.pay_code)


def pay_twice(shop: Shop, order: Purchase) -> None:
    by_card(GOOD_CARD)(shop, order)
    try:
        by_card(GOOD_CARD)(shop, order)
    except Conflict as refusal:
        shop.store.note(order.reference, f"Paying again was refused: {refusal.message}")


def same_order(shop: Shop, order: Purchase) -> None:
    try:
        shop.create(order.reference, order.amount, order.currency)
    except DuplicateReference as first:
        answer = "with the first link" if first.link == order.link else "without a link"
        shop.store.note(order.reference, f"Created again: 409, {answer}")


def refund(share: str, cents: str = "0") -> Play:
    def play(shop: Shop, order: Purchase) -> None:
        by_card(GOOD_CARD)(shop, order)
        wait_until_paid(shop, order)
        amount = order.amount * Decimal(share) + Decimal(cents)
        shop.client.refunds.create(trans_reference=order.reference, amount=amount)

    return play
