"""Pages are gzipped for browsers that take it."""

from __future__ import annotations

import asyncio
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.page_world import STYLE, browser_at, site_of, visiting
from tidegate.infra.http.compress import accepts_gzip, gzip_of
from tidegate.infra.page.response import GZIP_BYTES_MIN, Html
from tidegate.infra.page.router import PageRequest


@given(st.binary(max_size=300))
def test_it_is_gzip(content: bytes) -> None:
    assert gzip.decompress(gzip_of(content)) == content


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([], False),
        ([b""], False),
        ([b"gzip"], True),
        ([b"gzip, deflate, br, zstd"], True),
        ([b"br", b"gzip"], True),
        ([b"GZip"], True),
        ([b"deflate, br"], False),
        ([b"*"], True),
        ([b"gzip;q=0"], False),
        ([b"gzip; q=0.000, *"], False),
        ([b"*;q=0"], False),
        ([b"*;q=0, gzip"], True),
        ([b"gzip;q=0.001"], True),
        ([b"gzip ; Q = 0.5"], True),
        ([b"identity, gzip;q=0.5"], False),
        ([b"identity;q=0.5, gzip;q=0.5"], True),
        ([b"identity;q=0, gzip"], True),
        ([b"gzip;q=2"], False),
        ([b"gzip;q=-1"], False),
        ([b"gzip;q=nan"], False),
        ([b"gzip;level=9"], False),
        ([b"gzip;q=0, gzip"], False),
        ([b"xgzip"], False),
        ([b",,gzip,,"], True),
        ([b"\xff\x00, gzip"], True),
        ([b"gzip" + b" " * 9_000 + b"x"], False),
    ],
)
def test_accept_encoding(values: list[bytes], wanted: bool) -> None:
    assert accepts_gzip(values) is wanted


@given(st.lists(st.binary(max_size=60) | st.text("gzip;q=01.,* identy", max_size=40).map(str.encode), max_size=3))
def test_any_accept_encoding_is_read(values: list[bytes]) -> None:
    assert accepts_gzip(values) in (True, False)


async def show(request: PageRequest) -> Html:
    return Html(b"<!doctype html><title>t</title><style>" + STYLE + b"</style><p>Here it is, whole.</p>")


async def show_little(request: PageRequest) -> Html:
    return Html(b"x" * (GZIP_BYTES_MIN - 1))


@pytest.mark.parametrize(("asked", "coding"), [("gzip", "gzip"), ("gzip;q=0", None), ("br", None), ("};;=,~", None)])
async def test_a_page_goes_out_as_the_browser_asked(asked: str, coding: str | None) -> None:
    async with visiting(lambda _: site_of(("GET", "/", show))) as client:
        answer = await client.get("/", headers={"accept-encoding": asked})
    assert answer.headers.get("content-encoding") == coding
    assert answer.headers["vary"] == "accept-encoding"
    assert "Here it is, whole." in answer.text
    assert STYLE.decode() in answer.text


async def test_a_short_page_stays_as_it_is() -> None:
    async with visiting(lambda _: site_of(("GET", "/", show_little))) as client:
        answer = await client.get("/", headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in answer.headers
    assert answer.headers["content-length"] == str(GZIP_BYTES_MIN - 1)


async def test_a_real_browser_reads_it() -> None:
    """A script at its end sends back what the browser made of it."""
    seen: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def show_and_ask(request: PageRequest) -> Html:
        script = (
            "const form = document.forms[0];"
            "form.seen.value = document.styleSheets[0].cssRules.length + document.querySelector('p').textContent;"
            "form.submit()"
        )
        start = f"<!doctype html><style nonce={request.nonce}>".encode()
        end = f"<form method=post><input name=seen></form><script nonce={request.nonce}>{script}</script>".encode()
        return Html(start + STYLE + b"</style><p>Here it is, whole.</p>" + end)

    async def listen(request: PageRequest) -> Html:
        seen.set_result(request.form["seen"])
        return Html(b"")

    async with visiting(lambda _: site_of(("GET", "/", show_and_ask), ("POST", "/", listen))) as client:
        packed = await client.get("/")
        assert packed.headers["content-encoding"] == "gzip"
        async with browser_at(str(client.base_url)):
            assert await seen == "300Here it is, whole."
