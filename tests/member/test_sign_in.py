"""Signing in: what is known about nobody, what works once, and what ends at once."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import asyncpg
import httpx
import pyotp
import pytest

from build import Shop
from dashboard.people import TOKEN, People, SignedInPerson
from earlier import earlier
from tidegate.member import sandbox_people
from tidegate.member.permission import Role
from waiting import until

GOOD = "seven green lanterns over Yaba"


async def form(client: httpx.AsyncClient, path: str, **fields: str) -> httpx.Response:
    page = await client.get(path)
    assert page.status_code == 200, (path, page.status_code)
    return await client.post(path, data={"token": TOKEN.findall(page.text)[0], **fields})


async def mailed_link(admin: Any, kind: str) -> str:
    """The newest link of this kind in the outbox, once there is one."""
    found: list[str] = []

    async def is_there() -> bool:
        texts = await admin.fetch("SELECT text_body FROM mail ORDER BY id DESC")
        found[:] = [link for row in texts for link in re.findall(rf"/dashboard/{kind}/[\w-]+", row["text_body"] or "")]
        return bool(found)

    await until(is_there)
    return found[0]


async def joined(people: People, owner: SignedInPerson, role: str = "viewer") -> tuple[httpx.AsyncClient, str]:
    """Somebody new, with a password, in a browser that is signed in."""
    email = f"{role}@new.example"
    answer = await owner.send("/team/invitations", at="/team", email=email, role=role)
    assert answer.status_code == 200, answer.text[-500:]
    browser = people.browser()
    done = await form(browser, await mailed_link(people.admin, "invitation"), name="Grace Danjuma", password=GOOD)
    assert done.status_code == 303, done.text[-800:]
    return browser, email


pytestmark = pytest.mark.usefixtures("unlimited")


async def test_an_invitation_makes_a_member_once(people: People, owner: SignedInPerson) -> None:
    browser, _ = await joined(people, owner)
    assert (await browser.get(owner.path())).status_code == 200
    link = await mailed_link(people.admin, "invitation")
    assert (await people.browser().get(link)).status_code == 404
    assert (await browser.get(owner.path("/keys-of-others"))).status_code == 404


@pytest.mark.parametrize("password", ["short", "password1234", "aaaaaaaaaaaaaaaa", "grace danjuma new", "x" * 129])
async def test_a_password_that_is_soon_guessed_is_refused(people: People, owner: SignedInPerson, password: str) -> None:
    await owner.send("/team/invitations", at="/team", email="g@new.example", role="viewer")
    link = await mailed_link(people.admin, "invitation")
    answer = await form(people.browser(), link, name="Grace Danjuma", password=password)
    assert answer.status_code == 422
    assert password not in answer.text
    assert await people.admin.fetchval("SELECT count(*) FROM person WHERE email = 'g@new.example'") == 0


async def test_a_known_and_an_unknown_address_look_the_same(people: People, owner: SignedInPerson) -> None:
    _, email = await joined(people, owner)
    browser = people.browser()
    texts = []
    for address in (email, "nobody@new.example"):
        wrong = await form(browser, "/dashboard/sign-in", email=address, password="x" * 14)
        forgot = await form(browser, "/dashboard/forgot", email=address)
        assert (wrong.status_code, forgot.status_code) == (422, 200)
        texts.append([re.sub(TOKEN.pattern, "", page.text).replace(address, "") for page in (wrong, forgot)])
        texts[-1] = [re.sub(r'nonce="[^"]+"', "", text) for text in texts[-1]]
    assert texts[0] == texts[1]
    await mailed_link(people.admin, "reset")


async def test_what_only_a_known_address_has_to_write_is_written_after_the_answer(
    people: People, owner: SignedInPerson, database_url: str
) -> None:
    """Otherwise the time of the answer would tell."""
    _, email = await joined(people, owner)
    other = await asyncpg.connect(database_url)
    async with other.transaction():
        await other.execute("LOCK TABLE one_time_link IN ACCESS EXCLUSIVE MODE")
        assert (await form(people.browser(), "/dashboard/forgot", email=email)).status_code == 200
    await other.close()
    assert await mailed_link(people.admin, "reset")


async def test_a_visit_is_noted_after_the_answer(people: People, owner: SignedInPerson, database_url: str) -> None:
    """Which would wait for the disk otherwise, or for another one who notes it."""
    await people.admin.execute(f"UPDATE member_session SET {earlier('seen_at', '2 minutes')}")
    before = await people.admin.fetchval("SELECT seen_at FROM member_session")
    other = await asyncpg.connect(database_url)
    async with other.transaction():
        await other.execute("LOCK TABLE member_session IN SHARE MODE")
        await owner.get("/payments")
    await other.close()

    async def is_noted() -> bool:
        return bool(await people.admin.fetchval("SELECT seen_at > $1 FROM member_session", before))

    await until(is_noted)


async def test_an_invitation_says_all_that_is_wrong_at_once(people: People, owner: SignedInPerson) -> None:
    await owner.send("/team/invitations", at="/team", email="g@new.example", role="viewer")
    answer = await form(people.browser(), await mailed_link(people.admin, "invitation"), name="", password="short")
    assert (answer.status_code, 'id="w-name"' in answer.text, 'id="w-password"' in answer.text) == (422, True, True)


@pytest.mark.parametrize("email", ["x@y", "ada@localhost", "ada@example..com", "ada", "a b@example.com"])
async def test_an_address_without_a_whole_domain_is_not_invited(owner: SignedInPerson, email: str) -> None:
    answer = await owner.send("/team/invitations", at="/team", email=email, role="viewer")
    assert (answer.status_code, "Enter an e-mail address" in answer.text) == (422, True)


async def test_the_id_of_a_session_before_signing_in_is_worth_nothing(people: People, owner: SignedInPerson) -> None:
    browser, email = await joined(people, owner)
    old = browser.cookies["tidegate-session"]
    assert (await form(browser, "/dashboard/sign-in", email=email, password=GOOD)).status_code == 303
    assert browser.cookies["tidegate-session"] != old
    answer = await form(people.browser(), "/dashboard/sign-in", email=email, password=GOOD, next="//evil.example")
    assert answer.headers["location"] == "/dashboard"
    for line in answer.headers.get_list("set-cookie"):
        assert "HttpOnly" in line
        assert "SameSite=Lax" in line


@pytest.mark.parametrize(
    "after", ["//evil.example", "/\\evil.example", "https://evil.example", "/dashboard/%0d%0aset-cookie:x", "/x"]
)
async def test_signing_in_leads_to_our_own_pages_alone(people: People, after: str) -> None:
    page = await people.browser().get("/dashboard/sign-in", params={"next": after})
    assert 'name="next" value="/dashboard"' in page.text


async def test_a_new_password_by_mail_works_once_and_ends_all_sessions(people: People, owner: SignedInPerson) -> None:
    browser, email = await joined(people, owner)
    assert (await form(people.browser(), "/dashboard/forgot", email=email)).status_code == 200
    link = await mailed_link(people.admin, "reset")
    for _ in range(2):  # Looking spends nothing.
        assert (await people.browser().get(link)).status_code == 200
    new = "four grey herons below Lokoja"
    assert (await form(people.browser(), link, password=new)).status_code == 303
    assert (await people.browser().get(link)).status_code == 404
    assert (await browser.get(owner.path())).status_code == 303
    assert (await form(people.browser(), "/dashboard/sign-in", email=email, password=GOOD)).status_code == 422
    assert (await form(people.browser(), "/dashboard/sign-in", email=email, password=new)).status_code == 303
    subjects = await people.admin.fetch("SELECT subject FROM mail WHERE recipient = $1", email)
    assert "Tidegate: your password was changed" in [row["subject"] for row in subjects]


async def test_a_late_link_is_refused(people: People, owner: SignedInPerson) -> None:
    _, email = await joined(people, owner)
    await form(people.browser(), "/dashboard/forgot", email=email)
    link = await mailed_link(people.admin, "reset")
    await people.admin.execute("UPDATE one_time_link SET expires_at = now()")
    assert (await people.browser().get(link)).status_code == 404


async def enrolled(people: People, owner: SignedInPerson) -> tuple[httpx.AsyncClient, str, str, list[str], str]:
    """A browser of a developer with codes; the address, the secret, the recovery codes and the code that was used."""
    browser, email = await joined(people, owner, "developer")
    # Nothing opens before enrolment.
    assert (await browser.get(owner.path())).headers["location"] == f"/dashboard/two-step?next={owner.path()}"
    page = await browser.get("/dashboard/two-step")
    secret = re.findall(r"<code>([A-Z2-7 ]+)</code>", page.text)[0].replace(" ", "")
    used = pyotp.TOTP(secret).now()
    done = await form(browser, "/dashboard/two-step", code=used)
    codes = re.findall(r"<li>([a-z2-7-]{19})</li>", done.text)
    assert (done.status_code, len(codes)) == (200, 10)
    return browser, email, secret, codes, used


async def test_a_code_works_once_and_a_recovery_code_once(people: People, owner: SignedInPerson) -> None:
    browser, email, secret, codes, used = await enrolled(people, owner)
    assert (await browser.get(owner.path())).status_code == 200
    again = people.browser()
    first = await form(again, "/dashboard/sign-in", email=email, password=GOOD)
    assert first.headers["location"] == "/dashboard/second-factor"
    assert (await again.get(owner.path())).headers["location"] == f"/dashboard/second-factor?next={owner.path()}"
    # The code of the enrolment was used; codes of another secret and of another time are wrong.
    for code in (used, pyotp.TOTP(pyotp.random_base32()).now(), "000000x", ""):
        assert (await form(again, "/dashboard/second-factor", code=code)).status_code == 422
    assert (await form(again, "/dashboard/second-factor", code=codes[0].upper())).status_code == 303
    assert (await again.get(owner.path())).status_code == 200
    third = people.browser()
    await form(third, "/dashboard/sign-in", email=email, password=GOOD)
    for code in (codes[0], pyotp.TOTP(secret).at(people.now() - timedelta(minutes=10))):
        assert (await form(third, "/dashboard/second-factor", code=code)).status_code == 422
    later = pyotp.TOTP(secret).at(people.now() + timedelta(seconds=30))
    assert (await form(third, "/dashboard/second-factor", code=later)).status_code == 303


async def test_after_five_wrong_codes_it_begins_from_the_password(people: People, owner: SignedInPerson) -> None:
    _, email, *_ = await enrolled(people, owner)
    browser = people.browser()
    await form(browser, "/dashboard/sign-in", email=email, password=GOOD)
    for _ in range(5):
        await form(browser, "/dashboard/second-factor", code="000000")
    assert (await browser.get("/dashboard/second-factor")).headers["location"] == "/dashboard/sign-in"


async def test_sign_out_role_change_and_removal_act_at_once(people: People, owner: SignedInPerson) -> None:
    browser, email = await joined(people, owner)
    person_id = await people.admin.fetchval("SELECT id FROM person WHERE email = $1", email)
    assert (await owner.send(f"/team/{person_id}", at="/team", what="role", role="support")).status_code == 303
    assert (await browser.get(owner.path())).status_code == 303
    await form(browser, "/dashboard/sign-in", email=email, password=GOOD)
    assert (await browser.get(owner.path())).status_code == 200
    assert (await owner.send(f"/team/{person_id}", at="/team", what="remove")).status_code == 303
    assert (await browser.get(owner.path())).status_code == 303
    token = TOKEN.findall((await owner.get()).text)[0]
    assert (await owner.client.post("/dashboard/sign-out", data={"token": token})).status_code == 303
    assert (await owner.client.get(owner.path())).status_code == 303


async def test_idle_and_old_sessions_end(people: People, owner: SignedInPerson) -> None:
    for column, length in (("seen_at", "31 minutes"), ("created_at", "13 hours")):
        person = await people.person(await people.shop_of(owner), Role.VIEWER)
        assert (await person.client.get(person.path())).status_code == 200
        await people.admin.execute(
            f"UPDATE member_session SET {column} = now() - interval '{length}' WHERE person_id = $1",
            person.member.id,
        )
        assert (await person.client.get(person.path())).status_code == 303


async def test_nobody_gives_a_role_above_their_own_and_the_last_owner_stays(
    people: People, owner: SignedInPerson, shop: Shop
) -> None:
    admin = await people.person(shop, Role.ADMIN)
    assert (await admin.send("/team/invitations", at="/team", email="x@new.example", role="owner")).status_code == 403
    for target, what in ((admin, {"role": "owner"}), (owner, {"what": "remove"}), (owner, {"role": "viewer"})):
        answer = await admin.send(f"/team/{target.member.id}", at="/team", **what)
        assert answer.status_code == 403, what
    for what in ({"what": "remove"}, {"role": "viewer"}):
        assert (await owner.send(f"/team/{owner.member.id}", at="/team", **what)).status_code == 409
    assert await people.admin.fetchval("SELECT count(*) FROM membership WHERE role = 'owner'") == 1


async def test_a_link_into_the_sandbox_works_once_and_looking_spends_nothing(people: People, shop: Shop) -> None:
    await sandbox_people.seed(people.db, shop.business_id, now=people.now())
    link = (await sandbox_people.new_link(people.db, people.base_url)).removeprefix(people.base_url)
    for _ in range(2):  # As a preview of a chat program does.
        assert "Enter as Ada Obi, owner" in (await people.browser().get(link)).text
    assert (await people.browser().head(link)).status_code == 200
    browser = people.browser()
    page = await browser.get(link)
    assert (await form(browser, link)).status_code == 303
    assert (await people.browser().get(link)).status_code == 404
    assert (await browser.post(link, data={"token": TOKEN.findall(page.text)[0]})).status_code == 404
    late = (await sandbox_people.new_link(people.db, people.base_url)).removeprefix(people.base_url)
    await people.admin.execute("UPDATE one_time_link SET expires_at = now()")
    assert (await people.browser().get(late)).status_code == 404


async def test_an_invitation_is_for_its_own_address_and_ends_when_withdrawn(
    people: People, owner: SignedInPerson
) -> None:
    await owner.send("/team/invitations", at="/team", email="first@new.example", role="viewer")
    link = await mailed_link(people.admin, "invitation")
    # The same again takes the place of the first.
    await owner.send("/team/invitations", at="/team", email="first@new.example", role="viewer")
    assert (await people.browser().get(link)).status_code == 404
    link = await mailed_link(people.admin, "invitation")
    wanted = {"name": "Grace", "password": GOOD, "email": "other@new.example", "role": "owner"}
    assert (await form(people.browser(), link, **wanted)).status_code == 303
    rows = await people.admin.fetch("SELECT email, role FROM membership JOIN person ON person.id = person_id")
    assert ("first@new.example", "viewer") in [(row["email"], row["role"]) for row in rows]
    assert await people.admin.fetchval("SELECT count(*) FROM person WHERE email = 'other@new.example'") == 0
    await owner.send("/team/invitations", at="/team", email="second@new.example", role="viewer")
    number = await people.admin.fetchval("SELECT max(id) FROM invitation")
    assert (await owner.send(f"/team/invitations/{number}/withdraw", at="/team")).status_code == 303
    assert (await people.browser().get(await mailed_link(people.admin, "invitation"))).status_code == 404


async def test_what_a_browser_and_a_person_call_themselves_is_text(people: People, owner: SignedInPerson) -> None:
    hostile = '"><img src=x onerror=alert(1)>'
    browser, email = await joined(people, owner)
    browser.headers["user-agent"] = hostile
    assert (await form(browser, "/dashboard/sign-in", email=email, password=GOOD)).status_code == 303
    assert "Your name is changed" in (await form(browser, "/dashboard/security", what="name", name=hostile)).text
    for client, path in ((browser, "/dashboard/security"), (owner.client, owner.path("/team"))):
        page = (await client.get(path)).text
        assert "<img" not in page
        assert "&lt;img src=x" in page
