"""How the staff get in: added, invited, with a password and a second factor; at the console's own address only."""

from __future__ import annotations

import re
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pyotp

from console.people import SignedInStaff
from dashboard.people import TOKEN, People
from tidegate.audit.model import OPERATOR
from tidegate.console.access import ConsoleAccess
from tidegate.core.clock import SystemClock
from tidegate.member.realm import CONSOLE
from tidegate.runtime import Runtime
from tidegate.staff import commands, sandbox_staff, store
from tidegate.staff.permission import StaffRole

PASSWORD = "correct horse battery staple"


async def test_the_first_of_the_staff_chooses_a_password_and_must_have_a_second_factor(
    people: People, runtime: Runtime
) -> None:
    now = SystemClock().now()
    async with runtime.db.transaction() as tx:
        added = await commands.add(
            tx, email="Ifeoma@Example.com", name="Ifeoma Nwosu", role=StaffRole.OPERATOR, by=OPERATOR, now=now
        )
        url = await commands.invite(tx, added, "", now=now)
    client = people.browser()
    token = TOKEN.findall((await client.get(url)).text)[0]
    assert (await client.post(url, data={"token": token, "password": PASSWORD})).status_code == 303
    token = TOKEN.findall((await client.get("/console/sign-in")).text)[0]
    fields = {"token": token, "email": "ifeoma@example.com", "password": PASSWORD}
    assert (await client.post("/console/sign-in", data=fields)).status_code == 303
    # Nothing else opens before.
    assert (await client.get("/console")).headers["location"] == "/console/two-step"
    page = (await client.get("/console/two-step")).text
    secret = re.findall(r"<code>([A-Z2-7 ]+)</code>", page)[0].replace(" ", "")
    code = pyotp.TOTP(secret).now()
    answer = await client.post("/console/two-step", data={"token": TOKEN.findall(page)[0], "code": code})
    assert "I have kept them" in answer.text
    assert "Overview" in (await client.get("/console")).text
    # The same person has no business in the dashboard by this session.
    assert (await client.get("/dashboard")).headers["location"] == "/dashboard/sign-in"


async def test_a_person_who_is_not_staff_gets_the_words_of_a_wrong_password(people: People, runtime: Runtime) -> None:
    now = SystemClock().now()
    async with runtime.db.transaction() as tx:
        added = await commands.add(tx, email="a@example.com", name="A", role=StaffRole.AUDITOR, by=OPERATOR, now=now)
        url = await commands.invite(tx, added, "", now=now)
    client = people.browser()
    token = TOKEN.findall((await client.get(url)).text)[0]
    await client.post(url, data={"token": token, "password": PASSWORD})
    async with runtime.db.transaction() as tx:
        await commands.remove(tx, added.id, by=OPERATOR, now=now)
    token = TOKEN.findall((await client.get("/console/sign-in")).text)[0]
    fields = {"token": token, "email": "a@example.com", "password": PASSWORD}
    answer = await client.post("/console/sign-in", data=fields)
    assert (answer.status_code, "do not belong together" in answer.text) == (422, True)


async def test_a_link_enters_the_sandbox_once(people: People, runtime: Runtime) -> None:
    await sandbox_staff.seed(runtime.db, now=SystemClock().now())
    url = await sandbox_staff.new_link(runtime.db, "")
    for client, status in ((people.browser(), 303), (people.browser(), 404)):
        page = await client.get(url)
        token = (TOKEN.findall(page.text) or [""])[0]
        answer = await client.post(url, data={"token": token}) if token else page
        assert answer.status_code == status
    async with runtime.db.connection() as tx:
        assert {one.role for one in await store.list_all(tx)} == set(StaffRole)


async def test_a_session_of_the_console_ends_after_a_quarter_of_an_hour(operator: SignedInStaff, admin: Any) -> None:
    ago = SystemClock().now() - CONSOLE.idle_max - timedelta(seconds=1)
    await admin.execute("UPDATE member_session SET seen_at = $1", ago)
    assert (await operator.client.get("/console")).headers["location"] == "/console/sign-in"


def test_the_console_answers_at_its_own_host_to_its_own_networks_only() -> None:
    def scope(host: str, client: str) -> Any:
        return {"headers": [(b"host", host.encode())], "client": (client, 1), "tidegate.trusted_proxies": 0}

    access = ConsoleAccess("console.example.com", (ip_network("10.8.0.0/16"), ip_network("fd00::/8")))
    assert access.allows(scope("Console.example.com:443", "10.8.1.2"))
    assert access.allows(scope("console.example.com", "fd00::1"))
    assert not access.allows(scope("api.example.com", "10.8.1.2"))
    assert not access.allows(scope("console.example.com", "10.9.1.2"))
    assert not access.allows(scope("console.example.com", "unknown"))
