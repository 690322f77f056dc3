"""Every errorType of the catalogue has a class of its own in both clients, and a message says each problem once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tidegate_client as tg
from clients import node
from tidegate.core.errors import Invalid, Problem, WrongRequest
from tidegate.infra.http import error_guide
from tidegate.infra.http.error_answer import error_body
from tidegate.infra.http.status import STATUS_OF
from tidegate_client._errors import error_of

# A rule of a field, instead of VALIDATION_FAILED.
RULES = dict.fromkeys(error_guide.RULES, STATUS_OF[Invalid])
INTERNAL = {error_guide.ONLY_INTERNAL: 500}
# A client makes no request that could not be read, and meets a fault of the service as any other.
STATUS_OF_TYPE = {
    refusal.error_type: STATUS_OF[refusal] for refusal in error_guide.GUIDE if not issubclass(refusal, WrongRequest)
} | {name: status for name, status in RULES.items() if name not in INTERNAL}
ASKED = {**STATUS_OF_TYPE, **INTERNAL}

TWO_PROBLEMS = error_body(Invalid(Problem("amount", "must be at least 1"), Problem("currency", "is missing")), "req_1")
SENTENCE = error_body(Invalid(Problem("card.number", "This is no test card.")), "req_1")
SAID = [
    "amount must be at least 1; currency: is missing (422 VALIDATION_FAILED, req_1)",
    "card.number: This is no test card. (422 VALIDATION_FAILED, req_1)",
]


def test_python_has_a_class_for_every_error_type() -> None:
    found = {
        name: type(error_of(status, {"errorType": name}, request_id=None, retry_after=None))
        for name, status in ASKED.items()
    }
    check({name: kind.__name__ for name, kind in found.items()})
    assert [kind for kind in found.values() if getattr(tg, kind.__name__) is not kind] == []


def test_node_has_the_same_classes(tmp_path: Path) -> None:
    program = f"""
import * as tg from "tidegate-client";
const kindOf = ([name, status]) => [name, tg.errorOf(status, {{ errorType: name }}).name];
const kinds = Object.entries({json.dumps(ASKED)}).map(kindOf);
console.log(JSON.stringify(Object.fromEntries(kinds)));
for (const body of {json.dumps([TWO_PROBLEMS, SENTENCE])}) console.log(tg.errorOf(422, body).message);
"""
    kinds, *said = node.said(program, node.project(tmp_path))
    check(json.loads(kinds))
    assert said == SAID


def check(found: dict[str, str]) -> None:
    assert found.pop(error_guide.ONLY_INTERNAL) == "ServerError"
    assert len(set(found.values())) == len(found), found
    assert found["METHOD_NOT_SUPPORTED_FOR_CURRENCY"] == "MethodNotSupported"
    assert "APIError" not in found.values()
    declared = (node.CLIENT / "src" / "index.d.ts").read_text()
    clients, source = node.CLIENT.parent, node.CLIENT.parents[1] / "src" / "tidegate"
    documents = [
        clients / "python" / "README.md",
        clients / "typescript" / "README.md",
        source / "docs" / "pages" / "libraries" / "python.md",
    ]
    assert [name for name in found.values() if f"class {name} extends" not in declared] == []
    for document in documents:
        assert [name for name in found.values() if f"`{name}`" not in document.read_text()] == [], document


@pytest.mark.parametrize(("body", "said"), [(TWO_PROBLEMS, SAID[0]), (SENTENCE, SAID[1])], ids=["two", "sentence"])
def test_a_message_says_each_problem_once(body: dict[str, object], said: str) -> None:
    assert str(error_of(422, body, request_id=None, retry_after=None)) == said
