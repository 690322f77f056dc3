"""Passwords: argon2id in a thread, at most two at once; and how guessable a new one is."""

from __future__ import annotations

import asyncio
from functools import cache
from importlib import import_module
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from tidegate.core.errors import Invalid, Problem

CHARS_MIN, CHARS_MAX = 12, 128
# zxcvbn takes time with the cube of the length, and refuses more.
JUDGED_CHARS_MAX = 72
SCORE_MIN = 3
_hasher = PasswordHasher(time_cost=3, memory_cost=65_536, parallelism=4)
# Compared with when the address is unknown, so that an unknown one takes as long as a known one.
_DUMMY_HASH = "$argon2id$v=19$m=65536,t=3,p=4$MDEyMzQ1Njc4OWFiY2RlZg$WgS0KPjAjq0Lm0QwNN5rfvDZDCA5Iq5qBbr1ioPGWsA"


class PasswordHashing:
    """64 MiB for each: two at once bound the memory of a flood of tries."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(2)

    async def hash(self, password: str) -> str:
        async with self._slots:
            return await asyncio.to_thread(_hasher.hash, password)

    async def verify(self, password_hash: str | None, password: str) -> bool:
        async with self._slots:
            return await asyncio.to_thread(_verify, password_hash, password)


def _verify(password_hash: str | None, password: str) -> bool:
    try:
        _hasher.verify(password_hash or _DUMMY_HASH, password[:CHARS_MAX])
    except (VerificationError, InvalidHashError):
        return False
    return password_hash is not None


def needs_rehash(password_hash: str) -> bool:
    return _hasher.check_needs_rehash(password_hash)


def checked(password: str, *, words: list[str]) -> str:
    """Raises Invalid. No rules of composition: what counts is how soon it is guessed."""
    if not CHARS_MIN <= len(password) <= CHARS_MAX:
        raise _refused(f"Use {CHARS_MIN} to {CHARS_MAX} characters; a sentence is easiest to remember.")
    judged = _zxcvbn().zxcvbn(password[:JUDGED_CHARS_MAX], user_inputs=words)
    if judged["score"] < SCORE_MIN:
        hint = judged["feedback"]["warning"] or "It would be guessed soon"
        raise _refused(f"{hint.rstrip('.')}. Use more words, or words that do not belong together.")
    return password


@cache
def _zxcvbn() -> Any:
    """Loaded with the first new password: its lists of common ones take 12 MB, and most processes never need them."""
    return import_module("zxcvbn")


def _refused(message: str) -> Invalid:
    return Invalid(Problem("password", message))
