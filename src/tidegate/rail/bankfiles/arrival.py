"""What an entry of a statement means to us, as pure functions."""

from __future__ import annotations

from datetime import UTC, datetime, time
from decimal import Decimal

from tidegate.bank_settings import BankAccount
from tidegate.core.money import Currency, Money
from tidegate.rail.bankfiles.code import code_in
from tidegate.rail.bankfiles.model import BankEntry, FileKind
from tidegate.rail.event import MoneyArrived

# Far above any transfer, far below the overflow of a balance.
_MINOR_MAX = 10**15


def money_of(entry: BankEntry) -> Money | str:
    """Exact, or why it is none of ours."""
    if entry.currency not in list(Currency):
        return f"{entry.currency} is not a currency of this service"
    currency = Currency(entry.currency)
    minor = entry.amount * currency.minor_per_major
    if minor != minor.to_integral_value():
        return f"{entry.amount} has more decimals than {currency} has"
    return Money(int(minor), currency) if minor <= _MINOR_MAX else f"{entry.amount} {currency} is above every limit"


def classify(entry: BankEntry, kind: FileKind) -> tuple[str, str | None]:
    """The state in which it is kept, and why; `new` for what is to be recorded."""
    if not entry.is_booked:
        return "ignored", "not booked yet"
    if entry.amount == Decimal(0):
        return "ignored", "no money"
    if not entry.has_reference and not kind.is_statement:
        # Its key could not be recognised in the statement, and it would be recorded twice.
        return "ignored", "the bank gives no reference; it is recorded from the statement of the day"
    money = money_of(entry)
    why = entry.problem or (money if isinstance(money, str) else None)
    return ("problem", why) if why else ("new", None)


def destination_of(entry: BankEntry, account: BankAccount) -> str:
    """The virtual number; or the account with the reference that the payer typed; or the account alone: the
    money is then in suspense.
    """
    if entry.is_return or entry.is_reversal:
        return account.number
    if entry.destination in account.virtual_numbers:
        return entry.destination
    code = code_in(entry.remittance, entry.end_to_end_id) if account.is_checkout else None
    if code is not None:
        return f"{account.number}/{code}"
    if entry.destination is not None and entry.destination not in account.names:
        return entry.destination
    return account.number


def arrived(entry: BankEntry, account: BankAccount, amount: Money) -> MoneyArrived:
    return MoneyArrived(
        account_number=destination_of(entry, account),
        transaction_id=entry.keys[0],
        amount=amount,
        payer=entry.counterparty,
        payee_name=entry.payee_name if account.has_typed_names else None,
        scheme=entry.scheme,
        remittance=entry.remittance,
        valued_at=datetime.combine(entry.valued_on, time(), UTC),
        is_payee_reported=account.has_typed_names and entry.payee_name is not None,
    )
