"""`make bench`: starts what it needs, measures, prints Markdown as it goes, leaves nothing behind."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence

import click
from rich.console import Console

from bench import cluster, create, dashboard, growth, hostile, machine, notifications, rates, reads, statement, webhook
from bench.environment import Environment, Options, open_environment
from bench.report import BenchFailed, Line, Report, Result, Sample, Section
from tidegate.infra.migrate import MigrationFailed

LINES: dict[str, Callable[[Environment], Line]] = {
    "create": create.line,
    "verify": reads.verify,
    "page": reads.page,
    "settle": notifications.Settlements.line,
    "settle-one": notifications.SettlementsOfOne.line,
    "inflow": notifications.Inflows.line,
    "webhook": webhook.line,
    "statement": statement.line,
}
# In this order: overload leaves an API behind that has had thousands of connections.
SECTIONS: dict[str, Callable[[Environment], Section]] = {
    "webhook-delay": webhook.delay,
    "hostile": hostile.section,
    "latency": rates.latency,
    "overload": rates.overload,
    "growth": growth.section,
    "cluster": cluster.section,
    "dashboard": dashboard.section,
}
WARM_UP_S = 1.0

# Progress goes to the terminal, the numbers to the standard output.
console = Console(stderr=True)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.option("--rounds", type=click.IntRange(1, 100), default=15, help="How often ours and its yardstick alternate.")
@click.option("--seconds", type=click.IntRange(1, 120), default=1, help="How long each run of a round takes.")
@click.option("--only", type=click.Choice([*LINES, *SECTIONS]), multiple=True, help="Only this line; repeatable.")
@click.option("--stored", type=click.IntRange(1, 10**8), default=10**6, help="Payments already there.")
@click.option("--businesses", type=click.IntRange(1, 10_000), default=1_000, help="Whose pages are shown.")
def main(*, rounds: int, seconds: int, only: tuple[str, ...], stored: int, businesses: int) -> None:
    """Measure Tidegate against what it is built on: ratios, taken in turn on this machine.

    Targets that are missed are named, and are no failure of the program; a run whose numbers would be wrong is.
    """
    # So that everything is stopped then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        _run(Options(rounds, seconds, stored, businesses), only or (*LINES, *SECTIONS))
    except (BenchFailed, MigrationFailed) as failure:
        console.print("[bold red]The run is void.[/]")
        console.print(str(failure), markup=False, highlight=False)
        sys.exit(1)


def _run(options: Options, wanted: Sequence[str]) -> None:
    report = Report()
    with console.status("Starting PostgreSQL and the API …") as status, open_environment(options) as environment:
        print(machine.describe(environment), flush=True)
        lines = []
        for name in (name for name in LINES if name in wanted):
            status.update(f"{name}: preparing …")
            lines.append(LINES[name](environment))
        for line in lines:
            # So that every statement is planned for the rows that the lines before have left.
            environment.execute("VACUUM ANALYZE")
            report.add_line(_measure(line, options, lambda now: status.update(f"{now} …")))
        for name in (name for name in SECTIONS if name in wanted):
            status.update(f"{name} …")
            report.add_section(SECTIONS[name](environment))
    report.close()


def _measure(line: Line, options: Options, note: Callable[[str], None]) -> Result:
    note(f"{line.name}: warming up")
    line.run_ours(WARM_UP_S)
    line.run_yardstick(WARM_UP_S)
    rounds: list[tuple[Sample, Sample]] = []
    for number in range(options.rounds):
        note(f"{line.name}: round {number + 1} of {options.rounds}")
        # The order changes, so that neither always runs on the fuller table or the warmer machine.
        order = (line.run_yardstick, line.run_ours) if number % 2 else (line.run_ours, line.run_yardstick)
        first, second = (run(options.seconds) for run in order)
        rounds.append((second, first) if number % 2 else (first, second))
    return Result(line, rounds)


if __name__ == "__main__":
    main()
