"""`tidegate job`: background work that failed, and its retries."""

from __future__ import annotations

import click
from rich.table import Table

from tidegate.audit.model import OPERATOR
from tidegate.cli.console import as_json_option, out, plain, print_json, reports_errors, show_table
from tidegate.cli.operator import limit_option, with_payment_deps
from tidegate.core.clock import Clock
from tidegate.infra import lease_store
from tidegate.infra.lease_store import FailedWork
from tidegate.rail.deps import PaymentDeps
from tidegate.webhook import job_retry


@click.group()
def job() -> None:
    """Failed background work: each row is retried at growing intervals, and parked after many failures."""


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
@click.argument("kind")
@click.argument("business_id", metavar="[BUSINESS]", required=False)
@click.argument("id_", metavar="[ID]", required=False)
@reports_errors
def retry(kind: str, business_id: str | None, id_: str | None) -> None:
    """Retry failed rows at once: one, all of a BUSINESS, or all of a KIND. Fix the cause first."""

    async def run(deps: PaymentDeps, clock: Clock) -> int:
        return await job_retry.retry(deps.db, kind, business_id=business_id, id_=id_, by=OPERATOR, clock=clock)

    count = with_payment_deps(run)
    if count == 0:
        out.print(f"No failed row of {plain(kind)} matches; `tidegate job list` shows them all.")
        raise SystemExit(1)
    out.print(f"[green]✓[/] {count} tried again within seconds, while a `tidegate worker` runs.")
