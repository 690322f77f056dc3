"""The short reference that a payer types as the narration of a transfer: TG, six random characters and a check one.

No character looks like another, and the check character finds every single mistake and every swap of neighbours, so
that a mistyped reference is never another payment's.
"""

from __future__ import annotations

import re
import secrets

# Without 0, 1, I, L, O, U and V; as many as a prime, which the check character needs.
_LETTERS = "23456789ABCDEFGHJKMNPQRSTWXYZ"
_PREFIX = "TG"
_LENGTH = 6
_FOUND = re.compile(rf"(?=({_PREFIX}[{_LETTERS}]{{{_LENGTH + 1}}}))")


def new_code() -> str:
    body = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
    return f"{_PREFIX}{body}{_check_character(body)}"


def code_in(*texts: str | None) -> str | None:
    """However the payer or a bank spaced it; None without one, or with several."""
    found = {
        code
        for text in texts
        for code in _FOUND.findall(re.sub(r"[^0-9A-Z]", "", (text or "").upper()))
        if code[-1] == _check_character(code[len(_PREFIX) : -1])
    }
    return found.pop() if len(found) == 1 else None


def _check_character(body: str) -> str:
    total = sum(weight * _LETTERS.index(letter) for weight, letter in enumerate(body, 1))
    return _LETTERS[total % len(_LETTERS)]
