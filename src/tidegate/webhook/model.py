"""Endpoints, deliveries, circuits; and the pure rules on them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from tidegate.core.described_enum import DescribedEnum
from tidegate.core.request_id import current as current_request_id

# Every endpoint gets the events of incoming money; the others only if it subscribes to them.
EVENTS_ALWAYS = ("charge.successful", "collection.successful")
EVENTS_ON_REQUEST = (
    "charge.reversed",
    "charge.disputed",
    "collection.returned",
    "refund.successful",
    "refund.failed",
    "virtualaccount.approved",
    "virtualaccount.declined",
    "virtualaccount.suspended",
    "virtualaccount.closed",
)
EVENTS = (*EVENTS_ALWAYS, *EVENTS_ON_REQUEST)
TEST_EVENT: Final = "webhook.test"
MEANING_OF_EVENT = {
    "charge.successful": "A checkout payment was paid.",
    "collection.successful": "An inflow was credited to your wallet.",
    "charge.reversed": "The customer's bank took back a payment or part of it.",
    "charge.disputed": "A customer disputes a payment with the bank, or the bank has decided.",
    "collection.returned": "An inflow went back to the payer.",
    "refund.successful": "A refund was paid out.",
    "refund.failed": "A refund failed; the amount is back in your wallet.",
    "virtualaccount.approved": "A virtual account was approved and has its number.",
    "virtualaccount.declined": "A request for a virtual account was declined.",
    "virtualaccount.suspended": "A virtual account was suspended.",
    "virtualaccount.closed": "A virtual account was closed.",
    TEST_EVENT: "You asked for a test of the endpoint.",
}
# The error of a delivery that was queued just before its payload was erased.
PAYLOAD_ERASED = "payload_erased"
# The channel of NOTIFY after an event is written.
EVENT_CHANNEL = "tidegate_event"

ENDPOINTS_MAX = 100
RATE_PER_SECOND = 25
RATE_PER_SECOND_MAX = 1_000
IN_FLIGHT_MAX = 10

# After a rotation the old secret also signs for this long; several rotations in a day leave several secrets.
ROTATION_OVERLAP = timedelta(hours=24)
SECRETS_MAX = 5

# A circuit opens after this many consecutive failures. Then single deliveries probe it, at growing intervals.
OPEN_AFTER = 10
OPEN_FIRST = timedelta(seconds=30)
OPEN_MAX = timedelta(minutes=5)

# An endpoint is disabled after failing for this long without a success, in at least OPEN_AFTER attempts.
FAILING_MAX = timedelta(days=5)


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An event for a merchant, one per type and cause. Written with its change."""

    id: str
    type: str
    cause: str
    # The reference by which the merchant finds it.
    reference: str
    payload: bytes
    # Of the request that caused it; None for background work.
    request_id: str | None = msgspec.field(default_factory=current_request_id)

    def __post_init__(self) -> None:
        if self.type not in EVENTS:
            raise ValueError(f"{self.type} is not in EVENTS, so no endpoint could subscribe to it")


class EndpointStatus(DescribedEnum):
    ENABLED = "enabled", "Receives events."
    DISABLED = "disabled", "Receives nothing; events that happen meanwhile can be replayed."


class DisabledReason(DescribedEnum):
    MERCHANT = "merchant", "You disabled it."
    GONE = "gone", "It answered 410."
    FAILING = "failing", "Every delivery failed for five days."


class DeliveryStatus(DescribedEnum):
    PENDING = "pending", "Waiting for its next attempt."
    DELIVERED = "delivered", "Your server answered 2xx."
    EXHAUSTED = "exhausted", "Ten attempts failed; it can be resent."
    CANCELLED = "cancelled", "The endpoint was deleted first; create another and replay the period."


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    business_id: str
    id: str
    url: str
    events: tuple[str, ...]
    description: str | None
    status: EndpointStatus
    disabled_reason: DisabledReason | None
    rate_per_second: int
    created_at: datetime
    updated_at: datetime


class NewEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    events: tuple[str, ...] = EVENTS_ALWAYS
    description: str | None = None
    rate_per_second: int = RATE_PER_SECOND
    secret: str | None = None


class WithSecret(msgspec.Struct, frozen=True):
    """The only time the secret is shown."""

    endpoint: Endpoint
    secret: str


class Circuit(msgspec.Struct, frozen=True, kw_only=True):
    """The health of an endpoint. `openings` counts the failed probes since the last success."""

    failures: int = 0
    failing_since: datetime | None = None
    openings: int = 0
    open_until: datetime | None = None

    def after(self, *, succeeded: int, failed: int, now: datetime) -> Circuit:
        """One success among them closes the circuit: the endpoint answers."""
        if succeeded:
            return Circuit()
        if not failed:
            return self
        failures = self.failures + failed
        since = self.failing_since or now
        is_open = self.open_until is not None and now < self.open_until
        if failures < OPEN_AFTER or is_open:  # Failures while it is open do not extend the pause.
            return msgspec.structs.replace(self, failures=failures, failing_since=since)
        pause = min(OPEN_FIRST * 2 ** min(self.openings, 16), OPEN_MAX)
        return Circuit(failures=failures, failing_since=since, openings=self.openings + 1, open_until=now + pause)

    def has_failed_too_long(self, now: datetime) -> bool:
        return (
            self.failing_since is not None and self.failures >= OPEN_AFTER and now - self.failing_since >= FAILING_MAX
        )


class ClaimedDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """A claimed delivery, with everything needed to send it."""

    business_id: str
    endpoint_id: str
    delivery_id: int
    lease_token: str
    event_id: str
    url: str
    sealed_secrets: tuple[str, ...]  # The current one first.
    body: bytes | None  # None when it was erased.
    failures: int
    request_id: str | None = None


class DeliveryResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of sending a delivery."""

    delivery: ClaimedDelivery
    started_at: datetime
    duration_ms: int
    status_code: int | None
    error: str | None
    body: str | None
    # One a line; None where nothing was sent or answered.
    request_headers: str | None = None
    answer_headers: str | None = None
    next_attempt_at: datetime | None = None

    @property
    def is_success(self) -> bool:
        return self.error is None and self.status_code is not None and 200 <= self.status_code <= 299

    @property
    def is_gone(self) -> bool:
        return self.status_code == 410


class DeliveryAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """As stored in the log."""

    number: int
    url: str
    started_at: datetime
    duration_ms: int | None
    status_code: int | None
    error: str | None
    body: str | None
    # One a line.
    request_headers: str | None
    answer_headers: str | None


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """As shown in the log."""

    id: int
    event_id: str
    event_type: str
    reference: str | None
    endpoint_id: str
    url: str
    status: DeliveryStatus
    attempts_made: int
    attempts: tuple[DeliveryAttempt, ...]
    # Since it was made or last resent.
    failures: int
    due_at: datetime | None
    payload: bytes | None  # None when it was erased at a payer's request.
    created_at: datetime
    delivered_at: datetime | None
