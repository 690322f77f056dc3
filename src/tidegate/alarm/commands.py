"""One look at everything: raises what is new, ends what is over, tells the staff and the operator's webhook."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import structlog

from tidegate.alarm import health_store, store
from tidegate.alarm.model import CARDS_DECLINED, Alarm, AlarmFacts, advice_of, alarms_of
from tidegate.alarm.store import KnownAlarm
from tidegate.audit.model import OURSELVES
from tidegate.core.clock import Clock, SystemClock
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.doctor import proof_store
from tidegate.infra.api_client import ApiClient, NoAnswer, NotSent
from tidegate.infra.db import Database, Tx
from tidegate.infra.leased_work import RoundResult
from tidegate.infra.timestamp import to_iso
from tidegate.mail import store as mail
from tidegate.mail.model import Mail, one_line
from tidegate.merchant import card_pause
from tidegate.rail.deps import PaymentDeps

HOUR = timedelta(hours=1)
ENDPOINTS_MAX = 100
POSTED_AT_ONCE = 20
POST_TIMEOUT_S = 5.0

log = structlog.get_logger("alarm")


async def facts_of(db: Database) -> AlarmFacts:
    """By the real clock: a sandbox's own time says nothing about its machine."""
    now = SystemClock().now()
    async with db.connection() as tx:
        proofs = await proof_store.list_newest(tx, limit=1)
        return AlarmFacts(
            now=now,
            proven_at=proofs[0].ended_at if proofs else None,
            proof_findings=tuple(proofs[0].findings) if proofs else (),
            queues=tuple(await store.list_queues(tx)),
            parked=await store.count_parked(tx),
            rails=tuple(await health_store.list_rail_hours(tx, since=now - HOUR)),
            endpoints=tuple(await health_store.list_endpoints(tx, limit=ENDPOINTS_MAX)),
            cards=tuple(await store.list_cards(tx, since=now - HOUR)),
            owed=tuple(await store.list_owed(tx)),
            lifted=await store.list_lifted(tx),
            first_journal_at=await store.find_first_journal(tx),
        )


async def update(db: Database, facts: AlarmFacts, console_url: str) -> int:
    """How many were raised or ended."""
    current, changes = alarms_of(facts), 0
    async with db.transaction() as tx:
        await store.lock(tx)
        known = {(one.rule, one.subject): one for one in await store.list_open(tx)}
        for key, alarm in current.items():
            if key not in known:
                number = await store.insert(tx, alarm, now=facts.now)
                await _mail(tx, alarm, f"{console_url}/console/alarms/{number}", facts)
                if alarm.rule == CARDS_DECLINED:
                    await card_pause.pause(tx, alarm.subject, alarm.sentence, by=OURSELVES, now=facts.now)
                changes += 1
            elif known[key].sentence != alarm.sentence:
                await store.set_sentence(tx, known[key].id, alarm.sentence)
        for key, one in known.items():
            if key not in current:
                await store.end(tx, one.id, now=facts.now)
                if one.rule == CARDS_DECLINED:
                    await card_pause.end_own(tx, one.subject, now=facts.now)
                changes += 1
    return changes


async def _mail(tx: Tx, alarm: Alarm, url: str, facts: AlarmFacts) -> None:
    paragraphs = (
        one_line(alarm.sentence),
        advice_of(alarm.rule, alarm.subject),
        "The alarm ends by itself once its cause has.",
    )
    for recipient in await store.list_recipients(tx):
        letter = Mail(
            recipient=recipient,
            subject=one_line(f"Tidegate alarm: {alarm.sentence}")[:200],
            paragraphs=paragraphs,
            link=("Look at it", url),
            closing="You get this as one of the staff of this deployment.",
        )
        await mail.insert(tx, PLATFORM_BUSINESS_ID, letter, now=facts.now)


@dataclass(frozen=True)
class AlarmWatch:
    """One round of the worker."""

    console_url: str
    # Empty for none.
    webhook_url: str = ""

    async def __call__(self, deps: PaymentDeps, _clock: Clock) -> RoundResult:
        await update(deps.db, await facts_of(deps.db), self.console_url)
        if self.webhook_url:
            await self._post(deps.db)
        return RoundResult()

    async def _post(self, db: Database) -> None:
        """What does not arrive is posted again with the next round."""
        async with db.connection() as tx:
            waiting = await store.list_to_post(tx, limit=POSTED_AT_ONCE)
        if not waiting:
            return
        client = ApiClient(self.webhook_url, {}, total_s=POST_TIMEOUT_S)
        await client.open()
        try:
            for one in waiting:
                answer = await client.call("POST", "", body=payload_of(one))
                if answer.status >= 300:
                    # The others may be taken.
                    log.warning("the operator's webhook refused an alarm", alarm=one.id, status=answer.status)
                    continue
                async with db.connection() as tx:
                    await store.mark_posted(tx, one, now=SystemClock().now())
        except (NotSent, NoAnswer) as error:
            log.warning("the operator's webhook did not answer", error=repr(error))
        finally:
            await client.close()


def payload_of(one: KnownAlarm) -> dict[str, str | int | None]:
    return {
        "id": one.id,
        "rule": one.rule,
        "subject": one.subject,
        "text": one.sentence,
        "advice": one.advice,
        "raisedAt": to_iso(one.raised_at),
        "endedAt": to_iso(one.ended_at) if one.ended_at else None,
    }
