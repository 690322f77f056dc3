"""`tidegate job`: background work that failed and its retries, and the rounds of each job."""

from __future__ import annotations

import click
from rich.table import Table

from tidegate.audit.model import OPERATOR
from tidegate.cli.console import as_json_option, out, plain, print_json, reports_errors, show_table
from tidegate.cli.operator import ago, limit_option, with_payment_deps
from tidegate.core.clock import Clock, SystemClock
from tidegate.infra import job_round_store, lease_store
from tidegate.infra.job_round_store import JobRound
from tidegate.infra.lease_store import FailedWork
from tidegate.infra.timestamp import to_iso
from tidegate.rail.deps import PaymentDeps
from tidegate.webhook import job_command


@click.group()
def job() -> None:
    """Background work: failed rows, which are retried at growing intervals, and the last round of each job."""


@job.command(name="list")
@click.option("--parked", "only_parked", is_flag=True, help="Only rows that are no longer retried automatically.")
@limit_option
@as_json_option
@reports_errors
def list_(only_parked: bool, limit: int, as_json: bool) -> None:
    """List rows whose work failed, with the last error of each."""

    async def run(deps: PaymentDeps, _: Clock) -> list[FailedWork]:
        async with deps.db.connection() as tx:
            return await lease_store.list_failed(tx, only_parked=only_parked, limit=limit)

    found = with_payment_deps(run)
    if as_json:
        print_json([_to_json(one) for one in found])
        return
    table = Table("Kind", "Business", "Id", "Failures", "State", "Last error")
    for one in found:
        state = "[red]parked[/]" if one.is_parked else "[yellow]tried again[/]"
        table.add_row(one.kind, one.business_id, plain(one.id), str(one.failures), state, plain(one.last_error))
    show_table(table, "No background work has failed.")


def _to_json(one: FailedWork) -> dict[str, object]:
    return {
        "kind": one.kind,
        "businessId": one.business_id,
        "id": one.id,
        "failures": one.failures,
        "isParked": one.is_parked,
        "lastError": one.last_error,
    }


@job.command()
@as_json_option
@reports_errors
def rounds(as_json: bool) -> None:
    """List the last round of each job, as the workers report it every few seconds."""

    async def run(deps: PaymentDeps, _: Clock) -> list[JobRound]:
        async with deps.db.connection() as tx:
            return await job_round_store.list_all(tx)

    found, now = with_payment_deps(run), SystemClock().now()
    if as_json:
        print_json([_round_json(one) for one in found])
        return
    table = Table("Job", "Every", "Last round", "Took", "Done", "Failed", "Last error")
    for one in found:
        table.add_row(
            one.job, f"{one.every_s:g} s", ago(one.ended_at, now), f"{one.lasted_ms} ms", str(one.done),
            str(one.failed), plain(one.error or "–"),
        )  # fmt: skip
    show_table(table, "No worker has run yet; start one with `tidegate worker`.")


def _round_json(one: JobRound) -> dict[str, object]:
    return {
        "job": one.job,
        "everySeconds": one.every_s,
        "endedAt": to_iso(one.ended_at),
        "milliseconds": one.lasted_ms,
        "done": one.done,
        "failed": one.failed,
        "lastError": one.error,
        "lastErrorAt": to_iso(one.failed_at) if one.failed_at else None,
    }


@job.command(name="run")
@click.argument("job_name", metavar="JOB")
@reports_errors
def run_job(job_name: str) -> None:
    """Run a round of a JOB within seconds, while a `tidegate worker` runs."""

    async def run(deps: PaymentDeps, _: Clock) -> None:
        await job_command.run(deps.db, job_name, by=OPERATOR)

    with_payment_deps(run)
    out.print("[green]✓[/] it runs within seconds, while a `tidegate worker` runs.")


@job.command()
@click.argument("kind")
@click.argument("business_id", metavar="[BUSINESS]", required=False)
@click.argument("id_", metavar="[ID]", required=False)
@reports_errors
def retry(kind: str, business_id: str | None, id_: str | None) -> None:
    """Retry failed rows at once: one, all of a BUSINESS, or all of a KIND. Fix the cause first."""

    async def run(deps: PaymentDeps, clock: Clock) -> int:
        return await job_command.retry(deps.db, kind, business_id=business_id, id_=id_, by=OPERATOR, clock=clock)

    count = with_payment_deps(run)
    if count == 0:
        out.print(f"No failed row of {plain(kind)} matches; `tidegate job list` shows them all.")
        raise SystemExit(1)
    out.print(f"[green]✓[/] {count} tried again within seconds, while a `tidegate worker` runs.")
