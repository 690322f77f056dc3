"""The requests of a guide's shell samples, for the script that runs them in a browser. Pure.

It reads what guides write: a random order number, `curl` commands, values taken from an answer by `sed` or
`grep`, and a loop that ends with `&& break` or after a minute.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

Plan = list[dict[str, Any]]
_URL = "$TIDEGATE_URL"
_KEYS = {
    "api-key: $TIDEGATE_SECRET_KEY": "api-key",
    "x-pub-key: $TIDEGATE_PUBLIC_KEY": "x-pub-key",
    "x-business-id: $TIDEGATE_BUSINESS_ID": "x-business-id",
}
_JSON = "content-type: application/json"
_CURL = re.compile(r"(?:(\w+)=\$\()?curl (.*?)( && break)?", re.DOTALL)
# Another value each time.
_CHOSEN = re.compile(r"(\w+)=([\w-]+)\$\(openssl rand -hex 8\)")
_TAKEN_LATER = re.compile(r'(\w+)=\$\(echo "\$(\w+)" \|')
# What a terminal shows, which changes no request.
_SHOWN = re.compile(r" > /dev/null| && echo \w+")
# What `sed` and `grep` look for: a field whose value is taken, or a text that is waited for.
_FIELD = re.compile(r'"(\w+)":"(?:\\\(|\[\^)')
_AWAITED = re.compile(r"grep -oE? '([^']+)'")
_VARIABLE = re.compile(r"\$\{?(\w+)")
# What needs no request: the rest of a loop, and what is shown.
_NO_REQUEST = ("echo ", "export ", "for TRY in ", "[ $TRY = ", "sleep ", "done")


def plans_of(samples: Iterable[str]) -> list[Plan]:
    """For each sample of a page. Empty for one that does more than send requests, and for those after it: they may
    rest on what it does."""
    page = _Page()
    return [page.plan_of(sample) for sample in samples]


class _Page:
    def __init__(self) -> None:
        self._can_run = True
        self._answers: dict[str, dict[str, Any]] = {}
        self._known = {"TIDEGATE_BUSINESS_ID"}
        # Values that the next request chooses, by their names: how each begins.
        self._chosen: dict[str, str] = {}

    def plan_of(self, sample: str) -> Plan:
        plan: Plan = []
        for command in _commands(sample):
            self._can_run = self._can_run and self._reads(command, plan)
        return plan if self._can_run else []

    def _reads(self, command: str, plan: Plan) -> bool:
        later = _TAKEN_LATER.match(command)
        if later and later[2] in self._answers:
            self._answers[later[2]]["takes"][later[1]] = _field(command)
            self._known.add(later[1])
            return True
        if chosen := _CHOSEN.fullmatch(command):
            self._chosen[chosen[1]] = chosen[2]
            self._known.add(chosen[1])
            return True
        request = _request(command)
        if request is None:
            return command.startswith(_NO_REQUEST)
        self._answers[request.pop("answer")] = request
        request["chooses"], self._chosen = self._chosen, {}
        self._known |= {*request["takes"]}
        plan.append(request)
        return {*_VARIABLE.findall(request["path"]), *request["uses"].values()} <= self._known


def _commands(sample: str) -> Iterator[str]:
    """Each with its continued lines; a line inside quotes is no end."""
    command = ""
    for line in sample.splitlines():
        command += line
        if command.endswith("\\"):
            command = command[:-1]
        elif command.count("'") % 2 == 0:
            yield command.strip()
            command = ""


def _request(command: str) -> dict[str, Any] | None:
    match = _CURL.fullmatch(command)
    if not match:
        return None
    sent, _, after = match[2].partition(" | ")
    curl = _Curl(shlex.split(_SHOWN.sub("", sent).removesuffix(")")))
    if not curl.is_plain:
        return None
    awaited = _AWAITED.search(after) if match[3] else None
    text = json.dumps(curl.body)
    return {
        "method": curl.method or ("POST" if curl.body is not None else "GET"),
        "path": _VARIABLE.sub(r"${\1}", curl.path),
        "headers": curl.keys,
        "body": curl.body,
        "uses": {f"${name}": name for name in _VARIABLE.findall(text)},
        "chooses": {},
        "takes": {match[1]: _field(after)} if match[1] and after else {},
        "repeats": False,
        "until": awaited[1] if awaited else "",
        "answer": match[1] or "",
    }


def _field(after: str) -> str:
    found = _FIELD.search(after)
    return found[1] if found else ""


class _Curl:
    """The words of a `curl` command."""

    def __init__(self, words: list[str]) -> None:
        self.path, self.method, self.keys, self.body, self.is_plain = "", "", list[str](), None, True
        given = iter(words)
        for word in given:
            if word.startswith(_URL):
                self.path = word.removeprefix(_URL)
            elif word == "-X":
                self.method = next(given)
            elif word == "-d":
                self.body = json.loads(next(given))
            elif word == "-H":
                self._take_header(next(given))
            elif word not in ("-s", "-sS", "-fsS"):
                self.is_plain = False

    def _take_header(self, header: str) -> None:
        if header in _KEYS:
            self.keys.append(_KEYS[header])
        elif header != _JSON:
            self.is_plain = False
