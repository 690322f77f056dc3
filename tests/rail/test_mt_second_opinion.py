"""MT940 and MT942, as our emulated bank writes them and as we read them, beside a published reader: `mt-940`."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import mt940
import pytest

from bank_file_maker import entries_in, entry, mt940_file, mt942_file, statements_in

MANY = (
    entry("12.50"),
    entry("3.00", is_credit=False, reference="OUT-1", end_to_end_id="rt-1", name="Beta BV"),
    # A credit that is taken back leaves the account, a debit that is taken back comes in.
    entry("5.00", is_credit=False, is_reversal=True, reference="R-2"),
    entry("7.00", is_reversal=True, reference="R-3"),
    entry("10000000.01", reference="R-4", remittance="Rent of November"),
)
FILES = {
    "MT940": mt940_file(*MANY, sequence=3, opening=Decimal(100)),
    "MT940 in the red": mt940_file(*MANY[:1], opening=Decimal(-100)),
    "MT942": mt942_file(*MANY),
}


def statements_by_others(file: bytes) -> Any:
    # Its usual options count a credit that is taken back as money that came.
    options = mt940.Options(
        reversal_sign=True, applicant_iban=True, unbounded_details=True, merge_keeps_values=True, timezone_offset=True
    )
    return mt940.parse_statements(file.decode("latin-1"), options=options)


def by_others(file: bytes) -> Iterator[tuple[Any, ...]]:
    for statement in statements_by_others(file):
        for one in statement:
            told = one.data
            yield (
                told["amount"].amount, told["currency"], told["date"], told["guessed_entry_date"],
                told["bank_reference"], told["end_to_end_reference"], told["applicant_name"], told["applicant_iban"],
                told["applicant_bin"], told["purpose"],
            )  # fmt: skip


def by_us(file: bytes) -> Iterator[tuple[Any, ...]]:
    for one in entries_in(file):
        other = one.counterparty
        yield (
            one.amount if one.is_credit else -one.amount, one.currency, one.valued_on, one.booked_on,
            one.keys[0].rpartition("/")[2], one.end_to_end_id, other.name, other.account_number, other.bank_code,
            one.remittance,
        )  # fmt: skip


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_entries_are_read_alike(file: bytes) -> None:
    read = list(by_us(file))
    assert read
    assert read == list(by_others(file))


@pytest.mark.parametrize("name", ["MT940", "MT940 in the red"])
def test_balances_are_read_alike_and_fit(name: str) -> None:
    [ours], [theirs] = statements_in(FILES[name]), statements_by_others(FILES[name])
    told = theirs.data
    assert (ours.account, str(ours.sequence)) == (told["account_identification"], told["statement_number"])
    balances = [told[f"final_{which}_balance"].amount.amount for which in ("opening", "closing")]
    assert [ours.opening, ours.closing] == balances
    assert balances[0] + sum(one.data["amount"].amount for one in theirs) == balances[1]
