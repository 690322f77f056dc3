"""A payment method as a field of the API: a string for programs, since any letter case is taken, with its spellings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from tidegate.core.method import USUAL_NAMES, Method
from tidegate.infra.http.operation import MEANINGS_KEY

METHODS_LISTED_MAX = 16


def _spellings(title: str, spelling: Callable[[Method], str]) -> Meta:
    words = {spelling(method): method.meaning for method in Method}
    return Meta(extra_json_schema={"title": title, "enum": list(words), MEANINGS_KEY: words})


RequestedMethod = Annotated[str, _spellings("RequestedMethod", USUAL_NAMES.in_request)]
PaymentMethod = Annotated[str, _spellings("PaymentMethod", USUAL_NAMES.in_record)]
# One that must be there.
ChosenMethod = Annotated[RequestedMethod, Meta(min_length=1, max_length=100)]
OfferedMethods = Annotated[
    Annotated[list[RequestedMethod], Meta(min_length=1, max_length=METHODS_LISTED_MAX)] | None,
    Meta(description="In the order shown on the page, in any letter case. Every method of the currency when absent."),
]
