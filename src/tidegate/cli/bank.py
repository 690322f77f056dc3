"""`tidegate bank`: a bank's files, what they left undecided, and payments to the bank."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import click
import msgspec
from rich.table import Table

from tidegate.bank_file import imports, store
from tidegate.bank_file.model import ImportedFile
from tidegate.bank_file.record import rail_in, record_entries
from tidegate.bank_file.reversal import CreditFound
from tidegate.bank_file.store import EntryProblem
from tidegate.bank_settings import ACCOUNTS, BankFilesSettings, StatementAccount
from tidegate.cli.bank_payout import payout
from tidegate.cli.console import as_json_option, fail, out, plain, print_record, reports_errors, show_table
from tidegate.cli.operator import limit_option, with_payment_deps
from tidegate.cli.proposal import act_or_propose, by_option
from tidegate.core.clock import Clock
from tidegate.infra.timestamp import to_iso
from tidegate.merchant.field import remark_in
from tidegate.rail.bankfiles import reader
from tidegate.rail.bankfiles import store as rail_store
from tidegate.rail.bankfiles.continuity import gaps_in
from tidegate.rail.bankfiles.key import shown
from tidegate.rail.bankfiles.model import BankEntry, FileRefused
from tidegate.rail.deps import PaymentDeps
from tidegate.settings_reader import SettingsReader
from tidegate.staff_approval.arguments import TakeBackArguments
from tidegate.staff_approval.commands import NOTHING, StaffCommandRequest
from tidegate.staff_approval.model import StaffApprovalDeps

T = TypeVar("T")
_path = click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE")
_STATES = {"read": "[green]read[/]", "reading": "[yellow]half read[/]", "refused": "[red]refused[/]"}


def with_bank(work: Callable[[PaymentDeps, BankFilesSettings, Clock], Awaitable[T]]) -> T:
    async def run(deps: PaymentDeps, clock: Clock) -> T:
        rail = rail_in(deps)
        if rail is None:
            fail("The rail bankfiles is not configured: TIDEGATE_RAILS must name it, in live mode.")
        return await work(deps, rail.settings, clock)

    return with_payment_deps(run)


@click.group()
def bank() -> None:
    """A bank's files: import them, see what is missing or undecided, and send payments."""


bank.add_command(payout)


@bank.command(name="import")
@_path
@as_json_option
@reports_errors
def import_(path: Path, as_json: bool) -> None:
    """Import FILE: camt.052, .053 or .054, MT940, MT942 or pain.002. A file is imported once."""

    async def run(deps: PaymentDeps, settings: BankFilesSettings, clock: Clock) -> ImportedFile:
        try:
            made = await imports.import_file(deps, settings, path, now=clock.now())
        except FileRefused as refused:
            fail(f"{path.name}: {refused}.")
        while any(await record_entries(deps, clock)):
            pass
        async with deps.db.connection() as tx:
            return await store.get_file(tx, made.id)

    file = with_bank(run)
    if as_json:
        print_record(_record(file))
    elif file.reason is None:
        out.print(f"[green]✓[/] {plain(file.name)}, {file.kind}: {plain(_counts(file))}.")
    if file.reason is not None:
        fail(f"{file.name}: {file.reason}.")


@bank.command(name="try")
@_path
@reports_errors
def try_(path: Path) -> None:
    """Read FILE and show the keys of its entries; nothing is imported. Before going live: do a notice (camt.054) and
    the statement (camt.053) of the same day have a key in common?
    """
    table = Table()
    for heading in ("Entry, line", "Amount", "To", "Recipient", "Keys"):
        table.add_column(heading, no_wrap=heading == "Amount", overflow="fold")
    with path.open("rb") as source:
        try:
            for part in reader.opened(source, _named()).parts:
                if isinstance(part, BankEntry):
                    table.add_row(
                        f"{part.number}, {part.line}",
                        f"{'+' if part.is_credit else '-'}{part.amount} {part.currency}",
                        plain(part.destination or part.account),
                        plain(part.payee_name or "–"),
                        plain(
                            "\n".join(shown(part)) + ("" if part.is_dated else "\n(value date; it has no booking date)")
                        ),
                    )
        except FileRefused as refused:
            fail(f"{path.name}: {refused}.")
    show_table(table, "The file has no entries.")


def _named() -> Callable[[str], StatementAccount]:
    """As an import names accounts; before TIDEGATE_BANKFILES_ACCOUNTS is set, as the file does."""
    if not os.environ.get(ACCOUNTS):
        return reader.as_written
    read = SettingsReader(os.environ)
    settings = BankFilesSettings.read(read)
    if read.problems:
        fail(" ".join(read.problems))
    return settings.named


@bank.command()
@limit_option
@as_json_option
@reports_errors
def files(limit: int, as_json: bool) -> None:
    """List imported files, the newest first; then entries that need a decision, and statements that are missing."""

    async def run(
        deps: PaymentDeps, _: BankFilesSettings, __: Clock
    ) -> tuple[list[ImportedFile], list[EntryProblem], list[str]]:
        async with deps.db.connection() as tx:
            found = await store.list_files(tx, limit=limit)
            problems = await store.list_problems(tx, limit=limit)
            return found, problems, gaps_in(await rail_store.list_statements(tx))

    found, problems, gaps = with_bank(run)
    if as_json:
        print_record(
            {
                "files": [_record(one) for one in found],
                "problems": [
                    {
                        "fileId": one.file_id,
                        "file": one.file_name,
                        "entry": one.entry.number,
                        "line": one.entry.line,
                        "amount": one.what,
                        "why": one.reason,
                        "credits": [_choice(it) for it in one.choices],
                    }
                    for one in problems
                ],
                "gaps": gaps,
            }
        )
        return
    table = Table()
    for heading in ("Received", "File", "Kind", "State", "Entries"):
        table.add_column(heading, no_wrap=heading in ("Received", "Kind"), overflow="fold")
    for one in found:
        why = f"\n{plain(one.reason)}" if one.reason else ""
        received = f"{one.received_at:%Y-%m-%d %H:%M} UTC"
        table.add_row(received, plain(one.name), one.kind or "–", _STATES[one.state] + why, plain(_counts(one)))
    show_table(table, "No file yet: `tidegate bank import FILE` imports one.")
    for problem in problems:
        _show(problem)
    for gap in gaps:
        out.print(f"[yellow]![/] {plain(gap)}", soft_wrap=True)
    if found and not problems and not gaps:
        out.print("[green]✓[/] Nothing is missing, and nothing needs a decision.")


def _show(problem: EntryProblem) -> None:
    entry = problem.entry
    place = f"{problem.file_id[:12]} {problem.file_name}, entry {entry.number}, line {entry.line}"
    out.print(f"[red]![/] {plain(f'{place}: {problem.what}: {problem.reason}')}", soft_wrap=True)
    for credit in problem.choices:
        out.print(f"    {plain(f'may take back {credit.key}: {credit}')}", soft_wrap=True)


@bank.command()
@click.argument("file", metavar="FILE-ID")
@click.argument("entry", type=click.IntRange(1))
@click.option("--why", required=True, help="What was done about it; kept with the entry and in the audit trail.")
@by_option
@reports_errors
def settle(file: str, entry: int, why: str, by: str | None) -> None:
    """Settle an entry that needs a decision: you have handled it outside, and it is not recorded here. FILE-ID is what
    `tidegate bank files` shows; its first characters are enough. Another of the staff approves it.
    """
    _decide("bank.settle", file, entry, why, by)
    out.print(f"[green]✓[/] Entry {entry} is settled.")


@bank.command()
@click.argument("file", metavar="FILE-ID")
@click.argument("entry", type=click.IntRange(1))
@click.option(
    "--why", required=True, help="How you know that it is no repetition, or what has changed; kept in the audit trail."
)
@by_option
@reports_errors
def record(file: str, entry: int, why: str, by: str | None) -> None:
    """Record a credit that needs a decision as a transaction of its own: the bank has confirmed that the money came.
    A debit is judged again. FILE-ID is what `tidegate bank files` shows; its first characters are enough. Another of
    the staff approves it.
    """
    _decide("bank.record", file, entry, why, by)
    out.print(f"[green]✓[/] Entry {entry} will be recorded or judged again in a moment.")


@bank.command(name="take-back")
@click.argument("file", metavar="FILE-ID")
@click.argument("entry", type=click.IntRange(1))
@click.argument("credit")
@click.option("--why", required=True, help="How you know which credit is meant; kept in the audit trail.")
@by_option
@reports_errors
def take_back(file: str, entry: int, credit: str, why: str, by: str | None) -> None:
    """Say which CREDIT a bank takes back by an entry that needs a decision: one of those that `tidegate bank files`
    shows with it. FILE-ID stands there too; its first characters are enough. Another of the staff approves it.
    """
    _decide("bank.take_back", file, entry, why, by, arguments=TakeBackArguments(credit=credit))
    out.print(f"[green]✓[/] Entry {entry} takes {plain(credit)} back in a moment.")


def _decide(
    command: str, file: str, entry: int, why: str, by: str | None, *, arguments: msgspec.Struct = NOTHING
) -> None:  # fmt: skip
    note = remark_in("why", why)

    async def find(deps: StaffApprovalDeps) -> StaffCommandRequest:
        async with deps.db.connection() as tx:
            found = await store.find_problem(tx, file, entry)
        if found is None:
            fail(f"No entry {entry} of a file {file} needs a decision; `tidegate bank files` lists those that do.")
        return StaffCommandRequest(
            command=command, business_id="", subject=f"{found}/{entry}", reason=note, arguments=arguments
        )

    act_or_propose(find, by=by)


def _counts(file: ImportedFile) -> str:
    words = {"new": "to record", "done": "recorded", "repeat": "known already", "ignored": "not ours to record",
             "settled": "settled by hand", "problem": "need a decision"}  # fmt: skip
    counted = ", ".join(f"{file.counts[state]} {said}" for state, said in words.items() if file.counts.get(state))
    return counted or "no entries"


def _choice(credit: CreditFound) -> dict[str, object]:
    return {
        "credit": credit.key,
        "bookedOn": credit.booked_on.isoformat(),
        "amount": f"{credit.amount:f} {credit.currency}",
        "payer": credit.payer,
        "accountNumber": credit.destination,
    }


def _record(file: ImportedFile) -> dict[str, object]:
    return {
        "id": file.id,
        "name": file.name,
        "kind": file.kind,
        "state": file.state,
        "why": file.reason,
        "bytes": file.byte_count,
        "entries": file.entry_count,
        "counts": dict(file.counts),
        "receivedAt": to_iso(file.received_at),
    }
