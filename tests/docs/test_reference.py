"""The API reference: complete, safe, small, and its examples run."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import shutil
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from build import Shop, make_shop
from process import api
from tidegate import worker
from tidegate.app import operations_of
from tidegate.core.fee import FeeBearer
from tidegate.docs.example import Shell
from tidegate.docs.markdown import coloured
from tidegate.docs.prose import breakable, prose
from tidegate.docs.reference import ApiReference, OperationView, slug_of
from tidegate.docs.routes import SandboxKeys, routes
from tidegate.docs.schema import FieldRow, Schemas
from tidegate.docs.site import DocsSite
from tidegate.docs.variable import variables_of
from tidegate.infra.db import Database
from tidegate.infra.http import error_guide, openapi
from tidegate.infra.http.application import Application
from tidegate.infra.http.operation import Answer, Call, Credentials, Operation, Step, encode
from tidegate.infra.http.status import STATUS_OF
from tidegate.infra.telemetry import Meter
from tidegate.runtime import Runtime
from tidegate.settings import Settings

HERE = Path(__file__).parent
CLIENTS = HERE.parents[1] / "clients"
BASE_URL = "http://localhost:8080"
KEYS = SandboxKeys("sk_test_secret", "pk_test_public", "65f0c9a1b2d3e4f5a6b7c8d9")
# Nothing is called, so there is no database behind them.
OPERATIONS = operations_of(Runtime.of(Settings()))
DOCUMENT = openapi.document(OPERATIONS, title="Tidegate", server_url=BASE_URL)
REFERENCE = ApiReference(DOCUMENT, OPERATIONS)

each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)


async def never_called(_: Call) -> Answer:
    raise AssertionError


class Thing(msgspec.Struct):
    count: int


def make_operation(**changes: Any) -> Operation:
    made = Operation(
        method="PUT",
        path="/things/{id}",
        name="putThing",
        summary="Put a thing",
        success_message="Done",
        handler=never_called,
        credentials=Credentials(("api-key",)),
        request=Thing,
        request_example={"count": 1},
        response=Thing,
        path_parameters={"id": {"schema": {"type": "string"}, "example": "a/b", "description": "Its id."}},
        group="Things",
        group_words="What is put.",
    )
    return replace(made, **changes)


@asynccontextmanager
async def nothing_to_open() -> Any:
    yield


def service_of(operations: list[Operation], keys: SandboxKeys | None) -> Application:
    document = openapi.document(operations, title="Tidegate", server_url=BASE_URL)
    docs = DocsSite(lambda: document, BASE_URL, operations)
    return Application(routes(docs, keys), lifespan=nothing_to_open, meter=Meter())


@cache
def whole_service(keys: SandboxKeys | None) -> Application:
    return service_of(OPERATIONS, keys)


async def get(path: str, operations: list[Operation] = OPERATIONS, keys: SandboxKeys | None = KEYS) -> httpx.Response:
    service = whole_service(keys) if operations is OPERATIONS else service_of(operations, keys)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(service), base_url=BASE_URL) as client:
        return await client.get(path)


class Outline(HTMLParser):
    """What stands where in a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.commands: list[str] = []
        self._in_command = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "pre" and "data-copy" in dict(attrs):
            self._in_command = True
            self.commands.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_command = self._in_command and tag != "pre"

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self._in_command:
            self.commands[-1] += data

    def values(self, attribute: str) -> list[str]:
        return [value for _, attributes in self.tags if (value := attributes.get(attribute))]

    @property
    def text(self) -> str:
        return "".join(self.texts)


# Of the pages as they are, by operation: several tests read each.
OUTLINES: dict[str, Outline] = {}


async def outline(operation: Operation, operations: list[Operation] = OPERATIONS) -> Outline:
    if operations is OPERATIONS and operation.name in OUTLINES:
        return OUTLINES[operation.name]
    found = Outline((await get(f"/docs/reference/{slug_of(operation.name)}", operations)).text)
    if operations is OPERATIONS:
        OUTLINES[operation.name] = found
    return found


def rows_of(schema: dict[str, Any], **shared: Any) -> list[FieldRow]:
    return list(Schemas({"components": {"schemas": shared}}).rows(schema))


def row_of(**schema: Any) -> FieldRow:
    return Schemas({"components": {"schemas": {}}}).row("field", schema, is_required=False)


# The pages.


@each_operation
async def test_every_operation_has_a_page(operation: Operation) -> None:
    page = await outline(operation)
    assert operation.path in page.text
    assert all(name in page.text for name in operation.credentials.headers)
    assert operation.description.replace("`", "") in page.text


def fields_in(schema: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    """Every property name, however deep, found by another way than the page's own."""
    if "$ref" in schema:
        yield from fields_in(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from fields_in(inner, schemas)
    for alternative in schema.get("anyOf", []):
        yield from fields_in(alternative, schemas)


@each_operation
async def test_every_field_is_shown(operation: Operation) -> None:
    schemas = DOCUMENT["components"]["schemas"]
    page = await outline(operation)
    for record in (operation.request, operation.response):
        names = list(fields_in(schemas[record.__name__], schemas)) if record else []
        assert [name for name in names if name not in page.texts] == []


@each_operation
async def test_every_error_is_shown_with_its_cause(operation: Operation) -> None:
    page = await outline(operation)
    for refusal in openapi.refusals_of(operation):
        assert refusal.error_type in page.texts
        assert str(STATUS_OF[refusal]) in page.texts
        assert error_guide.GUIDE[refusal].cause.replace("`", "") in page.text


@each_operation
async def test_ids_are_unique_and_every_link_inside_a_page_arrives(operation: Operation) -> None:
    page = await outline(operation)
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {href[1:] for href in page.values("href") if href.startswith("#")} <= set(ids)
    assert set(page.values("aria-labelledby")) <= set(ids)


def test_every_operation_has_a_group_and_every_group_words() -> None:
    assert [operation.name for operation in OPERATIONS if not operation.group] == []
    assert [tag["name"] for tag in DOCUMENT["tags"] if not tag["description"]] == []


async def test_a_body_that_may_be_left_out_is_said_to_be() -> None:
    operation = make_operation(is_body_optional=True)
    document = openapi.document([operation], title="Tidegate", server_url=BASE_URL)
    assert document["paths"]["/things/{id}"]["put"]["requestBody"]["required"] is False
    assert "may be left out" in (await outline(operation, operations=[operation])).text
    other = make_operation()
    assert "may be left out" not in (await outline(other, operations=[other])).text


def test_values_of_a_list_are_shown_with_their_meanings() -> None:
    create = REFERENCE.operation(REFERENCE.operations["createPayment"])
    [bearer] = [row for row in create.fields if row.name == "feeBearer"]
    assert dict(bearer.values) == {member.value: member.meaning for member in FeeBearer}


async def test_markup_in_a_text_stays_text() -> None:
    attack = "<script>alert(1)</script> `<img src=x onerror=alert(2)>` {{ 7 * 7 }}"
    operation = make_operation(
        summary=attack, description=attack, response_example={"count": attack}, request_example={"count": attack}
    )
    page = await outline(operation, operations=[operation])
    assert [attributes for tag, attributes in page.tags if tag == "script" and "src" not in attributes] == []
    assert [attributes["src"] for tag, attributes in page.tags if tag == "img" and attributes["src"] == "x"] == []
    assert "<script>alert(1)</script> <img src=x onerror=alert(2)> {{ 7 * 7 }}" in page.text


def test_backticks_become_code_and_nothing_else_becomes_anything() -> None:
    assert prose("a `<b>` & `c`") == "a <code>&lt;b&gt;</code> &amp; <code>c</code>"
    assert prose("one ` alone") == "one ` alone"


def test_an_address_may_break_before_a_slash() -> None:
    assert breakable("/a/<b>") == "<wbr>/a<wbr>/&lt;b&gt;"


def test_colouring_changes_no_character() -> None:
    text = '{"a": [1, -2.5e3, true, null], "b": "<i> \\" 3: true"}'
    assert Outline(coloured(text, "json")).text.rstrip("\n") == text


async def test_no_page_holds_a_key() -> None:
    operation = REFERENCE.operations["createPayment"]
    for path in ("", ".md"):
        page = await get(f"/docs/reference/{slug_of(operation.name)}{path}", keys=KEYS)
        assert "sk_test_secret" not in page.text
        assert "$TIDEGATE_SECRET_KEY" in Outline(page.text).text


# Examples.


async def run(script: str) -> str:
    """What the shell prints when the script is typed into it."""
    bash = await asyncio.create_subprocess_exec(
        "bash", "-euc", script, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await bash.communicate()
    assert bash.returncode == 0, (out + err).decode()
    return out.decode()


# In place of curl: prints the words it was given, past whatever catches its output, and answers with $ANSWERED.
KEYS_GIVEN = "TIDEGATE_SECRET_KEY=s TIDEGATE_PUBLIC_KEY=p TIDEGATE_BUSINESS_ID=b TIDEGATE_X_OTHER_KEY=k\n"
ECHO = "exec 3>&1 >/dev/null; curl() { printf '%s\\0' \"$@\" >&3; printf '\\1' >&3; printf %s \"${ANSWERED-}\"; }\n"


async def commands_of(script: str) -> list[list[str]]:
    """The words that each curl in the script is given."""
    return [words.split("\0")[:-1] for words in (await run(KEYS_GIVEN + ECHO + script)).split("\1")[:-1]]


async def words_of(command: str) -> list[str]:
    [words] = await commands_of(command)
    return words


def sent_in(words: list[str]) -> Any:
    return json.loads(words[words.index("-d") + 1])


async def test_every_example_is_good_shell_and_its_body_good_json() -> None:
    """In one shell, each as if alone."""
    shell = Shell(BASE_URL, OPERATIONS)
    scripts = []
    for operation in OPERATIONS:
        example = shell.example_of(operation)
        assert f"{example.command}\n" in (await outline(operation)).commands
        given = [f"{variable.name}='{variable.value}'" for variable in example.needs]
        answer = json.dumps({variable.field: variable.value for variable in example.sets}, separators=(",", ":"))
        scripts.append("\n".join(["(", *given, f"ANSWERED='{answer}'", example.command, ")"]))
    commands = iter(await commands_of("\n".join(scripts)))
    for operation in OPERATIONS:
        *_, last = itertools.islice(commands, 1 + len(operation.prepared_by))
        assert any(word.startswith(BASE_URL) for word in last), operation.name
        if operation.request:
            assert sent_in(last).keys() == (operation.request_example or {}).keys(), operation.name
    assert list(commands) == []


@pytest.mark.parametrize("text", ["it's", "'", "''\\''", '"$HOME" `id` $(id) \\ !', "ä ₦ 😀", "a\nb"])
async def test_no_text_escapes_from_its_quotes(text: str) -> None:
    operation = make_operation(request_example={"text": text})
    words = await words_of(Shell(BASE_URL, [operation]).example_of(operation).command)
    assert json.loads(words[words.index("-d") + 1]) == {"text": text}


async def test_a_path_value_without_a_source_stays_as_it_is() -> None:
    operation = make_operation()
    words = await words_of(Shell(BASE_URL, [operation]).example_of(operation).command)
    assert words[:3] == ["-X", "PUT", f"{BASE_URL}/things/a%2Fb"]


async def test_a_value_that_another_example_makes_is_a_shell_variable() -> None:
    make = make_operation(method="POST", path="/things", path_parameters={}, request_example={"name": "THING-7"})
    look = make_operation(
        method="GET",
        path="/things/{thingName}/parts",
        name="getThing",
        request=None,
        request_example=None,
        path_parameters={"thingName": {"schema": {"type": "string"}, "example": "THING-7"}},
    )
    shell = Shell("http://localhost/$1", [make, look])
    assert [variable.name for variable in shell.example_of(look).needs] == ["THING_NAME"]
    made, looked = await commands_of(f"{shell.example_of(make).command}\n{shell.example_of(look).command}")
    name = sent_in(made)["name"]
    assert re.fullmatch(r"THING-[0-9a-f]{16}", name)
    assert f"http://localhost/$1/things/{name}/parts" in looked


def make_thing(**changes: Any) -> Operation:
    """Its answer has an id that its request has not."""
    made = make_operation(
        method="POST",
        path="/things",
        name="makeThing",
        path_parameters={},
        request_example={"count": 1, "kind": "plain"},
        response_example={"kind": "plain", "inner": [{"thingId": "th_1"}]},
    )
    return replace(made, **changes)


def use_thing(**changes: Any) -> Operation:
    parameters = {"id": {"schema": {"type": "string"}, "example": "th_1"}}
    made = make_operation(path="/things/{id}/use", name="useThing", path_parameters=parameters)
    return replace(made, **changes)


ANSWERED = """ANSWERED='{"success":true,"data":{"kind":"plain","inner":[{"thingId":"th_real"}]}}'\n"""


async def test_a_value_that_another_answer_makes_is_taken_from_it() -> None:
    in_body = make_operation(
        path="/uses", path_parameters={}, name="useOne", request_example={"thingId": "th_1", "kind": "plain"}
    )
    operations = [make_thing(), use_thing(), in_body]
    shell = Shell(BASE_URL, operations)
    script = "\n".join(shell.example_of(operation).command for operation in operations)
    made, used, sent = await commands_of(ANSWERED + script)
    assert sent_in(made) == {"count": 1, "kind": "plain"}
    assert f"{BASE_URL}/things/th_real/use" in used
    assert sent_in(sent) == {"thingId": "th_real", "kind": "plain"}


def test_what_was_sent_before_is_not_taken_from_an_answer() -> None:
    later = make_operation(path="/uses", path_parameters={}, name="useOne", request_example={"kind": "plain"})
    shell = Shell(BASE_URL, [make_thing(), later])
    assert shell.example_of(later).needs == ()
    assert shell.example_of(make_thing()).sets == ()


async def test_an_example_prepares_what_it_needs() -> None:
    use = use_thing(prepared_by=(Step("makeThing", {"count": 7}),))
    shell = Shell(BASE_URL, [make_thing(), use])
    example = shell.example_of(use)
    assert example.needs == ()
    first, last = await commands_of(ANSWERED + example.command)
    assert sent_in(first) == {"count": 7}
    assert f"{BASE_URL}/things/th_real/use" in last


async def test_a_step_is_asked_again_until_its_answer_has_what_is_needed() -> None:
    find = make_thing(name="findThings", method="GET", request=None, query_example={"kind": "any"})
    use = use_thing(prepared_by=(Step("findThings", query={"state": "new"}, is_awaited=True),))
    example = Shell(BASE_URL, [find, use]).example_of(use)
    # Nothing yet, and then two of them.
    later = """sleep() { ANSWERED='[{"thingId":"th_new"},{"thingId":"th_old"}]'; }\n"""
    *asked, used = await commands_of(later + example.command)
    assert [words[1] for words in asked] == [f"{BASE_URL}/things?kind=any&state=new"] * 2
    assert f"{BASE_URL}/things/th_new/use" in used


def test_steps_that_are_not_offered_prepare_nothing() -> None:
    use = use_thing(prepared_by=(Step("makeThing"), Step("onlyInTheSandbox")))
    example = Shell(BASE_URL, [make_thing(), use]).example_of(use)
    assert example.command.count("curl") == 1
    assert [variable.name for variable in example.needs] == ["ID"]


async def test_a_preparation_takes_from_its_answer_only_what_must_be_there() -> None:
    """Another body may have another answer, and must not overwrite what an earlier example left."""
    other = make_operation(path="/others", path_parameters={}, name="other", prepared_by=(Step("makeThing", {}),))
    shell = Shell(BASE_URL, [make_thing(), use_thing(), other])
    assert shell.example_of(other).sets == ()
    repeating = replace(other, prepared_by=(Step("makeThing"),))
    assert [variable.name for variable in shell.example_of(repeating).sets] == ["ID"]


def test_two_values_of_one_name_have_two_variables() -> None:
    other = make_thing(name="makeOther", path="/others", response_example={"otherId": "ot_1"})
    use_other = use_thing(
        name="useOther", path="/others/{id}", path_parameters={"id": {"schema": {"type": "string"}, "example": "ot_1"}}
    )
    found = variables_of([make_thing(), use_thing(), other, use_other])
    assert [variable.name for variable in found] == ["ID", "MAKE_OTHER_ID"]


def same_fields(answer: Any, example: Any) -> bool:
    if not (isinstance(answer, dict) and isinstance(example, dict)):
        return not (isinstance(answer, dict) or isinstance(example, dict))
    return answer.keys() == example.keys() and all(same_fields(answer[name], example[name]) for name in answer)


# Not a terminal, so curl would show how far it is.
QUIET = 'curl() { command curl -sS "$@"; }\n'


@pytest.fixture(scope="module")
async def own_server(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[tuple[str, Database]]:
    """A server of its own, since what the sandbox's bank tells has to be carried while the examples run."""
    url = await make_database("tidegate_test_reference")
    runtime = Runtime.of(Settings(database_url=url))
    with api(url) as (base_url, _):
        async with runtime.open():
            # Webhooks are not sent: nobody knows how long they take.
            loops = asyncio.create_task(worker.run(runtime.deps, runtime.clock, Meter(), worker.SANDBOX_LOOPS))
            yield base_url, runtime.deps.db
            loops.cancel()
            with suppress(asyncio.CancelledError):
                await loops


@pytest.fixture
async def own_shop(own_server: tuple[str, Database]) -> tuple[str, Shop]:
    """For each language another: the examples move its clock."""
    base_url, database = own_server
    return base_url, await make_shop(database, client=None)  # type: ignore[arg-type]


@pytest.mark.skipif(shutil.which("curl") is None, reason="the examples are curl commands")
async def test_the_examples_run_when_pasted_again_and_again(own_shop: tuple[str, Shop]) -> None:
    base_url, shop = own_shop
    views = views_at(base_url)
    # One terminal, all pages, twice.
    script = "\n".join(f"{shown.example.command}\necho" for shown in [*views] * 2)
    lines = [line for line in (await run(exports(shop) + QUIET + script)).splitlines() if line]
    check_answers([*views] * 2, lines)


# A sample shows the record of its answer; here it is printed as it came.
SHOWN = {
    "py": (r"^print\((\w+)\)$", r"import msgspec; print(msgspec.json.encode(getattr(\1, 'raw', \1)).decode())"),
    "mjs": (r"^console\.log\((\w+)\);$", r"console.log(JSON.stringify(\1));"),
    "php": (r"^print_r\((\$\w+)\);$", r"echo json_encode(\1);"),
}


@pytest.mark.parametrize(
    ("place", "program", "ending"), [(1, sys.executable, "py"), (2, "node", "mjs"), (3, "php", "php")]
)
async def test_the_samples_in_other_languages_run(
    own_shop: tuple[str, Shop], tmp_path: Path, place: int, program: str, ending: str
) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program} here")
    base_url, shop = own_shop
    views = views_at(base_url)
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "tidegate-client").symlink_to(CLIENTS / "typescript")
    (tmp_path / "tidegate.php").symlink_to(CLIENTS / "php" / "tidegate.php")
    files = [tmp_path / f"{view.slug}.{ending}" for view in views]
    for file, view in zip(files, views, strict=True):
        file.write_text(re.sub(*SHOWN[ending], view.samples[place].text, flags=re.MULTILINE))
    said = (await run_program([program, str(HERE / f"run_programs.{ending}"), *map(str, files)], shop)).split("\0")[1:]
    for view, text in zip(views, said, strict=True):
        assert text.startswith(("{", "[")), (view.name, text)
        example = encode(REFERENCE.operations[view.name].response_example).decode()
        # An array of PHP does not tell an empty object from an empty list.
        wanted = example.replace("{}", "[]") if ending == "php" else example
        assert same_fields(json.loads(text), json.loads(wanted)), (view.name, text)


async def run_program(command: list[str], shop: Shop) -> str:
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(CLIENTS / "python" / "src"), **keys_of(shop)}
    process = await asyncio.create_subprocess_exec(*command, env=variables, stdout=PIPE, stderr=PIPE)
    out, err = await process.communicate()
    assert process.returncode == 0, (out + err).decode()
    return out.decode()


@cache
def views_at(base_url: str) -> list[OperationView]:
    document = openapi.document(OPERATIONS, title="Tidegate", server_url=base_url)
    reference = ApiReference(document, OPERATIONS)
    return [reference.operation(operation) for operation in reference.operations.values()]


def keys_of(shop: Shop) -> dict[str, str]:
    return {
        "TIDEGATE_SECRET_KEY": shop.secret_key,
        "TIDEGATE_PUBLIC_KEY": shop.public_key,
        "TIDEGATE_BUSINESS_ID": shop.business_id,
    }


def exports(shop: Shop) -> str:
    return "".join(f"{name}='{value}'\n" for name, value in keys_of(shop).items())


def check_answers(views: list[OperationView], lines: list[str]) -> None:
    for shown, line in zip(views, lines, strict=True):
        operation, answer = REFERENCE.operations[shown.name], json.loads(line)
        assert answer[operation.success_key] is True, (shown.name, line)
        assert same_fields(answer["data"], operation.response_example), (shown.name, line)


# Schemas in words.


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["object", "null"]}, "object or null"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer or null"),
        ({"enum": ["a", "b"]}, "string"),
        ({"const": True}, "boolean"),
        ({"type": "array", "items": {"type": "string"}}, "list of strings"),
        ({"type": "array"}, "list of values"),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "list of string or null"),
        ({}, "value"),
    ],
)
def test_a_type_in_words(schema: dict[str, Any], words: str) -> None:
    assert row_of(**schema).type == words


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"minimum": 1, "maximum": 250_000_000}, "1 to 250000000."),
        ({"minimum": 0}, "At least 0."),
        ({"exclusiveMinimum": 0}, "More than 0."),
        ({"maxLength": 200}, "At most 200 characters."),
        ({"type": "array", "minItems": 1, "maxItems": 16}, "1 to 16 entries."),
        ({"maxProperties": 50, "propertyNames": {"maxLength": 40}}, "At most 50 keys; keys of at most 40 characters."),
        ({"enum": ["a", "b"], "default": "a"}, "One of `a`, `b`; `a` when absent."),
        ({"enum": ["a"]}, "Only `a`."),
        ({"enum": ["a", "b", "c", "d", "e", "f"]}, "One of `a, b, c, d, e, f`."),
        ({"default": None}, ""),
        ({"format": "email", "maxLength": 9}, "An e-mail address; at most 9 characters."),
        ({"pattern": r"^[A-Za-z0-9\-_.]{1,9}$"}, "1 to 9 characters: letters, digits, `-`, `_`, `.`."),
        ({"pattern": "^[0-9]{4,6}$"}, "4 to 6 digits."),
        ({"pattern": "^[a-f]{1,9}$"}, "Matches `^[a-f]{1,9}$`."),
        ({"pattern": "^a+$"}, "Matches `^a+$`."),
    ],
)
def test_a_rule_in_words(schema: dict[str, Any], words: str) -> None:
    assert row_of(**schema).rules == words


def test_fields_inside_fields_stand_below_them() -> None:
    part = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    whole = {"properties": {"one": {"$ref": "#/x/Part"}, "many": {"type": "array", "items": {"$ref": "#/x/Part"}}}}
    rows = rows_of(whole, Part=part)
    assert [(row.name, row.is_required, [(inner.name, inner.is_required) for inner in row.fields]) for row in rows] == [
        ("one", False, [("id", True)]),
        ("many", False, [("id", True)]),
    ]


def test_a_schema_that_contains_itself_ends() -> None:
    node = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/x/Node"}, {"type": "null"}]}}}
    [row] = rows_of({"$ref": "#/x/Node"}, Node=node)
    depth = 1
    while row.fields:
        [row], depth = row.fields, depth + 1
    assert depth == 5


def test_words_given_to_a_field_win_over_those_of_its_type() -> None:
    schemas = Schemas({"components": {"schemas": {"Part": {"type": "object", "description": "A docstring."}}}})
    row = schemas.row("part", {"$ref": "#/x/Part"}, is_required=True)
    assert row.description == ""
    assert schemas.row("part", {"$ref": "#/x/Part", "description": "Mine."}, is_required=True).description == "Mine."
