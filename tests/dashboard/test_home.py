"""Home: what needs attention, each kind of it."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from build import Checkout, Shop
from checkout.paying import card
from conftest import MakeCheckout
from dashboard.people import SignedInPerson
from inflow import DIFFERENT, Inflows, credit

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


async def test_what_was_returned_in_the_last_week_is_what_its_link_lists(
    owner: SignedInPerson, inflows: Inflows, admin: Any
) -> None:
    number = await inflows.number()
    sent_back = [(await inflows.notified(credit(number, payeeName=DIFFERENT)))["reference"] for _ in range(4)]
    await inflows.notified(credit(number))
    # By when it was sent back, not by when it arrived.
    for reference, days in ((sent_back[1], 8), (sent_back[2], 6), (sent_back[3], 5)):
        await admin.execute(
            "UPDATE collection SET return_asked_at = now() - $2 * interval '1 day' WHERE reference = $1",
            reference,
            days,
        )
    what, address, _ = next(row for row in (await attention(owner))[1] if "/inflows" in row[1])
    page = (await owner.client.get(address)).text
    assert what == "3 inflows"
    assert re.findall(r'/inflows/(col_\w+)"', page) == [sent_back[0], sent_back[3], sent_back[2]]
    assert sent_back[1] in (await owner.client.get(address.replace("days=returned&", ""))).text


async def test_what_failed_in_the_last_week_is_what_its_link_lists(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout(shop)
    assert (await checkout.charge(card())).status_code == 200
    at = f"/payments/{checkout.pay_code}"
    for amount in ("1.13", "2.13", "3.13", "4"):  # Refunds that end in .13 are declined.
        assert (await owner.send(f"{at}/refund", at=at, what="part", amount=amount)).status_code == 303
        await checkout.tick()
        await checkout.let_pass("5s")
    await admin.execute("UPDATE refund SET initiated_at = now() - interval '30 days' WHERE amount_minor = 113")
    await admin.execute("UPDATE refund SET completed_at = now() - interval '8 days' WHERE amount_minor = 213")
    names = dict(await admin.fetch("SELECT amount_minor, reference FROM refund"))
    what, address, _ = next(row for row in (await attention(owner))[1] if "/refunds" in row[1])
    page = (await owner.client.get(address)).text
    assert what == "2 refunds"
    assert re.findall(r'/refunds/(rf_\w+)"', page) == [names[313], names[113]]
    every = (await owner.get("/refunds?status=failed")).text
    assert re.findall(r'/refunds/(rf_\w+)"', every) == [names[313], names[113], names[213]]
    # Of all of them the days are those on which they began.
    begun = (await owner.client.get(address.replace("status=failed&", ""))).text
    assert re.findall(r'/refunds/(rf_\w+)"', begun) == [names[400], names[313], names[213]]
