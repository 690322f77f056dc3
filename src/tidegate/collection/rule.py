"""The rules by which inflows are held, in words, with the settings that would change them and their values. Pure."""

from __future__ import annotations

from datetime import timedelta

from tidegate.collection.reason import InflowReason
from tidegate.rail.deps import InflowTerms

_RATE_REASONS = (InflowReason.RATE_MISSING, InflowReason.RATE_STALE)


def needs_rate(reason: InflowReason) -> bool:
    return reason in _RATE_REASONS


def rate_rule(terms: InflowTerms) -> str:
    minutes = terms.rate_lasts // timedelta(minutes=1)
    return f"a rate is used for {minutes} minutes after its quote (TIDEGATE_RATE_LASTS_MINUTES)"


def rule_of(reason: InflowReason, terms: InflowTerms) -> str:
    """Of a hold; empty where no setting would change it."""
    if needs_rate(reason):
        return rate_rule(terms)
    if reason is InflowReason.AMOUNT_IS_LARGE:
        return f"amounts from {terms.review_from_major:,} on are held (TIDEGATE_REVIEW_INFLOWS_FROM)"
    if reason is InflowReason.BUSINESS_SUSPENDED:
        return "nothing is credited to a merchant while it is suspended"
    if reason in (InflowReason.NAME_IS_CLOSE, InflowReason.NAME_MISSING):
        return "a name that is close or missing is held, unless the merchant's settings have it returned at once"
    return ""
