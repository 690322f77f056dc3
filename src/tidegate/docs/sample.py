"""The example of an operation in each language, from the one plan of its requests. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.docs import example as examples

_NAME = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class Sample:
    language: str
    title: str
    text: str


def samples_of(command: str, plan: Sequence[dict[str, Any]], base_url: str) -> tuple[Sample, ...]:
    return (
        Sample("sh", "curl", command),
        Sample("python", "Python", python(plan, base_url)),
        Sample("js", "Node", node(plan, base_url)),
    )


def python(plan: Sequence[dict[str, Any]], base_url: str) -> str:
    """With `httpx`; `requests` has the same calls."""
    imported = [name for name, key in (("secrets", "chooses"), ("time", "repeats")) if any(r[key] for r in plan)]
    lines = [*(f"import {name}" for name in ("os", *imported)), "", "import httpx", ""]
    lines.append(f'URL = os.environ.get("TIDEGATE_URL", "{base_url}")')
    return "\n".join([*lines, *_written(plan, _python_request)])


def node(plan: Sequence[dict[str, Any]], base_url: str) -> str:
    """With the `fetch` of Node 18 or newer."""
    lines = [f'const URL = process.env.TIDEGATE_URL ?? "{base_url}";']
    return "\n".join([*lines, *_written(plan, _node_request)])


def _written(plan: Sequence[dict[str, Any]], write: Callable[[dict[str, Any], bool], list[str]]) -> list[str]:
    lines: list[str] = []
    for request in plan:
        lines += ["", *write(request, request is plan[-1])]
    return lines


def _python_request(request: dict[str, Any], is_last: bool) -> list[str]:
    lines = [f'{name.lower()} = f"{prefix}{{secrets.token_hex(4)}}"' for name, prefix in request["chooses"].items()]
    lines.append(f"answer = httpx.{request['method'].lower()}(")
    lines.append(f"    {_python_url(request['path'])},")
    headers = [f'"{name}": os.environ["{examples.credential(name).variable}"]' for name in request["headers"]]
    if request["key"] and request["chooses"]:
        headers.append(f'"Idempotency-Key": {next(iter(request["chooses"])).lower()}')
    if headers:
        lines.append(f"    headers={{{', '.join(headers)}}},")
    if request["body"] is not None:
        lines.append(f"    json={_indented(_python_value(request['body'], request['uses']))},")
    lines += [")", "answer.raise_for_status()"]
    if is_last:
        lines.append("print(answer.text)")
    lines += [f"{name.lower()} = {_python_found(field)}" for name, field in request["takes"].items()]
    return _python_repeated(lines, request) if request["repeats"] else lines


def _python_found(field: str) -> str:
    """The first field of that name, however deep, as the shell takes it."""
    return f"""answer.text.partition('"{field}":"')[2].partition('"')[0]"""


def _python_repeated(lines: list[str], request: dict[str, Any]) -> list[str]:
    wanted = next(iter(request["takes"])).lower()
    inner = [f"    {line}" for line in lines]
    return ["for _ in range(50):", *inner, f"    if {wanted}:", "        break", "    time.sleep(0.2)"]


def _python_url(path: str) -> str:
    text = _NAME.sub(lambda match: f"{{{_python_named(match[1])}}}", path)
    return f'URL + f"{text}"' if text != path else f'URL + "{text}"'


def _python_named(name: str) -> str:
    return f"os.environ['{name}']" if name.startswith("TIDEGATE_") else name.lower()


def _python_value(value: Any, uses: dict[str, str]) -> str:
    text = _json(value)
    for example, name in uses.items():
        text = text.replace(json.dumps(example, ensure_ascii=False), name.lower())
    return re.sub(r"(?<=[:\[,] )(true|false|null)\b", lambda match: _PYTHON[match[0]], text)


_PYTHON = {"true": "True", "false": "False", "null": "None"}


def _json(value: Any) -> str:
    text = examples.one_line(value)
    return text if len(text) <= examples.ONE_LINE_MAX else _four_spaces(examples.pretty(value))


def _four_spaces(text: str) -> str:
    return re.sub(r"^( +)", lambda match: match[1] * 2, text, flags=re.MULTILINE)


def _indented(text: str, by: str = "    ") -> str:
    return text.replace("\n", f"\n{by}")


def _node_request(request: dict[str, Any], is_last: bool) -> list[str]:
    lines = [f"{_camel(name)} = `{prefix}${{Date.now()}}`;" for name, prefix in _chosen(request)]
    path = _NAME.sub(lambda m: f"${{{_node_named(m[1])}}}", request["path"])
    lines.append(f"answer = await fetch(`${{URL}}{path}`, {{")
    lines.append(f'  method: "{request["method"]}",')
    headers = [f'"{name}": process.env.{examples.credential(name).variable}' for name in request["headers"]]
    if request["body"] is not None:
        headers.append('"content-type": "application/json"')
    if request["key"] and request["chooses"]:
        headers.append(f'"Idempotency-Key": {_camel(next(iter(request["chooses"])))}')
    if headers:
        lines.append(f"  headers: {{ {', '.join(headers)} }},")
    if request["body"] is not None:
        lines.append(f"  body: JSON.stringify({_indented(_node_value(request['body'], request['uses']), '  ')}),")
    lines += ["});", "text = await answer.text();", "if (!answer.ok) throw new Error(text);"]
    if is_last:
        lines.append("console.log(text);")
    lines += [f"{_camel(name)} = {_node_found(field)};" for name, field in request["takes"].items()]
    if request["repeats"]:
        lines = _node_repeated(lines, request)
    return [f"var {', '.join(('answer', 'text', *map(_camel, (*request['chooses'], *request['takes']))))};", *lines]


def _chosen(request: dict[str, Any]) -> list[tuple[str, str]]:
    return list(request["chooses"].items())


def _node_found(field: str) -> str:
    return f"""text.split('"{field}":"')[1]?.split('"')[0]"""


def _node_repeated(lines: list[str], request: dict[str, Any]) -> list[str]:
    wanted = _camel(next(iter(request["takes"])))
    inner = [f"  {line}" for line in lines]
    pause = "  await new Promise((resume) => setTimeout(resume, 200));"
    return ["for (let tries = 0; tries < 50; tries++) {", *inner, f"  if ({wanted}) break;", pause, "}"]


def _node_value(value: Any, uses: dict[str, str]) -> str:
    text = examples.one_line(value)
    text = text if len(text) <= examples.ONE_LINE_MAX else examples.pretty(value)
    for example, name in uses.items():
        text = text.replace(json.dumps(example, ensure_ascii=False), _camel(name))
    return re.sub(r'^( *)"(\w+)":', r"\1\2:", text, flags=re.MULTILINE)


def _node_named(name: str) -> str:
    return f"process.env.{name}" if name.startswith("TIDEGATE_") else _camel(name)


def _camel(name: str) -> str:
    first, *others = name.lower().split("_")
    return first + "".join(word.capitalize() for word in others)
