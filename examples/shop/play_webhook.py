"""Cases about webhooks: what the network and the shop's own server do to them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from examples.shop.play import GOOD_CARD, WITHIN_S, by_card

from tidegate_client import Conflict, DeliveryRecord

if TYPE_CHECKING:
    from examples.shop.shop import Shop
    from examples.shop.store import Purchase


def delivery_of(shop: Shop, order: Purchase, is_as_wanted: Callable[[DeliveryRecord], bool]) -> str:
    """The id of the delivery that tells of the payment, once it is as wanted."""
    ends_at = time.monotonic() + WITHIN_S
    while time.monotonic() < ends_at:
        for delivery in shop.client.webhooks.deliveries.list(reference=order.reference):
            if delivery.url == shop.hook_url and is_as_wanted(delivery):
                return delivery.id
        time.sleep(0.2)
    raise TimeoutError("no webhook was sent")


def is_delivered(delivery: DeliveryRecord) -> bool:
    return delivery.status == "delivered"


def was_refused(delivery: DeliveryRecord) -> bool:
    return delivery.attempts_made > 0


def twice(shop: Shop, order: Purchase) -> None:
    by_card(GOOD_CARD)(shop, order)
    send_again(shop, delivery_of(shop, order, is_delivered))


def late(shop: Shop, order: Purchase) -> None:
    """The first try is lost; by the sandbox's clock the next one comes ten minutes later."""
    shop.failures[order.reference] = 1
    by_card(GOOD_CARD)(shop, order)
    delivery_of(shop, order, was_refused)
    shop.verify(order.reference)
    shop.client.sandbox.clock.advance(advance="10m")
    delivery_of(shop, order, is_delivered)


def before_the_return(shop: Shop, order: Purchase) -> None:
    by_card(GOOD_CARD)(shop, order)
    delivery_of(shop, order, is_delivered)
    shop.store.note(order.reference, "The customer returns")


def forged(shop: Shop, order: Purchase) -> None:
    shop.receive_forged(order)


def shop_fails(shop: Shop, order: Purchase) -> None:
    shop.failures[order.reference] = 1
    by_card(GOOD_CARD)(shop, order)


def shop_is_down(shop: Shop, order: Purchase) -> None:
    shop.failures[order.reference] = 10
    by_card(GOOD_CARD)(shop, order)
    delivery = delivery_of(shop, order, was_refused)
    shop.verify(order.reference)
    shop.failures[order.reference] = 0
    send_again(shop, delivery)
    delivery_of(shop, order, is_delivered)


def send_again(shop: Shop, delivery: str) -> None:
    """Waits while a try of the schedule is under way: only one is sent at a time."""
    ends_at = time.monotonic() + WITHIN_S
    while True:
        try:
            shop.client.webhooks.deliveries.resend(delivery)
        except Conflict:
            if time.monotonic() > ends_at:
                raise
            time.sleep(0.2)
        else:
            return
