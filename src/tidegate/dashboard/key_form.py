"""The form of a restricted key, and what is said of a key, in the dashboard and the console."""

from __future__ import annotations

from datetime import datetime, timedelta

from tidegate.core.errors import Invalid, Problem
from tidegate.core.money import Currency, Money
from tidegate.dashboard.format import Times, amount
from tidegate.dashboard.settings_pages import REFUNDED
from tidegate.infra.http.form import Form
from tidegate.merchant.key_terms import KeyRequest
from tidegate.merchant.model import ApiKey, KeyScope

LIMIT_DIGITS_MAX = 12
# In days.
OVERLAPS = {"0": "ends now", "1": "works 1 day more", "7": "works 7 days more"}


def scopes_in(form: Form) -> list[str]:
    return [scope.value for scope in KeyScope if form.get(f"scope-{scope.value}")]


def key_request_in(form: Form, *, now: datetime) -> KeyRequest:
    """Raises Invalid."""
    scopes, days = scopes_in(form), form.get("days", "").strip()
    if days and not (days.isascii() and days.isdigit() and 1 <= len(days) <= 4 and int(days) > 0):
        raise Invalid(Problem("days", "Enter after how many days it ends, or nothing."))
    limits = limits_in(form)
    if limits and KeyScope.REFUND not in scopes:
        raise Invalid(Problem(f"limit-{next(iter(limits))}", "Tick “refund” too, or leave the refund limits empty."))
    return KeyRequest(
        name=form.get("name", "").strip(),
        scopes=scopes,
        addresses=form.get("addresses", "").replace(",", " ").split(),
        refund_max=limits,
        expires_at=now + timedelta(days=int(days)) if days else None,
    )


def limits_in(form: Form) -> dict[str, int]:
    """By currency, in major units. Raises Invalid, with every field that is wrong."""
    found = {code: text for code in REFUNDED if (text := form.get(f"limit-{code}", "").strip())}
    problems = [
        Problem(f"limit-{code}", f"Enter a whole amount in {code}, such as 50000, or nothing.")
        for code, text in found.items()
        if not (text.isascii() and text.isdigit() and len(text) <= LIMIT_DIGITS_MAX)
    ]
    if problems:
        raise Invalid(*problems)
    return {code.value: int(text) for code, text in found.items()}


def limits_of(key: ApiKey) -> str:
    """Of one refund: up to ₦50,000.00 or KSh 1,000.00."""
    if key.refund_max is None:
        return ""
    limits = (Money(key.refund_max[one], one) for one in Currency if one in key.refund_max)
    return f"up to {' or '.join(map(amount, limits))}"


def state_of(key: ApiKey, now: datetime, times: Times) -> tuple[str, str]:
    if key.revoked_at is not None:
        return "Revoked", ""
    if not key.is_valid_at(now):
        return "Ended", ""
    if key.expires_at is not None:
        return f"Until {times.short(key.expires_at)}", "warn"
    return "Works", "good"
