"""JSON as money wants it read: one meaning or none."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tidegate.core.errors import PROBLEMS_MAX, Invalid, Malformed
from tidegate.infra.http import strict_json
from tidegate.infra.http.operation import encode
from tidegate.infra.http.strict_json import DEPTH_MAX, NUMBER_DIGITS_MAX, SHOWN_LENGTH_MAX, VALUES_MAX, loads, shown

# A busy machine is no failure.
unhurried = settings(deadline=None)

# Characters that mean something to a JSON reader, so that most texts get past its first few steps.
JSON_LIKE = st.text(alphabet='[]{}":,\\/u0dD89aeE.+-1tfn \n\x00é', max_size=40)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=10)
SCALARS = st.none() | st.booleans() | st.integers(-(10**40), 10**40) | TEXT
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))


def refusal_of(body: bytes) -> Malformed | Invalid:
    with pytest.raises((Malformed, Invalid)) as raised:
        loads(body)
    assert isinstance(raised.value, Malformed | Invalid)
    return raised.value


@unhurried
@given(st.binary(max_size=60) | JSON_LIKE.map(str.encode))
@example(b'{"a":[[],[],[],[],[],[],[],[],"' + b'\\"' * 32_000)
@example(b"[" * 100_000)
@example(b'{"a":' * 100_000)
@example(b"1e" + b"9" * 90)
@example(b"-" + b"9" * 5_000)
@example(b'"\\ud800"')
@example(b'{"\\u0000":1}')
@example(b"\xef\xbb\xbf{}")
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    try:
        value = loads(body)
    except (Malformed, Invalid):
        return
    # What was read can be written and reads the same, here and by any other reader of JSON.
    assert loads(encode(value)) == value
    assert json.loads(body, parse_float=Decimal) == value


@unhurried
@given(VALUES)
def test_every_value_comes_back_as_it_was(value: Any) -> None:
    text = json.dumps(value)
    if text.count("[") + text.count("{") <= DEPTH_MAX:
        assert loads(text.encode()) == value


@unhurried
@given(st.decimals(allow_nan=False, allow_infinity=False, places=6))
def test_decimals_are_exact(number: Decimal) -> None:
    assert loads(format(number, "f").encode()).as_tuple() == number.as_tuple()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"NaN",
        b"[Infinity]",
        b'{"a":1,"a":2}',
        b'{"a":1,"\\u0061":2}',
        b"\xef\xbb\xbf{}",
        b'"\xff"',
        b'"\x00"',
        b"{} {}",
        b"[" * 9 + b"]" * 9,
        '{"a":1}'.encode("utf-16"),
        '{"a":1}'.encode("utf-16-le"),
    ],
)
def test_what_has_no_one_meaning_is_malformed(body: bytes) -> None:
    assert isinstance(refusal_of(body), Malformed)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'"\\u0000"', "body"),
        (b'{"a":["x","\\ud800"]}', "a[1]"),
        (b'{"a":{"\\udfff":1}}', "a"),
        (b'{"a":{"b\\u0000":"\\u0000"}}', "a.b\\x00"),
        (b'{"a":' + b"1" * (NUMBER_DIGITS_MAX + 1) + b"}", "a"),
        (b'{"a":0.' + b"1" * NUMBER_DIGITS_MAX + b"}", "a"),
        (b'{"a":1e1000}', "a"),
        (b'{"a":1E-1000}', "a"),
        (b'{"a":0e99999999999999999999}', "a"),
    ],
)
def test_what_could_not_be_kept_is_invalid_and_its_place_is_named(body: bytes, field: str) -> None:
    refusal = refusal_of(body)
    assert isinstance(refusal, Invalid)
    assert field in [problem.field for problem in refusal.problems]


def test_at_most_twenty_problems_are_listed_and_that_there_are_more() -> None:
    few = refusal_of(json.dumps(["\0"] * PROBLEMS_MAX).encode())
    many = refusal_of(json.dumps(["\0"] * 1_500).encode())
    assert isinstance(few, Invalid)
    assert isinstance(many, Invalid)
    assert [problem.field for problem in few.problems] == [f"[{at}]" for at in range(PROBLEMS_MAX)]
    assert many.problems[:-1] == few.problems
    assert "more problems than these 20" in many.problems[-1].message


def test_a_body_has_a_limited_number_of_values_and_a_text_any_number_of_commas() -> None:
    assert len(loads(json.dumps([0] * (VALUES_MAX - 1)).encode())) == VALUES_MAX - 1
    assert loads(json.dumps(["," * 60_000]).encode()) == ["," * 60_000]
    for body in (b"[0" + b",0" * (VALUES_MAX - 1) + b"]", b"[[]" + b",[]" * (VALUES_MAX - 1) + b"]"):
        refusal = refusal_of(body)
        assert isinstance(refusal, Malformed)
        assert "2,000 values" in refusal.message


def test_the_deepest_body_is_read() -> None:
    assert loads(b"[" * DEPTH_MAX + b"]" * DEPTH_MAX) == [[[[[[[[]]]]]]]]


def test_brackets_in_text_are_not_levels() -> None:
    text = '[{"\\' * 50
    assert loads(json.dumps([text]).encode()) == [text]


def test_every_scalar_is_found_with_its_place() -> None:
    value = {"a": {"b": [1, {"c": None}]}, "d": "e"}
    assert list(strict_json.walk(value, "")) == [
        ("body", "a"),
        ("a", "b"),
        ("a.b[0]", 1),
        ("a.b[1]", "c"),
        ("a.b[1].c", None),
        ("body", "d"),
        ("d", "e"),
    ]


def test_a_key_is_repeated_short_and_never_as_a_card_number() -> None:
    assert shown("metadata.note") == "metadata.note"
    assert shown("metadata.4111 1111 1111 1111") == "metadata.•••• •••• •••• ••••"
    assert shown("a\0\ud800") == "a\\x00\\ud800"
    assert len(shown("k" * 60_000)) == SHOWN_LENGTH_MAX + 1


@unhurried
@given(st.text())
def test_what_is_shown_can_be_sent(text: str) -> None:
    assert len(shown(text).encode()) <= 10 * SHOWN_LENGTH_MAX + 10
