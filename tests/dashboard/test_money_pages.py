"""Wallets with statements by days; inflows with their name check; accounts that are asked for."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from build import Shop
from checkout.paying import card
from conftest import MakeCheckout
from dashboard.people import People, SignedInPerson
from inflow import CLOSE, DIFFERENT, HOLDER, Inflows, credit
from tidegate.dashboard.inflow_pages import marked
from tidegate.member.permission import Role

pytestmark = pytest.mark.usefixtures("unlimited")


async def test_a_statement_by_days_on_the_page_as_csv_and_as_pdf(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, admin: Any
) -> None:
    paid = await new_checkout(shop, customer={"name": "=1+1", "email": "a@example.com"})
    assert (await paid.charge(card())).status_code == 200
    balance = await admin.fetchval("SELECT balance_minor FROM wallet WHERE business_id = $1", shop.business_id)
    shown = f"₦{balance / 100:,.2f}"
    assert shown in (await owner.get("/wallets/NGN?from=2020-01-01&to=2199-12-31")).text
    assert "Nothing was booked in these days" in (await owner.get("/wallets/NGN?to=2020-01-01")).text
    answer = await owner.get("/wallets/NGN/statement.csv?from=2020-01-01")
    [line] = csv.DictReader(io.StringIO(answer.text))
    assert (line["balance"], "'=1+1" in line["description"] or "from =1+1" in line["description"]) == (
        f"{balance / 100:.2f}", True
    )  # fmt: skip
    assert 'filename="statement-NGN-2020-01-01.csv"' in answer.headers["content-disposition"]
    assert (await owner.get("/wallets/NGN/statement.pdf")).content.startswith(b"%PDF-")


@pytest.mark.parametrize("query", ["from=x", "from=2026-02-30", "from=2026-02-02&to=2026-02-01", "to=9999-12-31"])
async def test_days_that_cannot_be_read_are_refused(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, query: str
) -> None:
    paid = await new_checkout(shop)
    assert (await paid.charge(card())).status_code == 200
    page = (await owner.get(f"/wallets/NGN?{query}", status=422)).text
    assert ("needs a change" in page, "Nothing is listed" in page, paid.reference in page) == (True, True, False)
    await owner.get(f"/wallets/NGN/statement.csv?{query}", status=422)


async def test_each_figure_is_the_sum_of_what_it_opens(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, admin: Any
) -> None:
    paid = await new_checkout(shop)
    assert (await paid.charge(card())).status_code == 200
    at = f"/payments/{paid.pay_code}"
    for minor in ("10.00", "5.25"):
        assert (await owner.send(f"{at}/refund", at=at, what="part", amount=minor)).status_code == 303
    locked = await admin.fetchval("SELECT locked_minor FROM wallet WHERE business_id = $1", shop.business_id)
    assert locked == 1_525
    assert "₦15.25" in (await owner.get("/wallets")).text
    page = (await owner.get("/wallets/NGN/locked")).text
    assert "Together ₦15.25" in page
    assert len(re.findall(r"/refunds/[A-Za-z0-9_-]+\"", page)) == 2
    assert "Nothing at the moment" in (await owner.get("/wallets/NGN/owed")).text
    await owner.get("/wallets/NGN/anything", status=404)
    # The balance after the newest line is the wallet's own.
    balance = await admin.fetchval("SELECT balance_minor FROM wallet WHERE business_id = $1", shop.business_id)
    first = (await owner.get("/wallets/NGN")).text.partition("<tbody>")[2].partition("</tr>")[0]
    assert first.rstrip().endswith(f"₦{balance / 100:,.2f}</td>")


def test_letters_that_differ_are_marked() -> None:
    left, right = marked("Ada Obii", "ADA Obi")
    assert [(one.text, one.is_different) for one in left] == [("Ada Obi", False), ("i", True)]
    assert [(one.text, one.is_different) for one in right] == [("ADA Obi", False)]
    assert marked("", "Ada")[0] == []


async def test_an_inflow_tells_why_it_is_held_or_goes_back(
    people: People, owner: SignedInPerson, shop: Shop, inflows: Inflows
) -> None:
    number = await inflows.number()
    references = {}
    for name in (HOLDER, CLOSE, DIFFERENT):
        given = credit(number, payeeName=name)
        assert (await inflows.notify(given)).status_code == 200
        references[name] = (await inflows.inflow(given["transactionId"]))["reference"]
    close = (await owner.get(f"/inflows/{references[CLOSE]}")).text
    assert "Held for a decision of the operator" in close
    assert "<mark>i</mark>" in close
    # A day, not a time of it; and what is held is told below the currency, on a phone too.
    assert re.search(r"<dt>Value date</dt><dd>[0-9]{1,2} [A-Z][a-z]{2} [0-9]{4}</dd>", close)
    assert re.search(
        r'<span class="sub"><a [^>]*>€[0-9.,]+</a> held for review</span>', (await owner.get("/wallets")).text
    )
    assert "back to the payer: the name given is not the account holder" in re.sub(
        "&#39;", "'", (await owner.get(f"/inflows/{references[DIFFERENT]}")).text
    )
    assert "In the books" in (await owner.get(f"/inflows/{references[HOLDER]}")).text
    held = (await owner.get("/inflows?status=pending")).text
    assert (references[CLOSE] in held, references[HOLDER] in held) == (True, False)
    viewer = await people.person(shop, Role.VIEWER)
    assert CLOSE not in (await viewer.get(f"/inflows/{references[CLOSE]}")).text
    for verdict, name in (("exact", HOLDER), ("close", CLOSE), ("different", DIFFERENT), ("missing", "")):
        for query in (f"verdict={verdict}", f"verdict={verdict}&currency=EUR&from=2020-01-01"):
            page = (await owner.get(f"/inflows?{query}")).text
            assert [one for one, reference in references.items() if reference in page] == ([name] if name else [])
    assert references[CLOSE] in (await owner.get("/inflows?verdict=close&status=pending")).text
    account = await inflows.admin.fetchval("SELECT id FROM virtual_account")
    assert references[DIFFERENT] in (await owner.get(f"/inflows?verdict=different&account={account}")).text
    assert "No inflow fits" in (await owner.get(f"/inflows?verdict=different&account={'0' * 24}")).text
    for query in ("status=x", "account=x", "currency=XXX", "verdict=x", "from=x"):
        page = (await owner.get(f"/inflows?{query}", status=422)).text
        assert ("needs a change" in page, f'id="w-{query.partition("=")[0]}"' in page) == (True, True)
        assert "Nothing is listed" in page
        assert not [one for one in references.values() if one in page]


async def test_an_account_is_asked_for_once_and_names_are_tried_on_it(owner: SignedInPerson, admin: Any) -> None:
    at = "/accounts/new"
    wrong = await owner.send(at, at=at, currency="EUR", account_type="corporate", document1_url="http://x.example/a")
    assert wrong.status_code == 422
    assert "The name of the company is needed." in wrong.text
    assert "must begin with https://" in wrong.text
    fields = {
        **await owner.fields(at), "currency": "EUR", "account_type": "individual", "first_name": "Ada",
        "last_name": "Obi", "document1_type": "meansOfId", "document1_url": "https://files.example/passport",
    }  # fmt: skip
    first = await owner.post(at, fields)
    assert (first.status_code, (await owner.post(at, fields)).headers["location"]) == (303, first.headers["location"])
    assert await admin.fetchval("SELECT count(*) FROM virtual_account") == 1
    page = first.headers["location"]
    assert "Asked for" in (await owner.client.get(page)).text
    assert "Same name" in (await owner.client.get(page, params={"name": "ada obi"})).text
    other = (await owner.client.get(page, params={"name": "<b>Chidi</b>"})).text
    assert ("Another name" in other, "<b>Chidi" in other) == (True, False)


async def test_an_account_says_until_when_it_takes_money(owner: SignedInPerson, inflows: Inflows) -> None:
    await inflows.admin.execute("UPDATE business SET time_zone = 'Africa/Lagos'")
    for_good = await inflows.account()
    ending = await inflows.account(expires_at=datetime(2099, 11, 30, 23, tzinfo=UTC))
    assert "money until" not in (await owner.get(f"/accounts/{for_good.id}")).text
    page = (await owner.get(f"/accounts/{ending.id}")).text
    # In the business's zone, with UTC beside it.
    assert "takes money until" in page
    assert 'title="2099-11-30 23:00:00 UTC">Tue 1 Dec 2099, 00:00:00<' in page
