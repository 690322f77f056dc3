"""Live mode with Paystack's rail, against the emulated Paystack: a server, its worker, real HTTP in all directions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pytest

from build import Shop, order
from console.people import StaffPeople
from dashboard.people import TOKEN, People
from live_database import live_database
from live_engine import eventually, live_shop, serving_on, with_worker
from tidegate.audit.model import Actor
from tidegate.core.clock import SystemClock
from tidegate.core.errors import Conflict
from tidegate.core.ids import Mode
from tidegate.doctor.commands import examine_books, examine_rails
from tidegate.emulator.faults import Fault, FaultKind
from tidegate.emulator.paystack import server as emulator
from tidegate.emulator.paystack.model import EmulatedAccount, EmulatedPayment
from tidegate.emulator.paystack.service import PaystackService
from tidegate.infra.http.server import bind
from tidegate.intake.request_again import request_again
from tidegate.member.realm import CONSOLE
from tidegate.rail_settings import PaystackSettings
from tidegate.reconcile.commands import reconcile_with_list
from tidegate.reconcile.model import ReconcilePeriod
from tidegate.runtime import Runtime
from tidegate.settings import Settings
from tidegate.staff.permission import StaffRole

DATABASE = "tidegate_test_paystack"
KEY = "sk_test_emulated0000"
WITHIN_S = 120
REFUND_FAILS = "4084080000671803"
DECLINED = "4084080000005408"


@dataclass(frozen=True)
class LiveWorld:
    shop: Shop
    service: PaystackService
    runtime: Runtime

    async def created(self, **changes: Any) -> str:
        answer = await self.shop.create(order(**changes))
        assert answer.status_code == 201, answer.text
        code: str = answer.json()["data"]["payCode"]
        return code

    async def charged(self, code: str, **body: Any) -> dict[str, Any]:
        answer = await self.shop.client.post(f"/checkout/payments/{code}/charge", json=body)
        assert answer.status_code == 200, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data

    def payment(self, attempt_id: str) -> EmulatedPayment:
        sent_as = f"{attempt_id.replace('_', '-')}.{self.shop.business_id}"
        return self.service.memory.payments[sent_as]

    async def view(self, code: str) -> dict[str, Any]:
        data: dict[str, Any] = (await self.shop.client.get(f"/checkout/payments/{code}")).json()["data"]
        return data

    async def until(self, code: str, status: str) -> dict[str, Any]:
        seen: dict[str, Any] = await eventually(lambda: self.view(code), lambda view: view["status"] == status)
        return seen

    async def refunded(self, code: str, amount: float) -> str:
        body = {"transReference": code, "amount": amount, "reason": "sold out"}
        headers = {"api-key": self.shop.secret_key}
        answer = await self.shop.client.post("/collections/refund", json=body, headers=headers)
        assert answer.is_success, answer.text
        reference: str = answer.json()["data"]["reference"]
        return reference


@pytest.fixture(scope="module")
async def live_url(server_url: str) -> AsyncIterator[str]:
    async with live_database(server_url, DATABASE) as url:
        yield url


@pytest.fixture(scope="module")
async def world(live_url: str) -> AsyncIterator[LiveWorld]:
    async with emulator.running(EmulatedAccount(KEY)) as emulated:
        settings = Settings(
            mode=Mode.LIVE,
            database_url=live_url,
            base_url="https://api.example.com",
            console_url="https://console.example.com",
            rails=("paystack",),
            paystack=PaystackSettings(
                secret_key=KEY, base_url=emulated.api_url, has_pesalink=True, webhook_ips=("127.0.0.1",)
            ),
        )
        with bind("127.0.0.1", 0) as listening:
            base_url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            emulated.service.notifier.url = f"{base_url}/intake/paystack"
            async with (
                serving_on(listening, settings),
                with_worker(settings) as runtime,
                httpx.AsyncClient(base_url=base_url, timeout=60) as client,
            ):
                yield LiveWorld(await live_shop(runtime, client), emulated.service, runtime)


METHODS: dict[str, tuple[str, dict[str, Any], str]] = {
    "card NGN": ("NGN", {"type": "card"}, "redirect"),
    "card ZAR": ("ZAR", {"type": "card"}, "redirect"),
    "transfer NGN": ("NGN", {"type": "bank_transfer"}, "transfer"),
    "transfer KES": ("KES", {"type": "bank_transfer"}, "transfer"),
    "transfer ZAR": ("ZAR", {"type": "bank_transfer"}, "redirect"),
    "ussd NGN": ("NGN", {"type": "payAttitude", "bank": "058"}, "dial"),
    "mobile GHS": ("GHS", {"type": "mobile_money", "phone": "+233551234000", "operator": "mtn"}, "prompt"),
    "mobile KES": ("KES", {"type": "mobile_money", "phone": "+254712345678", "operator": "mpesa"}, "prompt"),
}


@pytest.mark.parametrize("name", METHODS)
async def test_every_method_is_paid_verified_and_refunded(world: LiveWorld, name: str) -> None:
    currency, body, action = METHODS[name]
    code = await world.created(amount=150, currency=currency)
    charged = await world.charged(code, **body)
    assert charged["action"]["type"] == action
    payment = world.payment(charged["attemptId"])
    if action == "transfer":
        assert world.service.transfer(payment, 150_00, sender="Ada Obi", narration=payment.narration)
    else:
        world.service.pay(payment)
    await world.until(code, "success")
    reference = (await world.view(code))["reference"]
    record = (await world.shop.verify(reference)).json()["data"]
    assert (record["status"], record["amountReceived"]) == ("success", 150)
    await world.refunded(code, 40)
    await eventually(_refunds(world), lambda found: any(r.payment is payment for r in found))
    world.service.advance(timedelta(seconds=10))


def _refunds(world: LiveWorld) -> Callable[[], Awaitable[Any]]:
    async def look() -> Any:
        return list(world.service.memory.refunds.values())

    return look


async def test_a_page_offers_only_what_the_rails_take(world: LiveWorld) -> None:
    view = await world.view(await world.created(currency="NGN"))
    assert set(view["openPaymentMethods"]) == {"bank_transfer", "card", "payattitude"}
    assert view["hostedPaymentMethods"] == ["card"]
    assert [bank["code"] for bank in view["banks"]] == ["058"]
    kes = await world.view(await world.created(currency="KES"))
    assert [operator["id"] for operator in kes["operators"]] == ["mpesa", "airtel"]


@pytest.mark.parametrize(
    ("currency", "methods", "field"),
    [("ZMW", ["card"], "currency"), ("GHS", ["bank_transfer"], "paymentMethods[0]"), ("UGX", None, "currency")],
)
async def test_create_says_which_methods_no_rail_takes(
    world: LiveWorld, currency: str, methods: list[str] | None, field: str
) -> None:
    answer = await world.shop.create(order(currency=currency, paymentMethods=methods or ...))
    assert answer.status_code == 422
    assert [problem["field"] for problem in answer.json()["errors"]] == [field]


async def test_without_a_list_the_methods_are_those_that_some_rail_takes(world: LiveWorld) -> None:
    view = await world.view(await world.created(currency="GHS"))
    assert view["paymentMethods"] == ["mobile_money"]


async def test_no_card_number_is_accepted_and_the_page_has_no_form_for_one(world: LiveWorld) -> None:
    code = await world.created()
    card = {"number": "4084084084084081", "expiryMonth": 12, "expiryYear": 2040, "cvv": "408"}
    answer = await world.shop.client.post(f"/checkout/payments/{code}/charge", json={"type": "card", "card": card})
    assert answer.status_code == 422
    page = await world.shop.client.get(f"/pay/{code}?method=card")
    assert page.status_code == 200
    assert 'name="cvv"' not in page.text
    assert "cc-number" not in page.text
    assert world.service.memory.payments.keys().isdisjoint({code})


async def test_the_payer_comes_back_from_the_page_and_the_rail_is_asked(world: LiveWorld) -> None:
    world.service.notifier.url, url = None, world.service.notifier.url
    try:
        code = await world.created()
        charged = await world.charged(code, type="card")
        assert (await world.shop.client.get(f"/pay/{code}")).text.count(charged["action"]["url"]) >= 1
        world.service.pay(world.payment(charged["attemptId"]))
        back = await world.shop.client.get(f"/pay/{code}/back?reference=x&trxref=x")
        assert back.status_code == 303
        assert (await world.view(code))["status"] == "success"
    finally:
        world.service.notifier.url = url


async def test_a_declined_card_may_be_followed_by_another_attempt(world: LiveWorld) -> None:
    code = await world.created()
    charged = await world.charged(code, type="card")
    world.service.pay_with_card(world.payment(charged["attemptId"]), DECLINED)
    await world.shop.client.get(f"/pay/{code}/back")
    view = await world.view(code)
    assert (view["attempt"]["status"], view["attempt"]["failure"]) == ("failed", "declined")
    again = await world.charged(code, type="card")
    world.service.pay(world.payment(again["attemptId"]))
    await world.until(code, "success")


async def test_a_lost_answer_is_found_by_asking(world: LiveWorld) -> None:
    code = await world.created(currency="GHS", amount=20)
    world.service.faults.add(Fault(FaultKind.LOST, "/charge"))
    charged = await world.charged(code, type="mobile_money", phone="+233551234987", operator="mtn")
    assert charged["attemptStatus"] == "running"
    world.service.advance(timedelta(seconds=3))
    await world.until(code, "success")


async def test_a_voucher_is_typed_on_the_page_though_the_answer_that_asks_for_it_was_lost(world: LiveWorld) -> None:
    code = await world.created(currency="GHS", amount=20)
    world.service.faults.add(Fault(FaultKind.LOST, "/charge"))
    charged = await world.charged(code, type="mobile_money", phone="+233201234567", operator="telecel")
    assert charged["attemptStatus"] == "running"
    async with world.runtime.db.connection() as tx:
        # A start is not judged by its absence before a minute has passed.
        await tx.execute("UPDATE paystack_attempt SET started_at = started_at - interval '2 minutes'")
    await eventually(lambda: world.view(code), lambda view: view["attempt"]["status"] == "waiting")
    page = (await world.shop.client.get(f"/pay/{code}")).text
    assert 'name="otp"' in page
    assert "dial *110#" in page
    answer = await world.shop.client.post(f"/checkout/payments/{code}/charge/authorize", json={"otp": "123456"})
    assert answer.status_code == 200, answer.text
    await world.until(code, "success")


@pytest.mark.parametrize("method", ["card", "bank_transfer"])
async def test_a_kill_before_the_action_is_recorded_leaves_the_payer_a_way(world: LiveWorld, method: str) -> None:
    """Paystack has begun, and the rail has kept how to pay; the payment was never told."""
    code = await world.created()
    charged = await world.charged(code, type=method)
    async with world.runtime.db.connection() as tx:
        await tx.execute(
            """
            UPDATE attempt SET status = 'running', action = NULL, account_number = NULL, next_poll_at = now()
             WHERE business_id = $1 AND reference = $2
            """,
            world.shop.business_id, charged["attemptId"],
        )  # fmt: skip
    view = await eventually(lambda: world.view(code), lambda view: view["attempt"]["status"] == "waiting")
    assert view["attempt"]["action"] == charged["action"]
    world.service.pay(world.payment(charged["attemptId"]))
    await world.until(code, "success")


async def test_a_rail_that_refuses_leaves_the_payer_free(world: LiveWorld) -> None:
    code = await world.created()
    world.service.faults.add(Fault(FaultKind.BUSY, "/transaction/initialize"))
    charged = await world.charged(code, type="card")
    assert (charged["attemptStatus"], charged["failure"]) == ("failed", "rail_unavailable")
    assert (await world.charged(code, type="bank_transfer"))["action"]["type"] == "transfer"


async def test_an_account_that_paystack_closes_is_not_extended(world: LiveWorld) -> None:
    code = await world.created()
    await world.charged(code, type="bank_transfer")
    answer = await world.shop.client.post(f"/checkout/payments/{code}/charge/extend")
    assert answer.status_code == 409
    assert "/extend" not in (await world.shop.client.get(f"/pay/{code}")).text


async def test_money_for_a_payment_that_was_paid_otherwise_goes_back(world: LiveWorld) -> None:
    code = await world.created()
    first = await world.charged(code, type="card")
    second = await world.charged(code, type="bank_transfer")
    payment = world.payment(second["attemptId"])
    world.service.transfer(payment, 100_00, sender="Ada Obi")
    await world.until(code, "success")
    late = world.payment(first["attemptId"])
    world.service.pay(late)
    await eventually(_refunds(world), lambda found: any(r.payment is late for r in found))
    world.service.advance(timedelta(seconds=10))

    async def returns() -> Any:
        async with world.runtime.db.connection() as tx:
            return await tx.fetch("SELECT status FROM money_return WHERE transaction_id = $1", str(late.id))

    await eventually(returns, lambda rows: [row["status"] for row in rows] == ["confirmed"])


async def test_a_failed_refund_is_given_back_to_the_wallet(world: LiveWorld) -> None:
    code = await world.created()
    charged = await world.charged(code, type="card")
    payment = world.payment(charged["attemptId"])
    world.service.pay_with_card(payment, REFUND_FAILS)
    await world.until(code, "success")
    reference = await world.refunded(code, 30)
    await eventually(_refunds(world), lambda found: any(r.payment is payment for r in found))
    world.service.advance(timedelta(seconds=10))

    async def status() -> Any:
        async with world.runtime.db.connection() as tx:
            return await tx.fetchval("SELECT status FROM refund WHERE reference = $1", reference)

    await eventually(status, lambda found: found == "failed")


async def test_a_part_whose_request_was_lost_waits_for_an_operator_and_is_paid_once(world: LiveWorld) -> None:
    code = await world.created()
    payment = world.payment((await world.charged(code, type="card"))["attemptId"])
    world.service.pay(payment)
    await world.until(code, "success")
    world.service.faults.add(Fault(FaultKind.REFUSED, "/refund", method="POST"))
    part = f"{await world.refunded(code, 30)}-1"

    async def asked(sql: str) -> Any:
        async with world.runtime.db.connection() as tx:
            return await tx.fetchval(sql, part)

    back = "UPDATE paystack_payout SET tried_at = tried_at - interval '11 minutes' WHERE reference = $1 RETURNING true"
    await eventually(lambda: asked(back), lambda is_tried: is_tried is True)
    doubt = "SELECT state FROM notification WHERE id = 'refund-' || $1"
    await eventually(lambda: asked(doubt), lambda state: state == "quarantined")
    assert not any(one.payment is payment for one in world.service.memory.refunds.values())

    async def let_again() -> bool:
        """Not while the rail is being asked."""
        try:
            await request_again(
                world.runtime.deps, "refund", world.shop.business_id, part, note="not there", by=Actor("staff/ada"),
                now=SystemClock().now(),
            )  # fmt: skip
        except Conflict:
            return False
        return True

    await eventually(let_again, lambda is_let: is_let)
    await eventually(_refunds(world), lambda found: any(one.payment is payment for one in found))
    world.service.advance(timedelta(seconds=10))
    ended = "SELECT status FROM refund_leg WHERE reference = $1"
    await eventually(lambda: asked(ended), lambda status: status == "successful")
    assert sum(one.payment is payment for one in world.service.memory.refunds.values()) == 1
    assert await asked(doubt) == "done"


async def test_a_lost_chargeback_is_taken_from_the_merchant(world: LiveWorld) -> None:
    code = await world.created()
    charged = await world.charged(code, type="card")
    payment = world.payment(charged["attemptId"])
    world.service.pay(payment)
    await world.until(code, "success")
    dispute = world.service.dispute(payment)

    async def disputes() -> Any:
        async with world.runtime.db.connection() as tx:
            return await tx.fetchval("SELECT status FROM dispute WHERE id = $1", str(dispute.id))

    await eventually(disputes, lambda found: found == "open")
    world.service.resolve(dispute, "auto-accepted")
    await eventually(lambda: world.view(code), lambda view: view["amountReversed"] == 100)
    assert await disputes() == "lost"


async def test_the_same_notification_twice_and_early_is_paid_once(world: LiveWorld) -> None:
    world.service.settings.notifies_twice = world.service.settings.notifies_early = True
    try:
        code = await world.created(currency="GHS", amount=20)
        charged = await world.charged(code, type="mobile_money", phone="+233201234567", operator="telecel")
        answer = await world.shop.client.post(f"/checkout/payments/{code}/charge/authorize", json={"otp": "123456"})
        assert answer.status_code == 200, answer.text
        await world.until(code, "success")
        payment = world.payment(charged["attemptId"])

        async def receipts() -> Any:
            async with world.runtime.db.connection() as tx:
                return await tx.fetchval("SELECT count(*) FROM receipt WHERE transaction_id = $1", str(payment.id))

        assert await receipts() == 1
    finally:
        world.service.settings.notifies_twice = world.service.settings.notifies_early = False


async def test_forged_notifications_change_nothing(world: LiveWorld) -> None:
    code = await world.created()
    charged = await world.charged(code, type="card")
    sent_as = world.payment(charged["attemptId"]).reference
    body = (
        '{"event":"charge.success","data":{"id":1,"domain":"test","status":"success","reference":"'
        + sent_as
        + '","amount":10000,"currency":"NGN"}}'
    )
    for signature in ("", "0" * 128):
        answer = await world.shop.client.post(
            "/intake/paystack", content=body, headers={"x-paystack-signature": signature}
        )
        assert answer.status_code == 401
    assert (await world.view(code))["status"] == "pending"


async def test_a_notification_of_10_mib_is_refused(world: LiveWorld) -> None:
    body = b'{"event":"charge.success","data":{"metadata":"' + b"x" * 10 * 1024 * 1024 + b'"}}'
    signature = world.service.notifier.sign(body)
    answer = await world.shop.client.post("/intake/paystack", content=body, headers={"x-paystack-signature": signature})
    assert (answer.status_code, answer.json()["errorType"]) == (413, "BODY_TOO_LARGE")


async def test_a_rail_that_is_down_does_not_make_the_service_unready(world: LiveWorld) -> None:
    world.service.faults.add(Fault(FaultKind.REFUSED, times=10**6))
    try:
        findings = await examine_rails(world.runtime.db, world.runtime.settings, now=SystemClock().now())
        assert any(not one.is_well and "Paystack" in one.what for one in findings)
        assert (await world.shop.client.get("/readyz")).status_code == 200
    finally:
        world.service.faults.clear()


async def test_all_is_booked_and_equals_the_list_of_paystack(world: LiveWorld) -> None:
    """Runs last: what the tests before have paid, refunded and lost."""
    world.service.advance(timedelta(minutes=1))

    async def open_work() -> Any:
        async with world.runtime.db.connection() as tx:
            return await tx.fetchval(
                "SELECT (SELECT count(*) FROM money_return WHERE status IN ('asked', 'sent'))"
                " + (SELECT count(*) FROM refund WHERE status = 'processing')"
            )

    await eventually(open_work, lambda count: count == 0)
    now = SystemClock().now()
    findings, _ = await examine_books(world.runtime.db, now=now)
    assert [finding for finding in findings if not finding.is_well] == []
    rails = await examine_rails(world.runtime.db, world.runtime.settings, now=now)
    assert [finding for finding in rails if not finding.is_well] == []
    assert any("card in ZMW" in finding.what for finding in rails)
    rail = world.runtime.rails["paystack"]
    period = ReconcilePeriod((now - timedelta(days=1)).date(), (now + timedelta(days=1)).date(), timedelta(days=1))
    report = await reconcile_with_list(world.runtime.db, rail, period)
    # Paystack lists no chargebacks, and a lost one is no break.
    assert report.breaks == []
    assert report.agrees
    page = await compared_in_the_console(world, first=f"{period.first}", last=f"{period.last}")
    assert f"{report.matched} of {report.lines} lines agree, 0 breaks" in page


async def compared_in_the_console(world: LiveWorld, **days: str) -> str:
    people = StaffPeople(People(world.runtime.db, str(world.shop.client.base_url), None, []))
    operator = await people.person(StaffRole.OPERATOR)
    async with operator.client as browser:
        # A browser sends cookies of our own over HTTPS alone.
        cookie = f"__Host-{CONSOLE.cookie}={browser.cookies[CONSOLE.cookie]}"
        browser.headers.update(
            {"host": "console.example.com", "origin": "https://console.example.com", "cookie": cookie}
        )
        page = await browser.get("/console/reconcile")
        browser.headers["cookie"] += "; " + page.headers["set-cookie"].partition(";")[0]
        sent = {"token": TOKEN.findall(page.text)[0], "rail": "paystack", "slack": "1d", **days}
        too_long = await browser.post("/console/reconcile/list", data={**sent, "first": "2020-01-01"})
        assert (too_long.status_code, "Choose 1 to 31 days" in too_long.text) == (422, True)
        assert (await browser.post("/console/reconcile/list", data=sent)).status_code == 303
        return (await browser.get("/console/reconcile")).text
