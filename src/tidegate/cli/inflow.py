"""`tidegate inflow`: inflows held for review."""

from __future__ import annotations

import click
import msgspec
from rich.table import Table

from tidegate.account.name_rule import NameVerdict
from tidegate.cli.account import show_name_check
from tidegate.cli.console import as_json_option, out, plain, print_record, reports_errors, show_table
from tidegate.cli.operator import ago, any_business_option, limit_option, with_payment_deps
from tidegate.cli.proposal import act_or_propose, by_option
from tidegate.collection import review, review_store, wire
from tidegate.collection.decider import decider_words
from tidegate.collection.model import Collection, CollectionStatus
from tidegate.collection.reason import RETURN_CHOICES
from tidegate.collection.rule import rule_of
from tidegate.core.clock import Clock
from tidegate.infra.timestamp import to_iso
from tidegate.merchant.field import remark_in
from tidegate.rail.deps import InflowTerms, PaymentDeps
from tidegate.staff import store as staff_store
from tidegate.staff_approval.arguments import ReturnArguments
from tidegate.staff_approval.commands import NOTHING, StaffCommandRequest
from tidegate.staff_approval.model import StaffApprovalDeps

_COLOURS = {
    CollectionStatus.PENDING: "yellow",
    CollectionStatus.SUCCESSFUL: "green",
    CollectionStatus.REVERSED: "red",
    CollectionStatus.FAILED: "red",
}
_VERDICT_COLOURS = {
    NameVerdict.EXACT: "green",
    NameVerdict.CLOSE: "yellow",
    NameVerdict.DIFFERENT: "red",
    NameVerdict.MISSING: "yellow",
}

note_option = click.option("--note", metavar="TEXT", help="The reason; stored with the inflow and in the audit trail.")


@click.group()
def inflow() -> None:
    """Inflows held for review: list, show, credit or return them."""


@inflow.command(name="list")
@any_business_option
@limit_option
@as_json_option
@reports_errors
def list_(business_id: str | None, limit: int, as_json: bool) -> None:
    """List held inflows, the longest waiting first."""

    async def run(deps: PaymentDeps, clock: Clock) -> tuple[list[Collection], Clock]:
        async with deps.db.connection() as tx:
            return await review_store.list_held(tx, business_id=business_id, limit=limit), clock

    held, clock = with_payment_deps(run)
    if as_json:
        print_record([wire.record_of(one) for one in held])
        return
    table = Table()
    for heading in ("Inflow, business", "Amount", "Typed, holder", "Why", "Since", "Held until"):
        # Not wrapped: the reference is copied into other commands.
        table.add_column(heading, no_wrap=heading in ("Inflow, business", "Amount"), overflow="fold")
    for one in held:
        check, now = one.name_check, clock.now_of(one.business_id)
        table.add_row(
            f"{one.reference}\n[dim]{one.business_id}[/]", str(one.amount),
            f"{plain(check.typed or '–')}\n[dim]{plain(check.holder)}[/]",
            one.reason.sentence if one.reason else "–", ago(one.created_at, now), _goes_back(one),
        )  # fmt: skip
    show_table(table, "[green]✓[/] Nothing is held.")


@inflow.command()
@click.argument("reference")
@as_json_option
@reports_errors
def show(reference: str, as_json: bool) -> None:
    """Show an inflow, and the steps of its name check."""

    async def run(deps: PaymentDeps, _: Clock) -> tuple[Collection, InflowTerms, str | None]:
        found = await review.get_unscoped(deps, reference)
        async with deps.db.connection() as tx:
            decisions, names = await review_store.list_decisions(tx, [found]), await staff_store.list_names(tx)
        is_held = found.status is CollectionStatus.PENDING
        by = None if is_held else decider_words(decisions.get(found.reference), names)
        return found, deps.inflow_terms, by

    found, terms, by = with_payment_deps(run)
    if as_json:
        print_record(wire.record_of(found))
        return
    _show(found, terms, by)


@inflow.command()
@click.argument("reference")
@note_option
@by_option
@as_json_option
@reports_errors
def credit(reference: str, note: str | None, by: str | None, as_json: bool) -> None:
    """Credit a held inflow to the merchant's wallet, less the fee. The merchant gets a webhook."""
    after = _decide("inflow.credit", reference, note, by=by, as_json=as_json)
    if as_json:
        print_record(wire.record_of(after))
        return
    assert after.credited is not None
    out.print(f"[green]✓[/] {after.credited.net} credited, after a fee of {after.credited.fee.total}.")


@inflow.command(name="return")
@click.argument("reference")
@click.option(
    "--reason", type=click.Choice([one.value for one in RETURN_CHOICES]), default=RETURN_CHOICES[0].value,
    show_default=True, help="What the payer's bank and the merchant are told.",
)  # fmt: skip
@note_option
@by_option
@as_json_option
@reports_errors
def return_(reference: str, reason: str, note: str | None, by: str | None, as_json: bool) -> None:
    """Return a held inflow to its payer."""
    after = _decide("inflow.return", reference, note, by=by, as_json=as_json, arguments=ReturnArguments.of(reason))
    if as_json:
        print_record(wire.record_of(after))
        return
    assert after.sent_back is not None
    out.print(
        f"[green]✓[/] {after.amount} is being returned as {after.sent_back.reference}; the rail confirms it later."
    )


def _decide(
    command: str, reference: str, note: str | None, *, by: str | None, as_json: bool,
    arguments: msgspec.Struct = NOTHING,
) -> Collection:  # fmt: skip
    checked = None if note is None else remark_in("note", note)

    async def find(deps: StaffApprovalDeps) -> StaffCommandRequest:
        held = await review.get_unscoped(deps.payment, reference)
        return StaffCommandRequest(
            command=command, business_id=held.business_id, subject=reference, reason=checked, arguments=arguments
        )

    after = act_or_propose(find, by=by, as_json=as_json)
    assert isinstance(after, Collection)
    return after


def _goes_back(held: Collection) -> str:
    return f"{held.held_until:%Y-%m-%d %H:%M} UTC" if held.held_until else "–"


def _show(found: Collection, terms: InflowTerms, by: str | None) -> None:
    credited, sent_back = found.credited, found.sent_back
    exchanged = credited.applied_rate if credited else None
    facts = {
        "inflow": found.reference,
        "business": found.business_id,
        "account": found.account_id,
        "amount": str(found.amount),
        "credited": f"{credited.net}, after a fee of {credited.fee.total}" if credited else None,
        "exchanged": f"{credited.gross} at {exchanged.rate} of {exchanged.source}, {to_iso(exchanged.quoted_at)}"
        if credited and exchanged
        else None,
        "why": found.reason.sentence if found.reason else None,
        "held for": "; ".join(reason.sentence for reason in found.held_for) or None,
        "rule": "; ".join(rule for reason in found.held_for if (rule := rule_of(reason, terms))) or None,
        "held until": _goes_back(found) if found.status is CollectionStatus.PENDING else None,
        "decided by": by,
        "note": found.note,
        "refunded": str(found.refunded) if found.refunded and found.refunded.minor else None,
        "payer": " ".join(
            part for part in (found.payer.name, found.payer.account_number, found.payer.bank_name) if part
        ),
        "remittance": found.remittance,
        "bank's id": f"{found.transaction_id}, by {found.scheme} on {found.rail}",
        "value date": to_iso(found.valued_at),
        "arrived at": to_iso(found.created_at),
        "returned": f"{sent_back.reference}, requested {to_iso(sent_back.asked_at)}" if sent_back else None,
        "confirmed": to_iso(sent_back.confirmed_at) if sent_back and sent_back.confirmed_at else None,
    }
    out.print(f"[dim]{'status':<12}[/] [{_COLOURS[found.status]}]{found.status}[/]")
    for name, value in facts.items():
        if value is not None:
            out.print(f"[dim]{name:<12}[/] {plain(value)}", soft_wrap=True)
    check = found.name_check
    out.print()
    show_name_check(check, f"[bold]Names[/] [{_VERDICT_COLOURS[check.verdict]}]{check.verdict}[/]")
