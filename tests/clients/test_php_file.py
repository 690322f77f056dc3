"""The file for PHP that the server hands out. Its requests are tried by the samples of guides and reference."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from build import Shop, order
from clients.canned_server import SLOW, Canned, answering

FILE = Path(__file__).parents[2] / "clients" / "php" / "tidegate.php"
PROGRAM = """<?php
require_once getenv('FILE');
[$secret, $public, $business, $order] = json_decode(getenv('GIVEN'), true);
$said = [];
$tidegate = new Tidegate(" $secret\\n", $public, $business, getenv('ADDRESS') . '/');
$said['first'] = $tidegate->post('/checkout/payments', $order);
foreach (['same' => $order, 'other' => ['amount' => 1] + $order, 'empty' => []] as $name => $body) {
    try {
        $tidegate->post('/checkout/payments', $body);
    } catch (TidegateError $error) {
        $said[$name] = [$error->status, $error->errorType, $error->data, count($error->errors), $error->requestId];
    }
}
$said['shown'] = print_r($tidegate, true);
$keys = ['sk_live_x' => getenv('ADDRESS'), $secret => 'http://127.0.0.1:1', ' ' => getenv('ADDRESS')];
foreach ($keys as $key => $address) {
    try {
        (new Tidegate($key, $public, $business, $address))->get('/wallets');
    } catch (Exception $error) {
        $said['refused'][] = $error->getMessage();
    }
}
echo json_encode($said);
"""


async def test_refusals_are_errors_and_keys_stay_hidden(shop: Shop, base_url: str, tmp_path: Path) -> None:
    if shutil.which("php") is None:
        pytest.skip("there is no php here")
    (tmp_path / "program.php").write_text(PROGRAM)
    given = json.dumps([shop.secret_key, shop.public_key, shop.business_id, order(reference="ORDER-1")])
    done = await asyncio.to_thread(
        subprocess.run, ["php", "program.php"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"FILE": str(FILE), "ADDRESS": base_url, "GIVEN": given, "PATH": os.environ["PATH"]},
    )  # fmt: skip
    said = json.loads(done.stdout)
    assert said["same"][:3] == [409, "DUPLICATE_REFERENCE", said["first"]]
    assert said["other"][:3] == [409, "DUPLICATE_REFERENCE", None]
    assert said["empty"][:2] == [422, "VALIDATION_FAILED"]
    assert said["empty"][3] > 1
    assert said["empty"][4].startswith("req_")
    assert shop.secret_key not in said["shown"]
    assert said["refused"][0] == "a live key is sent over https only"
    assert said["refused"][1].startswith("no answer from http://127.0.0.1:1")
    assert said["refused"][2] == "the secret key is empty"


REFUSED = """require getenv('FILE');
try {
    (new Tidegate('sk_test_x', baseUrl: getenv('ADDRESS'), timeoutS: 2))->get('/wallets');
} catch (TidegateError $error) {
    echo json_encode([$error->status, $error->retryAfter, $error->getMessage()]);
} catch (RuntimeException $error) {
    echo $error->getMessage();
}"""


async def said_about(answer: Canned) -> str:
    if shutil.which("php") is None:
        pytest.skip("there is no php here")
    async with answering(answer) as server:
        done = await asyncio.to_thread(
            subprocess.run, ["php", "-r", REFUSED], capture_output=True, text=True, check=False,
            env={"FILE": str(FILE), "ADDRESS": server.url, "PATH": os.environ["PATH"]},
        )  # fmt: skip
    return done.stdout.replace(server.url, "ADDRESS")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "Wed, 18 Nov 2026 12:00:30 GMT", "date": "Wed, 18 Nov 2026 12:00:00 GMT"}, 30),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
async def test_a_refusal_says_how_long_to_wait(headers: dict[str, str], seconds: int | None) -> None:
    assert json.loads(await said_about(Canned(429, headers)))[:2] == [429, seconds]


async def test_a_redirect_says_where_to() -> None:
    said = json.loads(await said_about(Canned(301, {"location": "https://api.example.com/"})))
    assert said[2] == (
        "the server answered 301 and names another address, https://api.example.com/: TIDEGATE_URL is wrong"
    )


async def test_a_request_ends_in_time_however_slowly_its_answer_comes() -> None:
    assert await said_about(SLOW) == "no whole answer from ADDRESS in 2 s"


READS = """require getenv('FILE');
try {
    var_dump((new Tidegate('sk_test_x', baseUrl: getenv('ADDRESS')))->post(getenv('AT'), [], getenv('KEY')));
} catch (Exception $error) {
    echo $error->getMessage();
}"""


@pytest.mark.parametrize(
    ("answer", "at", "key", "why"),
    [
        (b'HTTP/1.1 201 Created\r\ncontent-length: 500\r\n\r\n{"data": {"a": 1}}', "/x", "k", "was cut off"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n<h1>", "/x", "k", "is not JSON"),
        (b"", "x", "k", "begins with a slash"),
        (b"", "/x", "k\r\nevil: 1", "is one line"),
    ],
)
async def test_what_is_no_answer_or_no_request_is_an_error(answer: bytes, at: str, key: str, why: str) -> None:
    if shutil.which("php") is None:
        pytest.skip("there is no php here")

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(say, "127.0.0.1", 0) as server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        done = await asyncio.to_thread(
            subprocess.run, ["php", "-r", READS], capture_output=True, text=True, check=False,
            env={"FILE": str(FILE), "ADDRESS": address, "AT": at, "KEY": key, "PATH": os.environ["PATH"]},
        )  # fmt: skip
    assert why in done.stdout
