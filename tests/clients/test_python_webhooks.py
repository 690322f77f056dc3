"""Webhooks as the Python client verifies them: signed by the server's own code."""

from __future__ import annotations

import time
from email.message import Message

import msgspec
import pytest

import tidegate_client as tg
from tidegate.app import EVENTS
from tidegate.infra.http.openapi import EventDocument
from tidegate.infra.http.operation import encode
from tidegate.webhook import sign
from tidegate_client import webhooks

SECRET, OTHER = sign.new_secret(), sign.new_secret()
BODY = b'{"event": "charge.later", "data": {"amount": 1.5}}'


def signed(body: bytes, secret: str = SECRET, *, age_s: int = 0) -> dict[str, str]:
    return sign.headers("evt_1", body, [secret], timestamp_s=int(time.time()) - age_s)


def reason(body: bytes, headers: dict[str, str], secret: str = SECRET) -> str:
    with pytest.raises(tg.WebhookSignatureError) as caught:
        webhooks.verify(body, headers, secret)
    return caught.value.reason


@pytest.mark.parametrize("document", EVENTS, ids=lambda document: document.name)
def test_every_event_is_typed(document: EventDocument) -> None:
    body = encode(document.example)
    event = webhooks.verify(body, signed(body), SECRET)
    assert type(event).__name__ == document.payload.__name__
    assert (event.event, event.id) == (document.name, "evt_1")
    assert event.raw.keys() == msgspec.json.decode(body).keys()


def test_an_event_that_is_newer_than_the_client_is_kept() -> None:
    event = webhooks.verify(BODY, signed(BODY), SECRET)
    assert isinstance(event, tg.UnknownEvent)
    assert event.data["amount"] == 1.5


def test_each_fault_has_its_reason() -> None:
    headers = signed(BODY)
    assert reason(BODY + b" ", headers) == "wrong_signature"
    assert reason(BODY, headers, OTHER) == "wrong_signature"
    assert reason(BODY, signed(BODY, age_s=301)) == "too_old"
    assert reason(BODY, signed(BODY, age_s=-301)) == "too_new"
    assert reason(BODY, {**headers, "webhook-timestamp": "soon"}) == "bad_timestamp"
    assert reason(BODY, {name: value for name, value in headers.items() if name != "webhook-id"}) == "missing_header"
    for body in (b"[]", b"null", *(b'{"event": "a.b", "data": %s}' % data for data in (b"null", b"[]", b"1"))):
        assert reason(body, signed(body)) == "not_an_event"


def test_one_of_several_secrets_is_enough() -> None:
    """While a secret is rotated, on either side."""
    both = sign.headers("evt_1", BODY, [OTHER, SECRET], timestamp_s=int(time.time()))
    assert webhooks.verify(BODY, both, SECRET).id == "evt_1"
    assert webhooks.verify(BODY, signed(BODY), [OTHER, SECRET]).id == "evt_1"


def test_the_case_of_header_names_does_not_matter() -> None:
    headers = {name.title(): value for name, value in signed(BODY).items()}
    assert webhooks.verify(BODY, headers, SECRET).id == "evt_1"


def test_text_instead_of_bytes_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="raw bytes"):
        webhooks.verify(BODY.decode(), signed(BODY), SECRET)  # type: ignore[arg-type]
    with pytest.raises(tg.ConfigurationError, match="whsec_"):
        webhooks.verify(BODY, signed(BODY), "secret")


def test_headers_that_are_not_text_fit_no_signature() -> None:
    """A framework may pass on bytes that it could not decode as halves of characters."""
    for name in ("webhook-id", "webhook-signature"):
        headers = signed(BODY)
        for odd in ("\udcff", "\ud800", "é"):
            assert reason(BODY, {**headers, name: headers[name] + odd}) == "wrong_signature"


def test_white_space_around_a_secret_is_no_part_of_it() -> None:
    for secret in (f" {SECRET}", f"{SECRET}\r\n"):
        assert webhooks.verify(BODY, signed(BODY), secret).id == "evt_1"


def test_headers_of_the_standard_librarys_server() -> None:
    message = Message()
    for name, value in signed(BODY).items():
        message[name.title()] = value
    assert webhooks.verify(BODY, message, SECRET).id == "evt_1"
