"""Creating a payment from bad input: each is refused with the right error, and writes nothing.

What only a raw socket can send is in test_http_attacks.py, odd input that is accepted in test_create_accepts.py,
what differs in live mode in test_live_mode.py.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from datetime import timedelta
from typing import Any

import httpx
import pytest

from build import Shop, order
from conftest import MakeShop
from payment.raw_http import ask, head
from payment.refusal import assert_refused, assert_says_no, rows_in, without_request_id
from tidegate.core import ids
from tidegate.core.clock import SystemClock, monotonic_s
from tidegate.core.ids import Mode
from tidegate.idempotency import store as idempotency
from tidegate.infra import rate_limit
from tidegate.infra.db import Database
from tidegate.infra.http.body import BODY_BYTES_MAX
from tidegate.merchant import commands as merchants

INVALID = "VALIDATION_FAILED"
CARD = "CARD_DATA_NOT_ALLOWED"
NOT_OFFERED = "METHOD_NOT_SUPPORTED_FOR_CURRENCY"
Refusal = tuple[int, str, str | None]
MALFORMED: Refusal = (400, "MALFORMED_REQUEST", None)
TOO_LARGE: Refusal = (413, "BODY_TOO_LARGE", None)
PAY_CODE = "tg_k3PzQ_5TqBn0yJ3mX8aVdWcR2sKe"
PATH = "/checkout/payments"


def wrong(field: str) -> Refusal:
    return 422, INVALID, field


def as_json(body: Any) -> bytes:
    """Pure ASCII, so that lone surrogates can be sent as the escapes that JSON allows."""
    return json.dumps(body).encode()


def with_raw(field: str, text: str) -> bytes:
    """A body in which one value is exactly this text, be it JSON or not."""
    return as_json(order(**{field: "@"})).replace(b'"@"', text.encode())


def customer(**changes: Any) -> dict[str, Any]:
    fields = {"name": "Ada Obi", "email": "ada@example.com", **changes}
    return {"customer": {name: value for name, value in fields.items() if value is not ...}}


def named(name: str) -> dict[str, Any]:
    return customer(name=name)


def mailed(email: Any) -> dict[str, Any]:
    return customer(email=email)


def called(phone: Any) -> dict[str, Any]:
    return customer(phoneNumber=phone)


def back_to(url: Any) -> dict[str, Any]:
    return {"redirectUrl": url}


def with_metadata(value: Any) -> dict[str, Any]:
    return {"metadata": value}


# Bodies that are not what JSON should be.


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        pytest.param(b"", MALFORMED, id="empty body"),
        pytest.param(b"  \n", MALFORMED, id="nothing but space"),
        pytest.param(b"{", MALFORMED, id="one brace"),
        pytest.param(as_json(order())[:-9], MALFORMED, id="cut mid-way"),
        pytest.param(as_json(order()) + b"}", MALFORMED, id="one brace too many"),
        pytest.param(as_json(order()) * 2, MALFORMED, id="two objects"),
        pytest.param(b"{'amount':100}", MALFORMED, id="single quotes"),
        pytest.param(b'{"amount":100,}', MALFORMED, id="trailing comma"),
        pytest.param(b'{"amount":100} // x', MALFORMED, id="comment"),
        pytest.param(b"amount=100&currency=NGN", MALFORMED, id="a form"),
        pytest.param(b"[]", wrong("body"), id="array"),
        pytest.param(b'"x"', wrong("body"), id="string"),
        pytest.param(b"1", wrong("body"), id="number"),
        pytest.param(b"null", wrong("body"), id="null"),
        pytest.param(b"true", wrong("body"), id="true"),
        pytest.param(b"{}", wrong("amount"), id="empty object"),
        pytest.param(as_json(order()).decode().encode("utf-16"), MALFORMED, id="UTF-16 said to be UTF-8"),
        pytest.param(as_json(order()).replace(b"Ada", b"A\xffa"), MALFORMED, id="byte 0xff in a name"),
        pytest.param(
            as_json(order()).replace(b"Ada", b"\xed\xa0\x80"),
            MALFORMED,
            id="surrogate as bytes",
        ),
        pytest.param(as_json(order()).replace(b"Ada", b"A\xc0\x80"), MALFORMED, id="overlong NUL"),
        pytest.param(as_json(order()).replace(b"Ada", b"A\x00a"), MALFORMED, id="bare control character"),
        pytest.param(b"\xef\xbb\xbf" + as_json(order()), MALFORMED, id="leading byte order mark"),
        pytest.param(b'{"amount":100,' + as_json(order())[1:], MALFORMED, id="amount given twice"),
        pytest.param(
            with_raw("customer", '{"name":"A","email":"a@b.co","name":"B"}'),
            MALFORMED,
            id="name given twice",
        ),
        pytest.param(
            with_raw("metadata", '{"a":{"b":1,"\\u0062":2}}'),
            MALFORMED,
            id="the same key in two spellings",
        ),
        pytest.param(
            with_raw("metadata", '{"4111111111111111":1,"4111111111111111":2}'),
            MALFORMED,
            id="a card number given twice as key",
        ),
        pytest.param(with_raw("amount", "NaN"), MALFORMED, id="NaN"),
        pytest.param(with_raw("amount", "Infinity"), MALFORMED, id="Infinity"),
        pytest.param(with_raw("amount", "-Infinity"), MALFORMED, id="-Infinity"),
        pytest.param(with_raw("amount", "1e400"), wrong("amount"), id="1e400"),
        pytest.param(with_raw("amount", "1e999999999"), wrong("amount"), id="1e999999999"),
        pytest.param(with_raw("amount", "1e" + "9" * 30), wrong("amount"), id="an absurd exponent"),
        pytest.param(with_raw("metadata", '{"n":1e999999999}'), wrong("metadata.n"), id="1e999999999 elsewhere"),
        pytest.param(with_raw("metadata", '{"n":NaN}'), MALFORMED, id="NaN elsewhere"),
        pytest.param(
            with_raw("metadata", "[" * 30_000 + "]" * 30_000),
            MALFORMED,
            id="as many nested arrays as a body can hold",
        ),
        pytest.param(with_raw("metadata", "[" * 100_000), TOO_LARGE, id="100,000 nested arrays"),
        pytest.param(
            with_raw("metadata", '{"a":' * 8 + "1" + "}" * 8),
            MALFORMED,
            id="one level too deep",
        ),
        pytest.param(
            b'{"a":[[],[],[],[],[],[],[],[],"' + b'\\"' * 32_000,
            MALFORMED,
            id="a string of quotes that never ends",
        ),
        pytest.param(as_json(order()).ljust(BODY_BYTES_MAX + 1), TOO_LARGE, id="a byte more than 64 kB"),
        pytest.param(as_json(order(reference="r" * 1_000_000)), TOO_LARGE, id="reference of 1 MB"),
        pytest.param(with_raw("amount", ""), MALFORMED, id="amount is nothing at all"),
        pytest.param(with_raw("amount", "1_000"), MALFORMED, id="amount 1_000"),
        pytest.param(with_raw("amount", "0100"), MALFORMED, id="amount with a leading zero"),
        pytest.param(with_raw("amount", "+100"), MALFORMED, id="amount with a plus"),
        pytest.param(with_raw("amount", "0x64"), MALFORMED, id="amount in hexadecimal"),
    ],
)
async def test_a_malformed_body_is_refused(shop: Shop, admin: Any, body: bytes, refusal: Refusal) -> None:
    status, error_type, field = refusal
    await assert_refused(admin, shop.create_raw(body), status, error_type, field=field)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param({"content-type": "text/plain"}, as_json(order()), id="text/plain"),
        pytest.param({"content-type": ""}, as_json(order()), id="empty"),
        pytest.param({"content-type": "application/x-www-form-urlencoded"}, b"amount=1", id="form"),
        pytest.param({"content-type": "multipart/form-data; boundary=x"}, b"--x--", id="multipart"),
        pytest.param({"content-type": "application/jsonp"}, as_json(order()), id="a longer name"),
        pytest.param({"content-type": "text/json"}, as_json(order()), id="text/json"),
        pytest.param(
            {"content-type": "application/json; charset=utf-16"},
            as_json(order()).decode().encode("utf-16"),
            id="UTF-16",
        ),
        pytest.param({"content-type": "application/json; charset=latin-1"}, as_json(order()), id="Latin-1"),
        pytest.param({"content-type": "application/json; charset=utf-7"}, as_json(order()), id="UTF-7"),
        pytest.param({"content-encoding": "gzip"}, gzip.compress(b" " * 10_000_000), id="gzip bomb"),
        pytest.param({"content-encoding": "gzip"}, gzip.compress(as_json(order())), id="honest gzip"),
        pytest.param({"content-encoding": "gzip, identity"}, as_json(order()), id="two codings"),
        pytest.param({"content-encoding": "br"}, as_json(order()), id="brotli"),
    ],
)
async def test_only_plain_json_is_read(shop: Shop, admin: Any, headers: dict[str, str], body: bytes) -> None:
    await assert_refused(admin, shop.create_raw(body, headers), 415, "UNSUPPORTED_MEDIA_TYPE")


async def test_a_body_without_a_type_is_refused(shop: Shop, admin: Any) -> None:
    sending = shop.client.post(PATH, content=as_json(order()), headers=shop.create_headers)
    await assert_refused(admin, sending, 415, "UNSUPPORTED_MEDIA_TYPE")


# Fields.


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param({"amount": ...}, "amount", id="amount missing"),
        pytest.param({"amount": 0}, "amount", id="amount 0"),
        pytest.param({"amount": -1}, "amount", id="amount -1"),
        pytest.param({"amount": -(2**63) - 1}, "amount", id="amount below any integer"),
        pytest.param({"amount": "100"}, "amount", id="amount as a string"),
        pytest.param({"amount": " 100 "}, "amount", id="amount as a string with spaces"),
        pytest.param({"amount": "1_000"}, "amount", id="amount as Python writes it"),
        pytest.param({"amount": ""}, "amount", id="amount as an empty string"),
        pytest.param({"amount": True}, "amount", id="amount true"),
        pytest.param({"amount": None}, "amount", id="amount null"),
        pytest.param({"amount": []}, "amount", id="amount as an array"),
        pytest.param({"amount": [100]}, "amount", id="amount in an array"),
        pytest.param({"amount": {}}, "amount", id="amount as an object"),
        pytest.param({"amount": 100.5}, "amount", id="amount 100.5"),
        pytest.param({"amount": 2**53 + 1}, "amount", id="amount 2^53 + 1"),
        pytest.param({"amount": 2**63}, "amount", id="amount 2^63"),
        pytest.param({"amount": 2**64}, "amount", id="amount 2^64"),
        pytest.param({"amount": 10**25}, "amount", id="amount of 26 digits"),
        pytest.param({"amount": 100_000_001}, "amount", id="too much in NGN"),
        pytest.param({"amount": 1_000_001, "currency": "GHS"}, "amount", id="too much in GHS"),
        pytest.param({"amount": 10_000_001, "currency": "KES"}, "amount", id="too much in KES"),
        pytest.param({"amount": 250_000_001, "currency": "UGX"}, "amount", id="too much in UGX"),
        pytest.param({"amount": 1_000_001, "currency": "ZAR"}, "amount", id="too much in ZAR"),
        pytest.param({"amount": 2_000_001, "currency": "ZMW"}, "amount", id="too much in ZMW"),
        pytest.param({"currency": ...}, "currency", id="currency missing"),
        pytest.param({"currency": ""}, "currency", id="currency empty"),
        pytest.param({"currency": None}, "currency", id="currency null"),
        pytest.param({"currency": 1}, "currency", id="currency 1"),
        pytest.param({"currency": ["NGN"]}, "currency", id="currency in an array"),
        pytest.param({"currency": "ngn"}, "currency", id="currency in lower case"),
        pytest.param({"currency": "NGN "}, "currency", id="currency with a space"),
        pytest.param({"currency": "XXX"}, "currency", id="currency XXX"),
        pytest.param({"currency": "₦"}, "currency", id="currency by its sign"),
        pytest.param({"currency": "NGN\0"}, "currency", id="currency with U+0000"),
        pytest.param({"currency": "ＮＧＮ"}, "currency", id="currency in full width"),
        pytest.param({"currency": "TZS"}, "currency", id="TZS"),
        pytest.param({"currency": "USD"}, "currency", id="USD"),
        pytest.param({"currency": "EUR"}, "currency", id="EUR"),
        pytest.param({"customer": ...}, "customer", id="customer missing"),
        pytest.param({"customer": None}, "customer", id="customer null"),
        pytest.param({"customer": []}, "customer", id="customer as an array"),
        pytest.param({"customer": 7}, "customer", id="customer as a number"),
        pytest.param({"customer": {}}, "customer.name", id="customer empty"),
        pytest.param({"customer": "Ada"}, "customer", id="customer as a plain string"),
        pytest.param({"customer": ""}, "customer", id="customer as an empty string"),
        pytest.param({"customer": "[]"}, "customer", id="customer as an array in a string"),
        pytest.param({"customer": '"Ada"'}, "customer", id="customer as a string in a string"),
        pytest.param({"customer": '{"name":"Ada"'}, "customer", id="customer cut in a string"),
        pytest.param({"customer": '{"name":"Ada"}'}, "customer.email", id="customer without e-mail in a string"),
        pytest.param(
            {"customer": '{"name":"A","name":"B","email":"a@b.co"}'}, "customer", id="a key twice in the string"
        ),
        pytest.param({"customer": '{"name":"A\\u0000","email":"a@b.co"}'}, "customer", id="U+0000 within the string"),
        pytest.param({"customer": "[" * 50_000}, "customer", id="nested arrays in the string"),
        pytest.param(named(""), "customer.name", id="name empty"),
        pytest.param(named("   "), "customer.name", id="name of spaces"),
        pytest.param(named("a" * 201), "customer.name", id="name a letter too long"),
        pytest.param(named("a" * 10_000), "customer.name", id="name of 10,000 letters"),
        pytest.param(named("\u200b\u200c\u200d\u2060\ufeff"), "customer.name", id="name of zero width"),
        pytest.param(named("\u00a0\u2003\u3000"), "customer.name", id="name of wide spaces"),
        pytest.param(named("\u3164\u115f\u2800"), "customer.name", id="name of blank letters"),
        pytest.param(named("\u202e\u2066"), "customer.name", id="name of bidi controls"),
        pytest.param(customer(name=...), "customer.name", id="name missing"),
        pytest.param(customer(name=None), "customer.name", id="name null"),
        pytest.param(customer(name=7), "customer.name", id="name as a number"),
        pytest.param(named("Ada\r\nBcc: x@y.z"), "customer.name", id="name with a line break"),
        pytest.param(named("Ada\u2028Obi"), "customer.name", id="name with a line separator"),
        pytest.param(named("Ada\x1b[31m"), "customer.name", id="name with an escape sequence"),
        pytest.param(named("Ada\0"), "customer.name", id="name with U+0000"),
        pytest.param(named("Ada\ud800"), "customer.name", id="name with a lone surrogate"),
        pytest.param(named("Z" + "\u0301" * 150), "customer.name", id="a flood of marks"),
        pytest.param(named("a" + "\u0489" * 9), "customer.name", id="one mark too many"),
        pytest.param(mailed(...), "customer.email", id="e-mail missing"),
        pytest.param(mailed(None), "customer.email", id="e-mail null"),
        pytest.param(mailed(7), "customer.email", id="e-mail as a number"),
        pytest.param(mailed(""), "customer.email", id="e-mail empty"),
        pytest.param(mailed("a"), "customer.email", id="e-mail a"),
        pytest.param(mailed("a@"), "customer.email", id="e-mail a@"),
        pytest.param(mailed("@b.co"), "customer.email", id="e-mail @b.co"),
        pytest.param(mailed("a@b"), "customer.email", id="e-mail a@b"),
        pytest.param(mailed("a@@b.co"), "customer.email", id="e-mail with two at signs"),
        pytest.param(mailed("a b@c.co"), "customer.email", id="e-mail with a space"),
        pytest.param(mailed(" a@b.co"), "customer.email", id="e-mail after a space"),
        pytest.param(mailed("a..b@c.co"), "customer.email", id="e-mail with two dots"),
        pytest.param(mailed("a@-b.co"), "customer.email", id="e-mail at -b.co"),
        pytest.param(mailed("a@b..co"), "customer.email", id="e-mail at b..co"),
        pytest.param(mailed("a@[127.0.0.1]"), "customer.email", id="e-mail at an address"),
        pytest.param(mailed("Ada <a@b.co>"), "customer.email", id="e-mail with a display name"),
        pytest.param(mailed("a" * 290 + "@example.co"), "customer.email", id="e-mail of 300 characters"),
        pytest.param(mailed("a" * 255 + "@b.co"), "customer.email", id="e-mail a little too long"),
        pytest.param(mailed("a@b.co\r\nBcc: x@y.z"), "customer.email", id="e-mail with a header in it"),
        pytest.param(mailed("a@b.co\n"), "customer.email", id="e-mail before a line feed"),
        pytest.param(mailed("a@b.co,c@d.co"), "customer.email", id="two e-mails"),
        pytest.param(mailed("a@b.co;c@d.co"), "customer.email", id="two e-mails with a semicolon"),
        pytest.param(mailed('"><script>@x.co'), "customer.email", id="e-mail with markup"),
        pytest.param(mailed('"<script>"@x.co'), "customer.email", id="e-mail with quoted markup"),
        pytest.param(called("abc"), "customer.phoneNumber", id="phone of letters"),
        pytest.param(called("1" * 40), "customer.phoneNumber", id="phone of 40 digits"),
        pytest.param(called("1" * 16), "customer.phoneNumber", id="phone of 16 digits"),
        pytest.param(called("+"), "customer.phoneNumber", id="phone +"),
        pytest.param(called(2348012345678), "customer.phoneNumber", id="phone as a number"),
        pytest.param(called("+234\n8012345678"), "customer.phoneNumber", id="phone with a line feed"),
        pytest.param(called("٠٨٠١٢٣٤٥٦٧٨"), "customer.phoneNumber", id="phone in other digits"),
        pytest.param(called("--------"), "customer.phoneNumber", id="phone of dashes"),
        pytest.param({"feeBearer": "merchant"}, "feeBearer", id="feeBearer merchant"),
        pytest.param({"feeBearer": "Business"}, "feeBearer", id="feeBearer Business"),
        pytest.param({"feeBearer": ""}, "feeBearer", id="feeBearer empty"),
        pytest.param({"feeBearer": 1}, "feeBearer", id="feeBearer 1"),
        pytest.param({"feeBearer": None}, "feeBearer", id="feeBearer null"),
        pytest.param({"reference": ""}, "reference", id="reference empty"),
        pytest.param({"reference": "r" * 101}, "reference", id="reference a character too long"),
        pytest.param({"reference": "r" * 256}, "reference", id="reference of 256 characters"),
        pytest.param({"reference": " ORD"}, "reference", id="reference after a space"),
        pytest.param({"reference": "ORD "}, "reference", id="reference before a space"),
        pytest.param({"reference": "OR D"}, "reference", id="reference with a space"),
        pytest.param({"reference": "OR\tD"}, "reference", id="reference with a tab"),
        pytest.param({"reference": "ORD\r\n"}, "reference", id="reference with CR LF"),
        pytest.param({"reference": "ORD\n"}, "reference", id="reference with a line feed"),
        pytest.param({"reference": "ORD\0"}, "reference", id="reference with U+0000"),
        pytest.param({"reference": "ORD\ud800"}, "reference", id="reference with a lone surrogate"),
        pytest.param({"reference": "../../x"}, "reference", id="reference ../../x"),
        pytest.param({"reference": "a/b"}, "reference", id="reference a/b"),
        pytest.param({"reference": "a\\b"}, "reference", id="reference with a backslash"),
        pytest.param({"reference": "a?b"}, "reference", id="reference a?b"),
        pytest.param({"reference": "a#b"}, "reference", id="reference a#b"),
        pytest.param({"reference": "%2e%2e"}, "reference", id="reference %2e%2e"),
        pytest.param({"reference": "a;b"}, "reference", id="reference a;b"),
        pytest.param({"reference": "a&b"}, "reference", id="reference a&b"),
        pytest.param({"reference": "' OR '1'='1"}, "reference", id="reference with SQL"),
        pytest.param({"reference": "caf\u00e9"}, "reference", id="reference in NFC"),
        pytest.param({"reference": "cafe\u0301"}, "reference", id="reference in NFD"),
        pytest.param({"reference": "ＯＲＤ"}, "reference", id="reference in full width"),
        pytest.param({"reference": "ORD-١"}, "reference", id="reference with another script's digit"),
        pytest.param({"reference": PAY_CODE}, "reference", id="reference shaped like a pay code"),
        pytest.param({"reference": 123}, "reference", id="reference as a number"),
        pytest.param({"reference": ["ORD"]}, "reference", id="reference as an array"),
        pytest.param({"reference": {"a": 1}}, "reference", id="reference as an object"),
        pytest.param({"reference": True}, "reference", id="reference true"),
        pytest.param(back_to("javascript:alert(1)"), "redirectUrl", id="redirectUrl: javascript:"),
        pytest.param(
            back_to("JavaScript://a.com/%0aalert(1)"),
            "redirectUrl",
            id="redirectUrl: javascript: that looks like a URL",
        ),
        pytest.param(back_to("data:text/html,x"), "redirectUrl", id="redirectUrl: data:"),
        pytest.param(back_to("ftp://x"), "redirectUrl", id="redirectUrl: ftp:"),
        pytest.param(back_to("file:///etc/passwd"), "redirectUrl", id="redirectUrl: file:"),
        pytest.param(back_to("//evil.com"), "redirectUrl", id="redirectUrl: no scheme"),
        pytest.param(back_to("/path"), "redirectUrl", id="redirectUrl: a path"),
        pytest.param(back_to("evil.com"), "redirectUrl", id="redirectUrl: a bare host"),
        pytest.param(back_to(""), "redirectUrl", id="redirectUrl: empty"),
        pytest.param(back_to("https://"), "redirectUrl", id="redirectUrl: no host"),
        pytest.param(back_to("https:///evil.com"), "redirectUrl", id="redirectUrl: three slashes"),
        pytest.param(back_to("https:evil.com"), "redirectUrl", id="redirectUrl: no slashes"),
        pytest.param(back_to(7), "redirectUrl", id="redirectUrl: a number"),
        pytest.param(back_to(["https://a.com"]), "redirectUrl", id="redirectUrl: an array"),
        pytest.param(back_to("https://a.com\\@evil.com"), "redirectUrl", id="redirectUrl: backslash before @"),
        pytest.param(back_to("https:/\\evil.com"), "redirectUrl", id="redirectUrl: slash and backslash"),
        pytest.param(back_to("https:\\\\evil.com"), "redirectUrl", id="redirectUrl: backslashes"),
        pytest.param(back_to("https://a.com/\\evil"), "redirectUrl", id="redirectUrl: backslash in the path"),
        pytest.param(back_to("\thttps://a.com"), "redirectUrl", id="redirectUrl: leading tab"),
        pytest.param(back_to(" https://a.com"), "redirectUrl", id="redirectUrl: leading space"),
        pytest.param(back_to("https://a.com\n"), "redirectUrl", id="redirectUrl: trailing newline"),
        pytest.param(back_to("https://a.com/\r\nSet-Cookie: a=b"), "redirectUrl", id="redirectUrl: embedded CR LF"),
        pytest.param(back_to("ht\ntps://a.com"), "redirectUrl", id="redirectUrl: newline in the scheme"),
        pytest.param(back_to("https://a.com/\0"), "redirectUrl", id="redirectUrl: U+0000"),
        pytest.param(back_to("https://a.com/\x7f"), "redirectUrl", id="redirectUrl: delete character"),
        pytest.param(back_to("https://a.com/\u2028"), "redirectUrl", id="redirectUrl: line separator"),
        pytest.param(back_to("https://evil.com／.a.com"), "redirectUrl", id="redirectUrl: full-width slash"),
        pytest.param(back_to("https://a.com＠evil.com"), "redirectUrl", id="redirectUrl: full-width @"),
        pytest.param(back_to("https://user:pass@a.com"), "redirectUrl", id="redirectUrl: user and password"),
        pytest.param(back_to("https://user@a.com"), "redirectUrl", id="redirectUrl: user"),
        pytest.param(back_to("https://@a.com"), "redirectUrl", id="redirectUrl: empty user"),
        pytest.param(
            back_to("https://a.com:80@evil.com"), "redirectUrl", id="redirectUrl: user that looks like a host"
        ),
        pytest.param(back_to("https://a.com/" + "p" * 2_035), "redirectUrl", id="redirectUrl: 2,049 characters"),
        pytest.param(back_to("https://a.com:99999"), "redirectUrl", id="redirectUrl: port 99999"),
        pytest.param(back_to("https://a.com:0000099999"), "redirectUrl", id="redirectUrl: port 99999 after zeros"),
        pytest.param(back_to("https://a.com:0"), "redirectUrl", id="redirectUrl: port 0"),
        pytest.param(back_to("https://a.com:-1"), "redirectUrl", id="redirectUrl: port -1"),
        pytest.param(back_to("https://a.com:"), "redirectUrl", id="redirectUrl: no port after the colon"),
        pytest.param(back_to("https://a.com:80:80"), "redirectUrl", id="redirectUrl: two ports"),
        pytest.param(back_to("https://a.com:８０"), "redirectUrl", id="redirectUrl: port in full width"),
        pytest.param(back_to("https://a..b.com"), "redirectUrl", id="redirectUrl: two dots"),
        pytest.param(back_to("https://.a.com"), "redirectUrl", id="redirectUrl: leading dot"),
        pytest.param(back_to("https://-a.com"), "redirectUrl", id="redirectUrl: leading hyphen"),
        pytest.param(back_to("https://a_b.com"), "redirectUrl", id="redirectUrl: underscore"),
        pytest.param(back_to(f"https://{'a' * 64}.com"), "redirectUrl", id="redirectUrl: label of 64 letters"),
        pytest.param(back_to(f"https://{'a.' * 130}com"), "redirectUrl", id="redirectUrl: host of 263 letters"),
        pytest.param(back_to("https://a.com%2eevil.com"), "redirectUrl", id="redirectUrl: percent sign in the host"),
        pytest.param(back_to("https://[::1"), "redirectUrl", id="redirectUrl: bracket left open"),
        pytest.param(back_to("https://[::1]80"), "redirectUrl", id="redirectUrl: no colon after the bracket"),
        pytest.param(back_to("https://[::g]"), "redirectUrl", id="redirectUrl: not an IPv6 address"),
        pytest.param(back_to("https://[fe80::1%25eth0]"), "redirectUrl", id="redirectUrl: address with a zone"),
        pytest.param(back_to("https://a.com/ä"), "redirectUrl", id="redirectUrl: path that is not percent-encoded"),
        pytest.param(with_metadata([]), "metadata", id="metadata as an array"),
        pytest.param(with_metadata("{}"), "metadata", id="metadata as a string"),
        pytest.param(with_metadata(1), "metadata", id="metadata as a number"),
        pytest.param(with_metadata(False), "metadata", id="metadata false"),
        pytest.param(with_metadata({f"k{n}": n for n in range(51)}), "metadata", id="metadata: 51 keys"),
        pytest.param(with_metadata({"k" * 41: 1}), "metadata", id="metadata: key of 41 characters"),
        pytest.param(with_metadata({"a": {"k" * 41: 1}}), "metadata", id="metadata: inner key of 41 characters"),
        pytest.param(with_metadata({"a": "v" * 501}), "metadata", id="metadata: value of 501 characters"),
        pytest.param(
            with_metadata({"a": [{"b": "v" * 501}]}), "metadata", id="metadata: inner value of 501 characters"
        ),
        pytest.param(
            with_metadata({f"k{n}": "v" * 400 for n in range(45)}), "metadata", id="metadata: more than 16 kB"
        ),
        pytest.param(with_metadata({"a": ["é" * 300] * 30}), "metadata", id="metadata: more than 16 kB as UTF-8"),
        pytest.param(with_metadata({"note": "a\0"}), "metadata.note", id="metadata: value with U+0000"),
        pytest.param(with_metadata({"a\0": 1}), "metadata", id="metadata: key with U+0000"),
        pytest.param(with_metadata({"note": "\udc00"}), "metadata.note", id="metadata: value with a lone surrogate"),
        pytest.param(with_metadata({"\ud83d": 1}), "metadata", id="metadata: key with half an emoji"),
        pytest.param(with_metadata({"a": [1, {"b": "\0"}]}), "metadata.a[1].b", id="metadata: inner value with U+0000"),
        pytest.param({"successMessage": "x" * 5_001}, "successMessage", id="successMessage of 5,001 characters"),
        pytest.param({"successMessage": 7}, "successMessage", id="successMessage as a number"),
        pytest.param({"successMessage": "\0"}, "successMessage", id="successMessage with U+0000"),
        pytest.param({"settlementDestination": "bank"}, "settlementDestination", id="settlementDestination: bank"),
        pytest.param({"settlementDestination": "Wallet"}, "settlementDestination", id="settlementDestination: Wallet"),
        pytest.param({"settlementDestination": ""}, "settlementDestination", id="settlementDestination: empty"),
        pytest.param({"settlementDestination": 1}, "settlementDestination", id="settlementDestination: a number"),
        pytest.param({"paymentMethods": []}, "paymentMethods", id="paymentMethods: no method"),
        pytest.param({"paymentMethods": "card"}, "paymentMethods", id="paymentMethods: a string"),
        pytest.param({"paymentMethods": {"card": True}}, "paymentMethods", id="paymentMethods: an object"),
        pytest.param({"paymentMethods": [""]}, "paymentMethods[0]", id="paymentMethods: an empty name"),
        pytest.param({"paymentMethods": [None]}, "paymentMethods[0]", id="paymentMethods: null in the list"),
        pytest.param({"paymentMethods": [["card"]]}, "paymentMethods[0]", id="paymentMethods: a list in the list"),
        pytest.param({"paymentMethods": ["card", "cash"]}, "paymentMethods[1]", id="paymentMethods: cash"),
        pytest.param({"paymentMethods": ["card "]}, "paymentMethods[0]", id="paymentMethods: a name with a space"),
        pytest.param({"paymentMethods": ["ussd"]}, "paymentMethods[0]", id="paymentMethods: our inner name of USSD"),
        pytest.param({"paymentMethods": ["card"] * 1_000}, "paymentMethods", id="paymentMethods: 1,000 entries"),
        pytest.param(
            {"paymentMethods": ["card"], "defaultPaymentMethod": "bank_transfer"},
            "defaultPaymentMethod",
            id="default that is not offered",
        ),
        pytest.param({"defaultPaymentMethod": "cash"}, "defaultPaymentMethod", id="default that does not exist"),
        pytest.param({"defaultPaymentMethod": ""}, "defaultPaymentMethod", id="default empty"),
        pytest.param({"defaultPaymentMethod": ["card"]}, "defaultPaymentMethod", id="default as an array"),
    ],
)
async def test_a_field_that_breaks_a_rule_is_named(shop: Shop, admin: Any, changes: dict[str, Any], field: str) -> None:
    sending = shop.create_raw(as_json(order(**changes)))
    await assert_refused(admin, sending, 422, INVALID, field=field)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("-0", "must be at least 1", id="amount -0"),
        pytest.param("100.0", "must be an integer", id="amount 100.0"),
        pytest.param("1e2", "must be an integer", id="amount 1e2"),
        pytest.param("1E+2", "must be an integer", id="amount 1E+2"),
        pytest.param("100.50", "must be an integer", id="amount 100.50"),
        pytest.param("0.1", "must be an integer", id="amount 0.1"),
        pytest.param("9" * 5_000, "has more than 100 digits", id="amount of 5,000 digits"),
        pytest.param("9" * 101, "has more than 100 digits", id="amount of 101 digits"),
        pytest.param("9007199254740993", "must be at most 100000000 in NGN", id="amount 2^53 + 1, never rounded"),
    ],
)
async def test_the_amount_is_an_exact_integer(shop: Shop, admin: Any, text: str, message: str) -> None:
    answer = await assert_refused(admin, shop.create_raw(with_raw("amount", text)), 422, INVALID, field="amount")
    assert message in answer.json()["message"]


async def test_every_problem_is_listed_at_once(shop: Shop, admin: Any) -> None:
    body: dict[str, Any] = {
        "amount": "1",
        "currency": "XXX",
        "customer": {"email": "a"},
        "feeBearer": None,
        "paymentMethods": [],
    }
    answer = await assert_refused(admin, shop.create(body), 422, INVALID, field="amount")
    fields = [problem["field"] for problem in answer.json()["errors"]]
    assert fields == ["amount", "currency", "customer.name", "customer.email", "feeBearer", "paymentMethods"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param({"currency": "KES", "paymentMethods": ["card"]}, "paymentMethods[0]", id="KES by card"),
        pytest.param(
            {"currency": "ZAR", "paymentMethods": ["card", "mobile_money"]},
            "paymentMethods[1]",
            id="ZAR by mobile money",
        ),
        pytest.param({"currency": "UGX", "paymentMethods": ["payAttitude"]}, "paymentMethods[0]", id="UGX by USSD"),
        pytest.param(
            {"currency": "ZMW", "paymentMethods": ["bank_transfer"]}, "paymentMethods[0]", id="ZMW by transfer"
        ),
        pytest.param(
            {"currency": "NGN", "paymentMethods": ["mobile_money"]}, "paymentMethods[0]", id="NGN by mobile money"
        ),
        pytest.param({"currency": "GHS", "paymentMethods": ["CARD"]}, "paymentMethods[0]", id="GHS by CARD"),
        pytest.param(
            {"currency": "KES", "defaultPaymentMethod": "card"}, "defaultPaymentMethod", id="default off the matrix"
        ),
    ],
)
async def test_a_method_that_the_currency_does_not_offer_is_refused_by_name(
    shop: Shop, admin: Any, changes: dict[str, Any], field: str
) -> None:
    await assert_refused(admin, shop.create(order(**changes)), 422, NOT_OFFERED, field=field)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param(with_metadata({"note": "4111111111111111"}), "metadata.note", id="bare"),
        pytest.param(with_metadata({"note": "4111 1111 1111 1111"}), "metadata.note", id="with spaces"),
        pytest.param(with_metadata({"note": "5366-1398-3386-4633"}), "metadata.note", id="with dashes"),
        pytest.param(with_metadata({"note": "4111  1111 - 1111  1111"}), "metadata.note", id="with wide gaps"),
        pytest.param(
            with_metadata({"note": "4111\u20131111\u20131111\u20131111"}), "metadata.note", id="with en dashes"
        ),
        pytest.param(
            with_metadata({"note": "4111\u00a01111\u202f1111\u20091111"}), "metadata.note", id="with other spaces"
        ),
        pytest.param(
            with_metadata({"note": "4111\u200b1111\u200b1111\u200b1111"}),
            "metadata.note",
            id="with zero-width spaces",
        ),
        pytest.param(with_metadata({"note": "４１１１１１１１１１１１１１１１"}), "metadata.note", id="full width"),
        pytest.param(with_metadata({"note": "٤١١١١١١١١١١١١١١١"}), "metadata.note", id="Arabic digits"),
        pytest.param(with_metadata({"note": "charge 5319317801366660, please"}), "metadata.note", id="inside text"),
        pytest.param(with_metadata({"note": "card:4111111111111111;cvv"}), "metadata.note", id="next to signs"),
        pytest.param(with_metadata({"note": "4222222222222"}), "metadata.note", id="13 digits"),
        pytest.param(with_metadata({"note": "378282246310005"}), "metadata.note", id="15 digits"),
        pytest.param(with_metadata({"note": "6304000000000000000"}), "metadata.note", id="19 digits"),
        pytest.param(with_metadata({"4111111111111111": 1}), "metadata", id="as a key"),
        pytest.param(with_metadata({"4111111111111111": "4111111111111111"}), "metadata", id="as a key and its value"),
        pytest.param(with_metadata({"n": 4111111111111111}), "metadata.n", id="as a number"),
        pytest.param(with_metadata({"n": 5061460410120223210}), "metadata.n", id="as a number of 19 digits"),
        pytest.param(with_metadata({"n": -4111111111111111}), "metadata.n", id="as a negative number"),
        pytest.param(with_metadata({"a": [{"b": ["x", "4111111111111111"]}]}), "metadata.a[0].b[1]", id="nested"),
        pytest.param(named("4111 1111 1111 1111"), "customer.name", id="in the name"),
        pytest.param(mailed("4111111111111111@example.com"), "customer.email", id="in the e-mail"),
        pytest.param({"successMessage": "Paid with 4111111111111111"}, "successMessage", id="in successMessage"),
        pytest.param(back_to("https://a.com/?card=4111111111111111"), "redirectUrl", id="in redirectUrl"),
        pytest.param({"card": {"number": "4111111111111111"}}, "card.number", id="in an unknown field"),
        pytest.param(
            {"customer": '{"name":"4111111111111111","email":"a@b.co"}'}, "customer.name", id="in a customer string"
        ),
    ],
)
async def test_a_card_number_is_refused_wherever_it_stands(
    shop: Shop, admin: Any, changes: dict[str, Any], field: str
) -> None:
    await assert_refused(admin, shop.create(order(**changes)), 422, CARD, field=field)


@pytest.mark.parametrize("text", ["4.111111111111111e15", "4111111111111111.0", "4111111111111111e0"])
async def test_a_card_number_is_recognised_in_any_notation_of_a_number(shop: Shop, admin: Any, text: str) -> None:
    sending = shop.create_raw(with_raw("metadata", f'{{"n":{text}}}'))
    await assert_refused(admin, sending, 422, CARD, field="metadata.n")


@pytest.mark.parametrize("path", ["/checkout/payments", "/checkout/data/fees"])
@pytest.mark.parametrize("amount", [100_000_001, 249_999_999, 250_000_001, 10**40])
async def test_there_is_one_largest_amount_of_a_currency(shop: Shop, path: str, amount: int) -> None:
    body = order(amount=amount, currency="NGN", type="card")
    answer = await shop.client.post(path, json=body, headers={**shop.create_headers})
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"] == [{"field": "amount", "message": "must be at most 100000000 in NGN"}]


async def test_a_card_number_among_other_problems_is_still_not_repeated(shop: Shop, admin: Any) -> None:
    body = order(amount=0, metadata={"4111111111111111": "\0", "note": "x" * 501 + "4111111111111111"})
    await assert_refused(admin, shop.create_raw(as_json(body)), 422, INVALID, field="metadata.••••••••••••••••")


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("https://evil.com/", id="another host"),
        pytest.param("https://shop.example.com.evil.com/", id="a host that begins like it"),
        pytest.param("https://evilshop.example.com/", id="a host that ends like it"),
        pytest.param("https://sub.shop.example.com/", id="a host below it"),
        pytest.param("https://evil.com/?shop.example.com", id="the right host in the query"),
        pytest.param("https://evil.com#shop.example.com", id="the right host in the fragment"),
        pytest.param("https://[::1]/", id="an address"),
    ],
)
async def test_a_redirect_leads_to_a_host_on_the_list(new_shop: MakeShop, admin: Any, url: str) -> None:
    shop = await new_shop(redirect_hosts=["shop.example.com"])
    sending = shop.create(order(redirectUrl=url))
    await assert_refused(admin, sending, 422, "REDIRECT_HOST_NOT_ALLOWED", field="redirectUrl")
    assert (await shop.create(order(redirectUrl="https://Shop.Example.com:8443/thanks"))).status_code == 201


# References that are taken.


async def test_the_same_order_again_gives_the_existing_link(shop: Shop, admin: Any) -> None:
    body = order(metadata={"cart": 1})
    first = (await shop.create(body)).json()["data"]
    again = await assert_refused(admin, shop.create(body), 409, "DUPLICATE_REFERENCE")
    assert again.json()["data"] == first


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"amount": 101}, id="another amount"),
        pytest.param({"currency": "GHS"}, id="another currency"),
        pytest.param({"feeBearer": "customer"}, id="another fee bearer"),
        pytest.param({"customer": {"name": "Eve", "email": "ada@example.com"}}, id="another customer"),
        pytest.param({"metadata": {"a": 1}}, id="other metadata"),
        pytest.param({"redirectUrl": "https://a.com"}, id="another redirect"),
    ],
)
async def test_another_order_under_a_taken_reference_is_refused(
    shop: Shop, admin: Any, changes: dict[str, Any]
) -> None:
    body = order()
    assert (await shop.create(body)).status_code == 201
    again = await assert_refused(admin, shop.create({**body, **changes}), 409, "DUPLICATE_REFERENCE")
    assert "data" not in again.json()


# Credentials.


async def refuse_keys(admin: Any, shop: Shop, *keys: str) -> set[bytes]:
    """What each of these secret keys is told, without the request's id."""
    answers = [
        await assert_refused(admin, shop.create(headers={"api-key": key}), 401, "UNAUTHENTICATED") for key in keys
    ]
    return {without_request_id(answer) for answer in answers}


async def test_every_wrong_secret_key_gets_the_same_answer(shop: Shop, admin: Any, db: Database) -> None:
    now = SystemClock().now()
    revoked = await merchants.roll_secret_key(db, shop.business_id, mode=Mode.SANDBOX, overlap=timedelta(0), now=now)
    keys = await merchants.keys_of(db, shop.business_id)
    await merchants.revoke_key(db, shop.business_id, keys[-1].id, now=now)
    bad_checksum = shop.secret_key[:-1] + ("A" if shop.secret_key[-1] != "A" else "B")
    answers = await refuse_keys(
        admin,
        shop,
        "",
        revoked,
        bad_checksum,
        ids.new_secret_key(Mode.SANDBOX),
        ids.new_secret_key(Mode.LIVE),
        shop.public_key,
        shop.secret_key.lower(),
        "x",
        "x" * 10_000,
    )
    missing = shop.client.post(PATH, json=order(), headers={"x-pub-key": shop.public_key})
    answers.add(without_request_id(await assert_refused(admin, missing, 401, "UNAUTHENTICATED")))
    assert len(answers) == 1


async def test_a_public_key_is_the_business_own(shop: Shop, new_shop: MakeShop, admin: Any) -> None:
    other = await new_shop()
    answers = set()
    for key in (other.public_key, ids.new_public_key(Mode.LIVE), ids.new_public_key(Mode.SANDBOX), "", shop.secret_key):
        sending = shop.create(headers={"x-pub-key": key})
        answers.add(without_request_id(await assert_refused(admin, sending, 401, "UNAUTHENTICATED")))
    missing = shop.client.post(PATH, json=order(), headers={"api-key": shop.secret_key})
    answers.add(without_request_id(await assert_refused(admin, missing, 401, "UNAUTHENTICATED")))
    assert len(answers) == 1


async def test_a_key_given_twice_is_refused(shop: Shop, admin: Any, base_url: str) -> None:
    body = as_json(order())
    for name in ("api-key", "x-pub-key"):
        again = f"{name}: {shop.create_headers[name]}".encode()
        sending = ask(base_url, head(shop, again, length=len(body)) + body)
        await assert_refused(admin, sending, 401, "UNAUTHENTICATED")


async def test_a_key_in_another_form_is_refused(shop: Shop, admin: Any) -> None:
    key = shop.secret_key
    for written in (f"{key[:20]} {key[20:]}", f"{key},{key}", f'"{key}"', f"Bearer {key}"):
        sending = shop.create(headers={"api-key": written})
        await assert_refused(admin, sending, 401, "UNAUTHENTICATED")


async def test_a_key_is_read_from_its_header_only(shop: Shop, admin: Any) -> None:
    keys = shop.create_headers
    elsewhere = [
        shop.client.post(PATH, json=order(), params=keys),
        shop.client.post(PATH, json=order(**keys)),
        shop.client.post(PATH, json=order(), headers={"cookie": f"api-key={shop.secret_key}"}),
        shop.client.post(PATH, json=order(), headers={"authorization": f"Bearer {shop.secret_key}"}),
        shop.client.post(PATH, json=order(), headers={"api_key": shop.secret_key, "x_pub_key": shop.public_key}),
    ]
    for sending in elsewhere:
        await assert_refused(admin, sending, 401, "UNAUTHENTICATED")


async def test_a_suspended_business_cannot_create(new_shop: MakeShop, admin: Any) -> None:
    shop = await new_shop(status="suspended")
    await assert_refused(admin, shop.create(), 403, "ACCESS_DENIED")


# The request as such.


async def test_the_answer_is_json_whatever_is_accepted(shop: Shop, admin: Any) -> None:
    sending = shop.create(order(amount=0), headers={"accept": "text/html"})
    await assert_refused(admin, sending, 422, INVALID, field="amount")


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
async def test_only_post_creates_a_payment(shop: Shop, admin: Any, method: str) -> None:
    sending = shop.client.request(method, PATH, headers=shop.create_headers)
    answer = await assert_refused(admin, sending, 405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == "POST"


async def test_head_on_create_is_refused_without_a_body(shop: Shop) -> None:
    answer = await shop.client.head(PATH, headers=shop.create_headers)
    assert (answer.status_code, answer.headers["allow"], answer.content) == (405, "POST", b"")


@pytest.mark.parametrize("method", ["DELETE", "POST"])
async def test_every_route_refuses_a_wrong_method_in_the_same_words(
    client: httpx.AsyncClient, admin: Any, db: Database, method: str
) -> None:
    answer = await assert_refused(admin, client.request(method, "/healthz"), 405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == "GET, HEAD"


# Idempotency-Key.


async def test_the_same_idempotency_key_and_body_replay_the_first_answer(shop: Shop, admin: Any) -> None:
    body = order(reference=...)
    first = await shop.create(body, {"idempotency-key": "k-1"})
    again = await shop.create(body, {"idempotency-key": "k-1"})
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert await rows_in(admin) == (1, 1)


async def test_an_idempotency_key_with_another_body_is_refused(shop: Shop, admin: Any) -> None:
    headers = {"idempotency-key": "k-1"}
    assert (await shop.create(order(reference=...), headers)).status_code == 201
    sending = shop.create(order(reference=..., amount=101), headers)
    await assert_refused(admin, sending, 422, INVALID, field="Idempotency-Key")


async def test_an_idempotency_key_whose_first_request_still_runs_gets_409(shop: Shop, admin: Any) -> None:
    async with admin.transaction():
        assert await idempotency.lock(admin, shop.business_id, "k-1")
        sending = shop.create(order(), {"idempotency-key": "k-1"})
        answer = await assert_refused(admin, sending, 409, "CONFLICT")
        assert answer.headers["retry-after"] == "1"
    assert (await shop.create(order(), {"idempotency-key": "k-1"})).status_code == 201


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param([b""], id="empty"),
        pytest.param([b"k" * 256], id="256 characters"),
        pytest.param([b"a b"], id="a space"),
        pytest.param([b"a\tb"], id="a tab"),
        pytest.param([b"k\xe9"], id="not ASCII"),
        pytest.param([b"a", b"b"], id="two keys"),
        pytest.param([b"a", b"a"], id="one key twice"),
    ],
)
async def test_a_malformed_idempotency_key_is_refused(shop: Shop, admin: Any, base_url: str, keys: list[bytes]) -> None:
    body = as_json(order())
    given = [b"idempotency-key: " + key for key in keys]
    sending = ask(base_url, head(shop, *given, length=len(body)) + body)
    await assert_refused(admin, sending, 422, INVALID, field="Idempotency-Key")


async def test_a_refused_request_stores_nothing_under_its_idempotency_key(shop: Shop, admin: Any) -> None:
    headers = {"idempotency-key": "k-1"}
    taken = order()
    assert (await shop.create(taken)).status_code == 201
    await assert_refused(admin, shop.create(order(amount=0), headers), 422, INVALID, field="amount")
    await assert_refused(admin, shop.create(taken, headers), 409, "DUPLICATE_REFERENCE")
    assert (await shop.create(order(), headers)).status_code == 201


async def test_an_idempotency_key_belongs_to_one_business(shop: Shop, new_shop: MakeShop, admin: Any) -> None:
    headers = {"idempotency-key": "k-1"}
    body = order()
    mine, theirs = await shop.create(body, headers), await (await new_shop()).create(body, headers)
    assert mine.json()["data"]["payCode"] != theirs.json()["data"]["payCode"]
    assert await rows_in(admin) == (2, 2)


# Haste.


async def test_requests_beyond_the_burst_get_429_with_retry_after(
    new_shop: MakeShop, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = monotonic_s()
    monkeypatch.setattr(rate_limit, "monotonic_s", lambda: now)  # No allowance comes back meanwhile.
    shop = await new_shop(rate_per_second=1, rate_burst=10)
    answers = await asyncio.gather(*(shop.create() for _ in range(40)))
    refused = [answer for answer in answers if answer.status_code != 201]
    created = len(answers) - len(refused)
    assert created == 10
    for answer in refused:
        assert_says_no(answer, 429, "RATE_LIMITED")
        assert int(answer.headers["retry-after"]) >= 1
    assert await rows_in(admin) == (created, 0)


async def test_the_rate_limit_of_one_business_does_not_slow_another(new_shop: MakeShop, shop: Shop) -> None:
    hasty = await new_shop(rate_per_second=1, rate_burst=1)
    await asyncio.gather(*(hasty.create() for _ in range(5)))
    assert (await shop.create()).status_code == 201
