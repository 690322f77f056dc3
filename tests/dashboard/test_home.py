"""Home: what needs attention, each kind of it."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from build import Checkout, Shop
from conftest import MakeCheckout
from dashboard.people import SignedInPerson

pytestmark = pytest.mark.usefixtures("unlimited")


async def pay(new_checkout: MakeCheckout, shop: Shop, amount: str) -> Checkout:
    checkout = await new_checkout(shop)
    await checkout.transfer(await checkout.account(), amount)
    return checkout


async def attention(person: SignedInPerson) -> tuple[str, list[tuple[str, str, str]]]:
    """The number beside the heading, and of each row what it is, its link and the words of it."""
    section = re.search(
        r'Needs attention</h2><span class="muted">([^<]+)</span>(.*?)</section>', (await person.get()).text, re.S
    )
    assert section
    rows = re.findall(r'<li><b>([^<]+)</b><a [^>]*?href="([^"]+)"[^>]*>([^<]+)</a>', section[2])
    return section[1], [(what, unescape(address), words) for what, address, words in rows]


async def test_each_kind_that_needs_attention_is_shown_and_counted(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout
) -> None:
    for paid in (*["120.00"] * 6, *["80.00"] * 4, "100.00"):
        await pay(new_checkout, shop, paid)
    # Neither counted nor listed.
    at = f"/payments/{(await pay(new_checkout, shop, '120.00')).pay_code}"
    assert (await owner.send(f"{at}/refund", at=at, what="excess")).status_code == 303
    number, rows = await attention(owner)
    # The last: nobody else approves refunds.
    whats = [*["₦20.00 too much"] * 3, "3 more", *["₦20.00 too little"] * 3, "1 more"]
    assert ([what for what, _, _ in rows][:-1], number) == (whats, "11")
    for (_, address, words), count in ((rows[3], 6), (rows[7], 4)):
        assert words == f"See all {count}"
        page = (await owner.client.get(address)).text
        assert len(re.findall(r'/payments/tg_\w+">', page)) == count


async def test_what_was_refunded_needs_no_attention(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout
) -> None:
    first = await pay(new_checkout, shop, "120.00")
    await pay(new_checkout, shop, "120.00")
    at = f"/payments/{first.pay_code}"
    assert (await owner.send(f"{at}/refund", at=at, what="excess")).status_code == 303
    number, rows = await attention(owner)
    assert (number, len(rows)) == ("2", 2)


async def test_the_number_is_exact_up_to_its_bound(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, admin: Any
) -> None:
    await pay(new_checkout, shop, "120.00")
    await pay(new_checkout, shop, "80.00")
    columns = await admin.fetchval(
        """
        SELECT string_agg(column_name, ', ') FROM information_schema.columns
         WHERE table_name = 'payment' AND column_name NOT IN ('id', 'pay_code', 'reference')
        """
    )
    copies = f"""
        INSERT INTO payment (pay_code, reference, {columns})
        SELECT pay_code || number, 'COPY-' || number, {columns}
          FROM payment, generate_series($1::integer, $2::integer) AS number
         WHERE variance = 'overpayment' AND reference NOT LIKE 'COPY-%'
    """
    await admin.execute(copies, 1, 96)
    number, rows = await attention(owner)
    assert (number, rows[3][0], rows[3][2], rows[4][0]) == ("99", "94 more", "See all 97", "₦20.00 too little")
    await admin.execute(copies, 97, 200)
    number, rows = await attention(owner)
    assert (number, rows[3][0], rows[3][2], rows[4][0]) == ("99+", "97+ more", "See all 99+", "₦20.00 too little")
    # The books have no money of the copies.
    await admin.execute("DELETE FROM payment WHERE reference LIKE 'COPY-%'")
