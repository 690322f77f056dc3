"""A passkey in a real browser, with Chromium's virtual authenticator."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser

from browser import open_context
from build import Shop
from dashboard.people import People
from member.test_passkeys import at_name, named_url  # noqa: F401 - fixtures
from tidegate.member.permission import Role

AUTHENTICATOR = {
    "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
    "isUserVerified": True, "automaticPresenceSimulation": True,
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("unlimited")


async def test_enrol_sign_in_and_step_up_with_a_passkey(browser: Browser, at_name: People, shop: Shop) -> None:  # noqa: F811
    owner, admin = await at_name.person(shop, Role.OWNER, name="Ada Obi"), at_name.admin
    context = await open_context(browser, base_url=at_name.base_url)
    cookie = owner.client.cookies["tidegate-session"]
    await context.add_cookies([{"name": "tidegate-session", "value": cookie, "url": at_name.base_url}])
    # The virtual authenticator would answer the autofill at once, before the button is clicked.
    await context.add_init_script("PublicKeyCredential.isConditionalMediationAvailable = async () => false")
    page = await context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    cdp = await context.new_cdp_session(page)
    await cdp.send("WebAuthn.enable")
    await cdp.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    await page.goto("/dashboard/security")
    await page.get_by_label("Name of the passkey").fill("Laptop")
    await page.get_by_role("button", name="Add a passkey").click()
    await page.get_by_role("heading", name="Keep these recovery codes").wait_for()
    await page.goto("/dashboard/security")
    assert await page.get_by_role("button", name="Remove the passkey Laptop").count() == 1
    await context.clear_cookies()
    await page.goto("/dashboard/sign-in")
    await page.get_by_role("button", name="Sign in with a passkey").click()
    await page.wait_for_url(f"**{owner.path()}")
    await admin.execute("UPDATE member_session SET stepped_up_at = NULL")
    await page.goto(owner.path("/settings"))
    await page.get_by_role("checkbox", name="Everybody else").check()
    await page.get_by_role("button", name="Save sign-in").click()
    await page.get_by_role("button", name="Confirm with a passkey").click()
    await page.wait_for_url("**/settings")
    assert await admin.fetchval("SELECT two_step_for_all FROM business WHERE id = $1", shop.business_id)
    assert said == []
