"""Background loops: small, bounded rounds, each safe to run in any number of workers. Most are leased work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import structlog

from tidegate.account import commands as account
from tidegate.alarm.commands import AlarmWatch
from tidegate.audit import chain as audit_chain
from tidegate.bank_file import record as bank_record
from tidegate.bank_file.folder import FolderWatch
from tidegate.checkout import receipt_mail
from tidegate.collection import reversal, review
from tidegate.core.clock import Clock, ShiftedClock, monotonic_s
from tidegate.core.errors import Unavailable
from tidegate.core.ids import Mode
from tidegate.dashboard.roll_up import RollUp
from tidegate.doctor import proof
from tidegate.infra import backoff, leased_work
from tidegate.infra.egress import Egress
from tidegate.infra.job_round import JobRounds
from tidegate.infra.leased_work import RoundResult
from tidegate.infra.telemetry import Meter
from tidegate.intake import returns
from tidegate.ledger import chain
from tidegate.mail import send as mail
from tidegate.payment import sweep
from tidegate.rail.deps import PaymentDeps
from tidegate.refund import reversal as checkout_reversal
from tidegate.refund import send as refund
from tidegate.retention import commands as retention
from tidegate.retention import erasure
from tidegate.runtime import Runtime
from tidegate.sandbox import notifier, trade
from tidegate.settings import Settings
from tidegate.staff_approval import commands as staff_approvals
from tidegate.webhook.deliver import Sender

STATEMENT_TIMEOUT_MS = 30_000
# Nothing waits for a round; on a busy machine it may begin later.
POOL_WAIT_S = 30.0
# Of every loop; most have nothing to do after two.
SETTLE_ROUNDS_MAX = 20
# Between rounds that fail, the pause grows up to this.
PAUSE_MOST_S = 3.0

log = structlog.get_logger("worker")

# One round: does at most a batch and returns its tally.
Round = Callable[[PaymentDeps, Clock], Awaitable[RoundResult]]


@dataclass(frozen=True)
class Loop:
    name: str
    round: Round
    every_s: float


async def _purge_leases(deps: PaymentDeps, clock: Clock) -> RoundResult:
    return RoundResult(done=await leased_work.purge(deps.db, now=clock.now()))


async def _extend_chain(deps: PaymentDeps, clock: Clock) -> RoundResult:
    return await chain.extend(deps.db, clock)


async def _extend_audit_chain(deps: PaymentDeps, clock: Clock) -> RoundResult:
    return await audit_chain.extend(deps.db, clock)


async def _prove_books(deps: PaymentDeps, clock: Clock) -> RoundResult:
    return await proof.prove_due(deps.db, clock)


async def _end_void_proposals(deps: PaymentDeps, clock: Clock) -> RoundResult:
    return RoundResult(done=await staff_approvals.end_void(deps.db, now=clock.now()))


async def _send_mail(deps: PaymentDeps, clock: Clock) -> RoundResult:
    return await mail.send_due(deps.db, deps.mail, clock)


_roll_up = RollUp()


async def _roll_up_takings(deps: PaymentDeps, _: Clock) -> RoundResult:
    return await _roll_up(deps.db)


async def _trade_sample_day(deps: PaymentDeps, clock: Clock) -> RoundResult:
    if not isinstance(clock, ShiftedClock):
        return RoundResult()
    return await trade.trade_requested_day(deps, clock, lambda: settle(deps, clock))


async def settle(deps: PaymentDeps, clock: Clock) -> None:
    """Runs rounds until none has anything to do: what follows from sample trade has then happened."""
    loops = [loop for loop in SANDBOX_LOOPS if loop.round is not _trade_sample_day]
    for _ in range(SETTLE_ROUNDS_MAX):
        done = [(await loop.round(deps, clock)).done for loop in loops]
        if not any(done):
            return


LOOPS = (
    Loop("expire_payments", sweep.expire_payments, every_s=1.0),
    Loop("close_accounts", sweep.close_accounts, every_s=1.0),
    Loop("poll_rails", sweep.poll_rails, every_s=1.0),
    Loop("return_held", sweep.return_held, every_s=1.0),
    Loop("send_returns", returns.send, every_s=1.0),
    Loop("poll_refunds", refund.poll_rails, every_s=1.0),
    Loop("apply_reversals", reversal.apply_due, every_s=5.0),
    Loop("return_overdue_inflows", review.return_overdue, every_s=5.0),
    Loop("apply_unclaimed_reversals", reversal.apply_unclaimed, every_s=5.0),
    Loop("collect_debts", reversal.collect_debts, every_s=1.0),
    Loop("apply_checkout_reversals", checkout_reversal.apply_due, every_s=1.0),
    Loop("collect_checkout_debts", checkout_reversal.collect_debts, every_s=1.0),
    Loop("expire_accounts", account.expire_due, every_s=5.0),
    Loop("extend_chain", _extend_chain, every_s=1.0),
    Loop("extend_audit_chain", _extend_audit_chain, every_s=2.0),
    Loop("write_receipts", receipt_mail.write_due, every_s=1.0),
    Loop("write_refund_receipts", receipt_mail.write_refunds_due, every_s=1.0),
    Loop("send_mail", _send_mail, every_s=1.0),
    Loop("roll_up_takings", _roll_up_takings, every_s=10.0),
    Loop("purge_leases", _purge_leases, every_s=60.0),
    *(Loop(f"remove_{kind.name}", retention.Sweep(kind), every_s=60.0) for kind in retention.KINDS),
)
# Beside the others in a running worker; costly, so not part of each round of all.
OPERATOR_LOOPS = (
    Loop(proof.JOB, _prove_books, every_s=60.0),
    Loop("erase_payers", erasure.work_due, every_s=5.0),
    Loop("end_void_proposals", _end_void_proposals, every_s=60.0),
)


def sender_of(runtime: Runtime, meter: Meter) -> Sender:
    """Of webhooks. Here and not in the runtime, since the API sends none and need not load what sends them."""
    deps = runtime.webhook_deps
    tracer = runtime.tracer("tidegate-worker")
    return Sender(runtime.db, Egress(deps.guard), deps.vault, runtime.clock, meter, tracer=tracer)


def loops_of(settings: Settings) -> tuple[Loop, ...]:
    own = SANDBOX_LOOPS if settings.mode is Mode.SANDBOX else LIVE_LOOPS
    watch = AlarmWatch(settings.console_address, settings.alarm_url)
    return (*own, *OPERATOR_LOOPS, Loop("watch_alarms", watch, every_s=30.0))


# A bank's files come in live mode only.
LIVE_LOOPS = (
    *LOOPS,
    Loop("import_bank_files", FolderWatch(), every_s=5.0),
    Loop("record_bank_entries", bank_record.record_entries, every_s=1.0),
    *(Loop(f"remove_{kind.name}", retention.Sweep(kind), every_s=60.0) for kind in retention.LIVE_KINDS),
)
# The sandbox's rail is in the database; the worker sends its notifications.
SANDBOX_LOOPS = (
    *LOOPS,
    Loop("send_sandbox_notifications", notifier.send_notifications, every_s=0.1),
    Loop("trade_sample_days", _trade_sample_day, every_s=1.0),
    *(Loop(f"remove_{kind.name}", retention.Sweep(kind), every_s=60.0) for kind in retention.SANDBOX_KINDS),
)


async def run(
    deps: PaymentDeps, clock: Clock, meter: Meter, loops: tuple[Loop, ...], *others: Coroutine[Any, Any, None]
) -> None:
    """Until cancelled. `others` are tasks with loops of their own, such as the webhook sender."""
    outage, rounds = Outage(), JobRounds()
    async with asyncio.TaskGroup() as group:
        group.create_task(rounds.follow(deps.db))
        for other in others:
            group.create_task(other)
        for loop in loops:
            meter.begin_loop(loop.name)
            watched = WatchedLoop(loop, meter, outage, rounds)
            group.create_task(watched.repeat(deps, clock), name=loop.name)


class Outage:
    """Logged when the first loop finds the database away, and when the last one has found it again."""

    def __init__(self) -> None:
        self._stopped: set[str] = set()

    def add(self, loop: str) -> None:
        if not self._stopped:
            log.warning("database away", loop=loop)
        self._stopped.add(loop)

    def remove(self, loop: str) -> None:
        if self._stopped == {loop}:
            log.warning("database back")
        self._stopped.discard(loop)


@dataclass(frozen=True)
class WatchedLoop:
    loop: Loop
    meter: Meter
    outage: Outage
    rounds: JobRounds

    async def repeat(self, deps: PaymentDeps, clock: Clock) -> None:
        failures = 0
        while True:
            tally = await self._one_round(deps, clock)
            failures = failures + 1 if tally is None else 0
            # After work the next round begins at once, since there may be more; sleep(0) lets other tasks run.
            if tally and any(tally):
                await asyncio.sleep(0)
                continue
            pause_s = self.loop.every_s
            if failures:
                pause_s = backoff.pause_s(failures, first_s=min(pause_s, PAUSE_MOST_S), most_s=PAUSE_MOST_S)
            await self.rounds.pause(self.loop.name, pause_s)

    async def _one_round(self, deps: PaymentDeps, clock: Clock) -> RoundResult | None:
        """None when it failed."""
        name, began = self.loop.name, monotonic_s()
        try:
            tally = await self.loop.round(deps, clock)
        except Unavailable as error:
            self.outage.add(name)
            self._fail(began, error)
            return None
        except Exception as error:
            log.exception("round failed", loop=name)
            self._fail(began, error)
            return None
        self.outage.remove(name)
        self.meter.count_round(name, tally.done)
        for _ in range(tally.failed):
            self.meter.count_failure(name)
        lasted_s = monotonic_s() - began
        self.rounds.add(name, every_s=self.loop.every_s, lasted_s=lasted_s, done=tally.done, failed=tally.failed)
        return tally

    def _fail(self, began: float, error: Exception) -> None:
        self.meter.count_failure(self.loop.name)
        text = f"{type(error).__name__}: {error}"
        self.rounds.add(self.loop.name, every_s=self.loop.every_s, lasted_s=monotonic_s() - began, failed=1, error=text)
