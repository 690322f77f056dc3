"""Lines beside movements, in memory: every break is found and named, and nothing else is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.money import Currency, Money
from tidegate.reconcile.compare import Comparison
from tidegate.reconcile.model import (
    Direction,
    Discrepancy,
    DiscrepancyKind,
    Movement,
    MovementStatus,
    RailLine,
    ReconcilePeriod,
)
from tidegate.reconcile.report import ADVICE, advice_on, sums_of

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
PERIOD = ReconcilePeriod(date(2026, 11, 14), date(2026, 11, 16), timedelta(days=1))
IN, OUT = Direction.IN, Direction.OUT


def line(number: int = 2, **changes: Any) -> RailLine:
    fields = {"transaction_id": "T-1", "direction": IN, "amount": Decimal(100), "currency": "EUR", "booked_at": NOON}
    return RailLine(number=number, **{**fields, **changes})


def movement(**changes: Any) -> Movement:
    fields = {
        "kind": "receipt", "direction": IN, "transaction_id": "T-1", "reference": None,
        "amount": Money(100_00, Currency.EUR), "at": NOON,
    }  # fmt: skip
    return Movement(**{**fields, **changes})


def compared(lines: list[RailLine], movements: Iterable[Movement]) -> list[Discrepancy]:
    comparison = Comparison(lines, PERIOD)
    for each in movements:
        comparison.add(each)
    return comparison.findings()


def kinds(lines: list[RailLine], *movements: Movement) -> list[tuple[DiscrepancyKind, int | None]]:
    return [(found.kind, found.line.number if found.line else None) for found in compared(lines, movements)]


def test_what_agrees_is_no_finding() -> None:
    assert kinds([line()], movement()) == []


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"amount": Decimal("100.01")}, DiscrepancyKind.AMOUNT),
        ({"currency": "USD"}, DiscrepancyKind.CURRENCY),
        ({"currency": "XAU", "amount": Decimal(1)}, DiscrepancyKind.CURRENCY),
        ({"direction": OUT}, DiscrepancyKind.DIRECTION),
    ],
)
def test_the_same_money_with_other_details_is_one_finding(changes: dict[str, Any], kind: DiscrepancyKind) -> None:
    [found] = compared([line(**changes)], [movement()])
    assert (found.kind, found.line, found.movement) == (kind, line(**changes), movement())


def test_what_only_one_side_has_is_missing_or_extra() -> None:
    assert kinds([line(transaction_id="T-2")], movement()) == [
        (DiscrepancyKind.MISSING, 2),
        (DiscrepancyKind.EXTRA, None),
    ]


def test_what_the_rail_lists_twice_is_a_duplicate_with_its_movement() -> None:
    [found] = compared([line(), line(3)], [movement(business_id="b")])
    assert (found.kind, found.line, found.movement) == (DiscrepancyKind.DUPLICATE, line(3), movement(business_id="b"))


def test_of_two_lines_the_one_with_our_amount_is_the_movements() -> None:
    assert kinds([line(amount=Decimal(7)), line(3)], movement()) == [(DiscrepancyKind.DUPLICATE, 2)]


def test_a_line_twice_that_our_books_do_not_have_is_missing_once() -> None:
    assert kinds([line(), line(3)]) == [(DiscrepancyKind.MISSING, 2), (DiscrepancyKind.DUPLICATE, 3)]


def test_two_movements_of_one_identifier_find_their_own_lines_in_any_order() -> None:
    lines = [line(amount=Decimal(1)), line(3, amount=Decimal(2))]
    assert kinds(lines, movement(amount=Money(2_00, Currency.EUR)), movement(amount=Money(1_00, Currency.EUR))) == []
    assert kinds(lines, movement(), movement(amount=Money(1_00, Currency.EUR))) == [(DiscrepancyKind.AMOUNT, 3)]


def test_a_movement_that_waited_for_a_line_that_another_took_is_extra() -> None:
    assert kinds([line()], movement(amount=Money(5, Currency.EUR)), movement()) == [(DiscrepancyKind.EXTRA, None)]


@pytest.mark.parametrize(
    "fields",
    [
        {"transaction_id": "SENT-1"},
        {"transaction_id": "RET-1"},
        {"transaction_id": "bank's own", "reference": "RET-1"},
    ],
)
def test_money_out_is_known_by_the_rails_id_or_by_our_reference(fields: dict[str, Any]) -> None:
    out = movement(direction=OUT, transaction_id="SENT-1", reference="RET-1")
    assert kinds([line(direction=OUT, **fields)], out) == []


def test_money_in_is_not_known_by_a_reference() -> None:
    assert kinds([line(transaction_id="T-9", reference="T-1")], movement()) == [
        (DiscrepancyKind.MISSING, 2),
        (DiscrepancyKind.EXTRA, None),
    ]


def test_a_rail_that_sends_twice_under_one_reference_is_found() -> None:
    out = movement(direction=OUT, transaction_id=None, reference="RET-1")
    lines = [line(n, direction=OUT, transaction_id=f"B-{n}", reference="RET-1") for n in (2, 3)]
    assert kinds(lines, out) == [(DiscrepancyKind.DUPLICATE, 3)]


def test_money_on_its_way_out_may_be_listed_or_not() -> None:
    out = movement(direction=OUT, transaction_id=None, reference="RET-1", status=MovementStatus.UNDER_WAY)
    assert kinds([], out) == []
    [found] = compared([line(direction=OUT, transaction_id="RET-1")], [out])
    assert found.kind is DiscrepancyKind.UNCONFIRMED
    assert not found.kind.is_break


def test_a_refund_that_failed_here_and_went_out_there_is_missing() -> None:
    out = movement(direction=OUT, transaction_id=None, reference="RET-1", status=MovementStatus.FAILED)
    assert kinds([], out) == []
    [found] = compared([line(direction=OUT, transaction_id="RET-1")], [out])
    assert (found.kind, found.movement) == (DiscrepancyKind.MISSING, out)
    assert advice_on(found) != ADVICE[DiscrepancyKind.MISSING]
    [total] = sums_of([line(direction=OUT, transaction_id="RET-1")], [found])
    assert (total.rail, total.books) == (Decimal(100), Decimal(0))


def test_what_was_recorded_beyond_the_period_agrees_and_is_never_extra() -> None:
    late = movement(at=NOON + timedelta(days=30))
    assert kinds([line()], late) == []
    assert kinds([], late) == []


@pytest.mark.parametrize(
    ("at", "kind"),
    [
        (PERIOD.begin, DiscrepancyKind.EDGE),
        (PERIOD.begin + timedelta(minutes=10), DiscrepancyKind.EXTRA),
        (PERIOD.end - timedelta(minutes=10, microseconds=1), DiscrepancyKind.EXTRA),
        (PERIOD.end - timedelta(minutes=10), DiscrepancyKind.EDGE),
    ],
)
def test_what_came_around_midnight_may_be_in_the_next_statement(at: datetime, kind: DiscrepancyKind) -> None:
    assert kinds([], movement(at=at)) == [(kind, None)]


def test_without_slack_dates_are_taken_at_their_word() -> None:
    comparison = Comparison([], msgspec.structs.replace(PERIOD, slack=timedelta(0)))
    comparison.add(movement(at=PERIOD.begin))
    assert [found.kind for found in comparison.findings()] == [DiscrepancyKind.EXTRA]


def test_what_a_list_never_has_is_no_break() -> None:
    """A chargeback, in the list of a rail that has none."""
    taken_back = movement(kind="reversal", direction=OUT, transaction_id="dispute-1")
    comparison = Comparison([], PERIOD, left_out=frozenset({"reversal"}))
    comparison.add(taken_back)
    comparison.add(movement(transaction_id="T-9"))
    found = comparison.findings()
    assert sorted(one.kind for one in found) == [DiscrepancyKind.EXTRA, DiscrepancyKind.UNLISTED]
    assert [total.books for total in sums_of([], found)] == [taken_back.amount.major]
    assert kinds([], taken_back) == [(DiscrepancyKind.EXTRA, None)]


def test_lines_outside_the_period_are_left_out() -> None:
    assert kinds([line(booked_at=PERIOD.end)]) == []


def test_every_class_has_its_advice() -> None:
    assert set(ADVICE) == set(DiscrepancyKind)


# Two sides that agree, and breaks put into them.

MOVEMENTS = st.lists(
    st.builds(
        lambda direction, identifier, minor, currency, with_reference: movement(
            direction=direction,
            transaction_id=None if with_reference and direction is OUT else f"T-{identifier}",
            reference=f"R-{identifier}" if direction is OUT else None,
            amount=Money(minor, currency),
        ),
        st.sampled_from(Direction), st.integers(0, 10**6), st.integers(1, 10**12), st.sampled_from(Currency),
        st.booleans(),
    ),
    unique_by=lambda each: (each.transaction_id or each.reference or "")[2:], max_size=30,
)  # fmt: skip


def as_listed(number: int, each: Movement) -> RailLine:
    return line(
        number, transaction_id=each.transaction_id or f"B-{number}", direction=each.direction,
        amount=each.amount.major, currency=each.amount.currency.value, reference=each.reference,
    )  # fmt: skip


@given(MOVEMENTS, st.randoms(use_true_random=False))
def test_a_side_compared_with_itself_in_any_order_shows_nothing(movements: list[Movement], chance: Any) -> None:
    lines = [as_listed(number, each) for number, each in enumerate(movements, start=2)]
    chance.shuffle(movements)
    comparison = Comparison(lines, PERIOD)
    for each in movements:
        comparison.add(each)
    assert comparison.unmatched_ids() == []
    assert comparison.findings() == []
    assert comparison.matched == len(lines)


def broken(kind: DiscrepancyKind | None, number: int, each: Movement) -> tuple[list[RailLine], list[Movement]]:
    """The two sides of one movement, with that break between them."""
    listed = as_listed(number, each)
    other_currency = "USD" if listed.currency != "USD" else "GBP"
    change = msgspec.structs.replace
    sides: dict[DiscrepancyKind | None, tuple[list[RailLine], list[Movement]]] = {
        None: ([listed], [each]),
        DiscrepancyKind.MISSING: ([listed], []),
        DiscrepancyKind.EXTRA: ([], [each]),
        DiscrepancyKind.AMOUNT: ([change(listed, amount=listed.amount + 1)], [each]),
        DiscrepancyKind.CURRENCY: ([change(listed, currency=other_currency)], [each]),
        DiscrepancyKind.DIRECTION: ([change(listed, direction=listed.direction.other)], [each]),
        DiscrepancyKind.DUPLICATE: ([listed, change(listed, number=number + 1)], [each]),
    }
    return sides[kind]


SEEDS: list[DiscrepancyKind | None] = [None, *(kind for kind in DiscrepancyKind if kind.is_break)]


@given(MOVEMENTS, st.data(), st.randoms(use_true_random=False))
def test_exactly_the_breaks_that_were_put_in_are_found(movements: list[Movement], data: Any, chance: Any) -> None:
    lines: list[RailLine] = []
    books: list[Movement] = []
    expected: Counter[tuple[DiscrepancyKind, str]] = Counter()
    for index, each in enumerate(movements):
        kind = data.draw(st.sampled_from(SEEDS))
        listed, moved = broken(kind, index * 2 + 2, each)
        lines += listed
        books += moved
        if kind is not None:
            expected[kind, listed[0].transaction_id if listed else each.transaction_id or each.reference or ""] += 1
    chance.shuffle(books)
    found = compared(lines, books)
    assert Counter((one.kind, _identifier(one)) for one in found) == expected
    for total in sums_of(lines, found):
        ours = (m.amount.major for m in books if (m.amount.currency, m.direction) == (total.currency, total.direction))
        assert total.books == sum(ours, Decimal(0))


def _identifier(found: Discrepancy) -> str:
    if found.line is not None:
        return found.line.transaction_id
    assert found.movement is not None
    return found.movement.transaction_id or found.movement.reference or ""
