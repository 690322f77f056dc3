"""How an attempt begins: the behaviour of the test card or number, and the payer's first action."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from tidegate.core.errors import Invalid, Problem
from tidegate.core.method import Method
from tidegate.core.money import Currency
from tidegate.rail import ussd_bank
from tidegate.rail.action import (
    Action,
    AddressAction,
    DialAction,
    PinAction,
    PromptAction,
    RedirectAction,
    TransferAction,
)
from tidegate.rail.instrument import (
    Bank,
    Card,
    HostedPage,
    PaymentInstrument,
    Phone,
    TransferInstrument,
    month_has_passed,
)
from tidegate.rail.interface import StartAttempt
from tidegate.rail.sandbox.model import DIAL_CODE_LASTS, SCRIPTS, Behaviour, SandboxAttempt

BANK_NAME = "Tidegate Test Bank"
BANK_CODE = "999"

# The published test numbers. All others are refused, so that no real card is used here.
CARDS: dict[str, Behaviour] = {
    "5319317801366660": Behaviour.CARD_SUCCEEDS,
    "5366139833864633": Behaviour.CARD_PIN,
    "5333018248439266": Behaviour.CARD_PIN_THEN_OTP,
    "4084080000000409": Behaviour.CARD_3DS,
    "4960215093757593": Behaviour.CARD_ADDRESS,
    "4084080000005408": Behaviour.CARD_WITHOUT_MONEY,
}
# By the last four digits.
PHONES: dict[str, Behaviour] = {
    "0000": Behaviour.PHONE_APPROVES,
    "0001": Behaviour.PHONE_APPROVES_LATE,
    "0002": Behaviour.PHONE_WITHOUT_MONEY,
    "0003": Behaviour.PHONE_DECLINES,
    "0004": Behaviour.PHONE_WITHOUT_WALLET,
    "0005": Behaviour.PHONE_IS_SILENT,
}
INSTRUMENT_OF: dict[Method, type[PaymentInstrument]] = {
    Method.BANK_TRANSFER: TransferInstrument,
    Method.CARD: Card,
    Method.MOBILE_MONEY: Phone,
    Method.USSD: Bank,
}

_SERIAL_DIGITS = 9
_DIAL_DIGITS = 6
# Coprime to powers of ten, so that different serials stay different and neighbours look unlike.
_SCATTER = 618_033_989


def needs_serial(instrument: PaymentInstrument) -> bool:
    return isinstance(instrument, TransferInstrument | Bank)


def begin(order: StartAttempt, *, transaction_id: str, serial: int, now: datetime) -> SandboxAttempt:
    """`serial` is unused."""
    if not isinstance(order.instrument, INSTRUMENT_OF[order.method]):
        raise ValueError(f"{order.method} is not paid by {type(order.instrument).__name__}")
    behaviour, action = _first_step(order, serial=serial, now=now)
    script = SCRIPTS[behaviour]
    return SandboxAttempt(
        business_id=order.business_id,
        reference=order.reference,
        method=order.method,
        amount=order.amount,
        behaviour=behaviour,
        transaction_id=transaction_id,
        started_at=now,
        action=action,
        failure=script.failure,
        ends_at=None if script.after is None else now + script.after,
    )


def resend(attempt: SandboxAttempt, *, serial: int, now: datetime) -> SandboxAttempt:
    """A USSD code is replaced by a new one with a new expiry. Other prompts and codes stay the same."""
    if attempt.has_ended(now) or not isinstance(attempt.action, DialAction):
        return attempt
    stem = attempt.action.code.rpartition("*")[0]
    code = f"{stem}*{scattered(serial, _DIAL_DIGITS)}#"
    return replace(attempt, action=DialAction(code), ends_at=now + DIAL_CODE_LASTS)


def _first_step(order: StartAttempt, *, serial: int, now: datetime) -> tuple[Behaviour, Action | None]:
    match order.instrument:
        case Card():
            behaviour = _card_behaviour(order.instrument, now)
            return behaviour, _card_action(behaviour, order.return_url)
        case Phone():
            behaviour = PHONES.get(order.instrument.number[-4:], Behaviour.PHONE_WAITS)
            return behaviour, PromptAction() if behaviour is Behaviour.PHONE_WAITS else None
        case Bank():
            return Behaviour.USSD_WAITS, DialAction(_dial_code(order.instrument.code, order.amount.currency, serial))
        case TransferInstrument():
            number = account_number(order.amount.currency, serial)
            return Behaviour.TRANSFER_WAITS, TransferAction(number, BANK_NAME, BANK_CODE, order.instrument.account_name)
        case HostedPage():  # Refused in `begin`: no method here is hosted.
            raise TypeError(order.instrument)


def _card_behaviour(card: Card, now: datetime) -> Behaviour:
    behaviour = CARDS.get(card.number)
    if behaviour is None:
        return Behaviour.CARD_NOT_FOR_TESTS
    has_passed = month_has_passed(month=card.expiry_month, year=card.expiry_year, now=now)
    return Behaviour.CARD_OUT_OF_DATE if has_passed or not 1 <= card.expiry_month <= 12 else behaviour


def _card_action(behaviour: Behaviour, return_url: str) -> Action | None:
    actions: dict[Behaviour, Action] = {
        Behaviour.CARD_PIN: PinAction(),
        Behaviour.CARD_PIN_THEN_OTP: PinAction(),
        Behaviour.CARD_3DS: RedirectAction(f"{return_url}/3ds"),
        Behaviour.CARD_ADDRESS: AddressAction(),
    }
    return actions.get(behaviour)


def account_number(currency: Currency, serial: int) -> str:
    """With the length usual in the country: a 9, noughts, and the serial."""
    return "9" + scattered(serial, _SERIAL_DIGITS).rjust(currency.spec.account_digits - 1, "0")


def _dial_code(bank_code: str, currency: Currency, serial: int) -> str:
    found = ussd_bank.find(bank_code, currency)
    if found is None:
        raise Invalid(Problem("bank", f"must be the code of a bank that takes USSD payments in {currency}"))
    return found.dial_code(scattered(serial, _DIAL_DIGITS))


def scattered(serial: int, digits: int) -> str:
    return f"{serial * _SCATTER % 10**digits:0{digits}d}"
