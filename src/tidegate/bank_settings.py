"""Settings of the rail of a bank's files: a folder, and the operator's accounts at the bank."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tidegate.core.bank_number import is_bic, is_iban, normal_account_number
from tidegate.core.money import ACCOUNT_OFFERS, CHECKOUT_OFFERS, Currency
from tidegate.settings_reader import SettingsReader

FOLDER, ACCOUNTS = "TIDEGATE_BANKFILES_DIR", "TIDEGATE_BANKFILES_ACCOUNTS"
ACCOUNTS_BYTES_MAX = 4 * 1024 * 1024
PAYEE_NAMES = ("typed", "absent", "owner")
PAIN_VERSIONS = (3, 9)
_REQUIRED = ("number", "currency", "holder", "bank_name", "country")
_OPTIONAL = ("also", "bank_code", "bic", "payee_name", "checkout", "virtual_numbers", "pain_version")
_KEYS = frozenset((*_REQUIRED, *_OPTIONAL))
_KINDS: dict[str, type] = {"also": list, "virtual_numbers": list, "checkout": bool, "pain_version": int}
_KIND_NAMES: dict[type, str] = {list: 'a list, such as ["DE02…"]', bool: "true or false", int: "a whole number"}


@dataclass(frozen=True, kw_only=True)
class BankAccount:
    """An account of the operator at a bank."""

    # The IBAN where there is one, as the bank's files name it; and other forms that they use.
    number: str
    also: tuple[str, ...] = ()
    currency: Currency
    holder: str
    bank_name: str
    bank_code: str = ""
    bic: str | None = None
    country: str
    # What the bank reports as the recipient's name: what the payer typed, nothing, or the account's own holder.
    payee_name: str = "absent"
    # Whether payers of checkouts transfer to it.
    is_checkout: bool = False
    # That the bank has issued for it, to be given to virtual accounts.
    virtual_numbers: tuple[str, ...] = ()
    pain_version: int = 9

    @property
    def names(self) -> tuple[str, ...]:
        return (self.number, *self.also)

    @property
    def has_typed_names(self) -> bool:
        return self.payee_name == "typed"


class StatementAccount(NamedTuple):
    """The number that a statement is of, and the account at the bank: another one when the number is virtual."""

    number: str
    physical: str

    @property
    def virtual(self) -> str | None:
        return self.number if self.number != self.physical else None


@dataclass(frozen=True, kw_only=True)
class BankFilesSettings:
    folder: Path
    accounts: tuple[BankAccount, ...]

    @classmethod
    def read(cls, read: SettingsReader) -> BankFilesSettings:
        folder = read.text(FOLDER)
        if not folder:
            read.problems.append(f"{FOLDER} must name the folder of the bank's files.")
        return cls(folder=Path(folder or ".").absolute(), accounts=_accounts(read))

    def account_of(self, number: str) -> BankAccount | None:
        """By any number that its files name: its own, another form of it, or a virtual one."""
        return next((one for one in self.accounts if number in one.names or number in one.virtual_numbers), None)

    def named(self, number: str) -> StatementAccount:
        """Another form of an account's number becomes that number, so that its files are known as of one account."""
        account = self.account_of(number)
        if account is None:
            return StatementAccount(number, number)
        return StatementAccount(account.number if number in account.also else number, account.number)

    def checkout_account(self, currency: Currency) -> BankAccount | None:
        return next((one for one in self.accounts if one.is_checkout and one.currency is currency), None)


def _accounts(read: SettingsReader) -> tuple[BankAccount, ...]:
    path = read.text(ACCOUNTS)
    if not path:
        read.problems.append(f"{ACCOUNTS} must name a TOML file with an [[account]] for each account at the bank.")
        return ()
    try:
        text = Path(path).read_bytes()[: ACCOUNTS_BYTES_MAX + 1]
        rows = tomllib.loads(text.decode()).get("account", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        read.problems.append(f"{ACCOUNTS} names {path!r}, which cannot be read: {error}.")
        return ()
    if len(text) > ACCOUNTS_BYTES_MAX or not isinstance(rows, list) or not rows:
        read.problems.append(f"{ACCOUNTS} must name a file of at most {ACCOUNTS_BYTES_MAX} bytes with an [[account]].")
        return ()
    found = [_account(row, partial(_complain, read, number)) for number, row in enumerate(rows, 1)]
    accounts = tuple(one for one in found if one is not None)
    _check_numbers(accounts, read)
    return accounts


def _complain(read: SettingsReader, number: int, why: str) -> None:
    read.problems.append(f"{ACCOUNTS}: account {number}: {why}.")


def _account(row: Any, complain: Callable[[str], None]) -> BankAccount | None:
    if not isinstance(row, dict):
        complain("it must be a table, [[account]]")
        return None
    mistyped = [name for name, kind in _KINDS.items() if name in row and not isinstance(row[name], kind)]
    if mistyped:
        complain(f"{', '.join(mistyped)} must be {_KIND_NAMES[_KINDS[mistyped[0]]]}")
        return None
    unknown = sorted(set(row) - _KEYS)
    if unknown:
        complain(f"{', '.join(unknown)} is not known; there are {', '.join(sorted(_KEYS))}")
    missing = [name for name in _REQUIRED if not row.get(name)]
    if missing:
        complain(f"{', '.join(missing)} must be given")
        return None
    account = _made(row)
    for why in _wrong(row, account):
        complain(why)
    return account


def _made(row: Mapping[str, Any]) -> BankAccount:
    currency = str(row["currency"])
    return BankAccount(
        number=normal_account_number(str(row["number"])),
        also=tuple(normal_account_number(str(one)) for one in row.get("also", ())),
        currency=Currency(currency) if currency in list(Currency) else next(iter(ACCOUNT_OFFERS)),
        holder=str(row["holder"]),
        bank_name=str(row["bank_name"]),
        bank_code=str(row.get("bank_code", "")),
        bic=str(row["bic"]) if row.get("bic") else None,
        country=str(row["country"]).upper(),
        payee_name=str(row.get("payee_name", "absent")),
        is_checkout=row.get("checkout") is True,
        virtual_numbers=tuple(normal_account_number(str(one)) for one in row.get("virtual_numbers", ())),
        pain_version=int(row.get("pain_version", 9)),
    )


def _wrong(row: Mapping[str, Any], account: BankAccount) -> list[str]:
    checks = (
        (account.currency != row["currency"], f"currency must be one of {', '.join(Currency)}"),
        (
            account.is_checkout and account.currency not in CHECKOUT_OFFERS,
            f"checkout needs a currency of {', '.join(CHECKOUT_OFFERS)}",
        ),
        (
            bool(account.virtual_numbers) and account.currency not in ACCOUNT_OFFERS,
            f"virtual_numbers need a currency of {', '.join(ACCOUNT_OFFERS)}",
        ),
        (account.payee_name not in PAYEE_NAMES, f"payee_name must be one of {', '.join(PAYEE_NAMES)}"),
        (account.pain_version not in PAIN_VERSIONS, "pain_version must be 3 or 9"),
        (account.bic is not None and not is_bic(account.bic), "bic must be a BIC, such as COBADEFFXXX"),
        (len(account.country) != 2 or not account.country.isalpha(), "country must have two letters, such as DE"),
        (account.number[:2].isalpha() and not is_iban(account.number), "number begins like an IBAN and is none"),
    )
    return [why for is_wrong, why in checks if is_wrong]


def _check_numbers(accounts: tuple[BankAccount, ...], read: SettingsReader) -> None:
    numbers = Counter(number for one in accounts for number in (*one.names, *one.virtual_numbers))
    twice = [number for number, count in numbers.items() if count > 1]
    if twice:
        read.problems.append(f"{ACCOUNTS}: {', '.join(twice[:5])} stands there twice.")
    currencies = [one.currency for one in accounts if one.is_checkout]
    if len(currencies) > len(set(currencies)):
        read.problems.append(f"{ACCOUNTS}: one account of a currency may have checkout = true.")
