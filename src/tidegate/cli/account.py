"""`tidegate account`: the operator's decisions on virtual accounts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

import click
import msgspec
from rich.table import Table

from tidegate.account import commands, question, question_store, store, wire
from tidegate.account.field import end_in
from tidegate.account.model import Account, AccountStatus
from tidegate.account.name_rule import NameCheck, NameVerdict, check_name
from tidegate.account.question_store import AccountQuestion
from tidegate.audit.model import OPERATOR
from tidegate.cli.account_document import documents
from tidegate.cli.console import as_json_option, fail, out, plain, print_record, reports_errors, show_table
from tidegate.cli.merchant_webhooks import running_settings
from tidegate.cli.operator import ago, any_business_option, limit_option, with_payment_deps
from tidegate.cli.proposal import act_or_propose, by_option, why_option
from tidegate.core.clock import Clock
from tidegate.infra.http.operation import encode
from tidegate.infra.timestamp import to_iso
from tidegate.merchant import commands as merchants
from tidegate.merchant.field import remark_in
from tidegate.rail.deps import PaymentDeps
from tidegate.staff_approval.arguments import ApprovalArguments
from tidegate.staff_approval.commands import NOTHING, StaffCommandRequest
from tidegate.staff_approval.model import StaffApprovalDeps

# 1 and 2 mean that the command itself failed.
EXIT_CODES = {NameVerdict.EXACT: 0, NameVerdict.CLOSE: 3, NameVerdict.DIFFERENT: 4, NameVerdict.MISSING: 3}
_VERDICTS = {
    NameVerdict.EXACT: "[bold green]exact[/]: it would be credited",
    NameVerdict.CLOSE: "[bold yellow]close[/]: it would be held for review",
    NameVerdict.DIFFERENT: "[bold red]different[/]: it would be returned",
    NameVerdict.MISSING: "[bold yellow]missing[/]: it would be held for review",
}
_COLOURS = {
    AccountStatus.PENDING: "yellow",
    AccountStatus.APPROVED: "green",
    AccountStatus.DECLINED: "red",
    AccountStatus.EXPIRED: "red",
    AccountStatus.CLOSED: "red",
}

AccountCommand = Callable[[PaymentDeps, datetime], Awaitable[Account]]

reason_option = click.option(
    "--reason", required=True, metavar="TEXT", help="The reason; shown to the merchant in the account's record."
)


@click.group()
def account() -> None:
    """Virtual accounts: ask about them, approve, decline, suspend or close them, and test the name rule."""


account.add_command(documents)


@account.command(name="list")
@any_business_option
@click.option("--status", type=click.Choice([status.value for status in AccountStatus]))
@limit_option
@as_json_option
@reports_errors
def list_(business_id: str | None, status: str | None, limit: int, as_json: bool) -> None:
    """List accounts, the longest waiting first."""

    async def run(deps: PaymentDeps, clock: Clock) -> tuple[list[wire.AccountRecord], list[Account], Clock]:
        wanted = AccountStatus(status) if status else None
        async with deps.db.connection() as tx:
            found = await store.list_all(tx, business_id=business_id, status=wanted, limit=limit)
        records = [await _record(deps, one, clock.now_of(one.business_id)) for one in found] if as_json else []
        return records, found, clock

    records, found, clock = with_payment_deps(run)
    if as_json:
        print_record(records)
        return
    table = Table()
    for heading in ("Account, business", "Holder", "Number", "Status", "Since"):
        # Not wrapped: the id is copied into other commands.
        table.add_column(heading, no_wrap=heading == "Account, business", overflow="fold")
    for one in found:
        number, now = one.details.account_number if one.details else "–", clock.now_of(one.business_id)
        table.add_row(
            f"{one.id}\n[dim]{one.business_id}[/]", plain(one.holder), f"{number}\n[dim]{one.currency}[/]",
            _state_of(one, now), ago(one.created_at, now),
        )  # fmt: skip
    show_table(table, "No accounts. Merchants request one with POST /profile/virtual-accounts/requests.")


@account.command()
@click.argument("account_id", metavar="ID")
@as_json_option
@reports_errors
def show(account_id: str, as_json: bool) -> None:
    """Show an account: its details, the merchant's request, and the documents."""
    _show_account(account_id, as_json)


def _show_account(account_id: str, as_json: bool) -> None:
    async def run(deps: PaymentDeps, _: datetime) -> Account:
        return await commands.get_unscoped(deps.db, account_id)

    _act_and_show(run, account_id, as_json)


@account.command()
@click.argument("account_id", metavar="ID")
@click.option("--expires-at", metavar="DATE", help="The last day, or a time; permanent by default.")
@why_option
@by_option
@as_json_option
@reports_errors
def approve(account_id: str, expires_at: str | None, why: str | None, by: str | None, as_json: bool) -> None:
    """Approve a pending account. The rail opens it, and it takes money from then on."""

    def arguments(now: datetime) -> ApprovalArguments:
        return ApprovalArguments(expires_at=_end(expires_at, now) if expires_at else None)

    _propose_and_show("account.approve", account_id, why=why, by=by, as_json=as_json, arguments=arguments)


@account.command()
@click.argument("account_id", metavar="ID")
@click.argument("text", metavar="QUESTION")
@reports_errors
def ask(account_id: str, text: str) -> None:
    """Ask the merchant about a pending account: mailed, and answered in the dashboard."""

    async def run(deps: PaymentDeps, clock: Clock) -> None:
        now = clock.now_of((await commands.get_unscoped(deps.db, account_id)).business_id)
        await question.ask(deps.db, running_settings().base_url, account_id, text, by=OPERATOR, now=now)

    with_payment_deps(run)
    out.print("[green]✓[/] asked; `tidegate account show` prints the answer.")


@account.command(name="take-back")
@click.argument("account_id", metavar="ID")
@reports_errors
def take_back(account_id: str) -> None:
    """Take back the question that the merchant has not answered yet."""

    async def run(deps: PaymentDeps, clock: Clock) -> None:
        now = clock.now_of((await commands.get_unscoped(deps.db, account_id)).business_id)
        await question.take_back(
            deps.db, running_settings().base_url, account_id, question_id=None, by=OPERATOR, now=now
        )

    with_payment_deps(run)
    out.print("[green]✓[/] taken back.")


@account.command()
@click.argument("account_id", metavar="ID")
@reason_option
@as_json_option
@reports_errors
def decline(account_id: str, reason: str, as_json: bool) -> None:
    """Decline a pending account. This is final."""
    why = remark_in("reason", reason)

    async def run(deps: PaymentDeps, now: datetime) -> Account:
        return await commands.decline(deps.db, account_id, why, by=OPERATOR, now=now)

    _act_and_show(run, account_id, as_json)


@account.command()
@click.argument("account_id", metavar="ID")
@reason_option
@as_json_option
@reports_errors
def suspend(account_id: str, reason: str, as_json: bool) -> None:
    """Suspend an account. Money that arrives meanwhile is returned."""
    why = remark_in("reason", reason)

    async def run(deps: PaymentDeps, now: datetime) -> Account:
        return await commands.suspend(deps.db, account_id, why, by=OPERATOR, now=now)

    _act_and_show(run, account_id, as_json)


@account.command()
@click.argument("account_id", metavar="ID")
@why_option
@by_option
@as_json_option
@reports_errors
def reinstate(account_id: str, why: str | None, by: str | None, as_json: bool) -> None:
    """Reinstate a suspended account. It takes money again."""
    _propose_and_show("account.reinstate", account_id, why=why, by=by, as_json=as_json, arguments=lambda _: NOTHING)


@account.command()
@click.argument("account_id", metavar="ID")
@reason_option
@as_json_option
@reports_errors
def close(account_id: str, reason: str, as_json: bool) -> None:
    """Close an account. This is final; money that arrives afterwards is returned."""
    why = remark_in("reason", reason)

    async def run(deps: PaymentDeps, now: datetime) -> Account:
        return await commands.close(deps.db, account_id, why, by=OPERATOR, now=now)

    _act_and_show(run, account_id, as_json)


@account.command()
@click.argument("typed")
@click.argument("holder")
@click.option("--company", is_flag=True, help="Treat the holder as a company even without a legal form in its name.")
@as_json_option
@click.pass_context
def match(context: click.Context, typed: str, holder: str, company: bool, as_json: bool) -> None:
    """Test the name rule: would money for TYPED be credited to HOLDER's account?

    Exits with 0 when the names are exact, 3 when close or missing, 4 when different. Needs no database.
    """
    check = check_name(payee_name=typed, holder=holder, is_company=company)
    if as_json:
        print_record(msgspec.to_builtins(check))
    else:
        show_name_check(check, _VERDICTS[check.verdict])
    context.exit(EXIT_CODES[check.verdict])


def show_name_check(check: NameCheck, verdict: str) -> None:
    out.print(verdict)
    out.print(plain(check.reason), soft_wrap=True)
    for number, step in enumerate(check.steps, start=1):
        out.print(f"[dim]{number:>3}[/] {plain(step)}", soft_wrap=True)


def _end(text: str, now: datetime) -> datetime:
    try:
        return end_in(text, now)
    except ValueError as error:
        fail(f"--expires-at {error}.")


def _propose_and_show(
    command: str, account_id: str, *, why: str | None, by: str | None, as_json: bool,
    arguments: Callable[[datetime], msgspec.Struct],
) -> None:  # fmt: skip
    async def find(deps: StaffApprovalDeps) -> StaffCommandRequest:
        business_id = (await commands.get_unscoped(deps.db, account_id)).business_id
        now = deps.clock.now_of(business_id)
        return StaffCommandRequest(
            command=command, business_id=business_id, subject=account_id, reason=why, arguments=arguments(now)
        )

    act_or_propose(find, by=by, as_json=as_json)
    _show_account(account_id, as_json)


def _act_and_show(act: AccountCommand, account_id: str, as_json: bool) -> None:
    async def run(deps: PaymentDeps, clock: Clock) -> tuple[wire.AccountRecord, str, list[AccountQuestion]]:
        now = clock.now_of((await commands.get_unscoped(deps.db, account_id)).business_id)
        after = await act(deps, now)
        async with deps.db.connection() as tx:
            asked = await question_store.list_of(tx, after.business_id, after.id)
        return await _record(deps, after, now), _state_of(after, now), asked

    record, state, asked = with_payment_deps(run)
    if as_json:
        print_record(
            {
                **msgspec.json.decode(encode(record), type=dict[str, msgspec.Raw]),
                "questions": [_question_json(one) for one in asked],
            }
        )
        return
    _show(record, state)
    for one in asked:
        out.print(f"[dim]{'asked':<12}[/] {plain(one.question)}", soft_wrap=True)
        waits = "[yellow]not yet[/]" if one.is_open else "[dim]taken back[/]"
        out.print(f"[dim]{'answer':<12}[/] {plain(one.answer) if one.answer else waits}", soft_wrap=True)


def _question_json(one: AccountQuestion) -> dict[str, str | None]:
    return {
        "question": one.question,
        "askedBy": one.asked_by,
        "askedAt": to_iso(one.asked_at),
        "answer": one.answer,
        "answeredBy": one.answered_by,
        "answeredAt": to_iso(one.answered_at) if one.answered_at else None,
        "takenBackBy": one.taken_back_by,
        "takenBackAt": to_iso(one.taken_back_at) if one.taken_back_at else None,
    }


async def _record(deps: PaymentDeps, found: Account, now: datetime) -> wire.AccountRecord:
    return wire.record_of(found, await merchants.get(deps.db, found.business_id), now=now)


def _show(record: wire.AccountRecord, state: str) -> None:
    bank = record.account_information
    facts = {
        "account": record.id,
        "business": f"{record.business.name}, {record.business.email}",
        "currency": f"{record.currency}, settles in {record.settlement_currency}",
        "number": bank.account_number if bank else None,
        "bank": f"{bank.bank_name}, {bank.other_info.bank_swift_code}, {bank.bank_code}" if bank else None,
        "name": bank.account_name if bank else None,
        "reason": record.reason,
        "reference": record.merchant_reference,
        "expires at": record.expires_at,
        "requested": record.created_at,
        "KYC": bytes(record.kyc_information).decode(),
        "volume": record.monthly_volume,
        "flow": record.payment_flow_description,
    }
    out.print(f"[dim]{'status':<12}[/] {state}")
    for name, value in facts.items():
        if value is not None:
            out.print(f"[dim]{name:<12}[/] {plain(value)}", soft_wrap=True)
    for document in (*record.means_of_id, *record.bank_statement, *record.utility_bill, *record.attachments):
        out.print(f"[dim]{'document':<12}[/] {plain(document.name)}  {plain(document.url)}", soft_wrap=True)


def _state_of(found: Account, now: datetime) -> str:
    status = AccountStatus.EXPIRED if found.has_expired(now) else found.status
    if found.is_suspended and status is AccountStatus.APPROVED:
        return "[yellow]suspended[/]"
    return f"[{_COLOURS[status]}]{status}[/]"
