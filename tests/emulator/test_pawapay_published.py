"""The emulated pawaPay, used by published clients that we did not write: `pawapay-sdk` for Node, and the library with
which pawaPay's own example signs requests and verifies answers, `http-message-signatures`."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tidegate.emulator.pawapay import server
from tidegate.emulator.pawapay.model import EmulatedPawapayAccount
from tidegate.emulator.pawapay.server import RunningPawapay

TOKEN = "a-token-of-the-tests"
PUBLISHED = Path(sys.prefix) / "published"
WITHIN_S = 120
# Its address is a constant; every call takes options of axios, and so another address.
HEAD = """
import {createRequire} from "node:module";
import {randomUUID} from "node:crypto";
const {createPawaPayClient} = createRequire(process.env.PUBLISHED + "/")("pawapay-sdk");
const pawapay = createPawaPayClient(process.env.TOKEN, {apiVersion: "v2", environment: "sandbox"});
const there = {options: {baseURL: process.env.ADDRESS + "/v2", proxy: false}};
const tell = (answer) => console.log(JSON.stringify([answer.success, answer.data ?? answer.error]));
const payer = (phoneNumber) => ({type: "MMO", accountDetails: {phoneNumber, provider: "MTN_MOMO_ZMB"}});
const deposit = (depositId, phoneNumber) => pawapay.requestDeposit(
    {depositId, payer: payer(phoneNumber), amount: "15", currency: "ZMW", clientReferenceId: "INV-1"}, there);
const advance = (seconds) => fetch(process.env.CONTROL + "/advance", {
    method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify({seconds})});
"""
# As pawaPay's example does it: its signer and verifier leave the signature in DER.
SIGNATURES = """
import {createRequire} from "node:module";
import {createHash, createPrivateKey, createPublicKey, createSign, createVerify, randomUUID} from "node:crypto";
const {httpbis} = createRequire(process.env.PUBLISHED + "/")("http-message-signatures");
const tell = (is_done, answer) => console.log(JSON.stringify([is_done, answer]));
const key = createPrivateKey(process.env.KEY);
const fields = ["@method", "@authority", "@path", "signature-date", "content-digest", "content-type", "content-length"];
const deposit = async (body, sent) => {
    const signed = await httpbis.signMessage({name: "sig-pp", fields, key: {
        id: "OURS:1", alg: "ecdsa-p256-sha256", sign: async (data) => createSign("SHA256").update(data).sign(key),
    }}, {method: "POST", url: process.env.ADDRESS + "/v2/deposits", headers: {
        "Signature-Date": new Date().toISOString(), "Content-Type": "application/json",
        "Content-Digest": `sha-512=:${createHash("sha512").update(body).digest("base64")}:`,
        "Content-Length": String(body.length), "Authorization": "Bearer " + process.env.TOKEN}});
    const answer = await fetch(signed.url, {...signed, body: sent ?? body});
    tell(answer.ok, await answer.json());
};
const verified = async (message) => tell(await httpbis.verifyMessage({
    keyLookup: async ({keyid}) => ({verify: async (data, signature) => {
        const keys = await (await fetch(process.env.ADDRESS + "/v2/public-key/http", {
            headers: {"Authorization": "Bearer " + process.env.TOKEN}})).json();
        const pem = createPublicKey(keys.find((one) => one.id === keyid).key);
        return createVerify("SHA256").update(data).verify(pem, signature);
    }})}, message) ?? false, message.url);
"""


@pytest.fixture
async def emulated() -> AsyncIterator[RunningPawapay]:
    if shutil.which("node") is None:
        pytest.skip("there is no node here: install Node 20 or newer to run pawaPay's published client")
    if not all((PUBLISHED / "node_modules" / name).is_dir() for name in ("pawapay-sdk", "http-message-signatures")):
        pytest.skip("the published clients are not installed: `make published` installs them with npm")
    async with server.running(EmulatedPawapayAccount(TOKEN)) as running:
        yield running


async def told(
    emulated: RunningPawapay, program: str, tmp_path: Path, token: str = TOKEN, head: str = HEAD, **more: str
) -> list[tuple[bool, Any]]:
    """What the program prints, a pair in each line: whether the client takes it for a success, and the answer."""
    path = tmp_path / "program.mjs"
    path.write_text(head + program)
    node = shutil.which("node")
    assert node is not None
    done = await asyncio.create_subprocess_exec(
        node, str(path), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={"TOKEN": token, "PUBLISHED": str(PUBLISHED), "ADDRESS": emulated.api_url,
             "CONTROL": emulated.control_url, **more},
    )  # fmt: skip
    async with asyncio.timeout(WITHIN_S):
        out, errors = await done.communicate()
    assert done.returncode == 0, errors.decode()
    return [tuple(json.loads(line)) for line in out.splitlines()]


def pem_of(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


async def test_the_published_client_deposits_asks_and_refunds(emulated: RunningPawapay, tmp_path: Path) -> None:
    accepted, again, found, refused, refund, refunded = await told(emulated, """
        const depositId = randomUUID(), refundId = randomUUID();
        tell(await deposit(depositId, "260763456789"));
        tell(await deposit(depositId, "260763456789"));
        await advance(2);
        tell(await pawapay.checkDepositStatus(depositId, there));
        tell(await pawapay.initiateRefund({refundId: randomUUID(), depositId: randomUUID(), amount: "5",
                                           currency: "ZMW"}, there));
        tell(await pawapay.initiateRefund({refundId, depositId, amount: "5", currency: "ZMW"}, there));
        await advance(2);
        tell(await pawapay.checkRefundStatus(refundId, there));
    """, tmp_path)  # fmt: skip
    assert (accepted[0], accepted[1]["status"], again[1]["status"]) == (True, "ACCEPTED", "DUPLICATE_IGNORED")
    assert (found[1]["data"]["status"], found[1]["data"]["clientReferenceId"]) == ("COMPLETED", "INV-1")
    assert refused[1]["status"] == "REJECTED"
    assert (refund[1]["status"], refunded[1]["data"]["status"]) == ("ACCEPTED", "COMPLETED")


async def test_the_published_client_reads_what_an_account_has(emulated: RunningPawapay, tmp_path: Path) -> None:
    configuration, availability, provider, keys, balances, missing, wrong = await told(emulated, """
        tell(await pawapay.getActiveConfiguration(there));
        tell(await pawapay.getProviderAvailability(there));
        tell(await pawapay.getProviderPrediction("+260 763 456789", there));
        tell(await pawapay.getPublicKeys(there));
        tell(await pawapay.getWalletBalances(there));
        tell(await pawapay.checkDepositStatus(randomUUID(), there));
        tell(await deposit("not-a-uuid", "260763456789"));
    """, tmp_path)  # fmt: skip
    assert all(one[0] for one in (configuration, availability, provider, keys, balances, missing))
    assert "ZMB" in {country["country"] for country in configuration[1]["countries"]}
    assert provider[1]["provider"] == "MTN_MOMO_ZMB"
    assert missing[1] == {"status": "NOT_FOUND"}
    assert (wrong[0], wrong[1]["failureReason"]["failureCode"]) == (False, "INVALID_PARAMETER")


async def test_the_published_client_is_refused_without_the_token(emulated: RunningPawapay, tmp_path: Path) -> None:
    [refused] = await told(emulated, "tell(await pawapay.getActiveConfiguration(there));", tmp_path, token="another")
    assert (refused[0], refused[1]["failureReason"]["failureCode"]) == (False, "AUTHENTICATION_ERROR")


async def test_requests_that_the_library_of_pawapays_example_signs_are_taken(
    emulated: RunningPawapay, tmp_path: Path
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    emulated.service.account.merchant_keys["OURS:1"] = key.public_key()
    emulated.service.account.signed_requests_only = True
    pem = pem_of(key)
    program = """
        const body = JSON.stringify({depositId: randomUUID(), amount: "15", currency: "ZMW", payer: {type: "MMO",
            accountDetails: {phoneNumber: "260763456789", provider: "MTN_MOMO_ZMB"}}});
        await deposit(body);
        await deposit(body, body.replace("15", "16"));
    """
    accepted, changed = await told(emulated, program, tmp_path, head=SIGNATURES, KEY=pem)
    assert (accepted[0], accepted[1]["status"]) == (True, "ACCEPTED")
    assert (changed[0], changed[1]["failureReason"]["failureCode"]) == (False, "HTTP_SIGNATURE_ERROR")


async def test_the_library_of_pawapays_example_verifies_its_callbacks(emulated: RunningPawapay, tmp_path: Path) -> None:
    service = emulated.service
    service.account.callback_url = "https://pay.example.com/intake/pawapay"
    callback = service.callbacks.add_body(b'{"depositId":"x","status":"COMPLETED"}', now=service.now())
    headers = service.callbacks.headers_of(callback, now=service.now())
    message = {"method": "POST", "url": service.account.callback_url, "headers": headers}
    other = {**message, "url": "https://pay.example.com/intake/other"}
    program = f"await verified({json.dumps(message)}); await verified({json.dumps(other)});"
    assert [
        one[0]
        for one in await told(
            emulated, program, tmp_path, head=SIGNATURES, KEY=pem_of(ec.generate_private_key(ec.SECP256R1()))
        )
    ] == [True, False]
