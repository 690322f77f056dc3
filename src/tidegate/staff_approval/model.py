"""A command of the staff: what it does, what it is bound to, and how an approver reads it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from tidegate.approval.model import ApprovalRequest
from tidegate.audit.model import Actor
from tidegate.core.clock import Clock
from tidegate.core.ids import Mode
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


@dataclass(frozen=True)
class StaffCommand:
    arguments: type[msgspec.Struct]
    # Of its subject; None where there is no such thing.
    version: Callable[[Tx, str, str], Awaitable[int | None]]
    run: Callable[[StaffCommandRun, Any], Awaitable[object]]
    words: Callable[[Any], str]
    # The page of its subject, below the console.
    page: Callable[[ApprovalRequest], str]
    # Of the one who proposes it.
    permission: StaffPermission = StaffPermission.PROPOSE
    # About no merchant.
    is_of_platform: bool = False
    # Its result is the link of an invitation.
    makes_link: bool = False
