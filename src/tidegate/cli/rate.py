"""`tidegate rate`: exchange rates for inflows."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from tidegate.cli.console import as_json_option, fail, out, plain, print_record, reports_errors, show_table
from tidegate.cli.operator import ago, number_in, with_payment_deps
from tidegate.cli.proposal import act_or_propose, by_option, why_option
from tidegate.collection import rate_wire, set_rate
from tidegate.collection.rate import Rate, is_far_off
from tidegate.core.clock import Clock
from tidegate.core.money import Currency
from tidegate.infra.http.read import read
from tidegate.infra.timestamp import to_iso
from tidegate.ledger.model import PLATFORM_BUSINESS_ID
from tidegate.rail.bankfiles.model import FileRefused
from tidegate.rail.deps import PaymentDeps
from tidegate.staff_approval.arguments import ImportArguments, RateArguments
from tidegate.staff_approval.commands import StaffCommandRequest
from tidegate.staff_approval.model import StaffApprovalDeps
from tidegate.staff_approval.rate_file import SOURCE, arguments_in, arguments_of, with_last_spreads

_spread_option = click.option(
    "--spread-percent",
    metavar="PERCENT",
    help="Percentage kept on conversion, such as 0.5. By default that of the pair's last rate; 0 where it has none.",
)
_currency = click.Choice([currency.value for currency in Currency])


@click.group()
def rate() -> None:
    """Exchange rates, for accounts that settle in another currency."""


@rate.command(name="set")
@click.argument("base", type=_currency)
@click.argument("quote", type=_currency)
@click.argument("rate", metavar="RATE")
@click.option("--source", required=True, help="The source of the rate, such as ecb.")
@_spread_option
@click.option("--quoted-at", metavar="TIME", help="Time of the quote, such as 2026-11-15T09:30:00Z; now by default.")
@click.option("--yes", "is_sure", is_flag=True, help="Set it even if it is more than 10 % off the pair's last rate.")
@why_option
@by_option
@as_json_option
@reports_errors
def set_(base: str, quote: str, as_json: bool, **given: Any) -> None:
    """Set the price of one BASE in QUOTE. The newest rate is used until it expires."""
    asked = {
        "base": base,
        "quote": quote,
        "rate": _number(given["rate"]),
        "source": given["source"],
        "spreadPercent": _number(given["spread_percent"]),
        "quotedAt": given["quoted_at"],
    }
    # As an API request, so that the same rules apply to both.
    request = read({name: value for name, value in asked.items() if value is not None}, rate_wire.SetRate)

    async def find(deps: StaffApprovalDeps) -> StaffCommandRequest:
        made = arguments_of(rate_wire.rate_from(request, source=given["source"], now=deps.clock.now()))
        if not given["is_sure"]:
            await _refuse_far_off(deps, made)
        if given["spread_percent"] is None:
            [made] = await with_last_spreads(deps.db, [made])
        return StaffCommandRequest(
            command="rate.set", business_id=PLATFORM_BUSINESS_ID, subject=f"{made.base}/{made.quote}",
            reason=given["why"], arguments=made,
        )  # fmt: skip

    made = act_or_propose(find, by=given["by"], as_json=as_json)
    assert isinstance(made, Rate)

    async def newest(deps: PaymentDeps, _: Clock) -> tuple[Rate, timedelta]:
        used = [one for one in await set_rate.list_rates(deps.db) if (one.base, one.quote) == (made.base, made.quote)]
        return used[0], deps.inflow_terms.rate_lasts

    used, rate_lasts = with_payment_deps(newest)
    if as_json:
        print_record(rate_wire.record_of(made, rate_lasts=rate_lasts))
        return
    out.print(f"[green]✓[/] 1 {made.base} is worth {made.rate} {made.quote}.")
    if used != made:
        out.print(f"[yellow]A newer quote is used: {used.rate}, of {plain(used.source)}.[/]")


async def _refuse_far_off(deps: StaffApprovalDeps, made: RateArguments) -> None:
    """A slip of the decimal point would convert money at once."""
    last = [one for one in await set_rate.list_rates(deps.db) if (one.base, one.quote) == (made.base, made.quote)]
    if last and is_far_off(made.rate, last[0]):
        fail(
            f"{made.rate:f} is more than 10 % off the last rate of {made.base} in {made.quote}, {last[0].rate:f}. "
            "Add --yes if it is right."
        )


@rate.command(name="import")
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE")
@_spread_option
@why_option
@by_option
@reports_errors
def import_(path: Path, spread_percent: str | None, why: str | None, by: str | None) -> None:
    """Import the rates of the European Central Bank: eurofxref-daily.xml. They are of one day: set
    TIDEGATE_RATE_LASTS_MINUTES so that they last until the next file, over a weekend too.
    """

    async def find(deps: StaffApprovalDeps) -> StaffCommandRequest:
        with path.open("rb") as file:
            try:
                rates = arguments_in(file, spread_percent=_number(spread_percent), now=deps.clock.now())
            except FileRefused as refused:
                fail(f"{path.name}: {refused}.")
        if spread_percent is None:
            rates = ImportArguments(rates=await with_last_spreads(deps.db, rates.rates))
        return StaffCommandRequest(
            command="rate.import", business_id=PLATFORM_BUSINESS_ID, subject=SOURCE, reason=why, arguments=rates
        )

    made = act_or_propose(find, by=by)
    assert isinstance(made, list)
    for one in made:
        out.print(f"[green]✓[/] 1 {one.base} is worth {one.rate} {one.quote}, quoted {to_iso(one.quoted_at)}.")


@rate.command(name="list")
@as_json_option
@reports_errors
def list_(as_json: bool) -> None:
    """List the newest rate of each pair, and whether it is still in use."""

    async def run(deps: PaymentDeps, clock: Clock) -> tuple[list[Rate], timedelta, datetime]:
        return await set_rate.list_rates(deps.db), deps.inflow_terms.rate_lasts, clock.now()

    rates, rate_lasts, now = with_payment_deps(run)
    if as_json:
        print_record([rate_wire.record_of(one, rate_lasts=rate_lasts) for one in rates])
        return
    table = Table()
    for heading in ("Pair", "Rate", "Spread", "Source", "Quoted", "State"):
        table.add_column(heading)
    for one in rates:
        is_stale = now - one.quoted_at > rate_lasts
        table.add_row(
            f"{one.base}/{one.quote}",
            str(one.rate),
            f"{Decimal(one.spread_basis_points) / 100} %",
            plain(one.source),
            ago(one.quoted_at, now),
            "[red]too old: inflows are held[/]" if is_stale else "[green]used[/]",
        )
    show_table(table, "No rate yet: `tidegate rate set EUR USD 1.0842 --source ecb` sets one.")


def _number(text: str | None) -> Decimal | str | None:
    """Text that is not a number is returned as it is, and refused by field name later."""
    return None if text is None else number_in(text)
