"""The page that a payer of the emulated Paystack pays on, and the list for everything paid elsewhere."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from html import escape

from aiohttp import web

from tidegate.emulator.http import page
from tidegate.emulator.paystack.model import CARDS, EmulatedPayment
from tidegate.emulator.paystack.service import PaystackService

PATH = "/checkout"
_HUNDREDTHS_MAX = 10**15


class PaystackPage:
    def __init__(self, service: PaystackService) -> None:
        self._service = service

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/", self._list),
            web.post("/act", self._act),
            web.get(PATH + "/{code}", self._show),
            web.post(PATH + "/{code}", self._pay),
        ]

    async def _show(self, request: web.Request) -> web.Response:
        payment = self._payment(request)
        if not payment.is_open:
            return page("Already done", f"<p>This payment is {payment.status}.</p>{_back(payment)}")
        cards = "".join(
            f'<button name="number" value="{number}">{number}: {escape(pays)}'
            f"{f', refund {ends}' if ends and ends != 'processed' else ''}</button>"
            for number, (pays, ends) in CARDS.items()
        )
        form = f'<form method="post">{cards}<button name="number" value="">Cancel</button></form>'
        return page("Emulated Paystack", f"<p>{payment.currency} {_major(payment.amount)}</p>{form}")

    async def _pay(self, request: web.Request) -> web.StreamResponse:
        payment = self._payment(request)
        number = str((await request.post()).get("number", ""))
        if number and not self._service.pay_with_card(payment, number):
            return page("Not a test card", "<p>Only test cards work here.</p>")
        if not payment.callback_url:
            return page("Done", f"<p>This payment is {payment.status}.</p>")
        joint = "&" if "?" in payment.callback_url else "?"
        query = f"{joint}trxref={payment.reference}&reference={payment.reference}"
        raise web.HTTPSeeOther(payment.callback_url + query)

    def _payment(self, request: web.Request) -> EmulatedPayment:
        code = request.match_info["code"]
        payment = next((one for one in self._service.memory.payments.values() if one.access_code == code), None)
        if payment is None:
            raise web.HTTPNotFound
        return payment

    async def _list(self, request: web.Request) -> web.Response:
        """The payer's phone and bank: approve, decline, or transfer."""
        rows = "".join(_row(one) for one in reversed(self._service.memory.payments.values()))
        return page("Payers of the emulated Paystack", f"<ul>{rows}</ul>" if rows else "<p>Nothing yet.</p>")

    async def _act(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        payment = self._service.find(str(form.get("reference", "")))
        if payment is None:
            raise web.HTTPNotFound
        if form.get("do") == "decline":
            self._service.decline(payment)
        elif payment.channel == "bank_transfer":
            amount = _hundredths(str(form.get("amount") or _major(payment.requested_amount)))
            if amount is None:
                return page("Not an amount", "<p>Write what is transferred like 250.00, and try again.</p>")
            self._service.transfer(payment, amount, sender="Demo Payer", narration=payment.narration)
        else:
            self._service.pay(payment)
        raise web.HTTPSeeOther("/")


def _row(payment: EmulatedPayment) -> str:
    text = f"{payment.reference}: {payment.channel}, {payment.currency} {_major(payment.amount)}, {payment.status}"
    if not payment.is_open:
        return f"<li>{escape(text)}</li>"
    amount = f'<input name="amount" value="{_major(payment.requested_amount)}">' if payment.account_number else ""
    return (
        f'<li>{escape(text)}<form method="post" action="/act"><input type="hidden" name="reference" '
        f'value="{escape(payment.reference)}">{amount}<button name="do" value="pay">Pay</button>'
        '<button name="do" value="decline">Decline</button></form></li>'
    )


def _major(hundredths: int) -> str:
    return f"{Decimal(hundredths).scaleb(-2):f}"


def _hundredths(typed: str) -> int | None:
    """None for what no payer can transfer."""
    try:
        amount = Decimal(typed).scaleb(2)
    except InvalidOperation:
        return None
    return int(amount) if amount.is_finite() and 0 < amount <= _HUNDREDTHS_MAX and amount == int(amount) else None


def _back(payment: EmulatedPayment) -> str:
    return f'<a href="{escape(payment.callback_url)}">Back to the shop</a>' if payment.callback_url else ""
