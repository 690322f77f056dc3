"""The rail of a bank's files. Files open nothing and answer nothing at once: everything is reported by the next one."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, time, timedelta

from tidegate.bank_settings import BankAccount, BankFilesSettings
from tidegate.core.bank_number import is_iban
from tidegate.core.errors import Conflict, NotFound
from tidegate.core.finding import Finding
from tidegate.core.method import Method
from tidegate.core.money import CHECKOUT_OFFERS
from tidegate.infra.db import Database, Tx
from tidegate.infra.timestamp import to_iso
from tidegate.rail.action import TransferAction
from tidegate.rail.bankfiles import store
from tidegate.rail.bankfiles.code import new_code
from tidegate.rail.bankfiles.continuity import gaps_in, working_time_between
from tidegate.rail.bankfiles.payout import BankPayouts
from tidegate.rail.bankfiles.store import CodeTaken, StartedTransfer, VirtualNumberTaken
from tidegate.rail.capability import AmountLimits, Capabilities, MethodTerms
from tidegate.rail.event import Notification, RawNotification
from tidegate.rail.instrument import Authorization
from tidegate.rail.interface import (
    AccountDetails,
    NotificationRefused,
    OpenAccount,
    RailBusy,
    RailRefused,
    RailTransaction,
    RefundMoney,
    ReturnMoney,
    StartAttempt,
)
from tidegate.rail.state import AttemptState, PayoutState, StillWaiting, Waiting

NAME = "bankfiles"
SUBJECT = "rail bankfiles"
FOLDERS = ("in", "done", "bad", "out")
TRIES = 10
FREE_NUMBERS_MIN = 10
# A debit that is not in a statement by then is looked for by an operator.
DEBIT_WITHIN = timedelta(days=5)
# A transfer of Friday evening is booked on Monday, and stands in the statement that comes the day after.
NOTIFIED_WITHIN = timedelta(days=4)
# A statement comes on every working day.
QUIET_AFTER = timedelta(hours=26)


class BankFilesRail:
    def __init__(self, settings: BankFilesSettings, db: Database) -> None:
        self.settings = settings
        self._db = db
        self._payouts = BankPayouts(settings, db)
        self._capabilities = _capabilities(settings)

    @property
    def name(self) -> str:
        return NAME

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def check(self, *, now: datetime) -> list[Finding]:
        async with self._db.connection() as tx:
            last = await store.find_last_file_at(tx)
            problems = await store.count_problems(tx)
            gaps = gaps_in(await store.list_statements(tx))
            late = await store.list_late_payouts(tx, now=now, after=DEBIT_WITHIN)
            free = [
                (one, await store.count_free_numbers(tx, one.virtual_numbers))
                for one in self.settings.accounts
                if one.virtual_numbers
            ]
        is_quiet = last is not None and working_time_between(last, now) > QUIET_AFTER
        heard = f"the last file came at {to_iso(last)}" if last else "no file has come yet"
        few = [f"{one.number} has {count} free virtual numbers" for one, count in free if count < FREE_NUMBERS_MIN]
        shown = "`tidegate bank files` shows them"
        return [
            self._check_folder(),
            self._check_refused(),
            Finding(SUBJECT, not is_quiet, heard, "look at what fetches the files from the bank, and ask the bank"),
            Finding(SUBJECT, not problems, f"{problems} entries need a decision", shown),
            Finding(SUBJECT, not gaps, "; ".join(gaps[:5]) or "no statement is missing", "ask the bank for the file"),
            Finding(SUBJECT, not late, f"no debit seen for {', '.join(late)}" if late else "no payment is late",
                    "ask the bank; `tidegate bank payout list` shows them"),
            Finding(SUBJECT, True, "; ".join(few) or "enough virtual numbers"),
        ]  # fmt: skip

    def _check_folder(self) -> Finding:
        folder = self.settings.folder
        missing = [name for name in FOLDERS if not os.access(folder / name, os.R_OK | os.W_OK | os.X_OK)]
        what = f"{folder}: {', '.join(missing)} cannot be read and written" if missing else f"files come to {folder}/in"
        return Finding(SUBJECT, not missing, what, "make these folders, writable by the service")

    def _check_refused(self) -> Finding:
        bad = self.settings.folder / "bad"
        refused = sorted(path.name for path in bad.glob("*") if path.suffix != ".why") if bad.is_dir() else []
        shown = ", ".join(refused[:3]) + (", …" if refused[3:] else "")
        what = f"{len(refused)} refused files in {bad}: {shown}" if refused else "no file was refused"
        return Finding(
            SUBJECT, not refused, what, "the file with .why says what is wrong; ask the bank, then remove it"
        )

    async def start(self, attempt: StartAttempt, *, now: datetime) -> AttemptState:
        account = self.settings.checkout_account(attempt.amount.currency)
        if account is None or attempt.method is not Method.BANK_TRANSFER:
            raise RailRefused(f"no account at the bank takes {attempt.method} in {attempt.amount.currency}")
        for _ in range(TRIES):
            try:
                async with self._db.connection() as tx:
                    await store.insert_attempt(tx, attempt, account_number=account.number, code=new_code(), now=now)
            except CodeTaken:
                continue
            break
        started = await self._get(attempt.business_id, attempt.reference)
        return Waiting(_action(account, started))

    async def authorize(self, business_id: str, reference: str, given: Authorization, *, now: datetime) -> AttemptState:
        await self._get(business_id, reference)
        raise Conflict("a bank transfer is not waiting for a code; fetch the payment again")

    async def resend(self, business_id: str, reference: str, *, now: datetime) -> AttemptState:
        await self._get(business_id, reference)
        raise Conflict("a bank transfer has no prompt or code to send again")

    async def poll(self, business_id: str, reference: str, *, now: datetime) -> AttemptState:
        started = await self._get(business_id, reference)
        account = next((one for one in self.settings.accounts if one.number == started.account_number), None)
        return StillWaiting(_action(account, started) if account else None)

    async def _get(self, business_id: str, reference: str) -> StartedTransfer:
        async with self._db.connection() as tx:
            started = await store.find_attempt(tx, business_id, reference)
        if started is None:
            raise NotFound("no transfer with this reference was begun")
        return started

    async def read(self, raw: RawNotification, *, now: datetime) -> list[Notification]:
        raise NotificationRefused("a bank's files come by its folder or by `tidegate bank import`, not over HTTP")

    async def send_back(self, money: ReturnMoney, *, now: datetime) -> PayoutState:
        return await self._payouts.request("return", money, now=now)

    async def refund(self, money: RefundMoney, *, now: datetime) -> PayoutState:
        return await self._payouts.request("refund", money, now=now)

    async def poll_refund(self, money: RefundMoney, *, now: datetime) -> PayoutState:
        return await self._payouts.poll(money)

    async def open_account(self, order: OpenAccount, *, now: datetime) -> AccountDetails:
        """The next free number of those that the bank has issued."""
        for _ in range(TRIES):
            async with self._db.connection() as tx:
                given = await store.find_number(tx, order.business_id, order.reference)
                if given is not None:
                    return self._details(given, order)
                number = await self._free_number(tx, order)
                try:
                    await store.insert_number(tx, order.business_id, order.reference, number, now=now)
                except VirtualNumberTaken:
                    continue
        raise RailBusy("numbers are being given to many accounts at once")

    async def _free_number(self, tx: Tx, order: OpenAccount) -> str:
        for account in self.settings.accounts:
            if account.currency is order.currency and account.virtual_numbers:
                number = await store.find_free_number(tx, account.virtual_numbers)
                if number is not None:
                    return number
        raise Conflict(f"the bank's virtual numbers in {order.currency} are used up; ask the bank for more")

    def _details(self, number: str, order: OpenAccount) -> AccountDetails:
        account = self.settings.account_of(number)
        if account is None:
            raise RailRefused(f"{number} is not among the virtual numbers of TIDEGATE_BANKFILES_ACCOUNTS any more")
        return AccountDetails(
            account_number=number,
            local_number=number,
            iban=number if is_iban(number) else None,
            bank_code=account.bank_code,
            swift_code=account.bic,
            bank_name=account.bank_name,
            country_code=account.country,
            reference=order.reference,
        )

    async def list_transactions(self, begin: datetime, end: datetime) -> AsyncIterator[RailTransaction]:
        """By booking days, which have no time: those that begin within the period."""
        first = begin.astimezone(UTC).date() + timedelta(days=begin.astimezone(UTC).time() > time())
        last = end.astimezone(UTC).date() + timedelta(days=end.astimezone(UTC).time() > time())
        async with self._db.transaction() as tx:
            async for one in store.list_recorded(tx, first, last):
                yield RailTransaction(
                    transaction_id=one.transaction_id,
                    is_incoming=one.is_incoming,
                    amount=one.amount,
                    booked_at=datetime.combine(one.booked_on, time(), UTC),
                    reference=one.reference,
                )


def _capabilities(settings: BankFilesSettings) -> Capabilities:
    return Capabilities(
        methods={
            one.currency: {
                Method.BANK_TRANSFER: MethodTerms(limits=AmountLimits(minor_min=1), notified_within=NOTIFIED_WITHIN)
            }
            for one in settings.accounts
            if one.is_checkout and one.currency in CHECKOUT_OFFERS
        },
        account_currencies=frozenset(one.currency for one in settings.accounts if one.virtual_numbers),
        lists_transactions=True,
        lists_reversals=True,
    )


def _action(account: BankAccount, started: StartedTransfer) -> TransferAction:
    return TransferAction(
        account_number=started.account_number,
        bank_name=account.bank_name,
        bank_code=account.bank_code,
        account_name=account.holder,
        reference=started.code,
        is_notified_later=True,
    )
