"""Rates: those in use, their history, and proposals of new ones."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation

import msgspec

from tidegate.collection import set_rate
from tidegate.collection.rate import Rate, is_far_off
from tidegate.collection.rate_wire import RateNumber, SpreadPercent
from tidegate.collection.rule import rate_rule
from tidegate.console import work_store
from tidegate.console.proposing import propose
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, Problem, Refusal
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.core.money import Currency
from tidegate.dashboard.signed_in import Upload
from tidegate.infra.http.query import Moment
from tidegate.infra.page.response import Html
from tidegate.rail.bankfiles.ecb import FILE_BYTES_MAX
from tidegate.rail.bankfiles.model import FileRefused
from tidegate.rail.deps import PaymentDeps
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import commands as staff_approvals
from tidegate.staff_approval import rate_file
from tidegate.staff_approval.arguments import ImportArguments, RateArguments, percent_of

PAGE = 100
# With room for the other fields.
SOURCE_CHARS_MAX = 40
RATE_CHARS_MAX = 30
# Not 1e3 or 1_000, which are read wrongly.
_PLAIN = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True)
class RatePages:
    shell: ConsoleShell
    deps: PaymentDeps

    async def show_rates(self, visitor: ConsoleVisitor) -> Html:
        return await self._rates(visitor)

    async def _rates(self, visitor: ConsoleVisitor, wrong: Refusal | None = None) -> Html:
        newest = await set_rate.list_rates(self.shell.db)
        async with self.shell.db.connection() as tx:
            history = await work_store.list_rates(tx, PLATFORM_BUSINESS_ID, limit=PAGE)
        terms, asked = self.deps.inflow_terms, visitor.form if wrong else visitor.request.query
        pair = [one for one in newest if (one.base, one.quote) == (asked.get("base"), asked.get("quote"))]
        return self.shell.page(
            visitor, "rates.html", title="Rates", section="Rates", history=history, wrong=wrong,
            rates=[(one, visitor.now - one.quoted_at <= terms.rate_lasts) for one in newest], rule=rate_rule(terms),
            currencies=[one.value for one in Currency], status=422 if wrong else 200, percent_of=percent_of,
            now=pair[0] if pair else None, asked=asked, is_import=wrong is not None and "base" not in visitor.form,
            asks_again=isinstance(wrong, Invalid) and any(one.field == "again" for one in wrong.problems),
        )  # fmt: skip

    async def decide_rate(self, visitor: ConsoleVisitor) -> Html:
        try:
            newest = {(one.base, one.quote): one for one in await set_rate.list_rates(self.shell.db)}
            rate = rate_in(visitor, newest)
            before = newest.get((rate.base, rate.quote))
            _refuse_far_off(rate.rate, before, visitor.form.get("again", ""))
            pair = f"{rate.base}/{rate.quote}"
            async with self.shell.db.connection() as tx:
                version = await staff_approvals.version_of(tx, "rate.set", PLATFORM_BUSINESS_ID, pair)
            return await propose(
                self.shell, visitor, "rate.set", PLATFORM_BUSINESS_ID, pair, arguments=rate, version=version
            )
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._rates(visitor, wrong)

    async def import_rates(self, visitor: ConsoleVisitor) -> Html:
        file = visitor.form.files.get("file")
        try:
            if file is None:
                raise Invalid(Problem("file", "Choose eurofxref-daily.xml."))
            newest = {(one.base, one.quote): one for one in await set_rate.list_rates(self.shell.db)}
            rates = imported_rates(file, spread_in(visitor), newest, now=visitor.now)
            async with self.shell.db.connection() as tx:
                version = await staff_approvals.version_of(tx, "rate.import", PLATFORM_BUSINESS_ID, rate_file.SOURCE)
            return await propose(
                self.shell, visitor, "rate.import", PLATFORM_BUSINESS_ID, rate_file.SOURCE, arguments=rates,
                version=version,
            )  # fmt: skip
        except FileRefused as refused:
            return await self._rates(visitor, Invalid(Problem("file", f"The file cannot be read: {refused}.")))
        except Invalid as wrong:
            return await self._rates(visitor, _of_file(wrong))
        except (ChangedElsewhere, Conflict) as wrong:
            return await self._rates(visitor, wrong)

    def routes(self) -> list[ConsoleRoute]:
        return [
            ConsoleRoute("GET", "/rates", "showRates", StaffPermission.SEE, self.show_rates),
            ConsoleRoute("POST", "/rates", "proposeRate", StaffPermission.PROPOSE, self.decide_rate),
            ConsoleRoute(
                "POST",
                "/rates/import",
                "proposeRates",
                StaffPermission.PROPOSE,
                self.import_rates,
                upload=Upload("file", FILE_BYTES_MAX),
                refused=self._rates,
            ),
        ]


def _of_file(wrong: Invalid) -> Invalid:
    """Two forms of the page have fields of these names."""
    names = {"spread": "file-spread", "why": "file-why"}
    return Invalid(*(Problem(names.get(one.field, one.field), one.message) for one in wrong.problems))


def rate_in(visitor: ConsoleVisitor, newest: Mapping[tuple[Currency, Currency], Rate]) -> RateArguments:
    form = visitor.form
    try:
        base, quote = Currency(form.get("base", "")), Currency(form.get("quote", ""))
    except ValueError:
        raise Invalid(Problem("base", "Choose two currencies of the list.")) from None
    if base is quote:
        raise Invalid(Problem("quote", "Choose two different currencies."))
    before = newest.get((base, quote))
    source = " ".join(form.get("source", "").split())
    if not 0 < len(source) <= SOURCE_CHARS_MAX:
        raise Invalid(Problem("source", f"Name the source of the rate, in at most {SOURCE_CHARS_MAX} characters."))
    return RateArguments(
        base=base, quote=quote, source=source, rate=_decimal(form.get("rate", ""), "rate", RateNumber),
        spread_basis_points=_spread(spread_in(visitor), before, base, quote),
        quoted_at=_quoted_at(form.get("quoted_at", "").strip(), visitor.now),
    )  # fmt: skip


def imported_rates(
    file: bytes, percent: Decimal | None, newest: Mapping[tuple[Currency, Currency], Rate], *, now: datetime
) -> ImportArguments:
    """With the spread that was typed; else each pair with its own."""
    found = rate_file.arguments_in(io.BytesIO(file), spread_percent=percent, now=now)
    if percent is not None:
        return found
    return ImportArguments(
        rates=[
            msgspec.structs.replace(
                one, spread_basis_points=_spread(None, newest.get((one.base, one.quote)), one.base, one.quote)
            )
            for one in found.rates
        ]
    )


def _quoted_at(text: str, now: datetime) -> datetime | None:
    try:
        quoted_at = Moment.parse(text).start if text else None
    except ValueError as error:
        raise Invalid(Problem("quoted_at", f"The time of the quote {error}.")) from None
    if quoted_at is not None and quoted_at > now:
        raise Invalid(Problem("quoted_at", "The time of the quote must not be in the future."))
    return quoted_at


def spread_in(visitor: ConsoleVisitor) -> Decimal | None:
    """None where nothing was typed."""
    typed = visitor.form.get("spread", "").strip()
    return _decimal(typed, "spread", SpreadPercent) if typed else None


def _spread(percent: Decimal | None, before: Rate | None, base: Currency, quote: Currency) -> int:
    """Money is kept by it, so none is supposed: what was not typed stays as it is."""
    if percent is not None:
        return int(percent * 100)
    if before is None:
        raise Invalid(Problem("spread", f"{base}/{quote} has no spread yet. Enter it in percent, or 0 for none."))
    return before.spread_basis_points


def _decimal(text: str, field: str, check: type[RateNumber] | type[SpreadPercent]) -> Decimal:
    if len(text) > RATE_CHARS_MAX or not _PLAIN.fullmatch(text):
        like = "0.5" if check is SpreadPercent else "1652.5"
        raise Invalid(Problem(field, f"Write the {field} as a number with a decimal point, such as {like}."))
    try:
        return Decimal(check.parse(Decimal(text)))
    except ValueError as error:
        raise Invalid(Problem(field, f"The {field} {error}.")) from None


def _refuse_far_off(rate: Decimal, last: Rate | None, again: str) -> None:
    if last is not None and is_far_off(rate, last) and not _is_same(again, rate):
        raise Invalid(Problem("again", f"It is more than 10 % off the last one, {last.rate}. Type the rate once more."))


def _is_same(text: str, rate: Decimal) -> bool:
    try:
        return len(text) <= RATE_CHARS_MAX and Decimal(text) == rate
    except InvalidOperation:
        return False
