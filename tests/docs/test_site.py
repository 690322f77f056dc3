"""The documentation as a reader finds it: every page, every link, as HTML and as Markdown, served and as files."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import httpx
import pytest
from playwright.async_api import Browser

from tidegate.app import EVENTS, document_of, operations_of
from tidegate.core.errors import Refusal
from tidegate.core.method import Method, MethodNames
from tidegate.core.money import CHECKOUT_OFFERS
from tidegate.docs import export, search
from tidegate.docs.markdown import Document, front_matter
from tidegate.docs.page import PageHead
from tidegate.docs.reference import slug_of
from tidegate.docs.routes import SandboxKeys, routes
from tidegate.docs.site import AREAS, DocsSite
from tidegate.docs.suggestion import NEAREST, Suggestions
from tidegate.infra.http import error_guide
from tidegate.infra.http.application import Application
from tidegate.infra.telemetry import Meter
from tidegate.runtime import Runtime
from tidegate.settings import Settings

BASE_URL = "http://localhost:8080"
KEYS = SandboxKeys("sk_test_secret", "pk_test_public", "65f0c9a1b2d3e4f5a6b7c8d9")
# Nothing is called, so there is no database behind them.
OPERATIONS = operations_of(Runtime.of(Settings()))
DOCUMENT = document_of(OPERATIONS, BASE_URL)
SITE = DocsSite(lambda: DOCUMENT, BASE_URL, OPERATIONS, EVENTS)
SUGGESTIONS = Suggestions(SITE)
HTML_BYTES_MAX, CSS_BYTES_MAX, SCRIPT_BYTES_MAX, INDEX_BYTES_MAX = 30_000, 10_000, 8_000, 27_000
LEAD_WORDS_MAX = 60

each_page = pytest.mark.parametrize("head", SITE.heads, ids=lambda head: head.path)


@asynccontextmanager
async def nothing_to_open() -> AsyncIterator[None]:
    yield


def service_with(keys: SandboxKeys | None) -> Application:
    return Application(routes(SITE, keys), lifespan=nothing_to_open, meter=Meter())


SERVICE = service_with(KEYS)
# Pages by their paths, None for what is not there: every page links to most others.
FETCHED: dict[str, str | None] = {}


async def get(path: str, service: Application = SERVICE, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(service), base_url=BASE_URL) as client:
        return await client.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})


class Outline(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def values(self, attribute: str) -> list[str]:
        return [value for _, attributes in self.tags if (value := attributes.get(attribute))]


@each_page
async def test_a_page_is_whole_and_small(head: PageHead) -> None:
    answer = await get(head.path)
    assert answer.status_code == 200
    assert len(gzip.compress(answer.content)) <= HTML_BYTES_MAX
    page = Outline(answer.text)
    assert [tag for tag, _ in page.tags].count("h1") == 1
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    radios = {attributes["id"] for tag, attributes in page.tags if tag == "input" and attributes["type"] == "radio"}
    assert radios <= {*page.values("for")}
    assert "style" not in [name for _, attributes in page.tags for name in attributes]
    assert [attributes for tag, attributes in page.tags if tag in ("script", "style") and "src" not in attributes] == []
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self' 'nonce-")


@each_page
async def test_a_page_says_where_the_reader_is(head: PageHead) -> None:
    page = Outline((await get(head.path)).text)
    current = [attributes for _, attributes in page.tags if attributes.get("aria-current") == "page"]
    assert [attributes["href"] for attributes in current] == ([head.path] if head.group else [])
    areas = [attributes["href"] for _, attributes in page.tags if attributes.get("aria-current") == "true"]
    assert areas == [path for name, path in AREAS if name == head.area]


@cache
def outline_of(text: str) -> Outline:
    return Outline(text)


async def follow(page: str, fetch: Callable[[str], Any]) -> list[str]:
    """Links of a page that lead nowhere, or to a place that its page does not have."""
    dead = []
    outline = outline_of(await fetch(page))
    for href in {*outline.values("href"), *outline.values("src")}:
        target = urljoin(page, href)
        if urlsplit(target).scheme:
            continue
        path, _, anchor = target.partition("#")
        text = await fetch(unquote(path))
        if text is None or (anchor and anchor not in outline_of(text).values("id")):
            dead.append(href)
    return dead


@each_page
async def test_no_link_is_dead(head: PageHead) -> None:
    async def fetch(path: str) -> str | None:
        # The front page is the sandbox's own.
        if path in ("/", ""):
            return ""
        if path not in FETCHED:
            answer = await get(path)
            FETCHED[path] = answer.text if answer.status_code == 200 else None
        return FETCHED[path]

    assert await follow(head.path, fetch) == []


@each_page
async def test_a_page_is_markdown_for_those_who_ask(head: PageHead) -> None:
    beside = await get(head.markdown_path)
    assert beside.headers["content-type"] == "text/markdown; charset=utf-8"
    assert beside.text.startswith("# ")
    assert (await get(head.path, accept="text/markdown")).text == beside.text
    assert "text/html" in (await get(head.path, accept="text/html,*/*;q=0.8")).headers["content-type"]
    for key in (KEYS.secret_key, KEYS.public_key):
        assert key not in beside.text


@each_page
def test_titles_and_leads_are_short(head: PageHead) -> None:
    assert 1 <= len(head.title.split()) <= 9
    assert 2 <= len(head.lead.split()) <= LEAD_WORDS_MAX * 2
    assert not re.search(r"\b(wish|whoever|anew)\b", SITE.markdown(head.path).split("\n## ")[0])


# Keys and running.


async def test_keys_are_only_for_a_script_of_the_pages() -> None:
    answer = await get("/docs/keys", sec_fetch_site="same-origin")
    assert answer.json() == KEYS.by_header
    assert answer.headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in answer.headers
    for site in ("cross-site", "same-site", "none"):
        assert (await get("/docs/keys", sec_fetch_site=site)).status_code == 404
    assert (await get("/docs/keys")).status_code == 404


async def test_without_a_sandbox_nothing_can_be_run() -> None:
    service = service_with(None)
    assert (await get("/docs/keys", service, sec_fetch_site="same-origin")).status_code == 404
    page = await get("/docs/reference/create-payment", service)
    assert "data-keys" not in page.text
    assert "Test mode" not in page.text


# Addresses without a page.


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("/docs/guides/refnd", "/docs/guides/refund"),
        ("/docs/webhooks", "/docs/guides/receive-webhooks"),
        ("/docs/reference/events/charge.success.md", "/docs/reference/events/charge.successful"),
        ("/checkout/payments/merchant-reference/ORDER-1001", "/docs/reference/verify-payment"),
    ],
)
def test_an_address_without_a_page_leads_to_the_nearest_ones(path: str, first: str) -> None:
    suggestion = SUGGESTIONS(path)
    assert suggestion
    assert suggestion.links[0][0] == first
    assert len(suggestion.links) <= NEAREST


def test_an_address_of_nothing_suggests_nothing() -> None:
    assert SUGGESTIONS("/nothing/here") is None


# Search.


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("refund", "/docs/guides/refund"),
        ("create payment", "/docs/reference/create-payment"),
        ("charge.successful", "/docs/reference/events/charge.successful"),
        ("cards", "/docs/testing/cards-phones-transfers#cards"),
        ("name rule", "/docs/guides/the-name-rule"),
        # Any of the words, in any of their forms, and in the text below a heading.
        ("overpaid refund", "/docs/guides/under-and-overpayment#what-to-do"),
        ("refunding", "/docs/guides/refund"),
        ("verified payments", "/docs/guides/verify-a-payment"),
        ("how do I export csv", "/docs/guides/wallets-and-statements#as-a-file"),
        ("webhook signature nonsense", "/docs/guides/receive-webhooks#two-signatures"),
        # The very name of a field or an operation, also when a heading or a page has the word.
        ("varianceType", "/docs/reference/verify-payment#answer-varianceType"),
        ("amountExpected", "/docs/reference/verify-payment#answer-amountExpected"),
        ("reference", "/docs/reference/create-payment#body-reference"),
        ("status", "/docs/reference/verify-payment#answer-status"),
        ("rotateSecret", "/docs/reference/rotate-secret"),
        # Not yet typed to the end, and mistyped: a letter less, more, another, two swapped.
        ("varianceTyp", "/docs/reference/verify-payment#answer-varianceType"),
        ("refrence", "/docs/reference/create-payment#body-reference"),
        ("varianceeType", "/docs/reference/verify-payment#answer-varianceType"),
        ("idenpotency", "/docs/guides/idempotency-and-retries"),
        ("amuont", "/docs/reference/create-payment#body-amount"),
        ("overpaid refudn", "/docs/guides/under-and-overpayment#what-to-do"),
        # Words of readers that stand in no title.
        ("pip", "/docs/libraries/python"),
        ("pip install", "/docs/libraries/python"),
        ("npm", "/docs/libraries/typescript"),
        ("checkout.js", "/docs/guides/embed-the-checkout"),
        ("test cards", "/docs/testing/cards-phones-transfers"),
        ("401", "/docs/reference/errors#unauthenticated"),
        ("429", "/docs/reference/errors#rate-limited"),
        ("pagination", "/docs/guides/lists-and-cursors"),
        ("payment link", "/docs/guides/payment-links"),
        ("payAttitude", "/docs/guides/accept-a-payment#methods-by-currency"),
        ("mpesa", "/docs/guides/accept-a-payment"),
        ("m-pesa", "/docs/guides/accept-a-payment"),
        ("subscription", "/docs/guides/what-tidegate-does-not-do"),
        ("recurring", "/docs/guides/what-tidegate-does-not-do"),
        ("payout", "/docs/guides/what-tidegate-does-not-do"),
        ("split", "/docs/guides/what-tidegate-does-not-do"),
        ("marketplace", "/docs/guides/what-tidegate-does-not-do"),
        ("capture", "/docs/guides/what-tidegate-does-not-do"),
        ("preauth", "/docs/guides/what-tidegate-does-not-do"),
        ("pre-auth", "/docs/guides/what-tidegate-does-not-do"),
        ("firewall", "/docs/guides/what-tidegate-does-not-do"),
        ("ip addresses", "/docs/guides/what-tidegate-does-not-do"),
        ("ip whitelist", "/docs/start/keys-and-modes"),
        ("allowlist", "/docs/start/keys-and-modes"),
        ("sandbox keys", "/docs/start/keys-and-modes"),
        ("chargeback", "/docs/start/how-a-payment-goes"),
        ("test card", "/docs/testing/cards-phones-transfers"),
        ("3ds", "/docs/testing/cards-phones-transfers"),
        ("currency", "/docs/reference/create-payment#body-currency"),
        ("timeout", "/docs/guides/idempotency-and-retries"),
        ("rate limit", "/docs/reference/errors#rate-limited"),
        ("idempotency", "/docs/guides/idempotency-and-retries"),
        ("demo shop", "/docs/testing/demo-shop"),
    ],
)
def test_the_best_page_is_found_first(query: str, path: str) -> None:
    assert search.found(query, SITE.index)[0].path == path


def test_every_error_and_event_is_a_first_hit() -> None:
    for error_type, _ in error_guide.error_types():
        first = search.found(error_type, SITE.index)[0]
        assert first.path.startswith("/docs/reference/errors#"), error_type
    for event in EVENTS:
        assert search.found(event.name, SITE.index)[0].title == event.name


# `success` stands in every answer, so no operation has it; the others are titles of what explains them.
OTHER_FIRST_HITS = {"success", "errors", "events"}


def test_every_field_and_operation_is_a_first_hit() -> None:
    schemas = DOCUMENT["components"]["schemas"].values()
    names = {name for schema in schemas for name in schema.get("properties", {})} | {"Idempotency-Key"}
    first = {name: search.found(name, SITE.index)[0] for name in names}
    assert {name for name, entry in first.items() if entry.title != name} == OTHER_FIRST_HITS
    for operation in OPERATIONS:
        path = f"/docs/reference/{slug_of(operation.name)}"
        assert search.found(operation.name, SITE.index)[0].path == path
    assert search.found("", SITE.index) == []
    assert search.found("zebra", SITE.index) == []


async def test_a_field_is_found_where_its_page_has_it() -> None:
    prefixes = re.compile("#(body|query|path|header|answer|field)-")
    found = [entry.path.partition("#") for entry in SITE.index if prefixes.search(entry.path)]
    assert len(found) > 200
    for page in {path for path, _, _ in found}:
        ids = Outline((await get(page)).text).values("id")
        assert {anchor for path, _, anchor in found if path == page} <= {*ids}


async def test_the_index_is_small() -> None:
    index = await get("/docs/search.json")
    assert len(gzip.compress(index.content)) <= INDEX_BYTES_MAX
    for entry in index.json()[:20]:
        assert (await get(entry[1].partition("#")[0])).status_code == 200


@pytest.mark.parametrize("path", ["/docs/search.json", "/openapi.json"])
async def test_long_documents_are_compressed_for_those_who_take_it(path: str) -> None:
    plain, packed = await get(path, accept_encoding="identity"), await get(path, accept_encoding="gzip")
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(plain.content) / 3
    assert packed.content == plain.content
    assert plain.headers["vary"] == packed.headers["vary"] == "accept-encoding"


async def test_search_works_without_a_script_and_shows_text_as_text() -> None:
    page = await get("/docs/search?q=refund")
    assert 'href="/docs/guides/refund"' in page.text
    assert "/docs/search.md" not in page.text
    attack = await get("/docs/search?q=%3Cscript%3Ealert(1)%3C/script%3E")
    assert "<script>alert" not in attack.text
    assert (await get("/docs/search")).status_code == 200


# For machines.


async def test_machines_find_every_page() -> None:
    index = (await get("/llms.txt")).text
    missing = [head.path for head in SITE.heads if head.group and f"{BASE_URL}{head.markdown_path}" not in index]
    assert missing == []
    assert "/docs/changelog.md): " in index
    whole = (await get("/llms-full.txt")).text
    assert all(f"# {head.title}" in whole for head in SITE.heads)


# Static files.


async def test_style_and_script_are_small_and_load_nothing() -> None:
    page = Outline((await get("/docs")).text)
    [css] = [href for href in page.values("href") if href.endswith(".css")]
    scripts = [src for src in page.values("src") if src.endswith(".js")]
    style = (await get(css)).text
    assert "url(" not in style
    assert "@import" not in style
    assert len(gzip.compress(style.encode())) <= CSS_BYTES_MAX
    assert sum([len(gzip.compress((await get(src)).content)) for src in scripts]) <= SCRIPT_BYTES_MAX


@pytest.mark.parametrize("names", [MethodNames(), MethodNames(ussd="dialPay")], ids=["usual", "set by the operator"])
def test_guides_call_ussd_as_the_operator_does(names: MethodNames) -> None:
    docs = DocsSite(lambda: document_of(OPERATIONS, BASE_URL, names), BASE_URL, OPERATIONS, EVENTS, names)
    pages = {head.path: docs.markdown(head.path) for head in docs.heads if head.path != "/docs/changelog"}
    said = {path for path, text in pages.items() if names.in_record(Method.USSD) in text.lower()}
    assert {"/docs/guides/accept-a-payment", "/docs/guides/your-own-page", "/docs/reference/glossary"} <= said
    usual = MethodNames().in_record(Method.USSD)
    assert names == MethodNames() or [path for path, text in pages.items() if usual in text.lower()] == []
    assert [path for path, text in pages.items() if "{{ ussd" in text] == []
    query = names.in_request(Method.USSD)
    assert search.found(query, docs.index)[0].path == "/docs/guides/accept-a-payment#methods-by-currency"


async def test_it_works_below_a_folder_of_a_proxy() -> None:
    base_url = "https://pay.example.com/gate"
    docs = DocsSite(lambda: document_of(OPERATIONS, base_url), base_url, OPERATIONS, EVENTS)
    service = Application(routes(docs, None), lifespan=nothing_to_open, meter=Meter())
    page = Outline((await get("/docs/guides/refund", service)).text)
    own = [href for href in page.values("href") if href.startswith("/")]
    assert own
    assert [href for href in own if not href.startswith("/gate/")] == []


def test_files_have_the_same_pages_and_no_dead_link(tmp_path: Path) -> None:
    count = export.write(tmp_path, SITE)
    assert count == len(SITE.heads)
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) == count
    for page in pages:
        outline = Outline(page.read_text())
        for href in {*outline.values("href"), *outline.values("src")}:
            path = href.partition("#")[0]
            assert not path.startswith("/"), (page, href)
            if path and not urlsplit(path).scheme:
                assert (page.parent / unquote(path)).exists(), (page, href)
        assert "data-keys" not in page.read_text()
    index = (tmp_path / "search.js").read_text().removeprefix("var searchIndex = ").removesuffix(";\n")
    for entry in json.loads(index):
        assert (tmp_path / entry[1].partition("#")[0]).exists(), entry


def test_files_for_machines_link_to_files(tmp_path: Path) -> None:
    export.write(tmp_path, SITE)
    texts = [*tmp_path.rglob("*.md"), *tmp_path.glob("*.txt")]
    found = [(file, target) for file in texts for target in re.findall(r"\]\(([^)\s]+)\)", file.read_text())]
    assert len(found) > 500
    own = [(file, target.partition("#")[0]) for file, target in found if not target.startswith("https://")]
    assert [(file, path) for file, path in own if path.endswith(".html")] == []
    assert [(file, path) for file, path in own if path and not (file.parent / path).exists()] == []
    assert f"{BASE_URL}/docs" not in (tmp_path / "llms.txt").read_text()


async def test_files_opened_without_a_server_are_searched(browser: Browser, tmp_path: Path) -> None:
    export.write(tmp_path, SITE)
    page = await browser.new_page()
    await page.goto((tmp_path / "guides" / "refund.html").as_uri())
    await page.get_by_role("searchbox").fill("DUPLICATE_REFERENCE")
    await page.locator(".results a").first.click()
    assert page.url == f"{(tmp_path / 'reference' / 'errors.html').as_uri()}#duplicate-reference"


async def test_the_first_page_is_markdown_like_the_others() -> None:
    assert (await get("/docs.md")).text == (await get("/docs/index.md")).text


# Methods.


async def test_the_methods_of_each_currency_are_in_a_table() -> None:
    page = (await get("/docs/guides/accept-a-payment.md")).text
    rows = dict(re.findall(r"^\| `([A-Z]{3})`, .*? \| (.*) \|$", page, re.MULTILINE))
    names = MethodNames()
    assert {code: re.findall("`(.*?)`", row) for code, row in rows.items()} == {
        currency.value: names.in_requests(currency.spec.methods) for currency in CHECKOUT_OFFERS
    }


# The changelog.


def test_lines_for_operators_stand_apart_below_those_for_developers() -> None:
    _, *dates = re.split(r"^## ", SITE.markdown("/docs/changelog"), flags=re.MULTILINE)
    assert len(dates) > 3
    for entry in dates:
        marks = re.findall(r"^\*\*(.*?)\*\*$", entry, re.MULTILINE)
        assert marks in (["For developers"], ["For developers", "For operators"])
        assert "For operators:" not in entry


def test_a_list_without_a_total_says_so() -> None:
    [words] = {
        operation["description"]
        for methods in DOCUMENT["paths"].values()
        for operation in methods.values()
        if operation["operationId"] == "listPayments"
    }
    assert "total" not in DOCUMENT["components"]["schemas"]["PaymentRecordPage"]["properties"]
    assert "no total" in words


# The demo shop.


def test_the_page_of_the_demo_shop_names_its_port_its_files_and_its_cases() -> None:
    folder = Path(__file__).parents[2] / "examples" / "shop"
    page = SITE.markdown("/docs/testing/demo-shop")
    [port] = re.findall(r'"SHOP_PORT", "(\d+)"', (folder / "__main__.py").read_text())
    assert f"http://localhost:{port}" in page
    # The guides' receiver of webhooks runs beside it.
    assert port not in SITE.markdown("/docs/guides/receive-webhooks")
    files = {path.name for path in folder.iterdir() if path.suffix in (".py", ".html")}
    assert [name for name in files - {"__init__.py", "__main__.py"} if f"`{name}`" not in page] == []
    groups = set(re.findall(r'Case\(\s*"([^"]+)"', (folder / "cases.py").read_text()))
    assert [name for name in groups if f"| {name} |" not in page] == []


# Markdown.


def test_neighbouring_samples_are_one_with_a_tab_for_each_language() -> None:
    document = Document("```sh\necho 1\n```\n```python file=a.py\nprint(1)\n```\n\n```json\n{}\n```\n")
    assert document.languages == (("sh", "curl"), ("python", "Python"))
    html = document.html(str)
    assert 'class="sample" data-lang="sh" data-also=""><figcaption>curl<' in html
    assert "<figcaption>a.py<" in html
    assert 'class="output"' in html


def test_what_is_installed_shows_in_its_language_only() -> None:
    document = Document("```sh\necho 1\n```\n\nText.\n\n```python install\npip\n```\n```js install\nnpm\n```\n")
    assert 'data-also="sh"' not in document.html(str)


def test_a_sample_that_cannot_be_undone_asks_first() -> None:
    curl = "curl -sS $TIDEGATE_URL/sandbox/clock"
    asking = Document(f"""```sh\n{curl} -d '{{"advance": "15m"}}'\n```\n""").html(str)
    assert ("data-asks" in asking, "data-asks" in Document(f"```sh\n{curl}\n```\n").html(str)) == (True, False)


def test_a_sample_without_the_chosen_language_shows_another() -> None:
    document = Document("```sh\necho 1\n```\n\nText.\n\n```python\nprint(1)\n```\n```js\n1\n```\n")
    assert document.html(str).count('data-lang="python" data-also="sh"') == 1
    assert document.html(str).count('data-lang="js" data-also=""') == 1


def test_short_code_in_a_line_is_not_broken() -> None:
    html = Document("`?reference=ORDER-1001` and `" + "a" * 25 + "`").html(str)
    assert re.findall("<code( [^>]*)?>", html) == [' class="unbroken"', ""]


def test_html_in_a_guide_is_text() -> None:
    html = Document("## 1. A <b>step</b>\n\n<script>alert(1)</script> [x](javascript:alert(1))\n").html(str)
    assert "<script" not in html
    assert 'href="javascript' not in html
    assert 'data-step="1"' in html


def test_front_matter_is_taken_off() -> None:
    assert front_matter("---\ntitle: A: b\n---\n\nText\n") == ({"title": "A: b"}, "Text\n")


def test_every_refusal_that_a_client_meets_is_on_the_page_of_errors() -> None:
    text = SITE.content("/docs/reference/errors", str).markdown
    for refusal in Refusal.__subclasses__():
        if refusal in error_guide.GUIDE:
            assert refusal.error_type in text
