"""Secrets, encrypted at rest under a key that is not in the database."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
_NONCE_BYTES = 12
_KEY_ID_LENGTH = 8


class NoKey(Exception):
    """The message says what to do."""


class Vault:
    """AES-GCM. A sealed secret has the id of its key, so that a new key can be put before the old ones."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = {_id_of(key): AESGCM(key) for key in keys}
        self._current = _id_of(keys[0]) if keys else None

    def seal(self, text: str, *, owner: str) -> str:
        """Opens for the same owner only, so that it cannot be moved to another row."""
        if self._current is None:
            raise NoKey("TIDEGATE_ENCRYPTION_KEY must be set: webhook secrets are kept encrypted")
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._ciphers[self._current].encrypt(nonce, text.encode(), owner.encode())
        return f"{self._current}:{base64.b64encode(nonce + sealed).decode()}"

    def is_current(self, sealed: str) -> bool:
        return sealed.partition(":")[0] == self._current

    def open(self, sealed: str, *, owner: str) -> str:
        key_id, _, box = sealed.partition(":")
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            raise NoKey(f"a secret was sealed with the key {key_id}; add that key to TIDEGATE_ENCRYPTION_KEY")
        try:
            given = base64.b64decode(box)
            return cipher.decrypt(given[:_NONCE_BYTES], given[_NONCE_BYTES:], owner.encode()).decode()
        except (InvalidTag, ValueError):
            raise NoKey(f"a sealed secret of {owner} was changed, or moved from another row") from None


def key_kept_in(path: Path) -> bytes:
    """Created on first use; afterwards the same key for every process that reads this path."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.urandom(8).hex()}.tmp")
    if not path.exists():
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(base64.b64encode(os.urandom(KEY_BYTES)))
        try:
            os.link(draft, path)  # Atomic; fails if another process was first.
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    try:
        key = base64.b64decode(path.read_bytes(), validate=True)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise NoKey(f"{path} is damaged: restore it from a copy, or remove it and then run `tidegate doctor`")
    return key


def _id_of(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()[:_KEY_ID_LENGTH]
