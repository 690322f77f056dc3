"""`tidegate bank payout`: returns and refunds by the bank, proposed by one of the staff and approved by another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import click
from rich.table import Table

from tidegate.bank_file import payout as payouts
from tidegate.bank_file import payout_store
from tidegate.bank_file.payout_store import ProposedPayout
from tidegate.bank_file.record import rail_in
from tidegate.cli.console import as_json_option, fail, out, plain, print_record, reports_errors, show_table
from tidegate.cli.operator import limit_option, operator_named, with_payment_deps
from tidegate.cli.proposal import (
    act_or_propose_all,
    actor_of,
    by_option,
    proven,
    report,
    why_option,
    with_staff_approval_deps,
)
from tidegate.core.clock import Clock
from tidegate.infra.timestamp import to_iso
from tidegate.merchant.field import remark_in
from tidegate.rail.deps import PaymentDeps
from tidegate.staff import store as staff_store
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import bank as bank_approval
from tidegate.staff_approval.bank import Payee
from tidegate.staff_approval.commands import Proposed, StaffCommandRequest
from tidegate.staff_approval.model import StaffApprovalDeps

_references = click.argument("references", nargs=-1, required=True, metavar="REFERENCE…")


@click.group()
def payout() -> None:
    """Payments to the bank: list, approve, export as pain.001."""


@payout.command(name="list")
@click.option("--all", "is_all", is_flag=True, help="Also those that have ended.")
@limit_option
@as_json_option
@reports_errors
def list_(is_all: bool, limit: int, as_json: bool) -> None:
    """List payments that have not ended, the oldest first."""

    async def run(deps: PaymentDeps, _: Clock) -> tuple[list[ProposedPayout], dict[str, str]]:
        async with deps.db.connection() as tx:
            found = await payout_store.list_payouts(tx, is_open=not is_all, limit=limit)
            return found, await staff_store.list_names(tx)

    found, names = with_payment_deps(run)
    if as_json:
        print_record([_record(one) for one in found])
        return
    table = Table()
    for heading in ("Reference", "Amount", "To", "Status", "By"):
        table.add_column(heading, no_wrap=heading in ("Reference", "Amount"), overflow="fold")
    for one in found:
        to = f"{one.payee_name or 'not known'}\n{one.payee_account or 'tidegate bank payout amend says where'}"
        state = one.status + (f"\n{one.reason}" if one.reason else f"\n{one.bank_status}" if one.bank_status else "")
        people = "\n".join(names.get(who, who) for who in (one.proposed_by, one.approved_by) if who)
        table.add_row(one.reference, str(one.amount), plain(to), plain(state), plain(people))
    show_table(table, "[green]✓[/] No payment is under way.")


@payout.command()
@_references
@why_option
@by_option
@reports_errors
def approve(references: tuple[str, ...], why: str | None, by: str | None) -> None:
    """Propose to pay these as they stand; another of the staff approves each."""
    said = remark_in("why", why) if why else None
    act_or_propose_all([_request_of(one, said) for one in references], by=by)


def _request_of(reference: str, why: str | None) -> Callable[[StaffApprovalDeps], Awaitable[StaffCommandRequest]]:
    async def find(deps: StaffApprovalDeps) -> StaffCommandRequest:
        async with deps.db.transaction() as tx:
            payout = await payouts.get(tx, reference)
        return StaffCommandRequest(
            command=bank_approval.COMMAND, business_id=payout.business_id, subject=reference, reason=why,
            arguments=bank_approval.arguments_of(payout),
        )  # fmt: skip

    return find


@payout.command()
@click.argument("reference")
@click.option("--name", required=True, help="Name of the recipient.")
@click.option("--account", required=True, help="IBAN or number of the recipient's account.")
@click.option("--bank", help="BIC or national code of the recipient's bank.")
@click.option("--why", required=True, metavar="TEXT", help="For the approver: how you know where it goes.")
@by_option
@reports_errors
def amend(*, reference: str, name: str, account: str, bank: str | None, why: str, by: str | None) -> None:
    """Set the payee of a payment whose payer the bank did not report, and propose to pay it. Another of the staff
    approves it.
    """
    payee, said = Payee(name=remark_in("name", name), account=account, bank=bank), remark_in("why", why)

    async def run(deps: StaffApprovalDeps) -> Proposed:
        person = await proven(deps, by, StaffPermission.PROPOSE)
        async with deps.db.transaction() as tx:
            return Proposed(
                await bank_approval.amend_and_propose(
                    tx, reference, payee, why=said, asked_by=person.member.id, by=actor_of(person),
                    now=deps.clock.now(),
                )
            )  # fmt: skip

    report(with_staff_approval_deps(run), False, {})


@payout.command()
@click.argument("reference")
@click.option("--why", required=True, help="The reason; the return or refund fails with it.")
@by_option
@reports_errors
def refuse(reference: str, why: str, by: str | None) -> None:
    """Refuse a payment that was not exported: the return or refund fails. It stops money, so one person does it."""
    reason = remark_in("why", why)

    async def run(deps: StaffApprovalDeps) -> None:
        person = await proven(deps, by, StaffPermission.SUSPEND)
        await payouts.refuse(deps.payment, reference, why=reason, by=actor_of(person), now=deps.clock.now())

    with_staff_approval_deps(run)
    out.print(f"[green]✓[/] {reference} is refused.")


@payout.command()
@click.option("--by", metavar="NAME", help="Who takes the file to the bank; kept in the audit trail.")
@reports_errors
def export(by: str | None) -> None:
    """Write approved payments as pain.001 into the folder out/, a file for each account."""
    who = operator_named(by)
    written: list[tuple[Path, int]] = []

    async def run(deps: PaymentDeps, clock: Clock) -> None:
        rail = rail_in(deps)
        if rail is None:
            fail("The rail bankfiles is not configured: TIDEGATE_RAILS must name it, in live mode.")
        await payouts.export(
            deps, rail.settings, by=who, now=clock.now(), on_written=lambda path, count: written.append((path, count))
        )

    with_payment_deps(run)
    for path, count in written:
        out.print(f"[green]✓[/] {plain(str(path))}: {count} {'payment' if count == 1 else 'payments'}.", soft_wrap=True)
    if not written:
        out.print("Nothing is approved.")


def _record(one: ProposedPayout) -> dict[str, object]:
    return {
        "reference": one.reference,
        "businessId": one.business_id,
        "kind": one.kind,
        "amount": one.amount.major,
        "currency": one.amount.currency,
        "payeeName": one.payee_name,
        "payeeAccount": one.payee_account,
        "payeeBank": one.payee_bank,
        "status": one.status,
        "bankStatus": one.bank_status,
        "why": one.reason,
        "proposedBy": one.proposed_by,
        "proposedAt": to_iso(one.proposed_at),
        "approvedBy": one.approved_by,
        "file": one.export_id,
    }
