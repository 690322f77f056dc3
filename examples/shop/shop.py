"""What the shop does: sells, is told, verifies, delivers. Everything a merchant's own program needs is here."""

from __future__ import annotations

import secrets
import threading
import time
from decimal import Decimal

from examples.shop.cases import Case
from examples.shop.store import Purchase, ShopStore

from tidegate_client import Created, PaymentRecord, Tidegate, WebhookSignatureError, webhooks

PLAYED = "The case has been played"
THINGS = {"House blend, 1 kg": 8500, "Pour-over kit": 24000}


class Shop:
    def __init__(self, client: Tidegate, store: ShopStore, own_url: str) -> None:
        self.client = client
        self.store = store
        self.own_url = own_url
        self.answers_500 = 0
        self._secret = ""

    def register(self) -> None:
        """One endpoint of our own, with a secret that only we and Tidegate know."""
        hook = f"{self.own_url}/hook"
        for endpoint in self.client.webhooks.endpoints.list():
            if endpoint.url == hook:
                self.client.webhooks.endpoints.delete(endpoint.id)
        made = self.client.webhooks.endpoints.create(
            url=hook, events=["charge.reversed", "refund.successful", "refund.failed"], description="Demo shop"
        )
        self._secret = made.secret or ""

    def order(self, thing: str, expected: str | None = None) -> Purchase:
        amount = THINGS[thing]
        reference = f"KC-{secrets.token_hex(4)}"
        created = self.create(reference, amount)
        purchase = Purchase(reference, thing, amount, created.link, created.pay_code, "waiting", expected)
        self.store.add(purchase)
        self.store.note(reference, f"Created with payments.create ({created.request_id})")
        return purchase

    def create(self, reference: str, amount: int) -> Created:
        return self.client.payments.create(
            amount=amount,
            currency="NGN",
            reference=reference,
            customer={"name": "Ada Obi", "email": "ada@example.com"},
            redirect_url=f"{self.own_url}/thanks",
        )

    def play(self, case: Case) -> Purchase:
        purchase = self.order("House blend, 1 kg", expected=case.expected)
        self.store.note(purchase.reference, f"Played: {case.group}, {case.label.lower()}")

        def work() -> None:
            try:
                case.play(self, purchase)
                self.store.note(purchase.reference, PLAYED)
            except Exception as error:
                self.store.note(purchase.reference, f"The case could not be played: {error}")

        threading.Thread(target=work, daemon=True).start()
        return purchase

    # Being told.

    def receive(self, body: bytes, headers: dict[str, str]) -> int:
        """A webhook; the status to answer."""
        try:
            event = webhooks.verify(body, headers, self._secret)
        except WebhookSignatureError as error:
            self.store.note(headers.get("x-order", ""), f"A webhook was refused: {error.reason}")
            return 401
        data = event.raw["data"]
        reference = data.get("merchantReference") or data.get("collectionMerchantReference") or ""
        if self.answers_500:
            self.answers_500 -= 1
            self.store.note(reference, f"{event.event} arrived, and the shop answered 500")
            return 500
        if not self.store.keep_event(event.id, event.event, reference):
            self.store.note(reference, f"{event.event} arrived again, dropped by webhook-id")
            return 204
        self.store.note(reference, f"{event.event} arrived, its signature fits")
        if self.store.find(reference):
            self.verify(reference)
        return 204

    def receive_forged(self, purchase: Purchase) -> None:
        body = b'{"event": "charge.successful", "data": {"merchantReference": "%s"}}' % purchase.reference.encode()
        headers = {"webhook-id": "evt_forged", "webhook-timestamp": str(int(time.time()))}
        headers |= {"webhook-signature": "v1,Zm9yZ2Vk", "x-order": purchase.reference}
        assert self.receive(body, headers) == 401

    def wait_for_delivery(self, reference: str) -> str:
        """The id of the delivery that told of the payment."""
        for _ in range(100):
            for delivery in self.client.webhooks.deliveries.list(reference=reference):
                if delivery.status == "delivered":
                    return delivery.id
            time.sleep(0.2)
        raise TimeoutError("no webhook has arrived")

    # Deciding.

    def verify(self, reference: str) -> str:
        payment = self.client.payments.verify(reference)
        state = decide(payment)
        before = self.store.find(reference)
        if before and before.state != state:
            self.store.set_state(reference, state)
            words = f"Verified: {payment.status}, {payment.amount_received:,} of {payment.amount_expected:,} NGN"
            self.store.note(reference, f"{words}. The order is {state}")
        return state


def decide(payment: PaymentRecord) -> str:
    """Deliver only what is paid, whole, and still ours."""
    if payment.status in ("failed", "expired"):
        return "not paid"
    if payment.status != "success":
        return "waiting"
    if payment.is_reversed:
        return "taken back"
    if payment.variance_type is not None:
        return "held"
    if payment.amount_refunded > Decimal(0):
        return "refunded" if payment.amount_refunded == payment.amount_received else "refunded in part"
    return "delivered"
