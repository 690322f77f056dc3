"""Commands that let money out or widen rights: in a sandbox they act, in live mode they propose."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import click
import msgspec

from tidegate import settings as settings_module
from tidegate.audit import model as audit_model
from tidegate.audit.model import Actor
from tidegate.cli.console import fail, out, print_json
from tidegate.cli.database import run_on_database
from tidegate.cli.merchant_webhooks import running_settings, webhook_deps_of
from tidegate.cli.operator import operator_named
from tidegate.core.ids import Mode
from tidegate.infra.db import Database
from tidegate.member.realm import CONSOLE
from tidegate.member.sign_in import SignIn
from tidegate.runtime import Runtime
from tidegate.sandbox.seed import FILE_NAME
from tidegate.staff import commands as staff
from tidegate.staff.model import StaffMember
from tidegate.staff.permission import StaffPermission, is_granted
from tidegate.staff_approval import commands
from tidegate.staff_approval.commands import Proposed, StaffCommandRequest
from tidegate.staff_approval.model import StaffApprovalDeps
from tidegate.staff_approval.table import STAFF_COMMANDS

T = TypeVar("T")
# Instead of an address, as the audit trail shows it.
ORIGIN = "command line"

by_option = click.option(
    "--by", metavar="EMAIL", help="Who does it: in live mode one of the staff, who is asked for the password or a code."
)
why_option = click.option("--why", metavar="TEXT", help="For the approver; required in live mode.")


def with_staff_approval_deps(work: Callable[[StaffApprovalDeps], Awaitable[T]]) -> T:
    settings = running_settings()

    async def run(db: Database) -> T:
        runtime = Runtime.on(db, settings)
        await runtime.initialise()
        return await work(
            StaffApprovalDeps(
                runtime.deps, runtime.clock, settings.mode, settings.base_url, settings.console_address,
                webhooks=lambda: webhook_deps_of(settings_module.from_environment(), db),
                sandbox_file=settings.home / FILE_NAME,
            )
        )  # fmt: skip

    return run_on_database(settings, run)


def act_or_propose(
    find: Callable[[StaffApprovalDeps], Awaitable[StaffCommandRequest]], *, by: str | None, as_json: bool = False,
    shown: dict[str, str] | None = None,
) -> object:  # fmt: skip
    """The effect, in a sandbox. Otherwise it is proposed, which ends the command; `shown` is known only here."""
    return act_or_propose_all([find], by=by, as_json=as_json, shown=shown)[0]


def act_or_propose_all(
    finds: Sequence[Callable[[StaffApprovalDeps], Awaitable[StaffCommandRequest]]], *, by: str | None,
    as_json: bool = False, shown: dict[str, str] | None = None,
) -> list[object]:  # fmt: skip
    """Several of one command: who proposes them is asked for the password or a code once."""

    async def run(deps: StaffApprovalDeps) -> list[object]:
        requests = [await find(deps) for find in finds]
        if await commands.acts_at_once(deps, requests[0].command):
            actor = operator_named(by)
            return [await commands.act(deps, request, by=actor) for request in requests]
        if not requests[0].reason:
            fail("Give the reason with --why or --note; the approver reads it.")
        person = await proven(deps, by, STAFF_COMMANDS[requests[0].command].permission)
        return [
            await commands.propose_request(deps, request, asked_by=person.member.id, by=actor_of(person))
            for request in requests
        ]

    done = with_staff_approval_deps(run)
    proposed = [one for one in done if isinstance(one, Proposed)]
    for one in proposed:
        report(one, as_json, shown or {})
    if proposed:
        raise SystemExit(0)
    return done


def known(
    command: str, business_id: str, subject: str, *, why: str | None, arguments: msgspec.Struct = commands.NOTHING
) -> Callable[[StaffApprovalDeps], Awaitable[StaffCommandRequest]]:
    """A request that needs nothing looked up."""

    async def find(_: StaffApprovalDeps) -> StaffCommandRequest:
        return StaffCommandRequest(
            command=command, business_id=business_id, subject=subject, reason=why, arguments=arguments
        )

    return find


async def proven(deps: StaffApprovalDeps, by: str | None, wanted: StaffPermission) -> StaffMember:
    """One of the staff, who shows the password or a code. The sandbox's own people have neither."""
    if not by:
        fail("Say who you are with --by: an address of the staff. `tidegate staff list` shows them.")
    async with deps.db.connection() as tx:
        person = await staff.get(tx, by)
    if not is_granted(person.role, wanted):
        fail(f"As {person.role.value}, {by} may not {wanted.value}; another of the staff can.")
    if deps.mode is Mode.SANDBOX and person.member.is_of_sandbox:
        return person
    given = click.prompt(f"Password or code of {by}", hide_input=True)
    vault = webhook_deps_of(running_settings(), deps.db).vault
    await SignIn(deps.db, vault, deps.console_url, realm=CONSOLE).confirm(person.member, given)
    return person


def actor_of(person: StaffMember) -> Actor:
    return audit_model.staff(person.member.id, ORIGIN)


def report(proposed: Proposed, as_json: bool, shown: dict[str, str]) -> None:
    if as_json:
        print_json({"proposed": proposed.number, **shown})
        return
    for name, value in shown.items():
        out.print(f"[dim]{name:<12}[/] {value}\n[yellow]It is not stored, and works once it is approved.[/]")
    out.print(
        f"[green]✓[/] proposed as {proposed.number}. Another person approves it within three days: in the console, or "
        f"by `tidegate approval approve {proposed.number} --by EMAIL`.",
        soft_wrap=True,
    )
