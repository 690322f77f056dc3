"""Examples of requests that ask with a query: good addresses, with the values that other examples leave."""

from __future__ import annotations

import shlex
from typing import Any

from infra.operation_world import make_find
from tidegate.docs.example import Shell
from tidegate.infra.http.operation import Credentials, Operation, SameAsHeader

BASE_URL = "http://localhost:8080"
BUSINESS = SameAsHeader("x-business-id")


def address_in(operation: Operation, *others: Operation) -> str:
    command = Shell(BASE_URL, [*others, operation]).example_of(operation).command
    [address] = [word for word in shlex.split(command) if word.startswith(BASE_URL)]
    return address.removeprefix(BASE_URL)


def making(**changes: Any) -> Operation:
    return make_find(method="POST", path="/makings", name="make", query=None, **changes)


def test_a_query_stands_in_the_address() -> None:
    assert address_in(make_find(query_example={"name": "a b&c", "perPage": "2"})) == "/things?name=a%20b%26c&perPage=2"


def test_a_value_may_be_that_of_a_header() -> None:
    operation = make_find(query_example={"name": BUSINESS}, credentials=Credentials(("x-business-id",)))
    assert address_in(operation) == "/things?name=${TIDEGATE_BUSINESS_ID}"


def test_what_another_answer_brings_is_a_variable() -> None:
    maker = making(response_example={"id": "th_1"})
    asker = make_find(query_example={"thing": "th_1", "name": "a"}, response_example={"id": "th_1"})
    assert address_in(asker, maker) == "/things?thing=${THING}&name=a"
    [variable] = Shell(BASE_URL, [maker, asker]).example_of(maker).sets
    assert (variable.name, variable.field) == ("THING", "id")


def test_a_word_that_another_request_chose_stays_a_word() -> None:
    maker = making(request_example={"currency": "EUR"}, response_example={"currency": "EUR"})
    assert address_in(make_find(query_example={"currency": "EUR"}), maker) == "/things?currency=EUR"
