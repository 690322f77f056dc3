"""The SQL in the product's Python. Each statement is one whole text, so that it can be examined."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Any

from postgast import pg_query_pb2 as nodes

from migrations.routing import parse, walk

ROWS = (nodes.RangeVar, nodes.RangeSubselect, nodes.RangeFunction)
# In capitals, as everywhere in the product.
_WORDS = re.compile(
    r"\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|MERGE INTO|WITH \w+ AS|FROM|JOIN|WHERE|AND|OR|VALUES|UNION|ORDER BY"
    r"|RETURNING)\s"
)
# What would be put into a text.
_HOLE = " hole "
_MAKERS = {"format", "format_map", "join", "replace", "removeprefix", "removesuffix", "substitute"}


@cache
def statements_in(text: str) -> tuple[Any, ...]:
    """Of whatever can be read as SQL and takes rows from somewhere."""
    return tuple(one for one in parse(text) if any(isinstance(part, ROWS) for part in walk(one)))


def is_sql(text: str) -> bool:
    return bool(_WORDS.search(text) or statements_in(text))


def _opening_of(text: str) -> int:
    opening = re.match(r"[\s(]*", text)
    return opening.end() if opening else 0


def texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def unreadable(tree: ast.AST) -> list[str]:
    """Pieces of SQL."""
    return [text for text in texts(tree) if _WORDS.match(text, _opening_of(text)) and not parse(text)]


def made(tree: ast.AST, sql_names: set[str]) -> list[str]:
    """SQL that is put together when the program runs."""
    found = []
    for node in ast.walk(tree):
        parts = _parts(node)
        text = "".join(part if isinstance(part, str) else _HOLE for part in parts)
        if any(is_sql(part) if isinstance(part, str) else _name(part) in sql_names for part in parts) or (
            parts and statements_in(text)
        ):
            found.append(ast.unparse(node))
    return found


def names_of_sql(tree: ast.Module) -> set[str]:
    """Constants of a module."""
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str) and is_sql(node.value.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }  # fmt: skip


def _parts(node: ast.AST) -> list[str | ast.AST]:
    """Of a text that is made of several; none for any other expression."""
    match node:
        case ast.JoinedStr():
            return [_text_or(part.value if isinstance(part, ast.FormattedValue) else part) for part in node.values]
        case ast.BinOp(op=ast.Add() | ast.Mod()):
            return [*(_parts(node.left) or [_text_or(node.left)]), *(_parts(node.right) or [_text_or(node.right)])]
        case ast.AugAssign(op=ast.Add() | ast.Mod()):
            return [_text_or(node.target), *(_parts(node.value) or [_text_or(node.value)])]
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in _MAKERS:
            given = chain.from_iterable(
                one.elts if isinstance(one, ast.List | ast.Tuple) else [one] for one in node.args
            )
            return [_text_or(value), *(_text_or(one) for one in given)]
    return []


def _text_or(node: ast.AST) -> str | ast.AST:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else node


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
