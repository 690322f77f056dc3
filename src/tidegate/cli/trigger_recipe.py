"""What makes each event happen, by the sandbox's API: money that moves, so that what an event says can be verified."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

import msgspec

from tidegate.account import examples as account
from tidegate.account.wire import RequestAccount
from tidegate.cli.merchant_client import MerchantClient
from tidegate.collection import examples as collection
from tidegate.core.errors import Refusal, Unavailable
from tidegate.core.method import Method
from tidegate.core.money import Currency
from tidegate.payment import examples as payment
from tidegate.payment.wire import CreatePayment
from tidegate.rail.mobile_money import MOBILE_MONEY
from tidegate.sandbox.wire import SendTransfer
from tidegate.webhook.model import TEST_EVENT

# Of whatever happens in the background.
HAPPENS_WITHIN_S = 20.0
ASKED_EVERY_S = 0.2
CARD: dict[str, Any] = {
    "type": "card",
    "card": {"number": "5319317801366660", "expiryMonth": 12, "expiryYear": 2040, "cvv": "123"},
}
REFUND = 100
# The sandbox's bank declines a refund that ends in these minor units.
DECLINED_REFUND_MINOR = 113

Body = dict[str, Any]


class RecipeContext:
    """One event to be made: the API, and what the caller wants otherwise in the first request."""

    def __init__(self, api: MerchantClient, changes: Mapping[str, Any], endpoint_ids: list[str]) -> None:
        self._api = api
        self._changes = changes
        self.endpoint_ids = endpoint_ids

    async def post(self, path: str, body: Body | None = None) -> Any:
        return await self._api.call("POST", path, body)

    async def pay_code(self) -> tuple[str, Body]:
        """A new payment, and its order."""
        order = {key: payment.CREATE_REQUEST[key] for key in ("amount", "currency", "customer")}
        order = changed(order, self._changes)
        created = await self.post("/checkout/payments", order)
        return created["payCode"], {**order, "reference": created["reference"]}

    async def paid(self) -> Body:
        """Its order, with `payCode`."""
        pay_code, order = await self.pay_code()
        method = await self.method_of(pay_code, Method.CARD, Method.MOBILE_MONEY, Method.BANK_TRANSFER)
        if method is Method.BANK_TRANSFER:
            await self.transfer(pay_code, order)
        else:
            await self.post(f"/checkout/payments/{pay_code}/charge", _instrument(method, order["currency"]))
            await self.until_paid(pay_code)
        return {**order, "payCode": pay_code}

    async def method_of(self, pay_code: str, *methods: Method) -> Method:
        """The first of these that the payment offers."""
        offered = (await self.view(pay_code))["paymentMethods"]
        found = next((method for method in methods if method in offered), None)
        if found is None:
            raise Refusal(f"this event needs {' or '.join(methods)}; the payment offers only {', '.join(offered)}")
        return found

    async def transfer(self, pay_code: str, order: Body) -> str:
        """Pays by bank transfer; the transfer's id."""
        charged = await self.post(f"/checkout/payments/{pay_code}/charge", {"type": Method.BANK_TRANSFER})
        sent = await self.post(
            "/sandbox/transfers",
            {
                "accountNumber": charged["action"]["virtualAccount"]["accountNumber"],
                "amount": (await self.view(pay_code))["amountExpected"],
                "currency": order["currency"],
                "payer": {"name": "Ada Obi"},
            },
        )
        await self.until_paid(pay_code)
        found: str = sent["transactionId"]
        return found

    async def view(self, pay_code: str) -> Body:
        found: Body = await self._api.call("GET", f"/checkout/payments/{pay_code}")
        return found

    async def until_paid(self, pay_code: str) -> None:
        async with happening(f"the payment {pay_code}"):
            while True:
                if (await self.view(pay_code))["status"] == "success":
                    return
                await asyncio.sleep(ASKED_EVERY_S)

    async def account(self) -> str:
        """Requested, not yet decided; its id."""
        asked = await self.post("/profile/virtual-accounts/requests", changed(account.REQUEST, self._changes))
        found: str = asked["_id"]
        return found

    async def transfer_to_account(self, payee: str) -> None:
        """To an account of its own, in the currency that is sent: earlier money and a changed name do not matter."""
        currency = {name: value for name, value in self._changes.items() if name == "currency"}
        asked = await self.post("/profile/virtual-accounts/requests", changed(account.REQUEST, currency))
        opened = await self.post(f"/sandbox/virtual-accounts/{asked['_id']}/approve")
        sent = {**collection.TRANSFER, "accountNumber": opened["accountNumber"], "payee": {"name": payee}}
        await self.post("/sandbox/transfers", changed(sent, self._changes))


class Recipe(NamedTuple):
    make: Callable[[RecipeContext], Awaitable[Any]]
    # What `--set` changes; None where nothing is sent.
    request: type[msgspec.Struct] | None


def _instrument(method: Method, currency: str) -> Body:
    """One that succeeds at once."""
    if method is Method.CARD:
        return CARD
    return {"type": method, "phone": MOBILE_MONEY[Currency(currency)].test_numbers["0000"]}


async def _reversed(here: RecipeContext) -> None:
    pay_code, order = await here.pay_code()
    await here.method_of(pay_code, Method.BANK_TRANSFER)
    transaction_id = await here.transfer(pay_code, order)
    await here.post(f"/sandbox/transfers/{transaction_id}/reverse")


async def _disputed(here: RecipeContext) -> None:
    order = await here.paid()
    await here.post(f"/sandbox/charges/{order['payCode']}/dispute")


async def _refunded(here: RecipeContext) -> None:
    order = await here.paid()
    await here.post("/collections/refund", {"transReference": order["reference"], "amount": REFUND})


async def _refund_declined(here: RecipeContext) -> None:
    order = await here.paid()
    amount = DECLINED_REFUND_MINOR / Currency(order["currency"]).minor_per_major
    await here.post("/collections/refund", {"transReference": order["reference"], "amount": amount})


async def _decided(here: RecipeContext, *decisions: str) -> None:
    account_id = await here.account()
    for decision in decisions:
        await here.post(f"/sandbox/virtual-accounts/{account_id}/{decision}")


async def _tested(here: RecipeContext) -> None:
    for endpoint_id in here.endpoint_ids:
        await here.post(f"/webhooks/endpoints/{endpoint_id}/test")


RECIPES = {
    "charge.successful": Recipe(lambda here: here.paid(), CreatePayment),
    "charge.reversed": Recipe(_reversed, CreatePayment),
    "charge.disputed": Recipe(_disputed, CreatePayment),
    "collection.successful": Recipe(lambda here: here.transfer_to_account(payee="Ada Obi"), SendTransfer),
    "collection.returned": Recipe(lambda here: here.transfer_to_account(payee="Somebody Else"), SendTransfer),
    "refund.successful": Recipe(_refunded, CreatePayment),
    "refund.failed": Recipe(_refund_declined, CreatePayment),
    "virtualaccount.approved": Recipe(lambda here: _decided(here, "approve"), RequestAccount),
    "virtualaccount.declined": Recipe(lambda here: _decided(here, "decline"), RequestAccount),
    "virtualaccount.suspended": Recipe(lambda here: _decided(here, "approve", "suspend"), RequestAccount),
    "virtualaccount.closed": Recipe(lambda here: _decided(here, "approve", "close"), RequestAccount),
    TEST_EVENT: Recipe(_tested, None),
}


def names_of(request: type[msgspec.Struct] | None) -> list[str]:
    """The places that `--set` can change, such as `customer.email`. Below one that ends in a dot any name is good."""
    return [] if request is None else list(_names_in(request, ""))


def _names_in(request: type[msgspec.Struct], before: str) -> Iterator[str]:
    for field in msgspec.structs.fields(request):
        place = before + field.encode_name
        inner = _struct_in(field.type)
        yield place
        yield from (f"{place}.",) if inner is None else _names_in(inner, f"{place}.")


def _struct_in(kind: Any) -> type[msgspec.Struct] | None:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    parts = get_args(kind) if get_origin(kind) in (Annotated, Union, UnionType) else ()
    return next(filter(None, map(_struct_in, parts)), None)


def changed(body: Mapping[str, Any], changes: Mapping[str, Any]) -> Body:
    """With other values at dotted places, such as `customer.email`."""
    made: Body = dict(body)
    for place, value in changes.items():
        first, _, rest = place.partition(".")
        inner = made.get(first)
        made[first] = changed(inner if isinstance(inner, dict) else {}, {rest: value}) if rest else value
    return made


@asynccontextmanager
async def happening(what: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(HAPPENS_WITHIN_S):
            yield
    except TimeoutError:
        raise Unavailable(
            f"{what} did not happen in {HAPPENS_WITHIN_S:.0f} s; is a worker running? `tidegate dev` has one"
        ) from None
