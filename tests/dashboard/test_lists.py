"""The list of payments: its filters, its file; keys; and what strangers wrote, shown as text."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest

from build import Shop, order
from checkout.paying import card
from conftest import MakeCheckout
from dashboard.people import People, SignedInPerson
from earlier import earlier
from tidegate.audit.model import OPERATOR
from tidegate.core.ids import Mode
from tidegate.dashboard import home_store
from tidegate.dashboard.roll_up import RollUp
from tidegate.infra.db import Database
from tidegate.member.permission import Role
from tidegate.merchant import commands as merchants
from tidegate.merchant.key_terms import KeyRequest, terms_of

pytestmark = pytest.mark.usefixtures("unlimited")

XSS = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


async def create(shop: Shop, **fields: Any) -> str:
    answer = await shop.create(order(**fields))
    assert answer.status_code == 201, answer.text
    return str(answer.json()["data"]["payCode"])


async def references(person: SignedInPerson, query: str) -> list[str]:
    page = (await person.get(f"/payments?{query}")).text
    return re.findall(r'/payments/tg_\w+">([^<]+)</a>', page)


async def test_the_list_is_filtered_by_what_is_typed_and_chosen(owner: SignedInPerson, shop: Shop) -> None:
    await create(shop, reference="ORDER-1", amount=100)
    await create(shop, reference="ORDER-2", amount=9_000, customer={"name": "Bola", "email": "bola@example.com"})
    await create(shop, reference="TICKET-1", amount=50, currency="KES")
    for query, found in (
        ("", ["TICKET-1", "ORDER-2", "ORDER-1"]),
        ("q=ORDER-", ["ORDER-2", "ORDER-1"]),
        ("q=ref:ORDER-1", ["ORDER-1"]),
        ("q=Bola@Example.com", ["ORDER-2"]),
        ("q=%3E5000&currency=NGN", ["ORDER-2"]),
        ("q=%3C5000&currency=NGN", ["ORDER-1"]),
        ("q=%3E5000", ["ORDER-2"]),
        ("q=%3E9000", []),
        ("q=%3E8999.99", ["ORDER-2"]),
        ("q=%3E=9000", ["ORDER-2"]),
        ("q=%3E=9000.01", []),
        ("q=%3C50", []),
        ("q=%3C50.01", ["TICKET-1"]),
        ("q=%3C=50", ["TICKET-1"]),
        ("q=amount:%3E=50+amount:%3C100", ["TICKET-1"]),
        ("q=%3C0", []),
        ("q=CURRENCY:kes", ["TICKET-1"]),
        ("q=Status:Initiated+REF:ORDER-1", ["ORDER-1"]),
        ("q=status:Created+Name:bola", ["ORDER-2"]),
        ("q=METHOD:card", []),
        ("q=Is:OverPaid", []),
        ("q=amount:50", ["TICKET-1"]),
        ("q=bola", ["ORDER-2"]),
        ("q=name:Bola", ["ORDER-2"]),
        ("q=ORDER", ["ORDER-2", "ORDER-1"]),
        ("currency=KES", ["TICKET-1"]),
        ("status=failed", []),
        ("q=status:initiated+ORDER-", ["ORDER-2", "ORDER-1"]),
        ("from=2020-01-01&to=2020-01-02", []),
        ("q=is:over", []),
        ("q=is:unusual", []),
        ("variance=over", []),
        ("link=plink_none", []),
    ):
        assert await references(owner, query) == found, query


@pytest.mark.parametrize(
    "days", ["from=2026-13-01", "to=2026-11-16x", "from=2026-11-16&to=2026-11-15", "from=0001-01-01"]
)
async def test_days_that_are_none_list_nothing(owner: SignedInPerson, shop: Shop, days: str) -> None:
    await create(shop, reference="ORDER-1")
    page = (await owner.get(f"/payments?{days}", status=422)).text
    assert "ORDER-1" not in page


async def test_a_page_stays_the_same_while_new_payments_come(
    people: People, owner: SignedInPerson, shop: Shop, admin: Any
) -> None:
    await create(shop, reference="ORDER-0")
    columns = await admin.fetchval(
        """
        SELECT string_agg(column_name, ', ') FROM information_schema.columns
         WHERE table_name = 'payment' AND column_name NOT IN ('id', 'pay_code', 'reference')
        """
    )
    # Many at one moment: their order is decided by more than the time.
    await admin.execute(
        f"""
        INSERT INTO payment (pay_code, reference, {columns})
        SELECT pay_code || number, 'ORDER-' || number, {columns} FROM payment, generate_series(1, 119) AS number
        """
    )
    address, seen = "status=initiated", list[str]()
    for _ in range(3):
        page = (await owner.get(f"/payments?{address}")).text
        seen += re.findall(r'/payments/tg_\w+">([^<]+)</a>', page)
        older = re.search(r'href="[^"]*/payments\?([^"]+)">Older', page)
        address = older[1].replace("&amp;", "&") if older else address
    assert (len(seen), len(set(seen))) == (120, 120)
    await create(shop, reference="LATER")
    colleague = await people.person(shop, Role.FINANCE)
    for person in (owner, colleague):
        assert await references(person, address) == seen[100:]


async def test_what_was_paid_with_another_amount_is_found_by_one_word(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout
) -> None:
    over, under, exact = [await new_checkout(shop) for _ in range(3)]
    for checkout, paid in ((over, "120.00"), (under, "80.00"), (exact, "100.00")):
        await checkout.transfer(await checkout.account(), paid)
    assert await references(owner, "q=is:unusual") == [under.reference, over.reference]
    for query in ("q=overpaid", "q=Overpaid", "q=is:overpaid", "q=is:over", "variance=over"):
        assert await references(owner, query) == [over.reference], query
    for query in ("q=underpaid", "q=is:underpaid", "variance=under"):
        assert await references(owner, query) == [under.reference], query
    page = (await owner.get("/payments?variance=over")).text
    assert re.search(r'class="diff[^"]* warn">₦20.00 over', page)
    assert '<option value="over" selected>Overpaid</option>\n<option value="under">Underpaid</option>' in page
    for query in ("q=is:green", "q=%25%25'"):
        page = (await owner.client.get(owner.path(f"/payments?{query}"))).text
        said = re.findall(r'id="problems".*?</div>', page, re.S)
        assert (len(said), "Q “" in said[0], "“" in said[0]) == (1, False, True), query
    assert await references(owner, f"q=is:unusual+ref:{over.reference}") == [over.reference]
    at = f"/payments/{over.pay_code}"
    # A part of the excess: the rest is still to be refunded.
    assert (await owner.send(f"{at}/refund", at=at, what="part", amount="5")).status_code == 303
    assert over.reference in await references(owner, "q=is:unrefunded")
    assert ("₦20.00 too much" in (await owner.get()).text, "can be refunded" in (await owner.get(at)).text) == (
        True,
        True,
    )
    assert (await owner.send(f"{at}/refund", at=at, what="excess")).status_code == 303
    for below in (at, "/payments"):
        page = (await owner.get(below)).text
        assert ("Excess refunded" in page, "₦20.00 over" in page) == (True, False), below
        # It needs nobody's attention any more.
        assert not re.search(r'class="[^"]*\bwarn\b[^"]*">Excess refunded', page), below
    assert "has been refunded since" in (await owner.get(at)).text
    await create(shop, reference="UNPAID")
    for query, found in (("q=is:unrefunded", [exact, under]), ("q=is:unrefunded+is:unusual", [under])):
        assert await references(owner, query) == [one.reference for one in found], query
    assert await references(owner, "q=is:unrefunded&status=initiated") == []
    home = (await owner.get()).text
    assert ("₦20.00 too much" in home, "₦20.00 too little" in home) == (False, True)


@pytest.mark.parametrize(
    "query",
    [
        "q=%25%25'", "q=_%27--", "q=" + "x" * 201, "q=%E2%80%AEabc", "q=is:green", "q=amount:1e3", "q=amount:",
        "q=method:cash", "q=currency:XXX", "q=%3E", "q=%3E%3D", "q=%3D%3E5",
        "status=paidd", "method=cash", "currency=XXX", "from=yesterday", "to=2026-13-01",
    ],
)  # fmt: skip
async def test_a_filter_that_is_not_understood_is_never_ignored(owner: SignedInPerson, query: str) -> None:
    page = await owner.get(f"/payments?{query}", status=422)
    assert "needs a change" in page.text


async def test_a_word_that_the_search_does_not_have_says_which_it_has(owner: SignedInPerson, shop: Shop) -> None:
    await create(shop, reference="INV:2026:1")
    # A reference may look like one.
    assert await references(owner, "q=INV:2026") == ["INV:2026:1"]
    page = (await owner.get("/payments?q=colour:red")).text
    assert "The search has no “colour:”" in page
    assert "email:, ref:, name:, amount:, status:, method:, currency:, is:." in page
    assert "The search has no" not in (await owner.get("/payments?q=ref:colour")).text


async def test_the_file_has_the_whole_filtered_set_and_no_formulas(
    people: People, owner: SignedInPerson, shop: Shop
) -> None:
    for number in range(60):
        await create(shop, reference=f"ORDER-{number}", customer={"name": "=1+1", "email": "a@example.com"})
    await create(shop, reference="OTHER")
    answer = await owner.get("/payments.csv?q=ORDER-")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == 60
    assert {row["customerName"] for row in rows} == {"'=1+1"}
    assert {row["amountExpected"] for row in rows} == {"100"}
    assert "CSV, 60 rows" in (await owner.get("/payments?q=ORDER-")).text
    assert "CSV, 1 row<" in (await owner.get("/payments?q=OTHER")).text
    many = await owner.send("/payments.csv", at="/payments", q="OTHER")
    assert (many.headers["content-type"], len(many.text.splitlines())) == ("text/csv; charset=utf-8", 2)
    assert len(await references(owner, "q=ORDER-")) == 50
    support = await people.person(shop, Role.SUPPORT)
    await support.get("/payments.csv", status=403)


async def test_what_strangers_wrote_is_text(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, admin: Any
) -> None:
    pay_code = await create(shop, customer={"name": XSS[:100], "email": "a@example.com"}, metadata={"note": XSS})
    link = await owner.make_link(name=XSS)
    paid = await new_checkout(shop)
    assert (await paid.charge(card())).status_code == 200
    at = f"/payments/{paid.pay_code}"
    refund = await owner.send(f"{at}/refund", at=at, what="part", amount="1", reason=XSS, note=XSS)
    assert (link.status_code, refund.status_code) == (303, 303)
    await admin.execute("UPDATE business SET name = $1", XSS[:100])
    await admin.execute("UPDATE person SET name = $1", XSS[:100])
    await admin.execute("UPDATE member_session SET browser = $1", XSS)
    pages = [
        owner.path(below) for below in ("", "/payments", f"/payments/{pay_code}", at, "/team", "/audit", "/settings")
    ]
    others = (owner.path("/branding"), link.headers["location"], refund.headers["location"])
    for below in (*pages, *others):
        page = (await owner.client.get(below)).text
        assert "<script>alert" not in page, below
        assert "<img src=x" not in page, below
    security = (await owner.client.get("/dashboard/security")).text
    assert "<script>alert" not in security


async def test_a_key_is_shown_once_and_a_developer_makes_none_that_refunds(
    people: People, owner: SignedInPerson, shop: Shop, admin: Any
) -> None:
    fields = {**await owner.fields("/keys"), "name": "Till", "scope-read": "yes", "scope-refund": "yes"}
    made = await owner.post("/keys", {**fields, "factor": "sandbox"})
    [secret] = set(re.findall(r"sk_test_\w+", made.text))
    # The form is empty again, and a reload of the answer neither makes another key nor shows this one.
    assert 'value="Till"' not in made.text
    again = await owner.post("/keys", {**fields, "token": (await owner.fields("/keys"))["token"]})
    assert (again.status_code, await admin.fetchval("SELECT count(*) FROM credential WHERE name = 'Till'")) == (303, 1)
    assert secret not in (await owner.get("/keys")).text
    assert not await admin.fetchval("SELECT count(*) FROM audit WHERE details::text LIKE '%' || $1 || '%'", secret)
    developer = await people.person(shop, Role.DEVELOPER)
    denied = await developer.send("/keys", at="/keys", name="Till", **{"scope-refund": "yes"})
    assert denied.status_code == 403
    allowed = await developer.send("/keys", at="/keys", name="Reader", **{"scope-read": "yes"})
    assert allowed.status_code == 200
    key_id = await admin.fetchval("SELECT id FROM credential WHERE name = 'Till'")
    assert (await developer.send(f"/keys/{key_id}", at="/keys", what="roll", overlap="7")).status_code == 403
    # Nor has its page the buttons for it; those of its own key it has.
    changed = [re.findall(r'action="[^"]*/keys/(\d+)"', (await one.get("/keys")).text) for one in (developer, owner)]
    own = await admin.fetchval("SELECT id FROM credential WHERE name = 'Reader'")
    assert (set(changed[0]), {str(key_id), str(own)} < set(changed[1])) == ({str(own)}, True)
    assert (await owner.send(f"/keys/{key_id}", at="/keys", what="revoke")).status_code == 303
    assert (await owner.send("/keys", at="/keys", name="Nothing")).status_code == 422


async def test_home_counts_the_same_before_and_after_the_roll_up(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    for _ in range(2):
        assert (await (await new_checkout(shop)).charge(card())).status_code == 200
    assert "200.00</a></p>" in (await owner.get()).text
    assert (await RollUp(settled_s=0)(db)).done == 2
    assert (await RollUp(settled_s=0)(db)).done == 0
    assert await admin.fetchval("SELECT sum(received_minor) FROM takings") == 20_000
    assert (await (await new_checkout(shop)).charge(card())).status_code == 200
    assert "300.00</a></p>" in (await owner.get()).text
    async with db.connection() as tx:
        assert await home_store.list_wrong_takings(tx) == []
        await admin.execute("UPDATE takings SET received_minor = received_minor + 1")
        assert await home_store.list_wrong_takings(tx) == [shop.business_id]
        await admin.execute("UPDATE takings SET received_minor = received_minor - 1")


async def test_the_roll_up_passes_no_journal_that_is_too_young(
    shop: Shop, new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    """By the database's clock, which numbers them: that of a machine may be an hour behind it."""
    for _ in range(3):
        assert (await (await new_checkout(shop)).charge(card())).status_code == 200
    await admin.execute(f"UPDATE journal SET {earlier('created_at', '1 hour')}")
    booked = "SELECT timestamptz '2020-01-01Z' + max(id) * interval '1 microsecond' FROM journal"
    async with db.transaction() as tx:
        recently = await home_store.database_time(tx) - timedelta(minutes=10)
        assert await home_store.list_behind(tx, before=recently, limit=1) == []
        assert await home_store.roll_up(tx, shop.business_id, before=recently, limit=10) == 0
        newest = await admin.fetchval(booked)
        assert await home_store.roll_up(tx, shop.business_id, before=newest, limit=10) == 2
        assert await home_store.list_behind(tx, before=newest, limit=1) == []
    assert (await RollUp(settled_s=0)(db)).done == 1
    assert await admin.fetchval("SELECT sum(payments) FROM takings") == 3


async def test_what_was_not_delivered_is_counted_and_sent_again(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, admin: Any
) -> None:
    assert (
        await owner.send("/webhooks/endpoints", at="/webhooks", url="http://localhost:8123/hooks")
    ).status_code == 200
    assert (await (await new_checkout(shop)).charge(card())).status_code == 200
    await admin.execute("UPDATE event SET is_fanned_out = true")
    assert "1 delivery would be sent" in (await owner.get("/webhooks/replay")).text
    since = "2020-01-01T00:00"
    done = await owner.send("/webhooks/replay", at="/webhooks/replay", since=since, which="failed")
    assert done.status_code == 303
    assert await admin.fetchval("SELECT count(*) FROM webhook_delivery WHERE status = 'pending'") == 1
    for wrong in ({"since": "soon"}, {"which": "some"}, {"endpoint": "ep_none"}):
        fields = {"since": since, "which": "failed", **wrong}
        assert (await owner.send("/webhooks/replay", at="/webhooks/replay", **fields)).status_code == 422


async def test_a_search_is_for_the_letters_that_were_typed(owner: SignedInPerson, shop: Shop) -> None:
    """No letter of it is a pattern, and none ends it; what no name can have is refused."""
    names = [
        "100% Cotton", "A_B Stores", "O'Neill", "M&S (Lagos) Ltd", "\u05d0\u05d1\u05d2", "\u0627\u0644\u0641",
        "\u0939\u093f\u0928\u094d\u0926\u0940",
    ]  # fmt: skip
    for name in names:
        await create(shop, reference=f"R-{ord(name[0])}", customer={"name": name, "email": "a@example.com"})
    for typed, found in [
        *[(name, [f"R-{ord(name[0])}"]) for name in names],
        ("o'neill", ["R-79"]), ("%", []), ("1%_", []), ("1_0", []), ("O''", []), ("'; DROP TABLE payment; --", []),
    ]:  # fmt: skip
        answer = await owner.client.get(owner.path("/payments"), params={"q": typed})
        shown = re.findall(r'/payments/tg_\w+">([^<]+)</a>', answer.text)
        is_refused = typed in ("%", "_") or "DROP" in typed
        assert (answer.status_code, shown) == (422 if is_refused else 200, [] if is_refused else found), typed
    for typed in ("x" * 10_000, "a\0b", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1")):
        answer = await owner.client.get(owner.path("/payments"), params={"q": typed})
        assert (answer.status_code, "/payments/tg_" in answer.text) in [(one, False) for one in (200, 414, 422)]


async def test_a_webhook_at_a_forbidden_address_is_refused_with_why(owner: SignedInPerson, people: People) -> None:
    own = people.base_url
    for url in ("file:///etc/passwd", "http://169.254.169.254/", "javascript:alert(1)", "x", f"{own}/intake/sandbox"):
        answer = await owner.send("/webhooks/endpoints", at="/webhooks", url=url)
        assert answer.status_code == 422, url
        assert "needs a change" in answer.text


async def test_each_key_says_who_made_it(people: People, shop: Shop, db: Database) -> None:
    owner = await people.person(shop, Role.OWNER, name="Ada Obi")
    developer = await people.person(shop, Role.DEVELOPER, name="Kemi Ade")
    await developer.send("/keys", at="/keys", name="Reader", **{"scope-read": "yes"})
    terms = terms_of(KeyRequest(name="Made by command", scopes=["read"]), now=people.now())
    async with db.transaction() as tx:
        await merchants.make_key(tx, shop.business_id, terms, mode=Mode.SANDBOX, by=OPERATOR, now=people.now())
    key_id = await people.admin.fetchval("SELECT id FROM credential WHERE name = 'Reader'")
    await owner.send(f"/keys/{key_id}", at="/keys", what="roll", overlap="7")
    page = unescape((await owner.get("/keys")).text)
    lines = [re.sub(r"\s+", " ", line) for line in page.partition('aria-label="Keys"')[2].split("<li>")[1:]]
    # The newest first; the two that came with the business last.
    assert [re.findall(r"<b>([^<]+)</b>.* made by ([A-Z][\w' ]+?) \d", line)[0] for line in lines] == [
        ("Reader", "Ada Obi"),
        ("Made by command", "Tidegate's operator"),
        ("Reader", "Kemi Ade"),
        ("Public key", "Tidegate's operator"),
        ("Secret key", "Tidegate's operator"),
    ]


async def test_a_key_is_made_with_its_refund_limit(owner: SignedInPerson, admin: Any) -> None:
    fields = {"name": "Till", "scope-refund": "yes", "limit-NGN": "5000", "limit-KES": "70"}
    assert (await owner.send("/keys", at="/keys", **fields)).status_code == 200
    limits = await admin.fetchval("SELECT refund_max FROM credential WHERE name = 'Till'")
    assert json.loads(limits) == {"NGN": 5_000_00, "KES": 70_00}
    assert "one refund up to ₦5,000.00 or KSh 70.00" in (await owner.get("/keys")).text


@pytest.mark.parametrize("wrong", [{"limit-NGN": "5,000"}, {"limit-NGN": "-1"}, {"limit-NGN": "5", "scope-refund": ""}])
async def test_a_wrong_refund_limit_makes_no_key(owner: SignedInPerson, admin: Any, wrong: dict[str, str]) -> None:
    fields = {"name": "Till", "scope-read": "yes", "scope-refund": "yes", **wrong}
    answer = await owner.send("/keys", at="/keys", **fields)
    assert (answer.status_code, '<a href="#f-limit-NGN">' in answer.text) == (422, True)
    assert f'value="{wrong["limit-NGN"]}"' in answer.text
    assert await admin.fetchval("SELECT count(*) FROM credential WHERE name = 'Till'") == 0
