"""What a run found, for people at a terminal of a hundred columns."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from bench import growth_report
from bench.delay import Waited
from bench.finding import Section
from bench.run import Run

OVER_WIDTH_MAX = 34
_MARKS = {True: "[green]✓[/]", False: "[bold yellow]✗[/]", None: ""}


def show(run: Run, console: Console) -> None:
    console.print(Text("\n".join(run.machine.sentences), style="dim"))
    if run.results:
        console.print(_lines(run))
    if run.waited:
        console.print(_delays(run.waited))
    for section in run.sections:
        console.print(_section(section))
    if run.grown:
        console.print(growth_report.table_of(run.grown))
    console.print(_judgement(run), highlight=False)


def _lines(run: Run) -> RenderableType:
    options = run.options
    table = _table(
        f"{options.workers} API process(es), {options.connections} connections, log level {options.log_level}"
    )
    table.add_column("line")
    table.add_column("over", max_width=OVER_WIDTH_MAX)
    for name in ("ours/s", "over/s", "ratio", "spread", "target", ""):
        table.add_column(name, justify="right", no_wrap=True)
    for one in run.verdicts:
        low, high = one.spread
        table.add_row(
            f"[bold]{one.name}[/]",
            one.over,
            f"{one.ours_per_s:,.0f}",
            f"{one.over_per_s:,.0f}",
            f"[bold]{one.ratio:.2f}[/]",
            f"{low:.2f}–{high:.2f}",
            "" if one.target is None else f"≥ {one.target:.2f}",
            _MARKS[one.is_reached],
        )
    return Group(table, *(Text(f"  {note}", style="dim") for note in run.notes))


def _delays(waited: list[Waited]) -> Table:
    table = _table("Delays")
    table.add_column("delay")
    for name in ("p50", "p99", "longest", "aim of p50", "times", ""):
        table.add_column(name, justify="right", no_wrap=True)
    for one in waited:
        table.add_row(
            f"[bold]{one.delay.name}[/]: {one.delay.description}",
            f"[bold]{one.p50_s * 1000:,.0f} ms[/]",
            f"{one.p99_s * 1000:,.0f} ms",
            f"{max(one.seconds) * 1000:,.0f} ms",
            f"≤ {one.delay.aim_s * 1000:,.0f} ms",
            str(len(one.seconds)),
            _MARKS[one.p50_s <= one.delay.aim_s],
        )
    return table


def _section(section: Section) -> RenderableType:
    table = _table(section.title)
    table.add_column(section.name)
    for name in ("measured", "aim", ""):
        table.add_column(name, justify="right", no_wrap=True)
    for one in section.findings:
        table.add_row(one.what, f"[bold]{one.measured_text}[/]", one.aim_text, _MARKS[one.is_reached])
    return Group(table, *(Text(f"  {note}", style="dim") for note in section.notes))


def _judgement(run: Run) -> str:
    if not run.misses:
        return "[bold green]Every target is reached.[/]"
    return "\n".join(["[bold yellow]Not reached:[/]", *(f"  {miss}" for miss in run.misses)])


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE, pad_edge=False)
