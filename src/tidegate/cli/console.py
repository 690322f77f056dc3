"""Output of commands: colour for people, JSON for scripts, errors without stack traces."""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import click
import msgspec
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.style import StyleType
from rich.table import Table
from rich.text import Text

from tidegate.core.errors import Invalid, Problem, Refusal
from tidegate.core.visible import visible
from tidegate.deployment.commands import WrongDatabase
from tidegate.infra import db as database
from tidegate.infra.embedded import EmbeddedPostgresFailed
from tidegate.infra.http.operation import encode
from tidegate.infra.migrate import MigrationFailed
from tidegate.infra.vault import NoKey
from tidegate.settings import WrongSettings

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

# Wider than any text that is measured.
_ANY_WIDTH = 10_000
# What is no word of English: a field of several words.
_FIELD = re.compile(r"\b[a-z]+(?:[A-Z][a-z]+)+\b")

F = TypeVar("F", bound=Callable[..., Any])

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for a script.")


def print_json(value: Any) -> None:
    """Without colour or wrapping whatever the terminal, for pipes."""
    write_json(json.dumps(value, indent=2, default=str))


def print_record(value: Any) -> None:
    """Records with the names and digits of the API."""
    write_json(msgspec.json.format(encode(value), indent=2).decode())


def write_json(text: str) -> None:
    """Control characters are escaped: a JSON reader gets them back, a terminal does not."""
    sys.stdout.write(visible(text, keep="\n") + "\n")


def plain(text: str) -> str:
    """Untrusted text for print: markup and control characters are shown, not interpreted."""
    return escape(visible(text, keep="\n\t"))


def show_table(table: Table, empty: str = "") -> None:
    """A table where the terminal is wide enough for its longest row, otherwise one record below the other: no word or
    id is cut or broken."""
    if not table.row_count:
        if empty:
            out.print(empty, soft_wrap=True)
        return
    table.box, table.show_edge, table.pad_edge = box.SIMPLE_HEAD, False, False
    if Measurement.get(out, out.options.update(width=_ANY_WIDTH), table).maximum <= out.width:
        out.print(table)
        return
    if table.title:
        out.print(table.title, style="italic")
    headings = [str(column.header) for column in table.columns]
    label_width = max(map(len, headings)) + 2
    for row, *cells in zip(table.rows, *(column.cells for column in table.columns), strict=True):
        for heading, cell in zip(headings, cells, strict=True):
            _show_field(heading.ljust(label_width), out.render_str(str(cell)), style=row.style or "")
        out.print()


def _show_field(label: str, value: Text, *, style: StyleType) -> None:
    value.stylize_before(style)
    # A word longer than the line is left to the terminal's own wrapping, so that it is copied whole.
    room = max(out.width - len(label), Measurement.get(out, out.options.update(width=_ANY_WIDTH), value).minimum)
    for at, line in enumerate(value.wrap(out, room)):
        shown = Text.assemble((label if at == 0 else " " * len(label), "dim"), line)
        shown.rstrip()
        out.print(shown, soft_wrap=True)


class WholeNumber(click.IntRange):
    """Refuses a text as "not a valid whole number"."""

    name = "whole number"


def _words_of(problem: Problem) -> str:
    """By what the command calls the field: the rules behind it are shared, and call it by the API's name."""
    if problem.message[:1].isupper():
        return problem.message
    context = click.get_current_context(silent=True)
    called = dict(map(_name_of, context.command.params)) if context else {}
    message = _FIELD.sub(lambda found: called.get(found[0], found[0]), problem.message)
    # An option that is given several times has no numbers.
    field = problem.field.partition("[")[0]
    return f"{called.get(field, problem.field)} {message}"


def _name_of(one: click.Parameter) -> tuple[str, str]:
    """Of an option or argument: in the API, and in the command."""
    field = re.sub("_([a-z])", lambda found: found[1].upper(), one.name or "")
    return field, max(one.opts, key=len) if isinstance(one, click.Option) else one.human_readable_name


def fail(message: str) -> NoReturn:
    err.print(f"[bold red]✗[/] {escape(message)}", soft_wrap=True)
    raise SystemExit(1)


def reports_errors(command: F) -> F:
    """Expected errors are reported in a sentence or two; any other is a bug and keeps its trace."""

    @functools.wraps(command)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except WrongSettings as wrong:
            fail("Tidegate cannot start with these settings:\n  " + "\n  ".join(wrong.problems))
        except Invalid as wrong:
            fail("\n".join(map(_words_of, wrong.problems)))
        except Refusal as refusal:
            fail(refusal.message)
        except (EmbeddedPostgresFailed, MigrationFailed, NoKey, WrongDatabase) as error:
            fail(str(error))
        except database.REFUSED as error:
            fail(f"the database refuses: {error}\nIf it has not been migrated, run `tidegate migrate` first.")

    return guarded  # type: ignore[return-value]
