"""An authenticator in software, which can also do what a real one never would."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

PRESENT, VERIFIED, HAS_KEY = 0x01, 0x04, 0x40


@dataclass
class SoftAuthenticator:
    origin: str
    rp_id: str = "localhost"
    is_verifying: bool = True
    count: int = 0
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def create(self, options: str) -> str:
        numbers = self.key.public_key().public_numbers()
        cose = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)})
        attested = bytes(16) + len(self.credential_id).to_bytes(2) + self.credential_id + cose
        data = self._data(HAS_KEY) + attested
        return self._answer(
            clientDataJSON=text_of(self._client_data("webauthn.create", options)),
            attestationObject=text_of(cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})),
        )

    def get(self, options: str) -> str:
        self.count += 1
        client_data, data = self._client_data("webauthn.get", options), self._data(0)
        signature = self.key.sign(data + hashlib.sha256(client_data).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer(
            clientDataJSON=text_of(client_data), authenticatorData=text_of(data), signature=text_of(signature)
        )

    def _client_data(self, kind: str, options: str) -> bytes:
        challenge = json.loads(options)["challenge"]
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _data(self, flags: int) -> bytes:
        flags |= PRESENT | (VERIFIED if self.is_verifying else 0)
        return hashlib.sha256(self.rp_id.encode()).digest() + bytes([flags]) + self.count.to_bytes(4)

    def _answer(self, **response: Any) -> str:
        name = text_of(self.credential_id)
        return json.dumps({"id": name, "rawId": name, "type": "public-key", "response": response})


def text_of(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
