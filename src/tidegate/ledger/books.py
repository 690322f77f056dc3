"""Audit of the books: checks that find nothing when all is well, and a trial balance."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from tidegate.infra.db import Database, Tx
from tidegate.ledger import chain
from tidegate.ledger.audit import store


@dataclass(frozen=True)
class BooksQuestion:
    subject: str
    ask: Callable[[Tx], Awaitable[list[str]]]
    when_well: str


@dataclass(frozen=True)
class BooksAnswer:
    """`found` names what breaks the rule."""

    subject: str
    found: list[str]
    when_well: str


@dataclass(frozen=True)
class BooksSum:
    """One account in one currency over all businesses; positive is owed by us or earned, negative is owed to us."""

    currency: str
    account: str
    minor: int


@dataclass(frozen=True)
class Books:
    answers: list[BooksAnswer]
    trial_balance: list[BooksSum]


QUESTIONS = (
    BooksQuestion("journals", store.list_unbalanced_journals, "every journal sums to zero in each currency"),
    BooksQuestion("ledger", store.list_unbalanced_currencies, "the whole ledger sums to zero in each currency"),
    BooksQuestion("wallets", store.list_wrong_wallets, "every wallet is the sum of its entries"),
    BooksQuestion("statements", store.list_wrong_running_balances, "every balance follows from the entries before it"),
    BooksQuestion("overdrafts", store.list_overdrawn_wallets, "no wallet is below zero"),
)


@asynccontextmanager
async def snapshot(db: Database) -> AsyncIterator[Tx]:
    """For checks that read everything: one state of the database, with time enough."""
    async with db.transaction() as tx:
        await store.begin(tx)
        yield tx


async def examine(db: Database, *, now: datetime) -> Books:
    async with snapshot(db) as tx:
        answers = [BooksAnswer(question.subject, await question.ask(tx), question.when_well) for question in QUESTIONS]
        answers.append(await _chain(tx, now))
        return Books(answers, await trial_balance(tx))


async def trial_balance(tx: Tx) -> list[BooksSum]:
    return [BooksSum(row["currency"], row["account"], int(row["minor"])) for row in await store.list_sums(tx)]


async def _chain(tx: Tx, now: datetime) -> BooksAnswer:
    found: list[str] = []
    for business_id in await store.list_businesses(tx):
        found += await chain.verify(tx, business_id, now=now)
        if len(found) >= store.FINDINGS_MAX:
            break
    return BooksAnswer("chain", found, "every journal is unchanged since it was linked")
