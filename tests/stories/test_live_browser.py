"""Live mode with three rails, against their emulators: every method in every currency that can be created and that some
rail takes, paid in a browser, verified, told by webhook, refunded, reconciled."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Locator, Page, expect
from standardwebhooks import Webhook

from bank.world import let_out
from browser import open_context
from build import Shop, order
from conftest import ENCRYPTION_KEY
from live_database import live_database
from live_engine import eventually, live_shop, serving_on, with_worker
from receiver import Receiver, receiving
from tidegate import worker
from tidegate.audit.model import OURSELVES
from tidegate.bank_file.folder import FolderWatch
from tidegate.bank_settings import BankAccount, BankFilesSettings
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Mode
from tidegate.core.method import Method
from tidegate.core.money import CHECKOUT_OFFERS, Currency
from tidegate.doctor.commands import examine_books, examine_rails
from tidegate.emulator.bank import server as bank_emulator
from tidegate.emulator.bank.server import RunningBank
from tidegate.emulator.bank.service import BankService
from tidegate.emulator.pawapay import server as pawapay_emulator
from tidegate.emulator.pawapay.model import EmulatedPawapayAccount
from tidegate.emulator.pawapay.server import RunningPawapay
from tidegate.emulator.paystack import server as paystack_emulator
from tidegate.emulator.paystack.model import EmulatedAccount
from tidegate.emulator.paystack.server import RunningPaystack
from tidegate.infra.egress import Egress
from tidegate.infra.guard import Guard
from tidegate.infra.http.server import bind
from tidegate.infra.telemetry import Meter
from tidegate.rail_settings import PawapaySettings, PaystackSettings
from tidegate.reconcile import commands as reconciliation
from tidegate.reconcile import rail_list
from tidegate.reconcile.model import ReconcilePeriod
from tidegate.runtime import Runtime
from tidegate.settings import Settings
from tidegate.webhook import commands as webhooks
from tidegate.webhook.deliver import Sender
from tidegate.webhook.model import NewEndpoint

DATABASE = "tidegate_test_live_rails"
KEY, TOKEN = "sk_test_emulated0000", "a-token-of-the-tests"
CARD = "4084084084084081"
RAILS = ("pawapay", "paystack", "bankfiles")
# The operator's own accounts, where no provider takes transfers.
BANK_ACCOUNTS = {"UGX": "9030001234567", "GHS": "1441000123456"}


@dataclass(frozen=True)
class LiveRails:
    shop: Shop
    runtime: Runtime
    paystack: RunningPaystack
    pawapay: RunningPawapay
    bank: RunningBank
    files: BankFilesSettings
    browser: Browser
    webhooks: Receiver
    webhook_secret: str

    def told(self) -> list[tuple[str, str]]:
        """The events that the merchant's server has received: each verified, with the merchant's reference."""
        found = []
        for one in self.webhooks.received:
            Webhook(self.webhook_secret).verify(one.body, one.headers)
            event = json.loads(one.body)
            name = "merchantReference" if event["event"] == "charge.successful" else "collectionMerchantReference"
            found.append((event["event"], event["data"][name]))
        return found

    async def is_told(self, event: str, reference: str) -> None:
        async def seen() -> list[tuple[str, str]]:
            return self.told()

        await eventually(seen, lambda told: (event, reference) in told)

    async def page(self) -> Page:
        return await (await open_context(self.browser)).new_page()

    async def phone(self) -> None:
        """The payer's phone, on pawaPay's page."""
        phone = await self.page()
        await phone.goto(self.pawapay.page_url)
        await phone.get_by_role("button", name="Approve with PIN").first.click()
        await phone.context.close()

    async def elsewhere(self) -> None:
        """The payer's bank or phone, on Paystack's page."""
        bank = await self.page()
        await bank.goto(self.paystack.page_url)
        await bank.get_by_role("button", name="Pay").first.click()
        await bank.context.close()

    async def at_the_bank(self, currency: str, narration: str) -> None:
        """The payer's bank, on the page of the operator's."""
        bank = await self.page()
        await bank.goto(self.bank.page_url)
        form = bank.locator("form").filter(has=bank.get_by_placeholder("Amount"))
        await form.locator("[name=account]").select_option(BANK_ACCOUNTS[currency])
        await form.get_by_placeholder("Amount").fill("2000")
        await form.get_by_placeholder("Narration").fill(narration)
        await form.get_by_role("button", name="Transfer").click()
        await expect(bank.get_by_text(narration)).to_be_visible()
        await bank.context.close()


@pytest.fixture(scope="module")
async def world(
    server_url: str, shared_browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[LiveRails]:
    files = BankFilesSettings(
        folder=tmp_path_factory.mktemp("bank"),
        accounts=tuple(
            BankAccount(
                number=number, currency=Currency(code), holder="Tidegate", bank_name="Example Bank",
                country=Currency(code).spec.country or "", is_checkout=True,
            )
            for code, number in BANK_ACCOUNTS.items()
        ),
    )  # fmt: skip
    accounts = {number: code for code, number in BANK_ACCOUNTS.items()}
    async with (
        live_database(server_url, DATABASE) as url,
        paystack_emulator.running(EmulatedAccount(KEY)) as paystack,
        pawapay_emulator.running(EmulatedPawapayAccount(TOKEN)) as pawapay,
        bank_emulator.running(BankService(files.folder, accounts)) as bank,
        receiving() as receiver,
    ):
        with bind("127.0.0.1", 0) as listening:
            base_url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            paystack.service.notifier.url = f"{base_url}/intake/paystack"
            pawapay.service.account.callback_url = f"{base_url}/intake/pawapay"
            settings = Settings(
                mode=Mode.LIVE,
                database_url=url,
                base_url=base_url,
                encryption_keys=(ENCRYPTION_KEY,),
                rails=RAILS,
                paystack=PaystackSettings(
                    secret_key=KEY, base_url=paystack.api_url, has_pesalink=True, webhook_ips=("127.0.0.1",)
                ),
                pawapay=PawapaySettings(token=TOKEN, base_url=pawapay.api_url),
                bankfiles=files,
            )
            async with (
                serving_on(listening, settings),
                with_worker(settings, LOOPS) as runtime,
                httpx.AsyncClient(base_url=base_url, timeout=60) as client,
            ):
                shop = await live_shop(runtime, client)
                async with webhooks_to(receiver, runtime, shop) as secret:
                    yield LiveRails(shop, runtime, paystack, pawapay, bank, files, shared_browser, receiver, secret)


@asynccontextmanager
async def webhooks_to(receiver: Receiver, runtime: Runtime, shop: Shop) -> AsyncIterator[str]:
    """With the sender of a worker. The merchant's server is on this machine, which live mode itself never calls."""
    vault = runtime.webhook_deps.vault
    new = NewEndpoint(url=receiver.url(), events=("charge.successful", "refund.successful"))
    async with runtime.db.transaction() as tx:
        made = await webhooks.create(tx, vault, shop.business_id, new, by=OURSELVES, now=SystemClock().now())
    way_out = Egress(Guard(Mode.SANDBOX, runtime.settings.base_url))
    sending = asyncio.create_task(Sender(runtime.db, way_out, vault, runtime.clock, Meter()).run(grace_s=0))
    yield made.secret
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)


METHODS = {
    "Card": Method.CARD,
    "Bank transfer": Method.BANK_TRANSFER,
    "USSD": Method.USSD,
    "Mobile money": Method.MOBILE_MONEY,
}
# Those of a worker, without the five seconds between two looks at the folder.
LOOPS = tuple(
    replace(loop, round=FolderWatch(), every_s=0.2) if loop.name == "import_bank_files" else loop
    for loop in worker.LIVE_LOOPS
)


@dataclass(frozen=True)
class Way:
    """One method in one currency: the tab to choose, and the rail that takes it."""

    currency: str
    tab: str
    rail: str
    phone: str = ""
    operator: str = ""


WAYS = {
    "card NGN": Way("NGN", "Card", "paystack"),
    "card ZAR": Way("ZAR", "Card", "paystack"),
    "transfer NGN": Way("NGN", "Bank transfer", "paystack"),
    "transfer KES": Way("KES", "Bank transfer", "paystack"),
    "EFT ZAR": Way("ZAR", "Bank transfer", "paystack"),
    "USSD NGN": Way("NGN", "USSD", "paystack"),
    # An operator that pawaPay does not have there.
    "mobile money KES, Airtel": Way("KES", "Mobile money", "paystack", "0733123456", "airtel"),
    "mobile money KES, M-PESA": Way("KES", "Mobile money", "pawapay", "0712345678", "mpesa"),
    "mobile money UGX": Way("UGX", "Mobile money", "pawapay", "0772345678", "mtn"),
    "mobile money GHS": Way("GHS", "Mobile money", "pawapay", "0244123456", "mtn"),
    "mobile money ZMW": Way("ZMW", "Mobile money", "pawapay", "0971234567", "airtel"),
    "transfer UGX": Way("UGX", "Bank transfer", "bankfiles"),
    "transfer GHS": Way("GHS", "Bank transfer", "bankfiles"),
}


@pytest.mark.parametrize("name", WAYS)
async def test_paid_in_a_browser_verified_told_and_refunded(world: LiveRails, name: str) -> None:
    way = WAYS[name]
    reference, link = await created(world, way)
    page = await world.page()
    await page.goto(link)
    tab = page.get_by_role("tab", name=way.tab)
    if await tab.count():
        await tab.click()
        await expect(tab).to_have_attribute("aria-selected", "true")
        await page.wait_for_load_state()
    await pay(world, page, way, link)
    await expect(page.get_by_role("heading", name="paid")).to_be_visible()
    await page.context.close()
    record = (await world.shop.verify(reference)).json()["data"]
    assert (record["status"], record["amountReceived"]) == ("success", 2000)
    async with world.runtime.db.connection() as tx:
        rails = await tx.fetch(
            "SELECT rail FROM receipt JOIN payment ON payment.business_id = receipt.business_id"
            " AND payment.id = payment_id WHERE reference = $1",
            reference,
        )
    assert [row["rail"] for row in rails] == [way.rail]
    await world.is_told("charge.successful", reference)
    await refunded(world, reference)
    await world.is_told("refund.successful", reference)


async def created(world: LiveRails, way: Way) -> tuple[str, str]:
    async def create() -> Any:
        return await world.shop.create(order(amount=2000, currency=way.currency))

    # Until pawaPay's configuration is known, nobody takes UGX and ZMW.
    answer = await eventually(create, lambda done: done.status_code == 201)
    data = answer.json()["data"]

    async def view() -> Any:
        return (await world.shop.client.get(f"/checkout/payments/{data['payCode']}")).json()["data"]

    await eventually(view, lambda seen: bool(seen["openPaymentMethods"]))
    return data["reference"], data["link"]


async def pay(world: LiveRails, page: Page, way: Way, link: str) -> None:
    main = page.locator("#main")
    if way.tab == "Mobile money":
        await main.locator("[name=phone]").fill(way.phone)
        await main.locator(f"[name=operator][value={way.operator}]").check()
        await main.get_by_role("button", name="Pay ").filter(visible=True).click()
        await expect(main.get_by_text("We sent a prompt")).to_be_visible()
        await (world.phone() if way.rail == "pawapay" else world.elsewhere())
    elif way.tab == "Card" or way.currency == "ZAR":
        await main.get_by_role("button", name="Pay ").filter(visible=True).click()
        await main.locator(f"a[href^='{world.paystack.page_url}']").click()
        await page.get_by_role("button", name=CARD).click()
        if way.tab != "Card":
            # Instant EFT does not lead back by itself.
            await page.goto(link)
    elif way.tab == "USSD":
        await main.get_by_label("Guaranty Trust Bank").check()
        await main.get_by_role("button", name="Get the code").click()
        await expect(main.get_by_text("Dial this code")).to_be_visible()
        await world.elsewhere()
    else:
        await main.get_by_role("button", name="Show the account").click()
        await expect(main.get_by_text("Transfer exactly")).to_be_visible()
        await (at_the_bank(world, main, way) if way.rail == "bankfiles" else world.elsewhere())


async def at_the_bank(world: LiveRails, main: Locator, way: Way) -> None:
    await expect(main.get_by_text("The bank tells us of your transfer later")).to_be_visible()
    await expect(main.get_by_text("What arrives after")).to_be_visible()
    copy = main.get_by_role("button", name="Copy Reference")
    await world.at_the_bank(way.currency, f"order {await copy.get_attribute('data-copy')}")


async def refunded(world: LiveRails, reference: str, amount: int = 500) -> None:
    body = {"transReference": reference, "amount": amount, "reason": "sold out"}
    answer = await world.shop.client.post("/collections/refund", json=body, headers={"api-key": world.shop.secret_key})
    assert answer.is_success, answer.text
    refund = answer.json()["data"]["reference"]

    async def status() -> Any:
        world.paystack.service.advance(timedelta(seconds=5))
        await let_out(world.runtime.deps, world.files, now=SystemClock().now())
        async with world.runtime.db.connection() as tx:
            return await tx.fetchval("SELECT status FROM refund WHERE reference = $1", refund)

    await eventually(status, lambda found: found == "successful")


async def test_a_fee_of_the_customer_is_paid_in_whole_shillings_where_the_rail_takes_no_cents(
    world: LiveRails,
) -> None:
    asked = order(amount=101, currency="KES", feeBearer="customer", paymentMethods=["mobile_money"])
    data = (await world.shop.create(asked)).json()["data"]
    charge = {"type": "mobile_money", "phone": "+254712345678", "operator": "mpesa"}
    charged = await world.shop.client.post(f"/checkout/payments/{data['payCode']}/charge", json=charge)
    deposit = world.pawapay.service.find(charged.json()["data"]["attemptId"])
    assert deposit is not None
    # 101 and one percent of it are 102.01.
    assert deposit.amount == 103
    world.pawapay.service.approve(deposit)

    async def record() -> Any:
        return (await world.shop.verify(data["reference"])).json()["data"]

    paid = await eventually(record, lambda seen: seen["status"] == "success")
    assert (paid["amountReceived"], paid["varianceType"]) == (103, None)
    await refunded(world, data["reference"], 50)
    for event in ("charge.successful", "refund.successful"):
        await world.is_told(event, data["reference"])


def test_every_way_that_live_mode_has_is_paid_here() -> None:
    # No rail takes cards in ZMW.
    offered = {(currency, method) for currency in CHECKOUT_OFFERS for method in currency.spec.methods}
    assert {(way.currency, METHODS[way.tab]) for way in WAYS.values()} == offered - {(Currency.ZMW, Method.CARD)}


async def test_the_books_agree_with_the_lists_of_all_rails(world: LiveRails) -> None:
    """Runs last: all that the tests before have paid and refunded."""
    await statements_are_read(world)
    now = SystemClock().now()
    findings, _ = await examine_books(world.runtime.db, now=now)
    assert [finding for finding in findings if not finding.is_well] == []
    rails = await examine_rails(world.runtime.db, world.runtime.settings, now=now)
    assert [finding for finding in rails if not finding.is_well] == []
    assert [finding.what for finding in rails if finding.subject == "methods"] == [
        "no rail takes card in ZMW, card in USD: not offered"
    ]
    # Paystack's clock was set ahead.
    period = ReconcilePeriod((now - timedelta(days=1)).date(), (now + timedelta(days=1)).date(), timedelta(days=1))
    for name in RAILS:
        lines = await rail_list.fetch(world.runtime.rails[name], period)
        report = await reconciliation.reconcile(world.runtime.db, lines, rail=name, period=period, is_configured=True)
        assert report.agrees, report.findings
        async with world.runtime.db.connection() as tx:
            payments = await tx.fetchval("SELECT count(*) FROM receipt WHERE rail = $1", name)
        # Each was paid and refunded once.
        assert report.matched == len(lines) == 2 * payments
    async with world.runtime.db.connection() as tx:
        paid = [row["reference"] for row in await tx.fetch("SELECT reference FROM payment WHERE status = 'success'")]
    # The merchant's server was told of each payment and each refund, once.
    events = ("charge.successful", "refund.successful")
    assert Counter(world.told()) == Counter((event, reference) for event in events for reference in paid)


async def statements_are_read(world: LiveRails) -> None:
    """At the end of the day every entry comes again, and is recognised."""
    booked = sum(len(entries) for entries in world.bank.service.entries.values())
    for number in BANK_ACCOUNTS.values():
        world.bank.service.statement(number)

    async def repeated() -> Any:
        async with world.runtime.db.connection() as tx:
            return await tx.fetchval("SELECT count(*) FROM bank_entry WHERE state = 'repeat'")

    await eventually(repeated, lambda count: count == booked)
