"""Forms: one meaning or none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import urlencode

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from infra.page_world import site_of, visiting
from tidegate.core.errors import Malformed
from tidegate.infra.http.body import BODY_BYTES_MAX
from tidegate.infra.http.form import FIELDS_MAX, MEDIA_TYPE, Form, parse, parse_query
from tidegate.infra.page.response import Html
from tidegate.infra.page.router import PageRequest

unhurried = settings(deadline=None)

FORM_LIKE = st.text(alphabet="a=&%+0fFzZ;é\n", max_size=40).map(str.encode)
ONE_LINE = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
CONTROL = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) != "\t"]


@unhurried
@given(st.dictionaries(ONE_LINE.filter(bool), ONE_LINE, max_size=FIELDS_MAX))
def test_every_text_of_one_line_comes_back_as_it_was(fields: dict[str, str]) -> None:
    assert parse(urlencode(fields).encode()) == fields


@unhurried
@given(st.binary(max_size=60) | FORM_LIKE)
@example(b"%" * 60_000)
@example(b"a=" + b"%61" * 20_000)
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    try:
        form = parse(body)
    except Malformed:
        return
    # What was read can be written and reads the same.
    assert parse(urlencode(dict(form)).encode()) == form
    assert not any(character in text for text in (*form.keys(), *form.values()) for character in [*CONTROL, "\t"])


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (b"", {}),
        (b"a=", {"a": ""}),
        (b"a=1&b=2", {"a": "1", "b": "2"}),
        (b"a=b=c", {"a": "b=c"}),
        (b"a+b=%2B+c", {"a b": "+ c"}),
        ("a=é".encode(), {"a": "é"}),
        (b"a=%C3%a9", {"a": "é"}),
        (b"a=%26%3D%25", {"a": "&=%"}),
        (b"a=1;b=2", {"a": "1;b=2"}),
        (b"a=4111%09", {"a": "4111 "}),
        (b"&".join(b"%d=" % n for n in range(FIELDS_MAX)), {str(n): "" for n in range(FIELDS_MAX)}),
    ],
)
def test_a_good_form(body: bytes, form: dict[str, str]) -> None:
    assert parse(body) == form


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"a=1&a=1", "the field 'a' is given twice"),
        (b"a=1&%61=2", "the field 'a' is given twice"),
        (b"5319317801366660=1&5319317801366660=1", "the field '••••••••••••••••' is given twice"),
        (b"a", "name=value"),
        (b"=1", "name=value"),
        (b"a=1&", "name=value"),
        (b"a=1&&b=2", "name=value"),
        (b"a=%", "hexadecimal"),
        (b"a=%4", "hexadecimal"),
        (b"a=%zz", "hexadecimal"),
        (b"%u0041=1", "hexadecimal"),
        (b"a=%ff", "UTF-8"),
        (b"a=%ED%A0%80", "UTF-8"),
        (b"a=%C0%80", "UTF-8"),
        (b"a=\xff", "UTF-8"),
        (b"&".join(b"%d=" % n for n in range(FIELDS_MAX + 1)), f"more than {FIELDS_MAX} fields"),
    ],
)
def test_a_form_that_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(Malformed) as raised:
        parse(body)
    assert message in raised.value.message


@pytest.mark.parametrize("control", CONTROL, ids=ascii)
def test_no_control_character_passes(control: str) -> None:
    for fields in ({"a": f"x{control}y"}, {f"x{control}y": "a"}):
        with pytest.raises(Malformed, match="not text"):
            parse(urlencode(fields).encode())


def test_a_form_shows_no_value_wherever_it_is_printed() -> None:
    form = Form({"number": "5319317801366660", "5319317801366660": ""})
    assert "5319" not in f"{form} {form!r} {[form]}"
    assert "number" in repr(form)


# Addresses.


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (b"", {"": ""}),
        (b"a=1&a=2", {"a": "1"}),
        (b"a=%zz&a=2", {"a": "2"}),
        (b"a=%00&b=%ff&c=%0a&d=1", {"d": "1"}),
        (b"flag", {"flag": ""}),
    ],
)
def test_a_query_is_read_gently(query: bytes, found: dict[str, str]) -> None:
    assert parse_query(query) == found


@unhurried
@given(st.binary(max_size=60) | FORM_LIKE)
@example(b"&" * 8_000)
def test_no_query_is_an_error(query: bytes) -> None:
    assert len(parse_query(query)) <= FIELDS_MAX


def test_a_query_is_read_only_so_far() -> None:
    query = "&".join(f"n{number}=" for number in range(FIELDS_MAX * 2))
    assert list(parse_query(query.encode())) == [f"n{number}" for number in range(FIELDS_MAX)]


# Over the wire.


async def echo(request: PageRequest) -> Html:
    return Html(repr(sorted(request.form.items())).encode())


@pytest.fixture(scope="module")
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with visiting(lambda _: site_of(("POST", "/", echo))) as opened:
        yield opened


async def post(client: httpx.AsyncClient, body: bytes, media_type: str = MEDIA_TYPE) -> httpx.Response:
    return await client.post("/", content=body, headers={"content-type": media_type})


@pytest.mark.parametrize("media_type", [MEDIA_TYPE, f"{MEDIA_TYPE}; charset=UTF-8", MEDIA_TYPE.upper()])
async def test_a_form_arrives(client: httpx.AsyncClient, media_type: str) -> None:
    assert (await post(client, b"b=2&a=%E2%82%A6", media_type)).text == "[('a', '₦'), ('b', '2')]"


@pytest.mark.parametrize(
    "media_type", ["", "text/plain", "application/json", "multipart/form-data; boundary=x", f"{MEDIA_TYPE}; charset=x"]
)
async def test_another_type_is_refused(client: httpx.AsyncClient, media_type: str) -> None:
    answer = await post(client, b"a=1", media_type)
    assert answer.status_code == 415
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


async def test_the_largest_form_passes_and_a_larger_one_does_not(client: httpx.AsyncClient) -> None:
    assert (await post(client, b"a=" + b"x" * (BODY_BYTES_MAX - 2))).status_code == 200
    assert (await post(client, b"a=" + b"x" * (BODY_BYTES_MAX - 1))).status_code == 413


async def test_a_refused_form_is_a_page_that_repeats_no_value(client: httpx.AsyncClient) -> None:
    answer = await post(client, b"number=5319317801366660&number=5319317801366660")
    assert answer.status_code == 400
    assert "<p>the field 'number' is given twice</p>" in answer.text
    assert "5319" not in answer.text
