"""Commands that let money out or widen rights: in live mode they propose, once there is an approver."""

from __future__ import annotations

import msgspec

from tidegate import settings as settings_module
from tidegate.cli.console import fail, out
from tidegate.core.clock import Clock
from tidegate.rail.deps import PaymentDeps
from tidegate.release import commands


class Proposed(msgspec.Struct, frozen=True):
    """Instead of the effect."""

    number: int

    def report(self) -> None:
        out.print(f"[green]✓[/] proposed as {self.number}; an approver decides in the console, within three days.")


async def proposed_instead(
    deps: PaymentDeps, clock: Clock, command: str, business_id: str, subject: str, *, why: str | None,
    arguments: msgspec.Struct = commands.NOTHING,
) -> Proposed | None:  # fmt: skip
    """None where the command does it at once."""
    if not await commands.must_propose(deps.db, settings_module.from_environment().mode):
        return None
    if not why:
        fail("An approver has to know why: give it with --note or --why.")
    number = await commands.propose_from_command_line(
        deps.db, command, business_id, subject, why=why, now=clock.now(), arguments=arguments
    )
    return Proposed(number)
