"""Our signatures, judged by others: the reference implementation and openssl."""

from __future__ import annotations

import base64
import hashlib
import hmac
import shutil
import subprocess
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from tidegate.core import ids
from tidegate.webhook import sign


def now_s() -> int:
    """Receivers refuse what is older than five minutes."""
    return int(datetime.now(UTC).timestamp())


def verify(secret: str, body: bytes, headers: dict[str, str]) -> None:
    """As a receiver does."""
    Webhook(secret).verify(body, headers)


@given(text=st.text(max_size=2_000) | st.just("ä€😀" * 2_000))
@settings(deadline=None, max_examples=200)
def test_the_reference_implementation_accepts_every_signature(text: str) -> None:
    secret, event_id = sign.new_secret(), ids.new_event_id()
    body = text.encode("utf-8", "replace")
    at = now_s()
    signed = Webhook(secret).sign(event_id, datetime.fromtimestamp(at, UTC), body.decode())
    assert sign.headers(event_id, body, [secret], timestamp_s=at)["webhook-signature"] == signed


def test_the_reference_implementation_verifies_a_whole_request() -> None:
    secret = sign.new_secret()
    verify(secret, b'{"a":1}', sign.headers("evt_1", b'{"a":1}', [secret], timestamp_s=now_s()))


@given(bit=st.integers(0, 8 * 40 - 1), place=st.sampled_from(["body", "webhook-id", "webhook-timestamp"]))
@settings(deadline=None, max_examples=300)
def test_one_bit_changed_anywhere_is_noticed(bit: int, place: str) -> None:
    secret, body = sign.new_secret(), b'{"event":"charge.successful","amount":1}'
    headers = sign.headers("evt_00000000000000000000000000000000001", body, [secret], timestamp_s=now_s())
    changed = bytearray(body if place == "body" else headers[place].encode())
    changed[bit // 8 % len(changed)] ^= 1 << bit % 7
    if place == "body":
        body = bytes(changed)
        assert hmac.new(secret.encode(), body, hashlib.sha512).hexdigest() != headers["signature"]
    else:
        headers[place] = changed.decode()
    with pytest.raises((WebhookVerificationError, ValueError)):
        verify(secret, body, headers)


def test_another_secret_fails() -> None:
    headers = sign.headers("evt_1", b"{}", [sign.new_secret()], timestamp_s=now_s())
    with pytest.raises(WebhookVerificationError):
        verify(sign.new_secret(), b"{}", headers)


def test_during_a_rotation_both_secrets_verify_and_signature_is_the_new_ones() -> None:
    new, old = sign.new_secret(), sign.new_secret()
    headers = sign.headers("evt_1", b"{}", [new, old], timestamp_s=now_s())
    verify(new, b"{}", headers)
    verify(old, b"{}", headers)
    assert len(headers["webhook-signature"].split(" ")) == 2
    assert headers["signature"] == hmac.new(new.encode(), b"{}", hashlib.sha512).hexdigest()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="a second opinion needs openssl")
@pytest.mark.parametrize("body", [b"", b'{"name":"\xc3\x84da \xe2\x82\xac"}', b"x" * 20_000])
def test_openssl_computes_the_same(body: bytes) -> None:
    secret = sign.new_secret()
    headers = sign.headers("evt_1", body, [secret], timestamp_s=1_700_000_000)
    assert openssl("sha512", secret.encode(), body).hex() == headers["signature"]
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = openssl("sha256", key, b"evt_1.1700000000." + body)
    assert f"v1,{base64.b64encode(digest).decode()}" == headers["webhook-signature"]


def openssl(name: str, key: bytes, text: bytes) -> bytes:
    command = ["openssl", "dgst", f"-{name}", "-mac", "HMAC", "-macopt", f"hexkey:{key.hex()}", "-binary"]
    return subprocess.run(command, input=text, capture_output=True, check=True).stdout


def test_a_secret_has_32_random_bytes_and_is_never_the_same() -> None:
    made = {sign.new_secret() for _ in range(1_000)}
    assert len(made) == 1_000
    assert {len(sign.key_in(secret)) for secret in made} == {32}


@pytest.mark.parametrize(
    "secret",
    [
        "", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_not base64 but quite long enough!!",
        f"whsec_{base64.b64encode(bytes(23)).decode()}", f"whsec_{base64.b64encode(bytes(65)).decode()}",
        "whsec_ÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄ",
    ],
)  # fmt: skip
def test_what_is_no_secret_is_refused(secret: str) -> None:
    with pytest.raises(ValueError, match="must"):
        sign.key_in(secret)


def test_the_id_of_an_event_has_no_dot() -> None:
    """The signed text is made of parts with dots between them."""
    assert all("." not in ids.new_event_id() for _ in range(1_000))
