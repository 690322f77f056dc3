"""The merchant's operations on virtual accounts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from msgspec import UNSET

from tidegate.account import commands, examples, store, wire
from tidegate.account.model import ID, Account, AccountStatus
from tidegate.audit import model as audit
from tidegate.core import errors
from tidegate.core.clock import Clock
from tidegate.core.money import Currency
from tidegate.idempotency.commands import once
from tidegate.infra.db import Database, Tx
from tidegate.infra.http.operation import Answer, Call, Operation
from tidegate.infra.http.paging import refuse_deep
from tidegate.infra.http.read import read
from tidegate.merchant.authentication import SECRET_KEY

PATH = "/profile/virtual-accounts"
REQUESTS_PATH = f"{PATH}/requests"
# The temporary account of a payment attempt.
FindTemporary = Callable[[Tx, str, str], Awaitable[Account | None]]


@dataclass(frozen=True)
class AccountApi:
    db: Database
    clock: Clock
    find_temporary: FindTemporary

    async def request(self, call: Call) -> Answer:
        value = call.json()
        request = read(value, wire.RequestAccount, partial(wire.problems_between, value=value))
        business = call.caller.business
        now = self.clock.now_of(business.id)
        by = audit.key(call.caller.key.id, call.client)

        async def act(tx: Tx) -> Answer:
            account = await commands.request_in(tx, wire.account_from(request, business.id, now=now), by=by, now=now)
            return call.answer(wire.record_of(account, business, now=now))

        return await once(self.db, call, act, now=now, is_one_statement=False)

    async def get(self, call: Call) -> Answer:
        business, account_id = call.caller.business, call.path["accountId"]
        if not ID.fullmatch(account_id):
            raise errors.NotFound(commands.NO_ACCOUNT)
        async with self.db.connection() as tx:
            account = await store.find(tx, business.id, account_id) or await self.find_temporary(
                tx, business.id, account_id
            )
        if account is None:
            raise errors.NotFound(commands.NO_ACCOUNT)
        return call.answer(wire.record_of(account, business, now=self.clock.now_of(business.id)))

    async def list_accounts(self, call: Call) -> Answer:
        return await self._list(call, read(call.query, wire.ListAccounts), tuple(AccountStatus))

    async def list_requests(self, call: Call) -> Answer:
        return await self._list(call, read(call.query, wire.ListRequests), wire.REQUEST_STATUSES)

    async def _list(
        self, call: Call, request: wire.ListAccounts | wire.ListRequests, statuses: Sequence[str]
    ) -> Answer:
        business = call.caller.business
        refuse_deep(request.page, request.per_page)
        async with self.db.connection() as tx:
            accounts, total = await store.list_page(
                tx,
                business.id,
                currency=None if request.currency is UNSET else Currency(request.currency),
                statuses=statuses if request.status is UNSET else [request.status],
                offset=(request.page - 1) * request.per_page,
                limit=request.per_page,
            )
        now = self.clock.now_of(business.id)
        records = [wire.record_of(account, business, now=now) for account in accounts]
        return call.answer(wire.AccountPage(results=records, total=total))

    def operations(self) -> list[Operation]:
        offer = partial(Operation, group="Virtual accounts", credentials=SECRET_KEY)
        return [
            offer(
                method="POST",
                path=REQUESTS_PATH,
                name="requestAccount",
                summary="Request a virtual account",
                description=examples.REQUEST_DESCRIPTION,
                group_words=examples.GROUP,
                handler=self.request,
                request=wire.RequestAccount,
                request_example=examples.REQUEST,
                response=wire.AccountRecord,
                response_example=examples.PENDING_RECORD,
                success_status=201,
                success_message="Virtual account requested",
                errors=(errors.DuplicateReference,),
                is_idempotent_by_key=True,
            ),
            *self._lists(offer),
            offer(
                method="GET",
                path=f"{PATH}/{{accountId}}",
                name="getAccount",
                summary="Get a virtual account",
                description=examples.GET_DESCRIPTION,
                handler=self.get,
                response=wire.AccountRecord,
                response_example=examples.RECORD,
                success_message=examples.NOTICE,
                errors=(errors.NotFound,),
                path_parameters=examples.ACCOUNT_PARAMETER,
                prepared_by=examples.AN_ACCOUNT,
            ),
        ]

    def _lists(self, offer: Callable[..., Operation]) -> list[Operation]:
        accounts = offer(
            method="GET",
            path=PATH,
            name="listAccounts",
            summary="List virtual accounts",
            description=examples.LIST_DESCRIPTION,
            handler=self.list_accounts,
            query=wire.ListAccounts,
            response=wire.AccountPage,
            response_example=examples.PAGE,
            success_message="Virtual accounts found",
        )
        requests = replace(
            accounts,
            path=REQUESTS_PATH,
            name="listAccountRequests",
            summary="List requests for virtual accounts",
            description=examples.LIST_REQUESTS_DESCRIPTION,
            handler=self.list_requests,
            query=wire.ListRequests,
            response_example=examples.REQUESTS_PAGE,
            success_message="Requests found",
        )
        return [accounts, requests]
