"""A hundred rows of each kind of background work, and what is wrong with one of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bank.world import BankWorld
from bank_file_maker import camt_file, entry
from checkout.paying import card
from cli.operating import Operator
from conftest import MakeCheckout
from inflow import Inflows, credit, reversal_of
from ledger.booking import new_business, paid, post
from tidegate.audit import store as audit
from tidegate.audit.model import OPERATOR
from tidegate.bank_file import imports
from tidegate.core import ids
from tidegate.core.money import Currency, Money
from tidegate.mail import store as mail_store
from tidegate.mail.model import Mail
from tidegate.payment import settle
from tidegate.payment.decide import IncomingTransfer
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.sandbox import SandboxRail
from tidegate.rail.sandbox.model import BankTransfer
from tidegate.rail.state import Party

ROWS = 100
VERSION_MAX = 2**63 - 1
GONE = "gone"


@dataclass(frozen=True)
class Scene:
    """What the rows are made with."""

    admin: Any
    inflows: Inflows
    new_checkout: MakeCheckout
    operator: Operator
    bank: BankWorld

    async def clone(self, table: str, **changes: str) -> None:
        """As many as are missing, of the only row there is; `n` counts them in the SQL of the changes."""
        rows = await self.admin.fetch(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1",
            table,
        )
        columns = [row["column_name"] for row in rows]
        picked = ", ".join(changes.get(name, name) for name in columns)
        done = await self.admin.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) OVERRIDING SYSTEM VALUE "
            f"SELECT {picked} FROM {table}, generate_series(1, {ROWS - 1}) AS n"
        )
        assert done == f"INSERT 0 {ROWS - 1}"

    async def clone_payment(self) -> None:
        pay_code = "left(pay_code, -4) || to_char(n, 'FM0000')"
        await self.clone("payment", id="id + n", pay_code=pay_code, reference="reference || n")

    async def clone_attempt(self) -> None:
        await self.clone(
            "attempt", id="id + n", payment_id="payment_id + n", reference="reference || n",
            account_number="account_number || n", account_id="account_id || n",
        )  # fmt: skip

    async def clone_inflow(self) -> None:
        await self.clone("collection", id="id + n", reference="reference || n", transaction_id="transaction_id || n")
        await self.admin.execute("DELETE FROM collection_tally")
        for row in await self.admin.fetch("SELECT row_to_json(collection)::text AS inflow, status FROM collection"):
            await self.admin.execute(
                "SELECT count_inflow(json_populate_record(NULL::collection, $1::json), NULL, $2)", *row
            )

    async def note_reversal(self, body: dict[str, Any]) -> None:
        """Recorded, and not applied yet."""
        await self.admin.execute(
            """
            INSERT INTO credit_reversal (rail, transaction_id, reversal_id, account_number, currency, amount_minor,
                                         reason, created_at)
            VALUES ('sandbox', $1, $2, $3, $4, $5, 'sent twice', $6)
            """,
            body["transactionId"], reversal_of(body)["reversalId"], body["accountNumber"], body["currency"],
            int(body["amount"]), self.inflows.now,
        )  # fmt: skip
        await self.clone("credit_reversal", transaction_id="transaction_id || n", reversal_id="reversal_id || n")


@dataclass(frozen=True)
class Poison:
    """`cause` and `cure` are SQL for the oldest row; `done` counts the rows that were worked off."""

    kind: str
    make: Callable[[Scene], Awaitable[None]]
    cause: str
    cure: str
    done: str
    after: timedelta = timedelta(days=1)
    # A bank's files are a rail of live mode.
    is_of_bank: bool = False

    def deps(self, scene: Scene) -> PaymentDeps:
        return scene.bank.deps if self.is_of_bank else scene.inflows.runtime.deps


async def payments(scene: Scene) -> None:
    await scene.new_checkout()
    await scene.clone_payment()


async def accounts_of_payments(scene: Scene) -> None:
    await (await scene.new_checkout()).account()
    await scene.clone_payment()
    await scene.clone_attempt()


async def silent_attempts(scene: Scene) -> None:
    checkout = await scene.new_checkout(currency="KES")
    await checkout.charge({"type": "mobile_money", "phone": "+254712340005"})
    await scene.clone_payment()
    await scene.clone_attempt()


async def held_receipts(scene: Scene) -> None:
    checkout = await scene.new_checkout(settings={"variance_policy": "top_up"})
    await checkout.transfer(await checkout.account(), "50.00")
    assert (await checkout.cancel()).status_code == 200
    await scene.clone_payment()
    await scene.clone("receipt", id="id + n", payment_id="payment_id + n", transaction_id="transaction_id || n")


async def returns(scene: Scene) -> None:
    checkout = await scene.new_checkout(settings={"variance_policy": "return"})
    arrival = IncomingTransfer(rail="sandbox", transaction_id="t", amount=Money(4_000, Currency.NGN), payer={})
    inflows, number = scene.inflows, await checkout.account()
    await settle.record_arrival(inflows.runtime.deps, number, arrival, ref=None, now=inflows.now)
    await scene.clone("money_return", id="id + n", reference="reference || n")


async def refund_legs(scene: Scene) -> None:
    """One refund in a hundred parts."""
    number = await scene.inflows.number()
    await scene.inflows.notified(credit(number, 500_00))
    arrived = await scene.inflows.notified(credit(number, 100_00))
    asked = {"transReference": arrived["reference"], "amount": 100}
    assert (await scene.inflows.call("POST", "/collections/refund", asked)).status_code == 200
    await scene.admin.execute("UPDATE refund_leg SET amount_minor = 100")
    await scene.clone("refund_leg", reference="reference || n", transaction_id="transaction_id || n")


async def reversals(scene: Scene) -> None:
    body = credit(await scene.inflows.number())
    await scene.inflows.notified(body)
    await scene.clone_inflow()
    await scene.note_reversal(body)


async def unclaimed_reversals(scene: Scene) -> None:
    body = credit(await scene.inflows.number(), currency="USD")
    assert (await scene.inflows.notify(body)).status_code == 200
    await scene.clone("receipt", id="id + n", transaction_id="transaction_id || n")
    await scene.note_reversal(body)


async def paid_checkouts(scene: Scene) -> dict[str, Any]:
    """Says what the bank told of the first."""
    checkout = await scene.new_checkout()
    body = credit(await checkout.account(), 10_000, currency="NGN")
    assert (await scene.inflows.notify(body)).status_code == 200
    await scene.clone_payment()
    await scene.clone_attempt()
    return body


async def checkout_reversals(scene: Scene) -> None:
    body = await paid_checkouts(scene)
    await scene.clone("receipt", id="id + n", payment_id="payment_id + n", transaction_id="transaction_id || n")
    await scene.note_reversal(body)


async def checkout_debts(scene: Scene) -> None:
    await paid_checkouts(scene)
    await scene.admin.execute("UPDATE payment SET reversed_minor = 1, owed_minor = 1")


async def held_inflows(scene: Scene) -> None:
    await scene.inflows.notified(credit(await scene.inflows.number(), payeeName="Ada Obii"))
    await scene.clone_inflow()


async def debts(scene: Scene) -> None:
    await scene.inflows.notified(credit(await scene.inflows.number()))
    await scene.admin.execute("UPDATE collection SET owed_minor = 1")
    await scene.clone_inflow()


async def virtual_accounts(scene: Scene) -> None:
    await scene.inflows.account(expires_at=scene.inflows.now + timedelta(hours=1))
    details = "replace(details::text, account_number, account_number || n)::jsonb"
    changes = {"id": "lpad(to_hex(n), 24, '0')", "account_number": "account_number || n", "details": details}
    await scene.clone("virtual_account", **changes)


async def journals(scene: Scene) -> None:
    db = scene.inflows.runtime.db
    for _ in range(ROWS):
        await post(db, await new_business(db), paid())


async def audit_rows(scene: Scene) -> None:
    """One chain each, and no others."""
    db = scene.inflows.runtime.db
    await scene.inflows.admin.execute("DELETE FROM audit_to_link")
    for _ in range(ROWS):
        business_id = await new_business(db)
        async with db.connection() as tx:
            await audit.insert(tx, business_id, OPERATOR, action="x", subject="x", details={}, now=scene.inflows.now)


async def notices(scene: Scene) -> None:
    """The first is of an account that a payment waits for, the others of accounts that nobody has."""
    number = await (await scene.new_checkout()).account()
    rail, now = scene.inflows.runtime.deps.rails["sandbox"], scene.inflows.now
    assert isinstance(rail, SandboxRail)
    async with scene.inflows.runtime.db.transaction() as tx:
        for n in range(ROWS):
            sent = BankTransfer(
                account_number=number if n == 0 else f"99{n:08}", amount=Money(10_000, Currency.NGN),
                payer=Party(name="Ada Obi"), transaction_id=ids.new_event_id(),
            )  # fmt: skip
            await rail.transfer(tx, scene.inflows.shop.business_id, sent, now=now + timedelta(microseconds=n))


async def mails(scene: Scene) -> None:
    letter = Mail(recipient="ada@example.com", subject="Hello", paragraphs=("Hello.",))
    async with scene.inflows.runtime.db.transaction() as tx:
        await mail_store.insert(tx, scene.inflows.shop.business_id, letter, now=scene.inflows.now)
    await scene.clone("mail", id="id + n")


async def wanted_receipts(scene: Scene) -> None:
    checkout = await scene.new_checkout(settings={"receipts_by_mail": True})
    await checkout.charge(card())
    await scene.clone_payment()
    await scene.clone("receipt_mail", payment_id="payment_id + n")


async def refunds_to_tell(scene: Scene) -> None:
    checkout = await scene.new_checkout(settings={"receipts_by_mail": True}, amount=100)
    await checkout.charge(card())
    await checkout.tick()
    asked = {"transReference": checkout.reference, "amount": 1}
    key = {"api-key": checkout.shop.secret_key}
    assert (await checkout.post("/collections/refund", asked, **key)).status_code == 200
    await checkout.tick()
    await checkout.let_pass("5s")
    await scene.admin.execute("UPDATE refund SET mail_due_at = completed_at")
    await scene.admin.execute("DELETE FROM mail_attachment; DELETE FROM mail")
    await scene.clone_payment()
    await scene.clone("receipt_mail", payment_id="payment_id + n")
    await scene.clone("refund", id="id + n", payment_id="payment_id + n", reference="reference || n")


async def bank_entries(scene: Scene) -> None:
    """Of one file, and not recorded yet."""
    number = await scene.bank.account()
    path = scene.bank.settings.folder / "statement.xml"
    path.write_bytes(camt_file(*(entry("1.00", reference=f"R{n}", destination=number) for n in range(ROWS))))
    await imports.import_file(scene.bank.deps, scene.bank.settings, path, now=scene.bank.now)


OLDEST_PAYMENT = "WHERE id = (SELECT min(id) FROM payment)"
OLDEST_ATTEMPT = "WHERE id = (SELECT min(id) FROM attempt)"
OLDEST_INFLOW = "WHERE id = (SELECT min(id) FROM collection)"
FIRST_CHAIN = "(SELECT business_id FROM journal_to_link ORDER BY journal_id LIMIT 1)"
AS_REPLICA = "SET LOCAL session_replication_role = replica;"
EARLIER = "timestamptz '2020-01-01 00:00Z'"
SUSPENDED = ("receipt", "credit_reversal")

POISONS = (
    Poison(
        "expire_payments", payments,
        f"UPDATE payment SET default_method = 'nonsense', expires_at = {EARLIER} "
        f"{OLDEST_PAYMENT}",
        "UPDATE payment SET default_method = 'card'",
        "SELECT count(*) FROM payment WHERE status = 'expired'",
    ),
    Poison(
        "close_accounts", accounts_of_payments,
        f"UPDATE payment SET version = {VERSION_MAX} {OLDEST_PAYMENT}",
        f"UPDATE payment SET version = 1 WHERE version = {VERSION_MAX}",
        "SELECT count(*) FROM attempt WHERE status = 'expired'",
    ),
    Poison(
        "poll_rails", silent_attempts,
        f"UPDATE attempt SET rail = '{GONE}', next_poll_at = {EARLIER} {OLDEST_ATTEMPT}",
        "UPDATE attempt SET rail = 'sandbox'",
        "SELECT count(*) FROM attempt WHERE next_poll_at IS NULL",
    ),
    Poison(
        "return_held", held_receipts,
        "UPDATE receipt SET currency = 'XXX' WHERE id = (SELECT min(id) FROM receipt)",
        "UPDATE receipt SET currency = 'NGN'",
        "SELECT count(*) FROM money_return",
    ),
    Poison(
        "send_returns", returns,
        f"UPDATE money_return SET rail = '{GONE}', next_try_at = {EARLIER} "
        "WHERE id = (SELECT min(id) FROM money_return)",
        "UPDATE money_return SET rail = 'sandbox'",
        "SELECT count(*) FROM money_return WHERE status = 'sent'",
    ),
    Poison(
        "poll_refunds", refund_legs,
        f"UPDATE refund_leg SET rail = '{GONE}', next_poll_at = {EARLIER} "
        "WHERE reference = (SELECT min(reference) FROM refund_leg)",
        "UPDATE refund_leg SET rail = 'sandbox'",
        "SELECT count(*) FROM refund_leg WHERE polls > 0 OR status = 'successful'",
    ),
    Poison(
        "apply_reversals", reversals,
        f"UPDATE collection SET version = {VERSION_MAX} {OLDEST_INFLOW}",
        f"UPDATE collection SET version = 1 WHERE version = {VERSION_MAX}",
        "SELECT count(*) FROM credit_reversal WHERE applied_at IS NOT NULL",
    ),
    Poison(
        "apply_unclaimed_reversals", unclaimed_reversals,
        "; ".join(
            f"UPDATE {table} SET currency = 'XXX' WHERE transaction_id = (SELECT min(transaction_id) FROM receipt)"
            for table in SUSPENDED
        ),
        "; ".join(f"UPDATE {table} SET currency = 'USD'" for table in SUSPENDED),
        "SELECT count(*) FROM credit_reversal WHERE applied_at IS NOT NULL",
    ),
    Poison(
        "return_overdue_inflows", held_inflows,
        f"UPDATE collection SET version = {VERSION_MAX} {OLDEST_INFLOW}",
        f"UPDATE collection SET version = 1 WHERE version = {VERSION_MAX}",
        "SELECT count(*) FROM collection WHERE status <> 'pending'",
        timedelta(days=90),
    ),
    Poison(
        "collect_debts", debts,
        f"UPDATE collection SET version = {VERSION_MAX} {OLDEST_INFLOW}",
        f"UPDATE collection SET version = 1 WHERE version = {VERSION_MAX}",
        "SELECT count(*) FROM collection WHERE owed_minor = 0",
    ),
    Poison(
        "apply_checkout_reversals", checkout_reversals,
        f"UPDATE payment SET version = {VERSION_MAX} {OLDEST_PAYMENT}",
        f"UPDATE payment SET version = 1 WHERE version = {VERSION_MAX}",
        "SELECT count(*) FROM credit_reversal WHERE applied_at IS NOT NULL",
    ),
    Poison(
        "collect_checkout_debts", checkout_debts,
        f"UPDATE payment SET version = {VERSION_MAX} {OLDEST_PAYMENT}",
        f"UPDATE payment SET version = 1 WHERE version = {VERSION_MAX}",
        "SELECT count(*) FROM payment WHERE owed_minor = 0",
    ),
    Poison(
        "expire_accounts", virtual_accounts,
        f"UPDATE virtual_account SET version = {VERSION_MAX}, expires_at = {EARLIER} "
        "WHERE id = (SELECT min(id) FROM virtual_account)",
        f"UPDATE virtual_account SET version = 1 WHERE version = {VERSION_MAX}",
        "SELECT count(*) FROM virtual_account WHERE status = 'expired'",
    ),
    Poison(
        "extend_chain", journals,
        f"{AS_REPLICA} INSERT INTO journal_link SELECT {FIRST_CHAIN}, {VERSION_MAX}, 0, '', sha256('')",
        f"{AS_REPLICA} DELETE FROM journal_link WHERE position = {VERSION_MAX}",
        f"SELECT count(DISTINCT business_id) FROM journal_link WHERE position < {VERSION_MAX}",
    ),
    Poison(
        "extend_audit_chain", audit_rows,
        f"INSERT INTO audit_link SELECT min(business_id), {VERSION_MAX}, 0, sha256('') FROM audit_to_link",
        f"DELETE FROM audit_link WHERE position = {VERSION_MAX}",
        f"SELECT count(DISTINCT business_id) FROM audit_link WHERE position < {VERSION_MAX}",
    ),
    Poison(
        "write_receipts", wanted_receipts,
        f"UPDATE payment SET default_method = 'nonsense' {OLDEST_PAYMENT}",
        "UPDATE payment SET default_method = 'card'",
        "SELECT count(*) FROM mail",
    ),
    Poison(
        "write_refund_receipts", refunds_to_tell,
        f"UPDATE payment SET default_method = 'nonsense' {OLDEST_PAYMENT}",
        "UPDATE payment SET default_method = 'card'",
        "SELECT count(*) FROM mail",
    ),
    Poison(
        "send_mail", mails,
        "UPDATE mail SET subject = E'two\\nlines' WHERE id = (SELECT min(id) FROM mail)",
        "UPDATE mail SET subject = 'Hello'",
        "SELECT count(*) FROM mail WHERE status = 'sent'",
    ),
    Poison(
        "send_sandbox_notifications", notices,
        "UPDATE attempt SET method = 'nonsense'",
        "UPDATE attempt SET method = 'bank_transfer'",
        "SELECT count(*) FROM sandbox_notification WHERE sent_at IS NOT NULL",
        timedelta(seconds=1),
    ),
    Poison(
        "record_bank_entries", bank_entries,
        "UPDATE bank_entry SET details = jsonb_build_object('kept', details) WHERE number = 1",
        "UPDATE bank_entry SET details = details->'kept' WHERE details ? 'kept'",
        "SELECT count(*) FROM bank_entry WHERE state = 'done'",
        is_of_bank=True,
    ),
)  # fmt: skip
