"""The filters of the list of deliveries, as the address has them."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.core.errors import Problem
from tidegate.dashboard.list_filter import checked_period
from tidegate.dashboard.shell import DashboardVisitor
from tidegate.webhook.field import delivery_id_in
from tidegate.webhook.log_store import DeliveryFilter, first_id_of
from tidegate.webhook.model import EVENTS, DeliveryStatus, Endpoint

NAMES = ("status", "event", "endpoint", "reference", "answer", "tries", "from", "to")
REFERENCE_CHARS_MAX = 100
STATUS_WORDS = {
    DeliveryStatus.PENDING: ("Waiting", "warn"),
    DeliveryStatus.DELIVERED: ("Delivered", "good"),
    DeliveryStatus.EXHAUSTED: ("Gave up", "bad"),
    DeliveryStatus.CANCELLED: ("Cancelled", ""),
}
# Of the newest try, by the first digit of its status.
ANSWERS = {"2xx": 2, "3xx": 3, "4xx": 4, "5xx": 5, "none": 0}
TRIES_MIN = ("2", "3", "5", "10")


def choices_of(endpoints: Sequence[Endpoint]) -> dict[str, list[tuple[str, str]]]:
    """Value and words of each filter that is chosen from a list."""
    return {
        "status": [(status.value, words) for status, (words, _) in STATUS_WORDS.items()],
        "event": [(name, name) for name in EVENTS],
        "endpoint": [(one.id, one.url) for one in endpoints],
        "answer": [(name, "No answer" if name == "none" else name) for name in ANSWERS],
        "tries": [(number, f"{number} or more") for number in TRIES_MIN],
    }


def filter_in(visitor: DashboardVisitor, endpoints: Sequence[Endpoint]) -> DeliveryFilter:
    query = visitor.request.query
    reference, problems = query.get("reference", "").strip(), []
    if len(reference) > REFERENCE_CHARS_MAX:
        problems.append(Problem("reference", f"Enter at most {REFERENCE_CHARS_MAX} characters."))
    choices = {name: dict(listed) for name, listed in choices_of(endpoints).items()}
    days = checked_period(query, visitor.times, NAMES, choices, problems)
    before = delivery_id_in(query["before"]) if query.get("before") else None
    end = first_id_of(days.end) if days.end else None
    return DeliveryFilter(
        status=DeliveryStatus(query["status"]) if query.get("status") else None,
        event_type=query.get("event") or None,
        endpoint_id=query.get("endpoint") or None,
        reference=reference or None,
        answer=ANSWERS[query["answer"]] if query.get("answer") else None,
        attempts_min=int(query["tries"]) if query.get("tries") else None,
        from_id=first_id_of(days.start) if days.start else None,
        before_id=min((one for one in (before, end) if one is not None), default=None),
    )
