"""`tidegate dashboard`: links into the dashboard."""

from __future__ import annotations

from datetime import datetime

import click

from tidegate.cli.console import fail, reports_errors
from tidegate.cli.database import run_on_database
from tidegate.cli.merchant_webhooks import running_settings
from tidegate.cli.proposal import act_or_propose, by_option, known, why_option
from tidegate.core.ids import Mode
from tidegate.infra.db import Database
from tidegate.member import sandbox_people
from tidegate.member.model import email_in
from tidegate.member.permission import Role


@click.group()
def dashboard() -> None:
    """Links into the merchant's dashboard."""


@dashboard.command()
@click.option("--role", type=click.Choice([role.value for role in Role]), default=Role.OWNER.value, show_default=True)
@reports_errors
def link(role: str) -> None:
    """Print a link that enters the sandbox once, within 15 minutes."""
    settings = running_settings()
    if settings.mode is Mode.LIVE:
        fail("There is no such link in live mode: people sign in. `tidegate dashboard invite` invites an owner.")

    async def run(db: Database) -> str:
        return await sandbox_people.new_link(db, settings.base_url, Role(role))

    click.echo(run_on_database(settings, run))


@dashboard.command()
@click.argument("business_id", metavar="BUSINESS")
@click.argument("email")
@why_option
@by_option
@reports_errors
def invite(business_id: str, email: str, why: str | None, by: str | None) -> None:
    """Invite an owner of a business: sends a mail, and prints the link for where no mail is sent. In live mode an
    approver approves it.
    """
    click.echo(act_or_propose(known("merchant.owner", business_id, email_in(email), why=why), by=by))


@dashboard.command("reset-factors")
@click.argument("email")
@why_option
@by_option
@click.confirmation_option(prompt="Have you made sure, by another way than e-mail, that this person asks for it?")
@reports_errors
def reset_factors(email: str, why: str | None, by: str | None) -> None:
    """Remove passkeys, codes and recovery codes of a person who has lost them all, 24 hours later. Mail tells that
    person at once; a sign-in with one of them before then keeps them.
    """
    at = act_or_propose(known("person.reset", "", email_in(email), why=why), by=by)
    assert isinstance(at, datetime)
    click.echo(
        f"From {at:%Y-%m-%d %H:%M} UTC on, {email} signs in with the password and sets up a second factor again."
    )
