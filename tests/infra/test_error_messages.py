"""What is wrong with a request is said in plain words, never in those of the library that decodes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tidegate.app import operations_of
from tidegate.core.errors import Invalid
from tidegate.infra.http.operation import Operation
from tidegate.infra.http.read import read
from tidegate.payment import wire
from tidegate.runtime import Runtime
from tidegate.settings import Settings

OPERATIONS = operations_of(Runtime.of(Settings()))
WRONG: tuple[Any, ...] = (
    None, True, 1, -1, 10**30, 1.5, "", "x", "x" * 6_000, [], [1], ["x"] * 100, [[]], [{}], {}, {"x": 1},
)  # fmt: skip
THEIR_WORDS = re.compile(r"Expected|got |null|Invalid|Object|\bint\b|\bstr\b")


def complaints_about(request: type[msgspec.Struct], value: dict[str, Any]) -> Iterator[str]:
    try:
        read(value, request)
    except Invalid as refusal:
        yield from (problem.message for problem in refusal.problems)


@pytest.mark.parametrize("operation", [one for one in OPERATIONS if one.request or one.query], ids=lambda one: one.name)
def test_every_problem_is_said_in_plain_words(operation: Operation) -> None:
    for request in filter(None, (operation.request, operation.query)):
        for field in msgspec.structs.fields(request):
            for wrong in WRONG:
                for complaint in complaints_about(request, {field.encode_name: wrong}):
                    assert not THEIR_WORDS.search(complaint), (field.encode_name, wrong, complaint)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("paymentMethods", "card", "must be an array of strings"),
        ("paymentMethods", [1], "must be a string"),
        ("amount", "100", "must be an integer"),
        ("amount", 0, "must be at least 1"),
        ("customer", 1, "must be an object"),
        ("successMessage", 1, "must be a string"),
    ],
)
def test_a_wrong_type_is_answered_with_the_right_one(field: str, value: Any, message: str) -> None:
    assert message in complaints_about(wire.CreatePayment, {field: value})
