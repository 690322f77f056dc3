from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice, pairwise

import pytest

from merchant_ids import merchant_ids
from tidegate.core.bank_number import iban_of
from tidegate.core.card_number import contains_card_number

# The numbers that issuers and processors give out for tests, and the groups that are printed on such a card.
TEST_CARDS = {
    "4111111111111111": (4, 4, 4, 4),
    "4242424242424242": (4, 4, 4, 4),
    "4222222222222": (13,),
    "5319317801366660": (4, 4, 4, 4),
    "5555555555554444": (4, 4, 4, 4),
    "2223003122003222": (4, 4, 4, 4),
    "378282246310005": (4, 6, 5),
    "6011111111111117": (4, 4, 4, 4),
    "30569309025904": (4, 6, 4),
    "3530111333300000": (4, 4, 4, 4),
    "6200000000000005": (4, 4, 4, 4),
    "5061460410120223210": (4, 4, 4, 4, 3),
    "506099580000000215": (4, 4, 4, 4, 2),
    "6304000000000000000": (4, 4, 4, 4, 3),
}
SENTENCES = (
    "{}",
    "card {} please",
    "my card is {}.",
    "card:{};cvv",
    "pan={}&x=1",
    '"{}"',
    "({})",
    "{} 12/27 123",
    "order 10 2024-11-15 {}",
    "1234 {}",
    "卡号{}。",
)


def forms_of(number: str, groups: tuple[int, ...]) -> Iterator[str]:
    yield number
    yield number.translate({ord(str(digit)): 0xFF10 + digit for digit in range(10)})
    yield number.translate({ord(str(digit)): 0x0660 + digit for digit in range(10)})
    edges = [sum(groups[:at]) for at in range(len(groups) + 1)]
    parts = [number[start:end] for start, end in pairwise(edges)]
    for gap in (" ", "-", ".", "  ", " - ", "\u2013", "\u00a0", "\u200b"):
        yield gap.join(parts)


@pytest.mark.parametrize("number", TEST_CARDS)
def test_a_card_number_is_recognised_in_every_written_form(number: str) -> None:
    for form in forms_of(number, TEST_CARDS[number]):
        for sentence in SENTENCES:
            assert contains_card_number(sentence.format(form)), sentence.format(form)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "4111111111111112",
        "1731628800000",
        "+2348012345678",
        "+49 151 12345678",
        "2348012345670",
        "12345678901234567890",
        "41111111111111111111",
        "550e8400-e29b-41d4-a716-446655440000",
        "ORD-20261115-0001",
        "411111111111",
        "w731245123-46-1794800000",
        "ORD-4111-1111-1111-1111",
        "x4111111111111111",
        "4111111111111111y",
        "inv_4111111111111111",
        "4111111111111111-2",
        "41-1111-1111-1111-11",
        "411111-11111-11111",
        "ORD.4111.1111.1111.1111",
        "4111.1111.1111.1111.x",
        "41.1111.1111.1111.11",
    ],
)
def test_other_digits_are_left_alone(text: str) -> None:
    assert not contains_card_number(text)


def test_none_of_many_ids_of_merchants_is_taken_for_a_card() -> None:
    """Of a million."""
    ids = merchant_ids(random.Random(20261116))
    for _ in range(1_000):
        thousand = list(islice(ids, 1_000))
        # A line ends a word, so each is judged as if it stood alone.
        if contains_card_number("\n".join(thousand)):
            assert [one for one in thousand if contains_card_number(one)] == []


def test_an_iban_in_groups_is_not_taken_for_a_card_and_hides_none() -> None:
    chance = random.Random(7)
    for country, length in (("PL", 24), ("DE", 18), ("BE", 12)):
        for _ in range(500):
            iban = iban_of(country, f"{chance.randrange(10**length):0{length}d}")
            typed = " ".join(iban[at : at + 4] for at in range(0, len(iban), 4))
            assert not contains_card_number(f"from {typed} today"), typed
            assert contains_card_number(f"{typed} 4111 1111 1111 1111"), typed


def test_a_text_of_a_thousand_groups_like_a_card_s_is_refused_without_looking_at_all_of_them() -> None:
    assert not contains_card_number("4444 " * 900)
    assert contains_card_number("4444 " * 13_000)
