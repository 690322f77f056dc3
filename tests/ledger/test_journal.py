"""A journal that is not balanced cannot be built."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.booking import NOW, ngn, usd
from tidegate.core.money import Currency, Money
from tidegate.ledger.model import Conversion, Entry, Journal, JournalKind, LedgerAccount, Unbalanced

amounts = st.builds(Money, st.integers(-(10**12), 10**12).filter(bool), st.sampled_from(list(Currency)))
entries = st.lists(
    st.builds(Entry, st.sampled_from(list(LedgerAccount)), amounts),
    min_size=1,
    max_size=8,
    unique_by=lambda entry: (entry.account, entry.amount.currency),
).map(tuple)


def journal(*lines: Entry) -> Journal:
    return Journal(JournalKind.RECEIPT_HELD, "test", lines, NOW)


def is_balanced(lines: tuple[Entry, ...]) -> bool:
    return all(sum(e.amount.minor for e in lines if e.amount.currency is c) == 0 for c in Currency)


@given(entries)
def test_entries_that_do_not_sum_to_zero_are_no_journal(lines: tuple[Entry, ...]) -> None:
    if is_balanced(lines):
        assert journal(*lines).entries == lines
    else:
        with pytest.raises(Unbalanced):
            journal(*lines)


@given(entries.filter(lambda lines: len(lines) < len(LedgerAccount)))
def test_a_line_that_closes_the_gap_makes_them_one(lines: tuple[Entry, ...]) -> None:
    currency = lines[0].amount.currency
    mine = [entry for entry in lines if entry.amount.currency is currency]
    free = next(account for account in LedgerAccount if account not in {entry.account for entry in mine})
    total = sum(entry.amount.minor for entry in mine)
    closing = [Entry(free, Money(-total, currency))] if total else []
    assert journal(*mine, *closing)


def test_currencies_do_not_make_up_for_each_other() -> None:
    with pytest.raises(Unbalanced, match="NGN"):
        journal(Entry(LedgerAccount.RAIL, ngn(-100)), Entry(LedgerAccount.WALLET, usd(100)))


def test_a_journal_moves_something() -> None:
    with pytest.raises(Unbalanced, match="at least one entry"):
        journal()
    with pytest.raises(Unbalanced, match="other than zero"):
        journal(
            Entry(LedgerAccount.RAIL, ngn(-1)), Entry(LedgerAccount.FEE, ngn(0)), Entry(LedgerAccount.WALLET, ngn(1))
        )


def test_an_account_has_one_line_per_currency() -> None:
    with pytest.raises(Unbalanced, match="one line"):
        journal(
            Entry(LedgerAccount.RAIL, ngn(-2)), Entry(LedgerAccount.WALLET, ngn(1)), Entry(LedgerAccount.WALLET, ngn(1))
        )


def test_a_journal_does_not_change() -> None:
    built = journal(Entry(LedgerAccount.RAIL, ngn(-1)), Entry(LedgerAccount.WALLET, ngn(1)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        built.entries = ()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("received", "worth", "converted", "spread"),
    [
        (ngn(100), ngn(100), ngn(99), ngn(1)),
        (usd(100), ngn(0), ngn(0), ngn(0)),
        (usd(100), ngn(100), ngn(-1), ngn(101)),
        (usd(100), ngn(100), ngn(90), ngn(8)),
        (usd(100), ngn(100), ngn(90), ngn(12)),
    ],
)
def test_a_conversion_adds_up_to_a_minor_unit(received: Money, worth: Money, converted: Money, spread: Money) -> None:
    with pytest.raises(Unbalanced):
        Conversion(received, worth, converted, spread)
