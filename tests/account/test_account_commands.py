"""Operators' decisions on accounts: each has an event and an audit row, also when concurrent or interrupted."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from inflow import Inflows
from tidegate.account import commands
from tidegate.account.model import AccountStatus
from tidegate.audit.model import OPERATOR
from tidegate.core.errors import Conflict, IllegalTransition, NotFound, Unavailable
from tidegate.infra.telemetry import Meter
from tidegate.rail.interface import RailTimeout
from tidegate.worker import sender_of

ON_REQUEST = [
    "charge.successful", "collection.successful", "virtualaccount.approved", "virtualaccount.declined",
    "virtualaccount.suspended", "virtualaccount.closed",
]  # fmt: skip


async def deliveries(inflows: Inflows, url: str) -> list[dict[str, Any]]:
    sender = sender_of(inflows.runtime, Meter())
    await sender.fan_out()
    rows = await inflows.admin.fetch(
        """
        SELECT event.payload FROM webhook_delivery AS delivery
          JOIN webhook_endpoint AS endpoint ON endpoint.business_id = delivery.business_id
               AND endpoint.id = delivery.endpoint_id
          JOIN event ON event.business_id = delivery.business_id AND event.id = delivery.event_id
         WHERE endpoint.url = $1 ORDER BY event.created_at
        """,
        url,
    )
    return [json.loads(row["payload"]) for row in rows]


async def test_each_step_of_an_account_has_one_event(inflows: Inflows) -> None:
    asked, silent = "http://127.0.0.1:8099/asked", "http://127.0.0.1:8099/silent"
    await inflows.call("POST", "/webhooks/endpoints", {"url": asked, "events": ON_REQUEST})
    await inflows.call("POST", "/webhooks/endpoints", {"url": silent})
    db = inflows.runtime.db
    made = (await inflows.ask_for()).json()["data"]["_id"]
    await commands.approve(inflows.runtime.deps, made, by=OPERATOR, now=inflows.now)
    await commands.suspend(db, made, "a complaint", by=OPERATOR, now=inflows.now)
    await commands.reinstate(db, made, by=OPERATOR, now=inflows.now)
    await commands.suspend(db, made, "another", by=OPERATOR, now=inflows.now)
    await commands.close(db, made, "for good", by=OPERATOR, now=inflows.now)
    other = (await inflows.ask_for()).json()["data"]["_id"]
    await commands.decline(db, other, "no proof", by=OPERATOR, now=inflows.now)
    events = await deliveries(inflows, asked)
    assert [(one["event"], one["data"]["reason"]) for one in events] == [
        ("virtualaccount.approved", None),
        ("virtualaccount.suspended", "a complaint"),
        ("virtualaccount.suspended", "another"),
        ("virtualaccount.closed", "for good"),
        ("virtualaccount.declined", "no proof"),
    ]
    assert await deliveries(inflows, silent) == []
    shown = (await inflows.call("GET", f"/profile/virtual-accounts/{made}")).json()["data"]
    assert events[3]["data"] == shown
    assert events[0]["data"]["accountInformation"] == shown["accountInformation"]
    assert (events[1]["data"]["isSuspended"], events[1]["data"]["isActive"]) == (True, False)


async def test_each_action_is_written_down_with_who_did_it(inflows: Inflows) -> None:
    db, by, deps = inflows.runtime.db, OPERATOR, inflows.runtime.deps
    made = (await inflows.ask_for()).json()["data"]["_id"]
    await commands.approve(deps, made, by=by, now=inflows.now, expires_at=inflows.now)
    await commands.suspend(db, made, "a complaint", by=by, now=inflows.now)
    await commands.reinstate(db, made, by=by, now=inflows.now)
    assert (await commands.expire_due(deps, inflows.runtime.clock)).done == 1
    await commands.close(db, made, "for good", by=by, now=inflows.now)
    rows = await inflows.admin.fetch("SELECT actor, action, details FROM audit WHERE subject = $1 ORDER BY id", made)
    assert rows[0]["actor"].startswith("key/")
    assert [(row["actor"], row["action"]) for row in rows[1:]] == [
        ("operator", "account.approve"),
        ("operator", "account.suspend"),
        ("operator", "account.reinstate"),
        ("tidegate", "account.expire"),
        ("operator", "account.close"),
    ]
    assert rows[0]["action"] == "account.requested"
    assert json.loads(rows[2]["details"]) == {"reason": "a complaint"}


async def test_approval_that_was_cut_short_gives_the_same_number_the_next_time(
    inflows: Inflows, monkeypatch: pytest.MonkeyPatch
) -> None:
    rail: Any = inflows.runtime.rails["sandbox"]
    opened: list[Any] = []
    really_open = rail.open_account

    async def cut_short(order: Any, *, now: Any) -> Any:
        opened.append(await really_open(order, now=now))
        raise RailTimeout

    made = (await inflows.ask_for()).json()["data"]["_id"]
    monkeypatch.setattr(rail, "open_account", cut_short)
    for _ in range(2):
        with pytest.raises(Unavailable):
            await commands.approve(inflows.runtime.deps, made, by=OPERATOR, now=inflows.now)
    monkeypatch.undo()
    assert (await commands.get(inflows.runtime.db, inflows.shop.business_id, made)).status is AccountStatus.PENDING
    approved = await commands.approve(inflows.runtime.deps, made, by=OPERATOR, now=inflows.now)
    assert opened == [approved.details, approved.details]
    with pytest.raises(IllegalTransition):
        await commands.approve(inflows.runtime.deps, made, by=OPERATOR, now=inflows.now)


async def test_of_operators_at_once_one_wins_and_the_others_get_a_conflict(inflows: Inflows) -> None:
    db = inflows.runtime.db
    for _ in range(3):
        made = (await inflows.account()).id
        acts = [commands.suspend(db, made, f"by {n}", by=OPERATOR, now=inflows.now) for n in range(4)]
        acts += [commands.close(db, made, f"by {n}", by=OPERATOR, now=inflows.now) for n in range(4, 6)]
        done = await asyncio.gather(*acts, return_exceptions=True)
        won = [one for one in done if not isinstance(one, BaseException)]
        assert all(isinstance(one, Conflict) for one in done if isinstance(one, BaseException)), done
        account = await commands.get(db, inflows.shop.business_id, made)
        # One after the other both may be right: suspended, and then closed.
        assert 1 <= len(won) <= 2
        assert account.version == 1 + len(won)
        events = await inflows.admin.fetchval(
            "SELECT count(*) FROM event WHERE starts_with(cause, 'account/' || $1)", made
        )
        assert events == 1 + len(won)


async def test_approving_at_once_opens_one_account(inflows: Inflows) -> None:
    made = (await inflows.ask_for()).json()["data"]["_id"]
    acts = [commands.approve(inflows.runtime.deps, made, by=OPERATOR, now=inflows.now) for _ in range(5)]
    done = await asyncio.gather(*acts, return_exceptions=True)
    assert sum(not isinstance(one, BaseException) for one in done) == 1
    assert all(isinstance(one, Conflict) for one in done if isinstance(one, BaseException)), done
    assert await inflows.admin.fetchval("SELECT count(*) FROM sandbox_account") == 1


async def test_an_unknown_account_is_not_found(inflows: Inflows) -> None:
    with pytest.raises(NotFound):
        await commands.close(inflows.runtime.db, "0" * 24, "x", by=OPERATOR, now=inflows.now)


async def test_a_business_has_a_limited_number_of_accounts(inflows: Inflows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "ACCOUNTS_MAX", 1)
    assert (await inflows.ask_for()).status_code == 201
    answer = await inflows.ask_for()
    assert (answer.status_code, answer.json()["errorType"]) == (409, "CONFLICT")
