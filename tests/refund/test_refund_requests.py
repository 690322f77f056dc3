"""The refund operation with good and bad input: never more is refunded than was received."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import httpx
import pytest

from build import Checkout, Shop
from checkout.paying import card
from conftest import MakeCheckout, MakeShop
from payment.refusal import assert_each_refused, assert_refused
from tidegate.runtime import Runtime

REFUND = "/collections/refund"
INVALID = "VALIDATION_FAILED"


async def ask(
    checkout: Checkout, *, reference: str | None = None, headers: Any = None, **fields: Any
) -> httpx.Response:
    return await checkout.shop.client.post(
        REFUND,
        json={"transReference": reference or checkout.reference, **fields},
        headers={"api-key": checkout.shop.secret_key, **(headers or {})},
    )


async def refund(checkout: Checkout, **fields: Any) -> dict[str, Any]:
    answer = await ask(checkout, **fields)
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def get(checkout: Checkout, reference: str) -> dict[str, Any]:
    answer = await checkout.shop.client.get(f"{REFUND}/{reference}", headers={"api-key": checkout.shop.secret_key})
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def until_it_ends(checkout: Checkout) -> None:
    """The rail is asked, takes its two seconds, and is asked again."""
    await checkout.tick()
    await checkout.let_pass("5s")


async def wallet(admin: Any, checkout: Checkout) -> tuple[int, int]:
    row = await admin.fetchrow(
        "SELECT balance_minor, locked_minor FROM wallet WHERE business_id = $1", checkout.shop.business_id
    )
    return row["balance_minor"], row["locked_minor"]


async def fill(new_checkout: MakeCheckout, checkout: Checkout) -> None:
    """Another sale, so that the wallet can pay for the fee that a full refund does not give back."""
    other = await new_checkout(checkout.shop)
    assert (await other.charge(card())).status_code == 200


@pytest.fixture
async def paid(new_checkout: MakeCheckout) -> Checkout:
    """NGN 100 by card, of which 98.49 are in the wallet."""
    checkout = await new_checkout()
    assert (await checkout.charge(card())).status_code == 200
    return checkout


async def test_a_mistyped_amount_refunds_nothing(paid: Checkout, admin: Any) -> None:
    for name, told in (("ammount", "ammount"), ("Amount", "Amount"), ("4111111111111111", "•" * 16)):
        mistyped: dict[str, Any] = {name: 40}
        await assert_refused(admin, ask(paid, **mistyped), 422, INVALID, field=told)
    # Beside an amount they are ignored, as everywhere.
    assert (await refund(paid, amount=40, ammount=50))["amountRequested"] == 40


async def test_a_refund_debits_at_once_and_arrives_later(paid: Checkout, admin: Any) -> None:
    begun = await refund(paid, amount=40.5, reason="sold out", note="cart 7")
    assert (begun["refundStatus"], begun["amountRefunded"], begun["completedAt"]) == ("processing", 40.5, None)
    assert (begun["reason"], begun["note"]) == ("sold out", "cart 7")
    assert begun["collectionMerchantReference"] == paid.reference
    assert await wallet(admin, paid) == (9_849 - 4_050, 4_050)
    assert (await paid.record())["amountRefunded"] == 40.5
    await until_it_ends(paid)
    ended = await get(paid, begun["reference"])
    assert (ended["refundStatus"], ended["amountRefunded"], ended["feeReturned"]) == ("successful", 40.5, 0)
    assert ended["completedAt"] > ended["initiatedAt"]
    assert await wallet(admin, paid) == (9_849 - 4_050, 0)


async def test_what_the_rail_declines_is_the_wallet_s_again(paid: Checkout, admin: Any) -> None:
    begun = await refund(paid, amount=40.13)
    await until_it_ends(paid)
    ended = await get(paid, begun["reference"])
    assert (ended["refundStatus"], ended["amountRefunded"], ended["failureReason"]) == ("failed", 0, "declined")
    assert await wallet(admin, paid) == (9_849, 0)
    assert (await paid.record())["amountRefunded"] == 0
    assert (await refund(paid, amount=98.49))["refundStatus"] == "processing"  # It may be tried again.


async def test_more_than_was_received_is_refused(paid: Checkout, admin: Any) -> None:
    for amount in (100.01, 1_000_000):
        await assert_refused(admin, ask(paid, amount=amount), 422, "REFUND_EXCEEDS_AVAILABLE")


async def test_more_than_remains_is_refused_and_says_what_does(paid: Checkout, admin: Any) -> None:
    await refund(paid, amount=60)
    answer = await assert_refused(admin, ask(paid, amount=40.01), 422, "REFUND_EXCEEDS_AVAILABLE")
    assert "at most NGN 40.00" in answer.json()["message"]


NO_AMOUNTS: dict[str, Any] = {
    "zero": 0, "negative": -1, "float with too many decimals": 0.001, "half a minor unit": 10.005, "string": "10",
    "boolean": True, "null": None, "list": [10], "beyond counting": 10**16,
}  # fmt: skip


async def test_a_refund_amount_that_is_no_amount_is_refused(paid: Checkout, admin: Any) -> None:
    rows = ((name, ask(paid, amount=amount), (422, INVALID, "amount")) for name, amount in NO_AMOUNTS.items())
    await assert_each_refused(admin, rows)


async def test_a_currency_without_decimals_takes_none(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(currency="UGX", amount=5_000)
    await checkout.transfer(await checkout.account(), "5000", currency="UGX")
    await assert_refused(admin, ask(checkout, amount=10.5), 422, INVALID, field="amount")
    assert (await refund(checkout, amount=10))["amountRefunded"] == 10


async def test_an_unpaid_payment_is_not_refunded(new_checkout: MakeCheckout, admin: Any) -> None:
    waiting = await new_checkout()
    await assert_refused(admin, ask(waiting, amount=1), 409, "CONFLICT")
    cancelled = await new_checkout()
    await cancelled.cancel()
    await assert_refused(admin, ask(cancelled), 409, "CONFLICT")


async def test_a_payment_of_another_business_is_not_found(paid: Checkout, new_shop: MakeShop, admin: Any) -> None:
    stranger = await new_shop()
    unknown = await assert_refused(admin, _ask_as(stranger, "no-such-reference"), 404, "RESOURCE_NOT_FOUND")
    for reference in (paid.reference, paid.pay_code):
        foreign = await assert_refused(admin, _ask_as(stranger, reference), 404, "RESOURCE_NOT_FOUND")
        assert foreign.json()["message"] == unknown.json()["message"]


def _ask_as(shop: Shop, reference: str) -> Any:
    return shop.client.post(REFUND, json={"transReference": reference}, headers={"api-key": shop.secret_key})


async def test_one_idempotency_key_is_one_refund(paid: Checkout, admin: Any) -> None:
    key = {"idempotency-key": secrets.token_hex(8)}
    first = await ask(paid, amount=10, headers=key)
    again = await ask(paid, amount=10, headers=key)
    assert first.json() == again.json()
    assert again.headers["idempotent-replayed"] == "true"
    assert await admin.fetchval("SELECT count(*) FROM refund") == 1
    await assert_refused(admin, ask(paid, amount=11, headers=key), 422, INVALID, field="Idempotency-Key")


async def test_of_64_full_refunds_at_once_one_is_made(paid: Checkout, new_checkout: MakeCheckout, admin: Any) -> None:
    await fill(new_checkout, paid)
    answers = await asyncio.gather(*(ask(paid) for _ in range(64)))
    statuses = [answer.status_code for answer in answers]
    # Whoever waits too long for a connection is told to come again.
    assert (statuses.count(200), {*statuses} <= {200, 422, 503}) == (1, True), {answer.text for answer in answers}
    assert await admin.fetchval("SELECT sum(amount_minor) FROM refund") == 10_000


async def test_random_refunds_at_once_never_exceed_what_was_received(
    paid: Checkout, new_checkout: MakeCheckout, admin: Any
) -> None:
    await fill(new_checkout, paid)
    parts = [secrets.randbelow(2_000) + 1 for _ in range(40)]
    answers = await asyncio.gather(*(ask(paid, amount=minor / 100) for minor in parts))
    assert {answer.status_code for answer in answers} <= {200, 422, 503}
    total = await admin.fetchval("SELECT sum(amount_minor) FROM refund")
    assert total <= 10_000
    assert (await paid.record())["amountRefunded"] == float(total) / 100
    await until_it_ends(paid)
    assert (await wallet(admin, paid))[1] == 0


async def test_an_underpayment_is_refunded_whole_and_keeps_its_history(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    await checkout.transfer(await checkout.account(), "40")
    await fill(new_checkout, checkout)
    assert (await checkout.record())["actionRequired"]
    begun = await refund(checkout)
    assert (begun["amountRefunded"], begun["collectionVarianceType"]) == (40, "underpayment")
    record = await checkout.record()
    assert (record["varianceType"], record["amountReceived"], record["status"]) == ("underpayment", 40, "success")
    assert (record["message"], record["actionRequired"]) == ("INCORRECT_AMOUNT", None)


async def test_of_an_overpayment_the_excess_is_refunded_once_and_the_sale_stays(
    new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    await checkout.transfer(await checkout.account(), "130.25")
    begun = await refund(checkout)
    assert (begun["amountRefunded"], begun["collectionVarianceType"]) == (30.25, "overpayment")
    assert (begun["collectionAmountExpected"], begun["collectionAmountReceived"]) == (100, 130.25)
    await until_it_ends(checkout)
    record = await checkout.record()
    assert (record["status"], record["amountRefunded"], record["actionRequired"]) == ("success", 30.25, None)
    answer = await assert_refused(admin, ask(checkout), 422, "REFUND_EXCEEDS_AVAILABLE")
    assert "give an amount" in answer.json()["message"]


async def test_a_wallet_that_holds_less_is_not_overdrawn(paid: Checkout, admin: Any) -> None:
    await assert_refused(admin, ask(paid), 422, "INSUFFICIENT_BALANCE")
    assert await wallet(admin, paid) == (9_849, 0)


async def test_another_currency_is_refused(paid: Checkout, admin: Any) -> None:
    await assert_refused(admin, ask(paid, amount=1, currency="USD"), 422, INVALID, field="currency")
    assert (await refund(paid, amount=1, currency="NGN"))["currency"] == "NGN"


async def test_a_rail_that_does_not_answer_is_asked_again_and_the_end_is_counted_once(
    paid: Checkout, admin: Any
) -> None:
    begun = await refund(paid, amount=20.17)
    assert begun["refundStatus"] == "processing"
    await paid.tick()
    await paid.let_pass("10s")
    assert (await get(paid, begun["reference"]))["refundStatus"] == "successful"
    await paid.let_pass("1h")
    assert await admin.fetchval("SELECT count(*) FROM journal WHERE kind = 'refund_done'") == 1


async def test_a_refund_is_not_refunded(paid: Checkout, admin: Any) -> None:
    begun = await refund(paid, amount=10)
    await assert_refused(admin, ask(paid, reference=begun["reference"]), 409, "CONFLICT")


@pytest.mark.parametrize("by", ["reference", "pay_code"])
async def test_a_payment_is_named_by_the_merchant_s_reference_or_the_pay_code(paid: Checkout, by: str) -> None:
    assert (await refund(paid, reference=getattr(paid, by), amount=1))["collectionReference"] == paid.pay_code


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "transReference"),
        ({"transReference": ""}, "transReference"),
        ({"transReference": 7}, "transReference"),
        ({"transReference": "R", "reason": "x" * 501}, "reason"),
        ({"transReference": "R", "note": "4084080000005408"}, "note"),
        ({"transReference": "R", "currency": "XXX"}, "currency"),
    ],
)
async def test_a_request_that_makes_no_sense_is_refused(shop: Shop, admin: Any, body: Any, field: str) -> None:
    sending = shop.client.post(REFUND, json=body, headers={"api-key": shop.secret_key})
    await assert_refused(admin, sending, 422, INVALID, field=field)


async def test_a_refund_of_several_transfers_goes_back_by_each(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    account = await checkout.account()
    await checkout.transfer(account, "30", reference="BANK-1")
    await checkout.transfer(account, "70", reference="BANK-2")
    await fill(new_checkout, checkout)
    begun = await refund(checkout, amount=80)
    legs = await admin.fetch("SELECT transaction_id, amount_minor FROM refund_leg ORDER BY reference")
    assert [tuple(leg) for leg in legs] == [("BANK-2", 7_000), ("BANK-1", 1_000)]
    await until_it_ends(checkout)
    assert (await get(checkout, begun["reference"]))["amountRefunded"] == 80
    await refund(checkout)  # The rest, of the first transfer.
    assert await admin.fetchval("SELECT sum(amount_minor) FROM refund_leg WHERE transaction_id = 'BANK-1'") == 3_000


async def test_a_leg_that_fails_does_not_undo_the_one_that_arrived(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    account = await checkout.account()
    await checkout.transfer(account, "30.13", reference="BANK-1")  # Refunds that end in .13 are declined.
    await checkout.transfer(account, "69.87", reference="BANK-2")
    await fill(new_checkout, checkout)
    before = await wallet(admin, checkout)
    begun = await refund(checkout)
    await until_it_ends(checkout)
    ended = await get(checkout, begun["reference"])
    assert (ended["refundStatus"], ended["amountRefunded"], ended["amountRequested"]) == ("successful", 69.87, 100)
    assert ended["failureReason"] == "declined"
    assert await wallet(admin, checkout) == (before[0] - 6_987, 0)
    assert (await checkout.record())["amountRefunded"] == 69.87


async def test_by_its_price_list_a_business_gets_its_fee_back_to_the_minor_unit(
    paid: Checkout, runtime: Runtime, admin: Any
) -> None:
    # The payment has the price it was made with; another rule of the same business prices the next.
    await admin.execute("UPDATE payment SET fee_rule_id = 'own-0'")
    await admin.execute(
        """
        INSERT INTO fee_rule (business_id, id, currency, method, basis_points, vat_basis_points, fixed_minor,
                              created_at, on_refund) OVERRIDING SYSTEM VALUE
        VALUES ($1, 0, 'NGN', 'card', 140, 750, 0, now(), 'returned')
        """,
        paid.shop.business_id,
    )
    returned = []
    for amount in (33.33, 33.33, 31.83):
        begun = await refund(paid, amount=amount)
        await until_it_ends(paid)
        ended = await get(paid, begun["reference"])
        returned.append((ended["feeReturned"], ended["vatReturned"]))
    begun = await refund(paid)
    await until_it_ends(paid)
    ended = await get(paid, begun["reference"])
    returned.append((ended["feeReturned"], ended["vatReturned"]))
    assert round(sum(fee for fee, _ in returned), 2) == 1.40
    assert round(sum(vat for _, vat in returned), 2) == 0.11
    assert await wallet(admin, paid) == (0, 0)


async def test_refunds_are_listed_the_newest_first_with_filters_and_a_cursor(paid: Checkout, admin: Any) -> None:
    made = [(await refund(paid, amount=amount))["reference"] for amount in (1, 2.13, 3)]
    await until_it_ends(paid)

    async def listed(**query: Any) -> Any:
        answer = await paid.shop.client.get(
            REFUND, params={"business": paid.shop.business_id, **query}, headers={"api-key": paid.shop.secret_key}
        )
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    everything = await listed()
    assert [one["reference"] for one in everything["results"]] == made[::-1]
    assert [one["reference"] for one in (await listed(status="failed"))["results"]] == [made[1]]
    assert len((await listed(transReference=paid.pay_code))["results"]) == 3
    assert (await listed(transReference="nothing"))["results"] == []
    first = await listed(perPage=2)
    second = await listed(perPage=2, cursor=first["nextCursor"])
    assert [one["reference"] for one in first["results"] + second["results"]] == made[::-1]
    assert second["nextCursor"] is None
    assert (await listed(dateFrom="2199-01-01"))["results"] == []
