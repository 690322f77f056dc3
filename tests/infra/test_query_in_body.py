"""A GET whose filters come as a JSON body: the same rules as for the query string, and never both for one name."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.operation_world import Wanted, calling, make_find
from tidegate.core.errors import Invalid, Malformed
from tidegate.infra.http import openapi
from tidegate.infra.http.query import PARAMETERS_MAX, query_of

AS_JSON = {"content-type": "application/json"}


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with calling(make_find(takes_query_in_body=True), make_find(path="/others", name="findOthers")) as (
        client,
        _,
    ):
        yield client


async def get(client: httpx.AsyncClient, address: str, body: bytes | str = b"", **headers: str) -> httpx.Response:
    return await client.request("GET", address, content=body, headers={**AS_JSON, **headers})


def found(answer: httpx.Response) -> tuple[str, int]:
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]["name"], answer.json()["data"]["perPage"]


names = st.sampled_from(["name", "perPage"]) | st.text(max_size=5)


def problems(answer: httpx.Response) -> list[tuple[str, str]]:
    assert answer.status_code == 422, answer.text
    return [(problem["field"], problem["message"]) for problem in answer.json()["errors"]]


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("?name=a&perPage=2", b""),
        ("?name=a", b'{"perPage": 2}'),
        ("?name=a", b'{"perPage": "2"}'),
        ("?perPage=2", b'{"name": "a"}'),
        ("", b' {"name": "a", "perPage": 2}\n'),
        ("?name=a&perPage=2", b"{}"),
    ],
)
async def test_filters_come_in_the_address_the_body_or_both(client: httpx.AsyncClient, query: str, body: bytes) -> None:
    assert found(await get(client, f"/things{query}", body)) == ("a", 2)


async def test_without_a_body_no_type_and_no_length_is_needed(client: httpx.AsyncClient) -> None:
    assert found(await client.get("/things?name=a")) == ("a", 10)
    assert found(await client.get("/things?name=a", headers={"content-length": "0"})) == ("a", 10)
    assert (await client.head("/things?name=a")).status_code == 200


async def test_a_body_may_come_in_chunks(client: httpx.AsyncClient) -> None:
    async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    for parts, name in (((b'{"na', b'me":"a"}'), ""), ((), "?name=a")):
        answer = await client.request("GET", f"/things{name}", content=chunks(*parts), headers=AS_JSON)
        assert found(answer) == ("a", 10)


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("?name=a&name=b", b""),
        ("?name=a&name=a", b'{"perPage": 2}'),
        ("?name=a", b'{"name": "a"}'),
        ("?name=a", b'{"name": null}'),
    ],
)
async def test_a_parameter_given_twice_is_refused(client: httpx.AsyncClient, query: str, body: bytes) -> None:
    assert problems(await get(client, f"/things{query}", body)) == [("name", "is given twice; give it once")]


async def test_an_unknown_parameter_is_refused_in_query_and_body(client: httpx.AsyncClient) -> None:
    message = "is no parameter here; there are name, perPage"
    assert problems(await get(client, "/things?name=a&sort=x")) == [("sort", message)]
    assert problems(await get(client, "/things?name=a", b'{"sort": "x", "per_page": 1}')) == [
        ("sort", message),
        ("per_page", message),
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [("1.5", "must be an integer"), ("true", "must be an integer"), ('"x"', "must be an integer"),
     ("null", "must be an integer"), ("[2]", "must be an integer"), ("1e2", "must be an integer")],
)  # fmt: skip
async def test_a_value_of_the_wrong_type_is_refused(client: httpx.AsyncClient, value: str, message: str) -> None:
    answer = await get(client, "/things", f'{{"name": "a", "perPage": {value}}}')
    assert problems(answer) == [("perPage", message)]


async def test_a_text_is_not_made_of_a_number(client: httpx.AsyncClient) -> None:
    assert problems(await get(client, "/things", b'{"name": 5}')) == [("name", "must be a string")]


@pytest.mark.parametrize(
    "body",
    [b"{", b'{"name": "a", "name": "a"}', b'{"name": NaN}', b'{"name": ' + b"[" * 9 + b"]" * 9 + b"}", b"\xff", b" ",
     b'\xef\xbb\xbf{"name": "a"}', json.dumps(dict.fromkeys(map(str, range(PARAMETERS_MAX + 1)), 1)).encode()],
)  # fmt: skip
async def test_a_body_is_read_as_strictly_as_any_other(client: httpx.AsyncClient, body: bytes) -> None:
    answer = await get(client, "/things", body)
    assert (answer.status_code, answer.json()["errorType"]) == (400, "MALFORMED_REQUEST")


@pytest.mark.parametrize("body", [b"[]", b'"name"', b"null", b"1"])
async def test_a_body_is_an_object(client: httpx.AsyncClient, body: bytes) -> None:
    assert problems(await get(client, "/things?name=a", body)) == [("body", "must be a JSON object")]


async def test_a_body_has_the_type_and_the_size_of_any_other(client: httpx.AsyncClient) -> None:
    for media in ("text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"):
        answer = await client.request("GET", "/things", content=b'{"name": "a"}', headers={"content-type": media})
        assert answer.status_code == 415
    assert (await get(client, "/things", b" " * (64 * 1024 + 1))).status_code == 413


async def test_where_no_body_is_taken_it_is_ignored(client: httpx.AsyncClient) -> None:
    answer = await get(client, "/others?name=a", b'{"perPage": 2, "sort": ')
    assert found(answer) == ("a", 10)
    assert answer.json()["data"]["body"] == ""


@given(
    st.binary(max_size=60)
    | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps).map(str.encode)
)
def test_no_body_upsets_it(body: bytes) -> None:
    try:
        read = query_of(b"", Wanted, body)
    except (Invalid, Malformed):
        return
    assert read.keys() <= {"name", "perPage"}


def test_the_document_says_it_in_words_and_has_no_body_on_a_get() -> None:
    described: Any = openapi.document([make_find(takes_query_in_body=True)], title="", server_url="")
    operation = described["paths"]["/things"]["get"]
    assert "JSON object in the body" in operation["description"]
    assert "requestBody" not in operation
    assert {"400", "408", "413", "415", "422"} <= operation["responses"].keys()


def test_a_query_in_the_body_needs_a_query() -> None:
    for wrong in ({"query": None}, {"request": Wanted}):
        with pytest.raises(ValueError, match="needs a query, and no other body"):
            make_find(takes_query_in_body=True, **wrong)
