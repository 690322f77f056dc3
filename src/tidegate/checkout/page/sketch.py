"""What a page is drawn from: its shape, and what goes into it, either at once or as a slot to be filled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from tidegate.checkout.page import values
from tidegate.checkout.page.look import time_element
from tidegate.checkout.page.shape import Shape
from tidegate.checkout.page.time_format import zone_of
from tidegate.checkout.page.values import Value
from tidegate.checkout.page.words import Words, words_for
from tidegate.core.method import Method, MethodNames
from tidegate.infra.page.site import Site

ROOT = "/pay"


@dataclass(frozen=True)
class Sketch:
    shape: Shape
    # Writes a value of the payment: itself, or the slot that is kept for it.
    own: Callable[[Value], str]
    names: MethodNames
    site: Site
    is_test: bool

    @cached_property
    def words(self) -> Words:
        return words_for(self.shape.language)

    @cached_property
    def here(self) -> str:
        """The page's own address, without a query."""
        return self.site.url(f"{ROOT}/{self.own(values.pay_code)}")

    @cached_property
    def expected(self) -> str:
        return self.own(values.asked if self.shape.expects_what_is_asked else values.expected)

    def cost(self, number: int) -> str:
        """What the payer pays by the method of that number; where it does not matter which, all have the first."""
        costs = self.shape.costs
        number = number if len(costs) > 1 else 0
        return self.own(values.OF_COSTS[number].text if costs[number].has_fee else values.asked)

    def method_href(self, method: Method) -> str:
        return f"{self.here}?method={self.names.in_record(method)}"

    def time(self, iso: Value, text: Value) -> Markup:
        return time_element(self.own(iso), self.own(text), zone_of(self.shape.currency), "time")
