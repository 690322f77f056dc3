"""Identifiers and keys: their form, and how they are made."""

from __future__ import annotations

import itertools
import os
import re
import secrets
import string
import zlib

from tidegate.core.described_enum import DescribedEnum

_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_CHECKSUM_LENGTH = 6
_RANDOM_LENGTH = 32
_BUSINESS_CODE_LENGTH = 5
_REQUEST_BYTES = 8
_REQUEST_WORDS_AT_ONCE = 256

BUSINESS_ID = re.compile(r"[0-9a-f]{24}")
# Of what belongs to no merchant: suspense in the books, mail about a person's own sign-in.
PLATFORM_BUSINESS_ID = "0" * 24
# A pay code is "tg_", the short code of its business (so that the hosted page finds the business
# before it looks for the payment), and 128 random bits.
_PAY_CODE = re.compile(rf"tg_([0-9A-Za-z]{{{_BUSINESS_CODE_LENGTH}}})_[0-9A-Za-z]{{22}}")
_LINK_ID = re.compile(rf"pl_([0-9A-Za-z]{{{_BUSINESS_CODE_LENGTH}}})_[0-9A-Za-z]{{22}}")
_FORM_ID = re.compile(r"[0-9A-Za-z]{22}")
# Ours, or one that a proxy made: a UUID of Caddy, 32 hexadecimal digits of nginx.
REQUEST_ID_PATTERN = "^[0-9A-Za-z_-]{16,64}$"
_REQUEST_ID = re.compile(REQUEST_ID_PATTERN)


class Mode(DescribedEnum):
    """A deployment serves one mode; keys of the other never work on it."""

    SANDBOX = "sandbox", "Test money and test keys; nothing real moves."
    LIVE = "live", "Real money."

    @property
    def key_word(self) -> str:
        return "test" if self is Mode.SANDBOX else "live"


# Two digits at a time need half the divisions; the lower one is first.
_BASE62_PAIRS = [low + high for high in _BASE62 for low in _BASE62]


def _base62(number: int, width: int) -> str:
    """`width` is even."""
    pairs = []
    for _ in range(width // 2):
        number, pair = divmod(number, 62 * 62)
        pairs.append(_BASE62_PAIRS[pair])
    return "".join(pairs)


def _random_text(length: int) -> str:
    return "".join(secrets.choice(_BASE62) for _ in range(length))


def new_business_id() -> str:
    return secrets.token_hex(12)


def new_person_id() -> str:
    return secrets.token_hex(12)


def new_business_code() -> str:
    return _random_text(_BUSINESS_CODE_LENGTH)


def new_pay_code(business_code: str) -> str:
    return f"tg_{business_code}_{_random_id()}"


def business_code_of(pay_code: str) -> str | None:
    match = _PAY_CODE.fullmatch(pay_code)
    return match and match[1]


def looks_like_pay_code(text: str) -> bool:
    return _PAY_CODE.fullmatch(text) is not None


def new_link_id(business_code: str) -> str:
    """Names its business, as a pay code does."""
    return f"pl_{business_code}_{_random_id()}"


def business_code_of_link(link_id: str) -> str | None:
    match = _LINK_ID.fullmatch(link_id)
    return match and match[1]


def new_form_id() -> str:
    """Of a form that counts once, however often it is sent."""
    return _random_id()


def looks_like_form_id(text: str) -> bool:
    return _FORM_ID.fullmatch(text) is not None


def new_request_id() -> str:
    return "req_" + next(_request_words)


def looks_like_request_id(text: str) -> bool:
    return _REQUEST_ID.fullmatch(text) is not None


def _drawn_request_words(count: int) -> list[str]:
    text = os.urandom(count * _REQUEST_BYTES).hex()
    return [text[at : at + 2 * _REQUEST_BYTES] for at in range(0, len(text), 2 * _REQUEST_BYTES)]


# Every request has one, and it is not secret: random bytes are drawn for many at once, at a third of the cost.
_request_words = itertools.chain.from_iterable(map(_drawn_request_words, itertools.repeat(_REQUEST_WORDS_AT_ONCE)))


def new_event_id() -> str:
    return f"evt_{_random_id()}"


def new_endpoint_id() -> str:
    return f"we_{_random_id()}"


def new_attempt_reference() -> str:
    return f"at_{_random_id()}"


def new_return_reference() -> str:
    return f"rt_{_random_id()}"


def new_refund_reference() -> str:
    return f"rf_{_random_id()}"


def looks_like_refund_reference(text: str) -> bool:
    return text.startswith("rf_")


def new_collection_reference() -> str:
    return f"col_{_random_id()}"


def new_account_id() -> str:
    """The form that the specification gives a virtual account's id."""
    return secrets.token_hex(12)


def _random_id() -> str:
    """128 bits in 22 characters."""
    return _base62(int.from_bytes(os.urandom(16)), 22)


def new_secret_key(mode: Mode) -> str:
    return _new_key(f"sk_{mode.key_word}_")


def new_public_key(mode: Mode) -> str:
    return _new_key(f"pk_{mode.key_word}_")


def is_secret_key(text: str, mode: Mode) -> bool:
    return _is_key(text, f"sk_{mode.key_word}_")


def is_public_key(text: str, mode: Mode) -> bool:
    return _is_key(text, f"pk_{mode.key_word}_")


def _new_key(prefix: str) -> str:
    body = prefix + _random_text(_RANDOM_LENGTH)
    return body + _checksum(body)


def _is_key(text: str, prefix: str) -> bool:
    """Form, mode and checksum: a mistyped key is refused before anything is looked up."""
    if len(text) != len(prefix) + _RANDOM_LENGTH + _CHECKSUM_LENGTH or not text.isascii():
        return False
    return text.startswith(prefix) and text[-_CHECKSUM_LENGTH:] == _checksum(text[:-_CHECKSUM_LENGTH])


def _checksum(text: str) -> str:
    return _base62(zlib.crc32(text.encode()), _CHECKSUM_LENGTH)
