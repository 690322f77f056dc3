"""The TypeScript client with answers that are none, addresses that are wrong, and arguments that cannot be sent."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from clients import node
from clients.canned_server import DAMAGED, GOOD, SLOW, Canned, answering
from clients.test_python_faults import closed_address
from tidegate.webhook import sign

HEAD = """import * as tg from "tidegate-client";
const keys = { secretKey: "sk_test_x", publicKey: "pk_test_x", businessId: "b" };
const made = (options = {}) => new tg.Tidegate({ ...keys, ...options });
const refusal = (work) => work.then(() => "none", (error) => error);
const statement = async (options) => new TextDecoder().decode(await made(options).wallets.statementCsv("NGN"));
const card = { number: "5319317801366660", expiryMonth: 12, expiryYear: 2040, cvv: "123" };
"""

Run = Callable[..., Awaitable[list[str]]]


@pytest.fixture
def run_program(tmp_path: Path) -> Run:
    folder = node.project(tmp_path)

    async def run(text: str, url: str = "http://localhost:9") -> list[str]:
        return await asyncio.to_thread(node.said, HEAD + text, folder, TIDEGATE_URL=url)

    return run


async def test_fetch_is_called_as_a_browser_allows_it(run_program: Run) -> None:
    """That of a window refuses any other `this`."""
    lines = await run_program("""
const strict = function () {
  if (this !== undefined && this !== globalThis) throw new TypeError("Illegal invocation");
  return Promise.resolve(Response.json({ data: { id: "b" } }));
};
console.log((await made({ fetch: strict }).merchant.me()).id);
globalThis.fetch = strict;
console.log((await made().merchant.me()).id);
""")
    assert lines == ["b", "b"]


async def test_a_try_ends_in_time_however_slowly_its_answer_comes(run_program: Run) -> None:
    async with answering(SLOW) as server:
        lines = await run_program(
            'console.log((await refusal(statement({ timeoutMs: 2000, maxRetries: 0 }))).name, "in time");', server.url
        )
    assert lines == ["APITimeoutError in time"]


async def test_a_damaged_answer_is_none_and_is_asked_for_again(run_program: Run) -> None:
    async with answering(DAMAGED, GOOD) as server:
        assert await run_program("console.log(await statement());", server.url) == ["reference,amount"]
        assert server.requests == 2
    async with answering(DAMAGED) as server:
        charge = 'console.log((await refusal(made().checkouts.charge("tg_1", { type: "card", card }))).name);'
        assert await run_program(charge, server.url) == ["APIConnectionError"]
        assert server.requests == 1


async def test_who_cannot_be_reached_is_named_with_where_to_change_it(run_program: Run) -> None:
    address = closed_address()
    lines = await run_program(
        'console.log((await refusal(made({ maxRetries: 0 }).payments.verify("ORDER-1"))).message);', address
    )
    where = f"GET {address}/checkout/payments/merchant-reference/{{reference}}"
    assert lines == [f"no answer to {where}: ECONNREFUSED; baseUrl or TIDEGATE_URL sets the address"]


async def test_a_redirect_says_where_to(run_program: Run) -> None:
    async with answering(Canned(301, {"location": "https://api.example.com/"})) as server:
        [line] = await run_program("console.log((await refusal(statement())).message);", server.url)
        assert server.requests == 1
    assert line == (
        "the server answered 301 and names another address, https://api.example.com/: baseUrl or TIDEGATE_URL is wrong "
        "(301 UNKNOWN, no request id)"
    )


@pytest.mark.parametrize("body", [b"{}", b"null", b"[]", b"<h1>"])
async def test_an_answer_without_data_is_an_error(run_program: Run, body: bytes) -> None:
    async with answering(Canned(200, {}, body)) as server:
        lines = await run_program(
            "const error = await refusal(made().merchant.me());"
            "console.log(error instanceof tg.APIError, error.status, error.errorType, error.message);",
            server.url,
        )
    assert lines[0].startswith("true 200 UNREADABLE_ANSWER the answer is not as documented")


async def test_what_cannot_be_sent_is_refused_at_once(run_program: Run) -> None:
    lines = await run_program("""
const customer = { name: "Ada Obi", email: "ada@example.com" };
globalThis.fetch = () => { throw new Error("it was sent"); };
for (const idempotencyKey of ["gr\\u00f6\\u00dfe", "two words", "", "a\\nb", "x".repeat(256)]) {
  const work = made().payments.create({ amount: 1, currency: "NGN", customer }, { idempotencyKey });
  console.log((await refusal(work)).message);
}
for (const timeoutMs of [0, -1, Infinity, NaN, 86_400_001, "1"]) {
  try { made({ timeoutMs }); } catch (error) { console.log(error.message); }
  console.log((await refusal(made().merchant.me({ timeoutMs }))).name);
}
for (const baseUrl of ["http://user:hidden@localhost", "http://localhost:99999", "localhost"]) {
  try { made({ baseUrl }); } catch (error) { console.log(error.name, error.message.includes("hidden")); }
}
console.log(made({ baseUrl: " http://localhost:9/\\n" }).baseUrl);
""")
    keys, rest = lines[:5], lines[5:]
    assert keys == ["idempotencyKey must be 1 to 255 visible ASCII characters, without spaces"] * 5
    limits, rest = rest[:12], rest[12:]
    values = ("0", "-1", "Infinity", "NaN", "86400001", "1")
    assert limits[::2] == [f"timeoutMs must be more than 0 and at most 86400000, not {value}" for value in values]
    assert limits[1::2] == ["ConfigurationError"] * 6
    assert rest == [*["ConfigurationError false"] * 3, "http://localhost:9"]


DATES = """
const answers = [
  { "retry-after": "Wed, 18 Nov 2026 12:02:00 GMT", date: "Wed, 18 Nov 2026 12:00:00 GMT" },
  { "retry-after": new Date(Date.now() + 3_000_000).toUTCString() },
  ...["1.5", "-1", "soon GMT", "Wed, 99 Nov 2026 12:00:30 GMT"].map((said) => ({ "retry-after": said })),
];
for (const headers of answers) {
  const fetch = async () => new Response("{}", { status: 429, headers });
  const { retryAfter } = await refusal(made({ fetch, maxRetries: 0 }).merchant.me());
  console.log(retryAfter > 2000 && retryAfter <= 3000 ? "by its own clock" : retryAfter);
}
"""


async def test_a_wait_is_said_in_seconds_or_as_a_date(run_program: Run) -> None:
    assert await run_program(DATES) == ["120", "by its own clock", *["undefined"] * 4]


async def test_waits_are_never_shorter_than_asked_for_and_not_all_alike(run_program: Run) -> None:
    lines = await run_program("""
const waits = [];
const headers = { "retry-after": "Wed, 18 Nov 2026 12:00:02 GMT", date: "Wed, 18 Nov 2026 12:00:00 GMT" };
globalThis.setTimeout = (then, ms) => { waits.push(ms); queueMicrotask(then); };
const fetch = async () => new Response("{}", { status: 429, headers });
for (let number = 0; number < 50; number += 1) await refusal(made({ fetch, maxRetries: 1 }).merchant.me());
console.log(waits.length, waits.every((ms) => ms >= 2000 && ms <= 2500), new Set(waits).size > 1);
""")
    assert lines == ["50 true true"]


async def test_a_webhook_with_white_space_around_its_secret_and_one_that_is_not_text(run_program: Run) -> None:
    secret, body = sign.new_secret(), '{"event": "charge.later", "data": {}}'
    headers = sign.headers("evt_1", body.encode(), [secret], timestamp_s=int(time.time()))
    lines = await run_program(f"""
const body = new TextEncoder().encode({json.dumps(body)});
const headers = {json.dumps(headers)}, secret = {json.dumps(secret)};
for (const one of [` ${{secret}}`, `${{secret}}\\n`]) console.log((await tg.webhooks.verify(body, headers, one)).id);
for (const name of ["webhook-id", "webhook-signature"]) {{
  const wrong = {{ ...headers, [name]: headers[name] + "\\udcff" }};
  console.log((await refusal(tg.webhooks.verify(body, wrong, secret))).reason);
}}
""")
    assert lines == ["evt_1", "evt_1", "wrong_signature", "wrong_signature"]
