"""HTTP message signatures: a vector, a second opinion, and what is refused."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, InvalidSignature
from http_message_signatures.algorithms import ECDSA_P256_SHA256

from tidegate.core.clock import SystemClock
from tidegate.infra import message_signature
from tidegate.infra.message_signature import HttpMessage, SignatureRefused, UnknownKey

KEY = ec.generate_private_key(ec.SECP256R1())
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
BODY = b'{"depositId":"f4401bd2-1568-4140-bf2d-eb77d2b2b639","status":"COMPLETED"}'
OWN = {"content-type": "application/json; charset=UTF-8"}
VECTOR_KEY = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE3fy3Ooj44LgEf/zVdcFoZoWh/Hzws81wJiVzRUAgdBxI+i4ePEyu/Hjx4AFRiC21rK3+22j9H2S5hG/A"
    "/pAiSQ=="
)
VECTOR_SIGNATURE = "MEUCIE8ImmuwpaKwclkZtG2//n5EfZSUeRYYSggk/qbmjhSGAiEA3nLia9ENBWYnoMC6jHWl69UmLYqJhq05vht/kAXFcSg="
COVERED = '("@method" "@authority" "@path" "signature-date" "content-digest" "content-type")'


def now() -> datetime:
    return SystemClock().now()


def unsigned(**changes: Any) -> HttpMessage:
    return HttpMessage("POST", "pay.example.com", "/intake/pawapay", OWN, BODY)._replace(**changes)


def signed(message: HttpMessage | None = None, **options: Any) -> HttpMessage:
    message = message or unsigned()
    added = message_signature.sign(message, KEY, "K:1", now=options.pop("now", now()), **options)
    return message._replace(headers={**message.headers, **added})


def verify(message: HttpMessage, **keys: Any) -> None:
    message_signature.verify(message, keys or {"K:1": KEY.public_key()}, now=now())


def with_header(name: str, value: str) -> HttpMessage:
    message = signed()
    return message._replace(headers={**message.headers, name: value})


def test_a_message_that_others_signed_is_verified() -> None:
    """The vector's moment is long ago, so it is verified then."""
    pem = f"-----BEGIN PUBLIC KEY-----\n{VECTOR_KEY}\n-----END PUBLIC KEY-----"
    key = message_signature.public_key(pem)
    assert key is not None
    headers = {
        **OWN,
        "signature-date": "2024-05-02T13:45:51.131905Z",
        "content-digest": "sha-256=:hA/OWNyrhkSe0aLvesRD/OR0p9gSSq8Guv6k4DZpSO8=:",
        "signature-input": f'sig-pp={COVERED};alg="ecdsa-p256-sha256";keyid="HTTP_EC_P256_KEY:1";'
        "created=1714657551;expires=1714657611",
        "signature": f"sig-pp=:{VECTOR_SIGNATURE}:",
    }
    then = datetime.fromtimestamp(1714657560, UTC)
    message_signature.verify(unsigned(headers=headers), {"HTTP_EC_P256_KEY:1": key}, now=then)
    with pytest.raises(SignatureRefused, match="wrong"):
        message_signature.verify(
            unsigned(headers=headers, path="/intake/paystack"), {"HTTP_EC_P256_KEY:1": key}, now=then
        )


@dataclass
class Request:
    method: str
    url: str
    headers: dict[str, str]


class Resolver(HTTPSignatureKeyResolver):
    def resolve_public_key(self, key_id: str) -> bytes:
        return KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.filterwarnings("ignore")
def test_a_second_opinion_agrees_with_what_is_signed() -> None:
    """The other library has raw signatures, as the standard says; the signed text is the same."""
    message = signed()
    r, s = decode_dss_signature(message_signature.read(message.headers).signature)
    raw = base64.b64encode(r.to_bytes(32, "big") + s.to_bytes(32, "big")).decode()
    headers = {name.title(): text for name, text in message.headers.items()} | {"Signature": f"sig-pp=:{raw}:"}
    verifier = HTTPMessageVerifier(signature_algorithm=ECDSA_P256_SHA256, key_resolver=Resolver())
    request = Request("POST", "https://pay.example.com/intake/pawapay", headers)
    [result] = verifier.verify(request)
    assert {'"@method"', '"@path"', '"content-digest"'} <= set(result.covered_components)
    with pytest.raises(InvalidSignature):
        verifier.verify(Request("POST", "https://pay.example.com/intake/other", headers))


def test_what_was_signed_is_verified() -> None:
    verify(signed())


def test_a_digest_may_be_longer() -> None:
    verify_digest = "sha-512=:qVonwNRiBCny5IR0x2rQxyLTNAhRcUWOPYUgpJ9MNvur/NyMGZgRp3/Qk6dfFJzUDiEuhcPQulxynbvVspluUQ==:"
    with pytest.raises(SignatureRefused, match="signature is wrong"):
        verify(with_header("content-digest", verify_digest))
    with pytest.raises(SignatureRefused, match="digest"):
        verify(with_header("content-digest", verify_digest.replace("qV", "qW")))


@pytest.mark.parametrize(
    "change",
    [
        {"method": "PUT"},
        {"authority": "other.example.com"},
        {"path": "/intake/other"},
        {"body": BODY + b" "},
        {"body": b""},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_message_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SignatureRefused):
        verify(signed()._replace(**change))


@pytest.mark.parametrize("minutes", [-3, 2])
def test_an_old_signature_and_one_of_the_future_are_refused(minutes: int) -> None:
    with pytest.raises(SignatureRefused, match="too old"):
        verify(signed(now=now() + timedelta(minutes=minutes)))


def test_an_unknown_key_is_told_apart() -> None:
    with pytest.raises(UnknownKey):
        verify(signed(), **{"K:2": KEY.public_key()})
    with pytest.raises(SignatureRefused, match="wrong"):
        verify(signed(), **{"K:1": ec.generate_private_key(ec.SECP256R1()).public_key()})


@pytest.mark.parametrize("key", [RSA_KEY.public_key(), ec.generate_private_key(ec.SECP384R1()).public_key()])
def test_the_algorithm_must_be_one_of_the_key(key: Any) -> None:
    with pytest.raises(SignatureRefused, match="not an algorithm"):
        verify(signed(), **{"K:1": key})


@pytest.mark.parametrize(
    ("algorithm", "scheme", "digest"),
    [
        ("rsa-v1_5-sha256", padding.PKCS1v15(), hashes.SHA256()),
        ("rsa-pss-sha512", padding.PSS(padding.MGF1(hashes.SHA512()), 64), hashes.SHA512()),
    ],
)
def test_rsa_keys_are_taken_too(algorithm: str, scheme: Any, digest: Any) -> None:
    message = signed()
    text = message.headers["signature-input"].removeprefix("sig-pp=").replace("ecdsa-p256-sha256", algorithm)
    base = message_signature.signature_base(message, message_signature.COVERED, text)
    signature = base64.b64encode(RSA_KEY.sign(base, scheme, digest)).decode()
    own = {"signature-input": f"sig-pp={text}", "signature": f"sig-pp=:{signature}:"}
    verify(message._replace(headers={**message.headers, **own}), **{"K:1": RSA_KEY.public_key()})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("signature-input", ""),
        ("signature-input", "x"),
        ("signature-input", "sig-pp=()"),
        ("signature-input", 'sig-pp=("@method");alg="x"'),
        ("signature-input", f'sig-pp={COVERED};alg="ecdsa-p256-sha256";keyid="K:1"'),
        ("signature-input", f'sig-pp={COVERED};alg="ecdsa-p256-sha256";keyid="K:1";created=1;expires=x'),
        ("signature-input", "a" * 100_000),
        ("signature", ""),
        ("signature", "sig-pp=:!:"),
        ("signature", "other=:AAAA:"),
        ("signature", "sig-pp=:AAAA:"),
        ("content-digest", ""),
        ("content-digest", "md5=:AAAA:"),
        ("content-digest", "sha-256=:ü:"),
    ],
)
def test_nonsense_is_refused(name: str, value: str) -> None:
    with pytest.raises(SignatureRefused):
        verify(with_header(name, value))


def test_a_signature_must_cover_enough_and_nothing_that_is_not_there() -> None:
    created = int(now().timestamp())
    tail = f';alg="ecdsa-p256-sha256";keyid="K:1";created={created};expires={created + 60}'
    for covered, why in [
        ('("@method" "@path" "content-digest")', "does not cover @authority"),
        ('("@method" "@authority" "@path")', "does not cover content-digest"),
        ('("@method" "@authority" "@path" "content-digest" "x-missing")', "does not have"),
        ('("@method" "@authority" "@path" "content-digest" "@status")', "does not have"),
        ('("@method" "@method" "@authority" "@path" "content-digest")', "twice"),
    ]:
        with pytest.raises(SignatureRefused, match=why):
            verify(with_header("signature-input", f"sig-pp={covered}{tail}"))


@pytest.mark.parametrize("text", ["", "x", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"])
def test_what_is_no_key_is_none(text: str) -> None:
    assert message_signature.public_key(text) is None
