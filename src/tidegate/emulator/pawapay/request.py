"""Requests to the emulated pawaPay, as strict as the service: unknown fields and ids of another form are refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

_UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_AMOUNT = re.compile(r"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_AMOUNT_CHARACTERS_MAX = 23
_PHONE = re.compile(r"[1-9][0-9]{5,19}")
_MESSAGE = re.compile(r"[0-9A-Za-z ]{4,22}")
_METADATA_MAX = 10


class Unacceptable(Exception):
    """Answered with 400, or `status`."""

    def __init__(self, code: str, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


@dataclass(frozen=True)
class AskedDeposit:
    id: str
    phone: str
    provider: str
    amount_text: str
    amount: Decimal
    currency: str
    metadata: dict[str, Any]
    client_reference: str | None
    message: str | None


@dataclass(frozen=True)
class AskedRefund:
    id: str
    deposit_id: str
    amount_text: str | None
    amount: Decimal | None
    currency: str | None
    metadata: dict[str, Any]


def has_decimals(text: str) -> bool:
    return "." in text


def deposit_request(given: Any) -> AskedDeposit:
    known = {"depositId", "payer", "amount", "currency", "clientReferenceId", "customerMessage", "metadata"}
    whole = _fields(given, required={"depositId", "payer", "amount", "currency"}, known=known)
    payer = _fields(whole["payer"], required={"type", "accountDetails"}, known={"type", "accountDetails"})
    details = _fields(payer["accountDetails"], required={"phoneNumber", "provider"}, known={"phoneNumber", "provider"})
    message = whole.get("customerMessage")
    if message is not None and not _MESSAGE.fullmatch(str(message)):
        raise Unacceptable("INVALID_PARAMETER", "customerMessage must have 4 to 22 letters, digits or spaces")
    if payer["type"] != "MMO":
        raise Unacceptable("INVALID_PARAMETER", "payer.type must be MMO")
    return AskedDeposit(
        id=_uuid(whole["depositId"], "depositId"),
        phone=_text(details["phoneNumber"], "phoneNumber", _PHONE),
        provider=str(details["provider"]),
        amount_text=str(whole["amount"]),
        amount=_amount(whole["amount"]),
        currency=str(whole["currency"]),
        metadata=_metadata(whole.get("metadata")),
        client_reference=whole.get("clientReferenceId"),
        message=message,
    )


def refund_request(given: Any) -> AskedRefund:
    known = {"refundId", "depositId", "amount", "currency", "clientReferenceId", "metadata"}
    whole = _fields(given, required={"refundId", "depositId"}, known=known)
    amount = whole.get("amount")
    return AskedRefund(
        id=_uuid(whole["refundId"], "refundId"),
        deposit_id=_uuid(whole["depositId"], "depositId"),
        amount_text=amount,
        amount=None if amount is None else _amount(amount),
        currency=whole.get("currency"),
        metadata=_metadata(whole.get("metadata")),
    )


def _fields(given: Any, *, required: set[str], known: set[str]) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise Unacceptable("INVALID_INPUT", "the input is not an object")
    if missing := sorted(required - set(given)):
        raise Unacceptable("MISSING_PARAMETER", f"{missing[0]} is missing")
    if unknown := sorted(set(given) - known):
        raise Unacceptable("UNSUPPORTED_PARAMETER", f"{unknown[0]} is not supported")
    return given


def _uuid(given: Any, name: str) -> str:
    return _text(given, name, _UUID4)


def _text(given: Any, name: str, form: re.Pattern[str]) -> str:
    if not isinstance(given, str) or not form.fullmatch(given):
        raise Unacceptable("INVALID_PARAMETER", f"{name} is invalid")
    return given


def _amount(given: Any) -> Decimal:
    text = _text(given, "amount", _AMOUNT)
    if len(text) > _AMOUNT_CHARACTERS_MAX:
        raise Unacceptable("INVALID_PARAMETER", "amount is invalid")
    return Decimal(text)


def _metadata(given: Any) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, list) or len(given) > _METADATA_MAX or not all(isinstance(one, dict) for one in given):
        raise Unacceptable("INVALID_PARAMETER", "metadata is invalid")
    pairs = [(name, value) for one in given for name, value in one.items() if name != "isPII"]
    if len({name for name, _ in pairs}) < len(pairs):
        raise Unacceptable("DUPLICATE_METADATA_FIELD", "metadata has a field twice")
    return dict(pairs)
