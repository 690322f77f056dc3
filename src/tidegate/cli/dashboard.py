"""`tidegate dashboard`: links into the dashboard."""

from __future__ import annotations

import click

from tidegate.cli.console import fail, speaks_plainly
from tidegate.cli.database import run_on_database
from tidegate.cli.merchant_webhooks import running_settings
from tidegate.core.errors import Refusal
from tidegate.core.ids import Mode
from tidegate.infra.db import Database
from tidegate.member import entrance
from tidegate.member.permission import Role
from tidegate.member.team import invite_owner, reset_factors_of


@click.group()
def dashboard() -> None:
    """Links into the merchant's dashboard."""


@dashboard.command()
@click.option("--role", type=click.Choice([role.value for role in Role]), default=Role.OWNER.value, show_default=True)
@speaks_plainly
def link(role: str) -> None:
    """Print a link that enters the sandbox once, within 15 minutes."""
    settings = running_settings()
    if settings.mode is Mode.LIVE:
        fail("There is no such link in live mode: people sign in. `tidegate dashboard invite` invites an owner.")

    async def run(db: Database) -> str:
        return await entrance.new_link(db, settings.base_url, Role(role))

    click.echo(run_on_database(settings, run))


@dashboard.command()
@click.argument("business_id", metavar="BUSINESS")
@click.argument("email")
@speaks_plainly
def invite(business_id: str, email: str) -> None:
    """Invite the owner of a business: sends a mail, and prints the link for where no mail is sent."""
    settings = running_settings()

    async def run(db: Database) -> str:
        return await invite_owner(db, settings.base_url, business_id, email)

    try:
        click.echo(run_on_database(settings, run))
    except Refusal as refusal:
        fail(refusal.message)


@dashboard.command("reset-factors")
@click.argument("email")
@click.confirmation_option(prompt="Have you made sure, by another way than e-mail, that this person asks for it?")
@speaks_plainly
def reset_factors(email: str) -> None:
    """Remove passkeys, codes and recovery codes of a person who has lost them all. Mail tells that person."""

    async def run(db: Database) -> None:
        await reset_factors_of(db, email)

    try:
        run_on_database(running_settings(), run)
    except Refusal as refusal:
        fail(refusal.message)
    click.echo(f"{email} signs in with the password now, and sets up a second factor again.")
