"""The TypeScript client against the running API, on a bad line too, and its types as the compiler sees them."""

from __future__ import annotations

import asyncio
import io
import json
import re
import sys
import tarfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from build import Shop
from clients import node
from clients.faulty_proxy import CUT, faulty, refused
from tidegate.app import EVENTS
from tidegate.docs import client_package
from tidegate.infra.http.operation import encode
from tidegate.webhook import sign

_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```ts\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEAD = """import * as tg from "tidegate-client";
const client = new tg.Tidegate();
const customer = { name: "Ada Obi", email: "ada@example.com" };
const card = { number: "5319317801366660", expiryMonth: 12, expiryYear: 2040, cvv: "123" };
const create = (reference, more = {}) =>
  client.payments.create({ amount: 2500, currency: "NGN", reference, customer, ...more });
"""
BODY = '{"event": "charge.later", "data": {"amount": 1.5}}'

Run = Callable[..., Awaitable[list[str]]]


@pytest.fixture
def run_program(shop: Shop, base_url: str, tmp_path: Path) -> Run:
    folder = node.project(tmp_path)

    async def run(text: str, url: str = base_url, **variables: str) -> list[str]:
        return await asyncio.to_thread(
            node.said,
            HEAD + text,
            folder,
            TIDEGATE_URL=url,
            TIDEGATE_SECRET_KEY=shop.secret_key,
            TIDEGATE_PUBLIC_KEY=shop.public_key,
            **variables,
        )

    return run


async def test_a_payment_is_created_paid_verified_and_refunded(run_program: Run) -> None:
    lines = await run_program("""
const { payCode, link } = await create("TS-1", { amount: 100000 });
await client.checkouts.charge(payCode, { type: "card", card });
const payment = await client.payments.verify("TS-1");
console.log(payment.status, tg.toMinor(payment.amountReceived, payment.currency), payment.requestId.slice(0, 4));
console.log(Object.keys(payment).includes("requestId"), link.endsWith(payCode));
for (const amount of [10.5, 11, 12]) await client.refunds.create({ transReference: "TS-1", amount });
const amounts = [];
for await (const refund of client.refunds.list({ perPage: 1 })) amounts.push(refund.amountRequested);
console.log(amounts.join(" "), (await client.refunds.list({ perPage: 2 })).results.length);
console.log(new TextDecoder().decode((await client.wallets.statementPdf("NGN")).slice(0, 5)));
console.log((await client.wallets.list()).length);
""")
    assert lines == ["success 10000000 req_", "false true", "12 11 10.5 2", "%PDF-", "1"]


async def test_refusals_are_classes(run_program: Run) -> None:
    lines = await run_program("""
const refusal = (work) => work.then(() => "none", (error) => error);
await create("TS-2");
const twice = await refusal(create("TS-2"));
console.log(twice instanceof tg.DuplicateReference, twice.payCode.length > 0, twice.status);
const wrong = await refusal(create("TS-3", { customer: { name: "Ada", email: "nobody" } }));
console.log(wrong.name, wrong.errors.map((one) => one.field).join());
console.log((await refusal(client.payments.verify("NOTHING"))).name);
const stranger = new tg.Tidegate({ secretKey: "sk_test_nobody" });
const unknown = await refusal(stranger.merchant.me());
console.log(unknown.name, JSON.stringify(stranger).includes("sk_test"), String(unknown.stack).includes("sk_test"));
for (const given of [{ baseUrl: "nowhere" }, { secretKey: "sk_live_x", baseUrl: "http://api.example.com" }]) {
  try { new tg.Tidegate(given); } catch (error) { console.log(error.name); }
}
for (const reference of ["", ".", "..", "\\ud800"]) {
  const misled = await refusal(client.payments.verify(reference));
  console.log(misled.name, misled.message.slice(0, 40));
}
for (const reference of ["a?b=c#d", "%2e%2e", "../../../wallets", "a/b"]) {
  console.log((await refusal(client.payments.verify(reference))).name);
}
""")
    assert lines == [
        "true true 409",
        "ValidationFailed customer.email",
        "NotFound",
        "Unauthenticated false false",
        "ConfigurationError",
        "ConfigurationError",
        "ConfigurationError reference must not be '': it would addre",
        "ConfigurationError reference must not be '.': it would addr",
        "ConfigurationError reference must not be '..': it would add",
        "ConfigurationError reference is not text: it has half of a ",
        *["NotFound"] * 4,
    ]


async def test_keys_are_checked_before_they_are_sent_and_not_shown(run_program: Run, shop: Shop) -> None:
    lines = await run_program("""
import { inspect } from "node:util";
const refusal = (given) => { try { new tg.Tidegate(given); return "none"; } catch (error) { return error; } };
for (const name of ["secretKey", "publicKey", "businessId"]) {
  for (const value of ["sk_test_hid\\nden", "sk_test_hid den", "sk_test_hid\\u00e9den", "", " \\n"]) {
    const refused = refusal({ [name]: value });
    console.log(refused.name, refused.message.split(":")[0], inspect(refused).includes("sk_test"));
  }
}
console.log(refusal({ secretKey: "\\nsk_live_x", baseUrl: "http://api.example.com" }).message);
console.log((await new tg.Tidegate({ secretKey: ` ${process.env.TIDEGATE_SECRET_KEY}\\r\\n` }).merchant.me()).id);
process.env.TIDEGATE_SECRET_KEY += "\\n";
console.log((await new tg.Tidegate().merchant.me()).id);
""")
    wrong = ["must be ASCII without white space inside"] * 3 + ["is empty"] * 2
    assert lines == [
        *(
            f"ConfigurationError {name} {why} false"
            for name in ("secretKey", "publicKey", "businessId")
            for why in wrong
        ),
        "a live key is only sent over https",
        shop.business_id,
        shop.business_id,
    ]


async def test_a_create_that_is_cut_off_makes_one_payment(run_program: Run, base_url: str, admin: Any) -> None:
    async with faulty(base_url) as proxy:
        proxy.script = [CUT, CUT]
        assert await run_program('console.log((await create("TS-4")).reference);', proxy.url) == ["TS-4"]
        assert len({headers["idempotency-key"] for _, headers in proxy.requests}) == 1
        assert len(proxy.requests) == 3
    assert await admin.fetchval("SELECT count(*) FROM payment WHERE reference = 'TS-4'") == 1


async def test_a_charge_is_never_repeated(run_program: Run, base_url: str) -> None:
    async with faulty(base_url) as proxy:
        proxy.script = ["pass", CUT]
        lines = await run_program(
            """
const { payCode } = await create("TS-5");
await client.checkouts.charge(payCode, { type: "card", card }).catch((error) => console.log(error.name));
""",
            proxy.url,
        )
        assert lines == ["APIConnectionError"]
        assert len(proxy.requests) == 2


async def test_it_waits_as_long_as_it_is_told_but_not_longer_than_a_minute(run_program: Run, base_url: str) -> None:
    async with faulty(base_url) as proxy:
        proxy.script = [refused(429, retry_after="1"), "pass", refused(429, retry_after="61")]
        lines = await run_program(
            """
const began = performance.now();
await client.merchant.me();
console.log(performance.now() - began >= 1000);
await client.merchant.me().catch((error) => console.log(error.name, error.retryAfter));
""",
            proxy.url,
        )
        assert lines == ["true", "RateLimited 61"]
        assert len(proxy.requests) == 3


async def test_webhooks_are_verified(run_program: Run) -> None:
    secret, other = sign.new_secret(), sign.new_secret()
    now = int(time.time())
    right = sign.headers("evt_1", BODY.encode(), [secret], timestamp_s=now)
    old = sign.headers("evt_1", BODY.encode(), [secret], timestamp_s=now - 301)
    no_events = ("null", "[]", '{"data": {}}', *(f'{{"event": "a.b", "data": {data}}}' for data in ("null", "[]", "1")))
    signed = [[body, sign.headers("evt_1", body.encode(), [secret], timestamp_s=now)] for body in no_events]
    lines = await run_program(f"""
const body = new TextEncoder().encode({json.dumps(BODY)});
const secret = {json.dumps(secret)}, other = {json.dumps(other)};
const right = {json.dumps(right)}, old = {json.dumps(old)};
const event = await tg.webhooks.verify(body, right, [other, secret]);
console.log(event.id, event.event, event.data.amount);
console.log((await client.webhooks.verify(Buffer.from(body), new Headers(right), secret)).id);
const reason = (...given) => tg.webhooks.verify(...given).then(() => "none", (error) => error.reason ?? error.name);
console.log(await reason(body, right, other), await reason(body.slice(1), right, secret));
console.log(await reason(body, old, secret), await reason(body, {{}}, secret), await reason(body, right, "secret"));
console.log(await reason("text", right, secret));
const none = {json.dumps(signed)}.map(([text, headers]) => reason(new TextEncoder().encode(text), headers, secret));
console.log((await Promise.all(none)).join(" "));
""")
    assert lines == [
        "evt_1 charge.later 1.5",
        "evt_1",
        "wrong_signature wrong_signature",
        "too_old missing_header ConfigurationError",
        "TypeError",
        " ".join(["not_an_event"] * len(no_events)),
    ]


PAGE = node.CLIENT.parents[1] / "src" / "tidegate" / "docs" / "pages" / "libraries" / "typescript.md"
EXAMINE = Path(__file__).with_name("examine_types.mjs")
COMPILER = ("typescript", "@types", "undici-types")


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has the TypeScript compiler too."""
    installed = Path(sys.prefix) / "published" / "node_modules"
    if not all((installed / name).is_dir() for name in COMPILER):
        pytest.skip("the TypeScript compiler is not installed: `make published` installs it with npm")
    folder = node.project(tmp_path_factory.mktemp("compiler"))
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    for name in COMPILER:
        (folder / "node_modules" / name).symlink_to(installed / name)
    return folder


MISTAKES = {
    'await client.payments.create({ amount: 1, currency: "NGN" });': "customer",
    'await client.payments.create({ amount: "1", currency: "NGN", customer });': "not assignable",
    'await client.payments.create({ amount: 1, currency: "XXX", customer });': "XXX",
    '(await client.payments.verify("a")).amonut;': "amonut",
    'await client.merchant.me({ idempotencyKey: "a" });': "idempotencyKey",
}
MISTAKEN_HEAD = [
    'import { Tidegate } from "tidegate-client";',
    "const client = new Tidegate();",
    'const customer = { name: "Ada", email: "a@example.com" };',
]


def programs() -> dict[str, str]:
    readme = _BLOCK.findall((node.CLIENT / "README.md").read_text())
    assert len(readme) == 3
    page = _BLOCK.findall(PAGE.read_text())
    assert len(page) == 1
    events = [
        f"const event{number}: tg.Event = {encode(event.example).decode()};" for number, event in enumerate(EVENTS)
    ]
    return {
        "readme.ts": "\n".join(readme),
        "page.ts": "\n".join(page),
        "events.ts": "\n".join(['import type * as tg from "tidegate-client";', *events, "export {};"]),
        "mistakes.ts": "\n".join([*MISTAKEN_HEAD, *MISTAKES, "export { customer };"]),
    }


@pytest.fixture(scope="module")
def complaints(compiler: Path) -> dict[str, dict[int, str]]:
    """Of one run over all programs, by file and line: the compiler takes longer to start than to read."""
    options = {
        "strict": True,
        "module": "nodenext",
        "target": "es2023",
        "lib": ["es2023"],
        "types": ["node"],
        "noEmit": True,
        "preserveSymlinks": True,
        "noUncheckedIndexedAccess": True,
    }
    texts = programs()
    for name, text in texts.items():
        (compiler / name).write_text(text)
    examined, *said = node.said(EXAMINE.read_text(), compiler, OPTIONS=json.dumps(options), FILES=" ".join(texts))
    assert {*texts, "index.d.ts", "types.d.ts"} <= {*examined.split()}
    found: dict[str, dict[int, str]] = {}
    # A complaint may go on in lines that are indented.
    for name, line, text in re.findall(r"^(\S+)\((\d+),\d+\): (.*(?:\n .*)*)", "\n".join(said), re.MULTILINE):
        found.setdefault(name, {})[int(line)] = text
    return found


def test_the_samples_and_every_example_of_an_event_fit_the_types(complaints: dict[str, dict[int, str]]) -> None:
    """And the types fit each other."""
    assert {name: lines for name, lines in complaints.items() if name != "mistakes.ts"} == {}


def test_mistakes_do_not_compile(complaints: dict[str, dict[int, str]]) -> None:
    found = complaints["mistakes.ts"]
    missed = [
        wrong
        for line, (wrong, says) in enumerate(MISTAKES.items(), start=len(MISTAKEN_HEAD) + 1)
        if says not in found.get(line, "")
    ]
    assert missed == [], found


def test_npm_packs_what_we_hand_out(tmp_path: Path) -> None:
    node.needs("npm")
    done = node.run(["npm", "pack", "--silent", "--pack-destination", str(tmp_path)], node.CLIENT)
    assert done.returncode == 0, done.stderr
    name = client_package.tarball_name(node.CLIENT)
    assert done.stdout.strip() == name
    ours = io.BytesIO(client_package.tarball(node.CLIENT))
    with tarfile.open(tmp_path / name) as theirs, tarfile.open(fileobj=ours) as own:
        assert sorted(theirs.getnames()) == sorted(own.getnames())


async def test_what_the_readme_installs_runs(shop: Shop, base_url: str, tmp_path: Path) -> None:
    node.needs("npm")
    [install] = _SHELL.findall((node.CLIENT / "README.md").read_text())
    assert client_package.tarball_name(node.CLIENT) in install
    script = install.replace("http://localhost:8080", base_url)
    done = await asyncio.to_thread(node.run, ["sh", "-euc", script], tmp_path, npm_config_audit="false")
    assert done.returncode == 0, done.stderr
    program = 'import { Tidegate } from "tidegate-client"; console.log((await new Tidegate().merchant.me()).id);'
    lines = await asyncio.to_thread(
        node.said, program, tmp_path, TIDEGATE_URL=base_url, TIDEGATE_SECRET_KEY=shop.secret_key
    )
    assert lines == [shop.business_id]
