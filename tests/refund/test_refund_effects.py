"""Refunds of inflows, the events of refunds, and what the doctor would find."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from pypdf import PdfReader

from build import Checkout
from checkout.paying import card
from conftest import MakeCheckout
from inflow import Inflows, credit, reversal_of
from payment.refusal import assert_refused
from tidegate.core.clock import SystemClock
from tidegate.core.money import Currency
from tidegate.doctor.commands import examine_books
from tidegate.runtime import Runtime

REFUND = "/collections/refund"


async def events_of(admin: Any, business_id: str) -> list[tuple[str, dict[str, Any]]]:
    rows = await admin.fetch(
        "SELECT type, payload FROM event WHERE business_id = $1 AND type LIKE 'refund.%' ORDER BY created_at",
        business_id,
    )
    return [(row["type"], json.loads(row["payload"])["data"]) for row in rows]


async def test_an_inflow_is_refunded_to_its_payer(inflows: Inflows, admin: Any) -> None:
    number = await inflows.number()
    await inflows.notified(credit(number, 500_00))
    arrived = await inflows.notified(credit(number, 100_00))
    answer = await inflows.call("POST", REFUND, {"transReference": arrived["reference"], "amount": 60.5})
    assert answer.status_code == 200, answer.text
    begun = answer.json()["data"]
    assert (begun["collectionReference"], begun["amountRefunded"]) == (arrived["reference"], 60.5)
    assert (begun["collectionAmountReceived"], begun["collectionAmountSettled"]) == (100, 95)
    await inflows.tick()
    await inflows.let_pass("5s")
    assert (await inflows.call("GET", f"{REFUND}/{begun['reference']}")).json()["data"]["refundStatus"] == "successful"
    refunded = (await inflows.get(arrived["reference"]))["refundInfo"]
    assert (float(refunded["amountRefunded"]), refunded["status"]) == (60.5, "refunded")
    rest = await inflows.call("POST", REFUND, {"transReference": arrived["reference"]})
    assert rest.json()["data"]["amountRefunded"] == 39.5
    [(name, data)] = await events_of(admin, inflows.shop.business_id)
    assert (name, data["reference"]) == ("refund.successful", begun["reference"])


async def test_an_inflow_that_was_not_credited_is_not_refunded(inflows: Inflows, admin: Any) -> None:
    number = await inflows.number()
    held = await inflows.notified(credit(number, payeeName="Ada Obii"))
    await assert_refused(admin, inflows.call("POST", REFUND, {"transReference": held["reference"]}), 409, "CONFLICT")
    taken = credit(number)
    reference = (await inflows.notified(taken))["reference"]
    await inflows.notify(reversal_of(taken))
    await inflows.tick()
    assert (await inflows.get(reference))["status"] == "reversed"
    await assert_refused(admin, inflows.call("POST", REFUND, {"transReference": reference}), 409, "CONFLICT")


async def test_an_inflow_that_was_converted_is_for_the_operator(inflows: Inflows, admin: Any) -> None:
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.08")
    arrived = await inflows.notified(credit(await inflows.number(Currency.EUR, Currency.USD)))
    assert arrived["status"] == "successful"
    sending = inflows.call("POST", REFUND, {"transReference": arrived["reference"], "amount": 1})
    answer = await assert_refused(admin, sending, 409, "CONFLICT")
    assert "is refunded by the operator" in answer.json()["message"]


@pytest.fixture
async def paid(new_checkout: MakeCheckout) -> Checkout:
    checkout = await new_checkout()
    assert (await checkout.charge(card())).status_code == 200
    return checkout


async def begin(checkout: Checkout, **fields: Any) -> str:
    answer = await checkout.shop.client.post(
        REFUND, json={"transReference": checkout.reference, **fields}, headers={"api-key": checkout.shop.secret_key}
    )
    assert answer.status_code == 200, answer.text
    reference: str = answer.json()["data"]["reference"]
    return reference


async def test_the_end_of_a_refund_has_one_event(paid: Checkout, admin: Any) -> None:
    good, bad = await begin(paid, amount=10, reason="sold out"), await begin(paid, amount=10.13)
    assert await events_of(admin, paid.shop.business_id) == []
    await paid.tick()
    await paid.let_pass("5s")
    await paid.let_pass("1h")
    events = {data["reference"]: (name, data) for name, data in await events_of(admin, paid.shop.business_id)}
    assert set(events) == {good, bad}
    assert events[good][0] == "refund.successful"
    assert (events[good][1]["amountRefunded"], events[good][1]["reason"]) == (10, "sold out")
    assert (events[bad][0], events[bad][1]["failureReason"]) == ("refund.failed", "declined")
    audited = await admin.fetch("SELECT subject FROM audit WHERE action = 'refund.started'")
    assert {row["subject"] for row in audited} == {good, bad}


TAMPERED = {
    "refunds": "UPDATE refund SET amount_minor = amount_minor + 1",
    "locks": "UPDATE wallet SET locked_minor = locked_minor + 1",
    "refund bookings": "UPDATE refund_leg SET status = 'successful', next_poll_at = NULL",
}


@pytest.mark.breaks_the_books
@pytest.mark.parametrize("subject", TAMPERED)
async def test_the_doctor_notices(paid: Checkout, runtime: Runtime, admin: Any, subject: str) -> None:
    await begin(paid, amount=10)
    await admin.execute(TAMPERED[subject])
    findings, _ = await examine_books(runtime.db, now=SystemClock().now())
    assert subject in {finding.subject for finding in findings if not finding.is_well}


async def test_the_payer_sees_how_it_goes(paid: Checkout) -> None:
    await begin(paid, amount=10, reason="One <b>was</b> sold out")
    page = await paid.shop.client.get(f"/pay/{paid.pay_code}")
    assert "is refunding" in page.text
    assert "One &lt;b&gt;was&lt;/b&gt; sold out" in page.text
    await paid.tick()
    await paid.let_pass("5s")
    page = await paid.shop.client.get(f"/pay/{paid.pay_code}")
    assert "is refunding" not in page.text
    assert "refunded" in page.text


class Killed(BaseException):
    """Nothing in the product may catch it."""


async def test_a_worker_that_stops_between_asking_and_writing_loses_nothing(
    paid: Checkout, runtime: Runtime, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = await begin(paid, amount=10)
    rail = runtime.rails["sandbox"]
    really = rail.refund

    async def refund_and_die(*arguments: Any, **named: Any) -> Any:
        await really(*arguments, **named)
        raise Killed

    monkeypatch.setattr(rail, "refund", refund_and_die)
    with pytest.raises(Killed):
        await paid.tick()
    monkeypatch.undo()
    await admin.execute("UPDATE leased_work SET next_try_at = now()")  # The lease has ended; somebody else asks.
    await paid.tick()
    await paid.let_pass("10s")
    assert await admin.fetchval("SELECT status FROM refund WHERE reference = $1", reference) == "successful"
    assert await admin.fetchval("SELECT count(*) FROM sandbox_payout WHERE kind = 'refund'") == 1


async def test_a_reversed_transfer_is_not_refunded(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    await checkout.transfer(await checkout.account(), "100", reference="BANK-1")
    assert (await checkout.sandbox("transfers/BANK-1/reverse")).status_code == 200
    await checkout.tick()
    sending = checkout.shop.client.post(
        REFUND, json={"transReference": checkout.reference, "amount": 1}, headers={"api-key": checkout.shop.secret_key}
    )
    await assert_refused(admin, sending, 409, "CONFLICT")


async def test_a_reference_with_u_0000_is_not_found(paid: Checkout, admin: Any) -> None:
    headers = {"api-key": paid.shop.secret_key}
    for path in (f"{REFUND}/%00", "/webhooks/endpoints/%00", "/collections/reference/a%00"):
        await assert_refused(admin, paid.shop.client.get(path, headers=headers), 404, "RESOURCE_NOT_FOUND")
    query = f"{REFUND}?business={paid.shop.business_id}&transReference=a%00"
    await assert_refused(
        admin, paid.shop.client.get(query, headers=headers), 422, "VALIDATION_FAILED", field="transReference"
    )


async def test_a_receipt_shows_the_fee_that_was_taken(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(amount=10_000, feeBearer="customer")
    await checkout.transfer(await checkout.account(), "100")
    for page in ("", "/receipt"):
        shown = (await checkout.shop.client.get(f"/pay/{checkout.pay_code}{page}")).text
        assert "₦150.50" not in shown
        assert "₦140.00" not in shown
    assert "₦1.51" in shown


async def test_a_receipt_shows_what_was_refunded_what_remains_and_in_which_time_zone(
    new_checkout: MakeCheckout,
) -> None:
    checkout = await new_checkout(amount=10_000)
    await checkout.transfer(await checkout.account(), "10000")
    headers = {"api-key": checkout.shop.secret_key}
    answer = await checkout.post(REFUND, {"transReference": checkout.reference, "amount": 2_500}, **headers)
    assert answer.status_code == 200, answer.text
    page = (await checkout.shop.client.get(f"/pay/{checkout.pay_code}/receipt")).text
    file = (await checkout.shop.client.get(f"/pay/{checkout.pay_code}/receipt.pdf")).content
    printed = PdfReader(io.BytesIO(file)).pages[0].extract_text()
    for shown in (page, printed):
        assert "Refunded" in shown
        assert "₦2,500.00" in shown
        assert "Paid after refunds" in shown
        assert "₦7,500.00" in shown
        assert "WAT" in shown
