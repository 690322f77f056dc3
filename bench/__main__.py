"""`make bench`: starts what it needs, measures, prints a table, leaves nothing behind but the results file."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from bench import (
    growth,
    line_create,
    line_hostile,
    line_inflow,
    line_latency,
    line_overload,
    line_page,
    line_settle,
    line_statement,
    line_verify,
    line_webhook,
    machine,
    report,
    resources,
    table,
)
from bench.cpu import QUIET_SHARE, await_quiet
from bench.delay import Delay, Waited
from bench.finding import Section
from bench.growth import Growth
from bench.line import BenchFailed, Line
from bench.result import Result, Round
from bench.run import Run
from bench.stage import Options, Stage, open_stage

LINES: dict[str, Callable[[Stage], Line]] = {
    "create": line_create.line,
    "create-customary": line_create.over_customary,
    "verify": line_verify.line,
    "settle": line_settle.spread,
    "settle-one": line_settle.one,
    "inflow": line_inflow.line,
    "page": line_page.line,
    "webhook": line_webhook.line,
    "statement": line_statement.page,
    "balance": line_statement.balance,
}
DELAYS: dict[str, Callable[[Stage], Delay]] = {
    "notice": line_page.notice,
    "webhook-receipt": line_webhook.receipt,
    "webhook-alone": line_webhook.alone,
    "webhook-beside-poison": line_webhook.beside_poison,
}
# In this order: the load of the last one leaves an API behind that has had thousands of connections.
SECTIONS: dict[str, Callable[[Stage], Section]] = {
    "resources": resources.section,
    "hostile": line_hostile.section,
    "latency": line_latency.section,
    "overload": line_overload.section,
}
GROWTH = "growth"
WARM_UP_S = 1.0

console = Console()


@dataclass(frozen=True)
class Pace:
    rounds: int
    seconds: float
    patience_s: float


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.option("--rounds", type=click.IntRange(1, 100), default=15, help="How often ours and its yardstick alternate.")
@click.option("--seconds", type=click.IntRange(1, 120), default=1, help="How long each run of a round takes.")
@click.option(
    "--only",
    type=click.Choice([*LINES, *DELAYS, *SECTIONS, GROWTH]),
    multiple=True,
    help="Measure only this line; repeatable.",
)
@click.option("--workers", type=click.IntRange(1, 64), default=1, help="API processes, and as many bare ones.")
@click.option("--connections", type=click.IntRange(1, 64), default=32, help="Clients at once, on either side.")
@click.option("--stored", type=click.IntRange(0, 100_000_000), default=1_000_000, help="Payments under fixed rates.")
@click.option("--businesses", type=click.IntRange(1, 10_000), default=1_000, help="Whose pages are shown.")
@click.option("--patience", type=click.IntRange(0, 600), default=0, help="Seconds per line to wait for quiet.")
@click.option("--log-level", type=click.Choice(["info", "warning"]), default="warning", help="Of the API.")
def main(
    *,
    rounds: int,
    seconds: int,
    only: tuple[str, ...],
    workers: int,
    connections: int,
    stored: int,
    businesses: int,
    patience: int,
    log_level: str,
) -> None:
    """Measure Tidegate against what it is built on: ratios, taken side by side on this machine.

    Targets that are missed are named, and are no failure of the program; a run whose numbers would be wrong is.
    """
    # Without this, nothing would be stopped when somebody ends us politely.
    signal.signal(signal.SIGTERM, _exit)
    wanted = only or (*LINES, *DELAYS, *SECTIONS, GROWTH)
    try:
        run = _run(
            Options(workers, connections, log_level, stored, businesses), Pace(rounds, seconds, patience), wanted
        )
    except BenchFailed as failure:
        console.print("[bold red]The run is void.[/]")
        console.print(str(failure), markup=False, highlight=False)
        sys.exit(1)
    except KeyboardInterrupt:
        console.print("Stopped.")
        sys.exit(130)
    report.write(run)
    table.show(run, console)
    if run.grown is None and GROWTH in wanted:
        console.print(f"[yellow]growth[/]: {growth.HOW_TO_LOAD}", highlight=False)
    console.print(f"[dim]Every number is in {report.RESULTS}, the tables in {report.TABLES.name} beside it.[/]")


def _run(options: Options, pace: Pace, wanted: Sequence[str]) -> Run:
    with console.status("Starting PostgreSQL and the API …") as starting, open_stage(options) as stage:
        lines = [make(stage) for name, make in LINES.items() if name in wanted]
        delays = [make(stage) for name, make in DELAYS.items() if name in wanted]
        # So that every statement is planned for a table that PostgreSQL knows.
        stage.execute("VACUUM ANALYZE")
        starting.stop()
        return Run(
            machine=machine.describe(stage),
            options=options,
            results=_measure(lines, pace),
            waited=[_wait(delay) for delay in delays],
            sections=[_look(name, make, stage) for name, make in SECTIONS.items() if name in wanted],
            grown=_grow() if GROWTH in wanted else None,
        )


def _measure(lines: list[Line], pace: Pace) -> list[Result]:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[now]}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        tasks = [progress.add_task(line.name, total=2 * pace.rounds + 2, now="") for line in lines]
        return [_measure_line(line, pace, progress, task) for line, task in zip(lines, tasks, strict=True)]


def _measure_line(line: Line, pace: Pace, progress: Progress, task: TaskID) -> Result:
    for run in (line.run_ours, line.run_yardstick):
        progress.update(task, now="warming up")
        run(WARM_UP_S)
        progress.advance(task)
    rounds: list[Round] = []
    disturbed: list[Round] = []
    deadline = time.monotonic() + pace.patience_s
    while len(rounds) < pace.rounds:
        number = len(rounds)
        progress.update(task, now=f"round {number + 1} of {pace.rounds}")
        await_quiet(deadline)
        # Who goes first changes, so that neither always runs on the fuller table or the warmer machine.
        one = _round(line, pace.seconds, is_ours_first=number % 2 == 0)
        if one.others_share > QUIET_SHARE and time.monotonic() < deadline:
            disturbed.append(one)
            continue
        rounds.append(one)
        progress.advance(task, 2)
    progress.update(task, now="done")
    return Result(line, rounds, disturbed)


def _wait(delay: Delay) -> Waited:
    with console.status(f"{delay.name}: {delay.description} …"):
        return Waited(delay, delay.measure())


def _look(name: str, make: Callable[[Stage], Section], stage: Stage) -> Section:
    with console.status(f"{name} …"):
        return make(stage)


def _grow() -> Growth | None:
    with console.status("growth …") as status:
        return growth.measure(lambda now: status.update(f"growth: {now} …"))


def _round(line: Line, seconds: float, *, is_ours_first: bool) -> Round:
    if is_ours_first:
        ours = line.run_ours(seconds)
        return Round(ours, line.run_yardstick(seconds))
    yardstick = line.run_yardstick(seconds)
    return Round(line.run_ours(seconds), yardstick)


def _exit(_: int, __: FrameType | None) -> NoReturn:
    raise SystemExit(143)


if __name__ == "__main__":
    main()
