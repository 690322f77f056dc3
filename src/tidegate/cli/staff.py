"""`tidegate staff`: who runs this deployment; `tidegate console`: the way in."""

from __future__ import annotations

import click
from rich.table import Table

from tidegate.cli.console import as_json_option, fail, out, plain, print_json, reports_errors, show_table
from tidegate.cli.database import run_on_database
from tidegate.cli.merchant_webhooks import running_settings
from tidegate.cli.proposal import act_or_propose, by_option, known, why_option
from tidegate.core.ids import Mode
from tidegate.infra.db import Database
from tidegate.member.model import email_in, name_in
from tidegate.staff import sandbox_staff, store
from tidegate.staff.model import StaffMember
from tidegate.staff.permission import StaffRole
from tidegate.staff_approval.arguments import StaffArguments

_role = click.Choice([role.value for role in StaffRole])


@click.group()
def staff() -> None:
    """People who sign in to the operator's console."""


@staff.command()
@click.argument("email")
@click.option("--name", required=True, help="As the console and the audit trail show it.")
@click.option("--role", type=_role, required=True)
@why_option
@by_option
@reports_errors
def add(*, email: str, name: str, role: str, why: str | None, by: str | None) -> None:
    """Add a staff member: sends a mail, and prints the link by which they choose a password. In live mode, once there
    are two approvers, one proposes it and the other approves it.
    """
    if not running_settings().console_address:
        fail("Set TIDEGATE_CONSOLE_URL first: the link leads there.")
    added = StaffArguments(name=name_in(name), role=StaffRole(role))
    click.echo(act_or_propose(known("staff.add", "", email_in(email), why=why, arguments=added), by=by))


@staff.command(name="list")
@as_json_option
@reports_errors
def list_(as_json: bool) -> None:
    """List the staff."""

    async def run(db: Database) -> list[StaffMember]:
        async with db.connection() as tx:
            return await store.list_all(tx)

    found = run_on_database(running_settings(), run)
    if as_json:
        print_json([{"name": one.member.name, "email": one.member.email, "role": one.role.value} for one in found])
        return
    table = Table("Name", "E-mail", "Role")
    for one in found:
        table.add_row(plain(one.member.name), plain(one.member.email), one.role.value)
    show_table(table, "No staff yet: `tidegate staff add EMAIL --name … --role …` adds the first.")


@staff.command()
@click.argument("email")
@why_option
@by_option
@reports_errors
def remove(email: str, why: str | None, by: str | None) -> None:
    """Remove a staff member's access. They are signed out at once."""
    act_or_propose(known("staff.remove", "", email_in(email), why=why), by=by)
    out.print("[green]✓[/] removed.")


@click.group()
def console() -> None:
    """Links into the operator's console."""


@console.command()
@click.option("--role", type=_role, default=StaffRole.OPERATOR.value, show_default=True)
@reports_errors
def link(role: str) -> None:
    """Print a link that enters the sandbox's console once, within 15 minutes."""
    settings = running_settings()
    if settings.mode is Mode.LIVE:
        fail("There is no such link in live mode: staff sign in. `tidegate staff add` adds the first.")

    async def run(db: Database) -> str:
        return await sandbox_staff.new_link(db, settings.console_address, StaffRole(role))

    click.echo(run_on_database(settings, run))
