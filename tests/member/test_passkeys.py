"""Passkeys: registered, shown, removed; and every answer that must not be accepted."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

import httpx
import pytest

from build import Shop
from conftest import ENCRYPTION_KEY
from dashboard.people import TOKEN, People, SignedInPerson
from member.authenticator import SoftAuthenticator
from member.test_sign_in import GOOD, form, joined, mailed_link
from serving import serving_app
from tidegate import app
from tidegate.core.errors import Conflict
from tidegate.infra.http.application import Application
from tidegate.member.permission import Role
from tidegate.member.team import reset_factors_of
from tidegate.settings import Settings

OPTIONS = re.compile(r'data-passkey="([^"]+)"')
ENROL = "/dashboard/two-step"

pytestmark = pytest.mark.usefixtures("unlimited")


@pytest.fixture(scope="module")
async def named_url(database_url: str) -> AsyncIterator[str]:
    """Passkeys are for names: this server is called localhost."""

    def build(url: str) -> Application:
        address = url.replace("127.0.0.1", "localhost")
        return app.build(Settings(database_url=database_url, encryption_keys=(ENCRYPTION_KEY,), base_url=address))

    async with serving_app(build) as (url, _):
        yield url.replace("127.0.0.1", "localhost")


@dataclass
class Keyholder:
    """A member with a password, and an authenticator at hand."""

    browser: httpx.AsyncClient
    email: str
    authenticator: SoftAuthenticator
    codes: list[str]


async def options_at(browser: httpx.AsyncClient, path: str) -> str:
    return html.unescape(OPTIONS.findall((await browser.get(path)).text)[0])


async def register(browser: httpx.AsyncClient, authenticator: SoftAuthenticator) -> httpx.Response:
    options = await options_at(browser, "/dashboard/security")
    return await form(browser, ENROL, passkey=authenticator.create(options), passkey_name="Laptop")


@pytest.fixture
async def at_name(people: People, named_url: str) -> People:
    return replace(people, base_url=named_url)


@pytest.fixture
async def keyholder(people: People, at_name: People, owner: SignedInPerson) -> Keyholder:
    email = "developer@new.example"
    await owner.send("/team/invitations", at="/team", email=email, role="developer")
    browser = at_name.browser()
    await form(browser, await mailed_link(people.admin, "invitation"), name="Grace Danjuma", password=GOOD)
    assert (await browser.get(owner.path())).headers["location"] == f"{ENROL}?next={owner.path()}"
    authenticator = SoftAuthenticator(at_name.base_url)
    done = await register(browser, authenticator)
    codes = re.findall(r"<li>([a-z2-7-]{19})</li>", done.text)
    assert (done.status_code, len(codes)) == (200, 10), done.text[-600:]
    return Keyholder(browser, email, authenticator, codes)


async def test_a_passkey_signs_in_by_itself_and_is_a_second_factor(
    at_name: People, owner: SignedInPerson, keyholder: Keyholder
) -> None:
    assert (await keyholder.browser.get(owner.path())).status_code == 200
    fresh = at_name.browser()
    answer = keyholder.authenticator.get(await options_at(fresh, "/dashboard/sign-in"))
    assert (await form(fresh, "/dashboard/sign-in", passkey=answer)).status_code == 303
    assert (await fresh.get(owner.path())).status_code == 200
    beside = at_name.browser()
    first = await form(beside, "/dashboard/sign-in", email=keyholder.email, password=GOOD)
    assert first.headers["location"] == "/dashboard/second-factor"
    assert (await beside.get(owner.path())).headers["location"] == f"/dashboard/second-factor?next={owner.path()}"
    answer = keyholder.authenticator.get(await options_at(beside, "/dashboard/second-factor"))
    assert (await form(beside, "/dashboard/second-factor", passkey=answer)).status_code == 303
    assert (await beside.get(owner.path())).status_code == 200
    # Lost: a recovery code in its place.
    lost = at_name.browser()
    await form(lost, "/dashboard/sign-in", email=keyholder.email, password=GOOD)
    assert (await form(lost, "/dashboard/second-factor", code=keyholder.codes[0])).status_code == 303


async def test_an_answer_that_is_not_of_the_owner_here_and_now_is_refused(
    people: People, at_name: People, keyholder: Keyholder
) -> None:
    real = keyholder.authenticator
    old = await options_at(at_name.browser(), "/dashboard/sign-in")
    used = real.get(old)
    assert (await form(at_name.browser(), "/dashboard/sign-in", passkey=used)).status_code == 303
    of_session = await options_at(keyholder.browser, "/dashboard/confirm")
    wrong: dict[str, Callable[[str], str]] = {
        "replayed": lambda _: used,
        "a challenge that was answered": lambda _: real.get(old),
        "a challenge of a session": lambda _: real.get(of_session),
        "a challenge of our own making": lambda _: real.get('{"challenge": "AAAA"}'),
        "another origin": replace(real, origin="https://evil.example", count=20).get,
        "another host": replace(real, rp_id="evil.example", count=20).get,
        "without verification": replace(real, is_verifying=False, count=20).get,
        "a copy that counts less": replace(real, count=0).get,
        "another key": replace(real, key=SoftAuthenticator("").key, count=20).get,
        "an unknown passkey": SoftAuthenticator(at_name.base_url).get,
        "a registration": real.create,
        "no JSON": lambda _: "{",
        "deep": lambda _: "[" * 15_000,
        "long": lambda _: "x" * 20_000,
        "empty": lambda _: "",
        "no bytes": lambda _: '{"id":"A","rawId":"A","type":"public-key","response":{"clientDataJSON":"A"}}',
    }
    before = await people.admin.fetchval("SELECT count(*) FROM member_session")
    for name, answer in wrong.items():
        browser = at_name.browser()
        given = answer(await options_at(browser, "/dashboard/sign-in"))
        done = await form(browser, "/dashboard/sign-in", passkey=given)
        assert (done.status_code, "This passkey was not accepted" in done.text) == (422, True), name
    assert await people.admin.fetchval("SELECT count(*) FROM member_session") == before


async def test_anothers_passkey_is_no_proof(at_name: People, keyholder: Keyholder, shop: Shop) -> None:
    stranger = await at_name.person(shop, Role.OWNER)
    own = SoftAuthenticator(at_name.base_url)
    assert (await register(stranger.client, own)).status_code == 200
    again = await register(stranger.client, own)
    assert (again.status_code, "registered already" in again.text) == (409, True)
    options = await options_at(stranger.client, "/dashboard/confirm")
    assert (
        await form(stranger.client, "/dashboard/confirm", passkey=keyholder.authenticator.get(options))
    ).status_code == 422
    options = await options_at(stranger.client, "/dashboard/confirm")
    assert (await form(stranger.client, "/dashboard/confirm", passkey=own.get(options))).status_code == 303


async def test_a_fresh_proof_by_passkey_lets_the_form_go_on(
    people: People, owner: SignedInPerson, keyholder: Keyholder
) -> None:
    await people.admin.execute("UPDATE member_session SET stepped_up_at = NULL")
    page = await keyholder.browser.get(owner.path("/webhooks"))
    fields = {"token": TOKEN.findall(page.text)[0], "once": "1", "url": "https://example.com/hook"}
    asked = await keyholder.browser.post(owner.path("/webhooks/endpoints"), data=fields)
    assert "publickey-credentials-get=(self)" in asked.headers["permissions-policy"]
    assert "publickey-credentials-get=()" in page.headers["permissions-policy"]
    fields["passkey"] = keyholder.authenticator.get(html.unescape(OPTIONS.findall(asked.text)[0]))
    fields["token"] = TOKEN.findall(asked.text)[0]
    done = await keyholder.browser.post(owner.path("/webhooks/endpoints"), data=fields)
    assert done.status_code in (200, 303), done.text[-500:]
    assert await people.admin.fetchval("SELECT count(*) FROM webhook_endpoint WHERE url LIKE '%example.com%'") == 1


async def test_the_last_second_factor_of_a_role_that_needs_one_stays(people: People, keyholder: Keyholder) -> None:
    number = str(await people.admin.fetchval("SELECT id FROM passkey"))
    kept = await form(keyholder.browser, "/dashboard/security", what="passkey", id=number)
    assert (kept.status_code, "set up another one first" in kept.text) == (409, True)
    await people.admin.execute("UPDATE membership SET role = 'viewer' WHERE role = 'developer'")
    gone = await form(keyholder.browser, "/dashboard/security", what="passkey", id=number)
    assert "The passkey is removed" in gone.text
    assert await people.admin.fetchval("SELECT count(*) FROM passkey") == 0
    assert not await people.admin.fetchval("SELECT has_passkey FROM person WHERE email = $1", keyholder.email)


async def test_an_old_session_changes_no_factors(people: People, keyholder: Keyholder) -> None:
    await people.admin.execute("UPDATE member_session SET stepped_up_at = NULL")
    number = str(await people.admin.fetchval("SELECT id FROM passkey"))
    for path, fields in (("/dashboard/security", {"what": "passkey", "id": number}), (ENROL, {"code": "000000"})):
        page = await keyholder.browser.get("/dashboard/security")
        sent = {"token": TOKEN.findall(page.text)[0], **fields}
        answer = await keyholder.browser.post(path, data=sent)
        assert answer.headers["location"].startswith("/dashboard/confirm?next=")
    assert await people.admin.fetchval("SELECT count(*) FROM passkey") == 1


async def test_an_owner_resets_the_factors_of_a_member_and_mail_tells(
    people: People, owner: SignedInPerson, keyholder: Keyholder
) -> None:
    person_id = await people.admin.fetchval("SELECT id FROM person WHERE email = $1", keyholder.email)
    assert f"{keyholder.email} · passkey" in (await owner.get("/team")).text
    refused = await owner.send(f"/team/{owner.member.id}/reset", at="/team")
    assert (refused.status_code, "by the operator" in refused.text) == (409, True)
    assert (await owner.send(f"/team/{person_id}/reset", at="/team")).status_code == 303
    assert (await keyholder.browser.get(owner.path())).headers["location"].startswith("/dashboard/sign-in")
    subjects = await people.admin.fetch("SELECT subject FROM mail WHERE recipient = $1", keyholder.email)
    assert "Tidegate: your second factors were reset" in [row["subject"] for row in subjects]
    browser = people.browser()
    await form(browser, "/dashboard/sign-in", email=keyholder.email, password=GOOD)
    assert (await browser.get(owner.path())).headers["location"] == f"{ENROL}?next={owner.path()}"


async def test_a_reset_by_the_staff_waits_a_day_in_which_a_factor_that_is_used_keeps_them(
    people: People, at_name: People, owner: SignedInPerson, keyholder: Keyholder
) -> None:
    end = "SELECT factors_end_at FROM person WHERE email = $1"

    async def with_passkey() -> int:
        browser = at_name.browser()
        answer = keyholder.authenticator.get(await options_at(browser, "/dashboard/sign-in"))
        return (await form(browser, "/dashboard/sign-in", passkey=answer)).status_code

    at = await reset_factors_of(people.db, keyholder.email)
    assert await people.admin.fetchval(end, keyholder.email) == at
    assert await with_passkey() == 303
    assert await people.admin.fetchval(end, keyholder.email) is None
    subjects = [row["subject"] for row in await people.admin.fetch("SELECT subject FROM mail ORDER BY id")]
    assert subjects[-2:] == ["Tidegate: your second factors will be removed", "Tidegate: your second factors stay"]
    # The day has passed without one.
    await reset_factors_of(people.db, keyholder.email)
    await people.admin.execute("UPDATE person SET factors_end_at = now() WHERE email = $1", keyholder.email)
    assert await with_passkey() == 422
    browser = people.browser()
    await form(browser, "/dashboard/sign-in", email=keyholder.email, password=GOOD)
    assert (await browser.get(owner.path())).headers["location"] == f"{ENROL}?next={owner.path()}"
    with pytest.raises(Conflict, match="no second factor"):
        await reset_factors_of(people.db, keyholder.email)


async def test_a_business_may_demand_two_steps_of_everybody(people: People, owner: SignedInPerson) -> None:
    browser, _ = await joined(people, owner)
    assert (await browser.get(owner.path())).status_code == 200
    done = await owner.send("/settings/two-step", at="/settings", two_step_for_all="yes")
    assert done.status_code == 303
    assert (await browser.get(owner.path())).headers["location"] == f"{ENROL}?next={owner.path()}"
    assert (await owner.get()).status_code == 200
