from __future__ import annotations

import pytest

from tidegate.core.card_number import contains_card_number


@pytest.mark.parametrize(
    "text",
    [
        "4111111111111111",
        "4222222222222",
        "card 5319 3178 0136 6660 please",
        "5366-1398-3386-4633",
        "x5333018248439266y",
        "378282246310005",
        "2223003122003222",
        "6011111111111117",
        "3530111333300000",
        "30569309025904",
        "order 10 2024-11-15 4111111111111111",
        "４１１１１１１１１１１１１１１１",
    ],
)
def test_card_numbers_are_recognised(text: str) -> None:
    assert contains_card_number(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "4111111111111112",
        "1731628800000",
        "+2348012345678",
        "2348012345670",
        "12345678901234567890",
        "41111111111111111111",
        "550e8400-e29b-41d4-a716-446655440000",
        "ORD-20261115-0001",
        "411111111111",
    ],
)
def test_other_digits_are_left_alone(text: str) -> None:
    assert not contains_card_number(text)
