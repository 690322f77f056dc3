"""Creating a payment from odd input that is right: it is accepted, kept as it came, and changes nothing it must not."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from itertools import islice
from typing import Any

import pytest

from build import Shop, order
from conftest import MakeShop
from merchant_ids import merchant_ids
from payment.refusal import rows_in
from tidegate.core.method import MethodNames
from tidegate.core.money import CHECKOUT_OFFERS, Currency
from tidegate.infra.http.body import BODY_BYTES_MAX
from tidegate.infra.http.reply import API_VERSION
from tidegate.payment.redirect import with_reference


async def record_after(shop: Shop, body: dict[str, Any]) -> dict[str, Any]:
    """The record of the payment that this body creates."""
    created = await shop.create_raw(json.dumps(body).encode())
    assert created.status_code == 201, created.text
    found = await shop.verify(created.json()["data"]["reference"])
    assert found.status_code == 200, found.text
    return found.json(parse_float=Decimal)["data"]  # type: ignore[no-any-return]


def customer(**changes: Any) -> dict[str, Any]:
    return {"name": "Ada Obi", "email": "ada@example.com", **changes}


async def test_every_answer_carries_the_version_of_the_interface(shop: Shop) -> None:
    for answer in (await shop.create(order()), await shop.verify("nothing"), await shop.client.get("/healthz")):
        assert answer.headers["api-version"] == API_VERSION


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"', "application/json;"],
)
async def test_json_may_be_declared_in_several_ways(shop: Shop, content_type: str) -> None:
    answer = await shop.create_raw(json.dumps(order()).encode(), {"content-type": content_type})
    assert answer.status_code == 201


async def test_a_body_of_exactly_64_kB_is_read(shop: Shop) -> None:
    body = json.dumps(order()).encode().ljust(BODY_BYTES_MAX)
    assert (await shop.create_raw(body)).status_code == 201


async def test_eight_levels_of_nesting_are_accepted(shop: Shop) -> None:
    metadata = {"a": [[[[[[1]]]]]]}
    assert (await record_after(shop, order(metadata=metadata)))["metadata"] == metadata


async def test_brackets_in_text_are_no_nesting(shop: Shop) -> None:
    metadata = {"a": "[" * 400, "b": '\\"[{' * 100}
    assert (await record_after(shop, order(metadata=metadata)))["metadata"] == metadata


@pytest.mark.parametrize("currency", list(CHECKOUT_OFFERS))
@pytest.mark.parametrize("amount", [1, "most"])
async def test_the_smallest_and_the_largest_amount_are_accepted(
    shop: Shop, currency: Currency, amount: int | str
) -> None:
    asked = CHECKOUT_OFFERS[currency].max_major if amount == "most" else amount
    record = await record_after(shop, order(amount=asked, currency=currency.value))
    assert (record["amount"], record["currency"], record["amountExpected"]) == (asked, currency, asked)
    assert record["paymentMethods"] == MethodNames().in_records(currency.spec.methods)


async def test_a_customer_may_come_as_a_json_string(shop: Shop) -> None:
    record = await record_after(shop, order(customer=json.dumps(customer(phoneNumber="+2348012345678"))))
    assert record["customer"] == customer(phoneNumber="+2348012345678")


ODD_NAMES: dict[str, str] = {
    "markup": "<img src=x onerror=alert(1)>", "a script": "</script><script>alert(1)</script>",
    "a template": "{{7*7}}", "another template": "${7*7}", "a format": "%s%n{0}",
    "SQL": "Robert'); DROP TABLE payment;--", "Arabic": "أدا أوبي",
    "Igbo": "Adaézè Ọbị", "two marks on a letter": "O\u0323\u0301", "emoji": "👩🏾‍💻 Ada 🇳🇬", "Devanagari": "नमस्ते",
    "Chinese": "王小明", "a formula": '=HYPERLINK("http://x")', "another formula": "@SUM(1)", "a sum": "-1+1",
    "a backslash and four zeros, which is not U+0000": "\\u0000", "200 characters": "x" * 200, "one character": "X",
}  # fmt: skip


async def test_a_name_is_kept_as_it_came(shop: Shop) -> None:
    for what, name in ODD_NAMES.items():
        assert (await record_after(shop, order(customer=customer(name=name))))["customer"]["name"] == name, what


async def test_a_name_loses_its_marks_of_the_writing_direction(shop: Shop) -> None:
    """They come with a name that was pasted, and could make it read as another one."""
    for name, kept in (("\u202eAda Obi", "Ada Obi"), ("\u200fأدا أوبي\u200e", "أدا أوبي"), ("A\u2066d\u2069a", "Ada")):
        assert (await record_after(shop, order(customer=customer(name=name))))["customer"]["name"] == kept


@pytest.mark.parametrize(
    "email",
    [
        "a@b.co",
        "first.last+tag@sub.example.co.uk",
        "o'brien@example.com",
        "ada@localhost.test",
        "adaézè@example.com",
        "ada@bücher.example",
        "a" * 60 + "@" + "b" * 60 + "." + "c" * 60 + "." + "d" * 60 + ".com",
    ],
)
async def test_a_valid_email_is_accepted(shop: Shop, email: str) -> None:
    assert (await record_after(shop, order(customer=customer(email=email))))["customer"]["email"] == email


PHONES: dict[str, tuple[str | None, str]] = {
    "empty": ("", ""),
    "null": (None, ""),
    "international": ("+2348012345678", "+2348012345678"),
    "with spaces": ("0801 234 5678", "0801 234 5678"),
    "with signs": ("(080) 123-456.78", "(080) 123-456.78"),
    "15 digits, which is what a phone number may have": ("378282246310005", "378282246310005"),
}  # fmt: skip


async def test_a_phone_number_is_optional_and_kept_as_written(shop: Shop) -> None:
    for what, (phone, kept) in PHONES.items():
        record = await record_after(shop, order(customer=customer(phoneNumber=phone)))
        assert record["customer"]["phoneNumber"] == kept, what


async def test_the_business_bears_the_fee_by_default(shop: Shop) -> None:
    assert (await record_after(shop, order()))["feeBearer"] == "business"
    record = await record_after(shop, order(feeBearer="customer"))
    assert (record["feeBearer"], record["amountExpected"]) == ("customer", Decimal("101.51"))


async def test_a_payment_that_does_not_say_it_takes_the_fee_bearer_of_the_business(new_shop: MakeShop) -> None:
    shop = await new_shop(fee_bearer="customer")
    record = await record_after(shop, order())
    assert (record["feeBearer"], record["amountExpected"]) == ("customer", Decimal("101.51"))
    assert (await record_after(shop, order(feeBearer="business")))["feeBearer"] == "business"


@pytest.mark.parametrize("reference", ["r", "r" * 100, "A-b_c.d=e:f", "0", "tg_short", "null", "-1", "a..b", "=cmd"])
async def test_a_reference_of_the_right_characters_is_verifiable(shop: Shop, reference: str) -> None:
    assert (await record_after(shop, order(reference=reference)))["merchantReference"] == reference


async def test_references_differ_by_letter_case(shop: Shop) -> None:
    upper = await record_after(shop, order(reference="ORD-1", amount=1))
    lower = await record_after(shop, order(reference="ord-1", amount=2))
    assert upper["reference"] != lower["reference"]
    assert ((await shop.verify("ORD-1")).json()["data"]["amount"], lower["amount"]) == (1, 2)


async def test_each_business_has_its_own_references(shop: Shop, new_shop: MakeShop, admin: Any) -> None:
    other = await new_shop()
    mine = await record_after(shop, order(reference="ORD-1", amount=1))
    theirs = await record_after(other, order(reference="ORD-1", amount=2))
    assert mine["reference"] != theirs["reference"]
    assert ((await shop.verify("ORD-1")).json()["data"]["amount"], theirs["amount"]) == (1, 2)
    assert (await rows_in(admin))[0] == 2


REDIRECTS: dict[str, tuple[str, str | None]] = {
    "http in sandbox": ("http://localhost:3000/thanks", None),
    "this machine in sandbox": ("http://127.0.0.1/", None),
    "this machine by IPv6 in sandbox": ("https://[::1]:8443/", None),
    "a bare name in sandbox": ("https://intranet", None),
    "a homograph": ("https://аррӏе.com/x", "https://xn--80ak6aa92e.com/x"),
    "another alphabet": ("https://bücher.example/x", "https://xn--bcher-kva.example/x"),
    "punycode": ("https://xn--80ak6aa92e.com/x", None),
    "2,048 characters": ("https://a.com/" + "p" * 2_034, None),
    "the highest port": ("https://a.com:65535", None),
    "kept byte for byte": ("HTTPS://Shop.Example.COM/%7Eada?x=%20&y", None),
    "with a reference of its own": ("https://ok.com/p?reference=old&x=1#frag", None),
    "an @ that is not in the host": ("https://a.com/?next=https://user@b.com", None),
}  # fmt: skip


async def test_a_redirect_is_kept(shop: Shop) -> None:
    for what, (url, kept) in REDIRECTS.items():
        assert (await record_after(shop, order(redirectUrl=url)))["redirectUrl"] == (kept or url), what


def test_the_customer_comes_back_with_exactly_one_reference() -> None:
    url = "https://ok.com/p?reference=old&x=1#frag"
    assert with_reference(url, "ORD-1") == "https://ok.com/p?reference=ORD-1&x=1#frag"
    assert with_reference("https://ok.com", "a=b") == "https://ok.com?reference=a%3Db"
    assert with_reference("https://ok.com?%72eference=1&x&reference=2", "R") == "https://ok.com?reference=R&x"


@pytest.mark.parametrize("metadata", [None, ..., {}])
async def test_metadata_may_be_absent_or_empty(shop: Shop, metadata: Any) -> None:
    record = await record_after(shop, order(metadata=metadata))
    assert record["metadata"] == ({} if metadata == {} else None)


METADATA: dict[str, dict[str, Any]] = {
    "50 keys": {f"k{n}": n for n in range(50)},
    "the longest key and value": {"k" * 40: "v" * 500},
    "an empty key": {"": ""},
    "nearly 16 kB": {f"k{n}": "v" * 310 for n in range(50)},
    "text of any script": {"e": "😀", "z": "a\u200bb", "rtl": "שלום"},
    "names of JavaScript": {"__proto__": {"isAdmin": True}, "constructor": 1, "toString": "x"},
    "names of other languages": {"__class__": 1, "$where": "1==1", "' OR 1=1": "--"},
    "every kind of value": {"z": 1, "a": [None, True, False, {"b": []}], "m": {"y": 1, "x": 2}},
}  # fmt: skip


async def test_metadata_is_returned_as_sent(shop: Shop) -> None:
    for what, metadata in METADATA.items():
        returned = (await record_after(shop, order(metadata=metadata)))["metadata"]
        assert json.dumps(returned) == json.dumps(metadata), what  # The order of the keys counts too.


NO_CARDS: dict[str, Any] = {
    "a time in milliseconds": "1731628800000", "a time in milliseconds as a number": 1731628800000,
    "a time in microseconds": "1731628800000000", "a Nigerian phone number": "+2348012345678",
    "a German phone number, which would pass for an old card": "+49 151 12345678",
    "two phone numbers": "+234 801 234 5678 / +233 20 123 4567",
    "16 digits without the check digit": "4111111111111112", "16 digits that nobody issues": "9111111111111111",
    "12 digits": "411111111111", "20 digits": "41111111111111111111",
    "a UUID": "550e8400-e29b-41d4-a716-446655440000", "another UUID": "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "an account number": "NG-0123456789-ACCT", "part of an identifier": "inv_4111111111111111",
    "an order number in groups": "ORD-4111-1111-1111-1111", "a fraction": 0.4111111111111111,
}  # fmt: skip


async def test_digits_that_are_no_card_are_accepted(shop: Shop) -> None:
    for what, value in NO_CARDS.items():
        note = (await record_after(shop, order(metadata={"note": value})))["metadata"]["note"]
        assert (float(note) if isinstance(value, float) else note) == value, what


@pytest.mark.parametrize(
    "reference", ["4111111111111111", "4111-1111-1111-1111", "ORD-4111-1111-1111-1111", "w731245123-46-1794800000"]
)
async def test_a_reference_is_never_taken_for_a_card_number(shop: Shop, reference: str) -> None:
    assert (await record_after(shop, order(reference=reference)))["merchantReference"] == reference


async def test_thousands_of_ids_of_merchants_are_accepted(shop: Shop) -> None:
    ids = merchant_ids(random.Random(11))
    for number in range(80):
        metadata = {f"id{at}": one for at, one in enumerate(islice(ids, 50))}
        answer = await shop.create(order(reference=f"{number}-1794800000-4111111111111111", metadata=metadata))
        assert answer.status_code == 201, answer.text


@pytest.mark.parametrize(
    "number",
    [
        "1e308",
        "1E-308",
        "0.1",
        "0.10",
        "9007199254740993",
        "-9007199254740993",
        "18446744073709551617",
        "1" * 100,
        "3.141592653589793238462643383279",
        "-0.0",
        "1e999",
        "100.00",
        "1.7976931348623157e309",
    ],
)
async def test_numbers_in_metadata_are_not_rounded(shop: Shop, number: str) -> None:
    body = json.dumps(order(reference="ORD-1", metadata={"n": "@"})).replace('"@"', number)
    assert (await shop.create_raw(body.encode())).status_code == 201
    text = (await shop.verify("ORD-1")).text
    returned = json.loads(text, parse_float=Decimal, parse_int=Decimal)["data"]["metadata"]["n"]
    assert returned == Decimal(number)
    assert returned.as_tuple() == Decimal(number).as_tuple()  # 0.10 is not 0.1, and -0.0 not 0.


MESSAGES: dict[str, str] = {
    "5,000 characters": "x" * 5_000,
    "markup": "<b>Thank you</b><script>alert(1)</script>",
    "line breaks": "Thank you!\nYour order is on its way.\r\n",
    "bidi controls": "\u202eThank you\u2066",
    "empty": "",
}  # fmt: skip


async def test_a_success_message_is_plain_text(shop: Shop) -> None:
    for what, text in MESSAGES.items():
        assert (await record_after(shop, order(successMessage=text)))["successMessage"] == text, what


@pytest.mark.parametrize("destination", ["wallet", None, ...])
async def test_money_settles_in_the_wallet(shop: Shop, destination: Any) -> None:
    assert (await record_after(shop, order(settlementDestination=destination)))["settlementDestination"] == "wallet"


METHODS: dict[str, tuple[Any, list[str]]] = {
    "duplicates": (["card", "bank_transfer", "card", "CARD"], ["card", "bank_transfer"]),
    "sixteen times the same": (["card"] * 16, ["card"]),
    "USSD in capitals": (["PAYATTITUDE", "payattitude"], ["payattitude"]),
    "USSD in any case": (["pAyAtTiTuDe"], ["payattitude"]),
    "other methods in any case": (["Card", "BANK_TRANSFER"], ["card", "bank_transfer"]),
    "null": (None, ["bank_transfer", "card", "payattitude"]),
}  # fmt: skip


async def test_methods_are_recorded_once_in_their_order(shop: Shop) -> None:
    for what, (listed, recorded) in METHODS.items():
        record = await record_after(shop, order(paymentMethods=listed))
        assert record["paymentMethods"] == recorded, what
        assert record["defaultPaymentMethod"] == recorded[0], what


async def test_the_default_method_is_found_in_any_case(shop: Shop) -> None:
    record = await record_after(shop, order(paymentMethods=["card", "payAttitude"], defaultPaymentMethod="PayATTITUDE"))
    assert record["defaultPaymentMethod"] == "payattitude"


async def test_unknown_fields_are_dropped_and_never_applied(shop: Shop, new_shop: MakeShop, admin: Any) -> None:
    other = await new_shop()
    wanted = {
        "id": 1,
        "status": "success",
        "amountReceived": 100,
        "received_minor": 10_000,
        "amountExpected": 1,
        "merchantId": other.business_id,
        "businessId": other.business_id,
        "business_id": other.business_id,
        "payCode": "tg_aaaaa_aaaaaaaaaaaaaaaaaaaaaa",
        "fee": 0,
        "vat": 0,
        "isAdmin": True,
        "isDisabled": True,
        "varianceType": "overpayment",
        "createdAt": "1999-01-01T00:00:00.000Z",
        "expiresAt": "2999-01-01T00:00:00.000Z",
        "fee_bearer": "customer",
        "Amount": 1,
    }
    record = await record_after(shop, order(reference="ORD-1", **wanted))
    plain = await record_after(shop, order(reference="ORD-2"))
    ours = {"id", "reference", "merchantReference", "createdAt", "updatedAt"}
    assert {k: v for k, v in record.items() if k not in ours} == {k: v for k, v in plain.items() if k not in ours}
    assert record["createdAt"] > "2020"
    assert record["reference"] != wanted["payCode"]
    assert await admin.fetchval("SELECT count(*) FROM payment WHERE business_id = $1", other.business_id) == 0


async def test_optional_fields_may_be_null(shop: Shop) -> None:
    optional = ["reference", "redirectUrl", "metadata", "successMessage", "settlementDestination"]
    record = await record_after(
        shop, order(**dict.fromkeys([*optional, "paymentMethods", "defaultPaymentMethod"], None))
    )
    assert (record["redirectUrl"], record["metadata"], record["successMessage"]) == (None, None, None)
    assert record["merchantReference"] == record["reference"]


async def test_the_answer_is_json_whatever_is_accepted(shop: Shop) -> None:
    for accept in ("text/html", "application/xml", "*/*;q=0", "nonsense"):
        answer = await shop.create(headers={"accept": accept})
        assert answer.status_code == 201
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_header_names_are_read_in_any_case(shop: Shop) -> None:
    headers = {"API-KEY": shop.secret_key, "X-Pub-Key": shop.public_key}
    assert (await shop.client.post("/checkout/payments", json=order(), headers=headers)).status_code == 201
