"""On a cluster a statement is about one business; elsewhere one statement serves all businesses that wait."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar


class OfBusiness(Protocol):
    @property
    def business_id(self) -> str: ...


One = TypeVar("One", bound=OfBusiness)
Outcome = TypeVar("Outcome")


async def per_business(
    items: Sequence[One], do_all: Callable[[Sequence[One]], Awaitable[Sequence[Outcome]]]
) -> list[Outcome]:
    """The items of each business by themselves, all businesses at once; the outcomes are in the order of the items."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, item in enumerate(items):
        places[item.business_id].append(place)
    done = await asyncio.gather(*(do_all([items[place] for place in group]) for group in places.values()))
    outcome_at = {
        place: outcome
        for group, outcomes in zip(places.values(), done, strict=True)
        for place, outcome in zip(group, outcomes, strict=True)
    }
    return [outcome_at[place] for place in range(len(items))]
