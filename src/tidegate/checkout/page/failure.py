"""A page instead of an error: what went wrong, that no money is lost by it, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.checkout.page.words import Words
from tidegate.core.errors import Refusal

# words: error.not_found, error.not_found_more, error.refused, error.refused_more, error.busy, error.busy_more
# words: error.broken, error.broken_more, error.wrong_request, error.wrong_request_more, error.limited
_KEYS = {403: "refused", 404: "not_found", 500: "broken", 503: "busy"}
_OTHERWISE = "wrong_request"


@dataclass(frozen=True)
class Failure:
    title: str
    lead: str
    retry_href: str | None
    request_id: str


def failure_of(refusal: Refusal, status: int, words: Words, *, retry_href: str, request_id: str) -> Failure:
    if status == 429:
        lead = words("error.limited_more", seconds=refusal.retry_after_s or 1)
        return Failure(words("error.limited"), lead, retry_href, request_id)
    key = _KEYS.get(status, _OTHERWISE)
    return Failure(words(f"error.{key}"), words(f"error.{key}_more"), None if status == 404 else retry_href, request_id)
