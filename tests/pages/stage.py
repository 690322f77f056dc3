"""What a test of a page works with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from playwright.async_api import Page

from build import Checkout
from tidegate.infra.db import Database

NewPage = Callable[..., Awaitable[Page]]


@dataclass(frozen=True)
class LinkedCheckout(Checkout):
    """A payment, and the address of its page."""

    link: str


NewPayment = Callable[..., Awaitable[LinkedCheckout]]


@dataclass(frozen=True)
class Stage:
    new_page: NewPage
    new_payment: NewPayment
    # For what no payer can do.
    db: Database
