"""The rules that a program can check. A rule in prose decays; one that runs does not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "tidegate"
FILES = sorted(SOURCE.rglob("*.py"))
FUNCTION_LINES_MAX = 50
FILE_LINES_MAX = 400

# Where SQL may stand: stores, and the two files that are about the database itself.
SQL_PLACES = re.compile(r"(.+_)?store\.py|migrate\.py")
SQL = re.compile(r"^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH \w+ AS)\b")
VAGUE_NAMES = re.compile(r"(Helper|Util|Utils)$")
CLOCKS = {("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("date", "today")}
CLOCKS |= {("time", "time"), ("time", "monotonic"), ("time", "perf_counter")}
MONEY_FILES = [
    path
    for path in FILES
    if path.parent.name in ("payment", "ledger") or path.name in ("money.py", "fee.py", "method.py")
]


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def nodes(path: Path) -> Iterator[ast.AST]:
    yield from ast.walk(ast.parse(path.read_text()))


each_file = pytest.mark.parametrize("path", FILES, ids=name_of)


@each_file
def test_a_file_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= FILE_LINES_MAX


@each_file
def test_a_function_fits_on_a_screen(path: Path) -> None:
    functions = [n for n in nodes(path) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = [f.name for f in functions if (f.end_lineno or 0) - f.lineno >= FUNCTION_LINES_MAX]
    assert long == []


@each_file
def test_nothing_is_imported_inside_a_function(path: Path) -> None:
    functions = [n for n in nodes(path) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    inner = [n.lineno for f in functions for n in ast.walk(f) if isinstance(n, ast.Import | ast.ImportFrom)]
    assert inner == []


@each_file
def test_sql_stands_only_in_stores(path: Path) -> None:
    if SQL_PLACES.fullmatch(path.name) or "embedded" in path.parts:
        return
    texts = [n.value for n in nodes(path) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    found = [text for text in texts if SQL.match(text)]
    # A liveness question is no statement about anybody's rows.
    assert [text for text in found if text != "SELECT clock_timestamp()"] == []


@each_file
def test_sql_is_never_put_together_from_pieces(path: Path) -> None:
    if not path.name.endswith("store.py"):
        return
    assert [n.lineno for n in nodes(path) if isinstance(n, ast.JoinedStr)] == []


@pytest.mark.parametrize("path", MONEY_FILES, ids=name_of)
def test_money_never_meets_a_binary_float(path: Path) -> None:
    literals = [n.lineno for n in nodes(path) if isinstance(n, ast.Constant) and isinstance(n.value, float)]
    names = [n.lineno for n in nodes(path) if isinstance(n, ast.Name) and n.id == "float"]
    divisions = [n.lineno for n in nodes(path) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)]
    assert literals + names + divisions == []


@each_file
def test_only_the_clock_reads_a_clock(path: Path) -> None:
    # The embedded server is made of nothing but the standard library, and only measures how long it waits.
    if name_of(path) == "core/clock.py" or "embedded" in path.parts:
        return
    calls = [
        (n.value.id, n.attr) for n in nodes(path) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)
    ]
    assert [call for call in calls if call in CLOCKS] == []


@each_file
def test_a_class_is_named_for_what_it_is(path: Path) -> None:
    classes = [n.name for n in nodes(path) if isinstance(n, ast.ClassDef)]
    assert [name for name in classes if VAGUE_NAMES.search(name)] == []


@each_file
def test_randomness_for_secrets_comes_from_the_system(path: Path) -> None:
    modules = {alias.name for n in nodes(path) if isinstance(n, ast.Import) for alias in n.names}
    assert not modules & {"random", "pickle", "marshal"}


def test_no_public_type_name_stands_for_two_things() -> None:
    places: dict[str, list[str]] = {}
    for path in FILES:
        for name in public_types(ast.parse(path.read_text())):
            places.setdefault(name, []).append(name_of(path))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def public_types(module: ast.Module) -> Iterator[str]:
    """Classes and type aliases at the top of a module; type variables are local by nature."""
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign) and not (isinstance(node.value, ast.Call) and "TypeVar" in ast.dump(node)):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        else:
            continue
        yield from (name for name in names if re.fullmatch(r"[A-Z]+[a-z]\w*", name))


def test_every_folder_says_what_it_holds() -> None:
    silent = [name_of(p) for p in FILES if p.name == "__init__.py" and not ast.get_docstring(ast.parse(p.read_text()))]
    assert silent == []
