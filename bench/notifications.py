"""Notifications of a rail per second, until everything they cause is committed: settlements, and inflows.

The yardstick is pgbench, which does the same writes by the plain statements of one function. Businesses, accounts and
waiting payments are made in bulk, as copies of what the API made; all follow from a serial number.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar

from bench import pgbench, same_writes, traffic
from bench.create import ORDER, PATH, copy_rows
from bench.environment import Environment
from bench.pgbench import NINETEEN_DIGITS
from bench.report import Line, Sample
from tidegate.core.money import Currency, Money
from tidegate.rail.event import MoneyArrived, Notification
from tidegate.rail.sandbox import signed_notification
from tidegate.rail.sandbox.account import details_of
from tidegate.rail.sandbox.begin import account_number
from tidegate.rail.state import Party

INTAKE = "/intake/sandbox"
BUSINESSES = 100
HOLDER = "Ada Obi"
PAYER = "Chidi Eze"
# More than a machine can do. Too few end the run with an error.
PREPARED_PER_S = 4_000
# Written before PostgreSQL examines its tables: plans made while they are almost empty read all of them.
FIRST_ROWS = 2_000
_MANY = f"lpad((1 + serial % {BUSINESSES})::text, 24, '0')"
TRANSACTION = "'sbx_00000' || p_random"
_BEGIN = f"""
    INSERT INTO business (id, code, name, email, created_at, updated_at)
    SELECT {_MANY}, lpad((1 + serial % {BUSINESSES})::text, 5, '0'), 'Shop', 'shop@example.com', now(), now()
      FROM generate_series(1, {BUSINESSES}) AS serial
    ON CONFLICT DO NOTHING;
    CREATE SEQUENCE IF NOT EXISTS bench_number;
    GRANT USAGE ON SEQUENCE bench_number TO tidegate_app
"""


def arrival(
    account: str, amount: Money, *, payer: str, payee: str, now: datetime, remittance: str | None = None
) -> MoneyArrived:
    return MoneyArrived(
        account_number=account,
        transaction_id=f"sbx_{secrets.token_hex(12)}",
        amount=amount,
        payer=Party(name=payer, account_number="0123456789", bank_name="Harbour Bank", bank_code="044"),
        payee_name=payee,
        scheme="sandbox",
        remittance=remittance,
        valued_at=now,
    )


def signed(arrived: MoneyArrived, secret: bytes, *, now: datetime) -> tuple[dict[str, str], str]:
    """Headers and body."""
    written = signed_notification.write(Notification(id=f"credit-{arrived.transaction_id}", event=arrived))
    raw = signed_notification.sign(written, secret, now=now)
    return {signed_notification.SIGNATURE_HEADER: raw.headers[signed_notification.SIGNATURE_HEADER]}, raw.body.decode()


class NotificationLoad:
    """Notifications of one kind. What is about one of them is found by a key, in `tables`."""

    name: str
    target: float
    journal_kind: str
    amount: Money
    tables: ClassVar[Mapping[str, str]]
    # The business of a serial number, in SQL.
    business = _MANY
    # Expressions of the columns that differ, for same_writes.
    own: Callable[[], Mapping[str, dict[str, str]]]
    # Far above the numbers that the product gives.
    next_serial: int
    set_up: Callable[[], None]
    # Where the money of a serial number goes.
    account: Callable[[int], str]
    # Of a serial number and a transaction.
    key: Callable[[int, str], int | str]

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._secret: bytes = environment.fetchrow("SELECT secret FROM deployment")["secret"]
        environment.execute(_BEGIN)
        self._function = f"bench_{self.journal_kind}_{self.next_serial}"
        self.set_up()
        self._learn()
        serials = self.prepare(FIRST_ROWS)
        environment.execute(
            f"SELECT {self._function}(serial, lpad(serial::text, 19, '0'))"
            f" FROM generate_series({serials[0]}::bigint, {serials[-1]}) AS serial"
        )

    def prepare(self, count: int) -> range:
        """Serial numbers that were not used."""
        self.next_serial += count
        return range(self.next_serial - count, self.next_serial)

    @classmethod
    def line(cls, environment: Environment) -> Line:
        load = cls(environment)
        ours, yardstick = (partial(load._counted, run) for run in (load._ours, load._yardstick))
        return Line(load.name, "pgbench, the same writes", ours, yardstick, load.target)

    def _ours(self, serials: range, seconds: float) -> Sample:
        # Signed just before they are sent, since a signature is good for five minutes only.
        signed = [self._sign(serial) for serial in serials]
        requests = [traffic.request("POST", INTAKE, headers, body) for headers, body, _ in signed]
        api = self.environment.api
        return traffic.send(self.environment, api, requests, 200, seconds, is_each_once=True)

    def _yardstick(self, serials: range, seconds: float) -> Sample:
        self.environment.execute(
            f"ALTER SEQUENCE bench_number MINVALUE 1 MAXVALUE {serials[-1]} RESTART WITH {serials[0]}"
        )
        script = f"\\set random {NINETEEN_DIGITS}\nSELECT {self._function}(nextval('bench_number'), :random::text);\n"
        return pgbench.run(self.environment, [script], seconds=seconds)

    def _counted(self, run: Callable[[range, float], Sample], seconds: float) -> Sample:
        """Every success must have its journal."""
        serials = self.prepare(round(PREPARED_PER_S * (seconds + max(traffic.LEAD_S, pgbench.WARM_UP_S))))
        return self.environment.counted(f"journal WHERE kind = '{self.journal_kind}'", lambda: run(serials, seconds))

    def _sign(self, serial: int) -> tuple[dict[str, str], str, str]:
        """Headers, body, and the number of the transaction."""
        now = datetime.now(UTC)
        arrived = arrival(self.account(serial), self.amount, payer=PAYER, payee=HOLDER, now=now)
        return *signed(arrived, self._secret, now=now), arrived.transaction_id

    def _learn(self) -> None:
        """Lets the API take one notification, makes the yardstick of it, and compares the two on a second one."""
        first, second = self.prepare(2)
        rows_of = partial(same_writes.rows_of, self.environment, self.tables)
        before = rows_of(self.key(first, ""))
        headers, body, transaction_id = self._sign(first)
        self.environment.api.ask(INTAKE, headers, body.encode())
        after = rows_of(self.key(first, transaction_id))
        signature = f"{self._function}(serial bigint, p_random text)"
        same_writes.create_function(self.environment, signature, before=before, after=after, own=self.own())
        self.environment.execute(f"SELECT {self._function}({second}, '{second:019}')")
        same_writes.refuse_difference(after, rows_of(self.key(second, f"sbx_00000{second:019}")))


class Settlements(NotificationLoad):
    """Transfers to payments that wait for one: copies of one that the API made, with an attempt of the same number."""

    name, target = "settle", 0.6
    journal_kind = "checkout_settled"
    next_serial = 500_000_000
    # The API's own scattering of account numbers, in SQL.
    number = "'9' || lpad((serial * 618033989 % 1000000000)::text, 9, '0')"
    tables: ClassVar = {
        "notification": "id LIKE '%' || (SELECT transaction_id FROM receipt WHERE payment_id = $1)",
        "payment": "id = $1",
        "attempt": "id = $1",
        "receipt": "payment_id = $1",
        "journal": "cause = 'payment/' || $1",
        "event": "cause = 'payment/' || $1",
    }

    def own(self) -> dict[str, dict[str, str]]:
        return {
            "": {"business_id": self.business, "transaction_id": TRANSACTION, "id": "serial", "payment_id": "serial"}
            | {"attempt_id": "serial", "account_number": self.number, "cause": "'payment/' || serial"},
            "notification": {"id": f"'credit-' || {self.business} || '-' || {TRANSACTION}"},
            "receipt": {"id": "DEFAULT"},
            "event": {"id": "'evt_000' || p_random"},
        }

    def set_up(self) -> None:
        api, shop = self.environment.api, self.environment.shops[0]
        pattern = f"settle-pattern-{self.next_serial}"
        pay_code = api.post(PATH, {**ORDER, "reference": pattern}, shop.create_headers)["payCode"]
        api.post(f"{PATH}/{pay_code}/charge", {"type": "bank_transfer"}, {})
        one = "payment_id = (SELECT id FROM payment WHERE reference = $1)"
        found = self.environment.fetchrow(f"SELECT payment_id, expected_minor FROM attempt WHERE {one}", pattern)
        self._pattern, self.amount = found["payment_id"], Money(found["expected_minor"], Currency.NGN)

    def prepare(self, count: int) -> range:
        serials = super().prepare(count)
        own = {"id": "serial", "business_id": self.business, "created_at": "now()", "updated_at": "now()"}
        own |= {"expires_at": "now() + interval '2 hours'"}
        payment = {"pay_code": "left(pay_code, -22) || left(md5(serial::text), 22)", "reference": "'settle-' || serial"}
        attempt = {
            "payment_id": "serial",
            "reference": "'at_' || left(md5(serial::text), 22)",
            "account_id": "left(md5(serial::text), 24)",
            "account_number": self.number,
            "action": f"jsonb_set(action, '{{account_number}}', to_jsonb({self.number}))",
        }
        copy_rows(self.environment, "payment", f"id = {self._pattern}", own | payment, serials)
        copy_rows(self.environment, "attempt", f"payment_id = {self._pattern}", own | attempt, serials)
        self.environment.execute(f"""
            INSERT INTO account_number (rail, number, kind, business_id, holder)
            SELECT rail, account_number, 'attempt', business_id, reference FROM attempt
             WHERE id BETWEEN {serials[0]} AND {serials[-1]}
        """)
        return serials

    def account(self, serial: int) -> str:
        return account_number(Currency.NGN, serial)

    def key(self, serial: int, transaction_id: str) -> int:
        return serial


class SettlementsOfOne(Settlements):
    """All of them wait for one wallet."""

    name, target = "settle-one", 0.5
    next_serial = 800_000_000
    business = "lpad('1', 24, '0')"


class Inflows(NotificationLoad):
    """Credits to virtual accounts, one for each business."""

    name, target = "inflow", 0.5
    journal_kind = "inflow_credited"
    next_serial = 700_000_000
    amount = Money(25_000, Currency.EUR)
    tables: ClassVar = {
        "notification": "id = 'credit-' || $1",
        "collection": "transaction_id = $1",
        "journal": "cause = 'sandbox/' || $1",
        "event": "cause = 'sandbox/' || $1",
    }

    def own(self) -> dict[str, dict[str, str]]:
        return {
            "": {"business_id": self.business, "account_id": self.business, "transaction_id": TRANSACTION}
            | {"cause": f"'sandbox/' || {TRANSACTION}", "reference": "'col_000' || p_random"},
            "notification": {"id": f"'credit-' || {TRANSACTION}"},
            "collection": {"id": "new_collection_id(now())"},
            "event": {"id": "'evt_000' || p_random"},
        }

    def set_up(self) -> None:
        listed = ", ".join(f"('{self.account(serial)}', {serial})" for serial in range(BUSINESSES))
        self.environment.execute(f"""
            INSERT INTO virtual_account (business_id, id, status, currency, settlement_currency, account_type, holder,
                                         merchant_reference, kyc, rail, account_number, details, created_at, updated_at)
            SELECT {_MANY}, {_MANY}, 'approved', 'EUR', 'EUR', 'individual', '{HOLDER}', 'bench', '{{}}',
                   'sandbox', number, jsonb_build_object('account_number', number, 'local_number', number, 'bank_code',
                   '1', 'bank_name', 'Bank', 'country_code', 'DE', 'reference', ''), now(), now()
              FROM (VALUES {listed}) AS given (number, serial);
            INSERT INTO account_number (rail, number, kind, business_id, holder)
            SELECT rail, account_number, 'virtual_account', business_id, id FROM virtual_account
             WHERE merchant_reference = 'bench'
        """)

    def account(self, serial: int) -> str:
        return details_of(Currency.EUR, serial=500_000_000 + serial % BUSINESSES, reference="").account_number

    def key(self, serial: int, transaction_id: str) -> str:
        return transaction_id
