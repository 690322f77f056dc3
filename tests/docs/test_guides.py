"""Every code block of every guide, in every language, runs against a sandbox as a reader would run it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.async_api import Browser, Page, Route, expect
from pygments.lexers import get_lexer_by_name
from pygments.token import Error

from browser import DESK, PHONE
from browser_axe import assert_accessible
from process import free_port, stop, tidegate, wait_until_ready
from receiver import answer, receiving
from tidegate.app import document_of, operations_of
from tidegate.docs.example import Shell
from tidegate.docs.markdown import Document, front_matter
from tidegate.docs.reference import ApiReference
from tidegate.infra.http.operation import Operation, encode
from tidegate.runtime import Runtime
from tidegate.settings import Settings
from tidegate.webhook import examples as webhook_examples
from tidegate.webhook import sign
from tidegate_client import Tidegate

HERE = Path(__file__).parent
CLIENTS = HERE.parents[1] / "clients"
PAGES = HERE.parents[1] / "src" / "tidegate" / "docs" / "pages"
WITHIN_S = 120
_FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MADE_UP = re.compile(r"\b(tg|evt)_\w+|localhost:\d+")
# The command that runs many programs one after the other, and how their files end.
COMMANDS = {
    "sh": ("bash", "sh"),
    "python": (sys.executable, "py"),
    "js": ("node", "mjs"),
    "php": ("php", "php"),
}
_TAG = "<?php\n"
# Blocks of these are tried by a test of their own: below, and TypeScript with its client.
OTHERS = {"console", "html", "json", "ts"}
# Blocks that are not run here, and why.
NOT_RUN = {
    ("libraries/other-languages", "console"): "downloads a generator and needs Java: `make client-check` runs the same",
}


class Block(NamedTuple):
    page: str
    language: str
    info: tuple[str, ...]
    text: str

    @property
    def file(self) -> str | None:
        """The name that the page gives it."""
        return next((word.removeprefix("file=") for word in self.info if word.startswith("file=")), None)


START_PAGE = "the sandbox's front page"
START = HERE.parents[1] / "src" / "tidegate" / "sandbox" / "templates" / "create.md"


def blocks() -> Iterator[Block]:
    for language, _, text in _FENCE.findall(START.read_text()):
        yield Block(START_PAGE, language, (), text)
    for path in sorted(PAGES.rglob("*.md")):
        if not path.is_symlink():
            name = str(path.relative_to(PAGES)).removesuffix(".md")
            for language, info, text in _FENCE.findall(path.read_text()):
                yield Block(name, language, tuple(info.split()), text)


BLOCKS = list(blocks())


def prints(page: str) -> str:
    if page == START_PAGE:
        return "/pay/"
    return front_matter((PAGES / f"{page}.md").read_text())[0]["prints"]


@dataclass(frozen=True)
class Guide:
    """What a page has in one language."""

    page: str
    language: str
    blocks: tuple[Block, ...] = field(repr=False)

    def parts(self, kind: str | None) -> list[str]:
        """The program; `serve`: programs that wait for requests; `install`: commands for a shell before all."""
        return [
            block.text
            for block in self.blocks
            if (kind in block.info if kind else not {"serve", "install"} & {*block.info})
        ]

    @property
    def servers(self) -> list[str]:
        """Programs that wait for requests. In a shell it is netcat that waits."""
        return self.parts("serve") if self.language != "sh" or shutil.which("nc") else []

    @property
    def order(self) -> str:
        name = re.sub(r"\W+", "-", self.page.rpartition("/")[2])
        return f"{name}-{self.language}"


ALL = [
    Guide(page, language, tuple(block for block in BLOCKS if (block.page, block.language) == (page, language)))
    for page, language in dict.fromkeys((block.page, block.language) for block in BLOCKS)
    if language in COMMANDS
]


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Its folder."""
    home = tmp_path_factory.mktemp("sandbox")
    port = free_port()
    base_url = f"http://127.0.0.1:{port}"
    process = tidegate("dev", TIDEGATE_HOME=str(home), PORT=str(port), TIDEGATE_BASE_URL=base_url)
    try:
        wait_until_ready(base_url, process)
        yield home
    finally:
        stop(process)


def keys_of(sandbox: Path) -> dict[str, Any]:
    keys: dict[str, Any] = json.loads((sandbox / "sandbox.json").read_text())
    return keys


def client_of(sandbox: Path) -> Tidegate:
    keys = keys_of(sandbox)
    return Tidegate(keys["secretKey"], keys["publicKey"], keys["businessId"], base_url=keys["baseUrl"])


def environment(sandbox: Path, folder: Path) -> dict[str, str]:
    """A reader's terminal: the four variables are set, `tidegate` is installed, the sandbox is in this folder."""
    (folder / ".tidegate").symlink_to(sandbox)
    (folder / "bin").mkdir()
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    keys, kept = keys_of(sandbox), {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    return {
        **kept,
        "PATH": f"{folder}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TIDEGATE_URL": keys["baseUrl"],
        "TIDEGATE_SECRET_KEY": keys["secretKey"],
        "TIDEGATE_PUBLIC_KEY": keys["publicKey"],
        "TIDEGATE_BUSINESS_ID": keys["businessId"],
        "WEBHOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=",
    }


class Project:
    """A reader's folder for one language, in which every guide has been followed."""

    def __init__(self, language: str, folder: Path, sandbox: Path) -> None:
        self.folder, self.variables, self.port = folder, environment(sandbox, folder), free_port()
        self.command, self.ending = COMMANDS[language]
        self.guides = [guide for guide in ALL if guide.language == language]
        self._prepare(language)

    def _prepare(self, language: str) -> None:
        """Our client as it is in this tree, until a guide installs what the sandbox hands out."""
        if language == "js":
            (self.folder / "package.json").write_text("{}")
            (self.folder / "node_modules").mkdir()
            (self.folder / "node_modules" / "tidegate-client").symlink_to(CLIENTS / "typescript")
        if language == "python":
            # `pip` of the reader's own environment: without what is installed for these tests.
            pip = self.folder / "bin" / "pip"
            target = self.folder / "installed"
            pip.write_text(f'#!/bin/sh\n{sys.executable} -m pip "$@" --no-deps -q --target {target}\n')
            pip.chmod(0o755)
            self.variables["PYTHONPATH"] = f"{target}:{CLIENTS / 'python' / 'src'}"

    def as_typed(self, text: str, guide: Guide) -> str:
        """With an order and a port of its own, and with the keys that the page shows in a sandbox."""
        # First the port: the keys and the sandbox's own port may have the same digits.
        text = text.replace("3000", str(self.port)).replace("{{ base_url }}", self.variables["TIDEGATE_URL"])
        for name in ("TIDEGATE_SECRET_KEY", "TIDEGATE_PUBLIC_KEY", "TIDEGATE_BUSINESS_ID"):
            text = text.replace(f"your-{name.lower().replace('_', '-')}", self.variables[name])
        return text.replace("ORDER-", f"{guide.order}-")

    def run(self) -> dict[str, str]:
        """What each page's program prints, or its server where it has one. All in one process; servers beside it."""
        typed = {self.as_typed(text, guide) for guide in self.guides for text in guide.parts("install")}
        for text in sorted(typed):
            subprocess.run(
                ["bash", "-ec", text], cwd=self.folder, env=self.variables, check=True, timeout=WITHIN_S,
                capture_output=True,
            )  # fmt: skip
        with ExitStack() as servers:
            files = {guide.page: self._files(guide, servers) for guide in self.guides}
            runner = HERE / f"run_programs.{self.ending}"
            done = subprocess.run(
                [self.command, str(runner), *files.values()], cwd=self.folder, env=self.variables,
                capture_output=True, text=True, timeout=WITHIN_S, check=False,
            )  # fmt: skip
            said = done.stdout.split("\0")[1:]
            assert len(said) == len(files), done.stdout + done.stderr
            found = dict(zip(files, said, strict=True))
            print(done.stdout)
            for guide in self.guides:
                if guide.servers:
                    found[guide.page] = wait_for(self.folder / f"{guide.order}.log", prints(guide.page))
            return found

    def _files(self, guide: Guide, servers: ExitStack) -> str:
        for block in guide.blocks:
            if name := block.file:
                (self.folder / name).write_text(block.text)
        for text in guide.servers:
            file = self.folder / f"{guide.order}-server.{self.ending}"
            file.write_text(self.as_typed(text, guide))
            log = self.folder / f"{guide.order}.log"
            # PHP has a server that answers each request by the program.
            options = ["-S", f"127.0.0.1:{self.port}"] if guide.language == "php" else []
            servers.enter_context(running([self.command, *options, str(file)], self.folder, self.variables, log))
        program = self.folder / f"{guide.order}.{self.ending}"
        # Each file of PHP begins with its tag; the parts are one file here.
        first, *others = guide.parts(None)
        program.write_text(self.as_typed("\n".join([first, *(text.removeprefix(_TAG) for text in others)]), guide))
        return str(program)


@contextmanager
def running(command: list[str], folder: Path, variables: dict[str, str], said: Path) -> Iterator[None]:
    """A program, and those that it starts, until the end of the block; what it prints in a file."""
    with said.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=folder, env=variables, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(WITHIN_S)


def wait_for(said: Path, wanted: str) -> str:
    ends_at = time.monotonic() + WITHIN_S
    while wanted not in said.read_text() and time.monotonic() < ends_at:
        time.sleep(0.1)
    return said.read_text()


async def test_commands_of_a_terminal_print_what_the_page_shows(sandbox: Path, tmp_path: Path) -> None:
    variables, wrong = environment(sandbox, tmp_path), {}
    async with receiving(answer(204)) as hook:
        with client_of(sandbox) as client:
            url = hook.url(host="localhost")
            endpoint = await asyncio.to_thread(client.webhooks.endpoints.create, url=url)
            for command, printed in _commands():
                said = await asyncio.to_thread(output_of, command, tmp_path, variables)
                if _MADE_UP.sub("", said) != _MADE_UP.sub("", printed):
                    wrong[command] = said
            await asyncio.to_thread(client.webhooks.endpoints.delete, endpoint.id)
    assert wrong == {}


def _commands() -> Iterator[tuple[str, str]]:
    """And what the page shows below each."""
    for block in BLOCKS:
        if block.language == "console" and (block.page, "console") not in NOT_RUN:
            yield from re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE)


def output_of(command: str, folder: Path, variables: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-ec", command], cwd=folder, env=variables, check=False, capture_output=True, text=True,
        timeout=WITHIN_S,
    )  # fmt: skip
    return done.stdout if done.returncode == 0 else done.stdout + done.stderr


async def test_pages_of_a_shop_open_the_checkout(sandbox: Path, browser: Browser) -> None:
    """Each sample opens the dialog: by its link, or by calling the function."""
    [tag, call] = [block.text for block in BLOCKS if block.language == "html"]
    with client_of(sandbox) as client:
        made = await asyncio.to_thread(
            client.payments.create, amount=900, currency="NGN", customer={"name": "Ada Obi", "email": "ada@example.com"}
        )
    script = tag.replace("{{ base_url }}", client.base_url).replace("LINK", made.link)
    given = f"<script>const link = {json.dumps(made.link)}; const show = console.log;</script>"
    async with receiving() as shop:
        for html in (script, script + given + call):
            shop.behaviour = answer(200, html.encode(), content_type="text/html")
            page = await browser.new_page()
            await page.goto(shop.url("/"))
            if html == script:
                await page.get_by_role("link", name="Pay").click()
            await expect(page.frame_locator("dialog iframe").locator("#page")).to_be_visible()


@asynccontextmanager
async def page_with(browser: Browser, base_url: str, sections: str) -> AsyncIterator[Page]:
    """A page of the documentation that has these sections in place of its own."""
    page = await browser.new_page(base_url=base_url)

    async def with_sections(route: Route) -> None:
        answer = await route.fetch()
        whole = re.sub("<main.*</main>", lambda _: f"<main>{sections}</main>", await answer.text(), flags=re.DOTALL)
        await route.fulfill(response=answer, body=whole)

    await page.route("**/docs/reference/create-payment", with_sections)
    await page.goto("/docs/reference/create-payment")
    await expect(page.locator("button.run").first).to_be_visible()
    yield page
    await page.close()


async def test_every_operation_runs_from_its_page(sandbox: Path, browser: Browser) -> None:
    """The buttons of all pages on one of them, in the order of the reference. Those that delete ask first."""
    base_url = keys_of(sandbox)["baseUrl"]
    operations = operations_of(Runtime.of(Settings()))
    asked: list[asyncio.Task[None]] = []
    async with page_with(browser, base_url, "".join(runners(operations, base_url))) as page:
        page.on("dialog", lambda dialog: asked.append(asyncio.create_task(dialog.accept())))
        assert await page.evaluate(RUN_ALL) == []
    assert len(asked) == [operation.method for operation in operations].count("DELETE")
    # What would get every later event, and answer none, is removed again.
    with client_of(sandbox) as client:
        left = await asyncio.to_thread(lambda: [endpoint.url for endpoint in client.webhooks.endpoints.list()])
    assert webhook_examples.CREATE_REQUEST["url"] not in left


async def test_samples_of_guides_run_from_their_page(sandbox: Path, browser: Browser) -> None:
    """The last of each guide, which runs those before it; all on one page. Those that do more have no button."""
    sections = "".join(guide_runners())
    asked: list[asyncio.Task[None]] = []
    async with page_with(browser, keys_of(sandbox)["baseUrl"], sections) as page:
        page.on("dialog", lambda dialog: asked.append(asyncio.create_task(dialog.accept())))
        assert await page.evaluate(RUN_ALL) == []
        said = await page.locator("main").inner_text()
    assert len(asked) == 1  # The clock.
    assert re.search(r"sent as ORDER-\d", said)
    assert '"refundStatus": "successful"' in said
    without = {guide.page for guide in ALL if guide.language == "sh"} - {*re.findall("<section>(.*?)<", sections)}
    assert without == {
        "guides/idempotency-and-retries", "guides/lists-and-cursors", "guides/receive-webhooks", "testing/in-your-ci",
    }  # fmt: skip


def guide_runners() -> Iterator[str]:
    for guide in ALL:
        html = Document("\n".join(f"```sh\n{text}```\n\n---\n" for text in guide.parts(None))).html(str)
        if guide.language == "sh" and "runner" in html:
            yield f'<section>{guide.page}<div class="body">{html}</div></section>'


# Presses them one after the other; those whose answer is not a success.
RUN_ALL = """async () => {
  for (const section of document.querySelectorAll('main section')) {
    [...section.querySelectorAll('button.run')].at(-1).click();
    while (!section.querySelector('.runner *')) await new Promise((resume) => setTimeout(resume, 10));
  }
  const sections = [...document.querySelectorAll('main section')];
  return sections.filter((section) => !section.querySelector('.said .ok')).map((section) => section.textContent);
}"""


def runners(operations: list[Operation], base_url: str) -> Iterator[str]:
    shell = Shell(base_url, operations)
    for operation in operations:
        plan = escape(encode(shell.plan_of(operation)).decode())
        asks = ' data-asks="yes"' if operation.method == "DELETE" else ""
        yield f'<section>{operation.name}<p></p><div class="runner" data-plan="{plan}"{asks}></div></section>'


async def test_the_front_page_is_accessible_shows_one_language_and_runs_it(sandbox: Path, browser: Browser) -> None:
    for width, is_dark in ((PHONE, False), (DESK, True)):
        page = await browser.new_page(viewport={"width": width, "height": 900})
        await page.emulate_media(color_scheme="dark" if is_dark else "light")
        await page.goto(keys_of(sandbox)["baseUrl"])
        await page.get_by_text("Python", exact=True).click()
        await expect(page.locator("pre:visible")).to_have_attribute("data-lang", "python")
        await page.get_by_role("button", name="Run").click()
        await expect(page.locator(".result")).to_contain_text("201 Created")
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        await assert_accessible(page)
        await page.get_by_role("link", name="Pay it").click()
        await expect(page.locator("#page")).to_be_visible()
        await page.close()


@pytest.fixture(scope="module", params=COMMANDS)
def project(request: pytest.FixtureRequest, sandbox: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    if shutil.which(COMMANDS[request.param][0]) is None:
        pytest.skip(f"there is no {COMMANDS[request.param][0]} here")
    return Project(request.param, tmp_path_factory.mktemp(request.param), sandbox)


def test_the_samples_of_all_guides_run(project: Project) -> None:
    said = project.run()
    wanted = {guide.page: prints(guide.page).replace("ORDER-", f"{guide.order}-") for guide in project.guides}
    assert {page: text for page, text in said.items() if wanted[page] not in text} == {}


def test_the_file_of_keys_is_as_shown(sandbox: Path) -> None:
    [shown] = [json.loads(block.text) for block in BLOCKS if block.language == "json"]
    found = keys_of(sandbox)
    assert {name: found[name][:4] for name in shown if name.endswith("Key")} == {
        name: value[:4] for name, value in shown.items() if name.endswith("Key")
    }
    assert shown.keys() <= found.keys()


SIGNED = b'{"event":"charge.successful"}'
# For each language: how the function is called with what was sent, and with a body that was changed.
CALLS = {
    "sh": """
printf %s "$BODY" > sent; printf '%s ' "$BODY" > changed
for file in sent changed; do is_authentic $ID $AT $SIGNATURE $file && echo yes || echo no; done""",
    "python": """
headers = {"webhook-id": os.environ["ID"], "webhook-timestamp": os.environ["AT"]}
headers["webhook-signature"] = os.environ["SIGNATURE"]
for body in (os.environ["BODY"], os.environ["BODY"] + " "):
    print("yes" if is_authentic(headers, body.encode()) else "no")""",
    "js": """
const { ID, AT, SIGNATURE, BODY } = process.env;
const headers = { "webhook-id": ID, "webhook-timestamp": AT, "webhook-signature": SIGNATURE };
for (const body of [BODY, BODY + " "]) console.log(isAuthentic(headers, body) ? "yes" : "no");""",
    "php": """
$headers = ['webhook-id' => getenv('ID'), 'webhook-timestamp' => getenv('AT')];
$headers['webhook-signature'] = getenv('SIGNATURE');
foreach ([getenv('BODY'), getenv('BODY') . ' '] as $body) echo isAuthentic($headers, $body) ? "yes " : "no ";""",
}


@pytest.mark.parametrize("language", COMMANDS)
def test_a_signature_is_verified_by_hand(language: str, tmp_path: Path) -> None:
    command, ending = COMMANDS[language]
    if shutil.which(command) is None:
        pytest.skip(f"there is no {command} here")
    function = re.compile("(def |function |^)(is_authentic|isAuthentic)[(]", re.MULTILINE)
    [text] = [block.text for block in BLOCKS if block.language == language and function.search(block.text)]
    secret, program = sign.new_secret(), tmp_path / f"by_hand.{ending}"
    program.write_text(text + CALLS[language])
    sent = sign.headers("evt_1", SIGNED, [secret], timestamp_s=int(time.time()))
    given = {"ID": "evt_1", "AT": sent["webhook-timestamp"], "SIGNATURE": sent["webhook-signature"]}
    variables = {"PATH": os.environ["PATH"], "WEBHOOK_SECRET": secret, "BODY": SIGNED.decode(), **given}
    done = subprocess.run(
        [command, str(program)], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["yes", "no"], done.stderr


def test_without_netcat_the_shell_receiver_says_what_to_install(tmp_path: Path) -> None:
    [text] = [block.text for block in BLOCKS if block.file == "hook.sh"]
    (tmp_path / "hook.sh").write_text(text)
    shell = shutil.which("sh")
    assert shell
    done = subprocess.run(
        [shell, "hook.sh"], cwd=tmp_path, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False,
        timeout=WITHIN_S,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "There is no nc: install the package netcat-openbsd.\n")


def test_every_block_is_run() -> None:
    found = {(block.page, block.language) for block in BLOCKS}
    assert {language for _, language in found} <= {*COMMANDS, *OTHERS}
    assert NOT_RUN.keys() <= found


def test_the_command_stands_where_make_run_installs_it() -> None:
    texts = [path.read_text() for path in PAGES.rglob("*.md")]
    assert sum("$(.venv/bin/tidegate env)" in text for text in texts) >= 3
    assert [text for text in texts if "$(tidegate" in text] == []


def test_every_guide_can_run_again_and_after_another() -> None:
    """A reference is used once, so each run makes another."""
    programs = [block for block in BLOCKS if block.language in COMMANDS]
    fixed = re.compile(r"ORDER-\d+(?![\d-])")
    assert [(block.page, block.language) for block in programs if fixed.search(block.text)] == []
    # Two runs within a second are two orders.
    fresh = re.compile(r"ORDER-(1001-)?\W{1,4}(openssl rand|secrets\.token|uuid\.|crypto\.random|bin2hex\(random)")
    made = [(block.page, block.language) for block in programs if fresh.search(block.text)]
    assert len(made) == len({*made}) == 7 * len(COMMANDS)


def test_every_loop_that_waits_ends_by_itself() -> None:
    """Also where what it waits for never comes, such as without keys."""
    waits = re.compile(r"\b(sleep|usleep|setTimeout)\b")
    ends = re.compile(r"seq \d+|time\(\) \+ 60|Date\.now\(\) \+ 60_000")
    waiting = [block for block in BLOCKS if block.language in COMMANDS and waits.search(block.text)]
    assert len(waiting) > 5 * len(COMMANDS)
    assert [(block.page, block.language) for block in waiting if not ends.search(block.text)] == []


def test_every_guide_with_a_sample_has_it_in_every_language() -> None:
    """Except those about one language."""
    by_page: dict[str, set[str]] = {}
    for guide in ALL:
        by_page.setdefault(guide.page, set()).add(guide.language)
    assert {page: found for page, found in by_page.items() if found != {*COMMANDS}} == {
        "libraries/python": {"python"},
        "libraries/typescript": {"js"},
    }


# With a body, a query, a path with a value of another answer, a wait, and decimals.
WRITTEN = ("createPayment", "listCollections", "resendDelivery", "getCollection", "setRate")


def test_samples_of_php_ask_for_what_there_is() -> None:
    """Also where PHP is not installed: their brackets close, and their requests and fields are those of the API."""
    operations = operations_of(Runtime.of(Settings()))
    document = document_of(operations, "http://localhost")
    # Those of `metadata` and of what is known about a customer are the merchant's own.
    known = {*_names_in(document), "cart", "items", "firstName", "lastName", "nationality"}
    offered = [(operation.method, re.sub(r"{\w+}", "[^/]+", operation.path)) for operation in operations]
    reference = ApiReference(document, operations)
    texts = [block.text for block in BLOCKS if block.language == "php" and "install" not in block.info]
    texts += [reference.operation(reference.operations[name]).samples[3].text for name in WRITTEN]
    for text in texts:
        tokens = list(get_lexer_by_name("php", startinline=not text.startswith(_TAG)).get_tokens(text))
        assert [value for kind, value in tokens if kind is Error] == [], text
        assert [text.count(mark) for mark in "([{"] == [text.count(mark) for mark in ")]}"], text
        for verb, path in re.findall(r"->(get|post|patch|delete|file)\(['\"](.*?)['\"][,)]", text):
            method = "GET" if verb == "file" else verb.upper()
            named = re.sub(r"{\$.*?}|\$\w+", "x", path)
            assert any(method == one and re.fullmatch(pattern, named) for one, pattern in offered), (verb, path)
        keys = {*re.findall(r"'(\w+)' => (?!\$\w+[,\]] ?.*\] = )", text)} - {"payCode"}
        assert keys <= known, text


def _names_in(schema: Any) -> Iterator[str]:
    """Of properties and parameters."""
    if isinstance(schema, dict):
        yield from schema["properties"] if isinstance(schema.get("properties"), dict) else ()
        yield from (schema["name"],) if isinstance(schema.get("name"), str) else ()
        for inner in schema.values():
            yield from _names_in(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _names_in(inner)


def test_samples_use_our_clients() -> None:
    """The one way to call the API in these languages."""
    texts = [block for block in BLOCKS if block.language in ("python", "js") and "install" not in block.info]
    assert [block.page for block in texts if re.search(r"\b(httpx|requests|urllib|fetch\()", block.text)] == []
