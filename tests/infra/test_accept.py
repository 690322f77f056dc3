"""Which representation a client gets: JSON, unless it plainly prefers CSV."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.infra.http.accept import prefers


def is_csv(*accept: bytes) -> bool:
    return prefers(accept, "text/csv", over="application/json")


@pytest.mark.parametrize(
    "accept",
    [
        b"text/csv",
        b"TEXT/CSV; charset=utf-8",
        b"text/csv;q=0.001",
        b"text/csv;header=present;q=1.000, application/json;q=0.999",
        b"application/json;q=0, text/csv",
        b"application/json;q=0.5, text/csv;q=0.6",
        b"text/csv, */*",
        b"text/csv, application/*",
        b"text/csv, */*;q=0.1",
        b"application/json;q=0, */*",
        b"text/*",
        b"text/* , */*;q=0.5",
        b" text/csv ; q=0.7 , application/json ; q=0.3 ",
        b",,text/csv,",
    ],
)
def test_csv_is_given_where_accept_prefers_it(accept: bytes) -> None:
    assert is_csv(accept)


@pytest.mark.parametrize(
    "accept",
    [
        b"",
        b"*/*",
        b"application/json",
        b"text/csv;q=0.5, application/json",
        b"text/csv, application/json",
        b"application/json, text/csv",
        b"application/json, text/plain, */*",
        b"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        b"text/csv;q=0",
        b"text/csv;q=0, text/*",
        b"text/csv;q=0, application/json;q=0",
        b"text/csv;q=2",
        b"text/csv;q=-1",
        b"text/csv;q=nan",
        b"text/csv;q=",
        b"text/csvx",
        b"text",
        b"application/xml",
    ],
)
def test_everybody_else_gets_json(accept: bytes) -> None:
    assert not is_csv(accept)


def test_several_headers_are_one_list() -> None:
    assert is_csv(b"application/json;q=0.5", b"text/csv")
    assert not is_csv()


@given(st.binary(max_size=100) | st.text("text/csv;q=01.,* ", max_size=40).map(str.encode))
def test_no_header_upsets_it(accept: bytes) -> None:
    assert is_csv(accept) in (True, False)
