"""Every page of the dashboard, with and without something to show."""

from __future__ import annotations

import re
from typing import Any

import pytest

from build import Shop, order
from checkout.paying import card
from conftest import MakeCheckout, MakeShop
from dashboard.people import People, SignedInPerson
from inflow import Inflows, credit
from tidegate.member.permission import Role

PAGES = (
    "", "/payments", "/links", "/refunds", "/refunds?tab=approve", "/wallets", "/inflows", "/webhooks", "/team",
    "/audit", "/settings", "/branding", "/keys", "/developers", "/sandbox/people",
    "/find", "/webhooks/replay", "/takings?currency=NGN", "/waiting",
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("unlimited")


async def test_every_page_opens_for_a_new_business(owner: SignedInPerson) -> None:
    for below in PAGES:
        page = await owner.get(below)
        assert page.headers["cache-control"] == "no-store"
        assert len(page.content) < 130_000


async def test_a_payment_is_told_from_its_creation_to_its_refund(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout(shop)
    assert (await checkout.charge(card())).status_code == 200
    await checkout.tick()
    home = (await owner.get()).text
    assert checkout.reference in home
    assert "Taken today in NGN" in home
    assert checkout.reference in (await owner.get("/payments")).text
    at = f"/payments/{checkout.pay_code}"
    page = (await owner.get(at)).text
    for words in ("Card chosen", "received", "settled to the NGN wallet", "Everything"):
        assert words in page, words
    done = await owner.send(f"{at}/refund", at=at, what="part", amount="10.50", reason="one item less")
    assert done.status_code == 303, done.text[-2000:]
    assert await admin.fetchval("SELECT amount_minor FROM refund") == 1_050
    taken = (await owner.get("/takings?currency=NGN")).text
    assert re.search(r'<td class="num"><a class="door" href="[^"]*/ledger/[0-9]+">₦100.00</a></td>', taken)
    refund = await owner.client.get(done.headers["location"])
    assert "one item less" in refund.text
    assert "Refund of ₦10.50 started" in (await owner.get(at)).text
    for below in ("/wallets", "/wallets/NGN", "/refunds"):
        assert "₦" in (await owner.get(below)).text
    assert "started a refund" in (await owner.get("/audit")).text
    # Each journal has the sum of its entries, and a way back to what it is about.
    for kind, page, total in (
        ("checkout_settled", at, "100.00"),
        ("refund_started", f"/refunds/{refund.url.path.rpartition('/')[2]}", "10.50"),
    ):
        journal = await admin.fetchval("SELECT id FROM journal WHERE kind = $1", kind)
        text = (await owner.get(f"/ledger/{journal}")).text
        assert ("Wallet NGN" in text, f'href="{owner.path(page)}"' in text) == (True, True), kind
        both = f'<th scope="row">Sum NGN</th><td class="num">₦{total}</td><td class="num">₦{total}</td>'
        assert both in text


async def test_the_metadata_of_a_payment_is_on_its_page_as_it_was_sent(
    people: People, owner: SignedInPerson, shop: Shop
) -> None:
    metadata = {
        "cart": "<b>7</b>", "items": [{"sku": "A-1", "price": 1.50}], "customer": {"card": "Bo Ade"},
        "note": "leave it at the gate",
    }  # fmt: skip
    assert (await shop.create(order(metadata=metadata))).status_code == 201
    at = f"/payments/{await people.admin.fetchval('SELECT pay_code FROM payment')}"
    page = (await owner.get(at)).text
    shown = page.partition('id="metadata"')[2].partition("</section>")[0]
    assert ("&lt;b&gt;7&lt;/b&gt;" in shown, "A-1" in shown, "Bo Ade" in shown) == (True, True, True)
    # The note is the payer's, and stands with the payer.
    assert ("leave it at the gate" in shown, page.count("leave it at the gate")) == (False, 1)
    viewer = (await (await people.person(shop, Role.VIEWER)).get(at)).text
    assert ("&lt;b&gt;7" in viewer, "Bo Ade" in viewer, "leave it" in viewer) == (True, False, False)


async def test_an_inflow_that_was_credited_is_listed_and_opens(owner: SignedInPerson, inflows: Inflows) -> None:
    given = credit(await inflows.number())
    assert (await inflows.notify(given)).status_code == 200
    reference = (await inflows.inflow(given["transactionId"]))["reference"]
    assert "€" in (await owner.get("/inflows")).text
    assert "Credited" in (await owner.get(f"/inflows/{reference}")).text


@pytest.mark.parametrize("below", ["/payments/%00", "/refunds/%00", "/inflows/a%00b", "%00"])
async def test_an_address_with_a_nul_is_nowhere(owner: SignedInPerson, below: str) -> None:
    await owner.get(below, status=404)


async def test_ids_of_another_business_are_not_there(
    people: People, owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, new_shop: MakeShop
) -> None:
    other = await new_shop(rate_per_second=100_000, rate_burst=100_000)
    stranger = await people.person(other, Role.OWNER)
    checkout = await new_checkout(shop)
    assert (await checkout.charge(card())).status_code == 200
    at = f"/payments/{checkout.pay_code}"
    refund = (await owner.send(f"{at}/refund", at=at, what="part", amount="1")).headers["location"].rpartition("/")[2]
    made = await owner.make_link()
    link = made.headers["location"].rpartition("/")[2]
    assert (await owner.send("/webhooks/endpoints", at="/webhooks", url="https://a.example/")).status_code == 200
    endpoint = await people.admin.fetchval("SELECT id FROM webhook_endpoint")
    tested = await owner.send(f"/webhooks/endpoints/{endpoint}/test", at="/webhooks")
    delivery = tested.headers["location"].rpartition("/")[2]
    journal = await people.admin.fetchval("SELECT max(id) FROM journal")
    never = (await stranger.get("/payments/nothing", status=404)).text
    for below in (
        f"/payments/{checkout.pay_code}", f"/payments/{checkout.reference}", f"/ledger/{journal}", "/wallets/NGN",
        f"/refunds/{refund}", f"/links/{link}", f"/webhooks/deliveries/{delivery}",
    ):  # fmt: skip
        await stranger.get(below, status=404)
    assert len(never) == len((await stranger.get(f"/payments/{checkout.pay_code}", status=404)).text)
    # The business itself.
    assert (await stranger.client.get(owner.path())).status_code == 404
    fields = {**await stranger.fields(), "what": "all", "version": "0", "once": "x", "factor": "sandbox"}
    for form in (
        f"{at}/refund", f"{at}/receipt", f"{at}/disable", f"{at}/case", f"/links/{link}",
        f"/webhooks/deliveries/{delivery}/resend", f"/webhooks/endpoints/{endpoint}/test",
    ):  # fmt: skip
        assert (await stranger.post(form, fields)).status_code == 404, form
