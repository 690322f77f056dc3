"""Examples that run when they are pasted into a shell. Pure."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

from tidegate.infra.http.operation import Operation, encode


@dataclass(frozen=True)
class Credential:
    variable: str
    words: str


_CREDENTIALS = {
    "api-key": Credential("TIDEGATE_SECRET_KEY", "Your secret key. It belongs on your server, nowhere else."),
    "x-pub-key": Credential("TIDEGATE_PUBLIC_KEY", "Your public key, of the same business as the secret key."),
    "x-business-id": Credential("TIDEGATE_BUSINESS_ID", "The id of the business that the secret key belongs to."),
}


def credential(header: str) -> Credential:
    return _CREDENTIALS.get(header) or Credential(f"TIDEGATE_{_shell_name(header)}", "")


def exports_of(headers: Iterable[str]) -> str:
    return "\n".join(f"export {credential(name).variable}='…'" for name in headers)


def pretty(value: Any) -> str:
    return msgspec.json.format(encode(value), indent=2).decode()


@dataclass(frozen=True)
class Example:
    command: str
    needs: str | None  # The shell variable that another operation's example sets.


class Shell:
    """Writes `curl` lines. A value that one example makes and another one's path asks for is a shell variable."""

    def __init__(self, base_url: str, keys: Mapping[str, str], operations: Sequence[Operation]) -> None:
        self._base_url = base_url
        self._keys = keys
        sent = [value for operation in operations for value in (operation.request_example or {}).values()]
        self._variable_of = {
            details["example"]: _shell_name(name)
            for operation in operations
            for name, details in operation.path_parameters.items()
            if isinstance(details.get("example"), str) and details["example"] in sent
        }

    def made_by(self, operation: Operation) -> dict[str, str]:
        """Shell variables that the operation's example sets, and the values they stand for."""
        sent = (operation.request_example or {}).values()
        return {variable: value for value, variable in self._variable_of.items() if value in sent}

    def example_of(self, operation: Operation) -> Example:
        made = self.made_by(operation)
        url, needs = self._url(operation)
        parts = [f"curl {url}" if operation.method == "GET" else f"curl -X {operation.method} {url}"]
        parts += [f"-H {self._header(name)}" for name in operation.credentials.headers]
        if operation.is_idempotent_by_key and made:
            parts.append(f'-H "Idempotency-Key: ${next(iter(made))}"')
        if operation.request:
            parts += ["-H 'Content-Type: application/json'", f"-d {_body(operation.request_example, made)}"]
        command = " \\\n  ".join(parts)
        settings = [f"{variable}={_unused(value)}\n" for variable, value in made.items()]
        return Example("".join(settings) + command, needs)

    def _url(self, operation: Operation) -> tuple[str, str | None]:
        needs: list[str] = []

        def fill(match: re.Match[str]) -> str:
            example = operation.path_parameters.get(match[1], {}).get("example", match[1])
            if example in self._variable_of:
                needs.append(self._variable_of[example])
                return f"${{{needs[-1]}}}"
            return quote(str(example), safe="")

        path = re.sub(r"\{(\w+)\}", fill, operation.path)
        if not needs:
            return shlex.quote(self._base_url + path), None
        return f'"{_in_double_quotes(self._base_url)}{path}"', needs[0]

    def _header(self, name: str) -> str:
        if name in self._keys:
            return shlex.quote(f"{name}: {self._keys[name]}")
        return f'"{name}: ${credential(name).variable}"'


def _body(example: Mapping[str, Any] | None, made: Mapping[str, str]) -> str:
    text = _in_single_quotes(json.dumps(example, indent=2, ensure_ascii=False))
    for variable, value in made.items():
        # The single quotes end, the variable stands in double ones, and they begin again.
        text = text.replace(json.dumps(value, ensure_ascii=False), f'"\'"${variable}"\'"')
    return f"'{text}'"


def _unused(example: str) -> str:
    """The time in place of the example's number, so that pasting it again makes another one."""
    return shlex.quote(example.rstrip("0123456789")) + "$(date +%s)"


def _in_single_quotes(text: str) -> str:
    return text.replace("'", "'\\''")


def _in_double_quotes(text: str) -> str:
    return re.sub(r'(["$`\\])', r"\\\1", text)


def _shell_name(name: str) -> str:
    """`merchantReference` and `x-key` as `MERCHANT_REFERENCE` and `X_KEY`."""
    return re.sub(r"\W", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).upper()
