"""The rules that a program can check. A rule in prose decays; one that runs does not."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tidegate.core.money import Currency

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "tidegate"
FILES = sorted(SOURCE.rglob("*.py"))
FUNCTION_LINES_MAX = 50
FILE_LINES_MAX = 400

# Where a currency may be named: its table, the tables of two methods, rails that take some, and examples.
CURRENCY_PLACES = re.compile(
    r"core/money\.py|rail/(mobile_money|ussd_bank)\.py|rail/(?!sandbox)\w+/.+|rail_settings\.py|emulator/.+"
    r"|.*examples\.py|sandbox/(start_page\.py|templates/create\.md)|cli/dev\.py"
)
# Where SQL may stand: stores, and the two files that are about the database itself.
SQL_PLACES = re.compile(r"(.+_)?store\.py|migrate\.py")
SQL = re.compile(r"^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH \w+ AS)\b")
VAGUE_NAMES = re.compile(r"(Helper|Util|Utils|Wish|News|Told|Thing|Obstacle)$")
CLOCKS = {("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("date", "today")}
CLOCKS |= {("time", "time"), ("time", "monotonic"), ("time", "perf_counter")}
MONEY_FILES = [
    path
    for path in FILES
    if path.parent.name in ("payment", "ledger") or path.name in ("money.py", "fee.py", "method.py")
]


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


def findings(find: Callable[[Path], list[Any]], files: Iterable[Path] = FILES) -> dict[str, list[Any]]:
    """What breaks the rule, by file."""
    return {name_of(path): found for path in files if (found := find(path))}


def functions_in(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [n for n in nodes(path) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_a_file_is_short() -> None:
    assert [name_of(path) for path in FILES if len(path.read_text().splitlines()) > FILE_LINES_MAX] == []


def test_a_function_fits_on_a_screen() -> None:
    def long(path: Path) -> list[str]:
        return [f.name for f in functions_in(path) if (f.end_lineno or 0) - f.lineno >= FUNCTION_LINES_MAX]

    assert findings(long) == {}


def test_nothing_is_imported_inside_a_function() -> None:
    def inner(path: Path) -> list[int]:
        return [n.lineno for f in functions_in(path) for n in ast.walk(f) if isinstance(n, ast.Import | ast.ImportFrom)]

    assert findings(inner) == {}


def test_sql_stands_only_in_stores() -> None:
    def sql(path: Path) -> list[str]:
        texts = [n.value for n in nodes(path) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        # A liveness question is no statement about anybody's rows.
        return [text for text in texts if SQL.match(text) and text != "SELECT clock_timestamp()"]

    assert findings(sql, [p for p in FILES if not (SQL_PLACES.fullmatch(p.name) or "embedded" in p.parts)]) == {}


def test_sql_is_never_put_together_from_pieces() -> None:
    def pieces(path: Path) -> list[int]:
        return [n.lineno for n in nodes(path) if isinstance(n, ast.JoinedStr)]

    assert findings(pieces, [path for path in FILES if path.name.endswith("store.py")]) == {}


def test_money_never_meets_a_binary_float() -> None:
    def floats(path: Path) -> list[int]:
        literals = [n.lineno for n in nodes(path) if isinstance(n, ast.Constant) and isinstance(n.value, float)]
        names = [n.lineno for n in nodes(path) if isinstance(n, ast.Name) and n.id == "float"]
        divisions = [n.lineno for n in nodes(path) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)]
        return literals + names + divisions

    assert findings(floats, MONEY_FILES) == {}


def test_only_the_clock_reads_a_clock() -> None:
    def reads(path: Path) -> list[tuple[str, str]]:
        attributes = (n for n in nodes(path) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name))
        calls = [(n.value.id, n.attr) for n in attributes if isinstance(n.value, ast.Name)]
        return [call for call in calls if call in CLOCKS]

    # The embedded server is made of nothing but the standard library, and only measures how long it waits.
    others = [path for path in FILES if name_of(path) != "core/clock.py" and "embedded" not in path.parts]
    assert findings(reads, others) == {}


def test_a_class_is_named_for_what_it_is() -> None:
    def vague(path: Path) -> list[str]:
        return [n.name for n in nodes(path) if isinstance(n, ast.ClassDef) and VAGUE_NAMES.search(n.name)]

    assert findings(vague) == {}


def test_randomness_for_secrets_comes_from_the_system() -> None:
    def modules(path: Path) -> list[str]:
        imported = {alias.name for n in nodes(path) if isinstance(n, ast.Import) for alias in n.names}
        return sorted(imported & {"random", "pickle", "marshal"})

    assert findings(modules) == {}


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


def test_a_currency_is_named_only_in_its_tables_and_in_examples() -> None:
    """Everything else follows from the row in core/money.py, so that a new currency is one row."""
    code = re.compile(rf"""(Currency\.|["'])({"|".join(Currency)})\b""")
    texts = [path for path in SOURCE.rglob("*") if path.suffix in (".py", ".html", ".js", ".toml", ".typ", ".sql")]
    named = [
        f"{name_of(path)}:{number} {line.strip()}"
        for path in texts
        if not CURRENCY_PLACES.fullmatch(name_of(path))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if code.search(line)
    ]
    assert named == []


def test_every_folder_says_what_it_holds() -> None:
    silent = [name_of(p) for p in FILES if p.name == "__init__.py" and not ast.get_docstring(ast.parse(p.read_text()))]
    assert silent == []
