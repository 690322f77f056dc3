"""People of a business, signed in without a browser; each page is fetched and each form sent as a browser would."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx

from build import Shop
from tidegate.core import ids
from tidegate.core.clock import SystemClock
from tidegate.infra.db import Database
from tidegate.member import session_store, store, team_store
from tidegate.member.model import Member, hash_of_token, new_token
from tidegate.member.permission import Role

TOKEN = re.compile(r'name="token" value="([^"]+)"')
ONCE = re.compile(r'name="once" value="([^"]+)"')


@dataclass
class SignedInPerson:
    """Somebody at a browser."""

    client: httpx.AsyncClient
    member: Member
    role: Role
    code: str

    def path(self, below: str = "") -> str:
        return f"/dashboard/{self.code}{below}"

    async def get(self, below: str = "", *, status: int = 200) -> httpx.Response:
        answer = await self.client.get(self.path(below))
        assert answer.status_code == status, (below, answer.status_code, answer.text[-600:])
        return answer

    async def fields(self, below: str = "") -> dict[str, str]:
        """The hidden fields of a page."""
        page = (await self.get(below)).text
        once = ONCE.findall(page)
        version = re.findall(r'name="version" value="([^"]+)"', page)
        credit_version = re.findall(r'name="credit_version" value="([^"]+)"', page)
        question = re.findall(r'name="question" value="([^"]+)"', page)
        return {
            "token": TOKEN.findall(page)[0],
            **({"once": once[-1]} if once else {}),
            **({"version": version[0]} if version else {}),
            **({"credit_version": credit_version[0]} if credit_version else {}),
            **({"question": question[0]} if question else {}),
        }

    async def post(self, below: str, fields: dict[str, str]) -> httpx.Response:
        return await self.client.post(self.path(below), data=fields)

    async def make_link(self, **changes: str) -> httpx.Response:
        """By the second step of its form."""
        first = {"name": "Ticket", "kind": "reusable", "currency": "NGN", "amount": "100"}
        return await self.send("/links/new", at=f"/links/new?step=2&{urlencode(first)}", **{**first, **changes})

    async def send(self, below: str, *, at: str = "", **fields: str) -> httpx.Response:
        """From the page `at`, with a factor shown where the sandbox asks for one."""
        return await self.post(below, {**await self.fields(at), "factor": "sandbox", **fields})


@dataclass
class People:
    db: Database
    base_url: str
    admin: Any
    opened: list[httpx.AsyncClient]

    async def person(self, shop: Shop, role: Role, *, name: str = "") -> SignedInPerson:
        now, token = SystemClock().now(), new_token()
        async with self.db.transaction() as tx:
            member = await store.insert_person(
                tx, person_id=ids.new_person_id(), email=f"{role}-{ids.new_business_code().lower()}@example.com",
                name=name or role.value.capitalize(), password_hash=None, now=now,
            )  # fmt: skip
            assert member is not None
            await team_store.put(tx, shop.business_id, member.id, role, now=now)
            token_hash = hash_of_token(token)
            assert token_hash is not None
            await session_store.insert(
                tx, token_hash, member, is_complete=True, browser="test", address="127.0.0.1", now=now
            )
        client = self.browser()
        host = urlsplit(self.base_url).hostname or ""
        # As the jar writes a host without a dot, so that a later cookie of the server takes its place.
        client.cookies.set("tidegate-session", token, domain=host if "." in host else f"{host}.local")
        code = await self.admin.fetchval("SELECT code FROM business WHERE id = $1", shop.business_id)
        return SignedInPerson(client, member, role, code)

    async def shop_of(self, person: SignedInPerson) -> Shop:
        """The same business, for another person."""
        business_id = await self.admin.fetchval("SELECT id FROM business WHERE code = $1", person.code)
        return Shop(person.client, business_id, "", "")

    def now(self) -> datetime:
        return SystemClock().now()

    def browser(self) -> httpx.AsyncClient:
        # Over plain HTTP: to load what it would trust costs more than a page.
        client = httpx.AsyncClient(base_url=self.base_url, timeout=60, verify=False)
        self.opened.append(client)
        return client
