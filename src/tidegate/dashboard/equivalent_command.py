"""The same act as a command for a shell, shown beside it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from tidegate.core.method import MethodNames
from tidegate.core.money import Currency, Money
from tidegate.infra.http.operation import encode
from tidegate.infra.timestamp import to_iso
from tidegate.payment.list_store import PaymentFilter
from tidegate.webhook.log_store import Window

_KEY = '-H "api-key: $TIDEGATE_SECRET_KEY"'


def curl(base_url: str, path: str, body: Mapping[str, Any] | None = None, *, more: str = "") -> str:
    """Texts of payers and merchants stand in it: an apostrophe would end the quotes."""
    if body is None:
        return f"curl -s {_KEY} '{_quoted(base_url + path)}'"
    text = msgspec.json.format(encode(body), indent=2).decode()
    return (
        f"curl -s '{_quoted(base_url + path)}' \\\n  {_KEY}{more} -H 'content-type: application/json' \\\n"
        f"  -H \"Idempotency-Key: $(uuidgen)\" \\\n  -d '{_quoted(text)}'"
    )


def create_payment(base_url: str, currency: Currency) -> str:
    customer = {"name": "Ada Obi", "email": "ada@example.com"}
    order = {"amount": 2500, "currency": currency.value, "customer": customer}
    return curl(base_url, "/checkout/payments", order, more=' -H "x-pub-key: $TIDEGATE_PUBLIC_KEY"')


def list_payments(base_url: str, wanted: PaymentFilter, names: MethodNames) -> str:
    """The API searches no names, and its references begin; what it cannot do is left out."""
    given: dict[str, object] = {
        "status": wanted.status,
        "varianceType": wanted.variance,
        "paymentMethod": names.in_record(wanted.method) if wanted.method else None,
        "currency": wanted.currency,
        "email": wanted.email,
        "referencePrefix": wanted.reference_prefix or wanted.either_prefix,
        "amountMin": wanted.least_major if wanted.currency else None,
        "amountMax": wanted.most_major if wanted.currency else None,
        "paymentLinkId": wanted.link_id,
        "dateFrom": to_iso(wanted.start) if wanted.start else None,
        "dateTo": to_iso(wanted.end) if wanted.end else None,
    }
    query = urlencode({name: str(value) for name, value in given.items() if value is not None})
    return curl(base_url, f"/checkout/payments?{query}" if query else "/checkout/payments")


def requests(base_url: str) -> str:
    return curl(base_url, "/requests")


def create_link(base_url: str, value: Mapping[str, Any]) -> str:
    return curl(base_url, "/checkout/payment-links", value)


def verify(base_url: str, reference: str) -> str:
    return curl(base_url, f"/checkout/payments/merchant-reference/{quote(reference, safe='')}")


def refund(base_url: str, pay_code: str, money: Money) -> str:
    return curl(base_url, "/collections/refund", {"transReference": pay_code, "amount": money.major})


def replay(base_url: str, window: Window) -> str:
    body = {"dateFrom": to_iso(window.start), "dateTo": to_iso(window.end), "undeliveredOnly": window.only_undelivered}
    where = {"endpointId": window.endpoint_id} if window.endpoint_id else {}
    return curl(base_url, "/webhooks/replays", {**body, **where, "confirm": True})


def _quoted(text: str) -> str:
    return text.replace("'", "'\\''")
