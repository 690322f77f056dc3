"""Creating a payment from bad input: every row says no in the right words, and writes nothing.

The codes are the rows of the table of bad inputs. What the socket alone can send is in test_http_attacks.py,
what is odd but accepted in test_create_accepts.py, what differs in live mode in test_live_mode.py.
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
        pytest.param(b"", MALFORMED, id="C1 empty body"),
        pytest.param(b"  \n", MALFORMED, id="C1 nothing but space"),
        pytest.param(b"{", MALFORMED, id="C2 one brace"),
        pytest.param(as_json(order())[:-9], MALFORMED, id="C2 cut mid-way"),
        pytest.param(as_json(order()) + b"}", MALFORMED, id="C2 one brace too many"),
        pytest.param(as_json(order()) * 2, MALFORMED, id="C2 two objects"),
        pytest.param(b"{'amount':100}", MALFORMED, id="C2 single quotes"),
        pytest.param(b'{"amount":100,}', MALFORMED, id="C2 trailing comma"),
        pytest.param(b'{"amount":100} // x', MALFORMED, id="C2 comment"),
        pytest.param(b"amount=100&currency=NGN", MALFORMED, id="C2 a form"),
        pytest.param(b"[]", wrong("body"), id="C3 array"),
        pytest.param(b'"x"', wrong("body"), id="C3 string"),
        pytest.param(b"1", wrong("body"), id="C3 number"),
        pytest.param(b"null", wrong("body"), id="C3 null"),
        pytest.param(b"true", wrong("body"), id="C3 true"),
        pytest.param(b"{}", wrong("amount"), id="C3 empty object"),
        pytest.param(as_json(order()).decode().encode("utf-16"), MALFORMED, id="C5 UTF-16 said to be UTF-8"),
        pytest.param(as_json(order()).replace(b"Ada", b"A\xffa"), MALFORMED, id="C6 byte 0xff in a name"),
        pytest.param(
            as_json(order()).replace(b"Ada", b"\xed\xa0\x80"),
            MALFORMED,
            id="C6 surrogate as bytes",
        ),
        pytest.param(as_json(order()).replace(b"Ada", b"A\xc0\x80"), MALFORMED, id="C6 overlong NUL"),
        pytest.param(as_json(order()).replace(b"Ada", b"A\x00a"), MALFORMED, id="C6 bare control character"),
        pytest.param(b"\xef\xbb\xbf" + as_json(order()), MALFORMED, id="C7 leading byte order mark"),
        pytest.param(b'{"amount":100,' + as_json(order())[1:], MALFORMED, id="C8 amount given twice"),
        pytest.param(
            with_raw("customer", '{"name":"A","email":"a@b.co","name":"B"}'),
            MALFORMED,
            id="C8 name given twice",
        ),
        pytest.param(
            with_raw("metadata", '{"a":{"b":1,"\\u0062":2}}'),
            MALFORMED,
            id="C8 the same key in two spellings",
        ),
        pytest.param(
            with_raw("metadata", '{"4111111111111111":1,"4111111111111111":2}'),
            MALFORMED,
            id="C8 a card number given twice as key",
        ),
        pytest.param(with_raw("amount", "NaN"), MALFORMED, id="C9 NaN"),
        pytest.param(with_raw("amount", "Infinity"), MALFORMED, id="C9 Infinity"),
        pytest.param(with_raw("amount", "-Infinity"), MALFORMED, id="C9 -Infinity"),
        pytest.param(with_raw("amount", "1e400"), wrong("amount"), id="C9 1e400"),
        pytest.param(with_raw("amount", "1e999999999"), wrong("amount"), id="C9 1e999999999"),
        pytest.param(with_raw("amount", "1e" + "9" * 30), wrong("amount"), id="C9 an absurd exponent"),
        pytest.param(with_raw("metadata", '{"n":1e999999999}'), wrong("metadata.n"), id="C9 1e999999999 elsewhere"),
        pytest.param(with_raw("metadata", '{"n":NaN}'), MALFORMED, id="C9 NaN elsewhere"),
        pytest.param(
            with_raw("metadata", "[" * 30_000 + "]" * 30_000),
            MALFORMED,
            id="C10 as many nested arrays as a body can hold",
        ),
        pytest.param(with_raw("metadata", "[" * 100_000), TOO_LARGE, id="C10 100,000 nested arrays"),
        pytest.param(
            with_raw("metadata", '{"a":' * 8 + "1" + "}" * 8),
            MALFORMED,
            id="C10 one level too deep",
        ),
        pytest.param(
            b'{"a":[[],[],[],[],[],[],[],[],"' + b'\\"' * 32_000,
            MALFORMED,
            id="C10 a string of quotes that never ends",
        ),
        pytest.param(as_json(order()).ljust(BODY_BYTES_MAX + 1), TOO_LARGE, id="C11 a byte more than 64 kB"),
        pytest.param(as_json(order(reference="r" * 1_000_000)), TOO_LARGE, id="C36 reference of 1 MB"),
        pytest.param(with_raw("amount", ""), MALFORMED, id="C17 amount is nothing at all"),
        pytest.param(with_raw("amount", "1_000"), MALFORMED, id="C17 amount 1_000"),
        pytest.param(with_raw("amount", "0100"), MALFORMED, id="C17 amount with a leading zero"),
        pytest.param(with_raw("amount", "+100"), MALFORMED, id="C17 amount with a plus"),
        pytest.param(with_raw("amount", "0x64"), MALFORMED, id="C17 amount in hexadecimal"),
    ],
)
async def test_a_malformed_body_is_refused(shop: Shop, admin: Any, body: bytes, refusal: Refusal) -> None:
    status, error_type, field = refusal
    await assert_refused(admin, shop.create_raw(body), status, error_type, field=field)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param({"content-type": "text/plain"}, as_json(order()), id="C4 text/plain"),
        pytest.param({"content-type": ""}, as_json(order()), id="C4 empty"),
        pytest.param({"content-type": "application/x-www-form-urlencoded"}, b"amount=1", id="C4 form"),
        pytest.param({"content-type": "multipart/form-data; boundary=x"}, b"--x--", id="C4 multipart"),
        pytest.param({"content-type": "application/jsonp"}, as_json(order()), id="C4 a longer name"),
        pytest.param({"content-type": "text/json"}, as_json(order()), id="C4 text/json"),
        pytest.param(
            {"content-type": "application/json; charset=utf-16"},
            as_json(order()).decode().encode("utf-16"),
            id="C5 UTF-16",
        ),
        pytest.param({"content-type": "application/json; charset=latin-1"}, as_json(order()), id="C5 Latin-1"),
        pytest.param({"content-type": "application/json; charset=utf-7"}, as_json(order()), id="C5 UTF-7"),
        pytest.param({"content-encoding": "gzip"}, gzip.compress(b" " * 10_000_000), id="C14 gzip bomb"),
        pytest.param({"content-encoding": "gzip"}, gzip.compress(as_json(order())), id="C14 honest gzip"),
        pytest.param({"content-encoding": "gzip, identity"}, as_json(order()), id="C14 two codings"),
        pytest.param({"content-encoding": "br"}, as_json(order()), id="C14 brotli"),
    ],
)
async def test_only_plain_json_is_read(shop: Shop, admin: Any, headers: dict[str, str], body: bytes) -> None:
    await assert_refused(admin, shop.create_raw(body, headers), 415, "UNSUPPORTED_MEDIA_TYPE")


async def test_a_body_without_a_type_is_refused_C4(shop: Shop, admin: Any) -> None:
    sending = shop.client.post(PATH, content=as_json(order()), headers=shop.create_headers)
    await assert_refused(admin, sending, 415, "UNSUPPORTED_MEDIA_TYPE")


# Fields.


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param({"amount": ...}, "amount", id="C15 amount missing"),
        pytest.param({"amount": 0}, "amount", id="C16 amount 0"),
        pytest.param({"amount": -1}, "amount", id="C16 amount -1"),
        pytest.param({"amount": -(2**63) - 1}, "amount", id="C16 amount below any integer"),
        pytest.param({"amount": "100"}, "amount", id="C17 amount as a string"),
        pytest.param({"amount": " 100 "}, "amount", id="C17 amount as a string with spaces"),
        pytest.param({"amount": "1_000"}, "amount", id="C17 amount as Python writes it"),
        pytest.param({"amount": ""}, "amount", id="C17 amount as an empty string"),
        pytest.param({"amount": True}, "amount", id="C17 amount true"),
        pytest.param({"amount": None}, "amount", id="C17 amount null"),
        pytest.param({"amount": []}, "amount", id="C17 amount as an array"),
        pytest.param({"amount": [100]}, "amount", id="C17 amount in an array"),
        pytest.param({"amount": {}}, "amount", id="C17 amount as an object"),
        pytest.param({"amount": 100.5}, "amount", id="C18 amount 100.5"),
        pytest.param({"amount": 2**53 + 1}, "amount", id="C19 amount 2^53 + 1"),
        pytest.param({"amount": 2**63}, "amount", id="C19 amount 2^63"),
        pytest.param({"amount": 2**64}, "amount", id="C19 amount 2^64"),
        pytest.param({"amount": 10**25}, "amount", id="C19 amount of 26 digits"),
        pytest.param({"amount": 100_000_001}, "amount", id="C20 too much in NGN"),
        pytest.param({"amount": 1_000_001, "currency": "GHS"}, "amount", id="C20 too much in GHS"),
        pytest.param({"amount": 10_000_001, "currency": "KES"}, "amount", id="C20 too much in KES"),
        pytest.param({"amount": 250_000_001, "currency": "UGX"}, "amount", id="C20 too much in UGX"),
        pytest.param({"amount": 1_000_001, "currency": "ZAR"}, "amount", id="C20 too much in ZAR"),
        pytest.param({"amount": 2_000_001, "currency": "ZMW"}, "amount", id="C20 too much in ZMW"),
        pytest.param({"currency": ...}, "currency", id="C21 currency missing"),
        pytest.param({"currency": ""}, "currency", id="C21 currency empty"),
        pytest.param({"currency": None}, "currency", id="C21 currency null"),
        pytest.param({"currency": 1}, "currency", id="C21 currency 1"),
        pytest.param({"currency": ["NGN"]}, "currency", id="C21 currency in an array"),
        pytest.param({"currency": "ngn"}, "currency", id="C22 currency in lower case"),
        pytest.param({"currency": "NGN "}, "currency", id="C22 currency with a space"),
        pytest.param({"currency": "XXX"}, "currency", id="C22 currency XXX"),
        pytest.param({"currency": "₦"}, "currency", id="C22 currency by its sign"),
        pytest.param({"currency": "NGN\0"}, "currency", id="C22 currency with U+0000"),
        pytest.param({"currency": "ＮＧＮ"}, "currency", id="C22 currency in full width"),
        pytest.param({"currency": "TZS"}, "currency", id="C23 TZS"),
        pytest.param({"currency": "USD"}, "currency", id="C23 USD"),
        pytest.param({"currency": "EUR"}, "currency", id="C23 EUR"),
        pytest.param({"customer": ...}, "customer", id="C24 customer missing"),
        pytest.param({"customer": None}, "customer", id="C24 customer null"),
        pytest.param({"customer": []}, "customer", id="C24 customer as an array"),
        pytest.param({"customer": 7}, "customer", id="C24 customer as a number"),
        pytest.param({"customer": {}}, "customer.name", id="C24 customer empty"),
        pytest.param({"customer": "Ada"}, "customer", id="C25 customer as a plain string"),
        pytest.param({"customer": ""}, "customer", id="C25 customer as an empty string"),
        pytest.param({"customer": "[]"}, "customer", id="C25 customer as an array in a string"),
        pytest.param({"customer": '"Ada"'}, "customer", id="C25 customer as a string in a string"),
        pytest.param({"customer": '{"name":"Ada"'}, "customer", id="C25 customer cut in a string"),
        pytest.param({"customer": '{"name":"Ada"}'}, "customer.email", id="C25 customer without e-mail in a string"),
        pytest.param(
            {"customer": '{"name":"A","name":"B","email":"a@b.co"}'}, "customer", id="C25 a key twice in the string"
        ),
        pytest.param(
            {"customer": '{"name":"A\\u0000","email":"a@b.co"}'}, "customer", id="C25 U+0000 within the string"
        ),
        pytest.param({"customer": "[" * 50_000}, "customer", id="C25 nested arrays in the string"),
        pytest.param(named(""), "customer.name", id="C26 name empty"),
        pytest.param(named("   "), "customer.name", id="C26 name of spaces"),
        pytest.param(named("a" * 201), "customer.name", id="C26 name a letter too long"),
        pytest.param(named("a" * 10_000), "customer.name", id="C26 name of 10,000 letters"),
        pytest.param(named("\u200b\u200c\u200d\u2060\ufeff"), "customer.name", id="C26 name of zero width"),
        pytest.param(named("\u00a0\u2003\u3000"), "customer.name", id="C26 name of wide spaces"),
        pytest.param(named("\u3164\u115f\u2800"), "customer.name", id="C26 name of blank letters"),
        pytest.param(named("\u202e\u2066"), "customer.name", id="C26 name of bidi controls"),
        pytest.param(customer(name=...), "customer.name", id="C26 name missing"),
        pytest.param(customer(name=None), "customer.name", id="C26 name null"),
        pytest.param(customer(name=7), "customer.name", id="C26 name as a number"),
        pytest.param(named("Ada\r\nBcc: x@y.z"), "customer.name", id="C26 name with a line break"),
        pytest.param(named("Ada\u2028Obi"), "customer.name", id="C26 name with a line separator"),
        pytest.param(named("Ada\x1b[31m"), "customer.name", id="C26 name with an escape sequence"),
        pytest.param(named("Ada\0"), "customer.name", id="C26 name with U+0000"),
        pytest.param(named("Ada\ud800"), "customer.name", id="C26 name with a lone surrogate"),
        pytest.param(named("Z" + "\u0301" * 150), "customer.name", id="C28 a flood of marks"),
        pytest.param(named("a" + "\u0489" * 9), "customer.name", id="C28 one mark too many"),
        pytest.param(mailed(...), "customer.email", id="C30 e-mail missing"),
        pytest.param(mailed(None), "customer.email", id="C30 e-mail null"),
        pytest.param(mailed(7), "customer.email", id="C30 e-mail as a number"),
        pytest.param(mailed(""), "customer.email", id="C30 e-mail empty"),
        pytest.param(mailed("a"), "customer.email", id="C30 e-mail a"),
        pytest.param(mailed("a@"), "customer.email", id="C30 e-mail a@"),
        pytest.param(mailed("@b.co"), "customer.email", id="C30 e-mail @b.co"),
        pytest.param(mailed("a@b"), "customer.email", id="C30 e-mail a@b"),
        pytest.param(mailed("a@@b.co"), "customer.email", id="C30 e-mail with two at signs"),
        pytest.param(mailed("a b@c.co"), "customer.email", id="C30 e-mail with a space"),
        pytest.param(mailed(" a@b.co"), "customer.email", id="C30 e-mail after a space"),
        pytest.param(mailed("a..b@c.co"), "customer.email", id="C30 e-mail with two dots"),
        pytest.param(mailed("a@-b.co"), "customer.email", id="C30 e-mail at -b.co"),
        pytest.param(mailed("a@b..co"), "customer.email", id="C30 e-mail at b..co"),
        pytest.param(mailed("a@[127.0.0.1]"), "customer.email", id="C30 e-mail at an address"),
        pytest.param(mailed("Ada <a@b.co>"), "customer.email", id="C30 e-mail with a display name"),
        pytest.param(mailed("a" * 290 + "@example.co"), "customer.email", id="C30 e-mail of 300 characters"),
        pytest.param(mailed("a" * 255 + "@b.co"), "customer.email", id="C30 e-mail a little too long"),
        pytest.param(mailed("a@b.co\r\nBcc: x@y.z"), "customer.email", id="C31 e-mail with a header in it"),
        pytest.param(mailed("a@b.co\n"), "customer.email", id="C31 e-mail before a line feed"),
        pytest.param(mailed("a@b.co,c@d.co"), "customer.email", id="C31 two e-mails"),
        pytest.param(mailed("a@b.co;c@d.co"), "customer.email", id="C31 two e-mails with a semicolon"),
        pytest.param(mailed('"><script>@x.co'), "customer.email", id="C32 e-mail with markup"),
        pytest.param(mailed('"<script>"@x.co'), "customer.email", id="C32 e-mail with quoted markup"),
        pytest.param(called("abc"), "customer.phoneNumber", id="C33 phone of letters"),
        pytest.param(called("1" * 40), "customer.phoneNumber", id="C33 phone of 40 digits"),
        pytest.param(called("1" * 16), "customer.phoneNumber", id="C33 phone of 16 digits"),
        pytest.param(called("+"), "customer.phoneNumber", id="C33 phone +"),
        pytest.param(called(2348012345678), "customer.phoneNumber", id="C33 phone as a number"),
        pytest.param(called("+234\n8012345678"), "customer.phoneNumber", id="C33 phone with a line feed"),
        pytest.param(called("٠٨٠١٢٣٤٥٦٧٨"), "customer.phoneNumber", id="C33 phone in other digits"),
        pytest.param(called("--------"), "customer.phoneNumber", id="C33 phone of dashes"),
        pytest.param({"feeBearer": "merchant"}, "feeBearer", id="C35 feeBearer merchant"),
        pytest.param({"feeBearer": "Business"}, "feeBearer", id="C35 feeBearer Business"),
        pytest.param({"feeBearer": ""}, "feeBearer", id="C35 feeBearer empty"),
        pytest.param({"feeBearer": 1}, "feeBearer", id="C35 feeBearer 1"),
        pytest.param({"feeBearer": None}, "feeBearer", id="C35 feeBearer null"),
        pytest.param({"reference": ""}, "reference", id="C36 reference empty"),
        pytest.param({"reference": "r" * 101}, "reference", id="C36 reference a character too long"),
        pytest.param({"reference": "r" * 256}, "reference", id="C36 reference of 256 characters"),
        pytest.param({"reference": " ORD"}, "reference", id="C37 reference after a space"),
        pytest.param({"reference": "ORD "}, "reference", id="C37 reference before a space"),
        pytest.param({"reference": "OR D"}, "reference", id="C37 reference with a space"),
        pytest.param({"reference": "OR\tD"}, "reference", id="C37 reference with a tab"),
        pytest.param({"reference": "ORD\r\n"}, "reference", id="C37 reference with CR LF"),
        pytest.param({"reference": "ORD\n"}, "reference", id="C37 reference with a line feed"),
        pytest.param({"reference": "ORD\0"}, "reference", id="C37 reference with U+0000"),
        pytest.param({"reference": "ORD\ud800"}, "reference", id="C37 reference with a lone surrogate"),
        pytest.param({"reference": "../../x"}, "reference", id="C38 reference ../../x"),
        pytest.param({"reference": "a/b"}, "reference", id="C38 reference a/b"),
        pytest.param({"reference": "a\\b"}, "reference", id="C38 reference with a backslash"),
        pytest.param({"reference": "a?b"}, "reference", id="C38 reference a?b"),
        pytest.param({"reference": "a#b"}, "reference", id="C38 reference a#b"),
        pytest.param({"reference": "%2e%2e"}, "reference", id="C38 reference %2e%2e"),
        pytest.param({"reference": "a;b"}, "reference", id="C38 reference a;b"),
        pytest.param({"reference": "a&b"}, "reference", id="C38 reference a&b"),
        pytest.param({"reference": "' OR '1'='1"}, "reference", id="C38 reference with SQL"),
        pytest.param({"reference": "caf\u00e9"}, "reference", id="C40 reference in NFC"),
        pytest.param({"reference": "cafe\u0301"}, "reference", id="C40 reference in NFD"),
        pytest.param({"reference": "ＯＲＤ"}, "reference", id="C40 reference in full width"),
        pytest.param({"reference": "ORD-١"}, "reference", id="C40 reference with another script's digit"),
        pytest.param({"reference": PAY_CODE}, "reference", id="C41 reference shaped like a pay code"),
        pytest.param({"reference": 123}, "reference", id="C42 reference as a number"),
        pytest.param({"reference": ["ORD"]}, "reference", id="C42 reference as an array"),
        pytest.param({"reference": {"a": 1}}, "reference", id="C42 reference as an object"),
        pytest.param({"reference": True}, "reference", id="C42 reference true"),
        pytest.param(back_to("javascript:alert(1)"), "redirectUrl", id="C47 javascript:"),
        pytest.param(
            back_to("JavaScript://a.com/%0aalert(1)"), "redirectUrl", id="C47 javascript: that looks like a URL"
        ),
        pytest.param(back_to("data:text/html,x"), "redirectUrl", id="C47 data:"),
        pytest.param(back_to("ftp://x"), "redirectUrl", id="C47 ftp:"),
        pytest.param(back_to("file:///etc/passwd"), "redirectUrl", id="C47 file:"),
        pytest.param(back_to("//evil.com"), "redirectUrl", id="C47 no scheme"),
        pytest.param(back_to("/path"), "redirectUrl", id="C47 a path"),
        pytest.param(back_to("evil.com"), "redirectUrl", id="C47 a bare host"),
        pytest.param(back_to(""), "redirectUrl", id="C47 empty"),
        pytest.param(back_to("https://"), "redirectUrl", id="C47 no host"),
        pytest.param(back_to("https:///evil.com"), "redirectUrl", id="C47 three slashes"),
        pytest.param(back_to("https:evil.com"), "redirectUrl", id="C47 no slashes"),
        pytest.param(back_to(7), "redirectUrl", id="C47 a number"),
        pytest.param(back_to(["https://a.com"]), "redirectUrl", id="C47 an array"),
        pytest.param(back_to("https://a.com\\@evil.com"), "redirectUrl", id="C48 backslash before @"),
        pytest.param(back_to("https:/\\evil.com"), "redirectUrl", id="C48 slash and backslash"),
        pytest.param(back_to("https:\\\\evil.com"), "redirectUrl", id="C48 backslashes"),
        pytest.param(back_to("https://a.com/\\evil"), "redirectUrl", id="C48 backslash in the path"),
        pytest.param(back_to("\thttps://a.com"), "redirectUrl", id="C48 leading tab"),
        pytest.param(back_to(" https://a.com"), "redirectUrl", id="C48 leading space"),
        pytest.param(back_to("https://a.com\n"), "redirectUrl", id="C48 trailing newline"),
        pytest.param(back_to("https://a.com/\r\nSet-Cookie: a=b"), "redirectUrl", id="C48 embedded CR LF"),
        pytest.param(back_to("ht\ntps://a.com"), "redirectUrl", id="C48 newline in the scheme"),
        pytest.param(back_to("https://a.com/\0"), "redirectUrl", id="C48 U+0000"),
        pytest.param(back_to("https://a.com/\x7f"), "redirectUrl", id="C48 delete character"),
        pytest.param(back_to("https://a.com/\u2028"), "redirectUrl", id="C48 line separator"),
        pytest.param(back_to("https://evil.com／.a.com"), "redirectUrl", id="C48 full-width slash"),
        pytest.param(back_to("https://a.com＠evil.com"), "redirectUrl", id="C48 full-width @"),
        pytest.param(back_to("https://user:pass@a.com"), "redirectUrl", id="C49 user and password"),
        pytest.param(back_to("https://user@a.com"), "redirectUrl", id="C49 user"),
        pytest.param(back_to("https://@a.com"), "redirectUrl", id="C49 empty user"),
        pytest.param(back_to("https://a.com:80@evil.com"), "redirectUrl", id="C49 user that looks like a host"),
        pytest.param(back_to("https://a.com/" + "p" * 2_035), "redirectUrl", id="C53 2,049 characters"),
        pytest.param(back_to("https://a.com:99999"), "redirectUrl", id="C53 port 99999"),
        pytest.param(back_to("https://a.com:0000099999"), "redirectUrl", id="C53 port 99999 after zeros"),
        pytest.param(back_to("https://a.com:0"), "redirectUrl", id="C53 port 0"),
        pytest.param(back_to("https://a.com:-1"), "redirectUrl", id="C53 port -1"),
        pytest.param(back_to("https://a.com:"), "redirectUrl", id="C53 no port after the colon"),
        pytest.param(back_to("https://a.com:80:80"), "redirectUrl", id="C53 two ports"),
        pytest.param(back_to("https://a.com:８０"), "redirectUrl", id="C53 port in full width"),
        pytest.param(back_to("https://a..b.com"), "redirectUrl", id="C53 two dots"),
        pytest.param(back_to("https://.a.com"), "redirectUrl", id="C53 leading dot"),
        pytest.param(back_to("https://-a.com"), "redirectUrl", id="C53 leading hyphen"),
        pytest.param(back_to("https://a_b.com"), "redirectUrl", id="C53 underscore"),
        pytest.param(back_to(f"https://{'a' * 64}.com"), "redirectUrl", id="C53 label of 64 letters"),
        pytest.param(back_to(f"https://{'a.' * 130}com"), "redirectUrl", id="C53 host of 263 letters"),
        pytest.param(back_to("https://a.com%2eevil.com"), "redirectUrl", id="C53 percent sign in the host"),
        pytest.param(back_to("https://[::1"), "redirectUrl", id="C53 bracket left open"),
        pytest.param(back_to("https://[::1]80"), "redirectUrl", id="C53 no colon after the bracket"),
        pytest.param(back_to("https://[::g]"), "redirectUrl", id="C53 not an IPv6 address"),
        pytest.param(back_to("https://[fe80::1%25eth0]"), "redirectUrl", id="C53 address with a zone"),
        pytest.param(back_to("https://a.com/ä"), "redirectUrl", id="C53 path that is not percent-encoded"),
        pytest.param(with_metadata([]), "metadata", id="C56 metadata as an array"),
        pytest.param(with_metadata("{}"), "metadata", id="C56 metadata as a string"),
        pytest.param(with_metadata(1), "metadata", id="C56 metadata as a number"),
        pytest.param(with_metadata(False), "metadata", id="C56 metadata false"),
        pytest.param(with_metadata({f"k{n}": n for n in range(51)}), "metadata", id="C57 51 keys"),
        pytest.param(with_metadata({"k" * 41: 1}), "metadata", id="C57 key of 41 characters"),
        pytest.param(with_metadata({"a": {"k" * 41: 1}}), "metadata", id="C57 inner key of 41 characters"),
        pytest.param(with_metadata({"a": "v" * 501}), "metadata", id="C57 value of 501 characters"),
        pytest.param(with_metadata({"a": [{"b": "v" * 501}]}), "metadata", id="C57 inner value of 501 characters"),
        pytest.param(with_metadata({f"k{n}": "v" * 400 for n in range(45)}), "metadata", id="C57 more than 16 kB"),
        pytest.param(with_metadata({"a": ["é" * 300] * 30}), "metadata", id="C57 more than 16 kB as UTF-8"),
        pytest.param(with_metadata({"note": "a\0"}), "metadata.note", id="C58 value with U+0000"),
        pytest.param(with_metadata({"a\0": 1}), "metadata", id="C58 key with U+0000"),
        pytest.param(with_metadata({"note": "\udc00"}), "metadata.note", id="C58 value with a lone surrogate"),
        pytest.param(with_metadata({"\ud83d": 1}), "metadata", id="C58 key with half an emoji"),
        pytest.param(with_metadata({"a": [1, {"b": "\0"}]}), "metadata.a[1].b", id="C58 inner value with U+0000"),
        pytest.param({"successMessage": "x" * 5_001}, "successMessage", id="C62 successMessage of 5,001 characters"),
        pytest.param({"successMessage": 7}, "successMessage", id="C62 successMessage as a number"),
        pytest.param({"successMessage": "\0"}, "successMessage", id="C62 successMessage with U+0000"),
        pytest.param({"settlementDestination": "bank"}, "settlementDestination", id="C63 bank"),
        pytest.param({"settlementDestination": "Wallet"}, "settlementDestination", id="C63 Wallet"),
        pytest.param({"settlementDestination": ""}, "settlementDestination", id="C63 empty"),
        pytest.param({"settlementDestination": 1}, "settlementDestination", id="C63 a number"),
        pytest.param({"paymentMethods": []}, "paymentMethods", id="C64 no method"),
        pytest.param({"paymentMethods": "card"}, "paymentMethods", id="C64 a string"),
        pytest.param({"paymentMethods": {"card": True}}, "paymentMethods", id="C64 an object"),
        pytest.param({"paymentMethods": [""]}, "paymentMethods[0]", id="C64 an empty name"),
        pytest.param({"paymentMethods": [None]}, "paymentMethods[0]", id="C64 null in the list"),
        pytest.param({"paymentMethods": [["card"]]}, "paymentMethods[0]", id="C64 a list in the list"),
        pytest.param({"paymentMethods": ["card", "cash"]}, "paymentMethods[1]", id="C64 cash"),
        pytest.param({"paymentMethods": ["card "]}, "paymentMethods[0]", id="C64 a name with a space"),
        pytest.param({"paymentMethods": ["ussd"]}, "paymentMethods[0]", id="C64 our inner name of USSD"),
        pytest.param({"paymentMethods": ["card"] * 1_000}, "paymentMethods", id="C64 1,000 entries"),
        pytest.param(
            {"paymentMethods": ["card"], "defaultPaymentMethod": "bank_transfer"},
            "defaultPaymentMethod",
            id="C69 default that is not offered",
        ),
        pytest.param({"defaultPaymentMethod": "cash"}, "defaultPaymentMethod", id="C69 default that does not exist"),
        pytest.param({"defaultPaymentMethod": ""}, "defaultPaymentMethod", id="C69 default empty"),
        pytest.param({"defaultPaymentMethod": ["card"]}, "defaultPaymentMethod", id="C69 default as an array"),
    ],
)
async def test_a_field_that_breaks_a_rule_is_named(shop: Shop, admin: Any, changes: dict[str, Any], field: str) -> None:
    sending = shop.create_raw(as_json(order(**changes)))
    await assert_refused(admin, sending, 422, INVALID, field=field)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("-0", "must be at least 1", id="C16 amount -0"),
        pytest.param("100.0", "must be an integer", id="C18 amount 100.0"),
        pytest.param("1e2", "must be an integer", id="C18 amount 1e2"),
        pytest.param("1E+2", "must be an integer", id="C18 amount 1E+2"),
        pytest.param("100.50", "must be an integer", id="C18 amount 100.50"),
        pytest.param("0.1", "must be an integer", id="C18 amount 0.1"),
        pytest.param("9" * 5_000, "has more than 100 digits", id="C19 amount of 5,000 digits"),
        pytest.param("9" * 101, "has more than 100 digits", id="C19 amount of 101 digits"),
        pytest.param("9007199254740993", "must be at most 100000000 in NGN", id="C19 amount 2^53 + 1, never rounded"),
    ],
)
async def test_the_amount_is_an_exact_integer(shop: Shop, admin: Any, text: str, message: str) -> None:
    answer = await assert_refused(admin, shop.create_raw(with_raw("amount", text)), 422, INVALID, field="amount")
    assert message in answer.json()["message"]


async def test_every_problem_is_told_at_once(shop: Shop, admin: Any) -> None:
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
        pytest.param({"currency": "KES", "paymentMethods": ["card"]}, "paymentMethods[0]", id="C66 KES by card"),
        pytest.param(
            {"currency": "ZAR", "paymentMethods": ["card", "mobile_money"]},
            "paymentMethods[1]",
            id="C66 ZAR by mobile money",
        ),
        pytest.param({"currency": "UGX", "paymentMethods": ["payAttitude"]}, "paymentMethods[0]", id="C66 UGX by USSD"),
        pytest.param(
            {"currency": "ZMW", "paymentMethods": ["bank_transfer"]}, "paymentMethods[0]", id="C66 ZMW by transfer"
        ),
        pytest.param(
            {"currency": "NGN", "paymentMethods": ["mobile_money"]}, "paymentMethods[0]", id="C66 NGN by mobile money"
        ),
        pytest.param({"currency": "GHS", "paymentMethods": ["CARD"]}, "paymentMethods[0]", id="C66 GHS by CARD"),
        pytest.param(
            {"currency": "KES", "defaultPaymentMethod": "card"}, "defaultPaymentMethod", id="C69 default off the matrix"
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
        pytest.param(with_metadata({"note": "4111111111111111"}), "metadata.note", id="C60 bare"),
        pytest.param(with_metadata({"note": "4111 1111 1111 1111"}), "metadata.note", id="C60 with spaces"),
        pytest.param(with_metadata({"note": "5366-1398-3386-4633"}), "metadata.note", id="C60 with dashes"),
        pytest.param(with_metadata({"note": "4111  1111 - 1111  1111"}), "metadata.note", id="C60 with wide gaps"),
        pytest.param(
            with_metadata({"note": "4111\u20131111\u20131111\u20131111"}), "metadata.note", id="C60 with en dashes"
        ),
        pytest.param(
            with_metadata({"note": "4111\u00a01111\u202f1111\u20091111"}), "metadata.note", id="C60 with other spaces"
        ),
        pytest.param(
            with_metadata({"note": "4111\u200b1111\u200b1111\u200b1111"}),
            "metadata.note",
            id="C60 with zero-width spaces",
        ),
        pytest.param(with_metadata({"note": "４１１１１１１１１１１１１１１１"}), "metadata.note", id="C60 full width"),
        pytest.param(with_metadata({"note": "٤١١١١١١١١١١١١١١١"}), "metadata.note", id="C60 Arabic digits"),
        pytest.param(with_metadata({"note": "charge 5319317801366660, please"}), "metadata.note", id="C60 inside text"),
        pytest.param(with_metadata({"note": "card:4111111111111111;cvv"}), "metadata.note", id="C60 next to signs"),
        pytest.param(with_metadata({"note": "4222222222222"}), "metadata.note", id="C60 13 digits"),
        pytest.param(with_metadata({"note": "378282246310005"}), "metadata.note", id="C60 15 digits"),
        pytest.param(with_metadata({"note": "6304000000000000000"}), "metadata.note", id="C60 19 digits"),
        pytest.param(with_metadata({"4111111111111111": 1}), "metadata", id="C60 as a key"),
        pytest.param(
            with_metadata({"4111111111111111": "4111111111111111"}), "metadata", id="C60 as a key and its value"
        ),
        pytest.param(with_metadata({"n": 4111111111111111}), "metadata.n", id="C60 as a number"),
        pytest.param(with_metadata({"n": 5061460410120223210}), "metadata.n", id="C60 as a number of 19 digits"),
        pytest.param(with_metadata({"n": -4111111111111111}), "metadata.n", id="C60 as a negative number"),
        pytest.param(with_metadata({"a": [{"b": ["x", "4111111111111111"]}]}), "metadata.a[0].b[1]", id="C60 nested"),
        pytest.param(named("4111 1111 1111 1111"), "customer.name", id="C60 in the name"),
        pytest.param(mailed("4111111111111111@example.com"), "customer.email", id="C60 in the e-mail"),
        pytest.param({"successMessage": "Paid with 4111111111111111"}, "successMessage", id="C60 in successMessage"),
        pytest.param(back_to("https://a.com/?card=4111111111111111"), "redirectUrl", id="C60 in redirectUrl"),
        pytest.param({"card": {"number": "4111111111111111"}}, "card.number", id="C60 in an unknown field"),
        pytest.param(
            {"customer": '{"name":"4111111111111111","email":"a@b.co"}'}, "customer.name", id="C60 in a customer string"
        ),
    ],
)
async def test_a_card_number_is_refused_wherever_it_stands(
    shop: Shop, admin: Any, changes: dict[str, Any], field: str
) -> None:
    await assert_refused(admin, shop.create(order(**changes)), 422, CARD, field=field)


@pytest.mark.parametrize("text", ["4.111111111111111e15", "4111111111111111.0", "4111111111111111e0"])
async def test_a_card_number_is_recognised_in_any_notation_of_a_number_C60(shop: Shop, admin: Any, text: str) -> None:
    sending = shop.create_raw(with_raw("metadata", f'{{"n":{text}}}'))
    await assert_refused(admin, sending, 422, CARD, field="metadata.n")


@pytest.mark.parametrize("path", ["/checkout/payments", "/checkout/data/fees"])
@pytest.mark.parametrize("amount", [100_000_001, 249_999_999, 250_000_001, 10**40])
async def test_there_is_one_largest_amount_of_a_currency(shop: Shop, path: str, amount: int) -> None:
    body = order(amount=amount, currency="NGN", type="card")
    answer = await shop.client.post(path, json=body, headers={**shop.create_headers})
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"] == [{"field": "amount", "message": "must be at most 100000000 in NGN"}]


async def test_a_card_number_among_other_problems_is_still_not_repeated_C60(shop: Shop, admin: Any) -> None:
    body = order(amount=0, metadata={"4111111111111111": "\0", "note": "x" * 501 + "4111111111111111"})
    await assert_refused(admin, shop.create_raw(as_json(body)), 422, INVALID, field="metadata.••••••••••••••••")


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("https://evil.com/", id="C55 another host"),
        pytest.param("https://shop.example.com.evil.com/", id="C55 a host that begins like it"),
        pytest.param("https://evilshop.example.com/", id="C55 a host that ends like it"),
        pytest.param("https://sub.shop.example.com/", id="C55 a host below it"),
        pytest.param("https://evil.com/?shop.example.com", id="C55 the right host in the query"),
        pytest.param("https://evil.com#shop.example.com", id="C55 the right host in the fragment"),
        pytest.param("https://[::1]/", id="C55 an address"),
    ],
)
async def test_a_redirect_leads_to_a_host_on_the_list(new_shop: MakeShop, admin: Any, url: str) -> None:
    shop = await new_shop(redirect_hosts=["shop.example.com"])
    sending = shop.create(order(redirectUrl=url))
    await assert_refused(admin, sending, 422, "REDIRECT_HOST_NOT_ALLOWED", field="redirectUrl")
    assert (await shop.create(order(redirectUrl="https://Shop.Example.com:8443/thanks"))).status_code == 201


# References that are taken.


async def test_the_same_order_again_gives_the_existing_link_C43(shop: Shop, admin: Any) -> None:
    body = order(metadata={"cart": 1})
    first = (await shop.create(body)).json()["data"]
    again = await assert_refused(admin, shop.create(body), 409, "DUPLICATE_REFERENCE")
    assert again.json()["data"] == first


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"amount": 101}, id="C44 another amount"),
        pytest.param({"currency": "GHS"}, id="C44 another currency"),
        pytest.param({"feeBearer": "customer"}, id="C44 another fee bearer"),
        pytest.param({"customer": {"name": "Eve", "email": "ada@example.com"}}, id="C44 another customer"),
        pytest.param({"metadata": {"a": 1}}, id="C44 other metadata"),
        pytest.param({"redirectUrl": "https://a.com"}, id="C44 another redirect"),
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


async def test_every_wrong_secret_key_gets_the_same_answer_C71(shop: Shop, admin: Any, db: Database) -> None:
    now = SystemClock().now()
    revoked = await merchants.roll_secret_key(db, shop.business_id, mode=Mode.SANDBOX, overlap=timedelta(0), now=now)
    keys = await merchants.keys_of(db, shop.business_id)
    await merchants.revoke_key(db, shop.business_id, keys[-1].id, now=now)
    bad_checksum = shop.secret_key[:-1] + ("A" if shop.secret_key[-1] != "A" else "B")
    told = await refuse_keys(
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
    told.add(without_request_id(await assert_refused(admin, missing, 401, "UNAUTHENTICATED")))
    assert len(told) == 1


async def test_a_public_key_is_the_business_own_C72(shop: Shop, new_shop: MakeShop, admin: Any) -> None:
    other = await new_shop()
    told = set()
    for key in (other.public_key, ids.new_public_key(Mode.LIVE), ids.new_public_key(Mode.SANDBOX), "", shop.secret_key):
        sending = shop.create(headers={"x-pub-key": key})
        told.add(without_request_id(await assert_refused(admin, sending, 401, "UNAUTHENTICATED")))
    missing = shop.client.post(PATH, json=order(), headers={"api-key": shop.secret_key})
    told.add(without_request_id(await assert_refused(admin, missing, 401, "UNAUTHENTICATED")))
    assert len(told) == 1


async def test_a_key_given_twice_is_no_key_C73(shop: Shop, admin: Any, base_url: str) -> None:
    body = as_json(order())
    for name in ("api-key", "x-pub-key"):
        again = f"{name}: {shop.create_headers[name]}".encode()
        sending = ask(base_url, head(shop, again, length=len(body)) + body)
        await assert_refused(admin, sending, 401, "UNAUTHENTICATED")


async def test_a_key_is_read_as_it_stands_C73(shop: Shop, admin: Any) -> None:
    key = shop.secret_key
    for written in (f"{key[:20]} {key[20:]}", f"{key},{key}", f'"{key}"', f"Bearer {key}"):
        sending = shop.create(headers={"api-key": written})
        await assert_refused(admin, sending, 401, "UNAUTHENTICATED")


async def test_a_key_is_read_from_its_header_only_C73(shop: Shop, admin: Any) -> None:
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


async def test_a_suspended_business_is_turned_away_C79(new_shop: MakeShop, admin: Any) -> None:
    shop = await new_shop(status="suspended")
    await assert_refused(admin, shop.create(), 403, "ACCESS_DENIED")


# The request as such.


async def test_the_answer_is_json_whatever_is_accepted_C75(shop: Shop, admin: Any) -> None:
    sending = shop.create(order(amount=0), headers={"accept": "text/html"})
    await assert_refused(admin, sending, 422, INVALID, field="amount")


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
async def test_only_post_creates_C76(shop: Shop, admin: Any, method: str) -> None:
    sending = shop.client.request(method, PATH, headers=shop.create_headers)
    answer = await assert_refused(admin, sending, 405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == "POST"


async def test_head_is_refused_without_a_body_C76(shop: Shop) -> None:
    answer = await shop.client.head(PATH, headers=shop.create_headers)
    assert (answer.status_code, answer.headers["allow"], answer.content) == (405, "POST", b"")


@pytest.mark.parametrize("method", ["DELETE", "POST"])
async def test_every_route_refuses_in_the_same_words_C76(
    client: httpx.AsyncClient, admin: Any, db: Database, method: str
) -> None:
    answer = await assert_refused(admin, client.request(method, "/healthz"), 405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == "GET, HEAD"


# Idempotency-Key.


async def test_the_same_key_and_body_replay_the_first_answer_C77(shop: Shop, admin: Any) -> None:
    body = order(reference=...)
    first = await shop.create(body, {"idempotency-key": "k-1"})
    again = await shop.create(body, {"idempotency-key": "k-1"})
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert await rows_in(admin) == (1, 1)


async def test_a_key_used_with_another_body_is_refused_C77(shop: Shop, admin: Any) -> None:
    headers = {"idempotency-key": "k-1"}
    assert (await shop.create(order(reference=...), headers)).status_code == 201
    sending = shop.create(order(reference=..., amount=101), headers)
    await assert_refused(admin, sending, 422, INVALID, field="Idempotency-Key")


async def test_a_key_whose_first_request_still_runs_is_asked_to_wait_C77(shop: Shop, admin: Any) -> None:
    async with admin.transaction():
        assert await idempotency.lock(admin, shop.business_id, "k-1")
        sending = shop.create(order(), {"idempotency-key": "k-1"})
        answer = await assert_refused(admin, sending, 409, "CONFLICT")
        assert answer.headers["retry-after"] == "1"
    assert (await shop.create(order(), {"idempotency-key": "k-1"})).status_code == 201


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param([b""], id="C77 empty"),
        pytest.param([b"k" * 256], id="C77 256 characters"),
        pytest.param([b"a b"], id="C77 a space"),
        pytest.param([b"a\tb"], id="C77 a tab"),
        pytest.param([b"k\xe9"], id="C77 not ASCII"),
        pytest.param([b"a", b"b"], id="C77 two keys"),
        pytest.param([b"a", b"a"], id="C77 one key twice"),
    ],
)
async def test_a_key_has_a_form(shop: Shop, admin: Any, base_url: str, keys: list[bytes]) -> None:
    body = as_json(order())
    given = [b"idempotency-key: " + key for key in keys]
    sending = ask(base_url, head(shop, *given, length=len(body)) + body)
    await assert_refused(admin, sending, 422, INVALID, field="Idempotency-Key")


async def test_a_refused_first_request_keeps_nothing_under_its_key_C77(shop: Shop, admin: Any) -> None:
    headers = {"idempotency-key": "k-1"}
    taken = order()
    assert (await shop.create(taken)).status_code == 201
    await assert_refused(admin, shop.create(order(amount=0), headers), 422, INVALID, field="amount")
    await assert_refused(admin, shop.create(taken, headers), 409, "DUPLICATE_REFERENCE")
    assert (await shop.create(order(), headers)).status_code == 201


async def test_a_key_belongs_to_one_business_C77(shop: Shop, new_shop: MakeShop, admin: Any) -> None:
    headers = {"idempotency-key": "k-1"}
    body = order()
    mine, theirs = await shop.create(body, headers), await (await new_shop()).create(body, headers)
    assert mine.json()["data"]["payCode"] != theirs.json()["data"]["payCode"]
    assert await rows_in(admin) == (2, 2)


# Haste.


async def test_requests_beyond_the_burst_are_told_to_wait_C78(
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


async def test_one_business_in_haste_does_not_slow_another_C78(new_shop: MakeShop, shop: Shop) -> None:
    hasty = await new_shop(rate_per_second=1, rate_burst=1)
    await asyncio.gather(*(hasty.create() for _ in range(5)))
    assert (await shop.create()).status_code == 201
