"""Settings of a merchant in the words of the form that proposes them."""

from __future__ import annotations

from typing import Any

from tidegate.core.money import Currency, Money
from tidegate.staff_approval.arguments import shown

SETTING_LABELS = {
    "status": "State",
    "rate_per_second": "Requests a second",
    "rate_burst": "At once",
    "variance_policy": "Transfers of too little or too much",
    "variance_tolerance_minor": "Difference that is ignored, at most",
    "inflow_name_policy": "Inflows with a close or missing name",
    "redirect_hosts": "Redirect hosts",
    "checkout_origins": "Checkout origins",
}
SETTING_CHOICES = {
    "variance_policy": {"accept": "accept them", "top_up": "wait for the rest", "return": "return them"},
    "inflow_name_policy": {"hold": "hold them", "strict": "return them"},
}


def setting_text(name: str, value: Any) -> str:
    if name in SETTING_CHOICES:
        return SETTING_CHOICES[name][value]
    if name == "variance_tolerance_minor":
        return tolerance_text(value)
    if name == "redirect_hosts" and not value:
        return "any"
    return shown(value)


def tolerance_text(minor: int) -> str:
    """One number holds for every currency, so it is shown as an amount of each kind."""
    examples = {currency.minor_per_major: currency for currency in reversed(Currency)}
    return ", ".join(str(Money(minor, examples[unit])) for unit in sorted(examples, reverse=True))
