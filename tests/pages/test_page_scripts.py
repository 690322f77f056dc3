"""What may run on a payment page is on a list; nothing else does, wherever it comes from."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import httpx
from playwright.async_api import Request, Route, expect

from pages.kinds import every_kind
from pages.payer import Payer, hearing
from pages.stage import Stage

INVENTORY = Path(__file__).parents[2] / "docs" / "script-inventory.md"
LISTED = re.compile(
    r"^\| (?P<name>\S+\.js) \| (?P<reason>[^|]{20,}) \| `(?P<integrity>sha384-[A-Za-z0-9+/=]{64})` \|$", re.M
)
POLICY = re.compile(r"```\n(default-src .+?)\n```", re.S)
ADDRESS = re.compile(r"/pay/static/(?P<stem>\w+)\.[0-9a-f]{16}(?P<suffix>\.js)")
HANDLER = re.compile(r"on[a-z]+")
NONCE = re.compile(r"nonce-[A-Za-z0-9_-]{22}")
REFUSED = ("violates the following Content Security Policy directive", "This document requires 'Trusted")


class Inspector(HTMLParser):
    """Everything in a page that could run, or could bring something that does."""

    def __init__(self, page: httpx.Response) -> None:
        super().__init__()
        self.scripts: list[tuple[str, str]] = []
        self.faults: list[str] = []
        self._inside = ""
        self.feed(page.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        facts = {name: value or "" for name, value in attrs}
        if tag == "script":
            self.scripts.append((facts.get("src", ""), facts.get("integrity", "")))
        if tag in ("iframe", "object", "embed", "base", "link") and facts.get("href") != "data:,":
            self.faults.append(f"<{tag}> {facts}")
        for name, value in facts.items():
            if HANDLER.fullmatch(name) or name in ("style", "srcdoc"):
                self.faults.append(f"{name} on <{tag}>")
            if re.match(r"\s*(javascript|vbscript|data:text)", value, re.I):
                self.faults.append(f"{value} on <{tag}>")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script" and data.strip():
            self.faults.append(f"a script inside the page: {data[:40]}")


async def test_the_scripts_of_every_page_are_those_on_the_list(stage: Stage) -> None:
    listed = {found["name"]: found["integrity"] for found in LISTED.finditer(INVENTORY.read_text())}
    for kind, page in (await every_kind(stage, "en")).items():
        inspector = Inspector(page)
        assert inspector.faults == [], kind
        sent = {ADDRESS.sub(r"\g<stem>\g<suffix>", address): integrity for address, integrity in inspector.scripts}
        assert sent == listed, f"{kind} has other scripts than {INVENTORY}"
        policy = NONCE.sub("nonce-…", page.headers["content-security-policy"])
        documented = POLICY.search(INVENTORY.read_text())
        assert documented is not None
        assert policy == documented[1].replace("\n", " "), kind


async def test_a_browser_loads_only_what_is_on_the_list(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    loaded: list[str] = []

    def note(request: Request) -> None:
        loaded.append(f"{request.resource_type} {request.url}")

    with hearing(payer.page.context, "request", note):
        await payer.page.reload()
        await payer.pays_by_card()
        await payer.sees_paid("₦100.00")
        await payer.follows("Receipt")
        await payer.sees_heading("₦100.00 paid")
    scripts = {entry for entry in loaded if entry.startswith("script ")}
    assert len(scripts) == 1
    assert ADDRESS.search(scripts.pop())
    kinds = {entry.partition(" ")[0] for entry in loaded}
    assert kinds == {"document", "script", "fetch", "eventsource"}
    assert await payer.page.evaluate("document.scripts.length") == 1


async def test_a_script_that_was_tampered_with_does_not_run(stage: Stage) -> None:
    checkout = await stage.new_payment()
    page = await stage.new_page(allowed=["Failed to find a valid digest in the 'integrity' attribute"])

    async def tamper(route: Route) -> None:
        answer = await route.fetch()
        await route.fulfill(response=answer, body=f"{await answer.text()}; window.hasRun = true;")

    await page.route("**/pay/static/*", tamper)
    await page.goto(checkout.link)
    await expect(page.get_by_role("heading", name="Pay by bank transfer")).to_be_visible()
    assert await page.evaluate("window.hasRun") is None
    # The page is still one that can be paid on.
    payer = Payer(page, checkout)
    await payer.begins_transfer()


async def test_what_is_smuggled_into_the_page_does_not_run(stage: Stage) -> None:
    checkout = await stage.new_payment()
    page = await stage.new_page(allowed=REFUSED)
    smuggled = (
        "<script>window.hasRun = 1</script>"
        "<script src='data:text/javascript,window.hasRun=2'></script>"
        "<img src='data:,' onerror='window.hasRun = 3'>"
        "<a id='tempting' href='javascript:void(window.hasRun = 4)'>Click</a>"
        "<svg onload='window.hasRun = 5'></svg>"
        "<base href='https://evil.example/'><object data='data:text/html,x'></object>"
    )

    async def smuggle(route: Route) -> None:
        answer = await route.fetch()
        await route.fulfill(response=answer, body=(await answer.text()).replace("<body>", f"<body>{smuggled}"))

    await page.route(f"**/pay/{checkout.pay_code}", smuggle)
    await page.goto(checkout.link)
    await page.locator("#tempting").click()
    for attempt in (
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=window.hasRun=6>')",
        "document.body.append(Object.assign(document.createElement('script'), { text: 'window.hasRun = 7' }))",
        "document.body.setAttribute('onclick', 'window.hasRun = 8')",
    ):
        await page.evaluate(f"(() => {{ try {{ {attempt} }} catch {{}} }})()")
    await page.locator("body").click(position={"x": 1, "y": 1})
    assert await page.evaluate("window.hasRun") is None
    assert page.url == checkout.link


async def test_the_page_cannot_be_framed(stage: Stage) -> None:
    checkout = await stage.new_payment()
    page = await stage.new_page(allowed=["frame-ancestors 'none'", "net::ERR_BLOCKED_BY_RESPONSE"])
    # Not even by a page of the same host.
    frame_around = f"<title>Thief</title><iframe src='{checkout.link}'></iframe>"
    await page.route("**/thief", lambda route: route.fulfill(content_type="text/html", body=frame_around))
    await page.goto("/thief")
    [frame] = page.main_frame.child_frames
    assert frame.url.startswith("chrome-error:")
    await expect(frame.locator("#main")).to_have_count(0)
