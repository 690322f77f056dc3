"""Numbers as merchants see them."""

from __future__ import annotations

import itertools

import pytest

from tidegate.core.public_id import Permutation, PublicIds

TOP = 2**52 - 1


def test_every_number_becomes_another_and_comes_back() -> None:
    numbers = Permutation(b"k" * 32)
    given = [*range(2_000), *range(TOP - 2_000, TOP + 1)]
    shown = [numbers.hide(number) for number in given]
    assert len(set(shown)) == len(given)
    assert all(0 <= number <= TOP for number in shown)
    assert [numbers.reveal(number) for number in shown] == given


def test_numbers_in_a_row_say_nothing_of_their_order_or_distance() -> None:
    numbers = Permutation(b"k" * 32)
    shown = [numbers.hide(number) for number in range(1_000)]
    steps = {after - before for before, after in itertools.pairwise(shown)}
    assert len(steps) > 990
    # Half of the steps lead up, as chance would have it.
    assert 400 < sum(step > 0 for step in steps) < 600


def test_each_deployment_and_each_kind_has_its_own_numbers() -> None:
    mine, other = PublicIds(lambda: b"mine"), PublicIds(lambda: b"other")
    assert len({ids.hide(7) for ids in (mine.payment, mine.statement_line, mine.refund, other.payment)}) == 4


@pytest.mark.parametrize("number", [-1, TOP + 1])
def test_a_number_that_does_not_fit_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="not below"):
        Permutation(b"k" * 32).hide(number)


def test_without_a_secret_there_are_no_numbers() -> None:
    with pytest.raises(RuntimeError, match="not open yet"):
        _ = PublicIds(lambda: b"").payment
