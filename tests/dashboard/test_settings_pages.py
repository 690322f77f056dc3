"""Settings with the rehearsal of the variance policy; branding with its preview and the logo."""

from __future__ import annotations

import io
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from build import Shop
from cli.operating import Operator
from conftest import MakeCheckout
from dashboard.people import People, SignedInPerson
from tidegate.core.errors import Invalid, Problem
from tidegate.dashboard.problem import problems_of
from tidegate.member.permission import Role
from tidegate.payment_link.model import LinkFault

BRAND = {"name": "Kente & Co", "accent": "#aa3311", "support_email": "help@kente.example", "support_phone": ""}

pytestmark = pytest.mark.usefixtures("unlimited")


async def test_another_policy_is_tried_on_what_really_arrived(
    owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout, admin: Any
) -> None:
    over = await new_checkout(shop, amount=10_000)
    await over.transfer(await over.account(), "12000.00")
    exact = await new_checkout(shop, amount=10_000)
    await exact.transfer(await exact.account(), "10000.00")
    before = await admin.fetchval("SELECT variance_policy FROM business WHERE id = $1", shop.business_id)
    page = (await owner.get("/settings?rehearse=return")).text
    assert "1 of 2 paid by transfer would have ended differently" in page
    assert "Now paid with ₦12,000.00; then paid with ₦10,000.00, ₦2,000.00 sent back." in page
    assert before == await admin.fetchval("SELECT variance_policy FROM business WHERE id = $1", shop.business_id)
    assert "would have ended" not in (await owner.get(f"/settings?rehearse={before}")).text
    await owner.get("/settings?rehearse=x", status=422)


def picture(side_px: int, kind: str = "PNG") -> bytes:
    drawn = io.BytesIO()
    Image.new("RGB", (side_px, side_px), "#aa3311").save(drawn, kind)
    return drawn.getvalue()


async def send_brand(owner: SignedInPerson, logo: bytes | None = None, **fields: str) -> Any:
    sent = {**await owner.fields("/branding"), **BRAND, "what": "save", **fields}
    files = {"logo": ("<img src=x>.png", logo or b"", "image/png")}
    return await owner.client.post(owner.path("/branding"), data=sent, files=files)


async def test_a_brand_is_saved_with_its_logo(owner: SignedInPerson, shop: Shop, admin: Any) -> None:
    polyglot = picture(64) + b"<script>alert(1)</script>"
    assert (await send_brand(owner, polyglot)).status_code == 303
    row = await admin.fetchrow("SELECT * FROM business WHERE id = $1", shop.business_id)
    assert (row["name"], row["accent"], row["support_email"]) == ("Kente & Co", "#aa3311", "help@kente.example")
    body = await admin.fetchval("SELECT body FROM business_logo WHERE business_id = $1", shop.business_id)
    assert b"script" not in body
    assert (await send_brand(owner, remove_logo="yes")).status_code == 303
    assert await admin.fetchval("SELECT logo_hash FROM business WHERE id = $1", shop.business_id) is None


@pytest.mark.parametrize(
    ("logo", "words"),
    [
        (b'<svg xmlns="http://www.w3.org/2000/svg"/>', "must not be SVG"),
        (picture(1), "32 to 1024 pixels"),
        (b"GIF89a", "must be a PNG, JPEG or WebP"),
        (picture(64)[:60], "damaged"),
        (bytes(101 * 1024), "at most 100 kB"),
    ],
)
async def test_a_file_that_is_no_logo_is_refused(
    owner: SignedInPerson, shop: Shop, admin: Any, logo: bytes, words: str
) -> None:
    refused = await send_brand(owner, logo)
    assert (refused.status_code, words in refused.text, "help@kente.example" in refused.text) == (422, True, True)
    assert await admin.fetchval("SELECT accent FROM business WHERE id = $1", shop.business_id) is None


async def test_a_form_is_bounded_before_it_is_parsed(owner: SignedInPerson) -> None:
    too_large = await send_brand(owner, bytes(20 * 1024 * 1024))
    assert (too_large.status_code, "Choose one of at most 100 kB" in too_large.text) == (413, True)
    head = {"content-type": "multipart/form-data; boundary=x"}
    for body in (b"", b"--x\r\n", b"nonsense", b"--x\r\ncontent-disposition: form-data\r\n\r\nv\r\n--x--"):
        answer = await owner.client.post(owner.path("/branding"), content=body, headers=head)
        assert answer.status_code in (400, 403), body


async def test_the_preview_is_the_payers_own_page_and_saves_nothing(
    owner: SignedInPerson, shop: Shop, admin: Any
) -> None:
    tried = await send_brand(owner, what="preview")
    page = await owner.client.get(tried.headers["location"])
    assert "frame-src 'self'" in page.headers["content-security-policy"]
    assert "frame-src 'none'" in (await owner.get("/team")).headers["content-security-policy"]
    for state in ("choose", "paid", "cancelled", "expired"):
        shown = await owner.get(f"/branding/preview?name=Kente+%3Cb%3E&accent=%23aa3311&state={state}")
        assert "Kente &lt;b&gt;" in shown.text
        assert "--accent:#aa3311" in shown.text
        assert f"frame-ancestors {owner.client.base_url}".rstrip("/") in shown.headers["content-security-policy"]
    assert await admin.fetchval("SELECT accent FROM business WHERE id = $1", shop.business_id) is None
    assert "@media (prefers" not in (await owner.get("/branding/preview?theme=dark")).text
    wrong = await owner.get("/branding/preview?accent=%22%3E%3Cscript%3E&state=none")
    assert "<script>" not in wrong.text.replace("<script src", "")


async def test_wrong_limits_keep_what_was_typed_and_lead_to_each_field(owner: SignedInPerson, admin: Any) -> None:
    typed = {"limit-NGN": "5,000", "limit-KES": "70.00", "limit-GHS": "none"}
    answer = await owner.send("/settings/limits", at="/settings", **typed)
    assert answer.status_code == 422
    assert re.findall(r'<a href="#(f-limit-\w+)">', answer.text) == ["f-limit-NGN", "f-limit-GHS"]
    for name, text in typed.items():
        assert re.search(rf'id="f-{name}" name="{name}" type="text" value="{text}"', answer.text), name
    assert await admin.fetchval("SELECT count(*) FROM refund_limit") == 0
    assert "For each refund by itself" in answer.text


async def test_who_may_not_save_may_not_type(owner: SignedInPerson, people: People, shop: Shop) -> None:
    viewer = await people.person(shop, Role.VIEWER)
    fields = ("session", "zone", "limit-NGN")
    for person, is_open in ((owner, True), (viewer, False)):
        text = (await person.get("/settings")).text
        found = {name: re.search(rf'<input[^>]* name="{name}"[^>]*>', text) for name in fields}
        assert [name for name, tag in found.items() if tag and ("readonly" not in tag[0]) is not is_open] == []
        assert all(found.values())


# With each, the words of the page that say what is wrong.
API_WORDS = [
    (
        "/links/new",
        {"name": "A", "kind": "reusable", "currency": "NGN", "amountMin": "9", "amountMax": "2"},
        "The greatest amount must be at least 9, which is the least amount.",
    ),
    (
        "/links/new",
        {"name": "A", "kind": "reusable", "currency": "NGN", "amount": "9", "amountMin": "2"},
        "Give the amount, or the least and the greatest; not both.",
    ),
    (
        "/links/new",
        {"name": "A", "kind": "one_off", "currency": "NGN", "amount": "9", "paymentsMax": "3"},
        "A link that is paid once has no number here",
    ),
    ("/accounts/new", {"currency": "EUR", "account_type": "individual"}, "The first name is needed."),
    ("/payments/new", {"currency": "NGN", "amount": "x", "reference": "a b"}, "The amount must be"),
    ("/keys", {"name": "Shop"}, "What the key may do must be one or more"),
]


def test_every_fault_of_a_link_has_words_of_its_form() -> None:
    said = {kind: problems_of(Invalid(Problem("amount", "of the API", kind=kind)))[0][1] for kind in LinkFault}
    assert len(set(said.values())) == len(LinkFault)
    assert not any("of the API" in words for words in said.values())


@pytest.mark.parametrize(("at", "fields", "words"), API_WORDS)
async def test_a_form_speaks_of_its_labels_and_not_of_the_apis_fields(
    owner: SignedInPerson, at: str, fields: dict[str, str], words: str
) -> None:
    answer = await owner.send(at, at=at, **fields)
    assert answer.status_code == 422
    said = unescape(answer.text.partition('id="problems"')[2].partition("</div>")[0])
    assert words in said
    assert re.findall(r"\b[a-z]+[A-Z]\w*|\w+_\w+", re.sub(r'href="[^"]*"', "", said)) == []


async def test_the_fee_bearer_is_set_by_the_business_and_by_command(
    owner: SignedInPerson, shop: Shop, database_url: str, tmp_path: Path
) -> None:
    form = {"policy": "accept", "zone": "Africa/Lagos", "session": "60"}
    wrong = await owner.send("/settings", at="/settings", **form, bearer="nobody")
    assert (wrong.status_code, '<a href="#f-bearer">' in wrong.text) == (422, True)
    assert (await owner.send("/settings", at="/settings", **form, bearer="customer")).status_code == 303
    made = await owner.send("/links/new", at="/links/new", name="Ticket", kind="reusable", currency="NGN", amount="100")
    assert made.status_code == 303
    for at in ("/settings", "/payments/new"):
        chosen = re.findall(r'name="(?:bearer|feeBearer)" value="(\w+)" checked', (await owner.get(at)).text)
        assert chosen == ["customer"], at
    headers = {"api-key": shop.secret_key}
    [link] = (await shop.client.get("/checkout/payment-links", headers=headers)).json()["data"]["results"]
    assert link["feeBearer"] == "customer"
    operator = Operator(database_url, tmp_path)
    assert (await operator.json("merchant", "set", shop.business_id, "--fee-bearer", "business"))[
        "feeBearer"
    ] == "business"
    assert "who pays the fee: business → customer" in (await owner.get("/audit")).text
