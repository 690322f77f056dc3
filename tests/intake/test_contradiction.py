"""Two versions of a notification, field by field."""

from __future__ import annotations

import pytest

from tidegate.intake.contradiction import note_of, versions_of


@pytest.mark.parametrize(
    ("first", "then", "note", "expected"),
    [
        (b'{"a":{"n":1},"b":"x"}', b'{"a":{"n":2},"b":"x"}', "", [("a.n", "1", "2"), ("b", "x", "x")]),
        (b'{"a":[1]}', b'{"a":[1],"c":null}', "", [("c", "", "null"), ("a[0]", "1", "1")]),
        (b"<a/>", b"<b/>", "", [("body", "<a/>", "<b/>")]),
        (
            None,
            b"{}",
            note_of("t-1", "EUR 5.00 to DE1", "EUR 6.00"),
            [("amount and account", "EUR 5.00 to DE1", "EUR 6.00")],
        ),
        (None, b"{}", "this credit was reversed before, with another amount", []),
        (None, None, None, []),
    ],
)
def test_what_differs_is_first(
    first: bytes | None, then: bytes | None, note: str | None, expected: list[tuple[str, str, str]]
) -> None:
    assert [tuple(one) for one in versions_of(first, then, note)] == expected
