"""A command of the staff: what it does, what it is bound to, and how an approver reads it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from tidegate.approval.model import ApprovalRequest, Proposal
from tidegate.audit.model import Actor
from tidegate.core.clock import Clock
from tidegate.core.ids import Mode
from tidegate.core.money import Money
from tidegate.infra.db import Database, Tx
from tidegate.infra.same_transaction import InSameTransaction
from tidegate.rail.deps import PaymentDeps
from tidegate.staff.permission import StaffPermission
from tidegate.webhook.commands import WebhookDeps


@dataclass(frozen=True)
class StaffApprovalDeps:
    payment: PaymentDeps
    clock: Clock
    mode: Mode
    # Where merchants' people sign in, and where the staff do.
    base_url: str
    console_url: str
    # Opened where a command needs the keys that secrets are encrypted with.
    webhooks: Callable[[], WebhookDeps]
    # With the keys of the sandbox's business.
    sandbox_file: Path

    @property
    def db(self) -> Database:
        return self.payment.db


@dataclass(frozen=True)
class StaffCommandRun:
    """A command that is carried out. `also` decides its approval, in the transaction of the effect."""

    deps: StaffApprovalDeps
    business_id: str
    subject: str
    reason: str | None
    asked_at: datetime
    asked_by: Actor
    by: Actor
    now: datetime
    also: InSameTransaction

    @property
    def common(self) -> dict[str, Any]:
        return {"by": self.by, "now": self.now, "also": self.also}

    @property
    def note(self) -> str:
        return self.reason or ""


class ProposalFact(msgspec.Struct, frozen=True):
    """One line of what an approver reads."""

    label: str
    value: str | Money
    # What is there now, where the command changes it.
    before: str | Money | None = None
    # Of what it names, below the console.
    page: str | None = None
    # Of a payer, who can have it erased: never kept with a proposal.
    is_personal: bool = False


@dataclass(frozen=True)
class ProposalContext:
    """A proposal for an approver to read, and its subject."""

    tx: Tx
    deps: StaffApprovalDeps
    command: str
    business_id: str
    subject: str
    asked_at: datetime


@dataclass(frozen=True)
class ProposalCheck:
    """A proposal before it is made."""

    tx: Tx
    deps: StaffApprovalDeps
    proposal: Proposal

    @property
    def business_id(self) -> str:
        return self.proposal.business_id

    @property
    def subject(self) -> str:
        return self.proposal.subject

    @property
    def now(self) -> datetime:
        return self.deps.clock.now_of(self.business_id)


async def anything(_: ProposalCheck, _arguments: Any) -> None:
    """Its version, or the form, says whether it is possible."""


async def as_given(_: Tx, _business_id: str, subject: str) -> str:
    return subject


@dataclass(frozen=True)
class StaffCommand:
    arguments: type[msgspec.Struct]
    # Of its subject; None where there is no such thing.
    version: Callable[[Tx, str, str], Awaitable[int | None]]
    run: Callable[[StaffCommandRun, Any], Awaitable[object]]
    words: Callable[[Any], str]
    # Of its subject, and of what it would do.
    facts: Callable[[ProposalContext, Any], Awaitable[list[ProposalFact]]]
    # The page of its subject, below the console.
    page: Callable[[ApprovalRequest], str]
    # Raises what the command would refuse.
    check: Callable[[ProposalCheck, Any], Awaitable[None]] = anything
    # The one name of a subject that has several.
    name: Callable[[Tx, str, str], Awaitable[str]] = as_given
    # Of commands that decide the same about a subject; otherwise the command itself.
    topic: str = ""
    # Of the one who proposes it.
    permission: StaffPermission = StaffPermission.PROPOSE
    # About no merchant.
    is_of_platform: bool = False
    # About a payer or a holder, who can have what was written about it erased.
    is_of_payer: bool = False
    # Of an invitation: another link, once it is approved.
    link: Callable[[StaffCommandRun], Awaitable[str]] | None = None
