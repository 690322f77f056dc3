"""What Paystack takes, and how a charge is asked for."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from tidegate.core.method import Method
from tidegate.core.money import Currency
from tidegate.rail.action import Action, OtpAction, PromptAction
from tidegate.rail.capability import AmountLimits, Capabilities, MethodTerms
from tidegate.rail.instrument import Bank, HostedPage, Phone, TransferInstrument
from tidegate.rail.interface import StartAttempt
from tidegate.rail.mobile_money import MOBILE_MONEY
from tidegate.rail_settings import PaystackSettings

# Per transaction, in minor units.
_MINOR_MIN = {Currency.NGN: 50_00, Currency.GHS: 10, Currency.ZAR: 1_00, Currency.KES: 3_00}
_TRANSFER_MINOR_MIN = {Currency.NGN: 100_00}
_MINOR_MAX = 10_000_000_00
# Our operators of mobile money, as Paystack names them.
PROVIDERS = {
    Currency.GHS: {"mtn": "mtn", "telecel": "vod", "at": "atl"},
    Currency.KES: {"mpesa": "mpesa", "airtel": "atl"},
}
# Telecel sends no prompt: its customers make a code on the phone, and type it on our page. In Paystack's words, for
# when its own are lost.
_BY_VOUCHER = {(Currency.GHS, "telecel")}
_VOUCHER_TEXT = "Please dial *110# to generate a voucher code. Then input the voucher"
# Our banks of USSD. Older lists of Paystack have more; its documentation now has this one only.
USSD_TYPES = {"058": "737"}
# Instant EFT in South Africa is a page of its own.
EFT_PROVIDER = "ozow"
_HOSTED = {(Currency.NGN, Method.CARD), (Currency.ZAR, Method.CARD), (Currency.ZAR, Method.BANK_TRANSFER)}


def capabilities_of(settings: PaystackSettings, *, is_open: bool) -> Capabilities:
    return Capabilities(
        methods={
            currency: {method: _terms(currency, method, is_open) for method in _methods(currency, settings)}
            for currency in settings.currencies
        },
        lists_transactions=True,
    )


def _methods(currency: Currency, settings: PaystackSettings) -> list[Method]:
    methods = [method for method in Method if (currency, method) in _HOSTED]
    if currency in PROVIDERS:
        methods.append(Method.MOBILE_MONEY)
    if currency is Currency.NGN:
        methods += [Method.BANK_TRANSFER, Method.USSD]
    if currency is Currency.KES and settings.has_pesalink:
        methods.append(Method.BANK_TRANSFER)
    return methods


def _terms(currency: Currency, method: Method, is_open: bool) -> MethodTerms:
    minor_min = _MINOR_MIN[currency]
    if method is Method.BANK_TRANSFER:
        minor_min = _TRANSFER_MINOR_MIN.get(currency, minor_min)
    limits = AmountLimits(minor_min=minor_min, minor_max=_MINOR_MAX)
    choices: dict[Method, dict[str, AmountLimits]] = {
        Method.MOBILE_MONEY: dict.fromkeys(PROVIDERS.get(currency, {}), limits),
        Method.USSD: dict.fromkeys(USSD_TYPES, limits),
    }
    return MethodTerms(
        limits=limits, is_hosted=(currency, method) in _HOSTED, choices=choices.get(method), is_open=is_open
    )


def expected_action(attempt: StartAttempt) -> Action | None:
    """What the payer can do even when Paystack's answer is lost. A page or an account is known by the answer alone."""
    if not isinstance(attempt.instrument, Phone):
        return None
    is_by_voucher = (attempt.amount.currency, attempt.instrument.operator) in _BY_VOUCHER
    return OtpAction(_VOUCHER_TEXT) if is_by_voucher else PromptAction()


def page_request(attempt: StartAttempt, reference: str) -> dict[str, Any]:
    """Of POST /transaction/initialize: the payer gives the card on Paystack's page."""
    return {
        "email": attempt.payer.email,
        "amount": attempt.amount.minor,
        "currency": attempt.amount.currency,
        "reference": reference,
        "channels": ["card"],
        "callback_url": f"{attempt.return_url}/back",
        "metadata": {"cancel_action": f"{attempt.return_url}/back"},
    }


def charge_request(attempt: StartAttempt, reference: str) -> dict[str, Any]:
    """Of POST /charge."""
    return {
        "email": attempt.payer.email,
        "amount": attempt.amount.minor,
        "currency": attempt.amount.currency,
        "reference": reference,
        **_instrument(attempt),
    }


def _instrument(attempt: StartAttempt) -> dict[str, Any]:
    currency = attempt.amount.currency
    match attempt.instrument:
        case Phone() as phone:
            provider = PROVIDERS[currency][phone.operator]
            return {"mobile_money": {"phone": _local(phone.number, currency), "provider": provider}}
        case Bank() as bank:
            return {"ussd": {"type": USSD_TYPES[bank.code]}}
        case TransferInstrument() as transfer:
            expires_at = transfer.expires_at.astimezone(UTC)
            return {"bank_transfer": {"account_expires_at": f"{expires_at:%Y-%m-%dT%H:%M:%S.000Z}"}}
        case HostedPage():
            return {"eft": {"provider": EFT_PROVIDER}}
    raise TypeError("a card is never sent to Paystack by us")


def _local(number: str, currency: Currency) -> str:
    """Ghanaian numbers in their national form; Kenyan ones as they are."""
    code = f"+{MOBILE_MONEY[currency].calling_code}"
    return f"0{number.removeprefix(code)}" if currency is Currency.GHS else number
