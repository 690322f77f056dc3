"""The example of an operation in each language: curl, calls of our clients, and requests of PHP. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tidegate.docs.client_call import AnswerPath, ClientCall, NamedFields, VariableRef
from tidegate.docs.client_name import camel, python_name
from tidegate.docs.sample_layout import awaited, laid_out
from tidegate.docs.sample_php import php

_PLAIN_NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)


@dataclass(frozen=True)
class Sample:
    language: str
    title: str
    text: str


def samples_of(command: str, calls: Sequence[ClientCall], base_url: str) -> tuple[Sample, ...]:
    return (
        Sample("sh", "curl", command),
        Sample("python", "Python", python(calls, base_url)),
        Sample("js", "Node", node(calls, base_url)),
        Sample("php", "PHP", php(calls, base_url)),
    )


# Python.


def python(calls: Sequence[ClientCall], base_url: str) -> str:
    body = "\n\n".join(_python_call(call, is_last=call is calls[-1]) for call in calls)
    needed = (("secrets", "import secrets"), ("time", "import time"), ("Decimal", "from decimal import Decimal"))
    imports = [line for name, line in needed if re.search(rf"\b{name}[.(]", body)]
    head = "\n".join([*imports, *([""] if imports else []), "from tidegate_client import Tidegate"])
    return f"{head}\n\nclient = Tidegate(base_url={json.dumps(base_url)})\n\n{body}"


def _python_call(call: ClientCall, *, is_last: bool) -> str:
    lines = [f'{name.lower()} = f"{prefix}{{secrets.token_hex(8)}}"' for name, prefix in call.chooses.items()]
    parts = [_python_value(value) for value in call.path]
    parts += [f"{python_name(name)}={_python_value(value)}" for name, value in call.params.fields.items()]
    named = f"{call.answer} = " if is_last or call.takes else ""
    calling = laid_out(f"{named}client.{call.method}(", parts, ")", indent="    ")
    if call.repeats:
        there = _python_path(call.answer, awaited(call))
        inner = [*calling.split("\n"), f"if {there}:", "    break", "time.sleep(0.2)"]
        calling = "\n".join(["for _ in range(50):", *(f"    {line}" for line in inner)])
    lines.append(calling)
    lines += [f"{name.lower()} = {_python_path(call.answer, path)}" for name, path in call.takes.items()]
    if is_last:
        lines.append(f"print({call.answer})")
    return "\n".join(lines)


def _python_path(answer: str, path: AnswerPath) -> str:
    return answer + "".join(
        f".{python_name(str(name))}" if is_field else f"[{json.dumps(name)}]" for name, is_field in path.steps
    )


def _python_value(value: Any) -> str:
    if isinstance(value, VariableRef):
        return value.name.lower()
    if isinstance(value, NamedFields | dict):
        fields = {python_name(k): v for k, v in value.fields.items()} if isinstance(value, NamedFields) else value
        inner = [f"{json.dumps(name)}: {_python_value(each)}" for name, each in fields.items()]
        return laid_out("{", inner, "}", indent="    ")
    if isinstance(value, list):
        return laid_out("[", [_python_value(each) for each in value], "]", indent="    ")
    if isinstance(value, Decimal):
        return f'Decimal("{value}")'
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


# Node.


def node(calls: Sequence[ClientCall], base_url: str) -> str:
    body = "\n\n".join(_node_calls(calls))
    head = 'import { Tidegate } from "tidegate-client";'
    return f"{head}\n\nconst client = new Tidegate({{ baseUrl: {json.dumps(base_url)} }});\n\n{body}"


def _node_calls(calls: Sequence[ClientCall]) -> Iterator[str]:
    set_by = [
        [*([call.answer] if call.takes or call is calls[-1] else []), *_node_names([*call.chooses, *call.takes])]
        for call in calls
    ]
    counted = Counter(name for names in set_by for name in names)
    changed = {name for name, count in counted.items() if count > 1} | {call.answer for call in calls if call.repeats}
    declared: set[str] = set()
    for call, names in zip(calls, set_by, strict=True):
        keywords = {name: "" if name in declared else "let " if name in changed else "const " for name in names}
        declared.update(names)
        yield _node_call(call, keywords, is_last=call is calls[-1])


def _node_names(variables: Iterable[str]) -> list[str]:
    return [camel(name.lower()) for name in variables]


def _node_call(call: ClientCall, keywords: Mapping[str, str], *, is_last: bool) -> str:
    lines = [
        f"{keywords[name]}{name} = `{prefix}${{crypto.randomUUID()}}`;"
        for name, prefix in zip(_node_names(call.chooses), call.chooses.values(), strict=True)
    ]
    method = ".".join(camel(part) for part in call.method.split("."))
    begun = f"await client.{method}({', '.join(_node_value(value) for value in call.path)}"
    if is_last or call.takes:
        begun = f"{'' if call.repeats else keywords[call.answer]}{call.answer} = {begun}"
    if call.params.fields:
        # The braces of the argument stand beside the call's own.
        begun += ", " if call.path else ""
        begun += _node_value(call.params, before=len(begun) + 2)
    lines += _node_repeated(call, keywords, f"{begun});") if call.repeats else [f"{begun});"]
    for name, path in zip(_node_names(call.takes), call.takes.values(), strict=True):
        lines.append(f"{keywords[name]}{name} = {_node_path(call.answer, path)};")
    if is_last:
        lines.append(f"console.log({call.answer});")
    return "\n".join(lines)


def _node_repeated(call: ClientCall, keywords: Mapping[str, str], calling: str) -> list[str]:
    path = awaited(call)
    there = _node_path(call.answer, path) + (".length" if path not in call.takes.values() else "")
    inner = [*calling.split("\n"), f"if ({there}) break;", "await new Promise((go) => setTimeout(go, 200));"]
    loop = ["for (let tries = 0; tries < 50; tries += 1) {", *(f"  {line}" for line in inner), "}"]
    return [f"let {call.answer};", *loop] if keywords[call.answer] else loop


def _node_path(answer: str, path: AnswerPath) -> str:
    return answer + "".join(
        f".{name}" if isinstance(name, str) and _PLAIN_NAME.fullmatch(name) else f"[{json.dumps(name)}]"
        for name, _ in path.steps
    )


def _node_value(value: Any, before: int = 0) -> str:
    if isinstance(value, VariableRef):
        return camel(value.name.lower())
    if isinstance(value, NamedFields | dict):
        fields = value.fields if isinstance(value, NamedFields) else value
        inner = [_node_field(name, each) for name, each in fields.items()]
        return laid_out("{ ", inner, " }", indent="  ", before=before)
    if isinstance(value, list):
        return laid_out("[", [_node_value(each) for each in value], "]", indent="  ")
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def _node_field(name: str, value: Any) -> str:
    if isinstance(value, VariableRef) and camel(value.name.lower()) == name:
        return name
    return f"{name if _PLAIN_NAME.fullmatch(name) else json.dumps(name)}: {_node_value(value)}"
