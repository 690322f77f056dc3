"""What payers type in."""

from __future__ import annotations

from typing import Any

SUCCEEDS = "5319317801366660"
WANTS_PIN = "5366139833864633"
WANTS_PIN_AND_OTP = "5333018248439266"
WANTS_3DS = "4084080000000409"
WANTS_ADDRESS = "4960215093757593"
WITHOUT_MONEY = "4084080000005408"
# Valid by its digits, and nobody's.
NOT_FOR_TESTS = "4111111111111111"

ADDRESS = {"line": "1 Marina", "city": "Lagos", "country": "NG"}


def card(number: Any = SUCCEEDS, **changes: Any) -> dict[str, Any]:
    """The body of a charge by card, with changes to the card's fields; a change to `...` leaves the field out."""
    fields = {"number": number, "expiryMonth": 12, "expiryYear": 2040, "cvv": "123", **changes}
    return {"type": "card", "card": {name: value for name, value in fields.items() if value is not ...}}


def phone(number: Any, **changes: Any) -> dict[str, Any]:
    return {"type": "mobile_money", "phone": number, **changes}
