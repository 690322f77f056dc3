"""Public numbers. The stored ones are counted over all businesses, and would reveal the volume of others."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from functools import cached_property

# Each below 2**52, which JavaScript holds exactly.
_HALF_BITS = 26
_HALF = (1 << _HALF_BITS) - 1
_ROUNDS = 8


class Permutation:
    """A Feistel network: as unique as the stored number, and without a visible order."""

    def __init__(self, key: bytes) -> None:
        self._rounds = [hashlib.blake2s(bytes([number]), key=key, digest_size=4) for number in range(_ROUNDS)]

    def hide(self, number: int) -> int:
        left, right = _halves(number)
        for state in self._rounds:
            left, right = right, left ^ _mixed(state, right)
        return left << _HALF_BITS | right

    def reveal(self, number: int) -> int:
        left, right = _halves(number)
        for state in reversed(self._rounds):
            left, right = right ^ _mixed(state, left), left
        return left << _HALF_BITS | right


def _halves(number: int) -> tuple[int, int]:
    if not 0 <= number < 1 << 2 * _HALF_BITS:
        raise ValueError(f"{number} is not below 2**{2 * _HALF_BITS}")
    return number >> _HALF_BITS, number & _HALF


def _mixed(state: hashlib.blake2s, half: int) -> int:
    state = state.copy()
    state.update(half.to_bytes(4))
    return int.from_bytes(state.digest()) & _HALF


class PublicIds:
    """One permutation per kind, so that equal numbers of two kinds differ."""

    def __init__(self, secret: Callable[[], bytes]) -> None:
        """`secret` returns the deployment's secret, which is known once the database is open."""
        self._secret = secret

    @cached_property
    def payment(self) -> Permutation:
        return self._permutation(b"payments")

    @cached_property
    def statement_line(self) -> Permutation:
        return self._permutation(b"statement lines")

    @cached_property
    def refund(self) -> Permutation:
        return self._permutation(b"refunds")

    @cached_property
    def payment_link(self) -> Permutation:
        return self._permutation(b"payment links")

    @cached_property
    def request(self) -> Permutation:
        return self._permutation(b"requests")

    def _permutation(self, kind: bytes) -> Permutation:
        secret = self._secret()
        if not secret:
            raise RuntimeError("the database is not open yet, so its secret is not known")
        return Permutation(hmac.digest(secret, b"numbers of " + kind, "sha256"))
