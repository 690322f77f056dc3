"""Callbacks of the emulated pawaPay: signed, and repeated for 15 minutes until they are answered with 200."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from tidegate.emulator.pawapay.model import EmulatedPawapayAccount, public_pem
from tidegate.infra import message_signature
from tidegate.infra.message_signature import HttpMessage

RETRY_EVERY = timedelta(minutes=1)
RETRIED_FOR = timedelta(minutes=15)
ANSWER_WITHIN_S = 30.0
CONTENT_TYPE = "application/json; charset=UTF-8"


class Spoil(StrEnum):
    """What is wrong with a callback, on request."""

    UNSIGNED = "unsigned"
    EXPIRED = "expired"
    WRONG_DIGEST = "wrong_digest"
    RAW_SIGNATURE = "raw_signature"
    OTHER_PATH = "other_path"
    OTHER_HOST = "other_host"
    OTHER_KEY = "other_key"


@dataclass
class EmulatedCallback:
    body: bytes
    begun_at: datetime
    due_at: datetime
    spoil: Spoil | None = None
    tries: int = 0
    # The last answer's status; 0 for none.
    answered: int | None = None
    is_done: bool = False


class Callbacks:
    def __init__(self, account: EmulatedPawapayAccount) -> None:
        self._account = account
        self.sent: list[EmulatedCallback] = []
        self._number = 0
        self._keys: dict[str, ec.EllipticCurvePrivateKey] = {}
        self.rotate_key()
        # For whom it is signed; known from the callback URL where none is set.
        self.signed_for: tuple[str, str] | None = None

    def rotate_key(self) -> str:
        self._number += 1
        self.key_id = f"HTTP_EC_P256_KEY:{self._number}"
        self._keys[self.key_id] = ec.generate_private_key(ec.SECP256R1())
        return self.key_id

    def public_keys(self) -> list[dict[str, str]]:
        return [{"id": name, "key": public_pem(key.public_key())} for name, key in self._keys.items()]

    def add(self, transaction: dict[str, Any], *, now: datetime, spoil: Spoil | None = None) -> None:
        for _ in range(2 if self._account.callbacks_twice else 1):
            self.add_body(json.dumps(transaction).encode(), now=now, spoil=spoil)

    def add_body(self, body: bytes, *, now: datetime, spoil: Spoil | None = None) -> EmulatedCallback:
        self.sent.append(EmulatedCallback(body, now, now, spoil))
        return self.sent[-1]

    def headers_of(self, callback: EmulatedCallback, *, now: datetime) -> dict[str, str]:
        """Signed anew for each delivery."""
        own = {"content-type": CONTENT_TYPE}
        if callback.spoil is Spoil.UNSIGNED or not self._account.signed_callbacks:
            return own
        authority, path = self._destination()
        if callback.spoil is Spoil.OTHER_PATH:
            path += "/other"
        if callback.spoil is Spoil.OTHER_HOST:
            authority = "other.example.com"
        signed_at = now - timedelta(minutes=10) if callback.spoil is Spoil.EXPIRED else now
        key = self._keys[self.key_id]
        if callback.spoil is Spoil.OTHER_KEY:
            key = ec.generate_private_key(ec.SECP256R1())
        body = callback.body + (b" " if callback.spoil is Spoil.WRONG_DIGEST else b"")
        message = HttpMessage("POST", authority, path, own, body)
        signed = message_signature.sign(message, key, self.key_id, now=signed_at)
        if callback.spoil is Spoil.RAW_SIGNATURE:
            signed["signature"] = _as_raw(message_signature.read(signed).signature)
        return {**own, **signed}

    def _destination(self) -> tuple[str, str]:
        url = urlsplit(self._account.callback_url or "")
        return self.signed_for or (url.netloc, url.path)

    async def send_due(self, session: aiohttp.ClientSession, *, now: datetime) -> None:
        for callback in [one for one in self.sent if not one.is_done and one.due_at <= now]:
            await self._send(session, callback, now)

    async def _send(self, session: aiohttp.ClientSession, callback: EmulatedCallback, now: datetime) -> None:
        if self._account.callback_url is None:
            return
        callback.tries += 1
        callback.due_at = now + RETRY_EVERY
        try:
            async with session.post(
                self._account.callback_url,
                data=callback.body,
                headers=self.headers_of(callback, now=now),
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=ANSWER_WITHIN_S),
            ) as answer:
                callback.answered = answer.status
        except (aiohttp.ClientError, OSError, TimeoutError):
            callback.answered = 0
        callback.is_done = callback.answered == 200 or callback.due_at > callback.begun_at + RETRIED_FOR


def _as_raw(der: bytes) -> str:
    """As the standard has it, and pawaPay does not."""
    r, s = decode_dss_signature(der)
    raw = r.to_bytes(32, "big") + s.to_bytes(32, "big")
    return f"{message_signature.LABEL}=:{message_signature.in_base64(raw)}:"
