"""Anything that can happen to virtual accounts and what arrives there, in any order; the books and every tally are
examined after each step.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Coroutine
from datetime import timedelta
from decimal import Decimal
from typing import Any

import asyncpg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from conftest import empty, open_emptier
from inflow import CLOSE, DIFFERENT, HOLDER, SPEND, credit, reversal_of
from settable_clock import SettableClock
from tidegate.account import commands as accounts
from tidegate.account.model import Account, AccountType
from tidegate.audit.model import OPERATOR, OURSELVES
from tidegate.collection import list_store, reversal, review, review_store
from tidegate.collection.list_store import CollectionFilter
from tidegate.collection.model import CollectionStatus
from tidegate.collection.rate import Rate
from tidegate.core import ids
from tidegate.core.errors import Refusal, Unavailable
from tidegate.core.ids import Mode
from tidegate.core.money import Currency
from tidegate.doctor.commands import examine_books
from tidegate.intake import commands as intake
from tidegate.intake import returns
from tidegate.ledger import chain
from tidegate.merchant import commands as merchants
from tidegate.rail.sandbox import signed_notification
from tidegate.runtime import Runtime
from tidegate.sandbox import notifier
from tidegate.settings import Settings

EXAMPLES = int(os.environ.get("TIDEGATE_TEST_STORIES", "12"))
STEPS = 25
# Chance decides what a short run sees; a long one must see all.
LONG_RUN = 300
SOMETIMES = {"pending", "successful", "reversed", "failed", "asked", "sent", "confirmed", "quarantined"}
SOMETIMES |= {"held_converted", "credit_reversed", "held_reversed"}

PAIRS = [(Currency.EUR, Currency.EUR), (Currency.EUR, Currency.USD), (Currency.USD, Currency.UGX)]
ROUNDS = (reversal.apply_due, reversal.apply_unclaimed, returns.send, notifier.send_notifications, accounts.expire_due)
REVIEWED_FROM = 50_000_00


class Inflow(RuleBasedStateMachine):
    """Each rule is something a bank, a payer, an operator or time does. Refusals are fine; wrong books are not."""

    accounts = Bundle("accounts")
    notices = Bundle("notices")
    run: Callable[[Coroutine[Any, Any, Any]], Any]
    runtime: Runtime
    admin: Any
    emptier: Any
    seen: set[str]

    @initialize()
    def open_a_shop(self) -> None:
        self.run(empty(self.emptier))
        db, now = self.runtime.db, self.runtime.clock.now()
        new = self.run(merchants.create(db, name="Story", email="story@example.com", mode=Mode.SANDBOX, now=now))
        self.business_id = new.business.id

    def attempt(self, step: Coroutine[Any, Any, Any]) -> Any:
        """A refusal is an answer; anything else that is raised is a bug, and so is giving up with nobody else there."""
        try:
            return self.run(step)
        except Unavailable:
            raise
        except Refusal:
            return None

    def notify(self, body: dict[str, Any]) -> None:
        raw = signed_notification.sign(json.dumps(body).encode(), self.runtime.secret, now=self.runtime.clock.now())
        self.attempt(intake.receive(self.runtime.deps, "sandbox", raw, self.runtime.clock))

    @rule(target=accounts, pair=st.sampled_from(PAIRS), lasts=st.sampled_from([None, None, 30]))
    def open_an_account(self, pair: tuple[Currency, Currency], lasts: int | None) -> tuple[str, str, str]:
        now = self.runtime.clock.now()
        draft = Account(
            business_id=self.business_id, id=ids.new_account_id(), currency=pair[0], settlement_currency=pair[1],
            account_type=AccountType.INDIVIDUAL, holder=HOLDER, created_at=now, updated_at=now,
        )  # fmt: skip
        self.run(accounts.request(self.runtime.db, draft, by=OURSELVES, now=now))
        expires_at = now + timedelta(minutes=lasts) if lasts else None
        opened = self.run(accounts.approve(self.runtime.deps, draft.id, by=OPERATOR, now=now, expires_at=expires_at))
        return opened.id, opened.details.account_number, pair[0].value

    @rule(
        target=notices, account=accounts, name=st.sampled_from([HOLDER, HOLDER, CLOSE, DIFFERENT, None]),
        minor=st.sampled_from([1, 4_99, 100_00, 100_01, REVIEWED_FROM]),
        is_notified=st.sampled_from([True, True, False]),
    )  # fmt: skip
    def transfer(self, account: Any, name: str | None, minor: int, is_notified: bool) -> dict[str, Any]:
        """The bank may tell of it later, and of its reversal first."""
        body = credit(account[1], minor, currency=account[2], payeeName=name)
        if is_notified:
            self.notify(body)
        return body

    @rule(body=notices)
    def notify_again(self, body: dict[str, Any]) -> None:
        self.notify(body)

    @rule(body=notices, words=st.sampled_from([{}, {"amount": "777"}, {"currency": "EUR"}, {"currency": "NGN"}]))
    def notify_under_another_identifier(self, body: dict[str, Any], words: dict[str, str]) -> None:
        self.notify({**body, "id": ids.new_event_id(), **words})

    @rule(body=notices, words=st.sampled_from([{}, {}, {"amount": "777"}]))
    def take_it_back(self, body: dict[str, Any], words: dict[str, str]) -> None:
        self.notify(reversal_of(body, **words))

    @rule(account=accounts, action=st.sampled_from(["suspend", "reinstate", "close"]))
    def act_on_the_account(self, account: Any, action: str) -> None:
        reason = () if action == "reinstate" else ("why",)
        act = getattr(accounts, action)
        self.attempt(act(self.runtime.db, account[0], *reason, by=OPERATOR, now=self.runtime.clock.now()))

    @rule(is_passed=st.booleans())
    def decide_on_what_is_held(self, is_passed: bool) -> None:
        decide = review.credit if is_passed else review.send_back

        async def step() -> None:
            async with self.runtime.db.connection() as tx:
                held = await review_store.list_held(tx, business_id=self.business_id, limit=1)
            for one in held:
                now = self.runtime.clock.now()
                await decide(self.runtime.deps, one.reference, note=None, by=OPERATOR, now=now)

        self.attempt(step())

    @rule(value=st.sampled_from(["0.001", "1.0857", "3700.5"]), spread=st.sampled_from([0, 50]))
    def set_rates(self, value: str, spread: int) -> None:
        async def step() -> None:
            now = self.runtime.clock.now()
            async with self.runtime.db.connection() as tx:
                for base, quote in PAIRS[1:]:
                    rate = Rate(
                        base=base, quote=quote, rate=Decimal(value), spread_basis_points=spread, source="story",
                        quoted_at=now,
                    )  # fmt: skip
                    await review_store.insert_rate(tx, rate, business_id=self.business_id, now=now)

        self.run(step())

    @rule()
    def spend_all(self) -> None:
        """What a bank takes back from now on is owed."""

        async def step() -> None:
            for row in await self.admin.fetch("SELECT currency, balance_minor FROM wallet WHERE balance_minor > 0"):
                spent = (row["currency"], row["balance_minor"], ids.new_event_id())
                await self.admin.execute(SPEND, self.business_id, *spent)

        self.run(step())

    @rule(minutes=st.sampled_from([1, 11, 31, 70, 24 * 60]))
    def let_time_pass(self, minutes: int) -> None:
        assert isinstance(self.runtime.clock, SettableClock)
        self.runtime.clock.advance(timedelta(minutes=minutes))

    @rule()
    def work(self) -> None:
        for round_ in ROUNDS:
            self.run(round_(self.runtime.deps, self.runtime.clock))

    @precondition(lambda self: hasattr(self, "business_id"))
    @invariant()
    def the_books_are_in_order(self) -> None:
        now = self.runtime.clock.now()
        while self.run(chain.extend(self.runtime.db, self.runtime.clock)).done:
            pass
        findings, sums = self.run(examine_books(self.runtime.db, now=now))
        # A bank that contradicts itself is a part of the story.
        assert [f for f in findings if not f.is_well and f.subject != "quarantine"] == []
        assert all(sum(s.minor for s in sums if s.currency == currency) == 0 for currency in {s.currency for s in sums})
        self.seen |= self.run(states(self.admin))

    @precondition(lambda self: hasattr(self, "business_id"))
    @invariant()
    def every_total_is_what_a_walk_finds(self) -> None:
        async def step() -> None:
            async with self.runtime.db.connection() as tx:
                for status in (None, *CollectionStatus):
                    wanted = CollectionFilter(status=status)
                    found = await list_store.list_page(
                        tx, self.business_id, wanted, before_id=None, offset=0, limit=1_000
                    )
                    assert await list_store.total(tx, self.business_id, wanted) == len(found)

        self.run(step())


async def states(admin: Any) -> set[str]:
    rows = await admin.fetch(
        "SELECT status AS word FROM collection UNION SELECT status FROM money_return "
        "UNION SELECT state FROM notification UNION SELECT kind FROM journal"
    )
    return {row["word"] for row in rows}


def test_no_order_of_inflows_breaks_the_books(inflow_story_url: str) -> None:
    """In a loop of its own: the machine's steps are synchronous."""
    with asyncio.Runner() as runner:
        runtime = Runtime.of(Settings(database_url=inflow_story_url))
        opened = runtime.open()
        runner.run(opened.__aenter__())
        # The machine moves the time itself, that of leases too.
        runtime.clock = SettableClock(runtime.clock.now())
        admin = runner.run(asyncpg.connect(inflow_story_url))
        emptier = runner.run(open_emptier(inflow_story_url))
        seen: set[str] = set()
        given: dict[str, Any] = {"runtime": runtime, "run": staticmethod(runner.run), "seen": seen}
        given |= {"admin": admin, "emptier": emptier}
        machine: Any = type("Story", (Inflow,), given)
        limits: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck)}
        machine.TestCase.settings = settings(max_examples=EXAMPLES, stateful_step_count=STEPS, **limits)
        try:
            machine.TestCase().runTest()
            assert EXAMPLES < LONG_RUN or seen >= SOMETIMES
        finally:
            runner.run(admin.close())
            runner.run(emptier.close())
            runner.run(opened.__aexit__(None, None, None))


@pytest.fixture
async def inflow_story_url(make_database: Any) -> str:
    url: str = await make_database("tidegate_test_inflow_story")
    return url
