"""Who decided on an inflow, in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.collection.review_store import HoldDecision

BY_RULE = "no one; the rules decided at once"
_LEFT = "a former member of the staff"


def decider_words(decision: HoldDecision | None, names: Mapping[str, str]) -> str:
    """`names` are those of the staff, by what the audit trail calls them."""
    if decision is None:
        return BY_RULE
    if decision.action == "collection.hold_ended":
        return "no one; the time ran out"
    if decision.proposed_by:
        return f"{_name(decision.proposed_by, names)}, approved by {_name(decision.actor, names)}"
    return _name(decision.actor, names)


def _name(actor: str, names: Mapping[str, str]) -> str:
    kind, _, name = actor.partition("/")
    if kind == "operator":
        return f"{name}, on the command line" if name else "the command line"
    return names.get(actor, _LEFT)
