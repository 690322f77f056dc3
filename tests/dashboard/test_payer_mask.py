"""Roles that do not see payers: nowhere is a name or an address in clear."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from build import Checkout, Shop
from checkout.paying import card
from conftest import MakeCheckout
from dashboard.people import People
from event_schema import DOCUMENT
from tidegate.dashboard import payer_mask
from tidegate.member.permission import Role
from tidegate.payment import event_examples

pytestmark = pytest.mark.usefixtures("unlimited")

NAME, EMAIL = "Zuri Secretname", "zuri@example.com"
PAGES = ("", "/payments", "/payments/{payment}", "/wallets/NGN", "/find?q=Zuri")


@pytest.fixture
async def paid(new_checkout: MakeCheckout, shop: Shop) -> Checkout:
    checkout = await new_checkout(shop, customer={"name": NAME, "email": EMAIL})
    assert (await checkout.charge(card())).status_code == 200
    return checkout


@pytest.mark.parametrize("role", list(Role))
async def test_who_may_not_see_payers_reads_their_names_nowhere(
    role: Role, people: People, shop: Shop, paid: Checkout
) -> None:
    person = await people.person(shop, role, name="Somebody")
    seen = {
        below
        for below in PAGES
        for page in [await person.client.get(person.path(below.format(payment=paid.pay_code)))]
        if NAME in page.text or EMAIL in page.text
    }
    may_see = role not in (Role.DEVELOPER, Role.VIEWER)
    assert ("/wallets/NGN" in seen, "/payments" in seen) == (may_see, may_see)
    assert may_see or seen == set()


def test_the_body_of_an_event_keeps_all_but_the_payer() -> None:
    example = event_examples.EVENTS[0].example["data"]
    shown = payer_mask.without_payer(example)
    assert shown["customer"] == {"name": "A…", "email": "a…@example.com", "phoneNumber": "+…"}
    account = {name: value for name, value in shown["virtualAccount"].items() if str(value).endswith("…")}
    assert account == {"payerAccountNumber": "0…", "payerAccountName": "A…", "payerBankName": "S…"}
    assert (shown["description"], shown["metadata"]) == ("C…", {"cart": "c…", "items": "…"})
    hidden = ("customer", "virtualAccount", "description", "metadata")
    assert {name: shown[name] for name in shown if name not in hidden} == {
        name: example[name] for name in example if name not in hidden
    }


# Texts of events that say nothing of a payer. A new one is hidden by payer_mask.py, or stands here.
OF_NO_PAYER = """
    _id business business.email business.name createdAt updatedAt initiatedAt completedAt expiresAt returnedAt
    endpointId
    message reference merchantReference collectionReference collectionMerchantReference paymentReference
    transactionReference chargeReference returnReference collectionVarianceType failureReason paymentScheme
    auth_model authorization.mode authorization.redirect entityType currencyType settlementDestination
    riskRating riskScreening channelKycUpdateResponse channelKycUpdateStatus checklist.* virtualAccountType
    dispute.dueAt dispute.id dispute.sessionId reversal.createdAt reversal.sessionId
    virtualAccount virtualAccount.accountName virtualAccount.accountNumber virtualAccount.bankCode
    virtualAccount.bankName virtualAccount.business virtualAccount.channelName virtualAccount.expiresAt
    virtualAccount.id virtualAccount.sessionId
    accountNumber accountInformation.accountName accountInformation.accountNumber accountInformation.bankCode
    accountInformation.bankName accountInformation.countryCode accountInformation.reference
    accountInformation.otherInfo.accountNumber accountInformation.otherInfo.bankSwiftCode
    accountInformation.otherInfo.checkNumber accountInformation.otherInfo.iban accountInformation.otherInfo.sortCode
"""


def texts_in(schema: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where a schema has a text of any kind, or anything at all."""
    if "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    inner = [one for name in ("anyOf", "oneOf", "allOf") for one in schema.get(name, ())]
    for one in (*inner, *([schema["items"]] if "items" in schema else [])):
        yield from texts_in(one, path)
    for name, one in schema.get("properties", {}).items():
        yield from texts_in(one, (*path, name))
    if "object" in kinds and "properties" not in schema:
        yield (*path, "*")
    elif not schema.keys() & {"enum", "const"} and ("string" in kinds or not (kinds or inner)):
        yield path


def test_every_text_of_an_event_is_hidden_or_known_to_be_of_no_payer() -> None:
    shown = set()
    for event in DOCUMENT["webhooks"].values():
        for path in texts_in(event["post"]["requestBody"]["content"]["application/json"]["schema"]):
            value: Any = "text"
            for name in reversed(path):
                value = {name: value}
            if payer_mask.without_payer(value) == value:
                shown.add(".".join(path).removeprefix("data."))
    assert shown == set(OF_NO_PAYER.split())


# What erasing a payer changes, and where an event has it. The holder of an account is shown to every role.
ERASED = {
    "payment": "customer_name customer_email customer_phone metadata",
    "receipt": "payer",
    "refund": "reason note",
    "dispute": "reason",
    "collection": "payer remittance note payee_name name_check",
    "virtual_account": "holder kyc documents metadata monthly_volume entity_name payment_flow_description note reason",
}
# Erased, and in no event.
IN_NO_EVENT = {
    "payment": "redirect_url success_message",
    "receipt": "notified",
    "attempt": "details",
    "refund": "mail_due_at",
    "audit": "details",
    "paystack_attempt": "action",
    "sandbox_account": "holder",
}
# Of what events are made of; the others erase events themselves, and files.
ERASING = ["erase_payment", "erase_inflow", "erase_account", "erase_payees"]
# Of the row itself.
_KEPT = {"version", "updated_at", "request_hash"}


async def test_what_erasing_a_payer_changes_is_known_here(admin: Any) -> None:
    """A column that it erases, too, is hidden by payer_mask.py where an event has it, and then stands above."""
    found: dict[str, set[str]] = {}
    for row in await admin.fetch("SELECT prosrc FROM pg_proc WHERE proname = ANY ($1)", ERASING):
        source = re.sub(r"--.*", "", row["prosrc"])
        for table, changes in re.findall(r"UPDATE (\w+)(?: AS \w+)?\s+SET (.*?)(?:\bFROM\b|\bWHERE\b|;)", source, re.S):
            names = re.findall(r"(?:^|,)\s*(\w+) = ", changes)
            found.setdefault(table, set()).update(set(names) - _KEPT)
    known = {
        table: {*ERASED.get(table, "").split(), *IN_NO_EVENT.get(table, "").split()}
        for table in ERASED.keys() | IN_NO_EVENT.keys()
    }
    assert found == known
