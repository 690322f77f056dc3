"""Codes of an authenticator app: one step of clock error either way, and each code once."""

from __future__ import annotations

import re
from datetime import datetime

import pyotp

STEP_S = 30
WINDOW = 1
_CODE = re.compile(r"[0-9]{6}")


def new_secret() -> str:
    return pyotp.random_base32()


def address(secret: str, *, email: str) -> str:
    """For the QR code."""
    return pyotp.TOTP(secret).provisioning_uri(name=email, issuer_name="Tidegate")


def step_of(secret: str, code: str, *, after_step: int, now: datetime) -> int | None:
    """The time step whose code this is. None when it is wrong, or not newer than the one that was used last."""
    digits = code.replace(" ", "")
    if not _CODE.fullmatch(digits):
        return None
    totp, current = pyotp.TOTP(secret), int(now.timestamp()) // STEP_S
    for step in range(current - WINDOW, current + WINDOW + 1):
        if pyotp.utils.strings_equal(totp.generate_otp(step), digits):
            return step if step > after_step else None
    return None
