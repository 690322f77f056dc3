"""What the shop does: sells, is told, verifies, delivers. Everything a merchant's own program needs is here."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Literal

import httpx2
from examples.shop.cases import Case, Faulty
from examples.shop.store import Purchase, ShopStore

from tidegate_client import Created, PaymentRecord, Tidegate, WebhookSignatureError, webhooks

HOOK_PATH = "/webhooks/tidegate"
# An endpoint with the same URL and another description is the reader's own.
DESCRIPTION = "Demo shop"
PLAYED = "The case has been played"
# Without a webhook for this long, an order is asked about.
SILENT_S = 30
Currency = Literal["NGN", "KES"]
THINGS: dict[str, dict[Currency, int]] = {
    "House blend, 1 kg": {"NGN": 8500, "KES": 1200},
    "Pour-over kit": {"NGN": 24000, "KES": 3400},
}
HOUSE_BLEND = "House blend, 1 kg"


class Shop:
    def __init__(self, connect: Callable[[httpx2.Client], Tidegate], store: ShopStore, own_url: str) -> None:
        self._connect = connect
        self.client = connect(httpx2.Client())
        self.store = store
        self.own_url = own_url
        self.hook_url = f"{own_url}{HOOK_PATH}"
        # By order: how many of the next webhooks are answered 500.
        self.failures: dict[str, int] = {}
        self._secret = ""

    def register(self) -> None:
        """One endpoint of our own, with a secret that only we and Tidegate know."""
        for endpoint in self.client.webhooks.endpoints.list():
            if (endpoint.url, endpoint.description) == (self.hook_url, DESCRIPTION):
                self.client.webhooks.endpoints.delete(endpoint.id)
        made = self.client.webhooks.endpoints.create(
            url=self.hook_url,
            events=["charge.reversed", "refund.successful", "refund.failed"],
            description=DESCRIPTION,
        )
        self._secret = made.secret or ""

    def order(self, thing: str, case: Case | None = None) -> Purchase:
        currency: Currency = case.currency if case else "NGN"
        amount = THINGS[thing][currency]
        reference = f"KC-{secrets.token_hex(4)}"
        client = self.client
        if case and case.fault:
            client = self._connect(httpx2.Client(transport=Faulty(case.fault)))
        created = self.create(reference, amount, currency, client)
        name = case.name if case else None
        purchase = Purchase(reference, thing, amount, currency, created.link, created.pay_code, "waiting", name)
        self.store.add(purchase)
        self.store.note(reference, f"Created with payments.create ({created.request_id})")
        return purchase

    def create(self, reference: str, amount: int, currency: Currency, client: Tidegate | None = None) -> Created:
        return (client or self.client).payments.create(
            amount=amount,
            currency=currency,
            reference=reference,
            customer={"name": "Ada Obi", "email": "ada@example.com"},
            redirect_url=f"{self.own_url}/thanks",
        )

    def play(self, case: Case) -> Purchase:
        purchase = self.order(HOUSE_BLEND, case)
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
        if self.failures.get(reference):
            self.failures[reference] -= 1
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

    # Deciding.

    def verify(self, reference: str) -> PaymentRecord:
        payment = self.client.payments.verify(reference)
        state = decide(payment)
        before = self.store.find(reference)
        if before and before.state != state:
            self.store.set_state(reference, state)
            words = f"Verified: {payment.status}, {payment.amount_received:,} of {payment.amount_expected:,}"
            self.store.note(reference, f"{words} {payment.currency}. The order is {state}")
        return payment

    def verify_silent_orders(self) -> None:
        """A webhook may be lost with all its tries: what waits is asked about."""
        while True:
            time.sleep(SILENT_S)
            for reference in self.store.waiting_since(time.time() - SILENT_S):
                self.verify(reference)


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
