"""The merchant's operations on wallets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from functools import partial

from tidegate.core import errors
from tidegate.core.clock import Clock
from tidegate.core.ids import Mode
from tidegate.core.public_id import PublicIds
from tidegate.infra.db import Database
from tidegate.infra.http import csv_text
from tidegate.infra.http.cursor import Cursor
from tidegate.infra.http.operation import Answer, Call, Csv, Operation, Pdf, Stream
from tidegate.infra.http.read import read
from tidegate.merchant.authentication import SECRET_KEY
from tidegate.merchant.model import Business
from tidegate.wallet import commands, examples, wire
from tidegate.wallet.model import Period

# Per process: a long statement takes seconds of CPU time and much memory.
PRINTED_AT_ONCE = 1


@dataclass(frozen=True)
class WalletApi:
    db: Database
    clock: Clock
    mode: Mode
    public_ids: PublicIds
    press: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(PRINTED_AT_ONCE))

    async def list_wallets(self, call: Call) -> Answer:
        business = call.caller.business
        holdings = await commands.list_holdings(self.db, business.id)
        return call.answer([wire.wallet_record(holding, business) for holding in holdings])

    async def read_statement(self, call: Call) -> Answer:
        request, period = await self._asked(call)
        scope = f"{call.caller.business.id} {period.closing.currency} {period.start} {period.end} {request.order}"
        numbers = self.public_ids.statement_line
        past_id = request.cursor.position(scope=scope, numbers=numbers) if isinstance(request.cursor, Cursor) else None
        lines, is_more = await commands.list_page(
            self.db, period, order=request.order, past_id=past_id, limit=request.per_page
        )
        cursor = str(Cursor.of(lines[-1].id, scope=scope, numbers=numbers)) if is_more else None
        return call.answer(wire.page_of(period, lines, cursor, self.public_ids))

    async def download(self, call: Call) -> Stream:
        """The whole period, whatever the paging."""
        request, period = await self._asked(call)
        return Stream(self._rows(period), wire.filename(request, period.closing.currency, "csv"))

    async def _rows(self, period: Period) -> AsyncGenerator[bytes, None]:
        async for lines in commands.batches(self.db, period):
            yield b"".join(csv_text.row(wire.csv_row(line, self.public_ids)) for line in lines)

    async def print_statement(self, call: Call) -> Stream:
        request, period = await self._asked(call)
        name = wire.filename(request, period.closing.currency, "pdf")
        return Stream(self._printed(call.caller.business, period), name)

    async def _printed(self, business: Business, period: Period) -> AsyncGenerator[bytes, None]:
        async with self.press:
            now = self.clock.now_of(business.id)
            file = await commands.print_statement(self.db, business, period, mode=self.mode, now=now)
        yield file

    async def _asked(self, call: Call) -> tuple[wire.ReadStatement, Period]:
        request = read(call.query, wire.ReadStatement, wire.problems_between)
        period = await commands.get_period(
            self.db,
            call.caller.business.id,
            call.path["currency"],
            start=request.start,
            end=request.end,
            now=self.clock.now_of(call.caller.business.id),
        )
        return request, period

    def operations(self) -> list[Operation]:
        offer = partial(Operation, group="Wallets", credentials=SECRET_KEY, prepared_by=examples.A_PAID_CHECKOUT)
        return [
            offer(
                method="GET",
                path="/wallets",
                name="listWallets",
                summary="List wallets",
                description=examples.LIST_DESCRIPTION,
                group_words=examples.GROUP,
                handler=self.list_wallets,
                response=wire.WalletRecord,
                answers_list=True,
                response_example=examples.WALLETS,
                success_message="Wallets found",
            ),
            offer(
                method="GET",
                path="/wallets/{currency}/statement",
                name="readStatement",
                summary="Read a wallet's statement",
                description=examples.STATEMENT_DESCRIPTION,
                handler=self.read_statement,
                query=wire.ReadStatement,
                query_example={"perPage": "10"},
                response=wire.StatementPage,
                response_example=examples.STATEMENT,
                csv=Csv(wire.CSV_COLUMNS, self.download),
                pdf=Pdf(self.print_statement),
                success_message="Statement found",
                errors=(errors.NotFound,),
                path_parameters=examples.CURRENCY_PARAMETER,
            ),
        ]
