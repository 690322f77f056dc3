"""The example of an operation in PHP: its requests, by the file that this server hands out. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from tidegate.docs.client_call import AnswerPath, ClientCall, NamedFields, VariableRef
from tidegate.docs.client_name import camel
from tidegate.docs.sample_layout import awaited, laid_out

_INDENT = "    "


def php(calls: Sequence[ClientCall], base_url: str) -> str:
    head = f"<?php\nrequire_once 'tidegate.php';\n\n$tidegate = new Tidegate(baseUrl: {_value(base_url)});"
    return "\n\n".join([head, *(_call(call, is_last=call is calls[-1]) for call in calls)])


def _call(call: ClientCall, *, is_last: bool) -> str:
    lines = [
        f"{_variable(name)} = {_value(prefix)} . bin2hex(random_bytes(8));" for name, prefix in call.chooses.items()
    ]
    named = f"${call.answer} = " if is_last or call.takes else ""
    calling = f"{named}$tidegate->{call.verb.lower()}({_path(call)}"
    if given := {**dict.fromkeys(call.own_business, _OWN_BUSINESS), **call.params.fields}:
        # The brackets of the array stand beside the call's own.
        calling += f", {_array(given, before=len(calling) + 2)}"
    calling += ");"
    if call.repeats:
        there = _answer_path(call.answer, awaited(call))
        inner = [*calling.split("\n"), f"if (!empty({there})) break;", "usleep(200_000);"]
        loop = ["for ($tries = 0; $tries < 50; $tries++) {", *(f"{_INDENT}{line}" for line in inner), "}"]
        calling = "\n".join(loop)
    lines.append(calling)
    lines += [f"{_variable(name)} = {_answer_path(call.answer, path)};" for name, path in call.takes.items()]
    if is_last:
        lines.append(f"print_r(${call.answer});")
    return "\n".join(lines)


def _path(call: ClientCall) -> str:
    """In double quotes where a variable stands in it."""
    values = iter(call.path)
    filled = re.sub(r"\{\w+\}", lambda _: _in_path(next(values)), call.template)
    return f'"{filled}"' if "$" in filled else f"'{filled}'"


def _in_path(value: Any) -> str:
    return _variable(value.name) if isinstance(value, VariableRef) else str(value)


def _answer_path(answer: str, path: AnswerPath) -> str:
    return f"${answer}" + "".join(f"[{_value(name)}]" for name, _ in path.steps)


def _variable(name: str) -> str:
    return f"${camel(name.lower())}"


def _value(value: Any) -> str:
    if isinstance(value, VariableRef):
        return _variable(value.name)
    if value is _OWN_BUSINESS:
        return "$tidegate->businessId"
    if isinstance(value, NamedFields | dict):
        return _array(value.fields if isinstance(value, NamedFields) else value)
    if isinstance(value, list):
        return laid_out("[", [_value(each) for each in value], "]", indent=_INDENT)
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    # Numbers, true, false and null are as in JSON.
    return str(value) if isinstance(value, Decimal) else json.dumps(value)


def _array(fields: Mapping[str, Any], before: int = 0) -> str:
    inner = [f"{_value(name)} => {_value(each)}" for name, each in fields.items()]
    return laid_out("[", inner, "]", indent=_INDENT, before=before)


_OWN_BUSINESS = object()
