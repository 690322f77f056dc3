"""Every question about the books finds its own break, and nothing when all is well."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

import pytest

from conftest import PAST_KEYS
from ledger.booking import NOW, a_few, cause, new_business, ngn, post
from process import tidegate
from settable_clock import SettableClock
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Database
from tidegate.ledger import books, chain, postings
from tidegate.ledger.model import LedgerAccount


@pytest.fixture
async def business_id(db: Database) -> str:
    business_id = await new_business(db)
    await a_few(db, business_id)
    await chain.extend(db, SettableClock(NOW))
    return business_id


async def broken(db: Database) -> dict[str, list[str]]:
    examined = await books.examine(db, now=NOW)
    return {answer.subject: answer.found for answer in examined.answers if answer.found}


async def test_honest_books_are_well(db: Database, business_id: str) -> None:
    assert await broken(db) == {}


async def test_empty_books_are_well(db: Database) -> None:
    examined = await books.examine(db, now=NOW)
    assert [answer.found for answer in examined.answers] == [[]] * 6
    assert examined.trial_balance == []


async def test_a_trial_balance_is_zero_in_each_currency(db: Database, business_id: str, admin: Any) -> None:
    await post(db, business_id, postings.dispute_held(cause=cause(), held=ngn(300), event_at=NOW))
    dollar = Money(100, Currency.USD)
    gained = postings.refund_converted(
        cause=cause(), refunded=dollar, debited=ngn(1_000), worth=ngn(900), event_at=NOW
    )  # fmt: skip
    await post(db, business_id, gained)
    sums = (await books.examine(db, now=NOW)).trial_balance
    totals = {currency: sum(s.minor for s in found) for currency, found in groupby(sums, key=lambda s: s.currency)}
    assert totals == {"NGN": 0, "USD": 0}
    by_place = {(s.currency, s.account): s.minor for s in sums}
    wallet = await admin.fetchrow("SELECT * FROM wallet WHERE currency = 'NGN'")
    assert by_place["NGN", "wallet"] == wallet["balance_minor"] == 10_000 + 20_151 + 14_849_499 - 2_000 - 300
    assert by_place["NGN", "refunds"] + by_place["NGN", "disputes"] == wallet["locked_minor"] == 1_000 - 1_000 + 300
    assert by_place["USD", "rail"] == -10_000 + dollar.minor
    assert by_place["NGN", "exchange"] == 100
    assert {account for _, account in by_place} == {account.value for account in LedgerAccount}


BREAKS = {
    "journals": [
        "UPDATE entry SET amount_minor = amount_minor - 1 WHERE account = 'fee' AND journal_id = {j}",
        "DELETE FROM entry WHERE journal_id = {j}",
    ],
    "ledger": ["UPDATE entry SET amount_minor = amount_minor - 1 WHERE account = 'fee' AND journal_id = {j}"],
    "wallets": [
        "UPDATE wallet SET balance_minor = balance_minor + 1",
        "UPDATE wallet SET locked_minor = locked_minor + 1",
        "DELETE FROM wallet",
    ],
    "statements": [
        "UPDATE entry SET balance_after_minor = balance_after_minor + 1 WHERE journal_id = {j} AND line = 2"
    ],
    "overdrafts": [
        "ALTER TABLE wallet DROP CONSTRAINT wallet_is_never_below_zero; UPDATE wallet SET balance_minor = -1",
        "ALTER TABLE wallet DROP CONSTRAINT wallet_locks_no_less_than_nothing; UPDATE wallet SET locked_minor = -1",
    ],
    "chain": ["UPDATE journal SET cause = 'other' WHERE id = {j}"],
}


def test_every_question_has_a_break_to_find() -> None:
    assert BREAKS.keys() == {question.subject for question in books.QUESTIONS} | {"chain"}


@pytest.mark.parametrize(("subject", "sql"), [(subject, sql) for subject, all_ in BREAKS.items() for sql in all_])
async def test_a_break_is_found_and_named(subject: str, sql: str, business_id: str, admin: Any) -> None:
    journal_id = await admin.fetchval("SELECT min(id) FROM journal")
    name = {"ledger": "NGN"}.get(subject, business_id)
    asked = {question.subject: question.ask for question in books.QUESTIONS}
    undone = admin.transaction()
    await undone.start()
    try:
        await admin.execute(PAST_KEYS)
        await admin.execute(sql.format(j=journal_id))
        if subject == "chain":
            found = await chain.verify(admin, business_id, now=NOW)
        else:
            found = await asked[subject](admin)
    finally:
        await undone.rollback()
    assert found
    assert name in found[0]


@pytest.mark.parametrize(
    ("cause_of_one", "payment_id"),
    [("payment/12", 12), ("x", None), ("", None), ("payment/", None), ("payment/1x", None), ("refund/123456", None)],
)
async def test_a_cause_that_is_no_payment_is_no_error(cause_of_one: str, payment_id: int | None, admin: Any) -> None:
    """A plan may read it before the kind of the journal."""
    assert await admin.fetchval("SELECT payment_of($1)", cause_of_one) == payment_id


def doctor(database_url: str, *arguments: str) -> tuple[int, str]:
    process = tidegate("doctor", *arguments, DATABASE_URL=database_url, COLUMNS="160")
    said, _ = process.communicate(timeout=60)
    return process.returncode, said


def test_the_doctor_examines_the_books(database_url: str, business_id: str) -> None:
    _, said = doctor(database_url, "--books", "--json")
    report = json.loads(said)
    books_of = {f["subject"]: f for f in report["findings"] if f["subject"] in BREAKS}
    assert books_of.keys() == BREAKS.keys()
    assert all(finding["ok"] for finding in books_of.values())
    assert {"currency": "USD", "account": "rail", "amountMinor": -10_000} in report["trialBalance"]


async def test_the_doctor_names_what_breaks_the_books(database_url: str, business_id: str, admin: Any) -> None:
    await admin.execute("UPDATE wallet SET balance_minor = balance_minor + 1")
    code, said = doctor(database_url, "--books")
    assert code == 1
    assert f"{business_id}/NGN keeps" in said
    assert "Trial balance" in said
    assert "USD 100.00" in said
