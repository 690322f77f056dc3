"""Signing in leads to the page that was asked for, with its filters; and to no page that is not ours."""

from __future__ import annotations

import html
import re
from datetime import timedelta

import httpx
import pyotp
import pytest

from console.people import StaffPeople
from dashboard.people import TOKEN, People, SignedInPerson
from member.test_passkeys import ENROL, OPTIONS, Keyholder, at_name, keyholder, named_url
from member.test_sign_in import GOOD, enrolled, joined
from tidegate.dashboard.next_page import NEXT_CHARS_MAX, keeping, next_in
from tidegate.member.password import PasswordHashing
from tidegate.staff.permission import StaffRole

__all__ = ["at_name", "keyholder", "named_url"]

pytestmark = pytest.mark.usefixtures("unlimited")

BELOW = "/payments?q=ref%3AORDER-1+%3E%3D50&status=failed"


async def send(browser: httpx.AsyncClient, address: str, **fields: str) -> httpx.Response:
    """From the page at an address, with what it has in hidden fields."""
    page = await browser.get(address)
    assert page.status_code == 200, (address, page.status_code)
    given = {"token": TOKEN.findall(page.text)[0], "next": after_in(page)}
    return await browser.post(address.partition("?")[0], data={**given, **fields})


def after_in(page: httpx.Response) -> str:
    return html.unescape(re.findall(r'name="next" value="([^"]*)"', page.text)[0])


async def test_a_password_leads_to_the_page_that_was_asked_for(people: People, owner: SignedInPerson) -> None:
    _, email = await joined(people, owner)
    browser = people.browser()
    asked = await browser.get(owner.path(BELOW))
    address = asked.headers["location"]
    assert address.startswith("/dashboard/sign-in?next=")
    wrong = await send(browser, address, email=email, password="no such lantern at all")
    assert (wrong.status_code, after_in(wrong)) == (422, owner.path(BELOW))
    answer = await send(browser, address, email=email, password=GOOD)
    assert answer.headers["location"] == owner.path(BELOW)
    assert (await browser.get(answer.headers["location"])).status_code == 200


async def test_a_code_leads_there_too(people: People, owner: SignedInPerson) -> None:
    _, email, secret, *_ = await enrolled(people, owner)
    browser = people.browser()
    asked = await browser.get(owner.path(BELOW))
    answer = await send(browser, asked.headers["location"], email=email, password=GOOD)
    address = answer.headers["location"]
    assert address.startswith("/dashboard/second-factor?next=")
    # Whatever page is opened meanwhile asks for the code first.
    other = (await browser.get(owner.path("/refunds?status=failed"))).headers["location"]
    assert after_in(await browser.get(other)) == owner.path("/refunds?status=failed")
    wrong = await send(browser, address, code="000000x")
    assert (wrong.status_code, after_in(wrong)) == (422, owner.path(BELOW))
    later = pyotp.TOTP(secret).at(people.now() + timedelta(seconds=30))
    answer = await send(browser, address, code=later)
    assert answer.headers["location"] == owner.path(BELOW)
    # The page of the code, opened again, has nothing to ask.
    assert (await browser.get(address)).headers["location"] == owner.path(BELOW)


async def test_setting_up_the_second_step_leads_there(people: People, owner: SignedInPerson) -> None:
    browser, _ = await joined(people, owner, "finance")
    address = (await browser.get(owner.path(BELOW))).headers["location"]
    page = (await browser.get(address)).text
    secret = re.findall(r"<code>([A-Z2-7 ]+)</code>", page)[0].replace(" ", "")
    wrong = await send(browser, address, code="000000x")
    assert (wrong.status_code, after_in(wrong)) == (422, owner.path(BELOW))
    done = await send(browser, address, code=pyotp.TOTP(secret).now())
    assert f'href="{html.escape(owner.path(BELOW))}">I have kept them' in done.text


async def test_a_passkey_leads_there(at_name: People, owner: SignedInPerson, keyholder: Keyholder) -> None:
    browser = at_name.browser()
    address = (await browser.get(owner.path(BELOW))).headers["location"]
    page = (await browser.get(address)).text
    # With a passkey alone, and after the password.
    assert page.count('name="next"') == 2
    options = html.unescape(OPTIONS.findall(page)[0])
    answer = await send(browser, address, passkey=keyholder.authenticator.get(options))
    assert answer.headers["location"] == owner.path(BELOW)
    second = at_name.browser()
    address = (await send(second, address, email=keyholder.email, password=GOOD)).headers["location"]
    page = (await second.get(address)).text
    assert page.count('name="next"') == 2
    options = html.unescape(OPTIONS.findall(page)[0])
    answer = await send(second, address, passkey=keyholder.authenticator.get(options))
    assert answer.headers["location"] == owner.path(BELOW)
    assert ENROL not in answer.headers["location"]


async def test_a_form_of_an_ended_session_leads_to_its_page(people: People, owner: SignedInPerson) -> None:
    _, email = await joined(people, owner)
    browser = people.browser()
    asked = await browser.post(owner.path("/views/7"), data={"name": "x"})
    answer = await send(browser, asked.headers["location"], email=email, password=GOOD)
    assert answer.headers["location"] == owner.path("/views/7")
    assert (await browser.get(answer.headers["location"])).headers["location"] == owner.path("/payments")


async def test_the_pages_beside_a_business_are_come_back_to(people: People, owner: SignedInPerson) -> None:
    browser = people.browser()
    for path in ("/dashboard/security", "/dashboard/two-step", "/dashboard/confirm?next=/dashboard/security"):
        page = await browser.get((await browser.get(path)).headers["location"])
        assert after_in(page) == path
    # These are no pages to come back to.
    assert (await browser.get("/dashboard")).headers["location"] == "/dashboard/sign-in"
    assert (await browser.post("/dashboard/sign-out", data={"token": "x"})).headers["location"] == "/dashboard/sign-in"
    asked = await browser.get(f"/dashboard/second-factor?next={owner.path('/refunds')}")
    assert asked.headers["location"] == f"/dashboard/sign-in?next={owner.path('/refunds')}"


async def test_the_console_leads_there_too(people: People, staff: StaffPeople) -> None:
    person = await staff.person(StaffRole.OPERATOR)
    await people.admin.execute(
        "UPDATE person SET password_hash = $2 WHERE id = $1", person.member.id, await PasswordHashing().hash(GOOD)
    )
    browser, below = people.browser(), "/console/find?q=ORDER-1&page=2"
    asked = await browser.get(below)
    answer = await send(browser, asked.headers["location"], email=person.member.email, password=GOOD)
    assert answer.headers["location"] == below
    asked = await browser.get(below)
    page = await browser.get(asked.headers["location"])
    assert (page.url.path, after_in(page)) == ("/console/two-step", below)


@pytest.mark.parametrize(
    "below",
    ["", "/AbCd5", "/AbCd5/payments/ORDER-1.a=b:c", "/AbCd5/payments?q=%3E5&from=2026-11-01", "/x?next=//evil.example",
     "/x/%C3%A9?q=a'b|c"],
)  # fmt: skip
def test_a_page_of_ours_is_kept(below: str) -> None:
    assert next_in(f"/dashboard{below}", "/dashboard") == f"/dashboard{below}"


@pytest.mark.parametrize(
    "text",
    ["", "//evil.example", "/\\evil.example", "https://evil.example", "/dashboardx", "/dashboard.evil.example",
     "/dashboard@evil.example", "/dashboard//evil.example", "/dashboard/../console", "/dashboard/.",
     "/dashboard/%2e%2E/x",
     "/dashboard/%2F%2fevil.example", "/dashboard/%5Cevil", "/dashboard/%0d%0aset-cookie:x", "/dashboard/a b",
     "/dashboard/\r\nset-cookie:x", "/dashboard/x\n", "/dashboard/é", "/dashboard/%zz", "javascript:alert(1)",
     "/console", "/dashboard/" + "x" * NEXT_CHARS_MAX],
)  # fmt: skip
def test_everything_else_leads_home(text: str) -> None:
    assert next_in(text, "/dashboard") == "/dashboard"
    assert keeping("/dashboard/sign-in", text, "/dashboard") == "/dashboard/sign-in"


@pytest.mark.parametrize("query", ["a\r\nb", "a b", "%00", "a%0Ab", "%7f", "%", "\\", "<script>", "x" * NEXT_CHARS_MAX])
def test_of_what_cannot_be_kept_the_page_is(query: str) -> None:
    assert next_in(f"/dashboard/AbCd5/payments?q={query}", "/dashboard") == "/dashboard/AbCd5/payments"
