"""`tidegate reconcile`: compares a rail's statement with our books."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tidegate import settings as settings_module
from tidegate.audit.model import OPERATOR
from tidegate.cli.console import as_json_option, err, fail, out, plain, print_json, reports_errors, show_table
from tidegate.cli.database import run_on_database
from tidegate.core.clock import SystemClock
from tidegate.core.errors import NotFound
from tidegate.core.ids import Mode
from tidegate.core.money import Money
from tidegate.deployment import commands as deployment
from tidegate.infra.db import Database
from tidegate.infra.http.query import YEAR_MAX, YEAR_MIN
from tidegate.rail import registry
from tidegate.reconcile import commands, explanation, kept_comparison, report, statement
from tidegate.reconcile.model import Discrepancy, DiscrepancyKind, Movement, RailLine, ReconcilePeriod
from tidegate.reconcile.report import Report
from tidegate.sandbox.wire import Duration
from tidegate.settings import Settings

SHOWN = 50
BREAKS_FOUND = 1
NOT_COMPARED = 2
# More frequent updates of the progress bar only cost time.
_STEP_BYTES, _STEP_MOVEMENTS = 1_000_000, 1_000


def _columns(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in value.split(",")] if value else []
    if not all(ours and theirs for ours, _, theirs in pairs):
        raise click.BadParameter("must be like transactionId=Ref,amount=Betrag")
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


def _length(ctx: click.Context, param: click.Parameter, value: str) -> timedelta:
    try:
        return Duration.parse(value).length
    except ValueError as wrong:
        raise click.BadParameter(str(wrong)) from None


class _Day(click.DateTime):
    """A date within the range of the books, with a day before and after it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        day = super().convert(value, param, ctx)
        if not YEAR_MIN <= day.year <= YEAR_MAX:
            self.fail(f"must be from {YEAR_MIN} to {YEAR_MAX}", param, ctx)
        return day


_day = _Day(["%Y-%m-%d"])


@click.command()
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--rail", metavar="NAME", help="The rail of the statement; by default the only configured one.")
@click.option("--from", "first", type=_day, metavar="DAY", help="The first day, UTC; by default the first in the file.")
@click.option("--to", "last", type=_day, metavar="DAY", help="The last day; by default the last in the file.")
@click.option(
    "--slack",
    default="1d",
    callback=_length,
    show_default=True,
    help="Allowed difference between the rail's date and ours.",
)
@click.option("--columns", metavar="OURS=THEIRS,…", callback=_columns, help="The file's names of our columns.")
@click.option(
    "--show", type=click.IntRange(0), default=SHOWN, show_default=True, help="The number of findings to list."
)
@click.option(
    "--explain",
    "explained",
    multiple=True,
    metavar="TRANSACTION",
    help="A difference that --note explains; may be given more than once.",
)
@click.option(
    "--note", metavar="TEXT", help="Why it differs. It is no longer counted as a difference while both amounts stay."
)
@as_json_option
def reconcile(as_json: bool, show: int, explained: tuple[str, ...], note: str | None, **asked: Any) -> None:
    """Compare a rail's statement (CSV) with our books. Moves no money. Without a file, the rail's own list is fetched.

    Exits with 0 when they agree or each difference is explained, 1 when they differ, 2 when they could not be compared.
    """
    if bool(explained) != (note is not None):
        raise click.UsageError("Give --explain and --note together: which difference, and why.")
    try:
        made = _compare(**asked)
        if note is not None:
            made = _explained(made, explained, note)
    except SystemExit:
        raise SystemExit(NOT_COMPARED) from None  # The reason is already printed.
    if as_json:
        print_json(report.to_json(made))
    else:
        _print(made, show)
    if not made.agrees:
        raise SystemExit(BREAKS_FOUND)


@reports_errors
def _compare(
    *, file: Path | None, rail: str | None, first: datetime | None, last: datetime | None, slack: timedelta,
    columns: dict[str, str],
) -> Report:  # fmt: skip
    settings = settings_module.from_environment()
    rails = _rails_of(settings)
    name = rail or _only(rails)
    if file is None:
        return _compare_list(settings, name, _date(first), _date(last), slack)
    with _progress() as progress:
        try:
            lines = _read(file, columns, progress)
            period = commands.period_of(lines, first=_date(first), last=_date(last), slack=slack)
        except statement.NoDays as error:
            fail(f"{file} cannot be compared: {error} with --from and --to.")
        except (statement.Unreadable, OSError) as error:
            fail(f"{file} cannot be read as a statement:\n  " + str(error).replace("\n", "\n  "))
        return run_on_database(
            settings, lambda db: _reconcile(db, lines, name, period, progress, is_configured=name in rails)
        )


@reports_errors
def _explained(made: Report, transactions: Sequence[str], note: str) -> Report:
    if unknown := set(transactions) - {report.identifier_of(one) for one in made.breaks}:
        fail(f"No difference of this comparison has the transaction {', '.join(sorted(unknown))}.")
    breaks = [one for _, one in explanation.named_breaks(made.findings) if one.transaction_id in transactions]

    async def run(db: Database) -> list[Discrepancy]:
        replaced = await explanation.explain(db, made.rail, breaks, note, by=OPERATOR, now=SystemClock().now())
        if replaced:
            err.print("What was noted before is in the audit trail: `tidegate audit list` shows it.")
        async with db.connection() as tx:
            return await explanation.add_to(tx, made.rail, made.findings)

    return msgspec.structs.replace(made, findings=run_on_database(settings_module.from_environment(), run))


def _compare_list(settings: Settings, name: str, first: date | None, last: date | None, slack: timedelta) -> Report:
    """With the rail's own list, for which it is asked now."""
    if first is None or last is None:
        fail("Give the period with --from and --to, or the rail's statement as a file.")
    period = ReconcilePeriod(first, last, slack)

    async def run(db: Database) -> Report:
        rails = registry.rails_of(settings, db, (await deployment.check(db, settings.mode)).secret)
        if name not in rails:
            raise NotFound(f"no rail named {name} is configured: TIDEGATE_RAILS has {', '.join(rails)}")
        async with registry.opened([rails[name]]):
            return await _kept(db, await commands.reconcile_with_list(db, rails[name], period))

    return run_on_database(settings, run)


def _date(moment: datetime | None) -> date | None:
    return moment.date() if moment else None


def _rails_of(settings: Settings) -> tuple[str, ...]:
    return ("sandbox",) if settings.mode is Mode.SANDBOX else settings.rails


def _only(rails: Sequence[str]) -> str:
    if len(rails) != 1:
        fail(f"Give the rail of the statement with --rail: {', '.join(rails) or 'none is set in TIDEGATE_RAILS'}.")
    return rails[0]


def _progress() -> Progress:
    """On a terminal only, not for pipes and logs."""
    shape = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    return Progress(*shape, console=err, transient=True, disable=not err.is_terminal)


def _read(file: Path, columns: dict[str, str], progress: Progress) -> list[RailLine]:
    with file.open("rb") as opened:
        task = progress.add_task("Reading the statement", total=os.fstat(opened.fileno()).st_size)
        step = _Step(progress, task, _STEP_BYTES)
        return statement.read(opened, columns, step.add)


async def _reconcile(
    db: Database,
    lines: Sequence[RailLine],
    rail: str,
    period: ReconcilePeriod,
    progress: Progress,
    *,
    is_configured: bool,
) -> Report:
    # The size of the books is not known in advance; most of it is what the statement lists.
    task = progress.add_task("Comparing with our books", total=len(lines))
    step = _Step(progress, task, _STEP_MOVEMENTS)
    made = await commands.reconcile(
        db, lines, rail=rail, period=period, is_configured=is_configured, on_movement=step.add
    )
    return await _kept(db, made)


async def _kept(db: Database, made: Report) -> Report:
    """As one of the console's: its Overview shows it, and its differences can be explained there."""
    await kept_comparison.keep(db, OPERATOR, made, now=SystemClock().now())
    return made


class _Step:
    def __init__(self, progress: Progress, task: Any, size: int) -> None:
        self._progress, self._task, self._size, self._since = progress, task, size, 0

    def add(self, count: int = 1) -> None:
        self._since += count
        if self._since >= self._size:
            self._progress.advance(self._task, self._since)
            self._since = 0


def _print(made: Report, show: int) -> None:
    if made.findings and show:
        # Breaks first: notices must not push one out of the list.
        shown = [*made.breaks, *made.notices][:show]
        show_table(_findings_table(shown))
        if len(made.findings) > len(shown):
            out.print(
                f"[dim]… and {len(made.findings) - len(shown)} more: list them with --show, or all with --json[/]"
            )
    counts = Counter(finding.kind for finding in [*made.unexplained, *made.notices])
    for kind, count in sorted(counts.items(), key=lambda item: list(DiscrepancyKind).index(item[0])):
        mark = "[bold red]✗[/]" if kind.is_break else "[yellow]•[/]"
        out.print(f"{mark} [bold]{kind.value:<12}[/]{count:>8,}  [yellow]→ {report.ADVICE[kind]}[/]", soft_wrap=True)
    show_table(_sums_table(made))
    for balance in made.balances:
        _print_balance(balance.moved, balance.ledger)
    _print_verdict(made)


def _findings_table(findings: Sequence[Discrepancy]) -> Table:
    """Two text rows each, so that identifiers stay whole on a terminal of ordinary width."""
    table = Table("Class", title="Findings", title_justify="left")
    table.add_column("Line", justify="right")
    table.add_column("Transaction, when", overflow="fold")
    table.add_column("Rail", justify="right")
    table.add_column("Our books", justify="right")
    table.add_column("Business, what for", overflow="fold")
    for finding in findings:
        line, movement = finding.line, finding.movement
        table.add_row(
            finding.kind.value,
            f"{line.number}" if line else "",
            f"{plain(report.identifier_of(finding))}\n{report.moment_of(finding):%Y-%m-%d %H:%M}",
            f"{line.direction} {line.currency} {report.plain(line.amount, line.currency)}" if line else "—",
            _booked(movement),
            f"{movement.business_id or ''}\n{plain(movement.subject or movement.kind)}" if movement else "",
            style="" if finding.kind.is_break and finding.explanation is None else "dim",
        )
        if finding.explanation:
            table.add_row("", "", f"explained: {plain(finding.explanation.note)}", style="dim")
    return table


def _booked(movement: Movement | None) -> str:
    if movement is None:
        return "—"
    status = "" if movement.status == "done" else f", {movement.status.replace('_', ' ')}"
    amount = movement.amount
    return f"{movement.direction} {amount.currency} {report.plain(amount.major, amount.currency)}{status}"


def _sums_table(made: Report) -> Table:
    title = f"{made.rail}, {made.period.first} to {made.period.last}"
    table = Table("Currency", "Direction", title=title, title_justify="left")
    for name in ("Rail", "Our books", "Difference"):
        table.add_column(name, justify="right")
    for each in made.sums:
        amounts = (f"{amount:,.2f}" for amount in (each.rail, each.books, each.difference))
        table.add_row(each.currency, each.direction, *amounts, style="red" if each.difference else "")
    return table


def _print_balance(moved: Money, ledger: Money) -> None:
    if moved == ledger:
        out.print(f"[green]✓[/] the ledger holds {ledger} at rails, which is what came in less what went out")
    else:
        out.print(f"[bold red]✗[/] the ledger holds {ledger} at rails, but {moved} came in and did not go out")
        out.print("  [yellow]→ run `tidegate doctor --books`; this is not about the statement[/]")


def _print_verdict(made: Report) -> None:
    outside = f", {made.lines_outside:,} outside the period" if made.lines_outside else ""
    breaks, explained = len(made.unexplained), len(made.breaks) - len(made.unexplained)
    counted = f"{made.lines:,} lines{outside}, {made.matched:,} agree, {breaks:,} break{'' if breaks == 1 else 's'}"
    if explained:
        counted += f", {explained:,} explained"
    out.print(f"[bold {'green' if made.agrees else 'red'}]{'✓' if made.agrees else '✗'} {counted}[/]")
