"""Page numbers: whole, from one, and only so deep."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.errors import Invalid
from tidegate.infra.http import openapi
from tidegate.infra.http.operation import encode
from tidegate.infra.http.paging import PageNumber, PerPage, refuse_deep
from tidegate.infra.http.query import query_of
from tidegate.infra.http.read import read


class Wanted(msgspec.Struct, kw_only=True, rename="camel"):
    page: PageNumber = PageNumber.when_absent(1)
    per_page: PerPage = PerPage.when_absent(10)


def asked(raw: bytes, body: bytes = b"") -> Wanted:
    return read(query_of(raw, Wanted, body), Wanted)


def problems_of(raw: bytes, body: bytes = b"") -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as refused:
        asked(raw, body)
    return [(problem.field, problem.message) for problem in refused.value.problems]


def test_a_page_is_given_as_text_or_as_a_number() -> None:
    assert asked(b"page=2&perPage=100") == Wanted(page=PageNumber(2), per_page=PerPage(100))
    assert asked(b"", b'{"page": 2, "perPage": "100"}') == Wanted(page=PageNumber(2), per_page=PerPage(100))
    assert asked(b"") == Wanted()


@pytest.mark.parametrize("text", ["0", "-1", "1e9", "abc", "1.5", "", "01", "+1", "1 ", "٣", "0x1", "1_0", "true"])
def test_a_malformed_page_number_is_refused(text: str) -> None:
    raw = f"page={text.replace('+', '%2B')}".encode() if text.isascii() else b"page=%D9%A3"
    assert problems_of(raw) == [("page", "must be a whole number from 1")]
    assert problems_of(raw.replace(b"page", b"perPage")) == [("perPage", "must be a whole number from 1 to 100")]


@pytest.mark.parametrize("value", [b"0", b"-1", b"1e9", b"1.0", b"true", b"null", b"[1]", b'{"a": 1}', b'"1.5"'])
def test_a_malformed_page_number_in_a_body_is_refused_too(value: bytes) -> None:
    assert problems_of(b"", b'{"page": %s}' % value) == [("page", "must be a whole number from 1")]


@pytest.mark.parametrize("text", ["101", "10001", "1" + "0" * 30, "9" * 5000])
def test_a_page_has_at_most_a_hundred_rows(text: str) -> None:
    assert problems_of(f"perPage={text}".encode()) == [("perPage", "must be a whole number from 1 to 100")]


@pytest.mark.parametrize("text", ["10001", "1000000000", "9" * 5000])
def test_a_page_beyond_the_limit_at_any_size_is_refused_with_advice(text: str) -> None:
    [(field, message)] = problems_of(f"page={text}".encode())
    assert field == "page"
    assert "first 10000 rows" in message
    assert "`cursor`" in message


@pytest.mark.parametrize(("page", "per_page"), [(1, 100), (100, 100), (10_000, 1), (1_000, 10), (334, 30)])
def test_a_page_that_begins_within_the_limit_is_given(page: int, per_page: int) -> None:
    refuse_deep(PageNumber(page), PerPage(per_page))


@pytest.mark.parametrize(("page", "per_page"), [(101, 100), (1_001, 10), (335, 30)])
def test_a_page_that_begins_beyond_the_limit_is_refused_with_advice(page: int, per_page: int) -> None:
    with pytest.raises(Invalid, match=r"^page begins beyond the first 10000 rows; go on with `cursor`"):
        refuse_deep(PageNumber(page), PerPage(per_page))


@given(st.text(max_size=30) | st.integers().map(str) | st.integers() | st.decimals() | st.booleans() | st.none())
def test_nothing_upsets_a_page_number(value: Any) -> None:
    for kind in (PageNumber, PerPage):
        try:
            number = kind.parse(value)
        except ValueError:
            continue
        assert 1 <= number <= kind.MAX
        assert str(number) == str(value)
        assert not isinstance(value, bool | Decimal)


def test_the_document_says_how_far_they_go() -> None:
    assert encode([each["schema"] for each in openapi._query_parameters(Wanted, {})])
    described = {each["name"]: each["schema"] for each in openapi._query_parameters(Wanted, {})}
    assert described["page"] == {"type": "integer", "minimum": 1, "maximum": 10_000, "default": 1}
    assert described["perPage"] == {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}
