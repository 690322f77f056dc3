"""Examples that can be pasted into a shell. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import msgspec

from tidegate.docs.variable import Variable, shell_name, variables_of
from tidegate.infra.http.operation import CREDENTIAL_WORDS, Operation, SameAsHeader, Step, encode

# A body up to this long is easier to read without line breaks.
ONE_LINE_MAX = 60


@dataclass(frozen=True)
class Credential:
    variable: str
    words: str


_VARIABLES = {
    "api-key": "TIDEGATE_SECRET_KEY",
    "x-pub-key": "TIDEGATE_PUBLIC_KEY",
    "x-business-id": "TIDEGATE_BUSINESS_ID",
}


def credential(header: str) -> Credential:
    return Credential(_VARIABLES.get(header, f"TIDEGATE_{shell_name(header)}"), CREDENTIAL_WORDS.get(header, ""))


def pretty(value: Any) -> str:
    return msgspec.json.format(encode(value), indent=2).decode()


def one_line(value: Any) -> str:
    return msgspec.json.format(encode(value), indent=0).decode()


@dataclass(frozen=True)
class Example:
    command: str
    needs: tuple[Variable, ...]  # Set by the examples of other operations.
    sets: tuple[Variable, ...]


@dataclass(frozen=True)
class _Sent:
    """One request of an example, and the variables taken from its answer. Only the last request prints its answer."""

    operation: Operation
    kept: list[Variable]
    is_step: bool
    is_awaited: bool = False


@dataclass(frozen=True)
class Request:
    """One request of an example that stands by itself."""

    operation: Operation
    chosen: list[Variable]
    kept: list[Variable]
    # Variables by the values that they stand for.
    names: dict[str, str]
    is_awaited: bool

    def planned(self, address: str) -> dict[str, Any]:
        """For the script that runs it in a browser."""
        operation = self.operation
        return {
            "method": operation.method,
            "path": address,
            "headers": [*operation.credentials.headers],
            "body": operation.request_example if operation.request else None,
            "uses": self.names,
            "chooses": {variable.name: variable.value.rstrip("0123456789") for variable in self.chosen},
            "takes": {variable.name: variable.field for variable in self.kept},
            "repeats": self.is_awaited,
        }


class Shell:
    """Writes `curl` commands. A value that one example makes and another needs is a shell variable."""

    def __init__(self, base_url: str, operations: Sequence[Operation]) -> None:
        self._base_url = base_url
        self._variables = variables_of(operations)
        self._operations = {operation.name: operation for operation in operations}

    def example_of(self, operation: Operation) -> Example:
        needs: list[Variable] = []
        sets: list[Variable] = []
        sent = self._sent_for(operation)
        for each in sent:
            needs += [variable for variable in self._used_by(each.operation) if variable not in sets]
            sets += [*self._chosen_by(each.operation), *each.kept]
        needed = tuple(dict.fromkeys(needs))
        commands = "\n\n".join(self._command(each) for each in sent)
        notes = "".join(self._note(variable) for variable in needed)
        return Example(notes + commands, needed, tuple(dict.fromkeys(sets)))

    def _note(self, variable: Variable) -> str:
        """Where a value comes from that the example does not make itself."""
        maker = self._operations[variable.maker].summary
        what = f"the {variable.field} that “{maker}” answers" if variable.field else f"as you sent it to “{maker}”"
        return f"# Set {variable.name} first: {what}.\n"

    def steps_of(self, operation: Operation) -> tuple[Step, ...]:
        """All or none: live mode lacks the sandbox's operations, and the other steps alone prepare nothing."""
        is_possible = all(step.operation in self._operations for step in operation.prepared_by)
        return operation.prepared_by if is_possible else ()

    def requests_of(self, operation: Operation) -> list[Request]:
        """Those that make what the example needs, and its own."""
        made: set[str] = set()
        return list(self._requests(operation, made, seen=()))

    def plan_of(self, operation: Operation) -> list[dict[str, Any]]:
        """Its requests, and those that remove what they made: an endpoint at an example's address answers nothing, and
        would have a share of every later event."""
        requests = self.requests_of(operation)
        sent = [request.operation for request in requests]
        undoing = {each.undone_by for each in sent} - {each.name for each in sent}
        after = [
            Request(each, [], [], {}, is_awaited=False) for each in self._operations.values() if each.name in undoing
        ]
        return [
            *(request.planned(self._address(request.operation)) for request in requests),
            *({**request.planned(self._address(request.operation)), "undoes": True} for request in after),
        ]

    def _requests(self, operation: Operation, made: set[str], seen: tuple[str, ...]) -> Iterator[Request]:
        for variable in self.example_of(operation).needs:
            if variable.name not in made and variable.maker not in (*seen, operation.name):
                yield from self._requests(self._operations[variable.maker], made, (*seen, operation.name))
        for sent in self._sent_for(operation):
            chosen = self._chosen_by(sent.operation)
            made.update(variable.name for variable in (*chosen, *sent.kept))
            names = {v.value: v.name for v in (*chosen, *self._used_by(sent.operation))}
            yield Request(sent.operation, chosen, sent.kept, names, sent.is_awaited)

    def _sent_for(self, operation: Operation) -> list[_Sent]:
        prepared_by = self.steps_of(operation)
        steps = [self._operation_in(step) for step in prepared_by]
        used = [variable for each in (*steps, operation) for variable in self._used_by(each)]
        sent = []
        for step, each in zip(prepared_by, steps, strict=True):
            kept = self._answered_by(each)
            # Another body may get another answer; then only the needed values are taken from it.
            needed = [v for v in kept if step.request is None or v in used]
            sent.append(_Sent(each, needed, is_step=True, is_awaited=step.is_awaited))
        return [*sent, _Sent(operation, self._answered_by(operation), is_step=False)]

    def _operation_in(self, step: Step) -> Operation:
        operation = self._operations[step.operation]
        operation = replace(operation, query_example={**operation.query_example, **step.query})
        return operation if step.request is None else replace(operation, request_example=step.request)

    def _answered_by(self, operation: Operation) -> list[Variable]:
        return [variable for variable in self._variables if variable.is_answered_by(operation)]

    def _chosen_by(self, operation: Operation) -> list[Variable]:
        return [variable for variable in self._variables if variable.is_chosen_by(operation)]

    def _used_by(self, operation: Operation) -> list[Variable]:
        return [v for v in self._variables if v.is_in(operation) and not v.is_chosen_by(operation)]

    def _command(self, sent: _Sent) -> str:
        lines = [f"{variable.name}={_unused(variable.value)}" for variable in self._chosen_by(sent.operation)]
        if not sent.kept:
            return "\n".join([*lines, self._curl(sent, "-fsS -o /dev/null" if sent.is_step else "")])
        lines.append(f"ANSWER=$({self._curl(sent, '-fsS' if sent.is_step else '-sS')})")
        if not sent.is_step:
            lines.append("printf '%s\\n' \"$ANSWER\"")
        lines += map(_taken_from_answer, sent.kept)
        return _until_there(lines, sent.kept[0]) if sent.is_awaited else "\n".join(lines)

    def _curl(self, sent: _Sent, flags: str) -> str:
        operation = sent.operation
        method = "" if operation.method == "GET" else f"-X {operation.method}"
        parts = [" ".join(word for word in ("curl", flags, method, self._url(operation)) if word)]
        parts += [f'-H "{name}: ${credential(name).variable}"' for name in operation.credentials.headers]
        chosen = self._chosen_by(operation)
        if operation.is_idempotent_by_key and chosen:
            parts.append(f'-H "Idempotency-Key: ${chosen[0].name}"')
        if operation.request:
            parts += ["-H 'Content-Type: application/json'", f"-d {self._body(sent)}"]
        return " \\\n  ".join(parts)

    def _body(self, sent: _Sent) -> str:
        example = sent.operation.request_example
        text = one_line(example)
        if not sent.is_step and len(text) > ONE_LINE_MAX:
            text = pretty(example)
        text = _in_single_quotes(text)
        for variable in self._variables:
            # Closes the single quotes, puts the variable in double ones, and opens them again.
            text = text.replace(_in_single_quotes(one_line(variable.value)), f'"\'"${variable.name}"\'"')
        return f"'{text}'"

    def _url(self, operation: Operation) -> str:
        address = self._address(operation)
        if "$" in address:
            return f'"{_in_double_quotes(self._base_url)}{address}"'
        return shlex.quote(self._base_url + address)

    def _address(self, operation: Operation) -> str:
        """With `${NAME}` for each variable."""
        names = {variable.value: variable.name for variable in self._variables}

        def written(value: str) -> str:
            return f"${{{names[value]}}}" if value in names else quote(value, safe="")

        def fill(match: re.Match[str]) -> str:
            return written(str(operation.path_parameters.get(match[1], {}).get("example", match[1])))

        def asked(value: str | SameAsHeader) -> str:
            if isinstance(value, SameAsHeader):
                return f"${{{credential(value.name).variable}}}"
            return written(value)

        address = re.sub(r"\{(\w+)\}", fill, operation.path)
        if operation.query_example:
            address += "?" + "&".join(f"{name}={asked(value)}" for name, value in operation.query_example.items())
        return address


def _taken_from_answer(variable: Variable) -> str:
    """The first field of that name: in a list the newest record's, in a record its own."""
    first = f"""grep -o '"{variable.field}":"[^"]*"' | head -n 1 | cut -d '"' -f 4"""
    return f'{variable.name}=$(printf %s "$ANSWER" | {first})'


def _until_there(lines: list[str], wanted: Variable) -> str:
    """Repeated for at most ten seconds, so that an example never hangs."""
    inner = "\n".join(lines).replace("\n", "\n  ")
    return f'for _ in $(seq 50); do\n  {inner}\n  [ "${wanted.name}" ] && break\n  sleep 0.2\ndone'


def _unused(example: str) -> str:
    """With a random number in place of the example's, so that each run makes a new value."""
    return shlex.quote(example.rstrip("0123456789")) + "$(openssl rand -hex 8)"


def _in_single_quotes(text: str) -> str:
    return text.replace("'", "'\\''")


def _in_double_quotes(text: str) -> str:
    return re.sub(r'(["$`\\])', r"\\\1", text)
