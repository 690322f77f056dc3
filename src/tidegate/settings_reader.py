"""Reads settings from the environment, with every problem at once."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from contextlib import suppress

ENCRYPTION_KEY_BYTES = 32
# 32 random bytes have about 30 distinct values; fewer than this does not happen by chance.
DISTINCT_BYTES_MIN = 12
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_CONTACT = re.compile(r"(?:https://|mailto:|tel:)\S+")


class SettingsReader:
    """Collects all problems instead of stopping at the first."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.problems: list[str] = []

    def text(self, name: str, default: str = "") -> str:
        return self._environment.get(name, "").strip() or default

    def choice(self, name: str, choices: list[str], *, default: str) -> str:
        value = self.text(name, default)
        if value in choices:
            return value
        self.problems.append(f"{name} must be one of {', '.join(choices)}, not {value!r}.")
        return default

    def number(self, name: str, *, default: int, at_most: int, at_least: int = 0) -> int:
        value = self.text(name, str(default))
        if value.isascii() and value.isdigit() and at_least <= int(value) <= at_most:
            return int(value)
        self.problems.append(f"{name} must be a whole number from {at_least} to {at_most}, not {value!r}.")
        return default

    def days(self, name: str, *, default: int, at_least: int, at_most: int) -> int:
        """How long something is kept. Set to nothing, like 0, it is kept for ever: 0."""
        value = self._environment.get(name, str(default)).strip() or "0"
        if value.isascii() and value.isdigit() and (int(value) == 0 or at_least <= int(value) <= at_most):
            return int(value)
        self.problems.append(
            f"{name} must be a whole number of days from {at_least} to {at_most}, or 0 to keep all, not {value!r}."
        )
        return 0

    def line(self, name: str, *, chars_max: int) -> str:
        value = self.text(name)
        if len(value) > chars_max or not value.isprintable():
            self.problems.append(f"{name} must be one line of at most {chars_max} characters.")
        return value

    def contact(self, name: str) -> str:
        """A URI, as RFC 9116 requires. A bare e-mail address becomes one."""
        value = self.text(name)
        if _EMAIL.fullmatch(value):
            return f"mailto:{value}"
        if value and not _CONTACT.fullmatch(value):
            self.problems.append(f"{name} must be an e-mail address, or begin with https:, mailto: or tel:.")
        return value

    def keys(self, name: str) -> tuple[bytes, ...]:
        """One or more, in base64 and separated by commas or spaces."""
        keys = []
        words = self.text(name).replace(",", " ").split()
        for word in words:
            with suppress(binascii.Error):
                keys.append(base64.b64decode(word, validate=True))
        if len(keys) != len(words) or any(len(key) != ENCRYPTION_KEY_BYTES for key in keys):
            self.problems.append(
                f"{name} must be {ENCRYPTION_KEY_BYTES} bytes in base64, such as `openssl rand -base64 32` makes."
            )
            return ()
        if any(len(set(key)) < DISTINCT_BYTES_MIN for key in keys):
            self.problems.append(f"{name} is not a random key; `openssl rand -base64 32` makes one.")
        return tuple(keys)
