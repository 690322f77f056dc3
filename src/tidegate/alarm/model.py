"""The rules, pure: from facts to what is alarming now. One row each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from tidegate.alarm.health_store import EndpointHealth, RailHour
from tidegate.doctor.fault import fault_of, sentence_of

UNPROVEN_FOR = timedelta(hours=1)
QUEUE_OLD_AFTER = timedelta(minutes=10)
ENDPOINT_FAILING_FOR = timedelta(minutes=30)
# A large merchant: as many webhooks of one endpoint wait.
WAITING_MANY = 100
# Fewer attempts say nothing about a rail, nor about a merchant's cards.
ATTEMPTS_MIN = 20
RAIL_SUCCESS_PERCENT_MIN = 50
CARDS_DECLINED_PERCENT_MAX = 80
# Pauses the cards of the merchant while it lasts, unless one of the staff lifts it before.
CARDS_DECLINED = "cards_declined"
BOOKS_WRONG = "books_wrong"
SENTENCE_CHARS_MAX = 500
# What to do, by rule; of the books, by what is wrong with them.
_ADVICE = {
    "books_unproven": "Look under Jobs whether a worker runs, and what its rounds say. “Prove now” under Books does it "
    "at once.",
    "queue_old": "Look under Jobs whether the worker's rounds are in time, and what failed. Start a worker where none "
    "runs.",
    "work_parked": "Under Jobs, the error stands beside each. Fix its cause, then try it again there.",
    "rail_failing": "See why its attempts failed, and ask its support. Pause it if payers had better pay another way.",
    "endpoint_failing": "Tell the merchant what its server answers, which each delivery shows. What waits is sent once "
    "it answers.",
    CARDS_DECLINED: "Ask the merchant whether its shop is attacked. The pause of its cards ends with the alarm; on the "
    "merchant's page it is lifted before.",
    "wallet_owed": "Agree with the merchant how it pays. What it takes next pays the debt by itself.",
}


class Alarm(msgspec.Struct, frozen=True, kw_only=True):
    """One per rule and subject while its cause lasts."""

    rule: str
    subject: str
    sentence: str
    # Below the console: where to look.
    page: str


@dataclass(frozen=True)
class CardHour:
    """Payments by card: one payment counts once, however many attempts."""

    business_id: str
    business: str
    succeeded: int
    declined: int


@dataclass(frozen=True)
class AlarmFacts:
    now: datetime
    proven_at: datetime | None = None
    proof_findings: tuple[str, ...] = ()
    # Queue by name, with what has waited longest.
    queues: tuple[tuple[str, datetime], ...] = ()
    parked: int = 0
    rails: tuple[RailHour, ...] = ()
    endpoints: tuple[EndpointHealth, ...] = ()
    cards: tuple[CardHour, ...] = ()
    # Merchants, with the amount as text, whose reversed money the wallet did not cover.
    owed: tuple[tuple[str, str, str], ...] = ()
    # Merchants whose cards were paused by an open alarm, and the pause was lifted.
    lifted: frozenset[str] = frozenset()
    # Since when there has been anything to prove.
    first_journal_at: datetime | None = field(default=None)


def _unproven(facts: AlarmFacts) -> Iterator[Alarm]:
    since = facts.proven_at or facts.first_journal_at
    if since is not None and facts.now - since > UNPROVEN_FOR:
        yield Alarm(
            rule="books_unproven", subject="books", page="/books",
            sentence=f"The books have not been proven for {ago(facts.now - since)}; is a worker running?",
        )  # fmt: skip


def _wrong(facts: AlarmFacts) -> Iterator[Alarm]:
    """One for each thing that was found wrong: an open one hides no other."""
    for finding in facts.proof_findings:
        subject = finding.partition(":")[0]
        sentence = shorten(sentence_of(finding), SENTENCE_CHARS_MAX)
        yield Alarm(rule=BOOKS_WRONG, subject=subject, page=fault_of(subject).page, sentence=sentence)


def _queues(facts: AlarmFacts) -> Iterator[Alarm]:
    for name, oldest in facts.queues:
        if facts.now - oldest > QUEUE_OLD_AFTER:
            waits = ago(facts.now - oldest)
            yield Alarm(rule="queue_old", subject=name, page="/jobs", sentence=f"{name}: the oldest waits for {waits}.")
    if facts.parked:
        yield Alarm(
            rule="work_parked", subject="jobs", page="/jobs",
            sentence="Background work failed too often and is parked; fix the cause, then try it again.",
        )  # fmt: skip


def _rails(facts: AlarmFacts) -> Iterator[Alarm]:
    for one in facts.rails:
        if is_failing(one):
            yield Alarm(
                rule="rail_failing", subject=f"{one.rail} {one.currency}", page="/rails",
                sentence=f"{one.rail} in {one.currency}: {one.failed} of {one.succeeded + one.failed} attempts failed "
                "in the last hour.",
            )  # fmt: skip


def _endpoints(facts: AlarmFacts) -> Iterator[Alarm]:
    for one in facts.endpoints:
        since = one.failing_since
        if since is None or one.status != "enabled" or one.waiting < WAITING_MANY:
            continue
        if facts.now - since > ENDPOINT_FAILING_FOR:
            yield Alarm(
                rule="endpoint_failing", subject=one.endpoint_id, page=f"/webhooks/{one.business_id}/{one.endpoint_id}",
                sentence=f"{one.business}: {one.url} fails since {ago(facts.now - since)}, {one.waiting} events wait.",
            )  # fmt: skip


def _cards(facts: AlarmFacts) -> Iterator[Alarm]:
    for one in facts.cards:
        ended = one.succeeded + one.declined
        if ended >= ATTEMPTS_MIN and one.declined * 100 > ended * CARDS_DECLINED_PERCENT_MAX:
            is_lifted = one.business_id in facts.lifted
            done = "The pause of its cards was lifted." if is_lifted else "Its cards were paused."
            yield Alarm(
                rule=CARDS_DECLINED, subject=one.business_id, page=f"/merchants/{one.business_id}",
                sentence=f"{one.business}: cards were declined in {one.declined} of {ended} payments of the last hour; "
                f"stolen ones may be tried out. {done}",
            )  # fmt: skip


def _owed(facts: AlarmFacts) -> Iterator[Alarm]:
    for business_id, name, amounts in facts.owed:
        yield Alarm(
            rule="wallet_owed", subject=business_id, page=f"/merchants/{business_id}",
            sentence=f"{name} owes {amounts}: a bank took money back that its wallet did not cover.",
        )  # fmt: skip


RULES: tuple[Callable[[AlarmFacts], Iterator[Alarm]], ...] = (
    _unproven, _wrong, _queues, _rails, _endpoints, _cards, _owed,
)  # fmt: skip


def alarms_of(facts: AlarmFacts) -> dict[tuple[str, str], Alarm]:
    found = (alarm for rule in RULES for alarm in rule(facts))
    return {(alarm.rule, alarm.subject): alarm for alarm in found}


def advice_of(rule: str, subject: str) -> str:
    """What to do about it; empty for a rule of another version."""
    return fault_of(subject).advice if rule == BOOKS_WRONG else _ADVICE.get(rule, "")


def is_failing(one: RailHour) -> bool:
    ended = one.succeeded + one.failed
    return ended >= ATTEMPTS_MIN and one.succeeded * 100 < ended * RAIL_SUCCESS_PERCENT_MIN


def shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def ago(length: timedelta) -> str:
    minutes = int(length.total_seconds()) // 60
    for unit, of in (("days", 1_440), ("hours", 60)):
        if minutes >= 2 * of:
            return f"{minutes // of} {unit}"
    return f"{minutes} minutes"
