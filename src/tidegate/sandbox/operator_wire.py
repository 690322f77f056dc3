"""Requests for the operator's decisions in the sandbox."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from tidegate.sandbox.wire import SandboxText


class DecisionReason(msgspec.Struct, kw_only=True):
    reason: Annotated[SandboxText | None, Meta(description="Shown in the account's record.")] = None


class Decision(msgspec.Struct, kw_only=True):
    note: Annotated[SandboxText | None, Meta(description="The operator's note, for the audit trail.")] = None
