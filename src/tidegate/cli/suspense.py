"""`tidegate suspense`: money without an owner, by any rail, and what an operator decides about it."""

from __future__ import annotations

import click
import msgspec
from rich.table import Table

from tidegate.cli.console import WholeNumber, as_json_option, fail, out, plain, print_record, reports_errors, show_table
from tidegate.cli.operator import SHOWN_MAX, any_business_option, limit_option, with_payment_deps
from tidegate.cli.proposal import act_or_propose, by_option
from tidegate.core.clock import Clock
from tidegate.infra.timestamp import to_iso
from tidegate.intake import suspense as commands
from tidegate.intake import suspense_store as store
from tidegate.intake.candidates import list_candidates, list_likely
from tidegate.intake.model import SuspenseDecision, SuspenseReceipt, TransferCandidate
from tidegate.ledger.model import PLATFORM_BUSINESS_ID
from tidegate.merchant.field import remark_in
from tidegate.rail.deps import PaymentDeps
from tidegate.staff_approval.arguments import AssignArguments
from tidegate.staff_approval.commands import NOTHING, StaffCommandRequest
from tidegate.staff_approval.model import StaffApprovalDeps

SuspenseCase = tuple[SuspenseReceipt, list[TransferCandidate]]

_id = click.argument("receipt_id", metavar="ID", type=WholeNumber(1, commands.RECEIPT_ID_MAX))
_note = click.option(
    "--note", metavar="TEXT", required=True, help="The reason; stored with the decision and in the audit trail."
)


@click.group()
def suspense() -> None:
    """Money without an owner: list it, assign it to a payment or an account, return it, or close it."""


@suspense.command(name="list")
@any_business_option
@limit_option
@as_json_option
@reports_errors
def list_(business_id: str | None, limit: int, as_json: bool) -> None:
    """List money in suspense, the oldest first: in a currency that its account does not take, without an account, or
    with a missing or wrong reference. Of transfers in bank files, payments of the same amount are shown; `show` also
    looks for the merchants' references that the narration names.
    """

    async def run(deps: PaymentDeps, _: Clock) -> list[SuspenseCase]:
        async with deps.db.connection() as tx:
            # One more than shown, to know whether there are others.
            found = await store.list_open(tx, business_id=business_id, limit=limit + 1)
            return [(one, await list_likely(tx, one)) for one in found]

    found = with_payment_deps(run)
    if as_json:
        print_record([_record(*case) for case in found[:limit]])
        return
    table = Table()
    for heading in ("ID", "Received", "Amount", "Payer, narration", "Account, rail's id", "Why", "May be for"):
        table.add_column(heading, no_wrap=heading in ("ID", "Received", "Amount"), overflow="fold")
    for one, candidates in found[:limit]:
        table.add_row(
            str(one.id), f"{one.received_at:%Y-%m-%d %H:%M} UTC", str(one.amount),
            plain(f"{one.payer.get('name') or '–'}\n{one.remittance or '–'}"),
            plain(f"{one.account_number or '–'}\n{one.rail} {one.transaction_id}"),
            plain(one.reason + (f"\n{owner}" if (owner := _business_of(one)) else "")),
            plain("\n".join(f"{it.merchant_reference} of {it.business_id} ({it.status})" for it in candidates) or "–"),
        )  # fmt: skip
    show_table(table, "[green]✓[/] Nothing is in suspense.")
    if len(found) > limit:
        out.print(f"[dim]There are more than these {limit}; --limit shows up to {SHOWN_MAX}.[/]")


@suspense.command()
@_id
@reports_errors
def show(receipt_id: int) -> None:
    """Show money in suspense as JSON, with all payments that it may be for; after that, what was decided about it."""

    async def run(deps: PaymentDeps, _: Clock) -> dict[str, object] | None:
        async with deps.db.connection() as tx:
            if one := await store.find_open(tx, receipt_id):
                return _record(one, await list_candidates(tx, one))
            decided = await store.find_decision(tx, receipt_id)
            return _decision_record(decided) if decided else None

    found = with_payment_deps(run)
    if found is None:
        fail(f"Nothing in suspense has the number {receipt_id}; `tidegate suspense list` shows what is.")
    print_record(found)


def _decision_record(made: SuspenseDecision) -> dict[str, object]:
    return {
        "id": made.receipt_id,
        "amount": made.amount.major if made.amount else None,
        "currency": made.amount.currency if made.amount else None,
        "decision": made.decision,
        "businessId": made.given_to,
        "subject": made.subject,
        "note": made.note,
        "decidedBy": made.decided_by,
        "decidedAt": to_iso(made.decided_at),
    }


def _record(one: SuspenseReceipt, candidates: list[TransferCandidate]) -> dict[str, object]:
    return {
        "id": one.id,
        "receivedAt": to_iso(one.received_at),
        "amount": one.amount.major,
        "currency": one.amount.currency,
        "payer": one.payer.get("name"),
        "narration": one.remittance,
        "accountNumber": one.account_number,
        "reason": one.reason,
        "rail": one.rail,
        "transactionId": one.transaction_id,
        "businessId": _business_of(one),
        "candidates": [
            {"businessId": it.business_id, "merchantReference": it.merchant_reference, "payCode": it.pay_code,
             "code": it.code, "status": it.status}
            for it in candidates
        ],
    }  # fmt: skip


def _business_of(one: SuspenseReceipt) -> str | None:
    """None when the account is unknown."""
    return None if one.business_id == PLATFORM_BUSINESS_ID else one.business_id


@suspense.command()
@_id
@click.option("--business", "business_id", metavar="ID", required=True, help="Id of the business that receives it.")
@click.option("--payment", metavar="REFERENCE", help="Its payment: pay code or merchant reference.")
@click.option("--account", metavar="ID", help="Its virtual account.")
@_note
@by_option
@as_json_option
@reports_errors
def assign(
    *, receipt_id: int, business_id: str, payment: str | None, account: str | None, note: str, by: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Assign money in suspense to a payment or a virtual account. It is checked and booked as if it had arrived there.
    Refused when the rules would return it.
    """
    if (payment is None) == (account is None):
        fail("Give one of --payment and --account.")
    to = AssignArguments(business_id=business_id, payment=payment, account_id=account)
    _decided("suspense.assign", receipt_id, note=note, by=by, as_json=as_json, arguments=to)


@suspense.command(name="return")
@_id
@_note
@by_option
@as_json_option
@reports_errors
def return_(receipt_id: int, note: str, by: str | None, as_json: bool) -> None:
    """Return money in suspense to its payer, by the rail that it came by. The payer is given the note as the reason."""
    _decided("suspense.return", receipt_id, note=note, by=by, as_json=as_json)


@suspense.command()
@_id
@_note
@by_option
@as_json_option
@reports_errors
def close(receipt_id: int, note: str, by: str | None, as_json: bool) -> None:
    """Close money in suspense that you have settled outside, such as by hand at the bank. It leaves the books, and no
    money moves.
    """
    _decided("suspense.close", receipt_id, note=note, by=by, as_json=as_json)


def _decided(
    command: str, receipt_id: int, *, note: str, by: str | None, as_json: bool, arguments: msgspec.Struct = NOTHING
) -> None:
    said = remark_in("note", note)

    async def find(deps: StaffApprovalDeps) -> StaffCommandRequest:
        async with deps.db.connection() as tx:
            receipt = await store.find_open(tx, receipt_id)
        # What was decided already is named by the command itself.
        business_id = receipt.business_id if receipt else PLATFORM_BUSINESS_ID
        return StaffCommandRequest(
            command=command, business_id=business_id, subject=str(receipt_id), reason=said, arguments=arguments
        )

    made = act_or_propose(find, by=by, as_json=as_json)
    assert isinstance(made, SuspenseDecision)
    if as_json:
        print_record(_decision_record(made))
        return
    out.print(f"[green]✓[/] {made.amount} was {plain(str(made))}.", soft_wrap=True)
