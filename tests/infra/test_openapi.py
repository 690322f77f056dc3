"""The OpenAPI document is complete: every field and value has a meaning, and every example fits its schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from tidegate.app import document_of, operations_of
from tidegate.core.method import Method, MethodNames
from tidegate.infra.http import error_guide
from tidegate.infra.http.operation import MEANINGS_KEY, encode
from tidegate.infra.http.status import STATUS_OF
from tidegate.runtime import Runtime
from tidegate.settings import Settings
from tidegate.webhook.model import EVENTS, TEST_EVENT

OPERATIONS = operations_of(Runtime.of(Settings()))
DOCUMENT: dict[str, Any] = msgspec.json.decode(encode(document_of(OPERATIONS, "http://localhost:8080")))
WORDS_MAX = 60

Place = tuple[str, ...]


def walk(node: Any, place: Place = ()) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Every object in the document, except examples and what stands inside them."""
    if isinstance(node, dict):
        yield place, node
        for key, inner in node.items():
            if key not in ("example", "examples", MEANINGS_KEY):
                yield from walk(inner, (*place, key))
    elif isinstance(node, list):
        for index, inner in enumerate(node):
            yield from walk(inner, (*place, str(index)))


def fields() -> Iterator[tuple[Place, dict[str, Any]]]:
    for place, node in walk(DOCUMENT):
        if place[-1:] == ("properties",):
            yield from (((*place, name), schema) for name, schema in node.items())


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for paths in (DOCUMENT["paths"], DOCUMENT["webhooks"]):
        for methods in paths.values():
            yield from ((operation["operationId"], operation) for operation in methods.values())


def test_every_field_has_a_meaning() -> None:
    found = list(fields())
    assert len(found) > 500
    assert [place for place, schema in found if not schema.get("description")] == []


def test_a_meaning_is_short_and_more_than_the_name() -> None:
    wrong = []
    for place, schema in fields():
        words = schema["description"].split()
        if not 2 <= len(words) <= WORDS_MAX or schema["description"].rstrip(".").lower() == place[-1].lower():
            wrong.append((place, schema["description"]))
    assert wrong == []


def test_every_parameter_and_header_has_a_meaning() -> None:
    for name, operation in operations():
        assert [(name, given["name"]) for given in operation["parameters"] if not given.get("description")] == []
    assert all(header["description"] for header in DOCUMENT["components"]["headers"].values())
    assert all(scheme["description"] for scheme in DOCUMENT["components"]["securitySchemes"].values())


def test_every_value_of_an_enumeration_has_a_meaning() -> None:
    lists = [(place, node) for place, node in walk(DOCUMENT) if isinstance(node.get("enum"), list)]
    assert len(lists) > 20
    assert [place for place, node in lists if set(node["enum"]) != set(node.get(MEANINGS_KEY, ()))] == []
    assert [place for place, node in lists if not all(node[MEANINGS_KEY].values())] == []


# Names of fields and parameters that hold a payment method, where no other enumeration has the same name.
METHOD_FIELDS = {
    "paymentMethod", "paymentMethods", "defaultPaymentMethod", "openPaymentMethods", "hostedPaymentMethods"
}  # fmt: skip
METHOD_TYPES = {
    ("QuoteFees", "type"), ("FeesQuoted", "type"), ("Charge", "type"), ("Charged", "type"), ("AttemptView", "type"),
    *((f"{kind}ChargeData", name) for kind in ("Paid", "Reversed", "Disputed") for name in ("type", "method")),
}  # fmt: skip


def values_in(schema: dict[str, Any]) -> list[str] | None:
    return next((node["enum"] for _, node in walk(schema) if isinstance(node.get("enum"), list)), None)


def method_values(document: dict[str, Any]) -> dict[Place, list[str] | None]:
    """What the document says of each place that holds a payment method."""
    found: dict[Place, list[str] | None] = {}
    for record, schema in document["components"]["schemas"].items():
        for name, inner in schema.get("properties", {}).items():
            # Money that arrives without a checkout has a method of its own.
            if (name in METHOD_FIELDS or (record, name) in METHOD_TYPES) and record != "CollectionRecord":
                found[record, name] = values_in(inner)
    for path, methods in document["paths"].items():
        for given in (given for operation in methods.values() for given in operation["parameters"]):
            if given["name"] in METHOD_FIELDS:
                found[path, given["name"]] = values_in(given["schema"])
    return found


@pytest.mark.parametrize("names", [MethodNames(), MethodNames(ussd="dialPay")], ids=["usual", "set by the operator"])
def test_wherever_a_method_is_a_value_its_names_are_listed(names: MethodNames) -> None:
    found = method_values(document_of(OPERATIONS, "http://localhost:8080", names))
    assert found.keys() >= METHOD_TYPES
    spellings: dict[tuple[str, ...], set[Place]] = {
        tuple(names.in_requests(Method)): set(),
        tuple(names.in_records(Method)): set(),
    }
    for place, values in found.items():
        spellings[tuple(values or ())].add(place)
    asked, told = spellings.values()
    assert asked == {
        ("CreatePayment", "paymentMethods"), ("CreatePayment", "defaultPaymentMethod"), ("QuoteFees", "type"),
        ("Charge", "type"), ("CreateLink", "paymentMethods"), ("/checkout/payments", "paymentMethod"),
    }  # fmt: skip
    assert len(told) == len(found) - len(asked) > 10


def test_every_operation_is_described_with_its_errors() -> None:
    for name, operation in operations():
        assert operation["summary"], name
        assert operation["description"], name
        assert operation["tags"], name
    for methods in DOCUMENT["paths"].values():
        for operation in methods.values():
            assert any(status.startswith(("4", "5")) for status in operation["responses"])


def test_an_operation_for_anybody_says_so() -> None:
    by_name = dict(operations())
    for operation in OPERATIONS:
        described = by_name[operation.name]["security"]
        assert [list(scheme) for scheme in described] == [
            list(operation.credentials.headers) for _ in range(bool(operation.credentials.headers))
        ]


def test_every_event_is_documented() -> None:
    assert sorted(DOCUMENT["webhooks"]) == sorted((*EVENTS, TEST_EVENT))


def test_every_refusal_has_a_guide() -> None:
    assert STATUS_OF.keys() <= error_guide.GUIDE.keys()


def validator_of(schema: dict[str, Any]) -> Any:
    """As OpenAPI 3.1 reads it: JSON Schema 2020-12, with formats checked."""
    return jsonschema_rs.Draft202012Validator({**schema, "components": DOCUMENT["components"]}, validate_formats=True)


def examples() -> Iterator[tuple[str, dict[str, Any], Any]]:
    for place, node in walk(DOCUMENT):
        if "schema" not in node:
            continue
        name = "/".join(place)
        if "example" in node:
            yield name, node["schema"], node["example"]
        for key, example in node.get("examples", {}).items():
            yield f"{name}/{key}", node["schema"], example["value"]


ALL_EXAMPLES = list(examples())


def test_every_body_and_answer_has_an_example() -> None:
    for place, node in walk(DOCUMENT):
        if place[-1:] == ("application/json",):
            assert node.get("example") is not None or node.get("examples"), place


@pytest.mark.parametrize(("name", "schema", "value"), ALL_EXAMPLES, ids=[name for name, _, _ in ALL_EXAMPLES])
def test_an_example_fits_its_schema(name: str, schema: dict[str, Any], value: Any) -> None:
    errors = validator_of(schema).iter_errors(value)
    assert [(name, error.instance_path, error.message) for error in errors] == []


def test_the_example_of_an_answer_has_every_field() -> None:
    """A field that is missing from the example would be missing from the reference."""
    for operation in OPERATIONS:
        example = operation.response_example
        first = example[0] if isinstance(example, list | tuple) else example
        assert isinstance(first, dict), operation.name
        schema = DOCUMENT["components"]["schemas"][operation.response.__name__]
        assert set(schema.get("required", ())) <= first.keys(), operation.name
