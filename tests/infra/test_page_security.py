"""The headers that keep a page ours, as sent and as a real browser takes them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from infra.page_world import browser_at, elsewhere, error_page, site_of, visiting
from tidegate.core.errors import NotFound
from tidegate.infra import rate_limit
from tidegate.infra.http import csp_reports
from tidegate.infra.http.body import BODY_BYTES_MAX
from tidegate.infra.http.csp_reports import ALL, EACH_ADDRESS, REPORTS_PATH, Reports
from tidegate.infra.http.request_limit import Limiter
from tidegate.infra.http.routing import Route
from tidegate.infra.page.response import Html, see_other
from tidegate.infra.page.router import PageRequest, PageRouter
from tidegate.infra.page.security import new_nonce
from tidegate.infra.rate_limit import RateLimit

# A busy machine is no failure.
unhurried = settings(deadline=None)


def policy_of(answer: httpx.Response) -> dict[str, list[str]]:
    directives = (text.split() for text in answer.headers["content-security-policy"].split("; "))
    return {name: values for name, *values in directives}


def nonce_of(answer: httpx.Response) -> str:
    [nonce] = [value for value in policy_of(answer)["script-src"] if value.startswith("'nonce-")]
    return nonce


async def show(request: PageRequest) -> Html:
    return Html(f"<!doctype html>{request.nonce}".encode())


async def lose(request: PageRequest) -> Html:
    raise NotFound("not here")


async def break_down(request: PageRequest) -> Html:
    raise RuntimeError


async def move(request: PageRequest) -> Html:
    return see_other("/")


def routes(_: str) -> list[Route]:
    pages = [("GET", "/", show), ("GET", "/lost", lose), ("GET", "/broken", break_down), ("GET", "/moved", move)]
    return [*site_of(*pages), PageRouter(error_page).nothing_else("/{rest:path}")]


@pytest.fixture(scope="module")
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with visiting(routes) as opened:
        yield opened


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("HEAD", "/", 200),
        ("GET", "/moved", 303),
        ("GET", "/lost", 404),
        ("GET", "/none/such", 404),
        ("POST", "/", 405),
        ("GET", "/broken", 500),
    ],
)
async def test_every_page_carries_them(client: httpx.AsyncClient, method: str, path: str, status: int) -> None:
    answer = await client.request(method, path)
    assert answer.status_code == status
    nonce = nonce_of(answer)
    assert answer.headers["content-security-policy"] == (
        f"default-src 'none'; script-src 'self' {nonce}; style-src 'self' {nonce}; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; object-src 'none'; "
        "frame-src 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types tidegate; "
        "report-to csp; report-uri /csp-reports"
    )
    assert answer.headers["reporting-endpoints"] == 'csp="/csp-reports"'
    assert {name: answer.headers.get_list(name) for name in ONCE} == {name: [value] for name, value in ONCE.items()}
    assert "server" not in answer.headers
    assert "access-control-allow-origin" not in answer.headers


ONCE = {
    "cache-control": "no-store",
    "content-type": "text/html; charset=utf-8",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "strict-transport-security": "max-age=63072000; includeSubDomains",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


async def test_nothing_in_the_policy_is_open(client: httpx.AsyncClient) -> None:
    text = (await client.get("/")).headers["content-security-policy"]
    assert not any(word in text for word in ("unsafe-", "*", "http:", "https:", "blob:"))


async def test_a_page_has_a_nonce_of_its_own_and_knows_it(client: httpx.AsyncClient) -> None:
    answers = [await client.get("/") for _ in range(20)]
    assert len({nonce_of(answer) for answer in answers}) == 20
    assert all(f"'nonce-{answer.text.removeprefix('<!doctype html>')}'" == nonce_of(answer) for answer in answers)


def test_a_nonce_has_128_bits() -> None:
    assert {len(new_nonce()) for _ in range(100)} == {22}


async def test_every_feature_is_off_but_two(client: httpx.AsyncClient) -> None:
    text = (await client.get("/")).headers["permissions-policy"]
    features = dict(part.split("=") for part in text.split(", "))
    assert {name for name, who in features.items() if who != "()"} == {"payment", "clipboard-write"}
    assert (features["payment"], features["clipboard-write"]) == ("(self)", "(self)")
    assert {"camera", "microphone", "geolocation", "usb"} <= features.keys()


# In a real browser.


class Trial:
    """A page that tries something in a browser, and what its scripts say about it."""

    def __init__(self, html: str) -> None:
        self._html = f"<!doctype html><title>t</title><body>{html}"
        self._told: asyncio.Queue[str] = asyncio.Queue()

    def routes(self, _: str) -> list[Route]:
        return site_of(("GET", "/", self.show), ("GET", "/told/{what}", self.hear))

    async def show(self, request: PageRequest) -> Html:
        return Html(self._html.replace("NONCE", request.nonce).encode())

    async def hear(self, request: PageRequest) -> Html:
        self._told.put_nowait(request.path["what"])
        return Html(b"")

    async def heard_until_end(self) -> list[str]:
        heard = [await self._told.get()]
        while heard[-1] != "end":
            heard.append(await self._told.get())
        return heard


async def ref(html: str) -> list[str]:
    trial = Trial(html)
    async with visiting(trial.routes) as client, browser_at(f"{client.base_url}/"):
        return await trial.heard_until_end()


# A moment after everything is loaded, so that whatever else the page says comes first.
END = (
    "<script nonce=NONCE>addEventListener('load', () =>"
    " setTimeout(() => fetch('/told/end', {mode: 'no-cors'}), 300))</script>"
)


async def test_a_browser_runs_no_script_that_was_put_into_the_page() -> None:
    attacks = (
        "<script>fetch('/told/inline')</script>"
        "<script nonce=guess>fetch('/told/guess')</script>"
        "<script src='data:text/javascript,fetch(`/told/data`)'></script>"
        "<img src=/none onerror=\"fetch('/told/handler')\">"
        "<svg onload=\"fetch('/told/svg')\"></svg>"
        "<iframe srcdoc='<script>parent.fetch(`/told/frame`)</script>'></iframe>"
        "<base href=https://evil.com/>"
        "<a id=link href=\"javascript:fetch('/told/link')\">x</a>"
        "<script nonce=NONCE>document.getElementById('link').click()</script>"
    )
    assert await ref(attacks + END) == ["end"]


async def test_a_browser_makes_html_of_text_only_through_our_policy() -> None:
    script = """
        const said = [];
        const attempt = (name, action) => { try { action(); said.push(name) } catch { said.push('no-' + name) } };
        attempt('text', () => { document.body.innerHTML = '<b>x</b>' });
        attempt('other', () => trustedTypes.createPolicy('other', { createHTML: text => text }));
        let policy;
        attempt('policy', () => { policy = trustedTypes.createPolicy('tidegate', { createHTML: text => text }) });
        attempt('ours', () => { document.body.innerHTML = policy.createHTML('<b>x</b>') });
        attempt('eval', () => eval('1'));
        fetch('/told/' + said.join('.')).then(() => fetch('/told/end'));
    """
    heard = await ref(f"<script nonce=NONCE>{script}</script>")
    assert heard == ["no-text.no-other.policy.ours.no-eval", "end"]


async def test_a_browser_shows_the_page_in_no_frame_of_another_site() -> None:
    trial = Trial("<script nonce=NONCE>fetch('/told/framed')</script>")
    async with visiting(trial.routes) as client:
        ours = str(client.base_url)
        page = f"<iframe src={ours}/></iframe>" + END.replace("fetch('/told/end'", f"fetch('{ours}/told/end'")
        async with elsewhere(page.encode()) as url, browser_at(url):
            assert await trial.heard_until_end() == ["end"]


# Reports.


@pytest.fixture
def log_lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    monkeypatch.setattr(csp_reports, "log", structlog.get_logger("page"))  # A used one may be bound elsewhere.
    with capture_logs() as lines:
        yield lines


@pytest.fixture
async def receiver() -> AsyncIterator[httpx.AsyncClient]:
    async with visiting(lambda _: [*Reports(Limiter(RateLimit(), b"test")).routes()]) as opened:
        yield opened


async def report(client: httpx.AsyncClient, value: Any, media_type: str = "application/reports+json") -> httpx.Response:
    return await client.post(REPORTS_PATH, content=json.dumps(value), headers={"content-type": media_type})


def modern(**body: Any) -> list[dict[str, Any]]:
    return [{"type": "csp-violation", "age": 10, "url": "https://pay.example.com/pay/tg_secret", "body": body}]


@pytest.mark.parametrize(
    ("value", "media_type", "said"),
    [
        (
            modern(effectiveDirective="script-src-elem", blockedURL="https://evil.com/x?card=5319317801366660"),
            "application/reports+json",
            ("script-src-elem", "https://evil.com"),
        ),
        (
            {"csp-report": {"effective-directive": "style-src", "blocked-uri": "inline", "document-uri": "tg_secret"}},
            "application/csp-report",
            ("style-src", "inline"),
        ),
        (modern(effectiveDirective="x\ny", blockedURL="\x1b[31m"), "application/json", ("unknown", "unknown")),
        (modern(effectiveDirective="x" * 41, blockedURL=["a"]), "application/json", ("unknown", "unknown")),
        (modern(blockedURL="https://user:secret@evil.com/"), "application/json", ("unknown", "unknown")),
        (modern(), "application/json", ("unknown", "unknown")),
    ],
)
async def test_a_report_is_one_line_with_nothing_private(
    receiver: httpx.AsyncClient, log_lines: list[Any], value: Any, media_type: str, said: tuple[str, str]
) -> None:
    assert (await report(receiver, value, media_type)).status_code == 204
    [line] = [line for line in log_lines if line["event"] == "blocked by a browser"]
    assert (line["directive"], line["blocked"]) == said
    assert "secret" not in str(line)


@pytest.mark.parametrize("value", [None, 1, [], [1], {}, [{}], [{"body": 1}], {"csp-report": []}, "x"])
async def test_what_is_no_report_is_refused(receiver: httpx.AsyncClient, log_lines: list[Any], value: Any) -> None:
    assert (await report(receiver, value)).status_code == 400
    assert [line for line in log_lines if line["event"] == "blocked by a browser"] == []


async def test_a_report_has_a_size_and_a_type(receiver: httpx.AsyncClient) -> None:
    assert (await report(receiver, "x" * BODY_BYTES_MAX)).status_code == 413
    assert (await report(receiver, modern(), "text/plain")).status_code == 415
    assert (await receiver.get(REPORTS_PATH)).status_code == 405


@pytest.fixture
def no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the requests take, nothing is allowed anew meanwhile."""
    monkeypatch.setattr(rate_limit, "monotonic_s", lambda: 1_000.0)


@pytest.mark.usefixtures("no_time_passes")
async def test_reports_of_one_address_are_few(receiver: httpx.AsyncClient, log_lines: list[Any]) -> None:
    answers = [await report(receiver, modern()) for _ in range(EACH_ADDRESS.burst + 3)]
    assert [answer.status_code for answer in answers] == [204] * EACH_ADDRESS.burst + [429] * 3
    assert int(answers[-1].headers["retry-after"]) >= 1


@pytest.mark.usefixtures("no_time_passes")
async def test_reports_of_all_addresses_together_are_few() -> None:
    async with visiting(lambda _: [*Reports(Limiter(RateLimit(), b"test")).routes()], trusted_proxies=1) as client:
        statuses = []
        for number in range(ALL.burst + 10):
            client.headers["x-forwarded-for"] = f"10.0.0.{number}"
            statuses.append((await report(client, modern())).status_code)
    assert statuses == [204] * ALL.burst + [429] * 10


@unhurried
@given(st.text() | st.text("a-:/.", max_size=20))
def test_any_text_is_short_and_plain_afterwards(text: str) -> None:
    known = csp_reports._known(text)
    assert len(known) <= 150
    assert known.isascii()
    assert known.isprintable()
