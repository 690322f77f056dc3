"""Odd cases, played through the sandbox as the payer, the bank or the network would, and what should come of each."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from tidegate_client import CardFields, Conflict, DuplicateReference, Tidegate

if TYPE_CHECKING:
    from examples.shop.shop import Shop
    from examples.shop.store import Purchase

Play = Callable[["Shop", "Purchase"], None]
WITHIN_S = 30


@dataclass(frozen=True)
class Case:
    group: str
    label: str
    expected: str
    play: Play

    @property
    def name(self) -> str:
        return f"{self.group}-{self.label}".lower().replace(" ", "-")


def card(number: str) -> CardFields:
    return {"number": number, "expiry_month": 12, "expiry_year": 2040, "cvv": "123"}


def by_card(number: str, *, pin: str | None = None, otp: str | None = None) -> Play:
    def play(shop: Shop, order: Purchase) -> None:
        shop.client.checkouts.charge(order.pay_code, type="card", card=card(number))
        if pin:
            shop.client.checkouts.authorize(order.pay_code, pin=pin)
        if otp:
            shop.client.checkouts.authorize(order.pay_code, otp=otp)

    return play


def by_transfer(*shares: str, late: bool = False, reversed_: bool = False) -> Play:
    """Each share of the amount as a transfer of its own."""

    def play(shop: Shop, order: Purchase) -> None:
        client = shop.client
        action = client.checkouts.charge(order.pay_code, type="bank_transfer").action
        assert action.virtual_account is not None
        if late:
            client.sandbox.charges.expire(order.pay_code)
        sent = [
            client.sandbox.transfers.send(
                account_number=action.virtual_account.account_number,
                amount=order.amount * Decimal(share),
                currency="NGN",
                payer={"name": "Ada Obi"},
            )
            for share in shares
        ]
        if reversed_:
            wait_until_paid(client, order)
            client.sandbox.transfers.reverse(sent[0].transaction_id)

    return play


def by_ussd(*, is_approved: bool) -> Play:
    def play(shop: Shop, order: Purchase) -> None:
        bank = shop.client.checkouts.get(order.pay_code).banks[0]
        shop.client.checkouts.charge(order.pay_code, type="payAttitude", bank=bank.code)
        charges = shop.client.sandbox.charges
        charges.approve(order.pay_code) if is_approved else charges.decline(order.pay_code)

    return play


def wait_until_paid(client: Tidegate, order: Purchase) -> None:
    ends_at = time.monotonic() + WITHIN_S
    while client.payments.verify(order.reference).status != "success" and time.monotonic() < ends_at:
        time.sleep(0.2)


def cancel(shop: Shop, order: Purchase) -> None:
    shop.client.checkouts.cancel(order.pay_code)


def expire(shop: Shop, order: Purchase) -> None:
    shop.client.sandbox.charges.expire(order.pay_code)


def nothing(shop: Shop, order: Purchase) -> None:
    shop.store.note(order.reference, "The customer has closed the tab, or opened the return address by hand")


def pay_twice(shop: Shop, order: Purchase) -> None:
    by_card(GOOD)(shop, order)
    try:
        by_card(GOOD)(shop, order)
    except Conflict as refusal:
        shop.store.note(order.reference, f"Paying again was refused: {refusal.message}")


def same_order(shop: Shop, order: Purchase) -> None:
    try:
        shop.create(order.reference, order.amount)
    except DuplicateReference as first:
        is_same = first.link == order.link
        shop.store.note(
            order.reference, f"Created again: 409, {'with the first link' if is_same else 'without a link'}"
        )


def event_twice(shop: Shop, order: Purchase) -> None:
    by_card(GOOD)(shop, order)
    delivery = shop.wait_for_delivery(order.reference)
    shop.client.webhooks.deliveries.resend(delivery)


def shop_fails(shop: Shop, order: Purchase) -> None:
    shop.answers_500 = 1
    by_card(GOOD)(shop, order)


def forged(shop: Shop, order: Purchase) -> None:
    shop.receive_forged(order)


def refund(share: str, cents: str = "0") -> Play:
    def play(shop: Shop, order: Purchase) -> None:
        by_card(GOOD)(shop, order)
        wait_until_paid(shop.client, order)
        amount = order.amount * Decimal(share) + Decimal(cents)
        shop.client.refunds.create(trans_reference=order.reference, amount=amount)

    return play


GOOD = "5319317801366660"
CASES = [
    Case("Transfer", "Exact", "delivered", by_transfer("1")),
    Case("Transfer", "Too little", "held", by_transfer("0.5")),
    Case("Transfer", "Too much", "held", by_transfer("1.5")),
    Case("Transfer", "Too late", "not paid", by_transfer("1", late=True)),
    Case("Transfer", "Bank takes it back", "taken back", by_transfer("1", reversed_=True)),
    Case("Card", "Paid at once", "delivered", by_card(GOOD)),
    Case("Card", "PIN", "delivered", by_card("5366139833864633", pin="1234")),
    Case("Card", "PIN and OTP", "delivered", by_card("5333018248439266", pin="1234", otp="123456")),
    Case("Card", "3-D Secure", "delivered", by_card("4084080000000409", otp="123456")),
    Case("Card", "Declined", "waiting", by_card("4084080000005408")),
    Case("USSD", "Approved", "delivered", by_ussd(is_approved=True)),
    Case("USSD", "Not approved", "waiting", by_ussd(is_approved=False)),
    Case("Customer", "Closes the tab", "waiting", nothing),
    Case("Customer", "Cancels", "not paid", cancel),
    Case("Customer", "Pays twice", "delivered", pay_twice),
    Case("Webhook", "Twice", "delivered", event_twice),
    Case("Webhook", "Forged signature", "waiting", forged),
    Case("Webhook", "Shop answers 500", "delivered", shop_fails),
    Case("Server and time", "Same order again", "waiting", same_order),
    Case("Server and time", "Session ends", "not paid", expire),
    Case("Server and time", "Refund of a part", "refunded in part", refund("0.5")),
    Case("Server and time", "Refund fails", "delivered", refund("0.5", "0.13")),
]
BY_NAME = {case.name: case for case in CASES}
