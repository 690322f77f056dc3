"""Only our own page, in the same browser, can send a form."""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.cookies import SimpleCookie

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from infra.page_world import browser_at, elsewhere, headers_of, site_of, visiting
from tidegate.core.errors import AccessDenied
from tidegate.infra.http.cookie import COOKIES_MAX, Cookie, cookies_of
from tidegate.infra.http.operation import Headers
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.http.routing import Route
from tidegate.infra.page.csrf import KEY_BYTES_MIN, Csrf, Visitor
from tidegate.infra.page.response import Html, see_other
from tidegate.infra.page.router import PageRequest

KEY = bytes(range(KEY_BYTES_MIN))
SECURE = PublicUrl("https://pay.example.com")
LOCAL = PublicUrl("http://localhost:8080")
CSRF = Csrf(SECURE, key=KEY)
ADA = Visitor("A" * 22, is_new=False)
EVE = Visitor("E" * 22, is_new=False)


def sent_by(visitor: Visitor, *more: tuple[str, str]) -> Headers:
    return headers_of(("cookie", f"__Host-tidegate={visitor.id}"), *more)


def refusal_of(headers: Headers, token: str | None, *, scope: str = "one", csrf: Csrf = CSRF) -> str:
    with pytest.raises(AccessDenied) as raised:
        csrf.check(headers, token, scope=scope)
    return raised.value.message


# Tokens.


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_the_visitor_s_own_token_passes(scope: str) -> None:
    CSRF.check(sent_by(ADA), CSRF.token(ADA, scope=scope), scope=scope)


def test_a_token_is_another_text_each_time() -> None:
    """Otherwise the length of a compressed page would tell it, one guess after the other."""
    assert len({CSRF.token(ADA, scope="one")[:8] for _ in range(100)}) == 100


def test_a_token_is_good_for_one_visitor_and_one_scope_under_one_key() -> None:
    token = CSRF.token(ADA, scope="one")
    other_key = Csrf(SECURE, key=KEY[::-1])
    refusals = [
        refusal_of(sent_by(EVE), token),
        refusal_of(sent_by(ADA), token, scope="two"),
        refusal_of(sent_by(ADA), token, csrf=other_key),
    ]
    assert all("reload" in refusal for refusal in refusals)


def test_no_changed_byte_passes() -> None:
    raw = bytearray(urlsafe_b64decode(CSRF.token(ADA, scope="one")))
    for at in range(len(raw)):
        raw[at] ^= 1
        refusal_of(sent_by(ADA), urlsafe_b64encode(raw).decode())
        raw[at] ^= 1
    CSRF.check(sent_by(ADA), urlsafe_b64encode(raw).decode(), scope="one")


@given(st.none() | st.text() | st.text("AZaz09-_=", min_size=62, max_size=66))
@example("")
@example("é" * 64)
@example("A" * 64)
def test_no_other_token_passes_and_none_is_an_error(token: str | None) -> None:
    assert "reload" in refusal_of(sent_by(ADA), token)


def test_without_the_cookie_no_token_passes() -> None:
    token = CSRF.token(ADA, scope="one")
    assert "cookie" in refusal_of(headers_of(), token)
    # The name without its prefix can be set by any neighbour of our host.
    assert "cookie" in refusal_of(headers_of(("cookie", f"tidegate={ADA.id}")), token)


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Csrf(SECURE, key=KEY[1:])


# Where it was sent from.


@pytest.mark.parametrize(
    ("pairs", "passes"),
    [
        ([], True),
        ([("sec-fetch-site", "same-origin")], True),
        ([("sec-fetch-site", "same-site")], False),
        ([("sec-fetch-site", "cross-site")], False),
        ([("sec-fetch-site", "none")], False),
        ([("sec-fetch-site", "")], False),
        ([("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")], False),
        ([("origin", "https://pay.example.com")], True),
        ([("origin", "null")], True),
        ([("origin", "null"), ("sec-fetch-site", "cross-site")], False),
        ([("origin", "http://pay.example.com")], False),
        ([("origin", "https://pay.example.com:8443")], False),
        ([("origin", "https://pay.example.com.evil.com")], False),
        ([("origin", "https://evil.com")], False),
        ([("origin", "https://evil.com"), ("sec-fetch-site", "same-origin")], False),
        ([("origin", "https://pay.example.com"), ("origin", "https://evil.com")], False),
        ([("origin", "")], False),
        ([("host", "evil.com"), ("x-forwarded-host", "evil.com"), ("origin", "https://evil.com")], False),
    ],
)
def test_only_our_own_pages_may_send(pairs: list[tuple[str, str]], passes: bool) -> None:
    headers, token = sent_by(ADA, *pairs), CSRF.token(ADA, scope="one")
    if passes:
        CSRF.check(headers, token, scope="one")
    else:
        assert "our own page" in refusal_of(headers, token)


@pytest.mark.parametrize(
    ("base_url", "origin", "is_secure", "link"),
    [
        ("https://pay.example.com", "https://pay.example.com", True, "/x"),
        ("https://Pay.Example.com:443", "https://pay.example.com", True, "/x"),
        ("https://pay.example.com:8443/shop", "https://pay.example.com:8443", True, "/shop/x"),
        ("http://localhost:8080", "http://localhost:8080", False, "/x"),
        ("http://127.0.0.1:80/", "http://127.0.0.1", False, "/x"),
        ("http://[::1]:8080", "http://[::1]:8080", False, "/x"),
    ],
)
def test_our_origin_is_as_browsers_write_it(base_url: str, origin: str, is_secure: bool, link: str) -> None:
    site = PublicUrl(base_url)
    assert (site.origin, site.is_secure, site.url("/x")) == (origin, is_secure, link)


# Cookies.


@pytest.mark.parametrize(
    ("site", "name", "attributes"),
    [
        (SECURE, "__Host-tidegate", ["HttpOnly", "Path=/", "SameSite=Lax", "Secure"]),
        (LOCAL, "tidegate", ["HttpOnly", "Path=/", "SameSite=Lax"]),
    ],
)
def test_a_new_visitor_gets_a_cookie_and_is_known_by_it(site: PublicUrl, name: str, attributes: list[str]) -> None:
    csrf = Csrf(site, key=KEY)
    visitor = csrf.visitor_of({})
    [(header, value)] = csrf.cookie(visitor)
    pair, *rest = value.decode().split("; ")
    assert header == b"set-cookie"
    assert pair == f"{name}={visitor.id}"
    assert sorted(rest) == attributes
    again = csrf.visitor_of(cookies_of(headers_of(("cookie", pair))))
    assert (again.id, again.is_new) == (visitor.id, False)
    assert csrf.cookie(again) == ()


def test_visitors_have_different_tokens() -> None:
    assert len({CSRF.visitor_of({}).id for _ in range(100)}) == 100


@pytest.mark.parametrize("value", ["", "x", "A" * 21, "A" * 23, "A" * 21 + "é", '"' + "A" * 22 + '"', "A" * 10_000])
def test_a_cookie_that_is_not_ours_makes_a_new_visitor(value: str) -> None:
    assert CSRF.visitor_of(cookies_of(headers_of(("cookie", f"__Host-tidegate={value}")))).is_new


@given(st.lists(st.binary(max_size=80) | st.text('a=;, "\\é', max_size=40).map(lambda t: t.encode("latin-1"))))
@example([b";" * 16_000])
@example([b"a=1;" * 4_000])
@example([b"=;=;a;a=;a=b=c"])
def test_any_cookies_are_read(values: list[bytes]) -> None:
    assert len(cookies_of(Headers([(b"cookie", value) for value in values]))) <= COOKIES_MAX


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["a=1; b=2"], {"a": "1", "b": "2"}),
        (["a=1", "b=2"], {"a": "1", "b": "2"}),
        (["a=1; a=2"], {"a": "1"}),
        (["a"], {}),
        (["a=b=c"], {"a": "b=c"}),
    ],
)
def test_cookies(values: list[str], found: dict[str, str]) -> None:
    assert cookies_of(headers_of(*(("cookie", value) for value in values))) == found


def test_cookies_are_read_only_so_far() -> None:
    text = ";".join(f"n{number}=" for number in range(COOKIES_MAX * 2))
    assert list(cookies_of(headers_of(("cookie", text)))) == [f"n{number}" for number in range(COOKIES_MAX)]


def test_a_cookie_may_have_an_age() -> None:
    [(_, value)] = Cookie("language", LOCAL).set("pt-BR", max_age_s=60)
    assert SimpleCookie(value.decode())["language"]["max-age"] == "60"


@pytest.mark.parametrize("value", ["a;b", "a b", "a\r\nset-cookie: x=y", "é", 'a"', "a,b"])
def test_a_value_that_needs_quoting_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="quoting"):
        Cookie("language", LOCAL).set(value)


# Over the wire.


@dataclass
class Shop:
    """One form, and what came of each time it was sent."""

    csrf: Csrf
    outcomes: asyncio.Queue[tuple[int, Headers]] = field(default_factory=asyncio.Queue)

    def routes(self) -> list[Route]:
        return site_of(("GET", "/buy/{thing}", self.show), ("POST", "/buy/{thing}", self.buy))

    async def show(self, request: PageRequest) -> Html:
        visitor = self.csrf.visitor_of(request.cookies)
        token = self.csrf.token(visitor, scope=request.path["thing"])
        text = f"<!doctype html>{form_with(token)}<script nonce={request.nonce}>document.forms[0].submit()</script>"
        return Html(text.encode(), cookies=self.csrf.cookie(visitor))

    async def buy(self, request: PageRequest) -> Html:
        try:
            self.csrf.check(request.headers, request.form.get("token"), scope=request.path["thing"])
        except AccessDenied:
            self.outcomes.put_nowait((403, request.headers))
            raise
        self.outcomes.put_nowait((303, request.headers))
        return see_other(f"/bought/{request.path['thing']}")


def form_with(token: str, action: str = "") -> str:
    return f"<form method=post action='{action}'><input name=token value={token}></form>"


@asynccontextmanager
async def shopping() -> AsyncIterator[tuple[httpx.AsyncClient, Shop]]:
    shops: list[Shop] = []

    def open_shop(url: str) -> list[Route]:
        shops.append(Shop(Csrf(PublicUrl(url), key=KEY)))
        return shops[0].routes()

    async with visiting(open_shop) as client:
        yield client, shops[0]


def token_in(page: httpx.Response) -> str:
    return page.text.partition("name=token value=")[2].partition(">")[0]


async def test_a_form_of_our_page_is_taken_and_others_are_not() -> None:
    async with shopping() as (client, _):
        page = await client.get("/buy/shoes")
        cookie = page.headers["set-cookie"].partition(";")[0]
        token = token_in(page)

        async def send(thing: str = "shoes", *, token: str = token, **headers: str) -> httpx.Response:
            client.cookies.clear()
            return await client.post(f"/buy/{thing}", data={"token": token}, headers=headers)

        taken = await send(cookie=cookie)
        among_many = await send(cookie=f"{'x' * 10_000}; {cookie}")
        refused = [
            await send(),
            await send(cookie=cookie, token=""),
            await send("hats", cookie=cookie),
            await send(cookie=cookie, origin="https://evil.com"),
        ]
    assert (taken.status_code, taken.headers["location"]) == (303, "/bought/shoes")
    assert among_many.status_code == 303
    assert [answer.status_code for answer in refused] == [403] * len(refused)
    assert all("reload" in answer.text for answer in refused)


async def test_a_real_browser_s_form_is_taken() -> None:
    async with shopping() as (client, shop), browser_at(f"{client.base_url}/buy/shoes"):
        status, headers = await shop.outcomes.get()
    assert status == 303
    # Since our pages send no referrer. Were this not so any more, the check could be stricter.
    assert headers.one(b"origin") == "null"


async def test_a_real_browser_s_form_from_another_site_is_refused() -> None:
    async with shopping() as (client, shop):
        token = token_in(await client.get("/buy/shoes"))  # The other site may even know one.
        page = f"{form_with(token, f'{client.base_url}/buy/shoes')}<script>document.forms[0].submit()</script>"
        async with elsewhere(page.encode()) as url, browser_at(url):
            status, headers = await shop.outcomes.get()
    assert status == 403
    assert headers.one(b"sec-fetch-site") == "cross-site"
