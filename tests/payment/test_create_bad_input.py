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

from build import Shop, order, roll_secret_key
from conftest import MakeShop
from payment.raw_http import ask, head
from payment.refusal import Refusal, assert_each_refused, assert_refused, assert_says_no, rows_in, without_request_id
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


def given(field: str, value: Any) -> dict[str, Any]:
    """The change of an order that gives a field, also one of the customer, this value."""
    whole, _, part = field.partition(".")
    if not part:
        return {whole: value}
    fields = {"name": "Ada Obi", "email": "ada@example.com", part: value}
    return {whole: {name: one for name, one in fields.items() if one is not ...}}


def with_metadata(value: Any) -> dict[str, Any]:
    return {"metadata": value}


# Bodies that are not what JSON should be.


MALFORMED_BODIES: dict[str, tuple[bytes, Refusal]] = {
    "empty body": (b"", MALFORMED),
    "nothing but space": (b"  \n", MALFORMED),
    "one brace": (b"{", MALFORMED),
    "cut mid-way": (as_json(order())[:-9], MALFORMED),
    "one brace too many": (as_json(order()) + b"}", MALFORMED),
    "two objects": (as_json(order()) * 2, MALFORMED),
    "single quotes": (b"{'amount':100}", MALFORMED),
    "trailing comma": (b'{"amount":100,}', MALFORMED),
    "comment": (b'{"amount":100} // x', MALFORMED),
    "a form": (b"amount=100&currency=NGN", MALFORMED),
    "array": (b"[]", wrong("body")),
    "string": (b'"x"', wrong("body")),
    "number": (b"1", wrong("body")),
    "null": (b"null", wrong("body")),
    "true": (b"true", wrong("body")),
    "empty object": (b"{}", wrong("amount")),
    "UTF-16 said to be UTF-8": (as_json(order()).decode().encode("utf-16"), MALFORMED),
    "byte 0xff in a name": (as_json(order()).replace(b"Ada", b"A\xffa"), MALFORMED),
    "surrogate as bytes": (as_json(order()).replace(b"Ada", b"\xed\xa0\x80"), MALFORMED),
    "overlong NUL": (as_json(order()).replace(b"Ada", b"A\xc0\x80"), MALFORMED),
    "bare control character": (as_json(order()).replace(b"Ada", b"A\x00a"), MALFORMED),
    "leading byte order mark": (b"\xef\xbb\xbf" + as_json(order()), MALFORMED),
    "amount given twice": (b'{"amount":100,' + as_json(order())[1:], MALFORMED),
    "name given twice": (with_raw("customer", '{"name":"A","email":"a@b.co","name":"B"}'), MALFORMED),
    "the same key in two spellings": (with_raw("metadata", '{"a":{"b":1,"\\u0062":2}}'), MALFORMED),
    "a card number twice as a key": (with_raw("metadata", '{"4111111111111111":1,"4111111111111111":2}'), MALFORMED),
    "NaN": (with_raw("amount", "NaN"), MALFORMED),
    "Infinity": (with_raw("amount", "Infinity"), MALFORMED),
    "-Infinity": (with_raw("amount", "-Infinity"), MALFORMED),
    "1e400": (with_raw("amount", "1e400"), wrong("amount")),
    "1e999999999": (with_raw("amount", "1e999999999"), wrong("amount")),
    "an absurd exponent": (with_raw("amount", "1e" + "9" * 30), wrong("amount")),
    "1e999999999 elsewhere": (with_raw("metadata", '{"n":1e999999999}'), wrong("metadata.n")),
    "NaN elsewhere": (with_raw("metadata", '{"n":NaN}'), MALFORMED),
    "as many nested arrays as a body can hold": (with_raw("metadata", "[" * 30_000 + "]" * 30_000), MALFORMED),
    "100,000 nested arrays": (with_raw("metadata", "[" * 100_000), TOO_LARGE),
    "one level too deep": (with_raw("metadata", '{"a":' * 8 + "1" + "}" * 8), MALFORMED),
    "a string of quotes that never ends": (b'{"a":[[],[],[],[],[],[],[],[],"' + b'\\"' * 32_000, MALFORMED),
    "a byte more than 64 kB": (as_json(order()).ljust(BODY_BYTES_MAX + 1), TOO_LARGE),
    "reference of 1 MB": (as_json(order(reference="r" * 1_000_000)), TOO_LARGE),
    "amount is nothing at all": (with_raw("amount", ""), MALFORMED),
    "amount 1_000": (with_raw("amount", "1_000"), MALFORMED),
    "amount with a leading zero": (with_raw("amount", "0100"), MALFORMED),
    "amount with a plus": (with_raw("amount", "+100"), MALFORMED),
    "amount in hexadecimal": (with_raw("amount", "0x64"), MALFORMED),
}  # fmt: skip


async def test_a_malformed_body_is_refused(shop: Shop, admin: Any) -> None:
    rows = ((name, shop.create_raw(body), refusal) for name, (body, refusal) in MALFORMED_BODIES.items())
    await assert_each_refused(admin, rows)


OTHER_MEDIA: dict[str, tuple[dict[str, str], bytes]] = {
    "text/plain": ({"content-type": "text/plain"}, as_json(order())),
    "empty": ({"content-type": ""}, as_json(order())),
    "form": ({"content-type": "application/x-www-form-urlencoded"}, b"amount=1"),
    "multipart": ({"content-type": "multipart/form-data; boundary=x"}, b"--x--"),
    "a longer name": ({"content-type": "application/jsonp"}, as_json(order())),
    "text/json": ({"content-type": "text/json"}, as_json(order())),
    "UTF-16": ({"content-type": "application/json; charset=utf-16"}, as_json(order()).decode().encode("utf-16")),
    "Latin-1": ({"content-type": "application/json; charset=latin-1"}, as_json(order())),
    "UTF-7": ({"content-type": "application/json; charset=utf-7"}, as_json(order())),
    "gzip bomb": ({"content-encoding": "gzip"}, gzip.compress(b" " * 10_000_000)),
    "honest gzip": ({"content-encoding": "gzip"}, gzip.compress(as_json(order()))),
    "two codings": ({"content-encoding": "gzip, identity"}, as_json(order())),
    "brotli": ({"content-encoding": "br"}, as_json(order())),
}  # fmt: skip


async def test_only_plain_json_is_read(shop: Shop, admin: Any) -> None:
    refusal = (415, "UNSUPPORTED_MEDIA_TYPE", None)
    rows = ((name, shop.create_raw(body, headers), refusal) for name, (headers, body) in OTHER_MEDIA.items())
    await assert_each_refused(admin, rows)


async def test_a_body_without_a_type_is_refused(shop: Shop, admin: Any) -> None:
    sending = shop.client.post(PATH, content=as_json(order()), headers=shop.create_headers)
    await assert_refused(admin, sending, 415, "UNSUPPORTED_MEDIA_TYPE")


# Fields.


# What is wrong with each field, and its value; `...` leaves the field out.
BAD_FIELDS: dict[str, dict[str, Any]] = {
    "amount": {
        "missing": ..., "0": 0, "-1": -1, "below any integer": -(2**63) - 1, "as a string": "100",
        "as a string with spaces": " 100 ", "as Python writes it": "1_000", "as an empty string": "", "true": True,
        "null": None, "as an array": [], "in an array": [100], "as an object": {}, "100.5": 100.5,
        "2^53 + 1": 2**53 + 1, "2^63": 2**63, "2^64": 2**64, "of 26 digits": 10**25, "too much in NGN": 100_000_001,
    },
    "currency": {
        "missing": ..., "empty": "", "null": None, "1": 1, "in an array": ["NGN"], "in lower case": "ngn",
        "with a space": "NGN ", "XXX": "XXX", "by its sign": "₦", "with U+0000": "NGN\0", "in full width": "ＮＧＮ",
        "TZS": "TZS", "USD": "USD", "EUR": "EUR",
    },
    "customer": {
        "missing": ..., "null": None, "as an array": [], "as a number": 7, "as a plain string": "Ada",
        "as an empty string": "", "as an array in a string": "[]", "as a string in a string": '"Ada"',
        "cut in a string": '{"name":"Ada"', "a key twice in the string": '{"name":"A","name":"B","email":"a@b.co"}',
        "U+0000 within the string": '{"name":"A\\u0000","email":"a@b.co"}',
        "nested arrays in the string": "[" * 50_000,
    },
    "customer.name": {
        "empty": "", "of spaces": "   ", "a letter too long": "a" * 201, "of 10,000 letters": "a" * 10_000,
        "of zero width": "\u200b\u200c\u200d\u2060\ufeff", "of wide spaces": "\u00a0\u2003\u3000",
        "of blank letters": "\u3164\u115f\u2800", "of bidi controls": "\u202e\u2066", "missing": ..., "null": None,
        "as a number": 7, "with a line break": "Ada\r\nBcc: x@y.z", "with a line separator": "Ada\u2028Obi",
        "with an escape sequence": "Ada\x1b[31m", "with U+0000": "Ada\0", "with a lone surrogate": "Ada\ud800",
        "a flood of marks": "Z" + "\u0301" * 150, "one mark too many": "a" + "\u0489" * 9,
    },
    "customer.email": {
        "missing": ..., "null": None, "as a number": 7, "empty": "", "a": "a", "a@": "a@", "@b.co": "@b.co",
        "a@b": "a@b", "with two at signs": "a@@b.co", "with a space": "a b@c.co", "after a space": " a@b.co",
        "with two dots": "a..b@c.co", "at -b.co": "a@-b.co", "at b..co": "a@b..co", "at an address": "a@[127.0.0.1]",
        "with a display name": "Ada <a@b.co>", "of 300 characters": "a" * 290 + "@example.co",
        "a little too long": "a" * 255 + "@b.co", "with a header in it": "a@b.co\r\nBcc: x@y.z",
        "before a line feed": "a@b.co\n", "two e-mails": "a@b.co,c@d.co",
        "two e-mails with a semicolon": "a@b.co;c@d.co", "with markup": '"><script>@x.co',
        "with quoted markup": '"<script>"@x.co',
    },
    "customer.phoneNumber": {
        "of letters": "abc", "of 40 digits": "1" * 40, "of 16 digits": "1" * 16, "+": "+",
        "as a number": 2348012345678, "with a line feed": "+234\n8012345678", "in other digits": "٠٨٠١٢٣٤٥٦٧٨",
        "of dashes": "--------",
    },
    "feeBearer": {
        "merchant": "merchant", "Business": "Business", "empty": "", "1": 1, "null": None,
    },
    "reference": {
        "empty": "", "a character too long": "r" * 101, "of 256 characters": "r" * 256, "after a space": " ORD",
        "before a space": "ORD ", "with a space": "OR D", "with a tab": "OR\tD", "with CR LF": "ORD\r\n",
        "with a line feed": "ORD\n", "with U+0000": "ORD\0", "with a lone surrogate": "ORD\ud800",
        "../../x": "../../x", "a/b": "a/b", "with a backslash": "a\\b", "a?b": "a?b", "a#b": "a#b",
        "%2e%2e": "%2e%2e", "a;b": "a;b", "a&b": "a&b", "with SQL": "' OR '1'='1", "in NFC": "caf\u00e9",
        "in NFD": "cafe\u0301", "in full width": "ＯＲＤ", "with another script's digit": "ORD-١",
        "shaped like a pay code": PAY_CODE, "as a number": 123, "as an array": ["ORD"], "as an object": {"a": 1},
        "true": True,
    },
    "redirectUrl": {
        "javascript:": "javascript:alert(1)", "javascript: that looks like a URL": "JavaScript://a.com/%0aalert(1)",
        "data:": "data:text/html,x", "ftp:": "ftp://x", "file:": "file:///etc/passwd", "no scheme": "//evil.com",
        "a path": "/path", "a bare host": "evil.com", "empty": "", "no host": "https://",
        "three slashes": "https:///evil.com", "no slashes": "https:evil.com", "a number": 7,
        "an array": ["https://a.com"], "backslash before @": "https://a.com\\@evil.com",
        "slash and backslash": "https:/\\evil.com", "backslashes": "https:\\\\evil.com",
        "backslash in the path": "https://a.com/\\evil", "leading tab": "\thttps://a.com",
        "leading space": " https://a.com", "trailing newline": "https://a.com\n",
        "embedded CR LF": "https://a.com/\r\nSet-Cookie: a=b", "newline in the scheme": "ht\ntps://a.com",
        "U+0000": "https://a.com/\0", "delete character": "https://a.com/\x7f",
        "line separator": "https://a.com/\u2028", "full-width slash": "https://evil.com／.a.com",
        "full-width @": "https://a.com＠evil.com", "user and password": "https://user:pass@a.com",
        "user": "https://user@a.com", "empty user": "https://@a.com",
        "user that looks like a host": "https://a.com:80@evil.com",
        "2,049 characters": "https://a.com/" + "p" * 2_035, "port 99999": "https://a.com:99999",
        "port 99999 after zeros": "https://a.com:0000099999", "port 0": "https://a.com:0",
        "port -1": "https://a.com:-1", "no port after the colon": "https://a.com:",
        "two ports": "https://a.com:80:80", "port in full width": "https://a.com:８０", "two dots": "https://a..b.com",
        "leading dot": "https://.a.com", "leading hyphen": "https://-a.com", "underscore": "https://a_b.com",
        "label of 64 letters": f"https://{'a' * 64}.com", "host of 263 letters": f"https://{'a.' * 130}com",
        "percent sign in the host": "https://a.com%2eevil.com", "bracket left open": "https://[::1",
        "no colon after the bracket": "https://[::1]80", "not an IPv6 address": "https://[::g]",
        "address with a zone": "https://[fe80::1%25eth0]", "path that is not percent-encoded": "https://a.com/ä",
    },
    "metadata": {
        "as an array": [], "as a string": "{}", "as a number": 1, "false": False,
        "51 keys": {f"k{n}": n for n in range(51)}, "key of 41 characters": {"k" * 41: 1},
        "inner key of 41 characters": {"a": {"k" * 41: 1}}, "value of 501 characters": {"a": "v" * 501},
        "inner value of 501 characters": {"a": [{"b": "v" * 501}]},
        "more than 16 kB": {f"k{n}": "v" * 400 for n in range(45)},
        "more than 16 kB as UTF-8": {"a": ["é" * 300] * 30}, "key with U+0000": {"a\0": 1},
        "key with half an emoji": {"\ud83d": 1},
    },
    "successMessage": {
        "of 5,001 characters": "x" * 5_001, "as a number": 7, "with U+0000": "\0",
    },
    "settlementDestination": {
        "bank": "bank", "Wallet": "Wallet", "empty": "", "a number": 1,
    },
    "paymentMethods": {
        "no method": [], "a string": "card", "an object": {"card": True}, "1,000 entries": ["card"] * 1_000,
    },
    "defaultPaymentMethod": {
        "that does not exist": "cash", "empty": "", "as an array": ["card"],
    },
}  # fmt: skip
# The field that is named is not the one that was changed, or more than one was.
BAD_TOGETHER: dict[str, tuple[dict[str, Any], str]] = {
    "too much in GHS": ({"amount": 1_000_001, "currency": "GHS"}, "amount"),
    "too much in KES": ({"amount": 10_000_001, "currency": "KES"}, "amount"),
    "too much in UGX": ({"amount": 250_000_001, "currency": "UGX"}, "amount"),
    "too much in ZAR": ({"amount": 1_000_001, "currency": "ZAR"}, "amount"),
    "too much in ZMW": ({"amount": 2_000_001, "currency": "ZMW"}, "amount"),
    "customer empty": ({"customer": {}}, "customer.name"),
    "customer without e-mail in a string": ({"customer": '{"name":"Ada"}'}, "customer.email"),
    "metadata: value with U+0000": (with_metadata({"note": "a\0"}), "metadata.note"),
    "metadata: value with a lone surrogate": (with_metadata({"note": "\udc00"}), "metadata.note"),
    "metadata: inner value with U+0000": (with_metadata({"a": [1, {"b": "\0"}]}), "metadata.a[1].b"),
    "paymentMethods: an empty name": ({"paymentMethods": [""]}, "paymentMethods[0]"),
    "paymentMethods: null in the list": ({"paymentMethods": [None]}, "paymentMethods[0]"),
    "paymentMethods: a list in the list": ({"paymentMethods": [["card"]]}, "paymentMethods[0]"),
    "paymentMethods: cash": ({"paymentMethods": ["card", "cash"]}, "paymentMethods[1]"),
    "paymentMethods: a name with a space": ({"paymentMethods": ["card "]}, "paymentMethods[0]"),
    "paymentMethods: our inner name of USSD": ({"paymentMethods": ["ussd"]}, "paymentMethods[0]"),
    "default that is not offered": (
        {"paymentMethods": ["card"], "defaultPaymentMethod": "bank_transfer"}, "defaultPaymentMethod",
    ),
}  # fmt: skip


async def test_a_field_that_breaks_a_rule_is_named(shop: Shop, admin: Any) -> None:
    rows = {
        f"{field}: {what}": (given(field, value), field)
        for field, values in BAD_FIELDS.items()
        for what, value in values.items()
    }
    await assert_each_refused(
        admin,
        (
            (name, shop.create_raw(as_json(order(**changes))), wrong(field))
            for name, (changes, field) in (rows | BAD_TOGETHER).items()
        ),
    )


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


NOT_IN_THE_MATRIX: dict[str, tuple[dict[str, Any], str]] = {
    "KES by card": ({"currency": "KES", "paymentMethods": ["card"]}, "paymentMethods[0]"),
    "ZAR by mobile money": ({"currency": "ZAR", "paymentMethods": ["card", "mobile_money"]}, "paymentMethods[1]"),
    "UGX by USSD": ({"currency": "UGX", "paymentMethods": ["payAttitude"]}, "paymentMethods[0]"),
    "ZMW by transfer": ({"currency": "ZMW", "paymentMethods": ["bank_transfer"]}, "paymentMethods[0]"),
    "NGN by mobile money": ({"currency": "NGN", "paymentMethods": ["mobile_money"]}, "paymentMethods[0]"),
    "GHS by CARD": ({"currency": "GHS", "paymentMethods": ["CARD"]}, "paymentMethods[0]"),
    "default off the matrix": ({"currency": "KES", "defaultPaymentMethod": "card"}, "defaultPaymentMethod"),
}  # fmt: skip


async def test_a_method_that_the_currency_does_not_offer_is_refused_by_name(shop: Shop, admin: Any) -> None:
    rows = (
        (name, shop.create(order(**changes)), (422, NOT_OFFERED, field))
        for name, (changes, field) in NOT_IN_THE_MATRIX.items()
    )
    await assert_each_refused(admin, rows)


CARD_NUMBERS: dict[str, tuple[dict[str, Any], str]] = {
    "bare": (with_metadata({"note": "4111111111111111"}), "metadata.note"),
    "with spaces": (with_metadata({"note": "4111 1111 1111 1111"}), "metadata.note"),
    "with dashes": (with_metadata({"note": "5366-1398-3386-4633"}), "metadata.note"),
    "with wide gaps": (with_metadata({"note": "4111  1111 - 1111  1111"}), "metadata.note"),
    "with en dashes": (with_metadata({"note": "4111\u20131111\u20131111\u20131111"}), "metadata.note"),
    "with other spaces": (with_metadata({"note": "4111\u00a01111\u202f1111\u20091111"}), "metadata.note"),
    "with zero-width spaces": (with_metadata({"note": "4111\u200b1111\u200b1111\u200b1111"}), "metadata.note"),
    "full width": (with_metadata({"note": "４１１１１１１１１１１１１１１１"}), "metadata.note"),
    "Arabic digits": (with_metadata({"note": "٤١١١١١١١١١١١١١١١"}), "metadata.note"),
    "inside text": (with_metadata({"note": "charge 5319317801366660, please"}), "metadata.note"),
    "next to signs": (with_metadata({"note": "card:4111111111111111;cvv"}), "metadata.note"),
    "13 digits": (with_metadata({"note": "4222222222222"}), "metadata.note"),
    "15 digits": (with_metadata({"note": "378282246310005"}), "metadata.note"),
    "19 digits": (with_metadata({"note": "6304000000000000000"}), "metadata.note"),
    "as a key": (with_metadata({"4111111111111111": 1}), "metadata"),
    "as a key and its value": (with_metadata({"4111111111111111": "4111111111111111"}), "metadata"),
    "as a number": (with_metadata({"n": 4111111111111111}), "metadata.n"),
    "as a number of 19 digits": (with_metadata({"n": 5061460410120223210}), "metadata.n"),
    "as a negative number": (with_metadata({"n": -4111111111111111}), "metadata.n"),
    "nested": (with_metadata({"a": [{"b": ["x", "4111111111111111"]}]}), "metadata.a[0].b[1]"),
    "in the name": (given("customer.name", "4111 1111 1111 1111"), "customer.name"),
    "in the e-mail": (given("customer.email", "4111111111111111@example.com"), "customer.email"),
    "in successMessage": ({"successMessage": "Paid with 4111111111111111"}, "successMessage"),
    "in redirectUrl": (given("redirectUrl", "https://a.com/?card=4111111111111111"), "redirectUrl"),
    "in an unknown field": ({"card": {"number": "4111111111111111"}}, "card.number"),
    "in a customer string": ({"customer": '{"name":"4111111111111111","email":"a@b.co"}'}, "customer.name"),
}  # fmt: skip


async def test_a_card_number_is_refused_wherever_it_stands(shop: Shop, admin: Any) -> None:
    rows = (
        (name, shop.create(order(**changes)), (422, CARD, field)) for name, (changes, field) in CARD_NUMBERS.items()
    )
    await assert_each_refused(admin, rows)


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


OTHER_HOSTS: dict[str, str] = {
    "another host": "https://evil.com/", "a host that begins like it": "https://shop.example.com.evil.com/",
    "a host that ends like it": "https://evilshop.example.com/", "a host below it": "https://sub.shop.example.com/",
    "the right host in the query": "https://evil.com/?shop.example.com",
    "the right host in the fragment": "https://evil.com#shop.example.com", "an address": "https://[::1]/",
}  # fmt: skip


async def test_a_redirect_leads_to_a_host_on_the_list(new_shop: MakeShop, admin: Any) -> None:
    shop = await new_shop(redirect_hosts=["shop.example.com"])
    refusal = (422, "REDIRECT_HOST_NOT_ALLOWED", "redirectUrl")
    rows = ((name, shop.create(order(redirectUrl=url)), refusal) for name, url in OTHER_HOSTS.items())
    await assert_each_refused(admin, rows)
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
    revoked = await roll_secret_key(db, shop.business_id, overlap=timedelta(0), now=now)
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


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
async def test_only_post_creates_a_payment(shop: Shop, admin: Any, method: str) -> None:
    sending = shop.client.request(method, PATH, headers=shop.create_headers)
    answer = await assert_refused(admin, sending, 405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == "GET, HEAD, POST"


async def test_head_on_another_post_is_refused_without_a_body(shop: Shop) -> None:
    answer = await shop.client.head("/checkout/data/fees", headers=shop.create_headers)
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
