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
from tidegate.core.method import CHECKOUT_CURRENCIES, CHECKOUT_MAX_MAJOR, METHODS_OF, MethodNames
from tidegate.core.money import Currency
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


@pytest.mark.parametrize("currency", CHECKOUT_CURRENCIES)
@pytest.mark.parametrize("amount", [1, "most"])
async def test_the_smallest_and_the_largest_amount_are_accepted(
    shop: Shop, currency: Currency, amount: int | str
) -> None:
    asked = CHECKOUT_MAX_MAJOR[currency] if amount == "most" else amount
    record = await record_after(shop, order(amount=asked, currency=currency.value))
    assert (record["amount"], record["currency"], record["amountExpected"]) == (asked, currency, asked)
    assert record["paymentMethods"] == MethodNames().in_records(METHODS_OF[currency])


async def test_a_customer_may_come_as_a_json_string(shop: Shop) -> None:
    record = await record_after(shop, order(customer=json.dumps(customer(phoneNumber="+2348012345678"))))
    assert record["customer"] == customer(phoneNumber="+2348012345678")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("<img src=x onerror=alert(1)>", id="markup"),
        pytest.param("</script><script>alert(1)</script>", id="a script"),
        pytest.param("{{7*7}}", id="a template"),
        pytest.param("${7*7}", id="another template"),
        pytest.param("%s%n{0}", id="a format"),
        pytest.param("Robert'); DROP TABLE payment;--", id="SQL"),
        pytest.param("\u202eAda Obi", id="a bidi control"),
        pytest.param("أدا أوبي", id="Arabic"),
        pytest.param("Adaézè Ọbị", id="Igbo"),
        pytest.param("O\u0323\u0301", id="two marks on a letter"),
        pytest.param("👩🏾‍💻 Ada 🇳🇬", id="emoji"),
        pytest.param("नमस्ते", id="Devanagari"),
        pytest.param("王小明", id="Chinese"),
        pytest.param('=HYPERLINK("http://x")', id="a formula"),
        pytest.param("@SUM(1)", id="another formula"),
        pytest.param("-1+1", id="a sum"),
        pytest.param("\\u0000", id="a backslash and four zeros, which is not U+0000"),
        pytest.param("x" * 200, id="200 characters"),
        pytest.param("X", id="one character"),
    ],
)
async def test_a_name_is_kept_as_it_came(shop: Shop, name: str) -> None:
    assert (await record_after(shop, order(customer=customer(name=name))))["customer"]["name"] == name


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


@pytest.mark.parametrize(
    ("phone", "kept"),
    [
        pytest.param("", "", id="empty"),
        pytest.param(None, "", id="null"),
        pytest.param("+2348012345678", "+2348012345678", id="international"),
        pytest.param("0801 234 5678", "0801 234 5678", id="with spaces"),
        pytest.param("(080) 123-456.78", "(080) 123-456.78", id="with signs"),
        pytest.param("378282246310005", "378282246310005", id="15 digits, which is what a phone number may have"),
    ],
)
async def test_a_phone_number_is_optional_and_kept_as_written(shop: Shop, phone: str | None, kept: str) -> None:
    assert (await record_after(shop, order(customer=customer(phoneNumber=phone))))["customer"]["phoneNumber"] == kept


async def test_the_business_bears_the_fee_by_default(shop: Shop) -> None:
    assert (await record_after(shop, order()))["feeBearer"] == "business"
    record = await record_after(shop, order(feeBearer="customer"))
    assert (record["feeBearer"], record["amountExpected"]) == ("customer", Decimal("101.51"))


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


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        pytest.param("http://localhost:3000/thanks", None, id="http in sandbox"),
        pytest.param("http://127.0.0.1/", None, id="this machine in sandbox"),
        pytest.param("https://[::1]:8443/", None, id="this machine by IPv6 in sandbox"),
        pytest.param("https://intranet", None, id="a bare name in sandbox"),
        pytest.param("https://аррӏе.com/x", "https://xn--80ak6aa92e.com/x", id="a homograph"),
        pytest.param("https://bücher.example/x", "https://xn--bcher-kva.example/x", id="another alphabet"),
        pytest.param("https://xn--80ak6aa92e.com/x", None, id="punycode"),
        pytest.param("https://a.com/" + "p" * 2_034, None, id="2,048 characters"),
        pytest.param("https://a.com:65535", None, id="the highest port"),
        pytest.param("HTTPS://Shop.Example.COM/%7Eada?x=%20&y", None, id="kept byte for byte"),
        pytest.param("https://ok.com/p?reference=old&x=1#frag", None, id="with a reference of its own"),
        pytest.param("https://a.com/?next=https://user@b.com", None, id="an @ that is not in the host"),
    ],
)
async def test_a_redirect_is_kept(shop: Shop, url: str, kept: str | None) -> None:
    assert (await record_after(shop, order(redirectUrl=url)))["redirectUrl"] == (kept or url)


def test_the_customer_comes_back_with_exactly_one_reference() -> None:
    url = "https://ok.com/p?reference=old&x=1#frag"
    assert with_reference(url, "ORD-1") == "https://ok.com/p?reference=ORD-1&x=1#frag"
    assert with_reference("https://ok.com", "a=b") == "https://ok.com?reference=a%3Db"
    assert with_reference("https://ok.com?%72eference=1&x&reference=2", "R") == "https://ok.com?reference=R&x"


@pytest.mark.parametrize("metadata", [None, ..., {}])
async def test_metadata_may_be_absent_or_empty(shop: Shop, metadata: Any) -> None:
    record = await record_after(shop, order(metadata=metadata))
    assert record["metadata"] == ({} if metadata == {} else None)


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({f"k{n}": n for n in range(50)}, id="50 keys"),
        pytest.param({"k" * 40: "v" * 500}, id="the longest key and value"),
        pytest.param({"": ""}, id="an empty key"),
        pytest.param({f"k{n}": "v" * 310 for n in range(50)}, id="nearly 16 kB"),
        pytest.param({"e": "😀", "z": "a\u200bb", "rtl": "שלום"}, id="text of any script"),
        pytest.param({"__proto__": {"isAdmin": True}, "constructor": 1, "toString": "x"}, id="names of JavaScript"),
        pytest.param({"__class__": 1, "$where": "1==1", "' OR 1=1": "--"}, id="names of other languages"),
        pytest.param({"z": 1, "a": [None, True, False, {"b": []}], "m": {"y": 1, "x": 2}}, id="every kind of value"),
    ],
)
async def test_metadata_is_returned_as_sent(shop: Shop, metadata: dict[str, Any]) -> None:
    returned = (await record_after(shop, order(metadata=metadata)))["metadata"]
    assert json.dumps(returned) == json.dumps(metadata)  # The order of the keys counts too.


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("1731628800000", id="a time in milliseconds"),
        pytest.param(1731628800000, id="a time in milliseconds as a number"),
        pytest.param("1731628800000000", id="a time in microseconds"),
        pytest.param("+2348012345678", id="a Nigerian phone number"),
        pytest.param("+49 151 12345678", id="a German phone number, which would pass for an old card"),
        pytest.param("+234 801 234 5678 / +233 20 123 4567", id="two phone numbers"),
        pytest.param("4111111111111112", id="16 digits without the check digit"),
        pytest.param("9111111111111111", id="16 digits that nobody issues"),
        pytest.param("411111111111", id="12 digits"),
        pytest.param("41111111111111111111", id="20 digits"),
        pytest.param("550e8400-e29b-41d4-a716-446655440000", id="a UUID"),
        pytest.param("3f2504e0-4f89-11d3-9a0c-0305e82c3301", id="another UUID"),
        pytest.param("NG-0123456789-ACCT", id="an account number"),
        pytest.param("inv_4111111111111111", id="part of an identifier"),
        pytest.param("ORD-4111-1111-1111-1111", id="an order number in groups"),
        pytest.param(0.4111111111111111, id="a fraction"),
    ],
)
async def test_digits_that_are_no_card_are_accepted(shop: Shop, value: Any) -> None:
    record = await record_after(shop, order(metadata={"note": value}))
    assert (
        float(record["metadata"]["note"]) == value if isinstance(value, float) else record["metadata"]["note"] == value
    )


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


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x" * 5_000, id="5,000 characters"),
        pytest.param("<b>Thank you</b><script>alert(1)</script>", id="markup"),
        pytest.param("Thank you!\nYour order is on its way.\r\n", id="line breaks"),
        pytest.param("\u202eThank you\u2066", id="bidi controls"),
        pytest.param("", id="empty"),
    ],
)
async def test_a_success_message_is_plain_text(shop: Shop, text: str) -> None:
    assert (await record_after(shop, order(successMessage=text)))["successMessage"] == text


@pytest.mark.parametrize("destination", ["wallet", None, ...])
async def test_money_settles_in_the_wallet(shop: Shop, destination: Any) -> None:
    assert (await record_after(shop, order(settlementDestination=destination)))["settlementDestination"] == "wallet"


@pytest.mark.parametrize(
    ("listed", "recorded"),
    [
        pytest.param(["card", "bank_transfer", "card", "CARD"], ["card", "bank_transfer"], id="duplicates"),
        pytest.param(["card"] * 16, ["card"], id="sixteen times the same"),
        pytest.param(["PAYATTITUDE", "payattitude"], ["payattitude"], id="USSD in capitals"),
        pytest.param(["pAyAtTiTuDe"], ["payattitude"], id="USSD in any case"),
        pytest.param(["Card", "BANK_TRANSFER"], ["card", "bank_transfer"], id="other methods in any case"),
        pytest.param(None, ["bank_transfer", "card", "payattitude"], id="null"),
    ],
)
async def test_methods_are_recorded_once_in_their_order(shop: Shop, listed: Any, recorded: list[str]) -> None:
    record = await record_after(shop, order(paymentMethods=listed))
    assert record["paymentMethods"] == recorded
    assert record["defaultPaymentMethod"] == recorded[0]


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
