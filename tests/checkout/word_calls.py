"""Reads from programs and templates which texts they ask for.

A key that is put together, as in `words(f"failure.{reason}")`, is declared in a comment: on the lines of the call, or
above it, where the nearest comment counts. `failure.*` stands for every key that begins so.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from jinja2 import Environment, nodes

DECLARATION = re.compile(r"\bwords: ([\w.*]+(?:, *[\w.*]+)*)")
TEMPLATE_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
ANYTHING = ".+"


@dataclass(frozen=True)
class Use:
    """A call of `words` or `words.rich`; in a template, the filter `text` or `rich`.

    The pattern is that of a regular expression; without gaps it is the key."""

    line: int
    last_line: int
    pattern: str
    values: frozenset[str]

    @property
    def key(self) -> str | None:
        """None when it is put together."""
        return None if ANYTHING in self.pattern else self.pattern.replace("\\", "")


@dataclass(frozen=True)
class Declaration:
    line: int
    last_line: int
    keys: frozenset[str]
    is_alone: bool


@dataclass(frozen=True)
class Source:
    name: str
    uses: list[Use]
    declarations: list[Declaration]

    @classmethod
    def read(cls, path: Path) -> Source:
        text = path.read_text("utf-8")
        if path.suffix == ".py":
            return cls(path.name, list(uses_in_program(text)), list(declarations_in_program(text)))
        return cls(path.name, list(uses_in_template(text)), list(declarations_in_template(text)))

    def declared_for(self, use: Use) -> frozenset[str]:
        own = [d for d in self.declarations if use.line <= d.line <= use.last_line]
        above = [d for d in self.declarations if d.line < use.line][-1:]
        return frozenset().union(*(d.keys for d in own or above))


def uses_in_program(text: str) -> Iterator[Use]:
    for call in ast.walk(ast.parse(text)):
        if isinstance(call, ast.Call) and _is_words_in_program(call.func):
            values = frozenset(keyword.arg or "**" for keyword in call.keywords)
            yield Use(call.lineno, call.end_lineno or call.lineno, _pattern_in_program(call.args[0]), values)


def _is_words_in_program(called: ast.expr) -> bool:
    """`words`, `anything.words`, and `.rich` of either."""
    if isinstance(called, ast.Attribute) and called.attr == "rich":
        called = called.value
    return (called.id if isinstance(called, ast.Name) else getattr(called, "attr", None)) == "words"


def _pattern_in_program(key: ast.expr) -> str:
    parts = key.values if isinstance(key, ast.JoinedStr) else [key]
    return "".join(re.escape(str(part.value)) if isinstance(part, ast.Constant) else ANYTHING for part in parts)


def uses_in_template(text: str) -> Iterator[Use]:
    for used in Environment(autoescape=True).parse(text).find_all(nodes.Filter):
        if used.name in ("text", "rich") and used.node is not None:
            names = [str(keyword.key) for keyword in used.kwargs] + (["**"] if used.dyn_kwargs else [])
            yield Use(used.lineno, used.lineno, _pattern_in_template(used.node), frozenset(names))


def _pattern_in_template(key: nodes.Expr) -> str:
    parts = key.nodes if isinstance(key, nodes.Concat) else [key]
    return "".join(re.escape(str(part.value)) if isinstance(part, nodes.Const) else ANYTHING for part in parts)


def declarations_in_program(text: str) -> Iterator[Declaration]:
    """Comments on lines of their own that follow each other are one declaration."""
    last: Declaration | None = None
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type != tokenize.COMMENT or not (keys := _declared(token.string)):
            continue
        line, is_alone = token.start[0], token.line.lstrip().startswith("#")
        if last and is_alone and last.is_alone and last.last_line == line - 1:
            last = Declaration(last.line, line, last.keys | keys, is_alone)
            continue
        if last:
            yield last
        last = Declaration(line, line, keys, is_alone)
    if last:
        yield last


def declarations_in_template(text: str) -> Iterator[Declaration]:
    for comment in TEMPLATE_COMMENT.finditer(text):
        if keys := _declared(comment[0]):
            line = text.count("\n", 0, comment.start()) + 1
            yield Declaration(line, line + comment[0].count("\n"), keys, is_alone=False)


def _declared(comment: str) -> frozenset[str]:
    return frozenset(key for found in DECLARATION.findall(comment) for key in re.split(", *", found))
