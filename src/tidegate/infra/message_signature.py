"""HTTP message signatures (RFC 9421), with a deviation that is met in the field: ECDSA signatures are DER, where the
standard has two raw numbers."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.serialization import load_pem_public_key

LABEL = "sig-pp"
LASTS_S = 60
# The clocks of both sides may differ.
SKEW_S = 60
COVERED = ("@method", "@authority", "@path", "signature-date", "content-digest", "content-type")
# Without these a signature says too little.
REQUIRED = frozenset({"@method", "@authority", "@path", "content-digest"})
HEADER_CHARACTERS_MAX = 4096
_INPUT = re.compile(
    r'([a-z][a-z0-9_-]{0,30})=(\(("[a-z0-9@-]+"(?: "[a-z0-9@-]+")*)\)((?:;[a-z]+=(?:"[^"\\]*"|[0-9]+))*))'
)
_PARAMETER = re.compile(r';([a-z]+)=(?:"([^"\\]*)"|([0-9]{1,15}))')
_DIGESTS = {"sha-256": hashlib.sha256, "sha-512": hashlib.sha512}
_ECDSA: dict[str, tuple[type[ec.EllipticCurve], hashes.HashAlgorithm]] = {
    "ecdsa-p256-sha256": (ec.SECP256R1, hashes.SHA256()),
    "ecdsa-p384-sha384": (ec.SECP384R1, hashes.SHA384()),
}
_RSA: dict[str, tuple[padding.AsymmetricPadding, hashes.HashAlgorithm]] = {
    "rsa-v1_5-sha256": (padding.PKCS1v15(), hashes.SHA256()),
    "rsa-pss-sha512": (padding.PSS(padding.MGF1(hashes.SHA512()), 64), hashes.SHA512()),
}

PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey


class SignatureRefused(Exception):
    """The message says why."""


class UnknownKey(SignatureRefused):
    """The signature names a key that is not known: it may be a new one."""


class HttpMessage(NamedTuple):
    """A request. Header names are in lower case."""

    method: str
    authority: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class SignatureInput(NamedTuple):
    components: tuple[str, ...]
    # As received, for the last line of the signature base.
    text: str
    algorithm: str
    key_id: str
    created: int
    expires: int
    signature: bytes


def public_key(pem: str) -> PublicKey | None:
    """None for a key of another kind, or what is no key."""
    try:
        key = load_pem_public_key(pem.encode())
    except (ValueError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey) else None


def in_base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def content_digest(body: bytes) -> str:
    return f"sha-256=:{in_base64(hashlib.sha256(body).digest())}:"


def sign(
    message: HttpMessage, key: ec.EllipticCurvePrivateKey, key_id: str, *, now: datetime, lasts_s: int = LASTS_S
) -> dict[str, str]:
    """The headers to be added; `content-type` must be among the message's own."""
    created = int(now.timestamp())
    added = {
        "content-digest": content_digest(message.body),
        "signature-date": f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
    }
    names = " ".join(f'"{name}"' for name in COVERED)
    text = f'({names});alg="ecdsa-p256-sha256";keyid="{key_id}";created={created};expires={created + lasts_s}'
    whole = message._replace(headers={**message.headers, **added})
    signature = key.sign(signature_base(whole, COVERED, text), ec.ECDSA(hashes.SHA256()))
    return {
        **added,
        "signature-input": f"{LABEL}={text}",
        "signature": f"{LABEL}=:{in_base64(signature)}:",
    }


def signature_base(message: HttpMessage, components: tuple[str, ...], text: str) -> bytes:
    """Raises SignatureRefused for a component that the message does not have."""
    lines = [f'"{name}": {_value_of(message, name)}' for name in components]
    return "\n".join([*lines, f'"@signature-params": {text}']).encode()


def _value_of(message: HttpMessage, name: str) -> str:
    derived = {
        "@method": message.method,
        "@authority": message.authority.lower(),
        "@path": message.path,
        "@query": "?",
    }
    value = derived.get(name) if name.startswith("@") else message.headers.get(name)
    if value is None:
        raise SignatureRefused(f"the signature covers {name}, which the message does not have")
    return value.strip()


def read(headers: Mapping[str, str]) -> SignatureInput:
    """Raises SignatureRefused."""
    given, signed = headers.get("signature-input", ""), headers.get("signature", "")
    if not given or not signed:
        raise SignatureRefused("the headers signature-input and signature are missing")
    found = _INPUT.fullmatch(given) if max(len(given), len(signed)) <= HEADER_CHARACTERS_MAX else None
    if found is None or not signed.startswith(f"{found[1]}=:") or not signed.endswith(":"):
        raise SignatureRefused("the signature's headers are not understood")
    parameters = {name: text or number for name, text, number in _PARAMETER.findall(found[4])}
    try:
        signature = base64.b64decode(signed.removeprefix(f"{found[1]}=:")[:-1], validate=True)
        created, expires = int(parameters["created"]), int(parameters["expires"])
        algorithm, key_id = parameters["alg"], parameters["keyid"]
    except (KeyError, ValueError, binascii.Error):
        raise SignatureRefused("the signature's parameters are not understood") from None
    components = tuple(name.strip('"') for name in found[3].split(" "))
    return SignatureInput(components, found[2], algorithm, key_id, created, expires, signature)


def verify(message: HttpMessage, keys: Mapping[str, PublicKey], *, now: datetime) -> None:
    """Raises SignatureRefused; UnknownKey when the key is not among `keys`."""
    given = read(message.headers)
    if missing := REQUIRED - set(given.components):
        raise SignatureRefused(f"the signature does not cover {', '.join(sorted(missing))}")
    if len(set(given.components)) < len(given.components):
        raise SignatureRefused("the signature covers something twice")
    moment = now.timestamp()
    if given.expires < moment - SKEW_S or given.created > moment + SKEW_S:
        raise SignatureRefused("the signature is too old, or of the future")
    _check_digest(message)
    key = keys.get(given.key_id)
    if key is None:
        raise UnknownKey(f"the key {given.key_id[:100]!r} is not known")
    _check(key, given, signature_base(message, given.components, given.text))


def _check_digest(message: HttpMessage) -> None:
    digests = [part.strip().partition("=") for part in message.headers.get("content-digest", "").split(",")]
    known = [(name, text) for name, _, text in digests if name in _DIGESTS]
    expected = {name: f":{in_base64(_DIGESTS[name](message.body).digest())}:" for name, _ in known}
    if not known or not all(hmac.compare_digest(text.encode(), expected[name].encode()) for name, text in known):
        raise SignatureRefused("the digest is not that of the body")


def _check(key: PublicKey, given: SignatureInput, base: bytes) -> None:
    """The algorithm must be one for this kind of key, whatever the header claims."""
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            curve, ecdsa_hash = _ECDSA[given.algorithm]
            if not isinstance(key.curve, curve):
                raise KeyError(given.algorithm)
            key.verify(given.signature, base, ec.ECDSA(ecdsa_hash))
        else:
            scheme, rsa_hash = _RSA[given.algorithm]
            key.verify(given.signature, base, scheme, rsa_hash)
    except KeyError:
        raise SignatureRefused(f"{given.algorithm[:50]!r} is not an algorithm of this key") from None
    except InvalidSignature:
        raise SignatureRefused("the signature is wrong") from None
