"""Erases a payer's personal data on request. Amounts, keys and the books stay.

Everything is found before anything is erased. What leads to other rows goes last: a payment after its notifications,
its answers, the views that name its payer and the inflows of its bank accounts. So a run that was interrupted is simply
repeated.
"""

from __future__ import annotations

import re
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import quote_plus

import msgspec
from msgspec.structs import replace

from tidegate.audit import store as audit
from tidegate.audit.model import OPERATOR, Actor
from tidegate.core.clock import Clock
from tidegate.infra.db import Database, Tx
from tidegate.ledger.model import PLATFORM_BUSINESS_ID
from tidegate.retention import erase_store as store
from tidegate.retention.erase_store import HeldAccount, PageStart, PayerInflow, PayerPayment, PayerView

# Rows that are read at once, and those that are erased in one transaction.
PAGE = 2_000
BATCH = 50
PHONE_DIGITS_MIN = 7

# What is found, and why some of it stays for now: words for people.
KINDS = {
    "payments": "payments, with attempts, receipts, refunds and events",
    "inflows": "inflows sent from the payer's bank accounts, or that name the payer",
    "accounts": "virtual accounts that the payer holds, with what was asked about the holder",
    "notifications": "notifications of rails",
    "answers": "answers kept under an Idempotency-Key",
    "views": "saved views that search for the payer, or are called after it",
}
LEFT = {
    "open": "still open: a session, refund, return, dispute or review, money in suspense, an account not closed",
    "undelivered": "with an event that is still being sent to the merchant",
    "disputed": "notifications in suspense or quarantine, to be settled with the rail first",
}

# The next page: each key, and whether the row is the payer's.
ListPage = Callable[[Tx, PageStart], Awaitable[list[tuple[str, str, bool]]]]
# Erases rows of one owner, and says how many.
EraseBatch = Callable[[Tx, str, Sequence[Any], datetime], Awaitable[int]]


class PayerIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """By what a payer is known: e-mails in lower case, phones as digits."""

    emails: tuple[str, ...] = ()
    phones: tuple[str, ...] = ()

    @classmethod
    def parse(cls, emails: Iterable[str], phones: Iterable[str]) -> PayerIdentity:
        """Raises ValueError with what is wrong."""
        found = cls(emails=tuple(text.strip().lower() for text in emails), phones=tuple(map(_digits, phones)))
        if not found.emails and not found.phones:
            raise ValueError("give an e-mail address or a phone number")
        if not all(re.fullmatch(r"[^@\s]+@[^@\s]+", email) for email in found.emails):
            raise ValueError("an e-mail address is like ada@example.com")
        if any(len(phone) < PHONE_DIGITS_MIN for phone in found.phones):
            raise ValueError(f"a phone number has at least {PHONE_DIGITS_MIN} digits")
        return found

    def has(self, text: str) -> bool:
        return text.strip().lower() in self.emails or _digits(text) in self.phones

    def is_named_in(self, text: str) -> bool:
        """A text in lower case."""
        return any(email in text for email in self.emails) or any(phone in _digits(text) for phone in self.phones)

    @property
    def kinds(self) -> list[str]:
        """For the audit trail, which has none of the data itself."""
        return ["email"] * bool(self.emails) + ["phone"] * bool(self.phones)


@dataclass
class FoundData:
    """What is the payer's. Blocked rows stay for now, and so does all that leads from them."""

    payments: list[PayerPayment] = field(default_factory=list)
    inflows: list[PayerInflow] = field(default_factory=list)
    accounts: list[HeldAccount] = field(default_factory=list)
    # With those of their texts that name the payer.
    views: list[PayerView] = field(default_factory=list)
    # By rail, and by business.
    notifications: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    answers: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    # Notifications in suspense or quarantine, which an operator still needs.
    disputed: int = 0

    @property
    def block_reasons(self) -> list[str]:
        rows: list[PayerPayment | PayerInflow | HeldAccount] = [*self.payments, *self.inflows, *self.accounts]
        return [row.block_reason for row in rows if row.block_reason is not None] + ["disputed"] * self.disputed

    def counts(self) -> dict[str, int]:
        """How many can be erased now."""
        return {
            "payments": len(_free(self.payments)),
            "inflows": len(_free(self.inflows)),
            "accounts": len(_free(self.accounts)),
            "notifications": sum(map(len, self.notifications.values())),
            "answers": sum(map(len, self.answers.values())),
            "views": len(self.views),
        }


async def find(db: Database, who: PayerIdentity, business_id: str | None) -> FoundData:
    """Of one business, or of all. Changes nothing."""
    found = FoundData()

    async def payments(tx: Tx, page: PageStart) -> list[tuple[str, str, bool]]:
        return await store.list_payments(tx, page, emails=who.emails, phones=who.phones)

    async for business, ids in _matches(db, payments, business_id):
        async with db.connection() as tx:
            found.payments += await store.get_payments(tx, business, ids)
    bank_accounts = sorted({number for payment in found.payments for number in payment.bank_accounts})

    async def inflows(tx: Tx, page: PageStart) -> list[tuple[str, str, bool]]:
        texts = (*who.emails, *who.phones)
        return await store.list_inflows(tx, page, bank_accounts=bank_accounts, texts=texts)

    async for business, ids in _matches(db, inflows, business_id):
        async with db.connection() as tx:
            found.inflows += await store.get_inflows(tx, business, ids)
    found.accounts = [
        one async for one in _each(db, store.list_accounts, business_id) if any(map(who.has, _texts_in(one.kyc)))
    ]
    await _find_notifications(db, found)
    await _find_views(db, who, business_id, found)
    await _find_answers(db, found)
    return found


async def _matches(db: Database, list_page: ListPage, business_id: str | None) -> AsyncIterator[tuple[str, list[int]]]:
    """The payer's rows of each page, by business."""
    after = ("", "")
    while True:
        async with db.connection() as tx:
            page = await list_page(tx, PageStart(business_id, after, PAGE))
        by_business: dict[str, list[int]] = defaultdict(list)
        for business, id_, is_found in page:
            if is_found:
                by_business[business].append(int(id_))
        for business, ids in by_business.items():
            yield business, ids
        if len(page) < PAGE:
            return
        after = page[-1][:2]


V = TypeVar("V", HeldAccount, PayerView)


async def _each(
    db: Database, list_page: Callable[[Tx, PageStart], Awaitable[list[V]]], business_id: str | None
) -> AsyncIterator[V]:
    after = ("", "")
    while True:
        async with db.connection() as tx:
            page = await list_page(tx, PageStart(business_id, after, PAGE))
        for one in page:
            yield one
        if len(page) < PAGE:
            return
        after = (page[-1].business_id, str(page[-1].id))


async def _find_notifications(db: Database, found: FoundData) -> None:
    """A notification names no payment, so it is known by the transaction or the account in its body."""
    words = {one for payment in _free(found.payments) for one in payment.transactions}
    words |= {inflow.transaction_id for inflow in _free(found.inflows)}
    words |= {account.account_number for account in _free(found.accounts) if account.account_number}
    known = [word.encode() for word in sorted(words)]
    pattern, after = _pattern(known), ("", "")
    while known:
        async with db.connection() as tx:
            page = await store.list_notifications(tx, after, known, limit=PAGE)
        for rail, id_, is_done, body in page:
            if body is None or not pattern.search(body):
                continue
            if is_done:
                found.notifications[rail].append(id_)
            else:
                found.disputed += 1
        if len(page) < PAGE:
            return
        after = page[-1][:2]


async def _find_answers(db: Database, found: FoundData) -> None:
    words: dict[str, set[str]] = defaultdict(set)
    for payment in _free(found.payments):
        words[payment.business_id].update(payment.known_as, payment.transactions)
    for inflow in _free(found.inflows):
        words[inflow.business_id].update((inflow.reference, inflow.transaction_id))
    for account in _free(found.accounts):
        words[account.business_id].add(account.id)
    # The answer to who saved it is the address of the list.
    for view in found.views:
        words[view.business_id].update(map(quote_plus, view.texts))
    for business_id, of_business in words.items():
        known = [word.encode() for word in sorted(of_business)]
        async for key in _answers_with(db, business_id, known):
            found.answers[business_id].append(key)


async def _find_views(db: Database, who: PayerIdentity, business_id: str | None, found: FoundData) -> None:
    """By what was asked for, and by whom the payments of their business name."""
    named: dict[str, list[PayerPayment]] = defaultdict(list)
    for payment in found.payments:
        named[payment.business_id].append(payment)
    async for view in _each(db, store.list_views, business_id):
        texts = [text for text in view.texts if _is_named(text.lower(), who, named[view.business_id])]
        if texts:
            found.views.append(replace(view, texts=tuple(texts)))


def _is_named(text: str, who: PayerIdentity, payments: Sequence[PayerPayment]) -> bool:
    return who.is_named_in(text) or any(_names(payment, text) for payment in payments)


def _names(payment: PayerPayment, text: str) -> bool:
    """In full: a first name alone is that of many."""
    name = payment.customer_name.strip().lower()
    phones = [phone for phone in (_digits(payment.customer_phone or ""),) if len(phone) >= PHONE_DIGITS_MIN]
    of_payment = PayerIdentity(emails=(payment.customer_email.lower(),), phones=tuple(phones))
    return of_payment.is_named_in(text) or (" " in name and name in text)


async def _answers_with(db: Database, business_id: str, known: Sequence[bytes]) -> AsyncIterator[str]:
    after, pattern = "", _pattern(known)
    while True:
        async with db.connection() as tx:
            page = await store.list_answers(tx, business_id, after, known, limit=PAGE)
        for key, body in page:
            if body is not None and pattern.search(body):
                yield key
        if len(page) < PAGE:
            return
        after = page[-1][0]


def new_id() -> str:
    return f"erasure_{secrets.token_hex(8)}"


@dataclass(frozen=True)
class Eraser:
    """Erases what was found, in small transactions; each has its row in the audit trail."""

    db: Database
    clock: Clock
    who: PayerIdentity
    id: str = field(default_factory=new_id)
    by: Actor = OPERATOR
    # In each transaction that erased some: of which kind, and how many.
    note: Callable[[Tx, str, int], Awaitable[None]] | None = None

    async def erase(self, found: FoundData) -> dict[str, int]:
        """How many of each were erased. What is blocked meanwhile stays."""
        for account in _free(found.accounts):
            await self._payees(account)
        return {
            "notifications": await self._all("notifications", found.notifications, store.erase_notifications),
            "answers": await self._all("answers", found.answers, store.erase_answers),
            "views": await self._all("views", _ids_of(found.views), store.delete_views),
            "inflows": await self._all("inflows", _by_business(found.inflows), store.erase_inflows),
            "accounts": await self._all("accounts", _by_business(found.accounts), store.erase_accounts),
            "payments": await self._all("payments", _by_business(found.payments), store.erase_payments),
        }

    async def _payees(self, account: HeldAccount) -> None:
        after = 0
        while True:
            async with self.db.connection() as tx:
                ids = await store.list_inflows_of_account(tx, account.business_id, account.id, after=after, limit=BATCH)
            if not ids:
                return
            await self._batch("payees", account.business_id, ids, store.erase_payees)
            after = ids[-1]

    async def _all(self, kind: str, rows: Mapping[str, Sequence[Any]], erase: EraseBatch) -> int:
        return sum(
            [
                await self._batch(kind, owner, ids[start : start + BATCH], erase)
                for owner, ids in rows.items()
                for start in range(0, len(ids), BATCH)
            ]
        )

    async def _batch(self, kind: str, owner: str, ids: Sequence[Any], erase: EraseBatch) -> int:
        """One transaction, with its row in the audit trail. A rail's notifications are of no business."""
        business_id = PLATFORM_BUSINESS_ID if kind == "notifications" else owner
        now = self.clock.now_of(business_id)
        async with self.db.transaction() as tx:
            count = await erase(tx, owner, ids, now)
            if count:
                details = {"by": self.who.kinds, kind: count}
                await audit.insert(
                    tx, business_id, self.by, action="payer.erased", subject=self.id, details=details, now=now
                )
                if self.note is not None:
                    await self.note(tx, kind, count)
        return count


R = TypeVar("R", PayerPayment, PayerInflow, HeldAccount)


def _free(rows: Iterable[R]) -> list[R]:
    return [row for row in rows if row.block_reason is None]


def _by_business(rows: Iterable[R]) -> dict[str, list[Any]]:
    return _ids_of(_free(rows))


def _ids_of(rows: Iterable[R | PayerView]) -> dict[str, list[Any]]:
    ids: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        ids[row.business_id].append(row.id)
    return ids


def _pattern(words: Sequence[bytes]) -> re.Pattern[bytes]:
    """Whole words only: a short transaction identifier is part of many others."""
    return re.compile(rb"(?<![0-9A-Za-z])(?:" + b"|".join(map(re.escape, words)) + rb")(?![0-9A-Za-z])")


def _texts_in(json_text: str) -> Iterator[str]:
    waiting = [msgspec.json.decode(json_text)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _digits(text: str) -> str:
    return re.sub("[^0-9]", "", text)
