"""Why a signature is valid or not, found from the request alone."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.infra.http.operation import encode
from tidegate.webhook import restore, sign
from tidegate.webhook.explain import Explanation, SignatureCheck, explain

NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
OTHER = "whsec_" + base64.b64encode(bytes(range(32, 64))).decode()
# Its base64 has letters that the variant for URLs writes differently, and an end that is often left away.
ODD = "whsec_" + base64.b64encode(b"\xfb\xff" * 16).decode()
BODY = encode(
    {
        "event": "charge.successful",
        "type": "charge",
        "data": {"id": 7, "amount": 100, "fee": 1.4, "name": "Zoë Ñandú", "url": "https://a/b?c=<d>&e", "note": None},
    }
)


def signed(body: bytes = BODY, secrets: tuple[str, ...] = (SECRET,), ago_s: int = 0) -> dict[str, str]:
    return sign.headers("evt_1", body, secrets, timestamp_s=int((NOW - timedelta(seconds=ago_s)).timestamp()))


def look(headers: dict[str, str], body: bytes = BODY, *secrets: str) -> Explanation:
    return explain(headers, body, secrets or (SECRET,), now=NOW)


def about(found: Explanation, subject: str) -> SignatureCheck:
    [check] = [check for check in found.checks if check.subject == subject]
    return check


def without(headers: dict[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in names}


def test_both_signatures_fit() -> None:
    found = look({name.upper(): f" {value} " for name, value in signed().items()})
    assert found.is_well
    assert [check.subject for check in found.checks] == ["webhook-timestamp", "webhook-signature", "signature"]
    assert found.difference is None


@pytest.mark.parametrize(
    ("left_out", "checked"),
    [
        (["signature"], ["webhook-timestamp", "webhook-signature"]),
        (["webhook-id", "webhook-timestamp", "webhook-signature"], ["signature"]),
    ],
)
def test_one_of_the_two_is_enough(left_out: list[str], checked: list[str]) -> None:
    found = look(without(signed(), *left_out))
    assert (found.is_well, [check.subject for check in found.checks]) == (True, checked)


def test_no_header_at_all_is_no_success() -> None:
    found = look({"content-type": "application/json"})
    assert not found.is_well
    assert "nothing to check" in about(found, "headers").what


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_a_missing_header_is_named(name: str) -> None:
    found = look(without(signed(), name))
    assert not found.is_well
    assert about(found, name).what == "is missing"
    assert about(found, "signature").is_well


@pytest.mark.parametrize(
    ("ago_s", "is_well", "words"),
    [
        (0, True, "is 0 s old"),
        (300, True, "is 300 s old"),
        (301, False, "is 301 s old, and 300 s are allowed"),
        (86_400, False, "is 86,400 s old"),
        (-300, True, "is 300 s ahead of this clock"),
        (-301, False, "is 301 s in the future"),
    ],
)
def test_the_timestamp_may_be_five_minutes_off(ago_s: int, is_well: bool, words: str) -> None:
    found = look(signed(ago_s=ago_s))
    timestamp = about(found, "webhook-timestamp")
    assert (found.is_well, timestamp.is_well) == (is_well, is_well)
    assert words in timestamp.what
    assert about(found, "webhook-signature").is_well


@pytest.mark.parametrize(
    ("text", "words"),
    [("1773480413000", "is in milliseconds"), ("2026-03-14T09:26:53Z", "no whole number"), ("-5", "no whole number"),
     ("٣", "no whole number"), ("9" * 100, "no whole number")],
)  # fmt: skip
def test_a_timestamp_that_is_none_is_said(text: str, words: str) -> None:
    assert words in about(look({**signed(), "webhook-timestamp": text}), "webhook-timestamp").what


def test_an_exchanged_id_or_timestamp_is_distinguished_from_a_changed_body() -> None:
    found = look({**signed(), "webhook-id": "evt_2"})
    assert about(found, "signature").is_well
    assert "webhook-id or webhook-timestamp is not the one" in about(found, "webhook-signature").what


def test_another_secret_is_suspected_when_the_body_looks_untouched() -> None:
    found = look(signed(), BODY, OTHER)
    assert not found.is_well
    assert "probably another one" in about(found, "secret").what
    assert found.difference is None


def test_of_several_secrets_it_says_which_fits() -> None:
    found = look(signed(), BODY, OTHER, SECRET)
    assert found.is_well
    assert about(found, "webhook-signature").what == "fits, with secret 2"


def test_after_a_rotation_the_old_secret_fits_one_header_only() -> None:
    headers = signed(secrets=(OTHER, SECRET))
    found = look(headers)
    assert about(found, "webhook-signature").is_well
    assert "was rotated" in about(found, "signature").what
    assert look(headers, BODY, SECRET, OTHER).is_well


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (f" {SECRET}\n", "quotes, spaces or a line break around it"),
        (f'"{SECRET}"', "quotes, spaces or a line break around it"),
        (SECRET.removeprefix("whsec_"), "lacks its beginning, whsec_"),
        (ODD.replace("+", "-").replace("/", "_"), "not in plain base64"),
        (ODD.rstrip("="), "not in plain base64"),
    ],
)
def test_a_secret_that_was_copied_badly_is_recognised(given: str, words: str) -> None:
    meant = ODD if "base64" in words else SECRET
    found = look(signed(secrets=(meant,)), BODY, given)
    assert not found.is_well
    assert words in about(found, "secret").what
    assert "once the secret is corrected" in about(found, "webhook-signature").what


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("sk_test_abc", "is an API key"),
        ("whsec_!!!", "is malformed"),
        ("whsec_QUJD", "must encode 24 to 64 bytes"),
        ("", "is malformed"),
    ],
)
def test_a_secret_that_is_none_is_said(given: str, words: str) -> None:
    found = look(signed(), BODY, given)
    assert not found.is_well
    assert words in about(found, "secret").what


def test_without_any_secret_it_asks_for_one() -> None:
    found = explain(signed(), BODY, [], now=NOW)
    assert (found.is_well, about(found, "secret").what) == (False, "is missing")


PARSED: Any = json.loads(BODY)
REWRITTEN = {
    "with spaces, as Python does": json.dumps(PARSED, ensure_ascii=False).encode(),
    "with escapes, as Python does": json.dumps(PARSED, separators=(",", ":")).encode(),
    "indented": json.dumps(PARSED, indent=2).encode(),
    "with slashes escaped, as PHP does": BODY.replace(b"/", rb"\/"),
    "with < and & escaped, as Go does": BODY.replace(b"<", rb"\u003c").replace(b"&", rb"\u0026"),
    "with decimals, as Java does": BODY.replace(b'"amount":100', b'"amount":100.0').replace(b'"id":7', b'"id":7.0'),
    "with a line break at the end": BODY + b"\n",
    "with CRLF at the end": BODY + b"\r\n",
    "with a byte order mark": b"\xef\xbb\xbf" + BODY,
    "with both": b"\xef\xbb\xbf" + BODY + b"\n",
    "read as Latin-1": BODY.decode("latin-1").encode(),
    "encoded once more": json.dumps(BODY.decode()).encode(),
    "as base64": base64.b64encode(BODY),
    "decomposed": BODY.decode().replace("ë", "e\u0308").replace("Ñ", "N\u0303").replace("ú", "u\u0301").encode(),
}  # fmt: skip


@pytest.mark.parametrize("body", REWRITTEN.values(), ids=REWRITTEN.keys())
@pytest.mark.parametrize("left_out", [(), ("signature",), ("webhook-signature", "webhook-id", "webhook-timestamp")])
def test_a_body_that_was_written_again_is_recognised(body: bytes, left_out: tuple[str, ...]) -> None:
    found = look(without(signed(), *left_out), body, OTHER, SECRET)
    assert not found.is_well
    assert about(found, "body").what.startswith("is not as it was sent: ")
    assert found.difference == restore.difference_between(sent=BODY, given=body)


def test_the_first_differing_byte_is_shown_with_what_stands_around_it() -> None:
    found = look(signed(), REWRITTEN["with spaces, as Python does"])
    assert found.difference is not None
    assert found.difference.offset == 9
    assert found.difference.sent == BODY[:25]
    assert found.difference.given == b'{"event": "charge.success'[:25]


@pytest.mark.parametrize(
    ("body", "headers", "subject", "words"),
    [
        (b"", {}, "body", "is empty"),
        (BODY[:40], {}, "body", "is cut off after 40 bytes"),
        (BODY[:-1], {"Content-Length": str(len(BODY))}, "body", f"has {len(BODY) - 1} bytes, and content-length says"),
        (b"event=charge.successful", {}, "body", "is not JSON"),
        (json.dumps(PARSED, sort_keys=True).encode(), {}, "body", "too much of it has changed"),
        (BODY.replace(b"100", b"200"), {}, "secret", "looks exactly as Tidegate writes it"),
        (b"[" * 100_000, {}, "body", "is"),
        (b'{"a":"\\ud800"}', {}, "body", "is not JSON"),
    ],
    ids=["empty", "cut off", "shorter than said", "a form", "sorted", "changed", "deep", "half a letter"],
)
def test_a_body_that_cannot_be_restored_is_described(
    body: bytes, headers: dict[str, str], subject: str, words: str
) -> None:
    found = look({**signed(), **headers}, body)
    assert not found.is_well
    assert words in about(found, subject).what


@pytest.mark.parametrize("length", range(1, len(BODY)))
def test_every_beginning_of_a_body_is_seen_to_be_cut_off(length: int) -> None:
    assert restore.is_cut_off(BODY[:length])


@pytest.mark.parametrize("body", [BODY, b"not JSON", b'{"a":1}x', b"\xff\xfe", b'{"a":tru3'])
def test_what_is_whole_or_something_else_is_not_cut_off(body: bytes) -> None:
    assert not restore.is_cut_off(body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    value=st.dictionaries(st.text("abcé"), JSON, max_size=4),
    indent=st.sampled_from([None, 2]),
    ascii_only=st.booleans(),
)
def test_whatever_json_a_library_writes_again_is_restored(value: Any, indent: int | None, ascii_only: bool) -> None:
    sent = encode(value)
    given_ = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    found = look(signed(sent), given_)
    assert found.is_well == (sent == given_)
    if sent != given_:
        assert found.difference == restore.difference_between(sent=sent, given=given_)


@given(body=st.binary(max_size=200), text=st.text(max_size=50))
def test_no_input_whatever_breaks_it(body: bytes, text: str) -> None:
    headers = {"webhook-id": text, "webhook-timestamp": text, "webhook-signature": f"v1,{text}", "signature": text}
    assert not look(headers, body, text).is_well
